"""The errors of scripts: what ends a command, or more, with a message."""

from __future__ import annotations

__all__ = [
    "AbandonError",
    "ArithmeticSyntaxError",
    "BadSubscriptError",
    "BadSubstitutionError",
    "NegativeLengthError",
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
        #: Whether it is an error of an expansion or an assignment, by which a shell ends in POSIX mode that
        #: is not interactive.
        self.ends_posix = False
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
    """`error` as one that abandons all that runs, unless it ends more than that, or is one of an expansion
    within the expression."""
    return error if error.fatal or error.expanding else AbandonError(error.message)


class ReadonlyError(ShellError):
    """Assigning to a read-only variable."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name}: readonly variable")
        self.ends_posix = True


class ArithmeticSyntaxError(ShellError):
    """The expression is not well formed or has no value. It is one of an expansion until `(( ))` or what else
    reads expressions has taken it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.ends_posix = True


class BadSubstitutionError(ShellError):
    """An expansion that is none."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text}: bad substitution")
        self.ends_posix = True


class NegativeLengthError(ArithmeticSyntaxError):
    """The end of a substring is before its beginning."""

    def __init__(self, expression: str) -> None:
        super().__init__(f"{expression}: substring expression < 0")
        self.ends_posix = False


class BadSubscriptError(ShellError):
    """Assigning to an element that cannot be."""

    def __init__(self, element: str) -> None:
        super().__init__(f"{element}: bad array subscript")
        self.ends_posix = True


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
