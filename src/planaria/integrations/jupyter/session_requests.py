"""The requests of front ends that need a session: cells, what is asked about code, messages of widgets.

It is imported while the kernel answers already: see `JupyterKernel`.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from planaria.errors import Interrupted, PlanariaError, Suspended
from planaria.executors.messages import SecretPrompt
from planaria.integrations.jupyter.channels import Channels
from planaria.integrations.jupyter.commands import Commands, Shown
from planaria.integrations.jupyter.history import ExecutedCells
from planaria.integrations.jupyter.outputs import Outputs
from planaria.integrations.jupyter.tracebacks import error_content
from planaria.integrations.jupyter.wire import Message
from planaria.session import kernel_queries
from planaria.session._async.session import AsyncSession
from planaria.session.result import Result

__all__ = ["SessionRequests"]

_log = logging.getLogger(__name__)

Content = dict[str, Any]

#: The function of the code's builtins that takes messages for comms.
_COMM: Final = "__planaria_comm__"
_COMMS: Final = frozenset({"comm_open", "comm_msg", "comm_close"})


class SessionRequests:
    """Answers requests with a session, which it opens: that blocks, so it may be on a thread beside the loop.

    Args:
        channels: where output and questions go.
        loop: the event loop that answers.
        open_session: called with the arguments that are the kernel's: `stdin`, `on_bytes`.
    """

    def __init__(
        self,
        channels: Channels,
        loop: asyncio.AbstractEventLoop,
        open_session: Callable[..., AsyncSession],
    ) -> None:
        self._loop = loop
        self._channels = channels
        self._outputs = Outputs(self._channels, self._loop)
        session = open_session(stdin=self._read_line, on_bytes=self._outputs.write)
        session._engine.settings.listeners.events = self._outputs.add
        self._commands = Commands(session, self._outputs)
        self._cells = ExecutedCells()
        self.count = 0
        """The number of the present or last cell."""
        self.aborts = False
        """Whether an execution has failed, and those that wait are to be refused."""
        #: Lines that front ends have sent.
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        self._line: concurrent.futures.Future[str] | None = None
        #: Whether the present cell was interrupted, perhaps before its code began.
        self._was_interrupted = False
        #: The request that may ask for input.
        self._asker: Message | None = None
        self._handlers: dict[str, Callable[[Message], Awaitable[Content]]] = {
            "comm_info_request": self._comm_info,
            "complete_request": self._complete,
            "execute_request": self._execute,
            "history_request": self._history,
            "inspect_request": self._inspect,
            "is_complete_request": self._is_complete,
        }

    @property
    def session(self) -> AsyncSession:
        """The session that cells run in now."""
        return self._commands.session

    async def attach(self) -> None:
        """Have the code know that a front end shows what it does. Raises PlanariaError."""
        await self._commands.attach()

    def interrupt(self) -> None:
        """Stop the execution that runs now."""
        self._was_interrupted = True
        self._commands.interrupt()
        if self._line is not None:
            self._line.cancel()

    async def close(self) -> None:
        """Close all sessions."""
        await self._commands.close()

    async def answer(self, message: Message) -> Content | None:
        """The answer to a message; None for one that has none."""
        if message.type in _COMMS:
            await self._comm(message)
            return None
        handler = self._handlers.get(message.type)
        if handler is None:
            _log.warning("a request of the type %r was left unanswered", message.type)
            return None
        try:
            return await handler(message)
        except PlanariaError as error:
            return {"status": "error", **error_content(error)}

    # -- questions about code ------------------------------------------------------------------------

    async def _complete(self, message: Message) -> Content:
        text, cursor = str(message.content.get("code", "")), message.content.get("cursor_pos")
        found = await self.session.complete(text, cursor if isinstance(cursor, int) else None)
        return {
            "status": "ok",
            "matches": found.matches,
            "cursor_start": found.start,
            "cursor_end": found.end,
            "metadata": {},
        }

    async def _inspect(self, message: Message) -> Content:
        given = message.content
        text, cursor = str(given.get("code", "")), given.get("cursor_pos")
        found = await self.session._ask(
            lambda engine: kernel_queries.inspect_code(
                engine, text, cursor if isinstance(cursor, int) else None, int(given.get("detail_level") or 0)
            )
        )
        data = {} if found is None else {"text/plain": found}
        return {"status": "ok", "found": found is not None, "data": data, "metadata": {}}

    async def _is_complete(self, message: Message) -> Content:
        text = str(message.content.get("code", ""))
        return await self.session._ask(lambda engine: kernel_queries.completeness(engine, text))

    async def _history(self, message: Message) -> Content:
        return {"status": "ok", "history": self._cells.answer(message.content)}

    # -- executing -----------------------------------------------------------------------------------

    async def _execute(self, message: Message) -> Content:
        given = message.content
        code = str(given.get("code", ""))
        silent = bool(given.get("silent"))
        keeps = bool(given.get("store_history", not silent)) and not silent
        if keeps:
            self.count += 1
        self._outputs.begin(message.header, self.count, silent=silent)
        self._was_interrupted = False
        if not silent:
            content = {"code": code, "execution_count": self.count}
            await self._channels.publish("execute_input", content, message.header)
        self._asker = message if given.get("allow_stdin") else None
        self._commands.begin_cell(self.count)
        try:
            error, shown = await self._run(code)
        finally:
            self._asker = None
            await self._outputs.drain()
        if shown is not None and not self._outputs.has_value and not silent:
            content = {"execution_count": self.count, "data": {"text/plain": shown}, "metadata": {}}
            await self._channels.publish("execute_result", content, message.header)
        if keeps:
            self._cells.add(self.count, code, shown)
        if error is None:
            expressions = await self._user_expressions(given.get("user_expressions") or {})
            return {
                "status": "ok",
                "execution_count": self.count,
                "user_expressions": expressions,
                "payload": self._outputs.pages,
            }
        described = error_content(error)
        if not silent:
            await self._channels.publish("error", described, message.header)
        if given.get("stop_on_error", True):
            self.aborts = True
        return {
            "status": "error",
            "execution_count": self.count,
            "user_expressions": {},
            "payload": [],
            **described,
        }

    async def _run(self, code: str, name: str | None = None) -> tuple[PlanariaError | None, str | None]:
        """Run a cell: what it raised, and the text of its value."""
        try:
            command = self._commands.parse(code) if name is None else None
            await self._commands.attach()
            if self._was_interrupted:
                return Interrupted("interrupted before the cell began"), None
            if command is not None:
                shown = await self._commands.obey(command)
                if isinstance(shown, Shown):
                    self._outputs.write(1, shown.text.encode("utf-8", "replace"))
                return None, None
            result = await self.session.run(code, name=name or f"<cell {self.count}>")
            if name is None:
                self._commands.end_cell()
            if result.suspended:
                await self._give_up(result)
        except PlanariaError as error:
            return error, None
        return result.error, result.repr

    async def _give_up(self, result: Result) -> None:
        """End a cell that waits for a decision, which a notebook has no way to make."""
        execution = self.session.run_in_progress
        if execution is not None:
            await execution.cancel()
        names = ", ".join(f"{call.name}()" for call in result.suspended)
        raise Suspended(f"the cell waits for a decision on {names}, which no front end can make", [])

    async def _user_expressions(self, expressions: Content) -> Content:
        answers: Content = {}
        for name, expression in expressions.items():
            try:
                data, metadata = await self.session._ask(
                    partial(kernel_queries.mime_bundle, expression=str(expression))
                )
                answers[name] = {"status": "ok", "data": data, "metadata": metadata}
            except PlanariaError as error:
                answers[name] = {"status": "error", **error_content(error)}
        return answers

    # -- input ---------------------------------------------------------------------------------------

    def take_line(self, line: str) -> None:
        """Take what a front end has sent for an `input()`."""
        self._lines.put_nowait(line)

    def _read_line(self, prompt: str) -> str | None:
        """A line for `input()`, on the thread of the execution; None when it was interrupted."""
        asker = self._asker
        if asker is None:
            raise RuntimeError("input() was called, but the front end does not support input requests")
        line = asyncio.run_coroutine_threadsafe(self._ask(asker, prompt), self._loop)
        self._line = line
        # An interrupt that came before sees no line that it could end.
        execution = self.session._engine.execution
        if execution is not None and execution.asked:
            line.cancel()
        try:
            return line.result()
        except concurrent.futures.CancelledError:
            return None
        finally:
            self._line = None

    async def _ask(self, asker: Message, prompt: str) -> str:
        await self._outputs.drain()
        while not self._lines.empty():  # answers to questions that were abandoned
            self._lines.get_nowait()
        await self._channels.ask(asker, prompt, password=isinstance(prompt, SecretPrompt))
        return await self._lines.get()

    # -- comms ---------------------------------------------------------------------------------------

    async def _comm_info(self, message: Message) -> Content:
        wanted = message.content.get("target_name")
        comms = {
            identifier: {"target_name": target}
            for identifier, target in self._outputs.comms.items()
            if not wanted or target == wanted
        }
        return {"status": "ok", "comms": comms}

    async def _comm(self, message: Message) -> None:
        """Hand a message of a front end's comm to the code."""
        identifier = str(message.content.get("comm_id", ""))
        if message.type == "comm_open":
            self._outputs.comms[identifier] = str(message.content.get("target_name", ""))
        self._outputs.begin(message.header, self.count)
        self._was_interrupted = False
        arrived = {**message.content, "buffers": [bytes(buffer) for buffer in message.buffers]}
        error, _ = await self._run(f"{_COMM}({message.type!r}, {arrived!r}, {message.metadata!r})", "<comm>")
        await self._outputs.drain()
        if message.type == "comm_close":
            self._outputs.comms.pop(identifier, None)
        if error is not None:
            await self._channels.publish("error", error_content(error), message.header)
