"""`planaria pool`, beside a pool that another program has open."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from planaria import FileStore, Suspend
from planaria.pool import Pool
from planaria.pool.presence import workers_of

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


def approve() -> bool:
    """Wait for an approval."""
    raise Suspend("someone has to decide")


@pytest.mark.parametrize("command", ["status", "list", "drain"])
def test_a_store_that_is_not_there(command: str, planaria: Run, tmp_path: Path) -> None:
    """A path where nothing is gets an error, and is not created."""
    for place in (tmp_path / "none", f"file://{tmp_path}/none"):
        told = planaria("pool", command, str(place))
        assert (told.returncode, b"there is no store at" in told.stderr) == (1, True)
    assert not (tmp_path / "none").exists()


def test_sessions_and_workers(planaria: Run, tmp_path: Path) -> None:
    """Sessions are listed with what they wait for; workers are shown, and drained until none is left."""
    place = str(tmp_path / "sessions")
    with Pool(place, callbacks=[approve], workers=1) as pool:
        pool.run("user-1", "x = 1")
        pool.start("order-1", "await approve()")
        store = pool._store
        while not workers_of(store.presence):  # written by a thread of the worker
            pass

        shown = json.loads(planaria("pool", "status", place, "--json").stdout)
        assert (shown["sessions"], [one["pid"] for one in shown["workers"]]) == (2, pool.worker_pids())
        assert str(pool.worker_pids()[0]) in planaria("pool", "status", place).stdout.decode()

        listed = json.loads(planaria("pool", "list", place, "--json").stdout)
        assert [(one["name"], one["state"], one["waits_for"]) for one in listed] == [
            ("order-1", "waiting", ["approve"]),
            ("user-1", "parked", []),
        ]
        lease = store.leases.acquire("user-1", "someone")
        assert lease is not None
        [line] = planaria("pool", "list", place, "user-*").stdout.decode().splitlines()[1:]
        assert line.split()[-1] == "executing"
        lease.release()

        unknown = planaria("pool", "drain", place, "--worker", "xyz")
        assert (unknown.returncode, b"there is no worker xyz" in unknown.stderr) == (1, True)
        done = planaria("pool", "drain", place, "--wait", "300")
        assert (done.returncode, done.stdout) == (0, b"1 of 1 workers have drained\n")
        assert workers_of(store.presence) == {}
        assert b"no workers" in planaria("pool", "status", place).stdout
        assert pool.run("user-1", "x").value == 1


def test_collect(planaria: Run, tmp_path: Path) -> None:
    """What no session needs is removed, and what was sent when it was not used for so many days."""
    store = FileStore(tmp_path)
    store.attachments.put("native", "core-1", b"code")
    assert json.loads(planaria("pool", "collect", str(tmp_path), "--json").stdout)["attachments"] == 0
    assert b"and 1 compiled runtimes" in planaria("pool", "collect", str(tmp_path), "--unused", "0").stdout
    assert not store.attachments.has("native", "core-1")
