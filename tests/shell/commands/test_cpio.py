"""cpio and flock beside the real ones."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support_core import ours, real, tree

NAMES = b"a\nd\nd/e\nd/e/deep.txt\nd/link\nempty\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    root = tmp_path / "files"
    (root / "d" / "e").mkdir(parents=True)
    (root / "a").write_bytes(b"one\ntwo\n")
    (root / "empty").write_bytes(b"")
    (root / "d" / "e" / "deep.txt").write_bytes(b"deep")
    (root / "d" / "link").symlink_to("e/deep.txt")
    return root


@pytest.mark.parametrize("kind", ["newc", "crc", "odc", "bin"])
def test_each_reads_the_archives_of_the_other(files: Path, tmp_path: Path, kind: str) -> None:
    """Archives of every format list and restore the same, whichever cpio wrote or reads them."""
    made = [make(["cpio", "-o", "-H", kind], NAMES, files) for make in (real, ours)]
    assert [one.stderr for one in made] == [made[0].stderr] * 2
    for archive in made:
        for read in (real, ours):
            assert read(["cpio", "-t"], archive.stdout, files).stdout == NAMES
            goal = tmp_path / f"{id(archive)}{read.__name__}"
            goal.mkdir()
            done = read(["cpio", "-idm"], archive.stdout, goal)
            assert done.status == 0, done.stderr
            assert tree(goal) == tree(files)


def test_patterns_choose_members(files: Path) -> None:
    """Only the members that match a pattern are listed, with -f only the others."""
    archive = real(["cpio", "-o"], NAMES, files).stdout
    for words in (["d/*"], ["-f", "d/*"], ["a", "empty"]):
        assert ours(["cpio", "-t", *words], archive) == real(["cpio", "-t", *words], archive)


def test_files_are_copied_to_a_directory(files: Path, tmp_path: Path) -> None:
    """cpio -p copies the named files below a directory."""
    for copy in (real, ours):
        done = copy(["cpio", "-pdm", str(tmp_path / copy.__name__)], NAMES, files)
        assert (done.status, done.stderr) == (0, b"1 block\n")
    assert tree(tmp_path / "ours") == tree(tmp_path / "real")


@pytest.mark.parametrize("words", [["-o"], ["-i"], ["-p"], [], ["-o", "-H", "x"], ["-io"]])
def test_wrong_calls_fail(files: Path, words: list[str]) -> None:
    """Without a mode, an archive or a directory cpio fails with the status of the real one."""
    assert ours(["cpio", *words], b"", files).status == real(["cpio", *words], b"", files).status


@pytest.mark.parametrize(
    "words",
    [
        ["lock", "echo", "hi"],
        ["-n", "lock", "sh", "-c", "exit 3"],
        [],
        ["lock", "-c"],
        ["word"],
        ["/no/x", "ls"],
    ],
)
def test_flock_runs_a_command(tmp_path: Path, words: list[str]) -> None:
    """flock makes the file, runs the command and returns its status; wrong calls say what the real one says."""
    assert ours(["flock", *words], cwd=tmp_path) == real(["flock", *words], cwd=tmp_path)


def test_bind_says_that_lines_are_not_edited() -> None:
    """bind warns as bash does where it reads no terminal, and refuses what it does not know."""
    from planaria_shell.run.shell import Shell
    from planaria_shell.run.streams import CapturedOutput, NullStream

    script = (
        "bind 'set completion-ignore-case on'; echo $?; bind -z; echo $?; bind -m no; echo $?; bind -q no"
    )
    out, err = CapturedOutput(), CapturedOutput()
    shell = Shell(env={}, cwd="/", stdin=NullStream(), stdout=out, stderr=err)
    shell.run(script)
    expected = subprocess.run(["bash", "-c", script], capture_output=True, check=False)
    assert out.getvalue() == expected.stdout
    assert err.getvalue() == expected.stderr
