"""What the kernel reports when a cell ends: its value, or the error that it raised.

Making a report runs user code (a `__repr__`, a figure's renderer), which may have damaged what that needs:
then the interpreter is restored and the report made once more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import CORO_CREATED, getcoroutinestate
from types import CoroutineType
from typing import Any, Final

from planaria_kernel.execution import error_reports, names, trampolines
from planaria_kernel.execution.display import Display
from planaria_kernel.execution.idle import Idle
from planaria_kernel.protocol import MAX_BYTES

__all__ = ["NOTHING", "Report", "Reports", "misuse"]


def _least_references() -> int:
    """How many `sys.getrefcount` finds of what only a variable of the calling function has."""
    value = object()
    return sys.getrefcount(value)


_NOWHERE: Final = _least_references()

#: A word that says what happened ("done", "error", "waiting", "answer", …), and what belongs to it.
Report = tuple[Any, ...]

NOTHING: Report = ("done", {})


def misuse(message: str) -> Report:
    """The report of a command that the host may not give now."""
    return ("error", error_reports.bare("RuntimeError", message))


class Reports:
    """Makes the reports of cells in the namespace `space`.

    `restore` puts back what code has damaged, and returns the names of what had to be. `idle` is done
    when a cell ends.
    """

    def __init__(
        self,
        space: dict[str, Any],
        display: Display,
        restore: Callable[[], list[str]],
        idle: Idle | None,
    ) -> None:
        self._space = space
        self._display = display
        self._restore = restore
        #: Bytes of the value of a cell, a larger one arrives as a Repr; and of the arguments of a host call.
        self.max_value = MAX_BYTES
        #: The `id` of the last value that was a coroutine.
        self._coroutine: int | None = None
        #: Whether a TypeError may come of a workspace's function that was not awaited.
        self.has_workspace = False
        self.idle = idle
        #: Called with the source of a cell that begins, and with the value of one that ended and whether it
        #: succeeded.
        self.before_cell: Callable[[str], None] | None = None
        self.after_cell: Callable[[Any, bool], None] | None = None

    def ended(self, value: Any, error: BaseException | None, silent: bool) -> Report:
        """The report of a cell that has ended; its value is shown first, then the figures that it left
        open.
        """
        report = NOTHING
        try:
            try:
                report = self._shown(value if error is None and not silent else None, error is None)
            except Exception as failure:
                if not self.restored_after(failure):
                    raise
                report = self._shown(value if error is None and not silent else None, error is None)
        except BaseException as failure:
            error = error or failure
        return report if error is None else self.error(error)

    def _shown(self, value: Any, succeeded: bool) -> Report:
        report = NOTHING
        if value is not None:
            self._keep(value)
            report = ("done", trampolines.call(self._describe, value))
        idle = self.idle
        if succeeded and idle is not None and len(idle.threads) + len(idle.maps) > 0:
            trampolines.call(idle.run)
        if self.after_cell is not None:
            trampolines.call(self.after_cell, value, succeeded)
        if self._display.pending():
            trampolines.call(self._display.flush)
        return report

    def _keep(self, value: Any) -> None:
        """Bind the value to `_`. A coroutine that is nowhere else any more is closed: it was reported when it
        was the value, and Python would do so again, in the middle of another cell.
        """
        old, self._space["_"] = self._space.get("_"), value
        if type(old) is CoroutineType and id(old) == self._coroutine and sys.getrefcount(old) <= _NOWHERE:
            trampolines.call(old.close)

    def _describe(self, value: Any) -> dict[str, Any]:
        """A value as a report has it: encoded, as text, and shown when it has more than a text."""
        if type(value) is CoroutineType and getcoroutinestate(value) == CORO_CREATED:
            self._coroutine = id(value)
            print(
                f"RuntimeWarning: the value is the coroutine {value.__qualname__!r}, which was not awaited: "
                "write await before the call",
                file=sys.stderr,
            )
        data = names.encoded(value, self.max_value)
        self._display.result(value)
        return {"value": data, "repr": names.short_repr(value)}

    def error(self, error: BaseException) -> Report:
        """The report of an error that a cell has raised."""
        try:
            if self.has_workspace:
                error_reports.explain_awaiting(error)
            if type(error) is OverflowError:
                error_reports.explain_size(error)
            if isinstance(error, SystemExit) and not issubclass(type(error.code), (int, type(None))):
                trampolines.call(lambda: print(error.code, file=sys.stderr))
            return ("error", trampolines.call(error_reports.describe, error, self._restore))
        except BaseException:
            if self._restore():
                return self.error(error)
            kind = type(error)
            return ("error", error_reports.bare(names.name_of(kind), module=names.module_of(kind)))

    def restored_after(self, error: BaseException) -> bool:
        """Whether an error of the kernel's own came of damage, which is repaired now."""
        return error_reports.line_number(error) is None and bool(self._restore())
