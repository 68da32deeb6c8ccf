"""xxd, od, hexdump, strings, column, envsubst, cal, file, tree, date and sqlite3 beside the real ones."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from harness import ours, same
from hypothesis import given, settings
from hypothesis import strategies as st

DATA = b"Hello, world!\n" + bytes(range(256)) + b"\0" * 64 + random.Random(1).randbytes(50)


@pytest.mark.parametrize(
    "command",
    [
        "xxd",
        "xxd -p",
        "xxd -u -c 8",
        "xxd -b",
        "xxd -i",
        "xxd -e",
        "xxd -g 1 -l 20",
        "xxd -a",
        "od",
        "od -c",
        "od -An -tx1",
        "od -A x -t x2z",
        "od -t d4 -t u1",
        "od -j 3 -N 9 -b",
        "od -w5 -tx1",
        "od -t f8",
        "hexdump",
        "hexdump -C",
        "hexdump -c",
        "strings",
        "strings -n 2 -t x",
    ],
)
def test_dumps(command: str) -> None:
    """Every layout of the dumps gives the real tool's bytes."""
    same(command.split(), DATA, stderr=False)


@given(st.binary(max_size=200))
@settings(max_examples=50)
def test_xxd_reverses(data: bytes) -> None:
    """`xxd -r` undoes xxd."""
    assert ours(["xxd", "-r"], ours(["xxd"], data).stdout).stdout == data
    assert ours(["xxd", "-r", "-p"], ours(["xxd", "-p"], data).stdout).stdout == data


@pytest.mark.parametrize(
    "options",
    ["-t", "-t -s:", "-t -s: -o|", "-t -s: -N A,B,C", "-t -R 1", "", "-x", "-c 40", "-J -s: -N a,b,c"],
)
def test_column(options: str) -> None:
    """column lays out tables and lists as util-linux does."""
    same(["column", *options.split()], b"name:age:x\nbob::3\n\nalice smith:22:4\n", stderr=False)


def test_envsubst() -> None:
    """Only the variables that are named are put in, all when none is."""
    env = {"A": "x y", "PATH": os.environ["PATH"]}
    same(["envsubst", "$A"], b"$A ${A} $B ${A:-x} \\$A", env=env, stderr=False)
    same(["envsubst"], b"$A ${A} $B ${A:-x} \\$A", env=env, stderr=False)


@pytest.mark.parametrize(
    "arguments", ["3 2024", "-3 6 2024", "2024", "9 1752", "-j 3 2024", "1 1", "feb 2000"]
)
def test_cal(arguments: str) -> None:
    """Months and years are drawn as cal draws them, 1752 included."""
    same(["cal", *arguments.split()], stderr=False)


@pytest.mark.parametrize(
    "options",
    ["", "-a", "-d", "-L 1", "-f", "-F", "-i --noreport", "-I a", "-s", "-J", "--dirsfirst", "-r", "-p"],
)
def test_tree(tmp_path: Path, options: str) -> None:
    """Directories are drawn as tree draws them."""
    (tmp_path / "t" / "a" / "b").mkdir(parents=True)
    (tmp_path / "t" / "a" / "x.py").write_text("x")
    (tmp_path / "t" / ".hidden").write_text("")
    (tmp_path / "t" / "link").symlink_to("a")
    same(["tree", *options.split(), "t"], cwd=tmp_path, stderr=False)


@pytest.mark.parametrize(
    "content",
    [
        b"hi\n",
        b"no newline",
        "é\n".encode(),
        b"\xe9\n",
        b"a\r\n",
        b'{"a": 1}',
        b"#!/bin/bash\n",
        b"#!/usr/bin/env python3\n",
        b"a,b\n1,2\n3,4\n",
        b"",
        b"\0\1\2",
        b"%PDF-1.4\nx",
        b"GIF89a\5\0\6\0",
        b"\x1b[1m\n",
    ],
)
def test_file(tmp_path: Path, content: bytes) -> None:
    """file names what is in a file in the same words."""
    (tmp_path / "f").write_bytes(content)
    same(["file", "f"], cwd=tmp_path, stderr=False)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "EST5EDT,M3.2.0,M11.1.0", "Asia/Kolkata"])
@pytest.mark.parametrize(
    "words",
    [
        "next friday",
        "last monday",
        "yesterday 10:00",
        "2 weeks ago 00:00",
        "@1700000000.5",
        "2024-01-31 +1 month",
        "2024-01-15 10:00 - 2 hours",
        "2024-01-15T10:20:30+02:00",
        "Mon, 06 Apr 2026 12:00:00 +0000",
        "Apr 6, 2026 3pm",
        "17-JUN-1992",
        "12/25/2024",
        "20240115 1020",
        "third monday",
        "2024-02-30",
        "bogus",
        'TZ="Asia/Tokyo" 2024-01-15 10:00',
    ],
)
def test_date_words(zone: str, words: str) -> None:
    """`date -d` understands what GNU date does, in any zone."""
    same(["date", "-d", words, "+%F %T.%N %z %Z %a"], env={"TZ": zone, "LC_ALL": "C"})


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8"])
@pytest.mark.parametrize(
    "argv", [["date", "-d", "bogus"], ["od", "-tq"], ["seq", "1", "2", "3", "4"], ["sort", "--sort=odd"]]
)
def test_quotes_of_messages(locale: str, argv: list[str]) -> None:
    """Words are quoted in messages by the marks of the locale."""
    same(argv, env={"LC_ALL": locale})


def test_date_formats() -> None:
    """Every conversion with its flags gives GNU's text."""
    letters = "aAbBcCdDeFgGhHIjklmMpqrRsSTuUVwWxXyYzZ"
    layout = "%n%t%N%P|" + "|".join(
        f"%{flag}{letter}" for flag in ("", "-", "_", "^", "10") for letter in letters
    )
    for moment in ("2024-01-05 03:04:05.006", "1999-12-31 23:59:59"):
        same(
            ["date", "-d", moment, f"+{layout}|%:z|%::z|%3N"],
            env={"TZ": "America/New_York", "LC_ALL": "C"},
            stderr=False,
        )


SETUP = b"create table t(a integer, b text, c real); insert into t values(1,'x',1.5),(2,'y ''q',null);\n"


@pytest.mark.parametrize(
    "mode", ["list", "csv", "column", "json", "line", "table", "box", "markdown", "quote"]
)
def test_sqlite_modes(mode: str) -> None:
    """Every output mode is laid out as sqlite3 does."""
    same(["sqlite3", "-header", f"-{mode}"], SETUP + b"select * from t;", stderr=False)


@pytest.mark.parametrize(
    "text",
    [
        ".tables",
        ".schema",
        ".dump",
        "select * frm t;",
        "select 1",
        ".nope",
        ".mode insert q\nselect * from t;",
    ],
)
def test_sqlite_commands(text: str) -> None:
    """Dot commands and errors speak as sqlite3's."""
    same(["sqlite3"], SETUP + text.encode())
