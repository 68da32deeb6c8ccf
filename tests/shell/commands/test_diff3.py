"""diff3 beside the real one."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from example_counts import examples
from harness import same
from hypothesis import given, settings
from hypothesis import strategies as st

EDITS = st.lists(st.sampled_from(["keep", "keep", "drop", "add", "change", "other"]), min_size=6, max_size=6)


def edited(edits: list[str]) -> str:
    """The lines 0 to 5, some dropped, changed, or with another after them."""
    lines: list[str] = []
    for number, edit in enumerate(edits):
        if edit in ("keep", "add"):
            lines.append(f"{number}\n")
        if edit not in ("keep", "drop"):
            lines.append(f"{edit} {number}\n")
    return "".join(lines)


@given(EDITS, EDITS, st.sampled_from(["", "-m", "-e", "-E", "-A", "-x", "-X", "-3", "-mE", "-mX", "-m3"]))
@settings(max_examples=examples(60), deadline=None)
def test_diff3_merges_as_the_real_command_does(mine: list[str], yours: list[str], option: str) -> None:
    """Whatever two files made of a third, diff3 shows it, merges it or writes the script of the real one."""
    with tempfile.TemporaryDirectory() as directory:
        for name, edits in (("mine", mine), ("old", ["keep"] * 6), ("yours", yours)):
            Path(directory, name).write_text(edited(edits))
        same(["diff3", *([option] if option else []), "mine", "old", "yours"], cwd=directory)


@pytest.mark.parametrize("options", [[], ["-T"], ["-m", "-L", "x", "-L", "y"], ["-i", "-e"], ["-me"]])
@pytest.mark.parametrize("ends", ["\n", ""])
def test_diff3_shows_three_files(tmp_path: Path, options: list[str], ends: str) -> None:
    """Blocks, labels and last lines without a newline are shown as the real one shows them."""
    (tmp_path / "m").write_text("1\nX\n3\n4\n5\n6\nm\n8" + ends)
    (tmp_path / "o").write_text("1\n2\n3\n4\n5\n6\n7\n8" + ends)
    (tmp_path / "y").write_text("1\nZ\n3\nQ\n5\n6\nm\n9" + ends)
    same(["diff3", *options, "m", "o", "y"], cwd=tmp_path, stderr=False)


@pytest.mark.parametrize(
    "words", [[], ["m", "o"], ["m", "o", "y", "z"], ["m", "o", "none"], ["-eA", "m", "o", "y"]]
)
def test_diff3_refuses_wrong_calls(tmp_path: Path, words: list[str]) -> None:
    """Wrong calls end with status 2 and the message of the real one."""
    for name in "moy":
        (tmp_path / name).write_text(name)
    same(["diff3", *words], cwd=tmp_path)
