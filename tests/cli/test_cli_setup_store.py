"""`planaria setup --to` and `--from`: what one computer has compiled and built, for another one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import planaria
from planaria.runtime.cache import CompileCache

pytestmark = pytest.mark.slow

_USE = """
import planaria
with planaria.Session(image="travels") as session:
    print(session.run("prices, data").value, session.files.read_text("/home/user/a.txt"))
print(planaria.Image.find("travels").digest)
"""


def test_a_new_computer_gets_what_another_one_has(tmp_path: Path) -> None:
    """With an empty cache nothing is compiled or built: the runtime and an image with files come from the store."""
    image = planaria.Image.build(
        "travels", setup="prices = [1, 2]\ndata = open('a.txt').read()", files={"/home/user/a.txt": "text"}
    )

    def run(*arguments: str, cache: Path) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            env={**os.environ, "PLANARIA_CACHE": str(cache)},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    setup = ["-m", "planaria", "setup", "--image", "travels"]
    here, there, store = CompileCache().directory, tmp_path / "cache", str(tmp_path / "store")
    try:
        sent = run(*setup, "--to", store, cache=here)
        assert "core runtime: " in sent
        assert " sent" in sent
        assert "already in the store" in run(*setup, "--to", store, cache=here)
        fetched = run(*setup, "--from", store, cache=there)
        assert "MB fetched" in fetched
        assert "compiling" not in fetched
        assert run("-c", _USE, cache=there).split("\n")[:2] == ["([1, 2], 'text') text", image.digest]
    finally:
        planaria.Image.remove("travels")


def test_an_image_that_is_not_there(tmp_path: Path) -> None:
    """An image that the store lacks is an error that says how to send it."""
    command = [sys.executable, "-m", "planaria", "setup", "--from", str(tmp_path), "--image", "none"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 1
    assert "the store has no image 'none'" in done.stderr
