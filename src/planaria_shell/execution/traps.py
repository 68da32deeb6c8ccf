"""Traps and signals. There are no other processes: a signal comes from `kill` in the shell itself."""

from __future__ import annotations

from planaria_shell.state.control import Exit, Return
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.signals import CHLD, IGNORED, INTERRUPTS, SIGNALS

__all__ = ["children_ended", "failed", "raise_signal", "run_debug_trap", "run_trap", "take_signals"]

#: Signals that do not end an interactive shell.
_IGNORED_AT_THE_PROMPT = frozenset(["TERM", "QUIT"])


def run_trap(shell: Interpreter, name: str) -> int:
    """Run the trap of this name, if there is one; its status, while `$?` is kept."""
    command = shell.traps.get(name)
    if not command or name in shell.running_traps:
        return 0
    status = shell.status
    around = shell.running_trap, shell.trap_status
    shell.running_trap, shell.trap_status = name, status
    statuses = shell.pipe_statuses
    line = shell.line
    node = shell.node
    trapped, shell.trapped = shell.trapped, shell.trapped or node
    shell.running_traps.add(name)
    try:
        return shell.run_text(command, line=line if name in ("DEBUG", "ERR", "RETURN") else 1, where="trap: ")
    except Return as jump:
        if name in ("DEBUG", "ERR", "EXIT"):
            return jump.status
        raise
    finally:
        shell.running_traps.discard(name)
        shell.running_trap, shell.trap_status = around
        shell.trapped = trapped
        shell.node = node
        shell.status = status
        shell.pipe_statuses = statuses
        shell.line = line


def run_debug_trap(shell: Interpreter) -> bool:
    """Before each command: the DEBUG trap, if there is one that counts here. With `shopt -s extdebug` its
    status decides whether the command is skipped (which is what this returns), or all of the function."""
    if not shell.debug_trap:
        return False
    status = shell.run_trap("DEBUG")
    if not status or "extdebug" not in shell.shopts or "DEBUG" in shell.running_traps:
        return False
    if status == 2 and (shell.function_depth or shell.sourcing):
        raise Return(2)
    return True


def failed(shell: Interpreter, status: int) -> int:
    """A command whose status is not tested has failed: run the ERR trap, then apply `set -e`."""
    if not shell.watching or shell.suppressed:
        return status
    shell.status = status
    nesting = len(shell.frames) + shell.substitution_level
    if shell.err_trap_nesting > nesting:
        # It was set within what has failed here, and has run there.
        shell.err_trap_nesting = nesting
    elif "ERR" in shell.traps and (
        shell.errtrace or not shell.function_depth or shell.err_trap_depth == shell.function_depth
    ):
        shell.run_trap("ERR")
    if shell.errexit:
        raise Exit(status)
    return status


def raise_signal(shell: Interpreter, number: int) -> None:
    """The shell itself gets a signal: its trap runs, or the shell ends."""
    if number == 0:
        return
    name = SIGNALS[number]
    command = shell.traps.get(name)
    if command is not None:
        shell.run_trap(name)
        return
    if shell.ignores_interrupts and name in INTERRUPTS:
        return
    if name in IGNORED or (shell.interactive and name in _IGNORED_AT_THE_PROMPT):
        return
    if shell.interactive and name == "INT":
        raise Exit(128 + number, discards=True)
    raise Exit(128 + number, signal=number)


def children_ended(shell: Interpreter, count: int = 1) -> None:
    """So many commands that bash would run in processes of their own have ended: the shell gets SIGCHLD."""
    if shell.traps.get("CHLD"):
        shell.pending_signals += [CHLD] * count


def take_signals(shell: Interpreter) -> None:
    """Signals that came while the shell was not running."""
    while shell.pending_signals:
        shell.raise_signal(shell.pending_signals.pop(0))
