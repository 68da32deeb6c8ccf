"""grep beside GNU grep."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from support_text import NativeProcess, assert_same, ours, real, start

LINES = b"""the quick brown fox
jumps over the lazy dog
The End of the line
foo bar baz
foobar
foo_bar foo-bar
a.b a*b a+b a|b (a) [x] {1} ^c$ \\d

x1 y22 z333 2024-01-15 10:30:00
ERROR: disk full
error: retry
na\xc3\xafve caf\xc3\xa9 \xc3\x89t\xc3\xa9
ababab abc aabb
192.168.1.1 10.0.0.255
tab\there  two  spaces
last line"""

PATTERNS = r"""
grep foo
grep -i error
grep -v foo
grep -c foo
grep -n foo
grep -nv o
grep -w foo
grep -wo foo
grep -x foobar
grep -xv foobar
grep -o 'fo*'
grep -o 'x*'
grep -on '[0-9]\+'
grep -ob '[0-9]\+'
grep -b foo
grep -nb the
grep -E '^(foo|the)'
grep -E 'o{2}'
grep -E '(ab)+c'
grep -oE '(a|ab)(c|bcd)?'
grep -oE 'a|ab|abc'
grep -oE '(ab|a)(bab)?'
grep -oE '[0-9]+(\.[0-9]+){3}'
grep '^$'
grep -vc '^$'
grep 'a\.b'
grep -F 'a.b'
grep -F 'a*b'
grep -F '(a)'
grep 'a*b'
grep '*b'
grep '\(foo\).*\1'
grep -E '(.)\1'
grep -E '\bfoo\b'
grep '\<foo\>'
grep -o '\w\+'
grep -oE '\W+'
grep '\sover\s'
grep '[[:upper:]]'
grep -o '[[:digit:]]*'
grep '[^[:alnum:][:space:]]'
grep -e foo -e fox
grep -c -e foo -e error -i
grep -m1 foo
grep -m2 -n foo
grep -m0 foo
grep -A1 fox
grep -B1 dog
grep -C1 baz
grep -1 baz
grep -n -A1 -B1 foo
grep -A1 -m1 foo
grep -A3 -m1 foo
grep -C1 -e fox -e last
grep -vC1 -e o
grep -c -A2 foo
grep -q foo
grep -q nothing
grep nothing
grep -l foo
grep -L foo
grep -L nothing
grep -H foo
grep -Hn foo
grep -hn foo
grep -Hc foo
grep -H --label=NAME foo
grep -Z -l foo
grep -HZ foo
grep -T foo
grep --color=always foo
grep --color=always -n foo
grep --color=always -Hn -C1 baz
grep --color=always -v foo
grep --color=always -o fo
grep --color=always -i -E 'error|the'
grep --color=never foo
grep --color=auto foo
grep -P '\d{3}'
grep -oP '\d+(?=-)'
grep -oP '(?<=\.)\d+'
grep -oP 'foo\Kbar'
grep -oP '(?<year>\d{4})-\d\d'
grep -P '^\S+$'
grep -oP '\bt\w*'
grep -P '(?i)error'
grep -oP '[[:alpha:]]+'
grep -oP 'a++b'
grep -oP '\x41|\x{61}'
grep -P 'foo(?!bar)'
grep -wP foo
grep -xP foobar
grep -oi 'É'
grep -o 'caf.'
grep -oE 'n[[:alpha:]]+e'
grep -E 'a|'
grep -E 'foo|bar|'
grep -E ''
grep ''
grep -v ''
grep -e ''  -e foo
grep -E '()'
grep -E 'a{1'
grep -E 'a{,2}b'
grep -E '^*foo'
grep -E 'o**'
grep 'a\{2\}b\{2,\}'
grep 'a\|f'
grep 'x^c'
grep '^c$'
grep '\^c\$'
grep 'a\?b'
grep '[]x]'
grep '[a-c]$'
grep '[^]]*x\]'
grep '[.]'
grep '[\d]'
grep -E '[a\]x'
grep '{1}'
grep -E '\{1\}'
grep -Ew 'foo|foo_bar'
grep -Eo '\b'
grep -Eow 'f.*'
grep -w ''
grep -x ''
grep -ic 'THE'
grep -y THE
grep --no-ignore-case -i THE
grep -i --no-ignore-case THE
grep -s foo nofile
grep foo nofile
grep -q foo nofile -
grep -z foo
grep -zo 'the.*line'
grep -zc '^foo'
grep --regexp=foo
grep --max-count=1 foo
grep --context=1 dog
grep --after-context 1 dog
grep --line-number --only-matching foo
grep --count --invert-match foo
grep --group-separator=XX -A0 foo
grep --no-group-separator -A0 -e fox -e last
grep -A1 -o foo
grep -A0 -e fox -e foo
grep -C0 -n o
grep -nA1 -o foo
grep -bC1 baz
grep -U foo
grep --line-buffered fox
grep '\(a'
grep 'a\)'
grep -E '(a'
grep -E 'a)'
grep '[a'
grep '[[:foo:]]'
grep '[:space:]'
grep 'a\{1'
grep 'a\{2,1\}'
grep '[z-a]'
grep -E 'a\1'
grep 'foo\'
grep -P '(a'
grep -P '[a'
grep
grep -e
grep --foo x
grep --in x
grep -A x y
grep -m x y
grep -E -P a
grep -P -e a -e b
grep --binary-files=x a
grep -k x
egrep 'a+b|fox'
fgrep 'a+b'
"""


@pytest.mark.parametrize("line", [line for line in PATTERNS.splitlines() if line])
def test_grep_on_standard_input_is_as_gnu_grep(line: str, tmp_path: Path) -> None:
    """Output, messages and status of each command are GNU grep's."""
    argv = shlex.split(line)
    # The real egrep and fgrep warn that they are old.
    assert_same(argv, LINES, tmp_path, stderr=argv[0] == "grep")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "one.txt").write_bytes(b"alpha\nbeta\ngamma\n")
    (tmp_path / "two.log").write_bytes(b"beta\ndelta")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "binary").write_bytes(b"beta\0beta\nbeta\n")
    (tmp_path / "latin").write_bytes(b"first\nb\xe9ta beta\nbeta again\n")
    (tmp_path / "words").write_bytes(b"beta\ngam\n")
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "sub" / "three.txt").write_bytes(b"beta 3\n")
    (tmp_path / "sub" / "deep" / "four.log").write_bytes(b"x\nbeta 4\n")
    return tmp_path


