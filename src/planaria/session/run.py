"""One execution in flight, as a state machine without any I/O.

A `Run` says with which command to enter the kernel next and is fed the report of that entry. When the code
waits, the run holds the host calls it waits for; whoever drives it answers them. Sessions with and without
`await`, and executions that wait for another machine, drive the same Run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, Literal

from planaria.errors import ProtocolError
from planaria.snapshot.state import HostCall

__all__ = ["HostCall", "Run", "RunStatus"]

RunStatus = Literal["ready", "waiting", "done", "failed"]


class Run:
    """The execution of one cell."""

    def __init__(
        self,
        source: str,
        count: int,
        tier: str,
        pending: dict[int, HostCall] | None = None,
        name: str | None = None,
        stdin: bytes | None = None,
    ) -> None:
        self.source = source
        #: The source is a script for the shell, with this as its standard input.
        self.stdin = stdin
        #: What tracebacks call the source, when it is not `<cell N>`.
        self.name = name
        self.count = count
        self.tier = tier
        self.status: RunStatus = "ready"
        #: Calls that tasks of earlier executions still wait for come first.
        self.pending: dict[int, HostCall] = dict(pending or {})
        #: When to go on without an answer, a value of `time.monotonic()`.
        self.wake_at: float | None = None
        #: The kernel's last report ("done" or "error") once the status is done or failed.
        self.outcome: tuple[Any, ...] | None = None
        self._answers: list[tuple[Any, ...]] = []
        #: Those of the last command.
        self._sent: list[tuple[Any, ...]] = []
        self._command: tuple[Any, ...] | None = self.start_command()

    def start_command(self) -> tuple[Any, ...]:
        """The command with which the execution begins."""
        if self.stdin is not None:
            return ("bash", self.source, self.stdin)
        command = ("run", self.source, self.count, self.tier)
        return command if self.name is None else (*command, self.name)

    def begin_again(self, tier: str, pending: dict[int, HostCall] | None = None) -> None:
        """As if nothing had been run yet, on another tier.

        `pending` are the calls of earlier executions, if those changed.
        """
        self.tier = tier
        self._answers.clear()
        if pending is not None:
            self.pending = pending
        self._command = self.start_command()

    def waits(self, seconds: float | None) -> None:
        """As if it had just reported that it waits, with `seconds` until its next timer."""
        self._command = None
        self.status = "waiting"
        self.wake_at = None if seconds is None else time.monotonic() + max(0.0, seconds)

    @property
    def is_over(self) -> bool:
        return self.outcome is not None

    @property
    def can_step(self) -> bool:
        """Whether entering the kernel now would get the execution further."""
        return not self.is_over and (
            self._command is not None
            or bool(self._answers)
            or (self.wake_at is not None and time.monotonic() >= self.wake_at)
        )

    def command(self) -> tuple[Any, ...]:
        """The command for the next entry; taking it forgets it."""
        command, self._command = self._command, None
        self.wake_at = None
        if command is None:
            command = ("resume", self._answers)
            self._sent, self._answers = self._answers, []
        else:
            self._sent = []
        return command

    def resolve(self, identifier: int, value: Any) -> None:
        """Answer a pending call with a value. Raises KeyError when no such call is pending."""
        del self.pending[identifier]
        self._answers.append((identifier, True, value))

    def reject(self, identifier: int, kind: str, message: str, *fields: dict[str, Any]) -> None:
        """Answer a pending call with an exception of a builtin type; with `fields`, of one of ours.

        Raises KeyError as `resolve` does.
        """
        del self.pending[identifier]
        self._answers.append((identifier, False, (kind, message, *fields)))

    def refuse_answers(self, refuse: Callable[[Any], tuple[str, str] | None]) -> None:
        """After the last command could not be sent: it will be sent again.

        Each value to which `refuse` has an objection (a builtin type and a message) is replaced by that
        exception.
        """
        if not self._sent:
            self.report(("error", {"type": "MemoryError", "message": "the source does not fit the memory"}))
        for identifier, succeeded, value in self._sent:
            objection = refuse(value) if succeeded else None
            answer = (identifier, succeeded, value)
            self._answers.append(answer if objection is None else (identifier, False, objection))

    def cancel(self, kind: str, message: str) -> None:
        """Have an exception raised where the execution waits; one that has not begun is over."""
        if self._command is not None and self._command[0] == "run":
            self.report(("error", {"type": kind, "message": message}))
        else:
            self._command = ("cancel", kind, message)

    def report(self, report: tuple[Any, ...]) -> list[HostCall]:
        """Take in what an entry ended with; returns the host calls that are new.

        A call that nobody awaits any more (its task was cancelled) is no longer pending afterwards.

        Raises ProtocolError for a report that is not one.
        """
        match report:
            case ("done" | "error" as kind, dict(details)):
                self.status, self.outcome = "done" if kind == "done" else "failed", report
                self._command = None
                self._give_up(details.get("given_up", ()))
            case ("waiting", list(calls), (int() | float() | None) as seconds, list(given_up)):
                self.waits(seconds)
                self._give_up(given_up)
                new = [_call_of(call) for call in calls]
                for call in new:
                    self.pending[call.id] = call
                return new
            case _:
                raise ProtocolError(f"the kernel sent an unknown report: {str(report)[:200]}")
        self.wake_at = None
        return []

    def _give_up(self, identifiers: Iterable[Any]) -> None:
        for identifier in identifiers:
            if isinstance(identifier, int):
                self.pending.pop(identifier, None)


def _call_of(item: Any) -> HostCall:
    match item:
        case (int(identifier), str(name), tuple(arguments), dict(keywords)):
            return HostCall(identifier, name, arguments, keywords)
        case _:
            raise ProtocolError(f"the kernel sent an unknown host call: {str(item)[:200]}")
