"""Commands of E2B's sandboxes: the RPCs of `process.Process`.

A sandbox runs one command at a time: one that is started while another runs waits for its turn.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.requests import Request
from starlette.routing import Route

from planaria.errors import Interrupted, TimeoutError
from planaria.server.e2b.sandboxes import running
from planaria.server.e2b.standard_input import StandardInput
from planaria.server.e2b.wire import client_stream_rpc, sandbox_of, stream_rpc, unary_rpc, unimplemented
from planaria.server.output import listen_to_bytes, listener
from planaria.server.problems import Problem
from planaria.server.routes import Server
from planaria.server.served_session import ServedSession
from planaria.server.settings import Token
from planaria.session.collector import Listeners
from planaria.session.result import Output, Result

__all__ = ["process_routes"]

Event = dict[str, Any]
#: The process numbers of commands begin after this one.
_FIRST: Final = 1000
_PTY: Final = "there are no terminals: the sandbox has no job control by a kernel"


@dataclass(eq=False)
class _Process:
    """A command that runs or waits for its turn."""

    number: int
    config: dict[str, Any]
    tag: str | None
    events: list[Event] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: bool = False
    is_killed: bool = False
    named: ServedSession | None = None
    input: StandardInput | None = None
    """None when it has no standard input."""

    def add(self, event: Event, *, last: bool = False) -> None:
        """Add an event for all that follow it."""
        self.events.append({"event": event})
        self.is_over = self.is_over or last
        self.changed.set()
        self.changed = asyncio.Event()

    async def follow(self, first: int) -> AsyncIterator[Event]:
        """The events from a place on, as they come."""
        place = first
        while True:
            changed = self.changed
            while place < len(self.events):
                yield self.events[place]
                place += 1
            if self.is_over:
                return
            await changed.wait()

    def kill(self) -> None:
        """Stop it."""
        self.is_killed = True
        if self.named is not None:
            self.named.session.interrupt()


class _Processes:
    """The commands of all sandboxes of a server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._numbers = itertools.count(_FIRST + 1)
        self._running: dict[str, dict[int, _Process]] = {}

    def _of(self, token: Token, sandbox: str) -> dict[int, _Process]:
        return self._running.setdefault(self._server.sessions.full_name(token, sandbox), {})

    def _selected(self, token: Token, request: Request, body: Any) -> _Process:
        selector = body.get("process") or {}
        for one in self._of(token, sandbox_of(request)).values():
            if one.number == selector.get("pid") or (one.tag is not None and one.tag == selector.get("tag")):
                return one
        raise Problem(404, f"there is no process {selector.get('pid', selector.get('tag'))!r}")

    async def list(self, _server: Server, request: Request, token: Token, _body: Any) -> dict[str, Any]:
        return {
            "processes": [
                {"pid": one.number, "config": one.config, **({"tag": one.tag} if one.tag else {})}
                for one in self._of(token, sandbox_of(request)).values()
            ]
        }

    async def start(self, server: Server, request: Request, token: Token, body: Any) -> AsyncIterator[Event]:
        """Run a command: its number, its output, and how it ended."""
        if body.get("pty"):
            raise unimplemented(_PTY)
        config = body.get("process") or {}
        script = _script(config)
        sandbox = sandbox_of(request)
        process = _Process(next(self._numbers), config, body.get("tag"))
        if body.get("stdin"):
            process.input = StandardInput()
        known = self._of(token, sandbox)
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        seconds = _seconds(request, server.settings.timeout)

        async def work() -> None:
            try:
                async with running(server, token, sandbox) as named:
                    known[process.number] = process
                    ready.set_result(None)
                    await self._run(named, process, script, seconds)
            except Exception as error:
                if not ready.done():
                    ready.set_exception(error)
                else:
                    process.add({"end": {"exitCode": 1, "exited": False, "error": str(error)}}, last=True)
            finally:
                known.pop(process.number, None)

        server.tasks.start_soon(work)
        await ready
        yield {"event": {"start": {"pid": process.number}}}
        async for event in process.follow(0):
            yield event

    async def _run(self, named: ServedSession, process: _Process, script: str, seconds: float | None) -> None:
        loop = asyncio.get_running_loop()

        def take(descriptor: int, data: bytes) -> None:
            stream = "stdout" if descriptor == 1 else "stderr"
            event = {"data": {stream: base64.b64encode(data).decode()}}
            loop.call_soon_threadsafe(process.add, event)

        process.named = named
        if process.is_killed:
            process.add({"end": _end(-1, killed=True)}, last=True)
            return
        result = await _execute(named, process, script, seconds, take)
        process.named = None
        await self._server.sessions.save(named)
        await asyncio.sleep(0)  # what was written comes before the end
        process.add({"end": _ended(result)}, last=True)

    async def connect(
        self, _server: Server, request: Request, token: Token, body: Any
    ) -> AsyncIterator[Event]:
        """What a command that runs writes from now on."""
        process = self._selected(token, request, body)
        yield {"event": {"start": {"pid": process.number}}}
        async for event in process.follow(len(process.events)):
            yield event

    async def signal(self, _server: Server, request: Request, token: Token, body: Any) -> dict[str, Any]:
        self._selected(token, request, body).kill()
        return {}

    def _input_of(self, token: Token, request: Request, body: Any) -> StandardInput:
        process = self._selected(token, request, body)
        if process.input is None:
            raise Problem(400, f"the command {process.number} was started without standard input")
        return process.input

    async def send_input(self, _server: Server, request: Request, token: Token, body: Any) -> dict[str, Any]:
        data = _sent(body)
        self._input_of(token, request, body).write(data)
        return {}

    async def close_input(self, _server: Server, request: Request, token: Token, body: Any) -> dict[str, Any]:
        self._input_of(token, request, body).close()
        return {}

    async def stream_input(
        self, _server: Server, request: Request, token: Token, messages: AsyncIterator[Any]
    ) -> dict[str, Any]:
        """Messages: which command, then what to send to it."""
        target: StandardInput | None = None
        async for message in messages:
            if "start" in message:
                target = self._input_of(token, request, message["start"])
            elif "data" in message and target is not None:
                target.write(_sent(message["data"]))
        return {}

    async def no_terminal(
        self, _server: Server, _request: Request, _token: Token, _body: Any
    ) -> dict[str, Any]:
        raise unimplemented(_PTY)


