"""Programs that tools run: bounded, and gone afterwards."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from waiting import wait

from planaria import ToolCallError, ToolTimeout

SHELL = """
    name: shell
    command: [sh, -c]
    timeout: {timeout}
    max_bytes: {max_bytes}
    schema:
      positional: [{{name: script, required: true}}]
"""


@pytest.fixture
def run(load: Any) -> Any:
    """A function that gives the awaitable of a shell script as a tool."""

    def start(script: str, *, timeout: float | None = 30, max_bytes: int = 1 << 20) -> Any:
        registry = load(
            shell=SHELL.format(timeout="null" if timeout is None else timeout, max_bytes=max_bytes)
        )
        return registry.call("shell", None, {"script": script})

    return start


def is_gone(file: Path) -> bool:
    """Whether the process whose identifier is in a file ends soon."""
    identifier = int(file.read_text())
    for _ in range(100):
        try:
            os.kill(identifier, 0)
            # Orphans of a container without an init stay as zombies.
            if Path(f"/proc/{identifier}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


def test_timeout_kills_the_group_and_keeps_what_came(run: Any, tmp_path: Path) -> None:
    """After its timeout a command and its children are killed; the error has what they had written."""
    script = f"echo early; sleep 60 & echo $! > {tmp_path}/child; wait"
    with pytest.raises(ToolTimeout, match=r"^shell\(\) took longer than 0.3 s and was killed$") as raised:
        wait(run(script, timeout=0.3))
    assert isinstance(raised.value, TimeoutError)
    assert raised.value.stdout == "early\n"
    assert is_gone(tmp_path / "child")


def test_timeout_does_not_wait_for_a_command_that_closed_its_outputs(run: Any) -> None:
    """A command that has closed its outputs and goes on is ended by the timeout, too."""
    with pytest.raises(ToolTimeout):
        wait(run("exec >&- 2>&-; sleep 60", timeout=0.3))


@pytest.mark.parametrize(("redirection", "output"), [("", "standard output"), (" >&2", "standard error")])
def test_output_beyond_the_bound_kills_the_command(run: Any, redirection: str, output: str) -> None:
    """A command that writes more than max_bytes is killed; the error names the bound and has the beginning."""
    with pytest.raises(
        ToolCallError, match=f"wrote more than max_bytes=1000 to {output} and was killed"
    ) as raised:
        wait(run(f"yes{redirection}", max_bytes=1000))
    said = raised.value.stderr if redirection else raised.value.stdout
    assert said == "y\n" * 500


def test_output_up_to_the_bound_is_taken(run: Any) -> None:
    """Exactly max_bytes are not too many."""
    assert len(wait(run("head -c 300000 /dev/zero", max_bytes=300_000))) == 300_000


def test_nothing_of_a_command_outlives_its_call(run: Any, tmp_path: Path) -> None:
    """Children in the background neither hold up the call nor go on after it, whether they hold its output or not."""
    script = f"sleep 60 & echo $! > {tmp_path}/one; sleep 60 > /dev/null 2>&1 & echo $! > {tmp_path}/two; echo done"
    assert wait(run(script)) == "done\n"
    assert is_gone(tmp_path / "one")
    assert is_gone(tmp_path / "two")


def test_child_that_leaves_the_group_does_not_hold_up_the_call(run: Any) -> None:
    """A child that made a session of its own and holds the output open does not keep the call waiting."""

    async def waiting() -> None:
        began = time.monotonic()
        assert await run("setsid sleep 1.5 & echo done; sleep 0.2", timeout=30) == "done\n"
        await asyncio.sleep(1.6 - (time.monotonic() - began))

    asyncio.run(waiting())


def test_cancelling_kills_the_group(run: Any, tmp_path: Path) -> None:
    """When the awaiting task is cancelled, the command and its children are gone when the cancellation is over."""

    async def cancel() -> None:
        task = asyncio.create_task(run(f"sleep 60 & echo $! > {tmp_path}/child; wait", timeout=None))
        while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert is_gone(tmp_path / "child")


def test_many_commands_run_at_once(run: Any, tmp_path: Path) -> None:
    """Calls that are awaited together run together: each waits until all have started."""
    started = tmp_path / "started"
    started.mkdir()

    async def gather() -> list[str]:
        wait = f"until [ $(ls {started} | wc -l) -eq 20 ]; do sleep 0.05; done"
        scripts = [f"touch {started}/{number}; {wait}; echo {number}" for number in range(20)]
        return await asyncio.gather(*map(run, scripts))

    assert asyncio.run(gather()) == [f"{number}\n" for number in range(20)]


def test_works_in_any_event_loop_and_thread(run: Any) -> None:
    """A call can be awaited in trio, and in an event loop of a thread that is not the main one."""

    async def waiting() -> Any:
        return await run("echo here")

    assert anyio.run(waiting, backend="trio") == "here\n"
    outputs: list[str] = []
    thread = threading.Thread(target=lambda: outputs.append(asyncio.run(waiting())))
    thread.start()
    thread.join()
    assert outputs == ["here\n"]
