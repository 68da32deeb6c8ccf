"""The host's end of the boundary: hands a kernel its command, answers its requests, takes its report.

The part that is the same for every executor; see docs/internals/boundary.md. Requests and reports that are
not well formed raise ProtocolError.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, Protocol, TypeVar

from planaria.errors import EncodeError, ProtocolError
from planaria.executors.executor import Entered, Host
from planaria.executors.messages import (
    Answer,
    Answered,
    Begun,
    CallAnswer,
    Cancel,
    Command,
    Configure,
    Done,
    EndOfInput,
    Failed,
    HostCall,
    Ok,
    Query,
    Raised,
    Refused,
    Report,
    Request,
    Resume,
    RunCode,
    RunScript,
    SecretPrompt,
    Suspended,
    TierMissing,
    Waiting,
)
from planaria.limits import Guard, Stopped, StopReason
from planaria_kernel.errors import DecodeLimitError
from planaria_kernel.protocol import Budget, Undecodable, decode, encode
from planaria_kernel.protocol.calls import decode_only_call
from planaria_kernel.protocol.commands import encode_answer, encode_answers, encode_cell

__all__ = [
    "HostEndpoint",
    "answer_frame",
    "answer_of",
    "call_name",
    "command_frame",
    "report_frame",
    "report_of",
    "unknown_request",
]

Frame = tuple[object, ...]
_Answer = TypeVar("_Answer")

_EMPTY: Final = b""
#: Characters of a tool's name in a message.
_SHOWN: Final = 80
#: What most cells report that end in a statement, as the kernel encodes it.
_PLAINLY_DONE: Final = encode(("done", {}))
_DONE: Final = Done()
_BEGUN: Final = encode_answer(("sent",))
_INTERRUPTED: Final = Raised("KeyboardInterrupt", "")


class Outside(Protocol):
    """Calls a function of the user's, for which the kernel waits."""

    def __call__(self, function: Callable[[], _Answer], /) -> _Answer: ...


def _call(function: Callable[[], _Answer]) -> _Answer:
    return function()


