# ruff: noqa: W291 - programs stand as people write them
"""sed beside GNU sed."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from example_counts import examples
from harness import NativeProcess, ours, real
from hypothesis import given, settings
from hypothesis import strategies as st

LINES = b"""one 1
two 22
three 333
foo bar foo
  indented line

hello world
a/b/c
The Quick Brown Fox
caf\xc3\xa9 na\xc3\xafve
tab\there
aaa bbb ccc
last"""

SCRIPTS = r"""
sed ''
sed -n ''
sed p
sed -n p
sed -n 3p
sed '3!d'
sed -n '$p'
sed -n '$='
sed '2,4d'
sed '2,4!d'
sed '/foo/d'
sed '/foo/!d'
sed -n '/two/,/hello/p'
sed -n '/two/,3p'
sed -n '/hello/,2p'
sed -n '2,/foo/p'
sed -n '0,/o/p'
sed -n '1,/o/p'
sed -n '/o/,+1p'
sed -n '/three/,~4p'
sed -n '4,~4p'
sed -n '2~3p'
sed -n '0~4p'
sed -n '2~0p'
sed -n '5,2p'
sed -n '$!p'
sed -n '2,$p'
sed '2q'
sed '2q5'
sed '2Q'
sed '2Q7'
sed -n '2{p;q}'
sed -n '/foo/{=;p}'
sed '/foo/{s/foo/X/;s/bar/Y/}'
sed 's/o/0/'
sed 's/o/0/g'
sed 's/o/0/2'
sed 's/o/0/2g'
sed 's/O/0/I'
sed 's/o/0/gI'
sed -n 's/o/0/p'
sed -n 's/o/0/gp'
sed 's/o/0/w /dev/stdout'
sed 's/[aeiou]/<&>/g'
sed 's/\([a-z]*\) \([a-z]*\)/\2 \1/'
sed -E 's/([a-z]+) ([a-z]+)/\2 \1/'
sed -r 's/(o+)/[\1]/g'
sed '10d;s/x*/-/g'
sed '10d;s/a*/x/g'
sed 's/a*/x/2'
sed 's/b*/X/3'
sed '10d;s/\(a\|b\)*/[&]/g'
sed -E 's/(a|aa)(a|b)?/[\1|\2]/'
sed 's/^/> /'
sed 's/$/ </'
sed 's/^[ \t]*//'
sed 's/[[:space:]]*$//'
sed 's,/,|,g'
sed 's|/|\||g'
sed 's/\//-/g'
sed 's#a\#b#X#'
sed 's/[/]/_/g'
sed 's/\w\+/\u&/g'
sed 's/\b\(.\)/\u\1/g'
sed 's/.*/\U&/'
sed 's/.*/\L&/'
sed 's/\(.\)\(.*\)/\u\1\L\2/'
sed 's/\([a-z]*\) \(.*\)/\U\1\E \2/'
sed -E 's/(\w)(\w*)/\U\1\L\2/g'
sed 's/o/\n/g'
sed 's/ /\t/g'
sed 's/\t/TAB/g'
sed 's/o/\&/g'
sed 's/o/\x26/g'
sed 's/\x6f/0/g'
sed 's/o/a\
b/'
sed 'y/abc/xyz/'
sed 'y/o /0\n/'
sed 'y,a/,b|,'
sed 'y/é/e/'
sed = 
sed -n =
sed 'G'
sed -n 'H;${x;s/\n/,/g;p}'
sed 'x'
sed -n '1!G;h;$p'
sed '1h;2,3H;4G'
sed 'N;s/\n/+/'
sed '$!N;s/\n/+/'
sed 'N;P;D'
sed '$!N;P;D'
sed 'n;d'
sed -n 'n;p'
sed '$!n;s/o/0/'
sed ':a;N;$!ba;s/\n/,/g'
sed -e ':a' -e '$!{N;ba' -e '}' -e 's/\n/|/g'
sed ':a;s/^\(x*\)o/\1x/;ta'
sed ':a; s/o/0/; t a'
sed 's/foo/X/;T;s/X/Y/'
sed '/foo/b;s/^/-/'
sed '/foo/bend;s/^/-/;:end'
sed '2a hello'
sed '2a\hello'
sed '2a\  hello'
sed '2a\
  two\
  three'
