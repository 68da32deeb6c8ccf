"""Traps and signals. There are no other processes: a signal comes from `kill` in the shell itself."""

# mypy: disable-error-code="misc"
# The methods here are a part of `Shell` and are only ever called on one, which is what `self: Shell` says.

from __future__ import annotations

from typing import TYPE_CHECKING

from planaria_shell.run.control import Exit, Return

if TYPE_CHECKING:
    from planaria_shell.run.shell import Shell

__all__ = ["SIGNALS", "XFSZ", "Traps", "signal_name", "signal_number"]

SIGNALS: dict[int, str] = {
    1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 5: "TRAP", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL", 10: "USR1",
    11: "SEGV", 12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM", 16: "STKFLT", 17: "CHLD", 18: "CONT",
    19: "STOP", 20: "TSTP", 21: "TTIN", 22: "TTOU", 23: "URG", 24: "XCPU", 25: "XFSZ", 26: "VTALRM",
    27: "PROF", 28: "WINCH", 29: "IO", 30: "PWR", 31: "SYS",
    **{34 + n: "RTMIN" if n == 0 else f"RTMIN+{n}" for n in range(16)},
    **{64 - n: "RTMAX" if n == 0 else f"RTMAX-{n}" for n in range(14, -1, -1)},
}  # fmt: skip
_NUMBERS = {name: number for number, name in SIGNALS.items()}
_NUMBERS["CLD"] = 17
_NUMBERS["POLL"] = 29
#: A file would become larger than it may.
XFSZ = 25
_PSEUDO = ("EXIT", "DEBUG", "ERR", "RETURN")
#: Signals that do nothing to a process that has no trap for them.
IGNORED = frozenset(["CHLD", "CONT", "URG", "WINCH", "STOP", "TSTP", "TTIN", "TTOU"])


def signal_number(text: str) -> int | None:
    """The number of a signal given by number or by name, with or without SIG."""
    if text.isdecimal():
        number = int(text)
        return number if number == 0 or number in SIGNALS else None
    name = text.upper().removeprefix("SIG")
    if name == "EXIT":
        return 0
    return _NUMBERS.get(name)


def signal_name(text: str) -> str | None:
    """What `trap` calls a condition: `EXIT`, `ERR`, or a signal's name without SIG."""
    upper = text.upper()
    if upper in _PSEUDO:
        return upper
    number = signal_number(text)
    if number is None:
        return None
    return "EXIT" if number == 0 else SIGNALS[number]


class Traps:
    """Running the commands of traps."""

    def run_trap(self: Shell, name: str) -> int:
        """Run the trap of this name, if there is one; its status, while `$?` is kept."""
        command = self.traps.get(name)
        if not command or name in self.running_traps:
            return 0
        status = self.status
        around = self.running_trap, self.trap_status
        self.running_trap, self.trap_status = name, status
        statuses = self.pipe_statuses
        line = self.line
        node = self.node
        trapped, self.trapped = self.trapped, self.trapped or node
        self.running_traps.add(name)
        try:
            return self.run_text(command, line=line if name in ("DEBUG", "ERR", "RETURN") else 1)
        except Return as jump:
            if name in ("DEBUG", "ERR", "EXIT"):
                return jump.status
            raise
        finally:
            self.running_traps.discard(name)
            self.running_trap, self.trap_status = around
            self.trapped = trapped
            self.node = node
            self.status = status
            self.pipe_statuses = statuses
            self.line = line

    def run_debug_trap(self: Shell) -> bool:
        """Before each command: the DEBUG trap, if there is one that counts here. With `shopt -s extdebug` its
        status tells whether the command is left out (which is what this returns), or all of the function."""
        if not self.debug_trap:
            return False
        status = self.run_trap("DEBUG")
        if not status or "extdebug" not in self.shopts or "DEBUG" in self.running_traps:
            return False
        if status == 2 and (self.function_depth or self.sourcing):
            raise Return(2)
        return True

    def failed(self: Shell, status: int) -> int:
        """A command whose failure nobody looks at has failed: the ERR trap, then `set -e`."""
        if not self.watching or self.suppressed:
            return status
        self.status = status
        if "ERR" in self.traps and (
            self.errtrace or not self.function_depth or self.err_trap_depth == self.function_depth
        ):
            self.run_trap("ERR")
        if self.errexit:
            raise Exit(status)
        return status

    def raise_signal(self: Shell, number: int) -> None:
        """The shell itself gets a signal: its trap runs, or the shell ends."""
        if number == 0:
            return
        name = SIGNALS[number]
        command = self.traps.get(name)
        if command is not None:
            self.run_trap(name)
            return
        if name in IGNORED:
            return
        raise Exit(128 + number)

    def take_signals(self: Shell) -> None:
        """Signals that came while the shell was not running."""
        while self.pending_signals:
            self.raise_signal(self.pending_signals.pop(0))

    def update_watching(self: Shell) -> None:
        """After a change of options or traps: what has to be heeded at each command."""
        self.watching = self.errexit or bool(self.traps.get("ERR"))
        self.debug_trap = bool(self.traps.get("DEBUG"))
        self.tracing = self.xtrace or self.debug_trap
