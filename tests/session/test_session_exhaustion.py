"""When a resource of the host is used up, the error names it, and the session goes on."""

from __future__ import annotations

import subprocess
import sys

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
