"""Stopping at a line of an execution that is done again: in a copy of the session, which is discarded.

Before the execution the kernel of the copy begins to count the lines that it is about to execute
(sys.monitoring, PEP 669), in order to describe one of them when it gets there. What is counted is the same
each time, so that a line is found again by its number, also the one before.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Final

from planaria.errors import ExecutionError, ReplayError
from planaria.executors.executor import Executor
from planaria.executors.messages import Answered, Query
from planaria.limits import Guard, Stopped
from planaria.session.result import Result
from planaria_kernel.protocol import Budget, decode

__all__ = ["Line", "LineQuery", "line_found", "look_for"]

#: Seconds that the kernel has to prepare, and to answer.
_PATIENCE: Final = 60.0
#: Bytes that a decoded value may take.
_MOST: Final = 1 << 30
_WATCH: Final = '''
import sys
from planaria_kernel.execution.names import short_repr, stand_in
from planaria_kernel.protocol import encode

monitoring = sys.monitoring
LINE = monitoring.events.LINE


def watch(own, first, name, line, code, begun):
    """Describe the first line from number `first` on that is `line` of the cell `name`, any line if None.

    `own` is the name of the cell that will be executed, of which so many lines were `begun` already; lines of
    other files than cells are not counted.
    """
    tool = next(one for one in range(6) if monitoring.get_tool(one) is None)
    number = begun - 1

    def reach(executed, at):
        nonlocal number
        place = executed.co_filename
        if place != own and not place.startswith("<cell "):
            return monitoring.DISABLE
        number += 1
        if number >= first and (line is None or (at == line and place == name)):
            monitoring.set_events(tool, 0)
            reach.found = [place, at, executed.co_qualname, number, *value(sys._getframe(1), code)]

    reach.found = None
    reach.begun = lambda: number + 1
    monitoring.use_tool_id(tool, "planaria replay")
    monitoring.register_callback(tool, LINE, reach)
    monitoring.set_events(tool, LINE)
    return tool


def value(frame, code):
    """What code gives in a frame: whether it raised, and its value and repr, or type and message."""
    if code is None:
        return False, None
    names = frame.f_locals
    try:
        value = eval(code, frame.f_globals, names if names is frame.f_globals else dict(names))
        return False, None if value is None else (encode(value, stand_in), short_repr(value, 2000))
    except BaseException as error:
        return True, (type(error).__name__, str(error))


def found(tool):
    monitoring.set_events(tool, 0)
    reach = monitoring.register_callback(tool, LINE, None)
    return reach.found, reach.begun()
'''


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is about to be executed."""

    cell: str
    """The name of the cell that it is of, as tracebacks have it."""
    line: int
    """Counted from 1 within the cell."""
    function: str
    """The qualified name of the function that it is in, or <module>."""
    number: int
    """How many lines of cells the execution has begun before this one."""


@dataclass(frozen=True, slots=True)
class LineQuery:
    """The first line from number `first` on that is `line` of the cell `cell`, or any if that is None."""

    first: int
    cell: str = ""
    line: int | None = None
    code: str | None = None
    """An expression to evaluate there."""


def look_for(executor: Executor, own: str, query: LineQuery, begun: int = 0) -> int:
    """Make a kernel that is about to execute the cell `own`, of which it has `begun` so many lines, look for
    a line; a number for `line_found`.
    """
    arguments = (own, query.first, query.cell, query.line, query.code, begun)
    tool = _evaluated(executor, f"space['watch'](*{arguments!r})")
    if type(tool) is not int:
        raise ReplayError(f"lines cannot be counted here: {tool!r}")
    return tool


def line_found(executor: Executor, tool: int) -> tuple[tuple[Line, Result] | None, int]:
    """The line and what the code gave there, None when the execution did not get to it; and how many lines
    it has begun. It looks for no more.
    """
    match _evaluated(executor, f"space['found']({tool})"):
        case (None, int(begun)):
            return None, begun
        case (
            [str(cell), int(line), str(function), int(number), True, (str(kind), str(message))],
            int(begun),
        ):
            error = ExecutionError(message, type=kind)
            return (Line(cell, line, function, number), Result(error=error)), begun
        case [str(cell), int(line), str(function), int(number), False, None], int(begun):
            return (Line(cell, line, function, number), Result()), begun
        case (
            [str(cell), int(line), str(function), int(number), False, (bytes(value), str(shown))],
            int(begun),
        ):
            result = Result(value=decode(value, Budget(memory=_MOST)), repr=shown)
            return (Line(cell, line, function, number), result), begun
    raise ReplayError("the kernel of a copy answered something else than a line")


def _evaluated(executor: Executor, call: str) -> Any:
    expression = f"(lambda space: (exec({_WATCH!r}, space), {call})[1])({{}})"
    guard = Guard(deadline=time.monotonic() + _PATIENCE)
    try:
        report = executor.enter(Query("evaluate", (expression,)), guard).report
    except Stopped as stopped:
        raise ReplayError(f"the kernel of a copy crashed ({stopped})") from stopped
    if not isinstance(report, Answered):
        raise ReplayError(f"lines cannot be counted here: {report!r}")
    return report.value
