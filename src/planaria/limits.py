"""What an execution may use."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Final, Literal, NamedTuple, final

from planaria.parameters import suggest_field_names

__all__ = ["LEAST_MEMORY", "NOT_GIVEN", "Guard", "Limits", "NotGiven", "ShellLimits", "StopReason", "Stopped"]


@final
class NotGiven:
    """The type of `NOT_GIVEN`, which stands for "not said", where None means "no limit"."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN: Final = NotGiven()

_MIB: Final = 1 << 20
#: No sandbox runs in fewer bytes than this.
LEAST_MEMORY: Final = 64 * _MIB
_COUNTS: Final = ("callbacks", "memory", "output", "value", "recursion", "checkpoints", "recording", "fuel")
_TIMES: Final = ("timeout", "cpu_time", "callback_timeout", "checkpoint_time")


@suggest_field_names
@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Limits of a session; None means no limit. Times in seconds, sizes in bytes.

    Raises ValueError for a value outside a limit's range, TypeError for one that is not a number.
    """

    timeout: float | None = 300.0
    """Wall time of one execution, callbacks and sleeping included."""
    cpu_time: float | None = None
    """Processor time of one execution inside the sandbox."""
    fuel: int | None = None
    """WebAssembly instructions of one execution, the same number on any machine. Such a session runs on a
    metered runtime, compiled when one is first created; see `Result.fuel`. The limit is looked at where
    functions are entered and loops begin again."""
    grace: float = 1.0
    """After an interrupt, how long the code may take to come back before it is stopped hard."""
    callback_timeout: float | None = None
    """Time of one host callback. One that overruns gives a TimeoutError in the code; the thread of a plain
    function is abandoned."""
    callbacks: int | None = 10_000
    """Host callbacks in one execution."""
    memory: int | None = 2048 * _MIB
    """The sandbox's whole memory; the interpreter itself takes about 40 MiB of it."""
    output: int | None = 16 * _MIB
    """Standard output, standard error and rich outputs, each, of one execution. Of a stream with more, the
    first and the last half of so many bytes are kept, with a line between them that says how much was left
    out; see `Result.stdout_truncated` and `Result.stdout_omitted_bytes`. Rich outputs beyond it are
    dropped."""
    value: int | None = 256 * _MIB
    """Size of a result's value or a callback's argument on its way over the boundary. On the host, its
    objects take at most as much as the larger of this and `memory`."""
    recursion: int = 1000
    """The guest's recursion limit (`sys.getrecursionlimit()`), at most 20,000."""
    checkpoints: int | None = 256 * _MIB
    """Memory that the automatic checkpoints of a session hold, beside what the session uses itself. Beyond it
    the oldest are dropped, every other one first; the newest is always kept."""
    recording: int | None = 256 * _MIB
    """What a session with `record=True` keeps for its recording; then the oldest executions are dropped."""
    checkpoint_time: float | None = 0.2
    """The share of time that automatic checkpoints may take, beyond a credit of 0.25 s; None takes one before
    every execution, however fast they come. A hard stop loses what was executed since the last one."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                if field.name in ("grace", "recursion"):
                    raise ValueError(
                        f"Limits({field.name}=None): must be a number; this limit cannot be disabled"
                    )
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise TypeError(f"Limits({field.name}={value!r}): must be a number or None")
            if field.name in _COUNTS and not isinstance(value, int):
                raise TypeError(f"Limits({field.name}={value!r}): must be an integer")
            if math.isnan(value):
                raise ValueError(f"Limits({field.name}={value!r}): must be a number or None")
            if value == 0 and field.name == "fuel":
                raise ValueError("Limits(fuel=0): must be greater than 0; use None for no limit")
            if value < 0:
                raise ValueError(f"Limits({field.name}={value!r}): must not be negative")
            if field.name in _TIMES and not value:
                raise ValueError(f"Limits({field.name}=0): must be greater than 0; use None for no limit")
        if not 50 <= self.recursion <= 20_000:
            raise ValueError(f"Limits(recursion={self.recursion}): must be between 50 and 20,000")
        if self.memory is not None and not LEAST_MEMORY <= self.memory <= 4096 * _MIB:
            raise ValueError(
                f"Limits(memory={self.memory}): must be between 64 MiB (the interpreter takes 40) "
                "and 4096 MiB, or None"
            )

    def decoded(self) -> int | None:
        """Bytes that the objects of one value may take on the host."""
        return None if self.memory is None or self.value is None else max(self.memory, self.value)


@suggest_field_names
@dataclass(frozen=True, kw_only=True, slots=True)
class ShellLimits:
    """Limits of the scripts in a session's shell; None means no limit.

    A script that reaches one ends with an error that names it and a status other than 0; what it has written
    stays, and so does the state it has reached. Time, output and memory are limited by `Limits`.

    Raises ValueError for a limit below 1.
    """

    commands: int | None = 100_000_000
    """Commands that one execution may run."""
    iterations: int | None = 100_000_000
    """Iterations of all loops in one execution."""
    function_depth: int | None = 2000
    """Functions and sourced files inside each other. The interpreter cannot follow more than about 4,000."""
    substitution_depth: int | None = 400
    """Command substitutions and subshells inside each other."""
    substitution_bytes: int | None = 512 * _MIB
    """Bytes that one command substitution may give."""
    variable_bytes: int | None = 256 * _MIB
    """Characters that the values of all variables together may hold. It is measured now and then: a
    sixteenth more may pass."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"ShellLimits({field.name}={value!r}): must be an integer or None")
            if value < 1:
                raise ValueError(
                    f"ShellLimits({field.name}={value}): must be at least 1; use None for no limit"
                )


StopReason = Literal["timeout", "cpu", "fuel", "interrupt"]


class Guard(NamedTuple):
    """What limits one entry into a kernel; times in seconds, None for no limit.

    `deadline` is a value of `time.monotonic()`, `cpu` the processor time of this entry, `fuel` its
    instructions. `interrupted` is
    asked now and then, from any thread, whether to raise an interrupt. After one was raised the code has
    `grace` seconds to come back before it is stopped hard.
    """

    deadline: float | None = None
    cpu: float | None = None
    grace: float = 1.0
    interrupted: Callable[[], bool] | None = None
    fuel: int | None = None


class Stopped(Exception):
    """The kernel did not come back: it was stopped hard, or it died. Sessions turn this into their errors.

    `reason` says why it had been interrupted, None when it died by itself (`message` says how). `exit_code`
    is the status with which it ended its process, if it did. `goes_on` says that the code is still running,
    disconnected from the session, because nothing could stop it.
    """

    def __init__(
        self, message: str, reason: StopReason | None, exit_code: int | None = None, *, goes_on: bool = False
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.exit_code = exit_code
        self.goes_on = goes_on
