"""What a kernel asks of its host, answered: the part that is the same in every home.

See docs/internals/boundary.md. What is not well formed raises ProtocolError.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from planaria.errors import EncodeError, ProtocolError
from planaria.executors.executor import Entered, Host
from planaria.limits import Stopped, StopReason
from planaria_kernel.protocol import decode, encode

__all__ = ["Door", "written"]

_EMPTY: Final = b""
#: Characters of a tool's name in a message.
_SHOWN: Final = 80


class Door:
    """Holds the command of the present entry and the report that it is left with.

    `outside` is entered while a function of the user's runs on the host; a KeyboardInterrupt in there is the
    function's answer.
    """

    __slots__ = ("_command", "_host", "_outside", "_report")

    def __init__(self, host: Host, outside: Callable[[], AbstractContextManager[Any]] = nullcontext) -> None:
        self._host = host
        self._outside = outside
        self._command = _EMPTY
        self._report: bytes | None = None

    def begin(self, command: tuple[Any, ...]) -> None:
        """The command of the next entry. Raises EncodeError when it cannot be sent."""
        self._command = encode(command)
        self._report = None

    def ended(self, reason: StopReason | None) -> Entered:
        """What the entry ended with. Raises Stopped when the kernel left no report."""
        if self._report is None:
            raise Stopped("the kernel came back without a report", reason)
        report = decode(self._report)
        if not isinstance(report, tuple) or not report:
            raise ProtocolError("the kernel sent a report that is not one")
        return Entered(report, reason)

    @property
    def has_report(self) -> bool:
        return self._report is not None

    def answer(self, request: bytes) -> bytes | None:
        """The reply to a request; None when it is none of those that every home has."""
        match request[:1]:
            case b"N":
                return self._command
            case b"R":
                self._report = request[1:]
                return _EMPTY
            case b"D":
                match decode(request[1:]):
                    case (str(kind), dict(data), dict(metadata)):
                        self._host.display(kind, data, metadata)
                        return _EMPTY
            case b"C":
                match decode(request[1:]):
                    case (str(name), tuple(arguments), dict(keywords)):
                        return self._call(name, arguments, keywords)
            case b"I":
                match decode(request[1:]):
                    case str(prompt):
                        return encode(self._ask(lambda: self._host.input(prompt)))
            case _:
                return None
        raise unknown(request)

    def _call(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> bytes:
        answer = self._ask(lambda: self._host.call(name, arguments, keywords))
        try:
            return encode(answer)
        except EncodeError as error:
            called = written(name, arguments)
            return encode(("error", "TypeError", f"{called}() returned what cannot cross: {error}"))

    def _ask(self, function: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """What a function of the user's answers, which Ctrl-C may interrupt."""
        try:
            with self._outside():
                return function()
        except KeyboardInterrupt:
            return ("error", "KeyboardInterrupt", "")


def written(name: str, arguments: tuple[Any, ...]) -> str:
    """A function of the host as code writes it, for messages about a call: `rate`, `tools.count.words`."""
    if name != "@tools.call":
        return name.lstrip("@!")
    parts = [part for part in arguments[:2] if isinstance(part, str)]
    return ".".join(["tools", *(part if len(part) <= _SHOWN else part[:_SHOWN] + "…" for part in parts)])


def unknown(request: bytes) -> ProtocolError:
    """The error for a request that no home knows."""
    return ProtocolError(f"the guest asked for something unknown: {request[:40]!r}")