class HostEndpoint:
    """Holds the command of the present entry and the report that it leaves.

    `call_outside` is what calls a function of the user's on the host; a KeyboardInterrupt in there is the
    function's answer. What the kernel sends takes at most `memory` bytes once it is decoded.
    """

    __slots__ = ("_call_outside", "_deadline", "_host", "_memory", "_rest_of_line", "command", "report")

    def __init__(
        self,
        host: Host,
        call_outside: Outside = _call,
        *,
        memory: int | None = None,
    ) -> None:
        self._host = host
        self._call_outside = call_outside
        self._memory = memory
        self._deadline: float | None = None
        #: What `read_input` has not given out yet of the last line.
        self._rest_of_line = _EMPTY
        self.command = _EMPTY
        """The command of the present entry, as it is written."""
        self.report: bytes | None = None
        """What the kernel reported, as it is written."""

    def begin(self, command: Command, settings: object = None, *, guard: Guard | None = None) -> None:
        """Set the command of the next entry, before which the kernel takes `settings`, if any.

        What the kernel sends during the entry has to be decoded within the grace period of `guard`. Raises
        EncodeError when the command cannot be sent.
        """
        self._deadline = None
        if guard is not None and guard.deadline is not None:
            self._deadline = guard.deadline + guard.grace
        if type(command) is RunCode and command.name is None:
            self.command = encode_cell(command.source, command.count, command.tier, settings)
        elif settings is None and type(command) is Resume:
            self.command = encode_answers([_call_answer_frame(one) for one in command.answers])
        else:
            frame = command_frame(command)
            self.command = encode(frame if settings is None else ("begin", settings, frame))
        self.report = None

    def decode(self, data: bytes, refused: list[str] | None = None) -> Any:
        """What the kernel sent, within the limits. Raises ProtocolError, and DecodeLimitError."""
        return decode(data, Budget(self._deadline, self._memory), refused)

    def ended(self, reason: StopReason | None, report: bytes | None = None) -> Entered:
        """What the entry ended with; its `report`, if the kernel did not send it.

        Raises Stopped when the kernel left no report.
        """
        if report is not None:
            self.report = report
        if self.report is None:
            raise Stopped("the kernel returned without a report", reason)
        if self.report == _PLAINLY_DONE:
            return Entered(_DONE, reason)
        return Entered(self._read(self.report), reason)

    def _read(self, report: bytes) -> Report:
        """A report as it was written. Raises ProtocolError, and DecodeLimitError."""
        refused: list[str] = []
        call = decode_only_call(report, Budget(self._deadline, self._memory), refused)
        if call is None:
            found = report_of(self.decode(report, refused))
        else:
            found = Waiting((HostCall(*call),), None, ())
        if refused and isinstance(found, Waiting):
            found = replace(found, calls=_without_undecodable(found.calls, refused[0]))
        return found

    def repeat(self, command: bytes) -> None:
        """Set the command of the next entry as it was written before."""
        self._deadline = None
        self.command = command
        self.report = None

    @property
    def has_report(self) -> bool:
        return self.report is not None

    def answer(self, request: bytes) -> bytes | None:
        """The reply to a request; None when it is not one of those that every executor has."""
        kind = request[0] if request else 0
        if kind == Request.COMMAND:
            return self.command
        if kind == Request.REPORT:
            self.report = request[1:]
            return _EMPTY
        if kind == Request.DISPLAY:
            unreadable: list[str] = []
            try:
                output = self.decode(request[1:], unreadable)
            except DecodeLimitError as error:
                unreadable, output = [str(error)], ("display", {}, {})
            match output:
                case (str(form), dict(data), dict(metadata)) if all(isinstance(key, str) for key in data):
                    if unreadable:
                        form, metadata = "display", {}
                        data = {"text/plain": f"this output cannot be shown: {unreadable[0]}"}
                    self._host.display(form, data, metadata)
                    return _EMPTY
        elif kind == Request.CALL:
            refused: list[str] = []
            try:
                call = self.decode(request[1:], refused)
            except DecodeLimitError as error:
                return encode(answer_frame(_too_much(error)))
            match call:
                case (str(name), tuple(arguments), dict(keywords)):
                    if refused:
                        return encode(
                            answer_frame(Raised("TypeError", _bad_argument(name, arguments, refused[0])))
                        )
                    return self._call(name, arguments, keywords)
        elif kind == Request.AWAITED_CALL:
            try:
                waiting = self._read(request[1:])
            except DecodeLimitError as error:
                return encode(answer_frame(_too_much(error)))
            if isinstance(waiting, Waiting) and len(waiting.calls) == 1:
                return self._begin(waiting.calls[0])
        elif kind == Request.INPUT:
            match self.decode(request[1:]):
                case str(prompt):
                    return encode(answer_frame(self._line(prompt)))
                case (str(prompt), True):
                    return encode(answer_frame(self._line(SecretPrompt(prompt))))
        else:
            return None
        raise unknown_request(request)

    def _line(self, prompt: str) -> Answer:
        """A line of standard input, or what is left of one that was read in part."""
        rest, self._rest_of_line = self._rest_of_line, _EMPTY
        if rest:
            return Ok(rest.decode("utf-8", "surrogateescape"))
        return self._ask(lambda: self._host.input(prompt))

    def read_input(self, size: int) -> bytes:
        """At most `size` bytes of standard input, as they are read from a terminal: of one line at a time.

        None at its end. Raises OSError when the user's function failed, and KeyboardInterrupt.
        """
        answer = self._line("")
        if isinstance(answer, EndOfInput):
            return _EMPTY
        if answer == _INTERRUPTED:
            raise KeyboardInterrupt
        if not isinstance(answer, Ok) or not isinstance(answer.value, str):
            raise OSError(errno.EIO, f"standard input failed: {answer}")
        line = answer.value.encode("utf-8", "surrogateescape")
        self._rest_of_line = line[size:]
        return line[:size]

    def _call(self, name: str, arguments: tuple[object, ...], keywords: dict[str, object]) -> bytes:
        answer = self._ask(lambda: self._host.call(name, arguments, keywords))
        return self._encoded(answer, name, arguments)

    def _begin(self, call: HostCall) -> bytes:
        answer = self._ask(lambda: self._host.begin_call(call))
        if answer is None:
            return _EMPTY
        return _BEGUN if isinstance(answer, Begun) else self._encoded(answer, call.name, call.args)

    def _encoded(self, answer: Answer, name: str, arguments: tuple[object, ...]) -> bytes:
        """An answer to a call, as it is sent."""
        try:
            return encode_answer(answer_frame(answer))
        except EncodeError as error:
            called = call_name(name, arguments)
            message = f"{called}() returned a value that cannot be serialised: {error}"
            return encode(answer_frame(Raised("TypeError", message)))

    def _ask(self, function: Callable[[], _Answer]) -> _Answer | Raised:
        """What a function of the user's answers, which an interrupt may cut short."""
        try:
            return self._call_outside(function)
        except KeyboardInterrupt:
            return _INTERRUPTED


def _too_much(error: DecodeLimitError) -> Raised:
    kind = "MemoryError" if error.limit == "memory" else "TimeoutError"
    return Raised(kind, f"the arguments of this call cannot be decoded: {error}")


def _bad_argument(name: str, arguments: tuple[object, ...], reason: str) -> str:
    return f"{call_name(name, arguments)}(): an argument cannot be sent: {reason}"


def _without_undecodable(calls: tuple[HostCall, ...], reason: str) -> tuple[HostCall, ...]:
    """Calls that wait, those with an argument that cannot be had refused: all of them, if it is not found."""
    found = [_holds_undecodable((call.args, call.kwargs)) for call in calls]
    if not any(found):
        found = [True] * len(calls)
    return tuple(
        replace(call, args=(), kwargs={}, refused=_bad_argument(call.name, call.args, reason))
        if is_bad
        else call
        for call, is_bad in zip(calls, found, strict=True)
    )


def _holds_undecodable(value: object) -> bool:
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, Undecodable):
            return True
        if isinstance(one, dict):
            pending += one.keys()
            pending += one.values()
        elif isinstance(one, (list, tuple, set, frozenset)):
            pending += one
    return False