sed '2i hello'
sed '2c hello'
sed '2,4c hello'
sed '2,4!c hello'
sed '$!c x'
sed '/foo/c\
changed'
sed '2a one\ttwo\x41'
sed -e '1a\' -e 'text'
sed '$a end'
sed '1i start'
sed '2{a x
}'
sed 'a\'
sed '2r other'
sed '2r nofile'
sed 'R other'
sed '$r other'
sed 'w out' 
sed -n '/foo/w out'
sed 'W out'
sed l
sed -n 'l 20'
sed -n 'l 1'
sed -n l -l 10
sed 'F;q'
sed '2z'
sed -s 's/o/0/' - other
sed -n '$p' - other
sed -sn '$p' - other
sed -n 'F' - other
sed -sn '1p' other other
sed '1d' other nofile other
sed -z 's/\n/,/g'
sed -z 's/^./X/mg'
sed 'N;N;s/^./X/Mg'
sed 'N;s/$/X/Mg'
sed 'N;s/.*$/X/M'
sed 'N;s/a.*/X/'
sed -n '/foo/,$p'
sed -n '\,/,p'
sed -n '\xfoxp'
sed -n '/FOO/Ip'
sed '//d'
sed '/foo/s//X/g'
sed -n '/foo/{//p}'
sed '/one/,/three/{/two/d}'
sed '1~2d;s/o/0/'
sed -e 's/a/b/' -e 's/b/c/'
sed --expression='s/a/b/'
sed -f script
sed -f script -e 's/1/2/'
sed --quiet --expression=p
sed '#comment
p'
sed '#n
p'
sed 's/a/b/ # comment'
sed 's/a/b/ ; s/b/c/ ;; p'
sed '{p}'
sed '{p;p}'
sed '1{2{p}};3p'
sed -n '2{p}' 
sed -n '/a/{/b/{p;q}}'
sed '1,3{s/^/</;s/$/>/}'
sed 'v 4.2'
sed '1!{2!d}'
sed '1 ! d'
sed '2,3 p'
sed -n '$!{$!p}'
sed '/^$/d'
sed 's/.\{3\}/&|/g'
sed -E 's/.{3}/&|/g'
sed -E 's/(.)(.)/\2\1/g'
sed -E 's/(^|[^a-z])([a-z])/\1\u\2/g'
sed -E 's/a|b|c/X/2'
sed -E 's/()/x/'
sed -E 's/^|$/"/g'
sed 's/\(^\| \)\([a-z]\)/\1_\2/g'
sed 's/*/x/'
sed 's/a\{2,\}/X/'
sed 's/\<./X/g'
sed 's/.\>/X/g'
sed 's/\bo/X/g'
sed 's/\Bo/X/g'
sed 's/\s/_/g'
sed 's/\S\+/S/g'
sed "s/\`./X/"
sed "s/.\'/X/"
sed 's/\./X/'
sed 's/é/e/'
sed 's/./X/4'
sed 's/[^ ]*$/"&"/'
sed '1d;n;d'
sed '5,$d'
sed k
sed 's/a/b'
sed 's/a/b/k'
sed '{p'
sed 'p}'
sed ba
sed :
sed 3
sed 'y/ab/c/'
sed a
sed /a
sed 'p x'
sed 1,p
sed 0p
sed 0,5p
sed s/a/b/gg
sed s/a/b/pp
sed s/a/b/0
sed '1!!p'
sed '}'
sed 's/\(/x/'
sed -E 's/a)/x/'
sed 's/a/\9/'
sed r
sed 's/[/x/'
sed -E 's/*a/x/'
sed -E 's/a{2,1}/b/'
sed -n '/a/,/b'
sed p nofile
sed -f nofile
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "other").write_bytes(b"first other\nsecond other\nthird")
    (tmp_path / "script").write_bytes(b"s/one/ONE/\n# a comment\n/two/ {\n  s/2/3/\n  a\\\nadded\n}\n")
    return tmp_path


def _commands() -> list[str]:
    lines: list[str] = []
    for line in SCRIPTS.strip().split("\nsed "):
        lines.append(line if line.startswith("sed") else "sed " + line)
    return lines


@pytest.mark.parametrize("line", _commands())
def test_sed_is_as_gnu_sed(line: str, place: Path) -> None:
    """Output, written files, messages and status of each script are GNU sed's."""
    argv = shlex.split(line)
    expected = real(argv, LINES, place)
    written = (place / "out").read_bytes() if (place / "out").exists() else None
    got = ours(argv, LINES, place)
    assert got == expected
    if written is not None:
        assert (place / "out").read_bytes() == written
    assert ours(argv, LINES, place, chunk=5) == got


@pytest.mark.parametrize(
    "line",
    ["sed -i s/o/0/g a b", "sed -i.bak 2d a", "sed -i -e 1q a", "sed -n -i p a b", "sed -i 's/x/y/' a none b",
     "sed --in-place=.old '$d' a b", "sed -i 1d a b", "sed -i 'w out' a", "sed -i '$a end' b", "sed -i = a",
     "sed -i 1i\\\\x a b"],
)  # fmt: skip
def test_sed_edits_files_in_place_as_gnu_sed(line: str, tmp_path: Path) -> None:
    """The files that -i leaves, and their copies, are those of GNU sed."""
    trees: list[dict[str, bytes]] = []
    for run in (real, ours):
        place = tmp_path / run.__name__
        place.mkdir()
        (place / "a").write_bytes(b"one\ntwo\nfoo\n")
        (place / "b").write_bytes(b"three\nfour")
        outcome = run(shlex.split(line), b"", place)
        trees.append(
            {path.name: path.read_bytes() for path in place.iterdir()} | {"": repr(outcome).encode()}
        )
    assert trees[1] == trees[0]


def test_sed_lets_the_reader_run_when_its_output_is_full() -> None:
    """A sed whose output is full stops in between and goes on when asked."""
    process = NativeProcess(["sed", "p"], stdin=b"y\n" * 100_000, limit=1)
    running = process.start()
    next(running)
    assert len(process.stdout.value()) < 200_000
    process.stdout.limit = 1 << 30
    assert next(running, "done") == "done"
    assert len(process.stdout.value()) == 400_000


_ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "\\(a\\)", "\\(ab\\)", "\\(a\\|ab\\)", "\\(b*\\)"])
_SUFFIXES = st.sampled_from(["", "", "*", "\\+", "\\?", "\\{1,2\\}"])


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(_ATOMS, _SUFFIXES), min_size=1, max_size=4),
    st.sampled_from(["", "g", "2", "2g"]),
    st.text("ab c", max_size=12),
)
def test_substitutions_with_any_expression_are_those_of_gnu_sed(
    parts: list[tuple[str, str]], flags: str, text: str
) -> None:
    """What a generated expression replaces, and where, is what GNU sed replaces."""
    expression = "".join(atom + suffix for atom, suffix in parts)
    argv = ["sed", f"s/{expression}/<&>/{flags}"]
    assert ours(argv, text.encode() + b"\n") == real(argv, text.encode() + b"\n")
