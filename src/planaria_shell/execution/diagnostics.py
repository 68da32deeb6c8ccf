"""What the shell reports: errors, `set -x` and times."""

from __future__ import annotations

import errno
import os
import re
import time

from planaria_shell.errors import (
    AbandonError,
    ArithmeticSyntaxError,
    ReadonlyError,
    ShellError,
    ShellSyntaxError,
)
from planaria_shell.state.control import Exit
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.signals import INT, PIPE, SIGNALS, TERM, XFSZ, signal_text
from planaria_shell.state.special_variables import HOST
from planaria_shell.state.streams import flush_all
from planaria_shell.syntax.nodes import Case, Command, For, Select
from planaria_shell.syntax.printing import heading_of, source_of
from planaria_shell.syntax.quoting import trace_quoted

__all__ = [
    "arithmetic_failed",
    "complain",
    "error_output",
    "heading",
    "output",
    "prefix",
    "prompt",
    "report",
    "report_death",
    "report_error",
    "report_syntax_error",
    "report_times",
    "trace",
    "trace_assignment",
    "trace_line",
    "warn_of_source",
    "write_failed",
]


def _traced(text: str) -> str:
    """A word as `set -x` writes it."""
    # The name of a list: it has been assigned already.
    return str(getattr(text, "name", None) or trace_quoted(text))


def error_output(shell: Interpreter, text: str) -> None:
    """Write to standard error."""
    flush_all()
    stream = shell.fds.get(2)
    if stream is not None:
        try:
            stream.write(text.encode("utf-8", "surrogateescape"))
            stream.flush()
        except OSError:
            pass


def output(shell: Interpreter, data: bytes) -> None:
    """Write to standard output; raises BrokenPipeError when there is no reader."""
    stream = shell.fds.get(1)
    if stream is None:
        raise ShellError("write error: Bad file descriptor")
    stream.write(data)


def write_failed(shell: Interpreter, error: OSError, name: str = "") -> int:
    """Tell that something could not be written, by the builtin `name` if it was one; the status.

    A file that would be larger than `ulimit -f` allows is a signal first, which ends a shell without a
    trap for it: raises `Exit`.
    """
    too_large = error.errno == errno.EFBIG
    if too_large and "XFSZ" not in shell.traps:
        shell.raise_signal(XFSZ)
    words = f"{name}: write error" if name else "write error"
    shell.complain(f"{words}: {os.strerror(error.errno or errno.EIO)}")
    if too_large:
        shell.raise_signal(XFSZ)
    return 1


def report_death(shell: Interpreter, number: int, node: Command | str | None, argv: list[str]) -> None:
    """Say that a signal has ended a command of the foreground."""
    if number in (INT, PIPE):
        return
    name = signal_text(number)
    if number == TERM or shell.interactive or SIGNALS[number] in shell.traps:
        shell.error_output(f"{name}\n")
    else:
        text = " ".join(argv) if node is None else node if isinstance(node, str) else source_of(node)
        shell.complain(f"{shell.new_process_id():5} {name:<24}{text}")


def prefix(shell: Interpreter) -> str:
    """`bash: line 3: `"""
    for frame in reversed(shell.frames):
        if frame.source:
            return f"{frame.source}: line {shell.line}: "
    return f"{shell.script or shell.name}: line {shell.line}: "


def complain(shell: Interpreter, message: str) -> None:
    """Write `bash: line N: message`."""
    shell.error_output(f"{prefix(shell)}{message}\n")


def report_error(shell: Interpreter, error: ShellError) -> None:
    """Write an error's message, unless it has been written."""
    if error.ends_posix and shell.posix and not (shell.interactive or error.reported):
        error.fatal, error.status = True, 127
    if not error.reported:
        error.reported = True
        shell.complain(error.message)


def report(shell: Interpreter, error: ShellError) -> None:
    """Write an error's message; one that ends the shell raises `Exit`."""
    shell.report_error(error)
    if isinstance(error, AbandonError):
        if shell.subshell_level or not (shell.script or shell.reads_input):
            raise Exit(1)
    elif error.fatal and shell.interactive and not shell.subshell_level:
        raise Exit(1, discards=True)
    elif error.fatal:
        exits = shell.errexit and not isinstance(error, ArithmeticSyntaxError)
        is_command = not (shell.subshell_level or exits or shell.script or shell.reads_input)
        raise Exit(error.status if is_command else 1)


def arithmetic_failed(shell: Interpreter, error: ShellError) -> None:
    """Write the error of an expression in `(( ))`; one that ends more is raised again."""
    if error.fatal or error.expanding or not isinstance(error, ArithmeticSyntaxError | ReadonlyError):
        raise error
    if isinstance(error, ArithmeticSyntaxError):
        error.message = f"((: {error.message}"
        error.ends_posix = False
    shell.report_error(error)


def report_syntax_error(shell: Interpreter, error: ShellSyntaxError, where: str = "") -> None:
    """Write a syntax error and the line it is in (bash has no message for a few)."""
    if not error.message:
        return
    head = f"{shell.script or shell.name}: {where}line {error.line}: "
    text = "".join(f"{head}{message}\n" for message in error.message.split("\n"))
    if error.source_line and "near unexpected token" in error.message:
        text += f"{head}`{error.source_line}'\n"
    shell.error_output(text)


def warn_of_source(shell: Interpreter, line: int, message: str) -> None:
    """Tell what is odd in a line of source text but no error."""
    shell.error_output(f"{shell.script or shell.name}: line {line}: warning: {message}\n")


# -- set -x ------------------------------------------------------------------------------------


def trace(shell: Interpreter, argv: list[str]) -> None:
    """`set -x` shows a command that is about to run, if there is one."""
    if shell.xtrace and argv:
        shell.trace_line(" ".join([_traced(text) for text in argv]))


