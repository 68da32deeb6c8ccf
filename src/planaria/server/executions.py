"""Handlers of the native API that execute: Python, scripts, and the calls that wait for an answer."""

from __future__ import annotations

import asyncio
import codecs
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Final

import anyio
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response, StreamingResponse

from planaria.errors import ProtocolError
from planaria.executors.host_endpoint import answer_of
from planaria.executors.messages import EndOfInput, Ok, Raised
from planaria.server.models import (
    Answer,
    Answered,
    BashRequest,
    Execution,
    PendingCall,
    PendingCalls,
    ResumeRequest,
    RunRequest,
)
from planaria.server.outcomes import encoded, execution_of, pending_calls, waiting_execution
from planaria.server.output import listener
from planaria.server.problems import Problem, bytes_of_base64, problem_of, value_of_base64
from planaria.server.routes import SESSION, Call, Parameter, Route, log
from planaria.server.served_session import BlockedCall, Outcome, ServedSession
from planaria.session.result import Output

__all__ = ["EVENTS", "EXECUTION_ROUTES"]

#: The media type of a stream of events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
EVENTS: Final = "text/event-stream"
#: Seconds without an event after which a comment is sent, so that proxies keep the connection.
_KEEP_ALIVE: Final = 15.0

Do = Callable[[ServedSession], Awaitable[Outcome]]


async def run(call: Call) -> Response | Execution:
    """Execute Python."""
    body: RunRequest = call.body
    timeout = _timeout(call, body.timeout)
    return await _execute(
        call,
        "python",
        lambda named: named.begin(body.code, timeout, name=body.name, step=body.step, cell=body.cell),
        body.exact,
    )


async def bash(call: Call) -> Response | Execution:
    """Run a script."""
    body: BashRequest = call.body
    timeout = _timeout(call, body.timeout)
    if body.stdin_base64 is None:
        stdin = body.stdin.encode()
    else:
        stdin = bytes_of_base64("stdin_base64", body.stdin_base64)
    return await _execute(
        call,
        "bash",
        lambda named: named.begin(
            body.script, timeout, stdin=stdin, is_program=body.program, step=body.step, cell=body.cell
        ),
        body.exact,
    )


async def resume(call: Call) -> Response | Execution:
    """Take an execution that waits further."""
    body: ResumeRequest = call.body
    answers = [(one.call, _answer_of(one)) for one in body.answers]
    if len({number for number, _ in answers}) < len(answers):
        raise Problem(422, "answers has two for the same call")
    return await _execute(
        call, "answer", lambda named: named.resume(answers, cancel=body.cancel, step=body.step), body.exact
    )


def _timeout(call: Call, wanted: float | None) -> float | None:
    return min((one for one in (wanted, call.server.settings.timeout) if one is not None), default=None)


async def _execute(call: Call, language: str, do: Do, exact: bool) -> Response | Execution:
    if EVENTS not in call.request.headers.get("accept", ""):
        return await _executed(call, language, do, exact)
    return await _stream(call, lambda: _executed(call, language, do, exact), exact)


async def _executed(call: Call, language: str, do: Do, exact: bool) -> Execution:
    """Execute, save the session, and only then give the result; one that was given before is given again."""
    key = call.request.headers.get("idempotency-key")
    if key is not None and not 0 < len(key) <= 255:
        raise Problem(422, "Idempotency-Key must have 1 to 255 characters")
    digest = _digest(call) if key is not None else ""
    async with call.sessions.using(call.token, call.session) as named:
        if key is not None and (kept := _kept(named, key, digest)) is not None:
            return kept
        named.on_blocked = _on_blocked.get()
        try:
            outcome = await do(named)
        finally:
            named.on_blocked = None
        metrics, result = call.server.metrics, outcome.result
        waits = outcome.execution.outcome is None
        ending = "waiting" if waits else "ok" if result.is_ok else "error"
        metrics.add("planaria_executions_total", language=language, outcome=ending)
        metrics.add("planaria_execution_seconds_total", result.duration_ms / 1e3, language=language)
        execution = execution_of(named, outcome, exact=exact)
        if key is not None:
            text = execution.model_dump_json()
            named.record.keep_result(key, digest, json.loads(text), len(text))
        await call.sessions.save(named)
        return execution


