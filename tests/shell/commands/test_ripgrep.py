"""rg beside ripgrep 13."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from harness import ours, real


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "one.py").write_text("import os\n\ndef foo(bar):\n    return Bar  # TODO: foo\n")
    (tmp_path / "two.txt").write_text("foo foo bar\nnothing\nFOO é foo\nlast")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "three.js").write_text("const foo = 1;\nlet x = foo + 12;\n")
    (tmp_path / ".hidden").write_text("foo hidden\n")
    (tmp_path / ".ignore").write_text("*.log\n/build/\n!keep.log\n")
    (tmp_path / "a.log").write_text("foo log\n")
    (tmp_path / "keep.log").write_text("foo keep\n")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "b.py").write_text("foo build\n")
    (tmp_path / "binary").write_bytes(b"foo\0foo\n")
    return tmp_path


@pytest.mark.parametrize(
    "line",
    r"""
rg foo two.txt
rg -n foo two.txt
rg -c foo two.txt
rg --count-matches foo two.txt
rg -o 'fo+' two.txt
rg -on 'fo+' two.txt
rg -v foo two.txt
rg -i foo two.txt
rg -S foo two.txt
rg -S Foo two.txt
rg -w fo two.txt
rg -x nothing two.txt
rg -F 'foo(bar' one.py
rg 'foo\(' one.py
rg -r 'X$0Y' foo two.txt
rg -or '$1' 'f(o+)' two.txt
rg -r '${a}!' '(?P<a>b\w+)' one.py
rg -A1 foo two.txt
rg -nB1 -A1 nothing two.txt
rg -C1 return one.py
rg -m1 foo two.txt
rg -q foo two.txt
rg -q zzz two.txt
rg zzz two.txt
rg -l foo two.txt
rg -H foo two.txt
rg --column foo two.txt
rg --vimgrep foo two.txt
rg -b foo two.txt
rg -e foo -e last two.txt
rg --trim return one.py
rg '\w+é?' -o two.txt
rg -N foo two.txt
rg --passthru nothing two.txt
rg -e '^\s*$' -n one.py
rg foo binary
rg -a foo binary
rg '(foo' two.txt -q
rg 'o{2}$' two.txt
rg --no-heading -n foo two.txt
rg '\bfoo\b.*\d' sub/three.js
""".strip().splitlines(),
)
def test_rg_on_one_file_prints_what_ripgrep_prints(line: str, tree: Path) -> None:
    """Lines, prefixes and status are ripgrep's."""
    argv = shlex.split(line)
    assert ours(argv, b"", tree)[:2] == real(argv, b"", tree)[:2]


@pytest.mark.parametrize(
    "line",
    r"""
rg foo .
rg -n foo .
rg -l foo .
rg -c foo .
rg --files-without-match foo .
rg foo sub two.txt
rg -t py foo .
rg -T py foo .
rg -g '*.txt' foo .
rg -g '!*.txt' foo .
rg -g 'sub/**' foo .
rg -g '*.{py,js}' -l foo .
rg --hidden foo .
rg -u foo .
rg -uu foo .
rg --no-ignore foo .
rg --files .
rg --files -g '*.py' .
rg --files -uu .
rg --max-depth 1 foo .
rg -I foo .
rg foo two.txt one.py -I
rg -i todo .
rg foo nofile
rg foo nofile two.txt
""".strip().splitlines(),
)
def test_rg_finds_the_files_that_ripgrep_finds(line: str, tree: Path) -> None:
    """Ignore files, hidden files, globs and types leave the same files; ripgrep's order is its own."""
    argv = shlex.split(line)
    expected, got = real(argv, b"", tree), ours(argv, b"", tree)
    assert got.status == expected.status
    assert sorted(got.stdout.splitlines()) == sorted(expected.stdout.splitlines())


def test_rg_without_a_path_searches_standard_input_or_else_the_directory(tree: Path) -> None:
    """What is piped in is searched; with nothing there, the working directory is."""
    assert ours(["rg", "x"], b"x\ny\n", tree).stdout == b"x\n"
    assert ours(["rg", "-l", "import"], b"", tree).stdout == b"one.py\n"


def test_rg_heading_groups_lines_by_file(tree: Path) -> None:
    """With --heading the name of a file stands once above its lines."""
    argv = ["rg", "--heading", "-n", "--sort", "path", "foo", "."]
    assert ours(argv, b"", tree).stdout == real(argv, b"", tree).stdout


def test_rg_json_reports_where_each_match_is(tree: Path) -> None:
    """The match messages are ripgrep's."""
    argv = ["rg", "--json", "foo", "two.txt"]

    def matches(output: bytes) -> list[object]:
        messages = [json.loads(line) for line in output.splitlines()]
        return [message["data"] for message in messages if message["type"] == "match"]

    assert matches(ours(argv, b"", tree).stdout) == matches(real(argv, b"", tree).stdout)
