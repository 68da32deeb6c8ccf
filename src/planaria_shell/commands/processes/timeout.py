"""`timeout`: start COMMAND, and end it if still running after DURATION."""

from __future__ import annotations

import time
from collections.abc import Generator

from planaria_shell.commands.processes.durations import duration, pause
from planaria_shell.state.command import Status
from planaria_shell.state.deadline import Expired, until
from planaria_shell.toolkit.invocation import Invocation, cannot_run, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote

_KILL = 9
_SIGNALS = {
    "HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "TRAP": 5, "ABRT": 6, "BUS": 7, "FPE": 8, "KILL": 9, "USR1": 10,
    "SEGV": 11, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15, "CHLD": 17, "CONT": 18, "STOP": 19,
    "TSTP": 20, "TTIN": 21, "TTOU": 22,
}  # fmt: skip


@command(
    "timeout",
    short="fk:s:v",
    long="foreground=f kill-after=k: preserve-status signal=s: verbose=v",
    usage="[OPTION] DURATION COMMAND [ARG]...",
    order="options first",
    failure=125,
)
def timeout(call: Invocation) -> Generator[None, None, Status]:
    """Start COMMAND, and end it if still running after DURATION.

    The time is looked at whenever the command yields (its output is full, or it sleeps), and in between by
    the shell: a process with a method `run_until(deadline, argv)`, the deadline in seconds of
    time.monotonic(), is asked to run the command and returns its status or raises Expired.
    """
    arguments = call.arguments
    if len(call.operands) < 2:
        raise UsageError("")
    seconds = duration(call.operands[0])
    if seconds is None:
        raise UsageError(f"invalid time interval {quote(call.operands[0])}")
    after = arguments.value("k")
    patience = None if after is None else duration(after)
    if after is not None and patience is None:
        raise UsageError(f"invalid time interval {quote(after)}")
    name = (arguments.value("s") or "TERM").upper().removeprefix("SIG")
    number = _SIGNALS.get(name, int(name) if name.isdigit() else None)
    if number is None:
        raise UsageError(f"{quote(arguments.value('s') or '')}: invalid signal")
    command = call.operands[1:]
    if not seconds:
        return (yield from call.replace(command))
    deadline = time.monotonic() + seconds
    expired = False
    ignored: frozenset[str] = frozenset()
    status = 0
    limited = getattr(call.process, "run_until", None)
    if limited is not None:
        call.stdout.pass_on()
        try:
            status = int(limited(deadline, command))
        except OSError as error:
            raise cannot_run(command[0], error) from None
        except Expired as error:
            expired, ignored = True, error.ignored
    elif command[0] == "sleep" and (_sleeping(command) or 0) > seconds:
        # What people use timeout with most; it never writes.
        yield from pause(call, seconds)
        expired = True
    else:
        steps = call.replace(command)
        while not expired:
            try:
                with until(deadline):
                    next(steps)
            except StopIteration as stop:
                status = int(stop.value)
                break
            except Expired as error:
                expired, ignored = True, error.ignored
                break
            yield
            if time.monotonic() > deadline:
                expired, ignored = True, _ended(steps)
        steps.close()
    if expired:
        if arguments.has("v"):
            call.error(f"sending signal {name} to command {quote(command[0])}")
        if patience and name in ignored:
            yield from pause(call, patience)
            if arguments.has("v"):
                call.error(f"sending signal KILL to command {quote(command[0])}")
            number = _KILL
        if number == _KILL:
            call.process.ended_by = _KILL
        return 128 + number if number == _KILL or arguments.has("preserve-status") else 124
    return status


def _ended(steps: Generator[None, None, Status]) -> frozenset[str]:
    """End a command that waits; the signals that it ignores."""
    try:
        steps.throw(Expired())
    except Expired as error:
        return error.ignored
    except StopIteration:
        pass
    return frozenset()


def _sleeping(command: list[str]) -> float | None:
    durations = [duration(word) for word in command[1:]]
    known = [seconds for seconds in durations if seconds is not None]
    return sum(known) if known and len(known) == len(durations) else None
