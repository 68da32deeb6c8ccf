"""diff and patch beside GNU's."""

from __future__ import annotations

from pathlib import Path

import pytest
from example_counts import examples
from harness import ours, real, same
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

OLD = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"
NEW = "one\n2\nthree\nfour\nfive\nsix\nSeven \neight\n\nnine\nten"


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["-u"],
        ["-U1"],
        ["-u0"],
        ["-c"],
        ["-C", "1"],
        ["-e"],
        ["-n"],
        ["-y"],
        ["-y", "-W", "40", "--suppress-common-lines"],
        ["-q"],
        ["-s"],
        ["-i"],
        ["-w"],
        ["-b"],
        ["-B"],
        ["-iwB"],
        ["-u", "--label", "x", "--label", "y"],
        ["-Q"],
    ],
)
def test_styles(tmp_path: Path, options: list[str]) -> None:
    """Every style and option gives GNU's bytes and status."""
    (tmp_path / "a").write_text(OLD)
    (tmp_path / "b").write_text(NEW)
    same(["diff", *options, "a", "b"], cwd=tmp_path)


@pytest.mark.parametrize("options", [[], ["-r"], ["-rN"], ["-ru"], ["-rq"], ["-rs"], ["-ruN", "-x", "x"]])
def test_directories(tmp_path: Path, options: list[str]) -> None:
    """Directories are compared name by name, in the same words as GNU's."""
    for side in ("one", "two"):
        (tmp_path / side / "sub").mkdir(parents=True)
        (tmp_path / side / "sub" / "f").write_text(side)
        (tmp_path / side / "same").write_text("same\n")
        (tmp_path / side / side).write_text("only\n")
    same(["diff", *options, "one", "two"], cwd=tmp_path, stderr=False)


lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=20)
ending = st.sampled_from(["", "a", "end\n"])


@given(lines, ending, lines, ending, st.sampled_from([[], ["-u"], ["-c"], ["-U0"]]))
@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_patch_law(
    tmp_path: Path, old: list[str], old_end: str, new: list[str], new_end: str, options: list[str]
) -> None:
    """A patch of the difference makes the new file of the old one, and reversed the old of the new."""
    one, two = "".join(old) + old_end, "".join(new) + new_end
    (tmp_path / "a").write_text(one)
    (tmp_path / "b").write_text(two)
    (tmp_path / "t").write_text(one)
    difference = ours(["diff", *options, "a", "b"], cwd=tmp_path).stdout
    assert ours(["patch", "-s", "t"], difference, cwd=tmp_path).status == 0
    assert (tmp_path / "t").read_text() == two
    (tmp_path / "t").write_text(two)
    assert ours(["patch", "-s", "-R", "t"], difference, cwd=tmp_path).status == 0
    assert (tmp_path / "t").read_text() == one


@pytest.mark.parametrize("text", ["x\n" + OLD, OLD.replace("three", "3"), OLD.replace("two", "zwei"), ""])
def test_patch_elsewhere(tmp_path: Path, text: str) -> None:
    """Offsets, fuzz and rejected hunks are found and reported as GNU patch does."""
    (tmp_path / "a").write_text(OLD)
    (tmp_path / "b").write_text(NEW)
    difference = real(["diff", "-u", "a", "b"], cwd=tmp_path).stdout
    results = []
    for run in (real, ours):
        for name in ("t", "t.rej", "t.orig"):
            (tmp_path / name).unlink(missing_ok=True)
        (tmp_path / "t").write_text(text)
        outcome = run(["patch", "-N", "t"], difference, cwd=tmp_path)
        rejects = tmp_path / "t.rej"
        results.append(
            (
                outcome.status,
                outcome.stdout,
                (tmp_path / "t").read_text(),
                rejects.exists() and rejects.read_text(),
            )
        )
    assert results[0] == results[1]


@pytest.mark.parametrize("options", [[], ["-l"], ["-b"], ["-lb"], ["-s"], ["-n", "3"], ["-i", "2"]])
@pytest.mark.parametrize("other", ["abc\ndef\n", "abX\ndef\n", "abc\n", ""])
def test_cmp(tmp_path: Path, options: list[str], other: str) -> None:
    """cmp reports the first difference, or all, as GNU's."""
    (tmp_path / "a").write_text("abc\ndef\n")
    (tmp_path / "b").write_text(other)
    same(["cmp", *options, "a", "b"], cwd=tmp_path)


@pytest.mark.parametrize(
    "options", [[], ["-1"], ["-23"], ["--total"], ["--check-order"], ["--output-delimiter=:"]]
)
@pytest.mark.parametrize("text", ["a\nb\nd\n", "b\na\n", ""])
def test_comm(tmp_path: Path, options: list[str], text: str) -> None:
    """comm puts lines into three columns and notices disorder."""
    (tmp_path / "a").write_text(text)
    (tmp_path / "b").write_text("b\nc\nd\n")
    same(["comm", *options, "a", "b"], cwd=tmp_path, env={"LC_ALL": "C"})