@pytest.mark.parametrize(
    "line",
    r"""
grep beta one.txt two.log
grep -h beta one.txt two.log
grep -n beta one.txt two.log
grep -c beta one.txt two.log empty
grep -l beta one.txt two.log empty
grep -L beta one.txt two.log empty
grep -A1 beta one.txt two.log
grep beta one.txt none two.log
grep -s beta one.txt none two.log
grep -q beta one.txt none
grep beta sub
grep beta sub one.txt
grep -d skip beta sub one.txt
grep beta binary
grep -c beta binary
grep -a beta binary
grep -I beta binary one.txt
grep -o beta binary
grep -v zz binary
grep -l beta binary
grep -q beta binary
grep --binary-files=text -c beta binary
grep beta latin
grep -n beta latin
grep -a beta latin
grep -c 'b.ta' latin
grep -o 'b.ta' latin
grep -f words one.txt
grep -f empty one.txt
grep -vf empty one.txt
grep -F -f words one.txt two.log
grep -xFf words one.txt two.log
grep -e zz -f words one.txt
grep -f none one.txt
grep beta - one.txt
""".strip().splitlines(),
)
def test_grep_on_files_is_as_gnu_grep(line: str, tree: Path) -> None:
    """Names, separators, binary files and errors of files are shown as GNU grep does."""
    assert_same(shlex.split(line), b"std beta\n", tree)


@pytest.mark.parametrize(
    "line",
    r"""
grep -r beta
grep -r beta .
grep -rn beta sub
grep -rh beta sub one.txt
grep -r beta sub/
grep -rl beta .
grep -rc beta sub
grep -r --include=*.txt beta .
grep -r --exclude=*.txt beta .
grep -r --include=*.txt --include=*.log beta .
grep -r --exclude-dir=deep beta .
grep -r --exclude-dir=sub beta
grep -r beta one.txt
grep -r beta one.txt two.log
grep -R beta sub
grep -L -r beta .
grep --include=*.log beta one.txt two.log
grep -r nothing .
""".strip().splitlines(),
)
def test_recursive_grep_finds_what_gnu_grep_finds(line: str, tree: Path) -> None:
    """The same lines come out (the real one goes through directories in an order of their own)."""
    expected, got = real(shlex.split(line), b"", tree), ours(shlex.split(line), b"", tree)
    assert got.status == expected.status
    assert sorted(got.stdout.splitlines()) == sorted(expected.stdout.splitlines())
    assert sorted(got.stderr.splitlines()) == sorted(expected.stderr.splitlines())


def test_grep_lets_the_reader_run_when_its_output_is_full() -> None:
    """A grep whose output is full stops in between and goes on when asked."""
    process = NativeProcess(["grep", "y"], stdin=b"y\n" * 100_000, limit=1)
    running = start(process)
    next(running)
    assert process.stdout.size < 200_000
    process.stdout.limit = None
    assert next(running, "done") == "done"
    assert process.stdout.size == 200_000


def test_grep_has_a_pattern_file_of_ten_thousand_words() -> None:
    """Many plain words are one search, not ten thousand."""
    words = b"\n".join(b"word%d" % number for number in range(10_000))
    text = b"".join(b"a word%d b\n" % number for number in range(5_000, 15_000))
    argv = ["grep", "-c", "-w", "-F", "-e", words.decode()]
    assert ours(argv, text).stdout == b"5000\n"
