"""The kernel: answers the requests of front ends with a session."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Final

from planaria import __version__
from planaria.errors import PlanariaError, Suspended
from planaria.executors.messages import SecretPrompt
from planaria.integrations.jupyter.channels import Channels
from planaria.integrations.jupyter.commands import Commands, Shown
from planaria.integrations.jupyter.history import ExecutedCells
from planaria.integrations.jupyter.outputs import Outputs
from planaria.integrations.jupyter.tracebacks import error_content
from planaria.integrations.jupyter.wire import PROTOCOL_VERSION, Message
from planaria.session import kernel_queries
from planaria.session._async.session import AsyncSession
from planaria.session.result import Result

__all__ = ["JupyterKernel", "OpenSession"]

_log = logging.getLogger(__name__)

#: Opens a session, given the arguments that are the kernel's: `stdin`, `on_bytes`.
OpenSession = Callable[..., AsyncSession]
Content = dict[str, Any]

#: The function of the code's builtins that takes messages for comms.
_COMM: Final = "__planaria_comm__"
_BANNER: Final = (
    f"planaria {__version__}: Python in a sandbox. %lsmagic lists the magics, %undo takes back the last cell."
)


class JupyterKernel:
    """Serves one session on the sockets of a kernel. Several may share an event loop."""

    def __init__(self, channels: Channels, open_session: OpenSession) -> None:
        self._loop = asyncio.get_running_loop()
        self._channels = channels
        self._outputs = Outputs(self._channels, self._loop)
        self._commands = Commands(self._open(open_session), self._outputs)
        self._cells = ExecutedCells()
        self._count = 0
        self._shell: asyncio.Queue[Message] = asyncio.Queue()
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        self._line: concurrent.futures.Future[str] | None = None
        #: The request that may ask for input.
        self._asker: Message | None = None
        #: Whether an execution has failed, and those that wait are to be refused.
        self._aborts = False
        self._stopped = asyncio.Event()
        self.restarts = False
        """Whether the front end that ended the kernel wants another one in its place."""
        self._handlers: dict[str, Callable[[Message], Awaitable[Content]]] = {
            "comm_info_request": self._comm_info,
            "complete_request": self._complete,
            "execute_request": self._execute,
            "history_request": self._history,
            "inspect_request": self._inspect,
            "interrupt_request": self._interrupt_request,
            "is_complete_request": self._is_complete,
            "kernel_info_request": self._kernel_info,
            "shutdown_request": self._shut_down,
        }

    def _open(self, open_session: OpenSession) -> AsyncSession:
        session = open_session(stdin=self._read_line, on_bytes=self._outputs.write)
        session._engine.settings.listeners.events = self._outputs.add
        return session

    @property
    def session(self) -> AsyncSession:
        """The session that cells run in now."""
        return self._commands.session

    async def serve(self) -> None:
        """Answer requests until one asks the kernel to end, or `stop` is called."""
        works: list[Coroutine[Any, Any, None]] = [
            self._channels.serve_heartbeat(),
            self._channels.welcome_subscribers(),
            self._receive_shell(),
            self._answer_shell(),
            self._answer_control(),
            self._receive_lines(),
        ]
        tasks = [asyncio.create_task(work) for work in works]
        stopping = asyncio.create_task(self._stopped.wait())
        try:
            await self._channels.publish("status", {"execution_state": "starting"}, {})
            await asyncio.wait([stopping, *tasks], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.interrupt()
            for task in (stopping, *tasks):
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            await self._commands.close()
            self._channels.close()
        for outcome in ended:
            if isinstance(outcome, Exception):
                raise outcome

    def stop(self) -> None:
        """Have `serve` return."""
        self._stopped.set()

    def interrupt(self) -> None:
        """Stop the execution that runs now."""
        self._commands.interrupt()
        if self._line is not None:
            self._line.cancel()

    # -- requests ------------------------------------------------------------------------------------

    async def _receive_shell(self) -> None:
        async for message in self._channels.messages("shell"):
            self._shell.put_nowait(message)

    async def _answer_shell(self) -> None:
        while True:
            await self._answer("shell", await self._shell.get())

    async def _answer_control(self) -> None:
        async for message in self._channels.messages("control"):
            await self._answer("control", message)

    async def _answer(self, channel: str, message: Message) -> None:
        await self._publish_status("busy", message)
        try:
            handler = self._handlers.get(message.type)
            if handler is not None:
                try:
                    content = await handler(message)
                except PlanariaError as error:
                    content = {"status": "error", **error_content(error)}
                await self._channels.reply(channel, message, content)
            elif message.type.startswith("comm_"):
                await self._comm(message)
            else:
                _log.warning("a request of the type %r was left unanswered", message.type)
        finally:
            await self._publish_status("idle", message)
        if message.type == "shutdown_request":
            self.stop()
        elif self._aborts and channel == "shell":
            self._aborts = False
            await self._abort_waiting()

    async def _publish_status(self, state: str, message: Message) -> None:
        await self._channels.publish("status", {"execution_state": state}, message.header)

    async def _kernel_info(self, _message: Message) -> Content:
        return {
            "status": "ok",
            "protocol_version": PROTOCOL_VERSION,
            "implementation": "planaria",
            "implementation_version": __version__,
            "language_info": {
                "name": "python",
                "version": await self._commands.attach(),
                "mimetype": "text/x-python",
                "file_extension": ".py",
                "pygments_lexer": "ipython3",
                "codemirror_mode": {"name": "ipython", "version": 3},
                "nbconvert_exporter": "python",
            },
            "banner": _BANNER,
            "help_links": [],
            "debugger": False,
            "supported_features": [],
        }

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

    async def _interrupt_request(self, _message: Message) -> Content:
        self.interrupt()
        return {"status": "ok"}

    async def _shut_down(self, message: Message) -> Content:
        self.restarts = bool(message.content.get("restart"))
        self.interrupt()
        return {"status": "ok", "restart": self.restarts}

    # -- executing -----------------------------------------------------------------------------------

    async def _execute(self, message: Message) -> Content:
        given = message.content
        code = str(given.get("code", ""))
        silent = bool(given.get("silent"))
        keeps = bool(given.get("store_history", not silent)) and not silent
        if keeps:
            self._count += 1
        self._outputs.begin(message.header, self._count, silent=silent)
        if not silent:
            content = {"code": code, "execution_count": self._count}
            await self._channels.publish("execute_input", content, message.header)
        self._asker = message if given.get("allow_stdin") else None
        self._commands.begin_cell(self._count)
        try:
            error, shown = await self._run(code)
        finally:
            self._asker = None
            await self._outputs.drain()
        if shown is not None and not self._outputs.has_value and not silent:
            content = {"execution_count": self._count, "data": {"text/plain": shown}, "metadata": {}}
            await self._channels.publish("execute_result", content, message.header)
        if keeps:
            self._cells.add(self._count, code, shown)
        if error is None:
            expressions = await self._user_expressions(given.get("user_expressions") or {})
            return {
                "status": "ok",
                "execution_count": self._count,
                "user_expressions": expressions,
                "payload": self._outputs.pages,
            }
        described = error_content(error)
        if not silent:
            await self._channels.publish("error", described, message.header)
        if given.get("stop_on_error", True):
            self._aborts = True
        return {
            "status": "error",
            "execution_count": self._count,
            "user_expressions": {},
            "payload": [],
            **described,
        }

    async def _run(self, code: str, name: str | None = None) -> tuple[PlanariaError | None, str | None]:
        """Run a cell: what it raised, and the text of its value."""
        try:
            command = self._commands.parse(code) if name is None else None
            await self._commands.attach()
            if command is not None:
                shown = await self._commands.obey(command)
                if isinstance(shown, Shown):
                    self._outputs.write(1, shown.text.encode("utf-8", "replace"))
                return None, None
            result = await self.session.run(code, name=name or f"<cell {self._count}>")
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

    async def _abort_waiting(self) -> None:
        """Refuse the executions that were requested before one failed."""
        await asyncio.sleep(0)  # what has arrived at the socket comes first
        waiting = [self._shell.get_nowait() for _ in range(self._shell.qsize())]
        for message in waiting:
            if message.type != "execute_request":
                self._shell.put_nowait(message)
                continue
            await self._publish_status("busy", message)
            await self._channels.reply(
                "shell", message, {"status": "aborted", "execution_count": self._count}
            )
            await self._publish_status("idle", message)

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

    async def _receive_lines(self) -> None:
        async for message in self._channels.messages("stdin"):
            if message.type == "input_reply":
                self._lines.put_nowait(str(message.content.get("value", "")))

    def _read_line(self, prompt: str) -> str | None:
        """A line for `input()`, on the thread of the execution; None when it was interrupted."""
        asker = self._asker
        if asker is None:
            raise RuntimeError("input() was called, but the front end does not support input requests")
        self._line = asyncio.run_coroutine_threadsafe(self._ask(asker, prompt), self._loop)
        try:
            return self._line.result()
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
        self._outputs.begin(message.header, self._count)
        arrived = {**message.content, "buffers": [bytes(buffer) for buffer in message.buffers]}
        error, _ = await self._run(f"{_COMM}({message.type!r}, {arrived!r}, {message.metadata!r})", "<comm>")
        await self._outputs.drain()
        if message.type == "comm_close":
            self._outputs.comms.pop(identifier, None)
        if error is not None:
            await self._channels.publish("error", error_content(error), message.header)
