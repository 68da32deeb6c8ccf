"""The kernel: takes one command from the host, does it, and reports.

The host enters by calling `Kernel.enter`, which asks the host for the command and sends exactly one report
back. User code, and everything that may run user code (a `__repr__`, a finaliser), is called through a
trampoline (see execution/trampolines.py). `Kernel.on_interrupt`, the handler of SIGINT, raises
KeyboardInterrupt only below a trampoline, so an interrupt can arrive at any line without losing the report.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import sys
from collections.abc import Callable, Coroutine
from functools import lru_cache, partial
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from planaria_kernel.errors import EncodeError
from planaria_kernel.event_loop.asyncio_run import Execution, Runs
from planaria_kernel.event_loop.loop import HostCalls, Loop, ParkingLoop
from planaria_kernel.execution import completion, display, error_reports, imports, names, trampolines
from planaria_kernel.execution.callbacks import Callbacks
from planaria_kernel.execution.cell import RUN_NAME, Cell, compile_cell
from planaria_kernel.execution.interpreter_state import InterpreterState
from planaria_kernel.execution.interrupted_imports import import_again, interrupted_modules
from planaria_kernel.execution.magic_syntax import MAGICS
from planaria_kernel.namespaces.namespaces import namespaces
from planaria_kernel.protocol import MAX_BYTES, decode, encode

if TYPE_CHECKING:
    from planaria_kernel.notebook.interactive_shell import InteractiveShell

__all__ = ["Kernel"]

#: The name by which a front end's messages for comms reach the kernel.
COMM_NAME = "__planaria_comm__"

CallHost = Callable[[bytes], bytes]
Report = tuple[Any, ...]

_NOTHING: Report = ("done", {})
_DONE = encode(_NOTHING)


@lru_cache(maxsize=256)
def _exited(status: int) -> bytes:
    """The report of a script, which most often ends with the same status as the one before."""
    return encode(("done", {"exit_code": status}))


class Kernel:
    """Runs cells in `main` (by default a fresh `__main__`, which the caller puts into `sys.modules`).

    `flush` writes out what the standard streams hold back; it is called before every report.
    """

    def __init__(
        self,
        call_host: CallHost,
        *,
        main: ModuleType | None = None,
        flush: Callable[[], None] | None = None,
        loop_type: type[ParkingLoop] = Loop,
    ) -> None:
        self.main = names.new_main() if main is None else main
        self._builtins = self.main.__dict__["__builtins__"]
        self._call_host = call_host
        self._flush = flush
        self._flags = 0
        self._value: Any = None
        #: Bytes of the value of a cell, a larger one arrives as a Repr; and of the arguments of a host call.
        self._max_value = MAX_BYTES
        #: To be put at `sys.displayhook`: takes the value of a cell that is a single expression.
        self.displayhook = self._take_value
        self._execution: Execution | None = None
        #: The modules that KeyboardInterrupt was raised in while the present command imported them.
        self._interrupted: dict[str, ModuleType] = {}
        self._interpreter: InterpreterState | None = None
        self._context = contextvars.copy_context()
        self._calls = HostCalls(self.call_blocking)
        self._loop_type = loop_type
        self.loop = self.new_loop()
        self._runs = Runs(self.loop, self.new_loop)
        self._callbacks = Callbacks(self._calls.make, self.call_blocking)
        self.display = display.Display(self._send_output)
        self.imports = imports.TierImports(call_host)
        #: Names that cells find without having defined them; the caller puts them into `builtins`.
        self.names: dict[str, Any] = {}
        #: Those of them that are a workspace's.
        self._workspace: dict[str, Any] = {}
        self._shell: InteractiveShell | None = None
        #: Called with the settings of a "configure" command that are not the kernel's own.
        self.configure: Callable[[dict[str, Any]], None] | None = None
        #: Called when a cell has nothing to do or ends: runs queued threads, and says whether there were any.
        self.idle: Callable[[], bool] | None = None
        #: Called with the names that come and go when host functions are declared.
        self.publish: Callable[[dict[str, Any], dict[str, Any]], None] | None = None
        self._callbacks.declare([])
        self._new_names()
        self._commands: dict[str, Callable[..., Report]] = {
            "run": self._run,
            "resume": self._resume,
            "cancel": self._cancel,
            "clear": self._clear,
            "configure": self._configure,
            "begin": self._begin,
            "complete": self._complete,
            "names": self._user_names,
            "evaluate": self._evaluate,
            "inspect": self._inspect,
            "is_complete": self._is_complete,
            "mime_bundle": self._mime_bundle,
            "refuse": self._refuse_command,
        }

    # -- entry ---------------------------------------------------------------------------------------

    def enter(self) -> None:
        """Do one command and report. Never raises."""
        try:
            self._enter()
        except BaseException as error:
            # Not even a report could be made: code has damaged what the kernel needs.
            restored = self._restore()
            if not restored:
                raise
            self._report(self._damaged(error, restored))

    def _enter(self) -> None:
        try:
            try:
                command = decode(self._call_host(b"N"))
            except MemoryError:
                command = ("refuse",)
            report = self._commands[command[0]](*command[1:])
        except BaseException as error:
            report = self._own_error(error)
        if self._interrupted:
            import_again(self._interrupted)
            self._interrupted = {}
        calls = self._calls
        if (calls.open or calls.given_up) and report[0] in ("done", "error") and calls.any_given_up():
            report = (report[0], {**report[1], "given_up": calls.take_given_up()})
        self._report(report)

    def keep_interpreter(self) -> None:
        """Take the modules as they are now for what is restored when code has damaged them."""
        self._interpreter = InterpreterState(without=("planaria_shell.commands.",))

    def _restore(self) -> list[str]:
        """Put back what the kernel needs of the interpreter; the names of what had to be."""
        if self._interpreter is None:
            return []
        restored = self._interpreter.restore(self.names)
        if restored and self.publish is not None:
            self.publish({}, self.names)
        return restored

    def _restored_after(self, error: BaseException) -> bool:
        """Whether an error of the kernel's own came of damage, which is repaired now."""
        return error_reports.line_number(error) is None and bool(self._restore())

    def _own_error(self, error: BaseException) -> Report:
        """The report of an error that no cell has raised."""
        if isinstance(error, Exception) and error_reports.line_number(error) is None:
            restored = self._restore()
            if restored:
                return self._damaged(error, restored)
        return self._error(error)

    def _damaged(self, error: BaseException, restored: list[str]) -> Report:
        self._execution = None
        shown = ", ".join(restored[:5]) + (f" and {len(restored) - 5} more" if len(restored) > 5 else "")
        message = (
            f"the code replaced what the kernel needs ({shown}), so this execution has no result: "
            f"{type(error).__name__}: {error}. It is restored."
        )
        return ("error", error_reports.bare("RuntimeError", message))

    def _report(self, report: Report) -> None:
        try:
            data = self._encode(report)
        except BaseException as error:
            # Out of memory, or output that cannot be written: what happened must still be reported.
            if report[0] == "waiting" and self._execution is not None:
                self._execution.future.cancel()
                self._execution = None
            kept = report[1] if report[0] == "error" else {}
            fields = error_reports.bare(type(error).__name__, f"while reporting: {error}")
            fields.update((key, kept[key]) for key in ("type", "module", "lineno") if key in kept)
            if isinstance(error, OSError):
                fields["message"] = (
                    f"standard output cannot be written, undo() or reset() restores it: {error}"
                )
            data = encode(("error", fields))
        self._call_host(b"R" + data)

    def _encode(self, report: Report) -> bytes:
        while True:
            if self._flush is not None:
                self._flush()
            if report is _NOTHING:
                return _DONE
            if report[0] == "done" and len(report[1]) == 1 and type(report[1].get("exit_code")) is int:
                return _exited(report[1]["exit_code"])
            try:
                if report[0] == "waiting":
                    return encode(report, names.stand_in, max_bytes=self._max_value)
                return encode(report, names.stand_in)
            except EncodeError as error:
                if report[0] != "waiting":
                    raise
                self._calls.given_up[:0] = report[3]
                report = self._refuse(report[1], error)

    def _refuse(self, calls: list[Any], reason: EncodeError) -> Report:
        """Answer the host calls whose arguments cannot be sent with the reason; the cell goes on."""
        refused = False
        for call in calls:
            try:
                encode(call, names.stand_in, max_bytes=self._max_value)
            except EncodeError as error:
                self._calls.answer(call[0], None, error)
                refused = True
            else:
                self._calls.new[call[0]] = None
        if not refused:  # each fits by itself, together they are too many
            self._calls.answer(self._calls.new.popitem()[0], None, reason)
        assert self._execution is not None
        return self._go_on(self._execution)

    def on_interrupt(self, signum: int, frame: FrameType | None) -> None:
        """The handler of SIGINT: raises KeyboardInterrupt when user code runs.

        Within the machinery of a loop it leaves that to the loop, and elsewhere it reports to the host that
        nothing was raised: either the cell is over, or the host tries again and finds user code.
        """
        match trampolines.place_of(frame):
            case "user":
                self._interrupted |= interrupted_modules(frame)
                raise KeyboardInterrupt
            case "loop":
                self.interrupt_loop()
            case "kernel":
                self._call_host(b"K")

    def interrupt_loop(self) -> None:
        """Have the loop that runs raise KeyboardInterrupt when its machinery is in order."""
        self._calls.interrupted = True

    # -- running -------------------------------------------------------------------------------------

    def _run(self, source: str, count: int, tier: str = "full", name: str | None = None) -> Report:
        if self._execution is not None:
            return self._misuse("a cell is waiting: resume or cancel it before another one is run")
        self._value = None
        self._calls.interrupted = False
        space = self.main.__dict__
        if space.get("__builtins__") is not self._builtins:
            space["__builtins__"] = self._builtins
        name = name or f"<cell {count}>"
        check = self.imports.check if tier == "core" and "import" in source else None
        try:
            try:
                cell = compile_cell(source, name, self._flags, check, sys.displayhook is self.displayhook)
            except (SyntaxError, imports.TierNeededError):
                raise
            except Exception as error:
                if not self._restored_after(error):
                    raise
                cell = compile_cell(source, name, self._flags, check, sys.displayhook is self.displayhook)
        except imports.TierNeededError as needed:
            return ("tier", needed.modules)
        except BaseException as error:
            return self._error(error)
        self._flags = cell.flags
        if cell.awaits:
            return self._start(cell)
        value = None
        try:
            if cell.last is not None:
                value = trampolines.call(self._context.run, cell.run, space)
            elif cell.body is not None:
                trampolines.call(self._context.run, exec, cell.body, space)
                value = self._value
        except BaseException as error:
            return self._ended(None, error, True)
        return self._ended(value, None, cell.silent)

    def _take_value(self, value: Any) -> None:
        self._value = value

    async def _run_awaiting(self, cell: Cell) -> Any:
        space = self.main.__dict__
        value = None
        for code in (cell.body, cell.last):
            if code is not None:
                value = eval(code, space)
                if code.co_flags & inspect.CO_COROUTINE:
                    value = await value
        return self._value if cell.captures else value

    def _start(self, cell: Cell) -> Report:
        """Begin a cell that may park."""
        coroutine = self._run_awaiting(cell)
        if cell.parks:
            self._execution = execution = Execution(coroutine, cell.silent)
            return self._drive(execution) or self._go_on(execution)
        self._execution = execution = Execution(None, cell.silent)
        execution.loop = self.loop
        execution.future = self.loop.create_task(coroutine, context=self._context)
        return self._go_on(execution)

    def _go_on(self, execution: Execution) -> Report:
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
            self._execution = None
            return self._ended(stop.value, None, execution.silent)
        except BaseException as failure:
            self._execution = None
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
                if not future.done() and not self._restored_after(error):
                    loop.call_exception_handler({"message": "a task wanted to end all", "exception": error})
                continue
            if self.idle is not None and self._idled(execution):
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
        self._execution = None
        try:
            value = execution.future.result()
        except asyncio.CancelledError as error:
            if execution.cancelled is None:
                return self._ended(None, error, True)
            return self._ended(None, execution.cancelled.with_traceback(error.__traceback__), True)
        except BaseException as error:
            return self._ended(None, error, True)
        return self._ended(value, None, execution.silent)

    def _idled(self, execution: Execution) -> bool:
        """Whether queued threads have run; what they could not help raising ends the cell."""
        assert self.idle is not None
        try:
            return bool(trampolines.call(self.idle))
        except BaseException as error:
            self._stop(execution, error)
            return True

    def _stop(self, execution: Execution, error: BaseException) -> None:
        """Cancel what a cell waits for; when it ends by that, it ends with `error`."""
        execution.cancelled = error
        execution.future.cancel()

    def _resume(self, answers: list[tuple[Any, ...]]) -> Report:
        for number, succeeded, value in answers:
            self._calls.answer(
                number,
                value if succeeded else None,
                None if succeeded else error_reports.exception_of(*value),
            )
        if self._execution is not None:
            return self._go_on(self._execution)
        # Answers for tasks that the cells have left running: those go on when a cell waits.
        return _NOTHING if answers else self._misuse("no cell is waiting")

    def _cancel(self, name: str, message: str) -> Report:
        if self._execution is None:
            return self._misuse("no cell is waiting")
        self._stop(self._execution, error_reports.exception_of(name, message))
        return self._go_on(self._execution)

    # -- reporting -----------------------------------------------------------------------------------

    def _ended(self, value: Any, error: BaseException | None, silent: bool) -> Report:
        """The report of a cell that has ended; its value is shown first, then the figures that it left
        open.
        """
        report = _NOTHING
        try:
            try:
                report = self._shown(value if error is None and not silent else None, error is None)
            except Exception as failure:
                if not self._restored_after(failure):
                    raise
                report = self._shown(value if error is None and not silent else None, error is None)
        except BaseException as failure:
            error = error or failure
        return report if error is None else self._error(error)

    def _shown(self, value: Any, succeeded: bool) -> Report:
        report = _NOTHING
        if value is not None:
            self._value = None
            self.main.__dict__["_"] = value
            report = ("done", trampolines.call(self._describe, value))
        if succeeded and self.idle is not None:
            trampolines.call(self.idle)
        if self.display.pending():
            trampolines.call(self.display.flush)
        return report

    def _describe(self, value: Any) -> dict[str, Any]:
        """A value as a report has it: encoded, as text, and shown when it has more than a text."""
        data = names.encoded(value, self._max_value)
        self.display.result(value)
        return {"value": data, "repr": names.short_repr(value)}

    def _error(self, error: BaseException) -> Report:
        try:
            if self._workspace:
                error_reports.explain_awaiting(error)
            if type(error) is OverflowError:
                error_reports.explain_size(error)
            if isinstance(error, SystemExit) and not isinstance(error.code, (int, type(None))):
                trampolines.call(lambda: print(error.code, file=sys.stderr))
            return ("error", trampolines.call(error_reports.describe, error, self._restore))
        except BaseException:
            if self._restore():
                return self._error(error)
            kind = type(error)
            return ("error", error_reports.bare(kind.__name__, module=kind.__module__))

    def _misuse(self, message: str) -> Report:
        return ("error", error_reports.bare("RuntimeError", message))

    def _send_output(self, kind: str, bundle: dict[str, Any], metadata: dict[str, Any]) -> None:
        if self._flush is not None:
            self._flush()
        self._call_host(b"D" + encode((kind, bundle, metadata), names.stand_in))

    # -- host calls ------------------------------------------------------------------------------------

    def call_blocking(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._flush is not None:
            self._flush()
        request = encode((name, args, kwargs), names.stand_in, max_bytes=self._max_value)
        status, *answer = decode(self._call_host(b"C" + request))
        if status == "ok":
            return answer[0]
        error = error_reports.exception_of(*answer)
        if isinstance(error, KeyboardInterrupt):
            self._interrupted |= interrupted_modules(sys._getframe(1))
        raise error

    @property
    def call_awaited(self) -> Callable[..., Coroutine[Any, Any, Any]]:
        """The same for a coroutine, which parks."""
        return self._calls.make

    def _answer_blocking(self, number: int) -> None:
        """Make an open host call now, for a loop that cannot park."""
        _, name, args, kwargs = self._calls.open[number]
        try:
            value = self.call_blocking(name, args, kwargs)
        except Exception as error:
            self._calls.answer(number, None, error)
        else:
            self._calls.answer(number, value, None)

    def new_loop(self) -> ParkingLoop:
        """What `asyncio.new_event_loop` makes in the guest."""
        return self._loop_type(self._calls, self._answer_blocking)

    # -- other commands --------------------------------------------------------------------------------

    def _clear(self) -> Report:
        trampolines.call(names.clear, self.main, self._builtins)
        self._new_names()  # whatever became of them
        return _NOTHING

    def _configure(self, settings: dict[str, Any]) -> Report:
        settings = dict(settings)
        callbacks = settings.pop("callbacks", None)
        if callbacks is not None:
            self._callbacks.declare(callbacks)
        workspace = settings.pop("workspace", False)
        if workspace is not False:
            self._workspace = {} if workspace is None else self._namespaces(workspace)
        if callbacks is not None or workspace is not False:
            self._new_names()
        if "paths" in settings:
            imports.look_in(settings.pop("paths"))
        if "value_limit" in settings:
            self._max_value = min(settings.pop("value_limit"), MAX_BYTES)
        if "tier_modules" in settings:
            self.imports.modules = frozenset(settings.pop("tier_modules"))
        if self.configure is not None:
            self.configure(settings)
        elif settings:
            return self._misuse(f"unknown settings: {', '.join(settings)}")
        return _NOTHING

    def _begin(self, settings: dict[str, Any], command: tuple[Any, ...]) -> Report:
        """Another command, before which the kernel is configured."""
        report = self._configure(settings)
        if report is not _NOTHING:
            return report
        return self._commands[command[0]](*command[1:])

    def _new_names(self) -> None:
        old = self.names
        self.names = {
            **self._callbacks.names,
            **self._workspace,
            "display": self.display.show,
            "update_display": self.display.update,
            "clear_output": self.display.clear,
            "get_ipython": self.get_ipython,
            MAGICS: self.get_ipython,
            COMM_NAME: self._receive_comm,
            RUN_NAME: self._runs.run_equivalent,
        }
        if self.publish is not None:
            self.publish(old, self.names)

    def _receive_comm(self, kind: str, content: dict[str, Any], metadata: dict[str, Any]) -> None:
        """Hand a message of the front end's to the comm that it is for."""
        from planaria_kernel.notebook import comms

        comms.receive(kind, content, metadata)

    def get_ipython(self) -> InteractiveShell:
        """The session as code sees it, and its magics."""
        if self._shell is None:
            from planaria_kernel.notebook.interactive_shell import InteractiveShell

            self._shell = InteractiveShell(self.main.__dict__, self.display, lambda: self._workspace)
        return self._shell

    def _namespaces(self, settings: dict[str, Any]) -> dict[str, Any]:
        return namespaces(
            settings,
            blocking=self.call_blocking,
            awaited=self._calls.make,
            drive=self._runs.drive,
            check=self.imports.stop_at,
            look_in=imports.look_in,
        )

    def add_command(self, name: str, function: Callable[..., Report]) -> None:
        """Have `function`, whose result is the report, called for a command of the host.

        It counts as user code.
        """
        self._commands[name] = partial(self._added, function)

    def _added(self, function: Callable[..., Report], *arguments: Any) -> Report:
        if self._execution is not None:
            return self._misuse("a cell is waiting: resume or cancel it before anything else is run")
        try:
            return trampolines.call(self._context.run, function, *arguments)  # type: ignore[no-any-return]
        except BaseException as error:
            return self._own_error(error)

    def _refuse_command(self) -> Report:
        """There was no memory for the command."""
        return ("refused",)

    def _complete(self, text: str, cursor: int) -> Report:
        space = {**self.names, **self.main.__dict__}
        return ("answer", trampolines.call(completion.complete, text, cursor, space))

    def _inspect(self, text: str, cursor: int, detail: int) -> Report:
        """A text about the name at a cursor, or None."""
        from planaria_kernel.notebook.describing import describe, name_at

        name = name_at(text, cursor)
        space = {**self.names, **self.main.__dict__}
        found = trampolines.call(lambda: describe(name, space, with_source=detail > 0)) if name else None
        return ("answer", found)

    def _is_complete(self, text: str) -> Report:
        from planaria_kernel.notebook.completeness import completeness

        return ("answer", trampolines.call(completeness, text))

    def _mime_bundle(self, expression: str) -> Report:
        """The representations of an expression's value and their metadata; or what it raised."""
        try:
            code = compile(expression, "<expression>", "eval")
            value = trampolines.call(self._context.run, eval, code, self.main.__dict__)
            return ("answer", list(trampolines.call(display.mime_bundle, value)))
        except Exception as error:
            return ("answer", (type(error).__name__, f"{error}"))

    def _user_names(self) -> Report:
        return ("answer", trampolines.call(names.user_names, self.main))

    def _evaluate(self, expression: str) -> Report:
        value = trampolines.call(
            self._context.run, eval, compile(expression, "<expression>", "eval"), self.main.__dict__
        )
        try:
            trampolines.call(encode, value, names.stand_in)
        except names.NOT_SERIALISABLE:
            value = trampolines.call(names.stand_in, value)
        return ("answer", value)
