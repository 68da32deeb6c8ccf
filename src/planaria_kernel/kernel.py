"""The kernel: takes one command from the host, does it, and reports.

The host enters by calling `Kernel.enter`, which asks the host for the command and sends exactly one report
back. User code, and everything that may run user code (a `__repr__`, a finaliser), is called through a
trampoline (see execution/trampolines.py). `Kernel.on_interrupt`, the handler of SIGINT, raises
KeyboardInterrupt only below a trampoline, so an interrupt can arrive at any line without losing the report.
"""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Callable, Coroutine
from functools import lru_cache, partial
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from planaria_kernel.errors import EncodeError
from planaria_kernel.event_loop.asyncio_run import Runs
from planaria_kernel.event_loop.loop import Call, HostCalls, Loop, ParkingLoop
from planaria_kernel.execution import display, error_reports, imports, names, trampolines
from planaria_kernel.execution.callbacks import Callbacks
from planaria_kernel.execution.cell import RUN_NAME
from planaria_kernel.execution.cells import Cells
from planaria_kernel.execution.idle import Idle
from planaria_kernel.execution.interpreter_state import InterpreterState
from planaria_kernel.execution.interrupted_imports import import_again, interrupted_modules
from planaria_kernel.execution.magic_syntax import MAGICS
from planaria_kernel.execution.reports import NOTHING, Report, Reports, misuse
from planaria_kernel.namespaces.namespaces import namespaces
from planaria_kernel.network import link
from planaria_kernel.protocol import MAX_BYTES, encode
from planaria_kernel.protocol.calls import encode_only_call, encode_waiting
from planaria_kernel.protocol.commands import decode_from_host
from planaria_kernel.queries import Queries
from planaria_kernel.shims.notebooks import announce_widgets

if TYPE_CHECKING:
    from planaria_kernel.notebook.interactive_shell import InteractiveShell

__all__ = ["Kernel"]

#: The name by which a front end's messages for comms reach the kernel.
COMM_NAME = "__planaria_comm__"

CallHost = Callable[[bytes], bytes]

_DONE = encode(NOTHING)


@lru_cache(maxsize=256)
def _exited(status: int) -> bytes:
    """The report of a script, which most often ends with the same status as the one before."""
    return encode(("done", {"exit_code": status}))


class Mailbox(Protocol):
    """Where the host leaves commands, and the kernel reports; `sandbox.mailbox`."""

    def take(self) -> bytes | None:
        """The command; None when it is to be asked for."""

    def put(self, report: bytes) -> bool:
        """Leave a report, if it fits."""