def heading(shell: Interpreter, node: Command | str | None, line: int) -> bool:
    """A compound command or an iteration of a loop begins: run the DEBUG trap, which may have it skipped
    (then this is true), and show its head for `set -x`. `(( ))` and `[[ ]]` are shown when their words are
    expanded.

    Args:
        node: the command, or the part of it that `$BASH_COMMAND` shows.
        line: where it stands.
    """
    shell.line = line
    shell.node = node
    if shell.run_debug_trap():
        return True
    if shell.xtrace and isinstance(node, For | Select | Case):
        shell.trace_line(heading_of(node).rstrip())
    return False


def trace_line(shell: Interpreter, text: str) -> None:
    """One line of `set -x`."""
    prompt = shell.variables.get("PS4") or ""
    if "$" in prompt or "\\" in prompt:
        shell.xtrace = False
        try:
            prompt = shell.prompt(prompt)
        finally:
            shell.xtrace = True
    if prompt:
        prompt = prompt[0] * shell.substitution_level + prompt
    where = shell.trace_descriptor
    stream = None if where is None else shell.fds.get(where)
    if stream is None:
        shell.error_output(f"{prompt}{text}\n")
    else:
        flush_all()
        stream.write(f"{prompt}{text}\n".encode("utf-8", "surrogateescape"))
        stream.flush()


def trace_assignment(shell: Interpreter, name: str, text: str, append: bool) -> None:
    shell.trace_line(f"{name}{'+' if append else ''}={trace_quoted(text) if text else ''}")


# -- time --------------------------------------------------------------------------------------


#: A template for times up to a directive that is none, with its character.
_WRONG_TIME = re.compile(
    r"(?:[^%]|%(?:[%P]|[0-9]?l?[RUS]|\Z))*%(?![%P]|\Z)[0-9]?+(?:l(?![%P]))?+([^RUS]|\Z)", re.DOTALL
)


def report_times(shell: Interpreter, real: float, used: float, *, portable: bool) -> None:
    """What `time` prints, by TIMEFORMAT."""
    template = shell.variables.get("TIMEFORMAT")
    if portable:
        shell.error_output(f"real {real:.2f}\nuser {used:.2f}\nsys 0.00\n")
        return
    if template is None:
        template = "\nreal\t%3lR\nuser\t%3lU\nsys\t%3lS"
    if not template:
        return
    values = {"R": real, "U": used, "S": 0.0}

    wrong = _WRONG_TIME.match(template)
    if wrong is not None:
        shell.complain(f"TIMEFORMAT: `{wrong.group(1) or chr(0)}': invalid format character")
        return

    def replace(match: re.Match[str]) -> str:
        digits, long, letter = match.groups()
        if letter == "%":
            return "%"
        if letter == "P":
            return f"{100 * used / real if real else 0:.2f}"
        places = int(digits) if digits else 3
        value = values[letter]
        if long:
            minutes = int(value // 60)
            return f"{minutes}m{value - 60 * minutes:.{places}f}s"
        return f"{value:.{places}f}"

    shell.error_output(re.sub(r"%([0-3]?)(l?)([RUSP%])", replace, template) + "\n")


# -- prompts -----------------------------------------------------------------------------------


def _trimmed(directory: str, kept: int) -> str:
    """The directory with only so many of its last names, and dots for those before them."""
    root = "~" if directory.startswith("~") else ""
    names = directory.removeprefix(root).split("/")[1:]
    left_out = ("" if root else "/") + "/".join(names[:-kept])
    if len(names) <= kept or len(left_out) <= len("..."):
        return directory
    return f"{root + '/' if root else ''}.../{'/'.join(names[-kept:])}"


def prompt(shell: Interpreter, text: str) -> str:
    """A prompt string with its escapes and expansions replaced (also `${x@P}`)."""
    home = shell.variables.get("HOME") or ""
    cwd = shell.cwd
    short = "~" + cwd[len(home) :] if home and (cwd == home or cwd.startswith(home + "/")) else cwd
    kept = shell.variables.get("PROMPT_DIRTRIM") or ""
    trimmed = _trimmed(short, int(kept)) if kept.isdecimal() and int(kept) else short
    now = time.localtime()
    sign = "#" if shell.variables.get("EUID") == "0" else "$"
    fixed = {
        "a": "\a", "e": "\x1b", "n": "\n", "r": "\r", "\\": "\\", "[": "", "]": "", "$": sign,
        "u": shell.variables.get("USER") or "root", "h": HOST, "H": HOST, "s": shell.name,
        "v": "5.2", "V": "5.2.15", "w": trimmed, "W": short.rpartition("/")[2] or "/",
        "j": str(len(shell.jobs)),
        "d": time.strftime("%a %b %d", now), "t": time.strftime("%H:%M:%S", now),
        "T": time.strftime("%I:%M:%S", now), "@": time.strftime("%I:%M %p", now),
        "A": time.strftime("%H:%M", now), "l": "tty",
        "#": str(shell.command_number), "!": str(len(shell.history) + shell.history_base),
    }  # fmt: skip

    def replace(match: re.Match[str]) -> str:
        octal, form, char = match.groups()
        if octal is not None:
            code = int(octal, 8) & 0xFF
            return "" if not code else chr(code) if code < 0x80 else chr(0xDC00 + code)
        if form is not None:
            return time.strftime(form or "%X", now)
        return fixed.get(char, "\\" + char)

    text = re.sub(r"\\(?:([0-7]{3}|[0-7]{1,2}\Z)|D\{([^}]*)\}|(.))", replace, text, flags=re.DOTALL)
    if ("$" in text or "`" in text) and "promptvars" in shell.shopts:
        text = shell.expand_text(text)
    return text
