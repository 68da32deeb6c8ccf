"""E2B's code interpreter: code that is executed in the session, results in all their types."""

from __future__ import annotations

import asyncio
import codecs
import json
import time
from collections.abc import AsyncIterator
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from planaria.server.e2b.contexts import (
    create_context,
    describe_outputs,
    find_context,
    list_contexts,
    remove_context,
    restart_context,
    switch,
)
from planaria.server.e2b.sandboxes import running
from planaria.server.e2b.wire import daemon, decode_json, sandbox_of
from planaria.server.guard import read_body
from planaria.server.output import listener
from planaria.server.problems import Problem
from planaria.server.routes import Server
from planaria.server.served_session import ServedSession
from planaria.server.settings import Token
from planaria.session.result import Output, Result
from planaria_kernel.execution.structured import CHART, FRAME

__all__ = ["interpreter_routes"]

_FIELDS: Final = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
    CHART: "chart",
    FRAME: "data",
}

Message = dict[str, Any]


async def _execute(server: Server, request: Request, token: Token) -> Response:
    """Execute code, and send what it prints and gives as lines of JSON."""
    body = decode_json(await read_body(request, token.body))
    code, environment = body.get("code"), body.get("env_vars") or {}
    if not isinstance(code, str):
        raise Problem(400, "code must be a string")
    if not isinstance(environment, dict) or not all(isinstance(one, str) for one in environment.values()):
        raise Problem(400, "env_vars must be an object of strings")
    sandbox = sandbox_of(request)
    messages: asyncio.Queue[Message | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}
    held: list[ServedSession] = []
    ready: asyncio.Future[None] = loop.create_future()

    def take(stream: str, output: bytes | Output) -> None:
        if isinstance(output, Output):
            loop.call_soon_threadsafe(messages.put_nowait, _shown(output))
        elif text := decoders[stream].decode(output):
            line = {"type": stream, "text": text, "timestamp": time.time_ns() // 1000}
            loop.call_soon_threadsafe(messages.put_nowait, line)

    async def work() -> None:
        try:
            async with running(server, token, sandbox) as named:
                context = find_context(named, body)
                await switch(named, context)
                held.append(named)
                ready.set_result(None)
                result = await _run(
                    named, context["language"], code, environment, server.settings.timeout, take
                )
                await server.sessions.save(named)
                held.clear()
            for one in _ending(result):
                loop.call_soon_threadsafe(messages.put_nowait, one)
        except Exception as error:
            if ready.done():
                failed = {"type": "error", "name": type(error).__name__, "value": str(error), "traceback": ""}
                messages.put_nowait(failed)
            else:
                ready.set_exception(error)
        finally:
            held.clear()
            loop.call_soon_threadsafe(messages.put_nowait, None)

    server.tasks.start_soon(work)
    await ready

    async def lines() -> AsyncIterator[str]:
        try:
            while (one := await messages.get()) is not None:
                yield json.dumps(one) + "\n"
        finally:
            for named in held:  # the client is gone
                named.session.interrupt()

    return StreamingResponse(lines(), media_type="application/x-ndjson")


async def _run(
    named: ServedSession,
    language: str,
    code: str,
    environment: dict[str, str],
    timeout: float | None,
    take: Any,
) -> Result:
    session = named.session
    await describe_outputs(named)
    if language == "bash":
        # In a subshell, which the variables end with.
        lines = [f"export {name}={_quoted(value)}" for name, value in environment.items()]
        script = "\n".join(["(", *lines, code, ")"]) if lines else code
        with_listener = listener.set(take)
        try:
            return await named.show(code, "bash", lambda: session._run_script(script, timeout))
        finally:
            listener.reset(with_listener)
    if environment:
        await session.run(
            f"import os as _os\n_before = dict(_os.environ)\n_os.environ.update({environment!r})"
        )
    with_listener = listener.set(take)
    try:
        return await named.show(code, "code", lambda: session.run(code, timeout))
    finally:
        listener.reset(with_listener)
        if environment:
            await session.run("_os.environ.clear()\n_os.environ.update(_before)\ndel _os, _before")


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "'\\''") + "'"


def _shown(output: Output) -> Message:
    """A rich output as a result."""
    data, _ = output._repr_mimebundle_()
    found: Message = {"type": "result", "is_main_result": output.is_value}
    extra = {}
    for mime, content in data.items():
        if mime in _FIELDS:
            found[_FIELDS[mime]] = content
        else:
            extra[mime] = content
    if extra:
        found["extra"] = extra
    return found


def _ending(result: Result) -> list[Message]:
    """What is sent after the output."""
    messages: list[Message] = []
    if result.repr is not None and not any(one.is_value for one in result.outputs):
        messages.append({"type": "result", "is_main_result": True, "text": result.repr})
    error = result.error
    if error is not None:
        messages.append(
            {
                "type": "error",
                "name": error.type,
                "value": error.message,
                "traceback": error.traceback or str(error),
            }
        )
    elif result.status:
        status = f"exit status {result.status}"
        messages.append({"type": "error", "name": "ExitStatus", "value": status, "traceback": status})
    elif result.suspended:
        text = "the code waits for an answer; see the calls of the session"
        messages.append({"type": "error", "name": "Suspended", "value": text, "traceback": text})
    messages.append({"type": "number_of_executions", "execution_count": result.execution_count})
    messages.append({"type": "end_of_execution"})
    return messages


async def _contexts(server: Server, request: Request, token: Token) -> Response:
    async with running(server, token, sandbox_of(request)) as named:
        return JSONResponse(list_contexts(named))


async def _create_context(server: Server, request: Request, token: Token) -> Response:
    body = decode_json(await read_body(request, token.body))
    async with running(server, token, sandbox_of(request)) as named:
        context = create_context(named, body)
        await server.sessions.save(named)
        return JSONResponse(context)


async def _remove_context(server: Server, request: Request, token: Token) -> Response:
    async with running(server, token, sandbox_of(request)) as named:
        await remove_context(named, request.path_params["context"])
        await server.sessions.save(named)
    return Response(status_code=204)


async def _restart(server: Server, request: Request, token: Token) -> Response:
    async with running(server, token, sandbox_of(request)) as named:
        await restart_context(named, request.path_params["context"])
        await server.sessions.save(named)
    return Response(status_code=204)


def interpreter_routes(server: Server) -> list[Route]:
    """The routes of the interpreter."""
    return [
        daemon(server, "POST", "/execute", _execute),
        daemon(server, "GET", "/contexts", _contexts),
        daemon(server, "POST", "/contexts", _create_context),
        daemon(server, "DELETE", "/contexts/{context}", _remove_context),
        daemon(server, "POST", "/contexts/{context}/restart", _restart),
    ]
