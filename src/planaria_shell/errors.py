"""The errors of scripts: what ends a command, or more, with a message."""

from __future__ import annotations

__all__ = [
    "AbandonError",
    "ArithmeticSyntaxError",
    "ReadonlyError",
    "ShellError",
    "ShellSyntaxError",
    "abandoning",
]


class ShellError(Exception):
    """An error that ends the current command with a message as the shell words it."""

    def __init__(self, message: str, *, status: int = 1, fatal: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        #: The system's number for what went wrong with a file, where that is what it is about.
        self.errno = 0
        #: Whether a script that is not interactive ends with it.
        self.fatal = fatal
        #: Whether an expansion in a redirection or an expression went wrong: more ends than with a file
        #: that cannot be opened, or an expression that is none.
        self.expanding = False
        #: Whether its message has been written: before the function, or the redirections, are left.
        self.reported = False


class AbandonError(ShellError):
    """An error that throws away all that runs, up to the next line of the script itself: functions, `eval`,
    traps and sourced files around it end, and so does the text of `bash -c`."""

    def __init__(self, message: str) -> None:
        super().__init__(message, fatal=True)
        #: Whether a builtin puts its name before the message.
        self.named = False


def abandoning(error: ShellError) -> ShellError:
    """`error` as one that abandons all that runs, unless it ends more than that."""
    return error if error.fatal else AbandonError(error.message)


class ReadonlyError(ShellError):
    """Assigning to a read-only variable."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name}: readonly variable")


class ArithmeticSyntaxError(ShellError):
    """The expression is not well formed or has no value."""


class ShellSyntaxError(Exception):
    """The source is not well formed; `incomplete` when more input could complete it."""

    def __init__(self, message: str, line: int, *, incomplete: bool = False, source_line: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.incomplete = incomplete
        #: The offending line, which bash shows on a line of its own.
        self.source_line = source_line
        #: The rest of the input is not read, as if it had ended here (bash does so after an error in `[[`).
        self.ends_input = False
        #: Only its line is discarded, and what follows is read (bash does so after an error in `name=(…)`).
        self.discards_line = False
        #: It is within `$(…)` or `<(…)`: a shell that is not interactive ends, also when `eval` reads it.
        self.in_substitution = False
