"""Generated expansions and arithmetic, many at a time in one real bash and in the shell here."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planaria_shell.errors import ShellSyntaxError
from planaria_shell.shell import Shell
from planaria_shell.state.streams import CapturedOutput, NullStream
from planaria_shell.syntax.analysis import analyze
from planaria_shell.syntax.parser import parse
from planaria_shell.syntax.printing import source_of
from planaria_shell.syntax.quoting import printf_quoted, single_quoted

pytestmark = [
    pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to compare with"),
    pytest.mark.slow,
]

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root"}
QUICK = settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
SETUP = """set -f
i=3 j=5 k=-2 n=i a=(4 5 6); declare -A m=([x]=9 [y]="p q")
s=abcabc t="/usr/lib/a.b.c" e="" w="  two words " g="a*b?c" p="b*" arr=("one two" "" three "*")
set -- "p1 x" "" p3
"""


def both(script: str) -> tuple[str, str]:
    """What real bash writes, and what the shell here writes."""
    real = subprocess.run(
        ["bash"],
        input=script.encode("utf-8", "surrogateescape"),
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
    )
    out = CapturedOutput()
    shell = Shell(env=ENVIRONMENT, stdin=NullStream(), stdout=out, stderr=CapturedOutput())
    shell.run(script)
    shell.finish()
    return real.stdout.decode("utf-8", "replace"), out.getvalue().decode("utf-8", "replace")


ATOMS = st.sampled_from(
    ["0", "1", "7", "10", "0x1f", "017", "2#101", "i", "j", "$k", "${j}", "-3", "n", "a[1]", "a[i]",
     "${a[2]}",
     "${#s}",      "9223372036854775807", "m[x]", "i++", "--j", "a[1]++"]
)  # fmt: skip
OPERATORS = st.sampled_from(
    [
        "+",
        "-",
        "*",
        "/",
        "%",
        "**",
        "<<",
        ">>",
        "<",
        "<=",
        ">",
        ">=",
        "==",
        "!=",
        "&",
        "|",
        "^",
        "&&",
        "||",
        ",",
    ]
)


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Larger expressions from smaller ones."""
    return st.one_of(
        st.builds("{} {} {}".format, inner, OPERATORS, inner),
        st.builds("({})".format, inner),
        st.builds("{} {}".format, st.sampled_from("-+!~"), inner),
        st.builds("{} ? {} : {}".format, inner, inner, inner),
        st.builds(
            "{} {} {}".format,
            st.sampled_from("ijkq"),
            st.sampled_from(["=", "+=", "-=", "*=", "<<=", "&=", "|="]),
            inner,
        ),
    )


@QUICK
@given(st.lists(st.recursive(ATOMS, compound, max_leaves=6), min_size=60, max_size=60))
def test_arithmetic_is_that_of_bash(expressions: list[str]) -> None:
    """An expression has the value, the effects and the failures that it has in bash."""
    lines = [f'(echo "{n}: $(({text})) $i $j $k ${{a[*]}}")' for n, text in enumerate(expressions)]
    real, ours = both(SETUP + "\n".join(lines) + "\n")
    assert ours == real


VALUES = st.sampled_from(
    ["s", "t", "e", "u", "w", "g", "1", "2", "@", "*", "arr[@]", "arr[*]", "arr[1]", "m[x]"]
)
PATTERNS = st.sampled_from(
    [
        "*",
        "?",
        "a",
        "b*",
        "*b",
        "[ab]",
        "[!a]",
        "a?c",
        "*/",
        "/*",
        '""',
        '"*"',
        "\\*",
        "[[:alpha:]]",
        "$p",
        "'a'",
        ".*",
    ]
)
EXPANSIONS = st.one_of(
    st.builds("${{{}}}".format, VALUES),
    st.builds("${{{}{}{}}}".format, VALUES, st.sampled_from(["#", "##", "%", "%%"]), PATTERNS),
    st.builds("${{{}{}{}/{}}}".format, VALUES, st.sampled_from(["/", "//", "/#", "/%"]), PATTERNS,
              st.sampled_from(["X", "", "$s", '"$w"', "a b", "&"])),
    st.builds("${{{}{}{}}}".format, VALUES, st.sampled_from([":-", "-", ":+", "+"]),
              st.sampled_from(["d", '"d e"', "d e", "$w", '"$w"', "", "'q r'", "${u:-n}"])),
    st.builds("${{{}:{}}}".format, VALUES, st.sampled_from(["0", "1", " -1", "1:1", "0:2", "i", "$i:1"])),
    st.builds("${{{}{}}}".format, VALUES, st.sampled_from(["^", "^^", ",", ",,", "@Q", "@U"])),
    st.builds("${{#{}}}".format, VALUES),
    st.sampled_from(["$s", "$w", "$@", "$*", '"$@"', '"$*"', "$(echo 'a  b')", "{a,b}",
                     "{1..3}", "lit", "'x y'", "\\$"]),
)  # fmt: skip
FIELDS = st.sampled_from(["", "IFS=:; ", 'IFS=" :"; ', "IFS=a; "])


@QUICK
@given(st.lists(st.tuples(FIELDS, EXPANSIONS, st.booleans(), EXPANSIONS), min_size=60, max_size=60))
def test_expansions_are_those_of_bash(words: list[tuple[str, str, bool, str]]) -> None:
    """Words expand, split and quote as they do in bash, whatever IFS is."""
    lines = []
    for number, (fields, first, quoted, second) in enumerate(words):
        if quoted and not any(char in first for char in "\"'\\"):
            first = f'"{first}"'
        lines.append(f'({fields}printf "<%s>" {number} {first}{second} {second}; echo)')
    real, ours = both(SETUP + "\n".join(lines) + "\n")
    assert ours == real


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


@QUICK
@given(st.lists(TEXTS, min_size=20, max_size=20))
def test_quoting_is_read_back_by_bash(texts: list[str]) -> None:
    """What `@Q` and `%q` write is read back as the same text, by bash and here."""
    words = [quote(text) for text in texts for quote in (single_quoted, printf_quoted)]
    real, ours = both("".join(f"printf '%s\\0' {word}\n" for word in words))
    expected = "".join(f"{text}\0{text}\0" for text in texts)
    assert real == expected
    assert ours == expected


SCRIPTS = Path(__file__).parent / "scripts"
SECTIONS = [
    section
    for path in sorted(SCRIPTS.glob("*.sh"))
    for section in re.split(r"^# ----\n", path.read_text(), flags=re.MULTILINE)[1:]
]
PIECES = st.sampled_from(
    [*"\"'`$(){}[]|&;<>\n \\!#*?=+-~@%^,:/", "$(", "${", "$((", "<<E\n", "<(", "[[", "]]", "if ",
     "then ", "fi", "do ", "done", "case ", "esac", ";;", "f() ", "((",
     "=(", "$'", "${x:", "coproc ", "\udcff", "\0"]
)  # fmt: skip


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(SECTIONS), st.lists(st.tuples(st.integers(0, 2000), PIECES), min_size=1, max_size=4))
def test_damaged_scripts_fail_as_scripts_do(script: str, damage: list[tuple[int, str]]) -> None:
    """Whatever stands in a script, reading, printing and analysing it gives a syntax error at most."""
    for place, piece in damage:
        place %= len(script)
        script = script[:place] + piece + script[place + len(piece) % 3 :]
    analyze(script)
    with contextlib.suppress(ShellSyntaxError):
        for unit in parse(script, extglob=True):
            source_of(unit)
