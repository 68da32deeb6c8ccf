"""Start-up files, and the dialogue of an interactive shell: prompts and history."""

from __future__ import annotations

from collections.abc import Generator

from planaria_shell.builtins.flow import run_logout
from planaria_shell.interactive import before_prompt, is_complete
from planaria_shell.state.control import Exit
from planaria_shell.state.interpreter import Interpreter

__all__ = ["hold_dialogue", "make_interactive", "run_startup_file"]

_PS1 = r"\s-\v\$ "
_PS2 = "> "
_HISTORY_SIZE = "500"


def make_interactive(shell: Interpreter) -> None:
    """Set what `-i` turns on (Bash Reference Manual, section 6.3.3)."""
    shell.interactive = True
    shell.histexpand = shell.history_enabled = shell.emacs = True
    shell.shopts.add("expand_aliases")
    for name, text in (("PS1", _PS1), ("PS2", _PS2)):
        if shell.variables.get(name) is None:
            shell.variables.set(name, text)


def run_startup_file(shell: Interpreter, name: str) -> Generator[None, None, bool]:
    """Run a file of commands before all others, if it is there; True when it ended the shell."""
    if not name:
        return False
    try:
        with open(shell.path(name), "rb") as file:
            text = file.read().decode("utf-8", "surrogateescape")
    except OSError:
        return False
    kept, shell.history_enabled = shell.history_enabled, False
    try:
        yield from shell.stream_text(text)
    except Exit as jump:
        shell.status = jump.status
        if not jump.discards:
            return True
    finally:
        shell.history_enabled = kept
    return False


def hold_dialogue(shell: Interpreter) -> Generator[None, None, int]:
    """Read commands from standard input, with prompts and history, until its end or `exit`."""
    _load_history(shell)
    stream = shell.fds[0]
    echoes = not stream.isatty()
    text = ""
    while True:
        if not text:
            before_prompt(shell)
        _show_prompt(shell, "PS2" if text else "PS1")
        line = stream.readline()
        if not line:
            break
        if echoes:
            shell.error_output(line.decode("utf-8", "surrogateescape"))
        text += line.decode("utf-8", "surrogateescape")
        if not is_complete(shell, text):
            continue
        shell.command_number += 1
        shell.exited = False
        _show_prompt(shell, "PS0")
        yield from shell.stream_line(text)
        text = ""
        if shell.exited:
            break
    if text:
        yield from shell.stream_line(text)
    if not shell.exited:
        run_logout(shell)
    shell.error_output("logout\n" if "login_shell" in shell.shopts else "exit\n")
    status = shell.finish()
    _save_history(shell)
    return status


def _show_prompt(shell: Interpreter, name: str) -> None:
    status = shell.status
    shell.error_output(shell.prompt(shell.variables.get(name) or ""))
    shell.status = status


def _history_file(shell: Interpreter) -> str | None:
    if "HISTFILE" not in shell.table:
        shell.variables.set("HISTFILE", f"{shell.variables.get('HOME') or ''}/.bash_history")
    name = shell.variables.get("HISTFILE")
    return shell.path(name) if name else None


def _load_history(shell: Interpreter) -> None:
    path = _history_file(shell)
    for name in ("HISTSIZE", "HISTFILESIZE"):
        if name not in shell.table:
            shell.variables.set(name, _HISTORY_SIZE)
    if path is None:
        return
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            shell.history[:] = file.read().splitlines()
    except OSError:
        return
    shell.history_saved = len(shell.history)


def _save_history(shell: Interpreter) -> None:
    """Append what is new to the file, which keeps as many lines as HISTFILESIZE says."""
    name = shell.variables.get("HISTFILE")
    new = shell.history[shell.history_saved :]
    if not name or not new:
        return
    path = shell.path(name)
    try:
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            lines = []
        lines += new
        size = shell.variables.get("HISTFILESIZE") or ""
        if size.isdecimal():
            lines = lines[-int(size) :] if int(size) else []
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.writelines(line + "\n" for line in lines)
    except OSError:
        return  # the shell has ended, and bash prints no message
