"""What leaves a command other than by its status: `break`, `continue`, `return`, `exit`, and limits."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["BROKEN_PIPE", "Break", "Continue", "Exit", "LimitReachedError", "LoopJump", "Return"]

#: The status of a command that wrote into a pipe without readers: what SIGPIPE gives.
BROKEN_PIPE = 141


class _Control(Exception):
    """Not an error: a jump."""


class LoopJump(_Control):
    """`break N` or `continue N`: a jump out of N - 1 loops, and out of the body of the next."""

    #: Whether the loop that it is for ends.
    ends_loop: ClassVar[bool]

    def __init__(self, count: int, *, status: int = 0) -> None:
        super().__init__(count)
        self.count = count
        #: The status of the loop, which a `!` on the way inverts.
        self.status = status

    def is_for_outer_loop(self, loops: int) -> bool:
        """Called in a loop that is inside `loops` - 1 others: whether the jump goes further out. If so, it
        has one loop less to leave."""
        if self.count > 1 and loops > 1:
            self.count -= 1
            return True
        return False


class Break(LoopJump):
    """`break N`: leave N loops."""

    ends_loop = True


class Continue(LoopJump):
    """`continue N`: start the next iteration of the N-th loop around."""

    ends_loop = False


class Return(_Control):
    """`return`: leave a function or a sourced script."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Exit(_Control):
    """`exit`, or an error that ends the shell."""

    def __init__(self, status: int, *, asked: bool = False, discards: bool = False, signal: int = 0) -> None:
        super().__init__(status)
        self.status = status
        #: The signal that ends it, if one does.
        self.signal = signal
        #: Whether an interactive shell discards only its last command.
        self.discards = discards
        #: By the builtin `exit` (or `logout`), at which an interactive shell ends, too.
        self.asked = asked


class LimitReachedError(Exception):
    """A limit of the shell was reached; `limit` is its name in `Limits`."""

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit
        self.message = message