async def _execute(
    named: ServedSession,
    process: _Process,
    script: str,
    seconds: float | None,
    take: Callable[[int, bytes], object],
) -> Result:
    """Run a script as a program; one with standard input in a subshell, which reads what clients send."""

    def heard(stream: str, output: bytes | Output) -> None:
        if isinstance(output, bytes):
            take(1 if stream == "stdout" else 2, output)

    def run() -> Awaitable[Result]:
        if process.input is None:
            return named.session._run_script(script, seconds, program=Listeners(on_bytes=listen_to_bytes))
        return named.session._run_script(f"(\n{script}\n)", seconds)

    before = listener.set(heard)
    named.reader = None if process.input is None else process.input.read
    try:
        return await named.show(_written(process.config), "bash", run)
    finally:
        named.reader = None
        listener.reset(before)


def _sent(body: Any) -> bytes:
    """What a message sends to a command. Raises Problem."""
    given = body.get("input") or {}
    if "pty" in given:
        raise unimplemented(_PTY)
    try:
        return base64.b64decode(given.get("stdin") or "", validate=True)
    except (ValueError, TypeError) as error:
        raise Problem(400, f"stdin: {error}") from None


def _seconds(request: Request, most: float | None) -> float | None:
    """How long a command may take: what the client waits, or what the server allows."""
    given = request.headers.get("connect-timeout-ms", "")
    wanted = int(given) / 1e3 if given.isdecimal() and len(given) < 12 and int(given) else None
    return min((one for one in (wanted, most) if one is not None), default=None)


def _script(config: Any) -> str:
    """The script that becomes the command. Raises Problem."""
    command, arguments, environment = config.get("cmd"), config.get("args") or [], config.get("envs") or {}
    words = [command, *arguments, *environment, *environment.values(), config.get("cwd") or ""]
    if not command or not all(isinstance(word, str) and "\0" not in word for word in words):
        raise Problem(400, "a command must be strings without null characters")
    # The sandbox's shell has no files of a login to read.
    arguments = [one for one in arguments if one != "-l"] if command.endswith("bash") else arguments
    lines = ["cd -- /home/user"]
    if config.get("cwd"):
        lines.append(f"cd -- {shlex.quote(config['cwd'])} || exit")
    for name, value in environment.items():
        if not name.replace("_", "a").isalnum() or name[0].isdigit() or not name.isascii():
            raise Problem(400, f"{name!r} is not a name for an environment variable")
        lines.append(f"export {name}={shlex.quote(value)}")
    command = "bash" if command == "/bin/bash" else command
    lines.append(f"exec {' '.join(map(shlex.quote, [command, *arguments]))}")
    return "\n".join(lines)


def _written(config: Any) -> str:
    """The command as its client has written it: the SDKs have bash run it."""
    arguments = config.get("args") or []
    if config["cmd"].endswith("bash") and arguments[-2:-1] == ["-c"]:
        return str(arguments[-1])
    return shlex.join([config["cmd"], *arguments])


def _ended(result: Result) -> dict[str, Any]:
    error = result.error
    if isinstance(error, (Interrupted, TimeoutError)):
        return _end(-1, killed=True)
    if error is not None:
        return _end(1, error=str(error))
    return _end(result.exit_code)


def _end(code: int, *, killed: bool = False, error: str = "") -> dict[str, Any]:
    status = "signal: killed" if killed else f"exit status {code}"
    end = {"exitCode": code, "exited": not killed, "status": status}
    if error or code:
        end["error"] = error or status
    return end


def process_routes(server: Server) -> list[Route]:
    """The routes for commands."""
    processes = _Processes(server)
    unary = {
        "List": processes.list,
        "SendSignal": processes.signal,
        "SendInput": processes.send_input,
        "CloseStdin": processes.close_input,
        "Update": processes.no_terminal,
    }
    return [
        stream_rpc(server, "/process.Process/Start", processes.start),
        stream_rpc(server, "/process.Process/Connect", processes.connect),
        client_stream_rpc(server, "/process.Process/StreamInput", processes.stream_input),
        *(unary_rpc(server, f"/process.Process/{name}", one) for name, one in unary.items()),
    ]
