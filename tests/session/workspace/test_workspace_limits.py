"""How calls of tools end, and what of a workspace is limited."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

import planaria
from planaria import Session

pytestmark = pytest.mark.slow


# -- how calls end, and what is bounded ------------------------------------------------------------------------


def is_running(seconds: str) -> bool:
    """Whether a process sleeps for just so long."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if (folder / "cmdline").read_bytes() == f"sleep\0{seconds}\0".encode():
                    return True
            except OSError:
                pass
    return False


def ends(seconds: str) -> bool:
    deadline = time.monotonic() + 10
    while is_running(seconds) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_running(seconds)


def test_a_call_that_a_timeout_ends_is_interrupted(make: Any, constructor: str) -> None:
    """Its record says "interrupted" and how long it took, awaited or not, and its process is gone."""
    session = make(constructor)
    seconds = f"61.{os.getpid()}"  # no other test's process sleeps for just so long
    for form in ("", "await "):
        result = session.run(f"{form}tools.echo(script='exec sleep {seconds}')", timeout=0.5)
        assert isinstance(result.error, planaria.TimeoutError)
        (call,) = result.tool_calls
        assert (call.outcome, call.duration_ms >= 100) == ("interrupted", True)
        assert ends(seconds)


def test_a_call_that_is_given_up_is_cancelled(make: Any, constructor: str) -> None:
    """Cancelled by its task, also as the last thing that an execution does, its process ends at once."""
    session = make(constructor)
    seconds = f"62.{os.getpid()}"
    last = (
        f"import asyncio\ntask = asyncio.create_task(tools.echo.call_async(script='exec sleep {seconds}'))\n"
        "await asyncio.sleep(0.3)\n_ = task.cancel()"
    )
    for code in (last, f"await asyncio.wait_for(tools.echo.call_async(script='exec sleep {seconds}'), 0.3)"):
        (call,) = session.run(code).tool_calls
        assert (call.outcome, call.duration_ms >= 100) == ("cancelled", True)
        assert ends(seconds)


def test_a_call_for_which_a_task_waits_goes_on(make: Any, constructor: str) -> None:
    """A call of a task that outlives the execution is "running" in its result, and ends in a later one."""
    session = make(constructor)
    code = (
        "import asyncio\ntask = asyncio.create_task(tools.echo.call_async(script='sleep 0.5; echo x'))\n"
        "await asyncio.sleep(0.1)"
    )
    (call,) = session.run(code).tool_calls
    assert call.outcome == "running"
    assert session.execute("await task").value == "x\n"
    assert call.outcome == "ok"


def test_values_where_something_to_await_is_wanted(make: Any, constructor: str) -> None:
    """Giving the value of a tool to gather or a task is a TypeError that mentions call_async."""
    session = make(constructor)
    session.execute("import asyncio")
    for code in ("await asyncio.gather(tools.add(a=1))", "asyncio.create_task(tools.add(a=1))"):
        error = session.run(code).error
        assert error.type == "TypeError"
        assert "asyncio.gather(tools.NAME.call_async(...), ...)" in error.message


def test_quota_of_artifacts(make: Any, constructor: str) -> None:
    """What code keeps as artifacts stays within the quota, in whatever way it is saved; the host may save more."""
    session = make(constructor, artifact_quota=planaria.ArtifactQuota(bytes=30_000, count=3))
    session.execute("artifacts.save('a', bytes(10_000)); artifacts.save('b', bytes(10_000))")
    session.execute("artifacts.save('b', bytes(20_000))")  # in place of the other
    error = session.run("artifacts.save('c', b'x')").error
    assert error.type == "ArtifactError"
    assert "ArtifactQuota(bytes=30000) and 30000 bytes are kept" in error.message
    session.execute("artifacts.delete('a'); artifacts.save('c', b'x'); artifacts.save('d', b'x')")
    assert "ArtifactQuota(count=3) and 3 artifacts" in session.run("artifacts.save('e', b'')").error.message
    session.save_artifact("host", bytes(50_000))
    assert session.run("artifacts.save('c', b'')").error.type == "ArtifactError"


def test_quota_of_artifacts_that_stream(make: Any) -> None:
    """An artifact that comes in pieces is refused when it becomes too large, and nothing of it stays."""
    session = make(artifact_quota=planaria.ArtifactQuota(bytes=10 << 20))
    error = session.run("artifacts.save('large', bytes(20 << 20))").error
    assert "ArtifactQuota(bytes=10485760)" in error.message
    assert session.list_artifacts() == []
    session.execute("artifacts.save('large', bytes(9 << 20))")


def test_a_quota_of_artifacts_without_a_bound(make: Any) -> None:
    """None means no limit; anything but an integer is refused."""
    session = make(artifact_quota=planaria.ArtifactQuota(bytes=None, count=None))
    session.execute("artifacts.save('a', b'x')")
    for wrong in (-1, 1.5, True, "1"):
        with pytest.raises(ValueError, match="must be a non-negative integer or None"):
            planaria.ArtifactQuota(bytes=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="artifact_quota= is for sessions with storage="):
        Session(artifact_quota=planaria.ArtifactQuota())


def test_a_workspace_of_a_closed_session(make: Any) -> None:
    """What a closed session is asked about its workspace is SessionClosed."""
    session = make()
    session.close()
    for use in (session.list_tools, session.list_artifacts, session.list_workflows, session.list_deps):
        with pytest.raises(planaria.SessionClosed):
            use()
    with pytest.raises(planaria.SessionClosed):
        session.load_artifact("x")
