"""What a shell may use, and what it has used."""

from __future__ import annotations

import time
from dataclasses import dataclass

from planaria_shell.state.control import Exit, LimitReachedError
from planaria_shell.state.streams import flush_shown

__all__ = ["Counters", "Limits"]


@dataclass(slots=True)
class Limits:
    """Bounds on what scripts use; None means none. When one is reached the script ends with an error that
    names it; what was written before is kept."""

    #: Commands run in one call of `Shell.run`.
    commands: int | None = 100_000_000
    #: Iterations of all loops in one call of `Shell.run`.
    iterations: int | None = 100_000_000
    #: Functions and sourced files inside each other.
    function_depth: int | None = 4000
    #: Command substitutions and subshells inside each other.
    substitution_depth: int | None = 400
    #: Bytes that one command substitution may give.
    substitution_bytes: int | None = 512 * 1024 * 1024
    #: Characters that the values of all variables together may hold. Measured now and then, so that a
    #: sixteenth more may pass.
    variable_bytes: int | None = 256 * 1024 * 1024


_NEVER = 1 << 62
#: Commands and iterations between two looks.
_PACE = 1000


class Counters:
    """Counts what is used; shared by a shell and its subshells."""

    __slots__ = (
        "commands",
        "cpu",
        "cpu_began",
        "growth",
        "iterations",
        "limits",
        "memory",
        "next_check",
        "next_iteration",
        "total_commands",
        "total_runs",
    )

    def __init__(self, limits: Limits) -> None:
        self.commands = 0
        self.iterations = 0
        #: Since the shell began; these only grow.
        self.total_commands = 0
        self.total_runs = 0
        #: `ulimit -t` and `-v`: seconds of the processor's time for a run, with the status of one that has
        #: used them up; bytes that variables may hold.
        self.cpu: tuple[int, int] | None = None
        self.cpu_began = 0.0
        self.memory: int | None = None
        self.apply(limits)

    def apply(self, limits: Limits) -> None:
        """Count against these limits from now on."""
        self.limits = limits
        self._look_again()
        #: Characters that may be assigned before all variables have to be measured again.
        self.growth = 0

    def begin(self) -> None:
        """A new call of `Shell.run` begins."""
        self.total_commands += self.commands
        self.total_runs += 1
        self.commands = 0
        self.iterations = 0
        if self.cpu is not None:
            self.cpu_began = time.process_time()
        self._look_again()

    def _look_again(self) -> None:
        """Have `check` called before long, and when a limit is passed."""
        most = self.limits.commands
        self.next_check = min(_NEVER if most is None else most, self.commands + _PACE)
        most = self.limits.iterations
        self.next_iteration = min(_NEVER if most is None else most, self.iterations + _PACE)

    def count_command(self) -> None:
        """One more command; raises `LimitReachedError`."""
        self.commands += 1
        if self.commands > self.next_check:
            self.check()

    def count_iteration(self) -> None:
        """One more iteration of a loop; raises `LimitReachedError`."""
        self.iterations += 1
        if self.iterations > self.next_iteration:
            self.check()

    def check(self) -> None:
        """Raise `LimitReachedError` for the count that is too high; let out what has been written."""
        limits = self.limits
        if self.cpu is not None and time.process_time() - self.cpu_began >= self.cpu[0]:
            raise Exit(self.cpu[1])
        if limits.commands is not None and self.commands > limits.commands:
            raise LimitReachedError("commands", f"limit reached: commands ({limits.commands})")
        if limits.iterations is not None and self.iterations > limits.iterations:
            raise LimitReachedError("iterations", f"limit reached: iterations ({limits.iterations})")
        flush_shown()
        self._look_again()
