"""tput, fallocate, uuidgen, dos2unix: beside the real ones where this machine has them."""

from __future__ import annotations

import re
import uuid
from pathlib import Path

import pytest
from harness import ours, same

CAPABILITIES = """
colors|setaf 1|setaf 9|setaf 200|setab 3|setab 100|bold|dim|sitm|ritm|smul|rmul|blink|rev|invis|smso|rmso|sgr0
clear|el|el1|ed|home|civis|cnorm|cvvis|sc|rc|cuu1|cud1|cuf1|cub1|smcup|rmcup|bel|cr|op|dl1|il1|cup 1 2|cuu 3
cud 3|cuf 3|cub 3|hpa 4|vpa 4|ech 2|dch 2|dl 2|il 2|ich 2|cols|lines|it|pairs|am|bce|km|mir|xenl|nosuch|ri|ht
"""


@pytest.mark.parametrize("terminal", ["xterm-256color", "xterm", "dumb", "nosuch", ""])
def test_tput_writes_what_the_real_tput_writes(terminal: str) -> None:
    """Sequences, numbers, messages and statuses are those of ncurses' tput."""
    for capability in CAPABILITIES.strip().replace("\n", "|").split("|"):
        same(["tput", *capability.split()], env={"TERM": terminal})


def test_tput_takes_capabilities_from_standard_input_and_the_size_from_the_environment() -> None:
    """-S reads a line for each; COLUMNS and LINES count; -T comes before TERM."""
    same(["tput", "-S"], b"bold\nsetaf 2\n", env={"TERM": "xterm"})
    same(["tput", "cols"], env={"TERM": "xterm", "COLUMNS": "100"})
    same(["tput", "-T", "xterm", "bold"], env={"TERM": "dumb"})


def test_fallocate_makes_files_as_long_as_the_real_one_does(tmp_path: Path) -> None:
    """Files only grow, -n leaves them as they are, and wrong use is reported alike."""
    for words in (
        ["-l", "5K", "a"],
        ["-l", "5", "a"],
        ["-o", "10K", "-l", "1", "a"],
        ["-n", "-l", "1M", "a"],
    ):
        sizes = []
        for run in (same, lambda words, cwd: ours(words, cwd=cwd)):
            (tmp_path / "a").unlink(missing_ok=True)
            (tmp_path / "a").write_bytes(b"x" * 100)
            run(["fallocate", *words], cwd=tmp_path)
            sizes.append((tmp_path / "a").stat().st_size)
        assert sizes[0] == sizes[1], words
    for words in (["a"], ["-l", "x", "a"], ["-l", "5"]):
        same(["fallocate", *words], cwd=tmp_path)


def test_uuidgen_prints_identifiers() -> None:
    """Random ones, ones by the time, and the ones that RFC 4122 makes of a name."""
    for words, version in ((["uuidgen"], 4), (["uuidgen", "-r"], 4), (["uuidgen", "-t"], 1)):
        assert uuid.UUID(ours(words).stdout.decode().strip()).version == version
    named = ours(["uuidgen", "--sha1", "--namespace", "@dns", "--name", "www.example.com"])
    assert named.stdout == b"2ed6657d-e927-568b-95e1-2665a8aea6a2\n"


@pytest.mark.parametrize(
    ("command", "before", "after"),
    [
        ("dos2unix", b"a\r\nb\nc\r\r\n", b"a\nb\nc\r\n"),
        ("unix2dos", b"a\nb\r\nc", b"a\r\nb\r\nc"),
        ("mac2unix", b"a\rb\r", b"a\nb\n"),
        ("unix2mac", b"a\nb\n", b"a\rb\r"),
    ],
)
def test_ends_of_lines_are_converted(command: str, before: bytes, after: bytes, tmp_path: Path) -> None:
    """Files are converted in place and reported, standard input is converted to standard output."""
    (tmp_path / "a").write_bytes(before)
    done = ours([command, "a"], cwd=tmp_path)
    assert (tmp_path / "a").read_bytes() == after
    assert re.fullmatch(rf"{command}: converting file a to \w+ format...\n".encode(), done.stderr)
    assert ours([command], before).stdout == after
    (tmp_path / "binary").write_bytes(before + b"\0")
    assert b"Skipping binary file binary" in ours([command, "binary"], cwd=tmp_path).stderr
    assert (tmp_path / "binary").read_bytes() == before + b"\0"
    assert ours([command, "none"], cwd=tmp_path).status == 1