class Kernel:
    """Runs cells in `main` (by default a fresh `__main__`, which the caller puts into `sys.modules`).

    `flush` writes out what the standard streams hold back; it is called before every report. `idle` is done
    when a cell has nothing to do or ends. With `asks`, the host is asked for answers to awaited calls before
    a cell parks for them.
    """

    def __init__(
        self,
        call_host: CallHost,
        *,
        main: ModuleType | None = None,
        flush: Callable[[], None] | None = None,
        loop_type: type[ParkingLoop] = Loop,
        idle: Idle | None = None,
        asks: bool = False,
    ) -> None:
        self.main = names.new_main() if main is None else main
        self._builtins = self.main.__dict__["__builtins__"]
        self._call_host = call_host
        self._flush = flush
        #: The modules that KeyboardInterrupt was raised in while the present command imported them.
        self._interrupted: dict[str, ModuleType] = {}
        self._interpreter: InterpreterState | None = None
        self._context = contextvars.copy_context()
        self._calls = HostCalls(self.call_blocking)
        self._idle = idle
        if asks:
            self._calls.ask = self._ask
        self._loop_type = loop_type
        self.loop = self.new_loop()
        self._runs = Runs(self.loop, self.new_loop)
        self._callbacks = Callbacks(self._calls.make, self.call_blocking)
        self.display = display.Display(self._send_output)
        self.imports = imports.TierImports(call_host)
        self._reports = Reports(self.main.__dict__, self.display, self._restore, idle)
        self._cells = Cells(self.main, self._context, self.loop, self._calls, self.imports, self._reports)
        #: To be put at `sys.displayhook`.
        self.displayhook = self._cells.displayhook
        #: Names that cells find without having defined them; the caller puts them into `builtins`.
        self.names: dict[str, Any] = {}
        #: Those of them that are a workspace's.
        self._workspace: dict[str, Any] = {}
        self._shell: InteractiveShell | None = None
        #: Whether a notebook's front end shows what cells do.
        self._has_front_end = False
        #: Where the host may put commands, and takes reports from; without it both are host calls.
        self.mailbox: Mailbox | None = None
        #: Called with the settings of a "configure" command that are not the kernel's own.
        self.configure: Callable[[dict[str, Any]], None] | None = None
        #: Called with the names that come and go when host functions are declared.
        self.publish: Callable[[dict[str, Any], dict[str, Any]], None] | None = None
        self._callbacks.declare([])
        self._new_names()
        queries = Queries(self.main, self._context, lambda: self.names)
        self._commands: dict[str, Callable[..., Report]] = {
            "run": self._cells.run,
            "resume": self._cells.resume,
            "cancel": self._cells.cancel,
            "clear": self._clear,
            "configure": self._configure,
            "begin": self._begin,
            "refuse": lambda: ("refused",),  # there was no memory for the command
            **queries.commands,
        }

    # -- entry ---------------------------------------------------------------------------------------

    def enter(self) -> None:
        """Do one command and report. Never raises."""
        try:
            self._enter()
        except Exception as error:
            # Not even a report could be made: code has damaged what the kernel needs.
            restored = self._restore()
            if not restored:
                raise
            self._report(self._damaged(error, restored))

    def _enter(self) -> None:
        try:
            try:
                data = None if self.mailbox is None else self.mailbox.take()
                if data is None:
                    data = self._call_host(b"N")
                command: Any = decode_from_host(data)
            except MemoryError:
                command = ("refuse",)
            if self._interpreter is not None and self._interpreter.is_lost:
                self._restore()
            report = self._commands[command[0]](*command[1:])
        except BaseException as error:
            report = self._own_error(error)
        # Lengths are asked for: where a dict itself is, CPython counts that each time, in the code's memory.
        if len(self._interrupted) > 0:
            import_again(self._interrupted)
            self._interrupted = {}
        calls = self._calls
        is_over = report[0] in ("done", "error")
        if is_over and len(calls.open) + len(calls.given_up) > 0 and calls.any_given_up():
            report = (report[0], {**report[1], "given_up": calls.take_given_up()})
        self._report(report)

    def keep_interpreter(self) -> None:
        """Take the modules as they are now for what is restored when code has damaged them."""
        self._interpreter = InterpreterState(("planaria_shell.commands.",), self.names)

    def become_image(self) -> None:
        """Forget what sessions that begin from this memory need not know of."""
        self._calls.count_anew()

    def _restore(self) -> list[str]:
        """Put back what the kernel needs of the interpreter; the names of what had to be."""
        if self._interpreter is None:
            return []
        restored = self._interpreter.restore(self.names)
        if restored and self.publish is not None:
            self.publish({}, self.names)
        return restored

    def _own_error(self, error: BaseException) -> Report:
        """The report of an error that no cell has raised."""
        if isinstance(error, Exception) and error_reports.line_number(error) is None:
            restored = self._restore()
            if restored:
                return self._damaged(error, restored)
        return self._reports.error(error)

    def _damaged(self, error: BaseException, restored: list[str]) -> Report:
        """The report of an execution whose result is lost, since code has damaged what the kernel needs."""
        self._cells.execution = None
        shown = ", ".join(restored[:5]) + (f" and {len(restored) - 5} more" if len(restored) > 5 else "")
        message = (
            f"the code replaced what the kernel needs ({shown}), so this execution has no result: "
            f"{type(error).__name__}: {error}. It is restored."
        )
        return ("error", error_reports.bare("RuntimeError", message))

    def _report(self, report: Report) -> None:
        try:
            message = self._leave(self._encode(report))
        except BaseException as error:
            # Out of memory, or output that cannot be written: what happened must still be reported.
            if report[0] == "waiting":
                self._cells.abandon()
            kept = report[1] if report[0] == "error" else {}
            fields = error_reports.bare(type(error).__name__, f"while reporting: {error}")
            fields.update((key, kept[key]) for key in ("type", "module", "lineno") if key in kept)
            if isinstance(error, OSError):
                fields["message"] = (
                    f"standard output cannot be written, undo() or reset() restores it: {error}"
                )
            message = self._leave(encode(("error", fields)))
        if message is not None:
            self._call_host(message)

    def _leave(self, report: bytes) -> bytes | None:
        """Leave a report for the host; give the message to send where it does not fit."""
        return None if self.mailbox is not None and self.mailbox.put(report) else b"R" + report

    def _encode(self, report: Report) -> bytes:
        while True:
            if self._flush is not None:
                self._flush()
            if report is NOTHING:
                return _DONE
            if report[0] == "done" and len(report[1]) == 1 and type(report[1].get("exit_code")) is int:
                return _exited(report[1]["exit_code"])
            try:
                if report[0] == "waiting":
                    return encode_waiting(report, names.stand_in, self._reports.max_value)
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
                encode(call, names.stand_in, max_bytes=self._reports.max_value)
            except EncodeError as error:
                self._calls.answer(call[0], None, error)
                refused = True
            else:
                self._calls.new[call[0]] = None
        if not refused:  # each fits by itself, together they are too many
            self._calls.answer(self._calls.new.popitem()[0], None, reason)
        assert self._cells.execution is not None
        return self._cells.go_on(self._cells.execution)

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

    def _send_output(self, kind: str, bundle: dict[str, Any], metadata: dict[str, Any]) -> None:
        if self._flush is not None:
            self._flush()
        self._call_host(b"D" + encode((kind, bundle, metadata), names.stand_in))

    # -- host calls ------------------------------------------------------------------------------------

    def call_blocking(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Ask the host and wait. Data that was received is a view of the answer."""
        if self._flush is not None:
            self._flush()
        request = encode((name, args, kwargs), names.stand_in, max_bytes=self._reports.max_value)
        status, *answer = decode_from_host(self._call_host(b"C" + request), shares=name == link.RECEIVE)
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

    def _ask(self, call: Call) -> tuple[Any, ...] | None:
        """Ask the host to answer an awaited call at once; see `HostCalls.ask`."""
        idle = self._idle
        if idle is not None and len(idle.threads) + len(idle.maps) > 0:
            return None  # these come before what the host does: the cell parks
        if self._flush is not None:
            self._flush()
        request = encode_only_call(call, names.stand_in, self._reports.max_value)
        reply = self._call_host(b"W" + request)
        if len(reply) == 0:
            return None
        answer: tuple[Any, ...] = decode_from_host(reply)
        if answer[0] == "error":
            error = error_reports.exception_of(*answer[1:])
            if isinstance(error, KeyboardInterrupt):
                self._interrupted |= interrupted_modules(sys._getframe(1))
                raise error
            return ("error", error)
        return answer

    def _answer_blocking(self, number: int) -> None:
        """Make an open host call now, for a loop that cannot park."""
        _, name, args, kwargs = self._calls.open[number]
        try:
            value = self.call_blocking(name, args, kwargs)
        except Exception as error:
            self._calls.answer(number, None, error)
        else:
            self._calls.answer(number, bytes(value) if type(value) is memoryview else value, None)

    def new_loop(self) -> ParkingLoop:
        """What `asyncio.new_event_loop` makes in the guest."""
        return self._loop_type(self._calls, self._answer_blocking)

    # -- other commands --------------------------------------------------------------------------------

    def _clear(self) -> Report:
        trampolines.call(names.clear, self.main, self._builtins)
        self._new_names()  # whatever became of them
        return NOTHING

    def _configure(self, settings: dict[str, Any]) -> Report:
        settings = dict(settings)
        callbacks = settings.pop("callbacks", None)
        if callbacks is not None:
            self._callbacks.declare(callbacks)
        workspace = settings.pop("workspace", False)
        if workspace is not False:
            self._workspace = {} if workspace is None else self._namespaces(workspace)
            self._reports.has_workspace = bool(self._workspace)
        if callbacks is not None or workspace is not False:
            self._new_names()
        if "paths" in settings:
            imports.look_in(settings.pop("paths"))
        if settings.pop("front_end", False):
            self._has_front_end = True
            announce_widgets()
            if self._shell is not None:
                self._shell.attach_front_end()
        if "value_limit" in settings:
            self._reports.max_value = min(settings.pop("value_limit"), MAX_BYTES)
        if "tier_modules" in settings:
            self.imports.modules = frozenset(settings.pop("tier_modules"))
        if self.configure is not None:
            self.configure(settings)
        elif settings:
            return misuse(f"unknown settings: {', '.join(settings)}")
        return NOTHING

    def _begin(self, settings: dict[str, Any], command: tuple[Any, ...]) -> Report:
        """Another command, before which the kernel is configured."""
        report = self._configure(settings)
        if report is not NOTHING:
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
            self._reports.before_cell = self._shell.before_cell
            self._reports.after_cell = self._shell.after_cell
            if self._has_front_end:
                self._shell.attach_front_end()
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
        if self._cells.execution is not None:
            return misuse("a cell is waiting: resume or cancel it before anything else is run")
        try:
            return trampolines.call(self._context.run, function, *arguments)  # type: ignore[no-any-return]
        except BaseException as error:
            return self._own_error(error)
