"""When MCP servers start and end, whatever their hosts and they do."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mcp_processes import HERE, STDIO, free_port, is_alive, running, wait_until_gone
from tool_calls import Define, Text, call

from planaria.errors import ToolCallError
from planaria.workspace.tools.loading import load_tools

pytestmark = pytest.mark.slow


def test_lazy(define_mcp: Define, tmp_path: Path) -> None:
    """A server is started when it is first used and not before; listing uses it."""
    started = tmp_path / "started"
    tool = define_mcp(
        f"command: sh\nargs: [-c, 'touch {started}; exec \"$0\" demo_mcp_server.py', '${{PYTHON}}']"
    )
    assert not started.exists()
    assert tool.callables
    assert started.exists()


def test_crash(define_mcp: Define) -> None:
    """A server that is gone fails the call that notices it, with its last words, and is started at the next one."""
    tool = define_mcp(STDIO)
    process = call(tool, "process")
    with pytest.raises(
        ToolCallError, match=r"was lost while calling 'crash': it ended with exit status 3; its stderr ends:"
    ) as caught:
        call(tool, "crash")
    assert caught.value.stderr.endswith("the last words")
    other = call(tool, "process")
    assert other != process
    os.kill(other, signal.SIGKILL)
    assert wait_until_gone(other)
    with contextlib.suppress(ToolCallError):  # a call may be what notices that it is gone
        call(tool, "add", a=1)
    assert call(tool, "add", a=1) == 2


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_restarted_server(define_mcp: Define, kind: str) -> None:
    """A server over HTTP that cannot be reached is an error; once it is there again, calls reach it."""
    port = free_port()
    tool = define_mcp(f"url: http://127.0.0.1:{port}/{'mcp' if kind == 'http' else 'sse'}\ntransport: {kind}")
    with pytest.raises(ToolCallError, match="could not be reached"):
        call(tool, "add", a=1)
    with running(kind, port):
        assert call(tool, "add", a=1) == 2
        with pytest.raises(ToolCallError, match="was lost while calling 'crash'"):
            call(tool, "crash")
    with pytest.raises(ToolCallError):
        call(tool, "add", a=1)
    with running(kind, port):
        assert call(tool, "add", a=1) == 2


def test_close(define_mcp: Define) -> None:
    """Closing ends the server and all it started, even what ignores being asked to; it can be used again."""
    tool = define_mcp(STDIO)
    process, child = call(tool, "process"), call(tool, "child")
    assert is_alive(child)
    tool.close()
    assert not is_alive(process)
    assert wait_until_gone(child)
    tool.close()
    assert call(tool, "add", a=1) == 2


def test_collected() -> None:
    """A tool without references ends its server."""
    [tool] = load_tools([Text("demo.yaml", f"name: demo\ntype: mcp\n{STDIO}")], folder=HERE)
    process = call(tool, "process")
    del tool
    gc.collect()
    assert wait_until_gone(process)


@pytest.mark.parametrize("end", ["exit", "sigterm", "sigkill"])
def test_no_orphans(tmp_path: Path, end: str) -> None:
    """However the host ends, without closing anything, neither the server nor its children outlive it."""
    program = f"""
import asyncio, os, signal, sys
from planaria.workspace.tools.loading import load_tools
[tool] = load_tools({str(tmp_path)!r})
async def main():
    print(await tool.call("process", {{}}), await tool.call("child", {{}}), flush=True)
asyncio.run(main())
if {end!r} != "exit": os.kill(os.getpid(), signal.{"SIGTERM" if end == "sigterm" else "SIGKILL"})
"""
    (tmp_path / "demo.yaml").write_text(f"name: demo\ntype: mcp\n{STDIO}cwd: {HERE}\n")
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=os.environ
    )
    process, child = map(int, result.stdout.split())
    try:
        assert wait_until_gone(process)
        assert wait_until_gone(child)
    finally:
        for one in (process, child):
            if is_alive(one):
                os.kill(one, signal.SIGKILL)
    if end == "exit":
        assert (result.returncode, result.stderr) == (0, "")


def test_fork(define_mcp: Define) -> None:
    """A forked process starts a server of its own and leaves that of its parent alone."""
    tool = define_mcp(STDIO)
    process = call(tool, "process")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, str(call(tool, "process")).encode())
            tool.close()
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        other = int(file.read())
    os.waitpid(child, 0)
    assert other != process
    assert not is_alive(other)
    assert call(tool, "process") == process
