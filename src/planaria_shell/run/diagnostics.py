"""What the shell tells: errors, `set -x` and times."""

# mypy: disable-error-code="misc"
# The methods here are a part of `Shell` and are only ever called on one, which is what `self: Shell` says.

from __future__ import annotations

import errno
import os
import re
import time
from typing import TYPE_CHECKING

from planaria_shell.run.control import Exit
from planaria_shell.run.special_variables import HOST
from planaria_shell.run.streams import flush_all
from planaria_shell.run.traps import XFSZ
from planaria_shell.run.variable import AbandonError, ReadonlyError, ShellError
from planaria_shell.syntax.arithmetic_parser import ArithmeticSyntaxError
from planaria_shell.syntax.lexer import ShellSyntaxError
from planaria_shell.syntax.nodes import Case, Command, For, Select
from planaria_shell.syntax.quoting import trace_quoted

if TYPE_CHECKING:
    from planaria_shell.run.shell import Shell

__all__ = ["Diagnostics"]


def _traced(text: str) -> str:
    """A word as `set -x` writes it."""
    # The name of a list: it has been assigned already.
    return str(getattr(text, "name", None) or trace_quoted(text))


class Diagnostics:
    """Messages on standard error, worded and placed as bash does."""

    def error_output(self: Shell, text: str) -> None:
        """Write to standard error."""
        flush_all()
        stream = self.fds.get(2)
        if stream is not None:
            try:
                stream.write(text.encode("utf-8", "surrogateescape"))
                stream.flush()
            except OSError:
                pass

    def output(self: Shell, data: bytes) -> None:
        """Write to standard output; raises BrokenPipeError when nobody reads it."""
        stream = self.fds.get(1)
        if stream is None:
            raise ShellError("write error: Bad file descriptor")
        stream.write(data)

    def write_failed(self: Shell, error: OSError, name: str = "") -> int:
        """Tell that something could not be written, by the builtin `name` if it was one; the status.

        A file that would be larger than `ulimit -f` allows is a signal first, which ends a shell without a
        trap for it: raises `Exit`.
        """
        too_large = error.errno == errno.EFBIG
        if too_large and "XFSZ" not in self.traps:
            self.raise_signal(XFSZ)
        words = f"{name}: write error" if name else "write error"
        self.complain(f"{words}: {os.strerror(error.errno or errno.EIO)}")
        if too_large:
            self.raise_signal(XFSZ)
        return 1

    def prefix(self: Shell) -> str:
        """`bash: line 3: `"""
        for frame in reversed(self.frames):
            if frame.source:
                return f"{frame.source}: line {self.line}: "
        return f"{self.script or self.name}: line {self.line}: "

    def complain(self: Shell, message: str) -> None:
        """Write `bash: line N: message`."""
        self.error_output(f"{self.prefix()}{message}\n")

    def tell(self: Shell, error: ShellError) -> None:
        """Write an error's message, unless it has been written."""
        if not error.told:
            error.told = True
            self.complain(error.message)

    def report(self: Shell, error: ShellError) -> None:
        """Write an error's message; one that ends the shell raises `Exit`."""
        self.tell(error)
        if isinstance(error, AbandonError):
            if not self.script or self.subshell_level:
                raise Exit(1)
        elif error.fatal:
            raise Exit(1 if self.subshell_level or self.errexit or self.script else error.status)

    def arithmetic_failed(self: Shell, error: ShellError) -> None:
        """Write the error of an expression in `(( ))`; one that ends more is raised again."""
        if error.fatal or error.expanding or not isinstance(error, ArithmeticSyntaxError | ReadonlyError):
            raise error
        if isinstance(error, ArithmeticSyntaxError):
            error.message = f"((: {error.message}"
        self.report(error)

    def report_syntax_error(self: Shell, error: ShellSyntaxError, where: str = "") -> None:
        """Write a syntax error and the line it is in (bash has no message for a few)."""
        if not error.message:
            return
        head = f"{self.script or self.name}: {where}line {error.line}: "
        text = "".join(f"{head}{message}\n" for message in error.message.split("\n"))
        if error.source_line and "near unexpected token" in error.message:
            text += f"{head}`{error.source_line}'\n"
        self.error_output(text)

    def warn_of_source(self: Shell, line: int, message: str) -> None:
        """Tell what is odd in a line of source text but no error."""
        self.error_output(f"{self.script or self.name}: line {line}: warning: {message}\n")

    # -- set -x ------------------------------------------------------------------------------------

    def trace(self: Shell, argv: list[str]) -> None:
        """`set -x` shows a command that is about to run, if there is one."""
        if self.xtrace and argv:
            self.trace_line(" ".join([_traced(text) for text in argv]))

    def heading(self: Shell, node: Command | str | None, line: int) -> bool:
        """A command that is no simple one begins, or one round of it: the DEBUG trap, which may tell to leave
        it out (then this is true), and what `set -x` shows of its head. `(( ))` and `[[ ]]` are shown when
        their words are expanded.

        Args:
            node: the command, or the part of it that `$BASH_COMMAND` shows.
            line: where it stands.
        """
        self.line = line
        self.node = node
        if self.run_debug_trap():
            return True
        if self.xtrace and isinstance(node, For | Select | Case):
            from planaria_shell.syntax.printing import heading_of

            self.trace_line(heading_of(node).rstrip())
        return False

    def trace_line(self: Shell, text: str) -> None:
        """One line of `set -x`."""
        prompt = self.variables.get("PS4") or ""
        if "$" in prompt or "\\" in prompt:
            self.xtrace = False
            try:
                prompt = self.prompt(prompt)
            finally:
                self.xtrace = True
        if prompt:
            prompt = prompt[0] * self.subshell_level_traced() + prompt
        where = self.variables.get("BASH_XTRACEFD")
        stream = self.fds.get(int(where)) if where and where.isdecimal() else None
        if stream is None:
            self.error_output(f"{prompt}{text}\n")
        else:
            flush_all()
            stream.write(f"{prompt}{text}\n".encode("utf-8", "surrogateescape"))
            stream.flush()

    def subshell_level_traced(self: Shell) -> int:
        """How often the first character of PS4 is repeated: once for each substitution around."""
        return self.substitution_level

    def trace_assignment(self: Shell, name: str, text: str, append: bool) -> None:
        self.trace_line(f"{name}{'+' if append else ''}={trace_quoted(text) if text else ''}")

    # -- time --------------------------------------------------------------------------------------

    def report_times(self: Shell, real: float, used: float, *, portable: bool) -> None:
        """What `time` prints, by TIMEFORMAT."""
        template = self.variables.get("TIMEFORMAT")
        if portable:
            self.error_output(f"real {real:.2f}\nuser {used:.2f}\nsys 0.00\n")
            return
        if template is None:
            template = "\nreal\t%3lR\nuser\t%3lU\nsys\t%3lS"
        if not template:
            return
        values = {"R": real, "U": used, "S": 0.0}

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

        self.error_output(re.sub(r"%([0-3]?)(l?)([RUSP%])", replace, template) + "\n")

    # -- prompts -----------------------------------------------------------------------------------

    def prompt(self: Shell, text: str) -> str:
        """A prompt string with its escapes and expansions replaced (also `${x@P}`)."""
        home = self.variables.get("HOME") or ""
        cwd = self.cwd
        short = "~" + cwd[len(home) :] if home and (cwd == home or cwd.startswith(home + "/")) else cwd
        now = time.localtime()
        sign = "#" if self.variables.get("EUID") == "0" else "$"
        fixed = {
            "a": "\a", "e": "\x1b", "n": "\n", "r": "\r", "\\": "\\", "[": "", "]": "", "$": sign,
            "u": self.variables.get("USER") or "root", "h": HOST, "H": HOST, "s": self.name,
            "v": "5.2", "V": "5.2.15", "w": short, "W": short.rpartition("/")[2] or "/",
            "j": str(len(self.jobs)),
            "d": time.strftime("%a %b %d", now), "t": time.strftime("%H:%M:%S", now),
            "T": time.strftime("%I:%M:%S", now), "@": time.strftime("%I:%M %p", now),
            "A": time.strftime("%H:%M", now), "#": "1", "!": "1", "l": "tty",
        }  # fmt: skip

        def replace(match: re.Match[str]) -> str:
            octal, form, char = match.groups()
            if octal is not None:
                return chr(int(octal, 8))
            if form is not None:
                return time.strftime(form or "%X", now)
            return fixed.get(char, "\\" + char)

        text = re.sub(r"\\(?:([0-7]{3})|D\{([^}]*)\}|(.))", replace, text, flags=re.DOTALL)
        if "$" in text or "`" in text:
            text = self.expand_text(text)
        return text
