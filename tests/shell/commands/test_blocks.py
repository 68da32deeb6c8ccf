"""Commands that work on many lines at once give what the real ones give, whatever the lines and their ends are."""

from __future__ import annotations

import random
import shlex
import shutil

import pytest
from harness import ours, real

pytestmark = pytest.mark.slow

WORDS = (
    "a",
    "b",
    "ab",
    "aab",
    "A",
    "10",
    "2",
    "007",
    "-1",
    "3.5",
    "+5",
    "1e3",
    "",
    "x.y",
    "c,d",
    "\\",
    "é",
    "漢",
)


def _texts() -> dict[str, bytes]:
    """Inputs by name: over several blocks, short, without a last newline, with bytes that are not text."""
    choose = random.Random(5)

    def lines(count: int, separators: tuple[str, ...]) -> bytes:
        rows = (
            choose.choice(separators).join(choose.choices(WORDS, k=choose.randrange(5))) for _ in range(count)
        )
        return "".join(row + "\n" for row in rows).encode()

    many = lines(10_000, (" ", "  ", "\t", ","))
    few = lines(40, (" ", "\t"))
    return {
        "nothing": b"",
        "one newline": b"\n",
        "few": few,
        "open end": few + b"a b 10",
        "many, open end": many + b"a b 10",
        "runs": b"".join(bytes([97 + place // 7000]) + b"\n" for place in range(40_000)),
        "not text": few.replace("é".encode(), b"\xe9") + b"\0a\nb\n",
    }


TEXTS = _texts()

LINES = [
    "sort", "sort -r", "sort -u", "sort -n", "sort -k2,2n", "sort -k2,2nr -k1,1", "sort -k2", "sort -k2,3",
    "sort -t, -k2,2", "sort -t, -k2", "sort -k2b,2", "sort -k1,1f", "sort -f", "sort -g -k2", "sort -u -k1,1",
    "sort -u -n", "sort -s -n -r", "sort -k1.2,2", "sort -V", "sort -h", "sort -z -k2n", "sort -M", "sort -d",
    "uniq", "uniq -c", "uniq -d", "uniq -u", "uniq -i", "uniq -cd", "uniq -w1 -c", "uniq -f1 -c", "uniq -D",
    "cut -d, -f2", "cut -d, -f1", "cut -d, -f2-", "cut -d, -f1,3", "cut -d, -f1 -s", "cut -d, -f2- -s",
    "cut -f2,3", "cut -c2-3", "tac", "rev", "tail -n 3", "tail -n 100", "tail -n 9000", "tail -n 0",
    "tail -n +5", "head -n -5", "grep -c a", "grep -cv a", "grep -c ^$", "grep -ci A", "grep -cw a",
    "grep -cx a", "sed s/a/X/", "sed s/a/X/g", "sed s/a*/X/", "sed s/^/>/", "sed s/$/;/", "sed 's/ *$//'",
    "sed 's/^ *//g'", "sed 's/\\(a\\)\\(b*\\)/\\2\\1/g'", "sed /a/d", "sed /a/!d", "sed 's/a/b/;s/b/c/g'",
    "sed y/ab/ba/", "sed '/b/s/a/X/g'", "sed '/b/!s/a*/Q/'", "sed 's/a/\\n/'", "sed 's/a/\\n/;s/b/c/'",
    "sed 's/a.*b/X/'", "sed 's/[^a]/-/g'", "sed 's/b/&&/'", "sed 's/^a/S/;/S/d'", "sed -n /a/p",
    "sed -n /a/!p", "sed -n s/a/X/p", "sed -n s/a/X/gp", "sed -n 's/b*$/E/p'", "sed -n 's/a/b/;/b/p'",
    "cat -n", "nl", "nl -ba", "nl -w3 -s: -v5 -i2", "paste", "paste - -", "paste -d, - - -", "paste -d,%% - - -", "paste -s",
    "paste -s -d,;", "sed -n p", "sed -E 's/(a|b)+/<&>/g'", "sed 's/\\(a\\)\\1/d/'", "sed 's/$/\\\\/'", "sed -z s/a/X/",
]  # fmt: skip

PROGRAMS = [
    "{print $1}", "{print $2, $1}", "{print $NF}", "{print NF, $NF}", "{print $(NF > 1 ? NF - 1 : 1)}",
    "$2 > 3 {print $1}", "$1 == 10 {n++} END {print n + 0}", "/a/", '/a/ && $2 > 1 {print NR ": " $0}',
    "$NF ~ /a/ {n++; s += $2} END {print n, s, NR, $0, NF, $1}", "{c[$1]++} END {for (k in c) print k, c[k]}",
    "!seen[$1]++", "NR % 2", "NR == 2, NR == 4", "/a/, /b/ {print $2}", '{gsub(/a/, "<&>"); print}',
    '{n += gsub(/a/, "b")} END {print n, $0}', '{sub(/a+/, "X")} 1', "NR == 3 {print; exit} END {print NR, $0, NF}",
    '{for (i = 1; i <= NF; i++) {if ($i == "a") next; printf "%s,", $i}; print ""}', "{t[$1] += $2} END {print t[10]}",
    "{t[$1] = $2} END {print t[10]}", "{if (length($0) > m) m = length($0)} END {print m}", "END {print NR, $0}",
    '{gsub(/a/, "x")} 1', '{sub(/a+b?/, "x")} 1', '{gsub(/[^a]/, "-"); sub(/a/, "y"); print}',
    "function f(x) {return x * 2} {print f($1), f(NR)}", "function g() {return $1} {print g()}", "{$1 = $1} 1",
    '{$3 = "z"; print NF, $0}', "/a/ {next} {print NR, $0}", "{print $1; getline; print $0}", "NF > 2 {print $2}",
    "{x = $1; y = $2; print (x < y) ? x : y}", '{printf "%5s|%d|%.2f\\n", $1, $2, $2}', "{print FNR, NR}",
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("name", TEXTS)
def test_filters_do_on_blocks_what_the_real_command_does(name: str, line: str) -> None:
    """Standard output and status are those of the real command."""
    argv = shlex.split(line)
    if argv[0] == "rev" and name == "not text":
        pytest.skip("the real rev stops at bytes that are no text")
    expected, got = real(argv, TEXTS[name], env=_locale(argv)), ours(argv, TEXTS[name], env=_locale(argv))
    assert (got.stdout, got.status) == (expected.stdout, expected.status)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("separator", [" ", ",", "[ ,]"])
def test_awk_does_on_blocks_what_gawk_does(separator: str, program: str) -> None:
    """Programs that only look at records and those that change them print the same as gawk's."""
    if shutil.which("gawk") is None:
        pytest.skip("gawk is not installed")
    for name, text in TEXTS.items():
        if name == "not text":
            continue
        argv = ["gawk", "-F", separator, program]
        expected, got = real(argv, text), ours(argv, text)
        assert (got.stdout, got.status) == (expected.stdout, expected.status), name


def _locale(argv: list[str]) -> dict[str, str]:
    """sort compares bytes, as the real one does only in this locale."""
    return {"LC_ALL": "C"} if argv[0] == "sort" else {}
