"""An MCP server as a process of its own: the transport that the SDK's client speaks through.

The SDK has one too; this one also limits what a server can make the host keep (one message, its stderr,
lines that are not messages), reports why a server ended, and leaves no process behind, even when this
process is killed.
"""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final

import anyio
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from planaria.process_groups import Guardian, kill_group, signal_group

__all__ = ["ProcessTransport"]

_CHUNK: Final = 1 << 16
_STDERR_KEPT: Final = 4096
_NONSENSE_ALLOWED: Final = 100
"""Some servers print a greeting to stdout; one that only prints is none."""
_SKIPPED_AT_MOST: Final = 64
"""How many times the largest message a server may write in one line before it is stopped."""
_GRACE: Final = 2.0
"""Seconds a server has to leave by itself after its stdin was closed, and again after SIGTERM."""
_POLL: Final = 0.01

_RESULT = re.compile(rb'"(?:result|error)"\s*:')
_IDENTIFIER = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[^"\\]{1,100}")')


class ProcessTransport:
    """Start a process at `__aenter__`, exchange lines of JSON with it, and end it at `__aexit__`.

    `max_message` is the size in bytes of the largest message that is accepted: a larger answer fails its
    call only, and the server keeps running. `ended` is set when nothing more will come; `failure` then says
    why.
    """

    def __init__(
        self,
        command: list[str],
        *,
        environment: Mapping[str, str],
        directory: Path | None,
        max_message: int,
    ) -> None:
        self._command = command
        self._environment = environment
        self._directory = directory
        self._max_message = max_message
        self._stderr = bytearray()
        self._nonsense = 0
        self._first_nonsense = ""
        self._tasks: list[asyncio.Task[None]] = []
        self._guardian: Guardian | None = None
        self.ended = asyncio.Event()
        self.failure = ""

    async def __aenter__(
        self,
    ) -> tuple[
        anyio.abc.ObjectReceiveStream[SessionMessage | Exception], anyio.abc.ObjectSendStream[SessionMessage]
    ]:
        self._process = process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**get_default_environment(), **self._environment},
            cwd=self._directory,
            start_new_session=True,
        )
        # No await between here and the end: a cancellation would leave the process to itself.
        self._guardian = Guardian(process.pid)
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_server, self._from_session = anyio.create_memory_object_stream[SessionMessage](0)
        self._tasks = [
            asyncio.create_task(self._read(process.stdout)),
            asyncio.create_task(self._write(process.stdin)),
            asyncio.create_task(self._keep_errors(process.stderr)),
        ]
        return from_server, to_server

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # The caller that cancels this has to wait: the process must not outlive it. Every wait here ends.
        with anyio.CancelScope(shield=True):
            self._end("was closed")
            await self._stop()

    @property
    def stderr(self) -> str:
        """The end of what the server wrote to its stderr."""
        return self._stderr.decode("utf-8", "replace").strip()

    @property
    def nonsense(self) -> str:
        """The first of the lines on its stdout that are not messages, or nothing."""
        return self._first_nonsense

    @property
    def exit_status(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self._process.returncode

    def _end(self, failure: str) -> None:
        """Nothing more comes or goes: the session's calls fail at once instead of at their timeouts."""
        if not self.ended.is_set():
            self.failure = failure
            self.ended.set()
        self._to_session.close()
        self._from_session.close()

    async def _read(self, stdout: asyncio.StreamReader) -> None:
        """Take the server's lines until it ends; a line that is too long is skipped in pieces."""
        buffer = bytearray()
        skipped = 0
        try:
            while chunk := await stdout.read(_CHUNK):
                begin = len(buffer)
                buffer += chunk
                while (newline := buffer.find(b"\n", begin)) >= 0:
                    line = bytes(buffer[:newline])
                    del buffer[: newline + 1]
                    begin = 0
                    if skipped:
                        skipped = 0
                    else:
                        await self._deliver(line)
                if len(buffer) > self._max_message or skipped:
                    if not skipped:
                        await self._refuse(bytes(buffer[:_CHUNK]))
                    skipped += len(buffer)
                    buffer.clear()
                if skipped > self._max_message * _SKIPPED_AT_MOST:
                    self._end(f"wrote a line of more than {skipped:,} bytes, and was stopped")
                    kill_group(self._process.pid)
                    return
                if self._nonsense > _NONSENSE_ALLOWED:
                    self._end(f"writes a line to its stdout that is not a message: {self._first_nonsense}")
                    return
            await self._exited()
            self._end(f"ended{self._how()}")
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._end("was left by its session")

    async def _deliver(self, line: bytes) -> None:
        if len(line) > self._max_message:
            await self._refuse(line[:_CHUNK])
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._note_nonsense(line)
            return
        await self._to_session.send(SessionMessage(message))

    def _note_nonsense(self, line: bytes) -> None:
        if line.strip():
            self._nonsense += 1
            self._first_nonsense = self._first_nonsense or repr(line[:200].decode("utf-8", "replace"))

    async def _refuse(self, beginning: bytes) -> None:
        """Fail the call that a message answers which is too large to take.

        Only an answer that begins with the number of its call can be known for one.
        """
        head = _RESULT.split(beginning, 1)[0]
        found = _IDENTIFIER.search(head)
        if found is None or b'"method"' in head:
            self._note_nonsense(beginning)
            return
        text = found[1].decode()
        error = ErrorData(
            code=INTERNAL_ERROR,
            message=f"the result is larger than max_result={self._max_message:,} bytes",
        )
        identifier = text[1:-1] if text.startswith('"') else int(text)
        await self._to_session.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=identifier, error=error)))

    async def _write(self, stdin: asyncio.StreamWriter) -> None:
        try:
            async for message in self._from_session:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(text.encode() + b"\n")
                await stdin.drain()
        except (ConnectionError, anyio.ClosedResourceError):
            # The reader sees the end too, after everything that was written before it.
            return
        finally:
            stdin.close()

    async def _keep_errors(self, stderr: asyncio.StreamReader) -> None:
        while chunk := await stderr.read(_CHUNK):
            self._stderr += chunk
            del self._stderr[:-_STDERR_KEPT]

    async def _exited(self, seconds: float = 1.0) -> bool:
        """Whether the process ended within some seconds.

        `Process.wait()` also waits for the pipes, which the server's own children may hold.
        """
        end = asyncio.get_running_loop().time() + seconds
        while self._process.returncode is None:
            if asyncio.get_running_loop().time() >= end:
                return False
            await asyncio.sleep(_POLL)
        return True

    def _how(self) -> str:
        status = self._process.returncode
        if status is None:
            return ": it closed its stdout"
        if status < 0:
            return f", killed by {signal.Signals(-status).name}"
        return f" with exit status {status}"

    async def _stop(self) -> None:
        """Ask the server to leave, then make it; nothing of its process group is left."""
        await asyncio.wait(self._tasks[1:2], timeout=_GRACE)
        if self._process.stdin is not None:
            self._process.stdin.close()
        if not await self._exited(_GRACE):
            signal_group(self._process.pid, signal.SIGTERM)
            await self._exited(_GRACE)
        if sys.platform != "win32":
            kill_group(self._process.pid)
        await self._exited(_GRACE)
        # A moment for the last of its stderr, which its descendants could hold open.
        await asyncio.wait(self._tasks, timeout=0.2)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._guardian is not None:
            self._guardian.dismiss()
        self._process._transport.close()  # type: ignore[attr-defined] # warns at its collection otherwise
