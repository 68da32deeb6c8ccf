"""Run one program to its end: bounded in time and output, and nothing of it left behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from subprocess import DEVNULL, PIPE
from typing import Final, Literal

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from planaria.process_groups import kill_group

__all__ = ["Finished", "run_process"]

#: Seconds that output may still come after the program has ended, when a child of it keeps the pipe open.
_DRAIN: Final = 0.1
_LOOK: Final = 0.05


@dataclass(slots=True)
class Finished:
    """What a program came to."""

    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    stopped: Literal["timeout", "stdout", "stderr"] | None = None
    """Why it was killed: its time was over, or it wrote more than it may; None when it ended by itself."""
    exit_code: int = 0
    """Negative: the signal that ended it."""


async def run_process(
    argv: Sequence[str],
    *,
    stdin: bytes | None = None,
    cwd: str | None = None,
    env: Mapping[str, str],
    timeout: float | None,
    max_bytes: int,
) -> Finished:
    """Run a program with exactly this environment in a process group of its own.

    It gets `stdin`, or nothing to read. When it has not ended after `timeout` seconds, or writes more than
    `max_bytes` to one of its outputs, or this task is cancelled, the group is killed; so is what is left of
    the group when the program has ended. Works in any event loop that anyio knows. Raises OSError when it
    cannot be started.
    """
    finished = Finished()
    process = await anyio.open_process(
        argv,
        stdin=DEVNULL if stdin is None else PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=cwd,
        env=env,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        with anyio.move_on_after(timeout) as time:
            async with anyio.create_task_group() as tasks:
                stop = tasks.cancel_scope.cancel
                tasks.start_soon(_watch, process, stop)
                async with anyio.create_task_group() as streams:
                    if process.stdin is not None and stdin is not None:
                        streams.start_soon(_feed, process.stdin, stdin)
                    streams.start_soon(_collect, process.stdout, finished, "stdout", max_bytes, stop)
                    streams.start_soon(_collect, process.stderr, finished, "stderr", max_bytes, stop)
                await _ended(process)
                stop()
        if time.cancelled_caught:
            finished.stopped = "timeout"
    finally:
        kill_group(process.pid)  # but for what has left its group
        with anyio.CancelScope(shield=True):
            finished.exit_code = await _ended(process)
            if process.stdin is not None:
                await process.stdin.aclose()
            # An event loop keeps a pipe until its end was read.
            with anyio.move_on_after(_DRAIN):
                async for _ in process.stdout:
                    pass
                async for _ in process.stderr:
                    pass
            await process.stdout.aclose()
            await process.stderr.aclose()
    return finished


async def _collect(
    stream: ByteReceiveStream,
    finished: Finished,
    name: Literal["stdout", "stderr"],
    max_bytes: int,
    stop: Callable[[], object],
) -> None:
    """Read an output to its end; `stop` when it is too much."""
    collected: bytearray = getattr(finished, name)
    async for data in stream:
        collected += data
        if len(collected) > max_bytes:
            del collected[max_bytes:]
            finished.stopped = name
            stop()
            return


async def _feed(stream: ByteSendStream, data: bytes) -> None:
    try:
        await stream.send(data)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # it does not want to read more
    await stream.aclose()


async def _watch(process: Process, stop: Callable[[], object]) -> None:
    """End the reading when the program has ended, and only what it left behind keeps its outputs open."""
    await _ended(process)
    await anyio.sleep(_DRAIN)
    stop()


async def _ended(process: Process) -> int:
    """Wait for the exit code.

    Before Python 3.12.4, asyncio's own waiting lasts until all pipes are closed, also by children of the
    program; so look now and then.
    """
    while process.returncode is None:
        with anyio.move_on_after(_LOOK):
            await process.wait()
    return process.returncode
