"""Locks between processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from planaria.file_locks import file_lock


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    """A lock that is held cannot be had within the timeout, also not in the same process, and can afterwards."""
    path = tmp_path / "lock"
    with file_lock(path) as held, file_lock(path, timeout=0) as second:
        assert (held, second) == (True, False)
    with file_lock(path, timeout=0) as held:
        assert held
    assert path.stat().st_mode & 0o777 == 0o600


def test_shared_holders(tmp_path: Path) -> None:
    """Those who share a lock hold it together, and exclude one who does not."""
    path = tmp_path / "lock"
    with (
        file_lock(path, shared=True) as one,
        file_lock(path, shared=True, timeout=0) as two,
        file_lock(path, timeout=0) as three,
    ):
        assert (one, two, three) == (True, True, False)


@pytest.mark.skipif(os.name != "posix", reason="an open file cannot be removed there")
def test_a_lock_whose_file_is_removed(tmp_path: Path) -> None:
    """One who waits for a lock that its holder removes gets the lock that has the name, as all others do."""
    path = tmp_path / "lock"
    got = threading.Event()
    go_on = threading.Event()

    def wait() -> None:
        with file_lock(path, timeout=60) as held:
            if held:
                got.set()
            go_on.wait(60)

    with file_lock(path):
        thread = threading.Thread(target=wait)
        thread.start()
        path.unlink()
    try:
        assert got.wait(60)
        with file_lock(path, timeout=0) as held:
            assert not held
    finally:
        go_on.set()
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked there")
def test_a_forked_child_does_not_keep_a_lock(tmp_path: Path) -> None:
    """A lock is free after its holder released it, also when a child forked meanwhile is running."""
    program = (
        "import os, pathlib, sys\n"
        "from planaria.file_locks import file_lock\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "read, write = os.pipe()\n"
        "with file_lock(path):\n"
        "    if (child := os.fork()) == 0:\n"
        "        os.read(read, 1)\n"
        "        os._exit(0)\n"
        "with file_lock(path, timeout=0) as held:\n"
        "    print(held)\n"
        "os.write(write, b'x')\n"
        "os.waitpid(child, 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "lock"], capture_output=True, check=True)
    assert done.stdout == b"True\n"
