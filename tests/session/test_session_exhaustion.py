"""When a resource of the host is used up, the error names it, and the session goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_PROGRAM = """
import os, resource, signal
import planaria
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
base = planaria.Session()
base.execute("x = 1")
spent = None
kept = [base]
used = len(os.listdir("/proc/self/fd"))
{limit}
for _ in range(60):
    try:
        kept[-1].execute("data = bytearray(b'x' * (20 << 20))")
        kept.append(kept[-1].fork()[0])
    except planaria.SessionError as error:
        spent = str(error)
        break
print(spent)
{back}
print(kept[-1].execute("x").value, kept[-1].fork()[0].execute("x").value)
"""


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("NOFILE", "files open; close sessions, or raise it (ulimit -n)"),
        ("FSIZE", "raise its limit (ulimit -f)"),
    ],
)
def test_a_resource_that_is_used_up_is_named(limit: str, message: str) -> None:
    """Without descriptors, or room in memory files, capturing a state raises a SessionError that says what to do; the
    session stays usable, and works as before once there is more.
    """
    soft = "used + 3" if limit == "NOFILE" else "1 << 20"
    program = _PROGRAM.format(
        limit=f"old = resource.getrlimit(resource.RLIMIT_{limit})\n"
        f"resource.setrlimit(resource.RLIMIT_{limit}, ({soft}, old[1]))",
        back=f"resource.setrlimit(resource.RLIMIT_{limit}, old)",
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stderr == ""
    spent, after = done.stdout.splitlines()
    assert message in spent
    assert after == "1 1"


_OPERATIONS = """
import asyncio, os, resource, signal, sys
import planaria
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

def plain():
    return 1

async def awaited():
    return 2

directory, limit, free = sys.argv[1:]
session = planaria.Session(callbacks=[plain, awaited])
session.execute("x = 1")
with planaria.Session() as other:
    snapshot = other.snapshot_state()
bytes(snapshot)
store, database = planaria.FileStore(directory + "/s"), planaria.SqliteStore(directory + "/s.db")
database.save("name", snapshot)
soft = {
    "NOFILE": lambda: len(os.listdir("/proc/self/fd")) + int(free),
    "FSIZE": lambda: 4096,
}[limit]()
kind = getattr(resource, "RLIMIT_" + limit)
hard = resource.getrlimit(kind)
operations = {
    "plain callback": lambda: session.execute("await plain()"),
    "asynchronous callback": lambda: session.execute("await awaited()"),
    "session": planaria.Session,
    "fork": session.fork,
    "memory": lambda: session.run("data = bytearray(30 << 20)"),
    "undo": session.undo,
    "snapshot": lambda: bytes(session.snapshot_state()),
    "restore": lambda: planaria.Session.from_snapshot(snapshot),
    "save": lambda: store.save("other", session.snapshot_state()),
    "save in a database": lambda: database.save("other", session.snapshot_state()),
    "load": lambda: database.load("name"),
}
refused = []
resource.setrlimit(kind, (soft, hard[1]))
for name, operation in operations.items():
    try:
        operation()
    except planaria.PlanariaError as error:
        refused.append(name)
    assert session.execute("x").value == 1, name
resource.setrlimit(kind, hard)
print(len(refused) > 0)
for name, operation in operations.items():
    if name != "undo":
        operation()
print(session.execute("await plain() + await awaited()").value, database.load("name") is not None)
"""


@pytest.mark.parametrize(
    ("limit", "free"), [("NOFILE", -1), ("NOFILE", 0), ("NOFILE", 1), ("NOFILE", 2), ("FSIZE", 0)]
)
def test_operations_without_a_resource(limit: str, free: int, tmp_path: Path) -> None:
    """Without descriptors, with too few, or without room in files, whatever a session or a store is asked for works or
    raises an error of planaria; the session goes on meanwhile, and everything works as before once there is more.
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _OPERATIONS, str(tmp_path), limit, str(free)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout == "True\n3 True\n", done.stderr