def _digest(call: Call) -> str:
    """What distinguishes requests with the same key."""
    text = f"{call.request.url.path}\n{call.body.model_dump_json()}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _kept(named: ServedSession, key: str, digest: str) -> Execution | None:
    kept = named.record.find_result(key)
    if kept is None:
        return None
    if kept.digest != digest:
        raise Problem(422, "this Idempotency-Key was used for another request", code="key-reused")
    if kept.response is None:
        raise Problem(
            409, "this was executed, but its result was too large to be kept", code="result-not-kept"
        )
    return Execution.model_validate(kept.response)


# -- events --------------------------------------------------------------------------------------------------

#: For requests that stream: what is called with a call that blocks.
_on_blocked: Final[ContextVar[Callable[[str, BlockedCall], None] | None]] = ContextVar(
    "planaria_server_blocked", default=None
)


class EventStream:
    """The events of one execution, for each client that wants them from the beginning."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: list[str] = []
        self._more = asyncio.Event()
        self._has_ended = False

    def put(self, event: str, data: Any) -> None:
        """Add an event; from any thread."""
        self._loop.call_soon_threadsafe(self._add, f"event: {event}\ndata: {json.dumps(data)}\n\n")

    def end(self) -> None:
        """There are no more."""
        self._loop.call_soon_threadsafe(self._add, None)

    def _add(self, text: str | None) -> None:
        if text is None:
            self._has_ended = True
        else:
            self._events.append(text)
        self._more.set()
        self._more = asyncio.Event()

    async def lines(self) -> AsyncIterator[str]:
        """What a client is sent."""
        sent = 0
        while True:
            more = self._more
            if sent < len(self._events):
                text = "".join(self._events[sent:])
                sent = len(self._events)
                yield text
            elif self._has_ended:
                return
            else:
                try:
                    with anyio.fail_after(_KEEP_ALIVE):
                        await more.wait()
                except TimeoutError:
                    yield ": alive\n\n"


async def _stream(call: Call, execute: Callable[[], Awaitable[Execution]], exact: bool) -> Response:
    """Execute in a task of the server, which goes on without its client, and send events as they come.

    A request with the Idempotency-Key of one that runs gets the events of that.
    """
    key, running = call.request.headers.get("idempotency-key"), call.server.running
    identifier = (call.token.space, call.session, key or "", _digest(call) if key else "")
    stream = running.get(identifier) if key else None
    if stream is None:
        stream = EventStream()
        if key:
            running[identifier] = stream
        call.server.tasks.start_soon(
            _work, call, execute, exact, stream, lambda: running.pop(identifier, None)
        )
    return StreamingResponse(stream.lines(), media_type=EVENTS, headers={"Cache-Control": "no-store"})


async def _work(
    call: Call,
    execute: Callable[[], Awaitable[Execution]],
    exact: bool,
    stream: EventStream,
    then: Callable[[], object],
) -> None:
    """Execute, and put what comes of it into a stream."""
    errors = "surrogateescape" if exact else "replace"
    decoders = {name: codecs.getincrementaldecoder("utf-8")(errors) for name in ("stdout", "stderr")}
    room = dict.fromkeys(decoders, call.sessions.limits.output)

    def take(name: str, output: bytes | Output) -> None:
        if isinstance(output, Output):
            data, metadata = output._repr_mimebundle_()
            shown = {"data": data, "metadata": metadata, "is_value": output.is_value}
            if exact:
                shown["bundle_base64"] = encoded((output.data, metadata, output.display_id))
            stream.put("display", shown)
            return
        left = room[name]
        if left is not None:
            output = output[:left]
            room[name] = left - len(output)
        text = decoders[name].decode(output)
        if text:
            stream.put(name, {"text": text})

    listener.set(take)
    _on_blocked.set(lambda number, one: stream.put("call", _call_of(number, one).model_dump()))
    try:
        stream.put("result", json.loads((await execute()).model_dump_json()))
    except Exception as error:
        problem = problem_of(error)
        if problem is None:
            log.exception("%s failed", call.request.url.path)
            problem = Problem(500, "the server failed; its log says how")
        stream.put("problem", problem.document())
    finally:
        stream.end()
        then()


def _call_of(number: str, call: BlockedCall) -> PendingCall:
    return PendingCall(
        id=number,
        name=call.name,
        args=[one if isinstance(one, (str, int, float, bool)) else repr(one) for one in call.arguments],
        blocking=True,
        arguments_base64=encoded((call.arguments, call.keywords)),
    )


# -- calls ---------------------------------------------------------------------------------------------------


async def calls(call: Call) -> PendingCalls:
    """The calls that wait for an answer."""
    named = call.sessions.present(call.token, call.session)
    if named is not None and named.lock.locked() and (named.blocked or named.is_executing):
        return PendingCalls(calls=[_call_of(*one) for one in list(named.blocked.items())])
    async with call.sessions.using(call.token, call.session) as named:
        return PendingCalls(calls=pending_calls(named), execution=waiting_execution(named))


async def answer(call: Call) -> BaseModel | Response:
    """Answer a call, and go on as far as that leads."""
    body: Answer = call.body
    number = str(call.request.path_params["call"])
    given = _answer_of(body)
    present = call.sessions.present(call.token, call.session)
    if present is not None and number in present.blocked:
        blocked = present.blocked[number]
        if not blocked.answer.done():
            blocked.answer.set_result(given)
        return JSONResponse(Answered(answered=number).model_dump(), 202)
    if not (number.isascii() and number.isdecimal() and len(number) < 19):
        raise Problem(404, f"no call {number!r} waits", code="no-call")

    async def do(named: ServedSession) -> Outcome:
        waiting = named.session._engine.execution
        if waiting is None or int(number) not in waiting.pending:
            raise Problem(404, f"no call {number!r} waits", code="no-call")
        return await named.resume([(int(number), given)], step=body.step)

    return await _execute(call, "answer", do, body.exact)


def _answer_of(body: Answer) -> Ok | Raised:
    if body.error is not None:
        return Raised(body.error_type, body.error)
    if body.value_base64 is not None:
        return Ok(value_of_base64("value_base64", body.value_base64))
    if body.answer_base64 is None:
        return Ok(body.value)
    try:
        answer = answer_of(value_of_base64("answer_base64", body.answer_base64))
    except ProtocolError as error:
        raise Problem(422, f"answer_base64: {error}") from None
    if isinstance(answer, EndOfInput):
        return Raised("EOFError", "EOF when reading a line")
    return answer


async def interrupt(call: Call) -> None:
    """Stop what runs; an execution that waits is cancelled."""
    named = call.sessions.present(call.token, call.session)
    if named is not None and named.lock.locked():
        named.session.interrupt()
        return
    async with call.sessions.using(call.token, call.session) as named:
        progress = named.session.run_in_progress
        if progress is not None:
            await progress.cancel()
            await call.sessions.save(named)


_KEY: Final = Parameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    "A request that is made again with the same key gets the first one's result",
    place="header",
)

EXECUTION_ROUTES: Final = (
    Route(
        "POST",
        f"{SESSION}/run",
        run,
        "Execute Python",
        takes=RunRequest,
        gives=Execution,
        also=(EVENTS,),
        parameters=(_KEY,),
    ),
    Route(
        "POST",
        f"{SESSION}/bash",
        bash,
        "Run a script",
        takes=BashRequest,
        gives=Execution,
        also=(EVENTS,),
        parameters=(_KEY,),
    ),
    Route(
        "POST",
        f"{SESSION}/resume",
        resume,
        "Take an execution that waits further",
        takes=ResumeRequest,
        gives=Execution,
        also=(EVENTS,),
        parameters=(_KEY,),
    ),
    Route("POST", f"{SESSION}/interrupt", interrupt, "Stop what runs", status=204),
    Route("GET", f"{SESSION}/calls", calls, "List calls that wait", gives=PendingCalls),
    Route(
        "POST",
        f"{SESSION}/calls/{{call}}",
        answer,
        "Answer a call",
        takes=Answer,
        gives=Execution,
        also=(EVENTS,),
        parameters=(_KEY,),
        responses={202: Answered},
    ),
)
