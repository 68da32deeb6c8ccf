"""What leaves a command other than by its status: `break`, `continue`, `return`, `exit`, and limits."""

from __future__ import annotations

__all__ = ["BROKEN_PIPE", "Break", "Continue", "Exit", "LimitReachedError", "Return"]

#: The status of a command that wrote into a pipe without readers: what SIGPIPE gives.
BROKEN_PIPE = 141


class _Control(Exception):
    """Not an error: a jump."""


class Break(_Control):
    """`break N`: leave N loops."""

    def __init__(self, count: int, *, status: int = 0) -> None:
        super().__init__(count)
        self.count = count
        #: Its status, which a `!` on the way inverts.
        self.status = status


class Continue(_Control):
    """`continue N`: go on with the next round of the N-th loop around."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count
        #: As of a `Break`.
        self.status = 0


class Return(_Control):
    """`return`: leave a function or a sourced script."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Exit(_Control):
    """`exit`, or an error that ends the shell."""

    def __init__(self, status: int, *, asked: bool = False) -> None:
        super().__init__(status)
        self.status = status
        #: By the builtin `exit` (or `logout`), at which an interactive shell ends, too.
        self.asked = asked


class LimitReachedError(Exception):
    """A limit of the shell was reached; `limit` is its name in `Limits`."""

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit
        self.message = message
