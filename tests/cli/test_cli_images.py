"""`planaria image`, and `--image` of the other commands."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def name(planaria: Run) -> Iterator[str]:
    """A name for an image, which is removed after the test."""
    name = f"test-{uuid.uuid4().hex}"
    yield name
    planaria("image", "remove", name)


def test_image(planaria: Run, name: str, tmp_path: Path) -> None:
    """An image is built, listed, used and removed by its name."""
    (tmp_path / "note.txt").write_text("hello")
    done = planaria(
        *("image", "build", name, "--preload", "colorsys", "--file", "note.txt:note.txt"),
        *("--setup", "text = open('note.txt').read()"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{name}: ".encode())
    listed = json.loads(planaria("image", "list", "--json").stdout)
    assert [one["recipe"]["preload"] for one in listed if one["name"] == name] == [["colorsys"]]
    assert name.encode() in planaria("image", "list").stdout  # however narrow the terminal
    assert planaria("run", "--image", name, "-c", "print(text)").stdout == b"hello\n"
    assert planaria("image", "remove", name).returncode == 0
    gone = planaria("run", "--image", name, "-c", "1")
    assert gone.returncode == 1
    assert f"there is no image '{name}'".encode() in gone.stderr


def test_setup_file(planaria: Run, name: str, tmp_path: Path) -> None:
    """The setup can come from a file; one that fails is reported with its traceback."""
    (tmp_path / "setup.py").write_text("a = 1\n1 / 0\n")
    done = planaria("image", "build", name, "--setup-file", "setup.py")
    assert done.returncode == 1
    assert b"line 2" in done.stderr
    assert b"ZeroDivisionError" in done.stderr
