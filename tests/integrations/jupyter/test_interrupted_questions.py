"""Interrupts that reach a kernel while its code asks for a line."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from pathlib import Path
from types import CoroutineType
from typing import Any

import pytest
from jupyter_client.connect import write_connection_file

from planaria import AsyncSession
from planaria.integrations.jupyter.channels import Channels
from planaria.integrations.jupyter.session_requests import SessionRequests
from planaria.integrations.jupyter.wire import Connection, Message

CELL = Message({"msg_type": "execute_request"}, {"code": "input()", "allow_stdin": True})


@pytest.mark.parametrize("is_asked", [False, True], ids=["before the question", "after the question"])
def test_an_interrupt_just_before_code_waits_for_a_line(
    monkeypatch: pytest.MonkeyPatch, is_asked: bool
) -> None:
    """An interrupt ends an input() whose question is about to be sent, or was sent a moment before."""
    schedule = asyncio.run_coroutine_threadsafe

    async def main(directory: str) -> None:
        file = Path(directory) / "kernel.json"
        write_connection_file(str(file), transport="ipc", ip=f"{directory}/socket")
        loop, channels = asyncio.get_running_loop(), Channels(Connection.read(file))
        requests = await asyncio.to_thread(SessionRequests, channels, loop, AsyncSession)

        def interrupt() -> None:
            done = threading.Event()
            loop.call_soon_threadsafe(lambda: (requests.interrupt(), done.set()))
            done.wait()

        def schedule_and_interrupt(coroutine: CoroutineType[Any, Any, Any], loop: Any) -> Any:
            is_question = coroutine.__qualname__ == "SessionRequests._ask"
            if is_question and not is_asked:
                interrupt()
            future = schedule(coroutine, loop)
            if is_question and is_asked:
                interrupt()
            return future

        monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", schedule_and_interrupt)
        try:
            answer = await requests.answer(CELL)
            assert answer is not None
            assert answer["ename"] == "KeyboardInterrupt"
        finally:
            await requests.close()
            channels.close()

    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(main(directory))
