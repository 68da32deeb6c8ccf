"""Runs cells, one at a time: each to its end, or to where it has to wait for the host."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import sys
from types import CodeType, ModuleType
from typing import Any

from planaria_kernel.event_loop.asyncio_run import Execution
from planaria_kernel.event_loop.loop import HostCalls, ParkingLoop
from planaria_kernel.execution import error_reports, trampolines
from planaria_kernel.execution.cell import Cell, compile_cell, forget_cell
from planaria_kernel.execution.imports import TierImports, TierNeededError
from planaria_kernel.execution.reports import NOTHING, Report, Reports, misuse

__all__ = ["Cells"]


class Cells:
    """The cells of the namespace `main`.

    Each runs in `context`; one that is a task is a task of `loop`. A cell waits for its `calls`.
    """

    def __init__(
        self,
        main: ModuleType,
        context: contextvars.Context,
        loop: ParkingLoop,
        calls: HostCalls,
        imports: TierImports,
        reports: Reports,
    ) -> None:
        self._space = main.__dict__
        self._builtins = main.__dict__["__builtins__"]
        self._context = context
        self._run_in_context = context.run
        self._loop = loop
        self._calls = calls
        self._imports = imports
        self._reports = reports
        self._flags = 0
        self._value: Any = None
        #: The code of the cell that runs, if its value is taken.
        self._captured: CodeType | None = None
        #: To be put at `sys.displayhook`: takes the value of a cell that is a single expression.
        self.displayhook = self._take_value
        #: The cell that waits.
        self.execution: Execution | None = None

    def run(self, source: str, count: int, tier: str = "full", name: str | None = None) -> Report:
        """Run a cell; the `count`-th, unless it has a name."""
        if self.execution is not None:
            return misuse("a cell is waiting: resume or cancel it before another one is run")
        self._value = None
        self._calls.interrupted = False
        space = self._space
        if space.get("__builtins__") is not self._builtins:
            space["__builtins__"] = self._builtins
        name = name or f"<cell {count}>"
        check = self._imports.check if tier == "core" and "import" in source else None
        try:
            try:
                cell = compile_cell(source, name, self._flags, check, sys.displayhook is self.displayhook)
            except (SyntaxError, TierNeededError):
                raise
            except Exception as error:
                if not self._reports.restored_after(error):
                    raise
                cell = compile_cell(source, name, self._flags, check, sys.displayhook is self.displayhook)
        except TierNeededError as needed:
            return ("tier", needed.modules)
        except BaseException as error:
            return self._reports.error(error)
        self._flags = cell.flags
        self._captured = cell.body if cell.captures else None
        if self._reports.before_cell is not None:
            trampolines.call(self._reports.before_cell, source)
        if cell.awaits:
            return self._start(cell)
        value = None
        try:
            if cell.last is not None:
                value = trampolines.call(self._context.run, cell.run, space)
            elif cell.body is not None:
                trampolines.execute(self._run_in_context, cell.body, space)
                value = self._value
        except BaseException as error:
            return self._ended(None, error, True)
        finally:
            self._captured = None
        if cell.leaves_nothing:
            forget_cell(cell, name)
        return self._ended(value, None, cell.silent)

    def resume(self, answers: list[tuple[Any, ...]]) -> Report:
        """Go on with the cell that waits; `answers` are those to its calls."""
        for number, succeeded, value in answers:
            self._calls.answer(
                number,
                value if succeeded else None,
                None if succeeded else error_reports.exception_of(*value),
            )
        if self.execution is not None:
            return self.go_on(self.execution)
        # Answers for tasks that the cells have left running: those go on when a cell waits.
        return NOTHING if answers else misuse("no cell is waiting")

    def cancel(self, name: str, message: str) -> Report:
        """End the cell that waits with an exception."""
        if self.execution is None:
            return misuse("no cell is waiting")
        self._stop(self.execution, error_reports.exception_of(name, message))
        return self.go_on(self.execution)

    def abandon(self) -> None:
        """Forget the cell that waits: what it waits for cannot be reported."""
        if self.execution is not None:
            self.execution.future.cancel()
            self.execution = None

    def go_on(self, execution: Execution) -> Report:
        """Run a cell until it ends or has to wait."""
        while True:
            report = self._run_loop(execution)
            if report is not None:
                return report
            if execution.coroutine is None:
                # What tasks called that the cell leaves running is called now, not when another cell waits.
                if execution.cancelled is None and self._calls.new:
                    return self._waiting(0.0)
                return self._finish(execution)
            if execution.cancelled is not None and not execution.future.cancelled():
                execution.cancelled = None  # the user's code would not have it
            report = self._drive(execution)
            if report is not None:
                return report

    def _take_value(self, value: Any) -> None:
        if sys._getframe(1).f_code is self._captured:
            self._value = value
        else:  # of code that the cell has compiled, as `code.InteractiveInterpreter` does
            sys.__displayhook__(value)

    async def _run_awaiting(self, cell: Cell) -> Any:
        space = self._space
        value = None
        for code in (cell.body, cell.last):
            if code is not None:
                value = eval(code, space)
                if code.co_flags & inspect.CO_COROUTINE:
                    value = await value
        self._captured = None
        return self._value if cell.captures else value

    def _start(self, cell: Cell) -> Report:
        """Begin a cell that may park."""
        coroutine = self._run_awaiting(cell)
        if cell.parks:
            self.execution = execution = Execution(coroutine, cell.silent)
            return self._drive(execution) or self.go_on(execution)
        self.execution = execution = Execution(None, cell.silent)
        execution.loop = self._loop
        execution.future = self._loop.create_task(coroutine, context=self._context)
        return self.go_on(execution)

    def _drive(self, execution: Execution) -> Report | None:
        """Run a cell that is not a task until it ends, or parks in a loop (None)."""
        assert execution.coroutine is not None
        error, execution.cancelled = execution.cancelled, None
        try:
            if error is None:
                park = trampolines.call(self._context.run, execution.coroutine.send, None)
            else:
                park = trampolines.call(self._context.run, execution.coroutine.throw, error)
        except StopIteration as stop:
            self.execution = None
            return self._ended(stop.value, None, execution.silent)
        except BaseException as failure:
            self.execution = None
            return self._ended(None, failure, True)
        execution.loop, execution.future = park.loop, park.future
        return self._waiting(0.0) if park.sends_calls else None

    def _run_loop(self, execution: Execution) -> Report | None:
        """Run the loop that the cell waits in until what it waits for is done (None), or nothing is ready."""
        loop, future = execution.loop, execution.future
        while True:
            try:
                if trampolines.advance(loop, future):
                    return None
            except KeyboardInterrupt as interrupt:
                # Either the cell's own task (which is done then), or one that runs beside it.
                if not future.done():
                    self._stop(execution, interrupt)
                continue
            except BaseException as error:
                if not future.done() and not self._reports.restored_after(error):
                    loop.call_exception_handler({"message": "a task wanted to end all", "exception": error})
                continue
            idle = self._reports.idle
            if idle is not None and len(idle.threads) + len(idle.maps) > 0 and self._idled(execution):
                continue
            calls = self._calls.take_new()
            here, timer = loop.lasting(loop.next_timer())
            if here:
                trampolines.wait(loop, timer)
                continue
            if timer is not None or calls or self._calls.any_of(loop):
                return ("waiting", calls, timer, self._calls.take_given_up())
            never = "waiting forever: no task can go on, no timer is set and no host call is open"
            self._stop(execution, RuntimeError(never))

    def _waiting(self, seconds: float | None) -> Report:
        """The report of a cell that waits for so many seconds at most, with the calls that it has made."""
        return ("waiting", self._calls.take_new(), seconds, self._calls.take_given_up())

    def _finish(self, execution: Execution) -> Report:
        """The report of a cell that was a task, and is done."""
        self.execution = None
        try:
            value = execution.future.result()
        except asyncio.CancelledError as error:
            if execution.cancelled is None:
                return self._ended(None, error, True)
            return self._ended(None, execution.cancelled.with_traceback(error.__traceback__), True)
        except BaseException as error:
            return self._ended(None, error, True)
        return self._ended(value, None, execution.silent)

    def _ended(self, value: Any, error: BaseException | None, silent: bool) -> Report:
        self._value = None
        return self._reports.ended(value, error, silent)

    def _idled(self, execution: Execution) -> bool:
        """Whether queued threads have run; what they could not help raising ends the cell."""
        assert self._reports.idle is not None
        try:
            return bool(trampolines.call(self._reports.idle.run))
        except BaseException as error:
            self._stop(execution, error)
            return True

    def _stop(self, execution: Execution, error: BaseException) -> None:
        """Cancel what a cell waits for; when it ends by that, it ends with `error`."""
        execution.cancelled = error
        execution.future.cancel()