def call_name(name: str, arguments: tuple[object, ...]) -> str:
    """A function of the host as code writes it, for messages about a call: `rate`, `tools.count.words`."""
    if name != "@tools.call":
        return name.lstrip("@!")
    parts = [part for part in arguments[:2] if isinstance(part, str)]
    return ".".join(["tools", *(part if len(part) <= _SHOWN else part[:_SHOWN] + "…" for part in parts)])


def unknown_request(request: bytes) -> ProtocolError:
    """The error for a request that no executor knows."""
    return ProtocolError(f"the guest sent an unknown request: {request[:40]!r}")


# -- values to frames -------------------------------------------------------------------------------------


def command_frame(command: Command) -> Frame:
    """A command as the kernel reads it."""
    match command:
        case RunCode(source, count, tier, name):
            return ("run", source, count, tier) if name is None else ("run", source, count, tier, name)
        case Resume(answers):
            return ("resume", [_call_answer_frame(one) for one in answers])
        case Query(name, arguments):
            return (name, *arguments)
        case RunScript(source, stdin, is_program):
            return ("bash_program" if is_program else "bash", source, stdin)
        case Cancel(kind, message):
            return ("cancel", kind, message)
        case Configure(settings):
            return ("configure", dict(settings))


def _call_answer_frame(given: CallAnswer) -> tuple[int, bool, object]:
    answer = given.answer
    if isinstance(answer, Ok):
        return (given.id, True, answer.value)
    return (given.id, False, answer_frame(answer)[1:])


def answer_frame(answer: Answer) -> Frame:
    """An answer as the kernel reads it."""
    match answer:
        case Ok(value):
            return ("ok", value)
        case Raised(kind, message, None):
            return ("error", kind, message)
        case Raised(kind, message, fields):
            return ("error", kind, message, fields)
        case EndOfInput():
            return ("eof",)
        case Suspended():
            raise AssertionError("a pending call is not answered")


def report_frame(report: Done | Failed) -> Frame:
    """The report of an execution that is over, as a kernel writes it."""
    details: dict[str, object] = {
        "exit_code": report.exit_code,
        "given_up": list(report.abandoned),
    }
    if isinstance(report, Done):
        return ("done", {**details, "value": report.value, "repr": report.repr})
    return (
        "error",
        {
            **report.details,
            **details,
            "type": report.type,
            "message": report.message,
            "traceback": report.traceback,
            "lineno": report.lineno,
        },
    )


# -- frames to values -------------------------------------------------------------------------------------


def answer_of(frame: object) -> Ok | Raised | EndOfInput:
    """An answer that was written by `answer_frame`; anything else raises ProtocolError."""
    match frame:
        case ("ok", value):
            return Ok(value)
        case ("error", str(kind), str(message)):
            return Raised(kind, message)
        case ("error", str(kind), str(message), dict(fields)):
            return Raised(kind, message, fields)
        case ("eof",):
            return EndOfInput()
    raise ProtocolError(f"this is not an answer to a call: {str(frame)[:200]}")


def report_of(frame: object) -> Report:
    """What a kernel reported; anything else raises ProtocolError."""
    match frame:
        case ("done", dict(details)):
            return _done(details)
        case ("waiting", list(calls), (int() | float() | None) as seconds, list(abandoned)):
            return Waiting(tuple(map(_call_of, calls)), seconds, _identifiers(abandoned))
        case ("error", dict(details)):
            return _failed(details)
        case ("answer", value):
            return Answered(value)
        case ("tier", list(modules)):
            return TierMissing(tuple(map(str, modules)))
        case ("refused",):
            return Refused()
    raise ProtocolError(f"the kernel sent an unknown report: {str(frame)[:200]}")


def _done(details: dict[str, object]) -> Done:
    match details.get("value"), details.get("repr"), details.get("exit_code"), details.get("given_up", []):
        case (bytes() | None) as value, (str() | None) as shown, (int() | None) as code, list(abandoned):
            return Done(value, shown, code, _identifiers(abandoned))
    raise ProtocolError(f"the kernel sent an unknown report: done, {str(details)[:200]}")


def _failed(details: dict[str, object]) -> Failed:
    match details.get("lineno"), details.get("exit_code"), details.get("given_up", []):
        case (int() | None) as lineno, (int() | None) as code, list(abandoned):
            return Failed(
                str(details.get("type", "Exception")),
                str(details.get("message", "")),
                str(details.get("traceback", "")),
                lineno,
                code,
                details,
                _identifiers(abandoned),
            )
    raise ProtocolError(f"the kernel sent an unknown report: error, {str(details)[:200]}")


def _call_of(item: object) -> HostCall:
    match item:
        case (int(identifier), str(name), tuple(arguments), dict(keywords)):
            return HostCall(identifier, name, arguments, keywords)
    raise ProtocolError(f"the kernel sent an unknown host call: {str(item)[:200]}")


def _identifiers(items: Iterable[object]) -> tuple[int, ...]:
    return tuple(item for item in items if isinstance(item, int))
