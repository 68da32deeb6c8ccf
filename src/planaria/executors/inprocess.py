"""The kernel on a thread of its own inside this process: quick, and without any isolation."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import importlib.metadata
import io
import queue
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from planaria.errors import RuntimeSetupError, SessionError
from planaria.executors.executor import (
    Entered,
    Executor,
    Host,
    Installed,
    Packages,
    SandboxSetup,
    Uninstalled,
    WorkspaceOptions,
)
from planaria.executors.host_endpoint import HostEndpoint
from planaria.executors.messages import Command, Request, RunCode
from planaria.executors.signals import Interrupts
from planaria.executors.stdout_capture import captured, switched
from planaria.limits import Guard, Limits, Stopped, StopReason
from planaria.parameters import suggest_field_names
from planaria_kernel import in_thread
from planaria_kernel.execution.streams import Streams
from planaria_kernel.execution.trampolines import place_of
from planaria_kernel.kernel import Kernel

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from planaria.executors.virtualenv import Environment

__all__ = ["InProcessConfig", "InProcessExecutor"]

#: How often a running kernel is looked at, in seconds.
_TICK: Final = 0.01

_raise_in_thread = ctypes.pythonapi.PyThreadState_SetAsyncExc
_raise_in_thread.argtypes = (ctypes.c_ulong, ctypes.py_object)


@suggest_field_names
@dataclass(frozen=True, kw_only=True, slots=True)
class InProcessConfig:
    """How an `InProcessExecutor` is set up."""

    default_timeout: float | None = 30.0
    """Seconds of an execution unless the session says otherwise; None for no limit."""
    tools_path: Path | str | None = None
    """A directory of tool definitions, beside those of the storage."""
    deps: tuple[str, ...] = ()
    """Requirements (PEP 508) of the session, beside its storage's; installed before the kernel starts."""
    allow_runtime_deps: bool = True
    """Whether code may change the dependencies."""
    install_timeout: float = 600.0
    """Seconds that one installation may take."""


class _Abandoned(BaseException):
    """Raised in a kernel's thread that was abandoned, to end it."""


class _KernelThread:
    """A kernel's thread, and what it exchanges with the thread that entered it.

    It knows the host only while it is entered: a session without references is collected, and ends it.
    """

    def __init__(self) -> None:
        #: Entries to be made; None ends the thread.
        self.entries: queue.SimpleQueue[bool | None] = queue.SimpleQueue()
        #: Requests that the thread that entered has to answer, None when the entry is over, b"" to look up.
        self.events: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.replies: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.abandoned = False
        #: Whether no entry is under way.
        self.resting = True
        #: Whether the kernel has taken the command of the present entry.
        self.taken = True
        #: The kernel said that an interrupt hit no code of the user's.
        self.dropped = False
        self.host: Host | None = None
        self.endpoint: HostEndpoint | None = None
        self.kernel: Kernel
        self.identifier = 0
        ready: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        threading.Thread(target=self._serve, args=(ready,), name="planaria-kernel", daemon=True).start()
        error = ready.get()
        if error is not None:
            raise error

    def _serve(self, ready: queue.SimpleQueue[BaseException | None]) -> None:
        try:
            self.identifier = threading.get_ident()
            streams = Streams(lambda descriptor: _Output(self, descriptor))
            captured.set(streams)
            self.kernel = in_thread.start(self._answer, streams.flush)
        except BaseException as error:
            ready.put(error)
            return
        ready.put(None)
        del ready
        while True:
            try:
                if self.resting and self.entries.get() is None:
                    break
                if not self.taken:
                    self.kernel.enter()
                self.resting = True
                self.events.put(None)
            except KeyboardInterrupt:
                continue  # it came too late to interrupt the code
            except _Abandoned:
                break
        with contextlib.suppress(BaseException):
            for task in asyncio.all_tasks(self.kernel.loop):  # they end with the session
                task._log_destroy_pending = False  # type: ignore[attr-defined]
            self.kernel.loop.close()

    def _answer(self, request: bytes) -> bytes:
        """Answer the kernel, on its thread; functions of the user's run on the thread that entered."""
        if self.abandoned:
            raise _Abandoned
        reply: bytes | None = b""
        kind = request[0]
        if kind in (Request.CALL, Request.INPUT):
            self.events.put(request)
            reply = self.replies.get()
        elif kind == Request.INTERRUPT_DROPPED:
            self.dropped = True
        else:
            if kind == Request.COMMAND:
                self.taken = True
            if self.endpoint is not None:
                reply = self.endpoint.answer(request)
        if self.abandoned:
            raise _Abandoned
        return reply or b""

    def end(self) -> None:
        """Let the thread end when its code does."""
        self.abandoned = True
        self.entries.put(None)
        self.replies.put(b"")


class _Output(io.RawIOBase):
    """What is written to a standard stream of a kernel's thread."""

    def __init__(self, thread: _KernelThread, descriptor: int) -> None:
        self._thread = thread
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int:
        if self._thread.abandoned:
            raise _Abandoned
        taken = bytes(data)
        if self._thread.host is not None:  # else a thread of the user's goes on between executions
            self._thread.host.output(self._descriptor, taken)
        return len(taken)


class InProcessExecutor(Executor):
    """A kernel on a thread of this process.

    The code can do whatever the process can; nothing isolates it. It sees the modules of the host's
    interpreter. Its output is captured, that of other threads is not. A timeout raises KeyboardInterrupt in
    it; code that ignores that cannot be stopped: it keeps running in the background, its output is dropped,
    and the session restarts. `env`, `argv` and `seed` belong to the process and cannot be set.
    """

    name = "in-process"
    capabilities = frozenset({"timeout", "cpu_limit", "reset", "suspend", "deps_install"})
    is_copied_by_fork = False
    refuses: ClassVar[frozenset[str]] = frozenset({"env", "argv", "seed"})

    _host: Host

    def __init__(self, config: InProcessConfig | None = None) -> None:
        self.config = config or InProcessConfig()
        self.default_timeout = self.config.default_timeout
        self._thread: _KernelThread | None = None
        self._environment: Environment | None = None
        self._interrupts = Interrupts(self._look_up)

    def start(self, host: Host, limits: Limits, setup: SandboxSetup | None = None) -> None:
        if hasattr(self, "_host"):
            raise SessionError("this executor has a session already; create another one")
        self._host = host
        self._endpoint = HostEndpoint(host, self._interrupts.call_outside, memory=limits.decoded())
        if self.config.deps:
            failed = self.install(self.config.deps).failed
            if failed:
                reasons = "\n".join(f"{name}: {reason}" for name, reason in failed.items())
                raise RuntimeSetupError(f"the requirements of this session cannot be installed:\n{reasons}")
        self.reset()

    @property
    def packages(self) -> Packages:
        return self

    @property
    def packages_path(self) -> None:
        return None

    @property
    def workspace_options(self) -> WorkspaceOptions:
        return self.config

    @property
    def memory_bytes(self) -> int:
        """The most that the process has taken so far."""
        try:
            import resource
        except ImportError:  # Windows
            return 0
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

    def reset(self) -> None:
        self._end_thread()
        self._thread = thread = _KernelThread()
        self._end = weakref.finalize(self, thread.end)

    def close(self) -> None:
        self._end_thread()
        environment, self._environment = self._environment, None
        if environment is not None:
            _import_from(environment.package_directories, [])
            environment.close()

    def _end_thread(self) -> None:
        if self._thread is not None:
            self._thread = None
            self._end()

    def abandon(self) -> None:
        # The thread does not exist in a child of a fork.
        if self._thread is not None:
            self._thread = None
            self._end.detach()

    def interrupt(self, reason: StopReason = "interrupt") -> None:
        self._interrupts.ask(reason)

    def _look_up(self) -> None:
        if self._thread is not None:
            self._thread.events.put(b"")

    # -- dependencies --------------------------------------------------------------------------------------

    def install(self, requirements: Sequence[str]) -> Installed:
        # Most sessions install nothing.
        from packaging.utils import canonicalize_name

        from planaria.executors.requirements import is_met
        from planaria.executors.virtualenv import prepare

        present: dict[str, str] = {
            canonicalize_name(one.name): one.version for one in importlib.metadata.distributions() if one.name
        }
        there = [one for one in requirements if is_met(one, present)]
        wanted = [one for one in requirements if one not in there]
        if not wanted:
            return Installed(already_present=there)
        if self._environment is None:
            timeout = self.config.install_timeout
            self._environment = prepare(None, (), venv_path=None, cached=True, timeout=timeout)
        outcome = self._environment.install(wanted)
        _import_from([], self._environment.package_directories)
        outcome.already_present.extend(there)
        return outcome

    def uninstall(self, names: Sequence[str]) -> Uninstalled:
        if self._environment is None:
            return Uninstalled(not_found=list(names))
        outcome, _ = self._environment.uninstall(names)
        importlib.invalidate_caches()
        return outcome

    # -- entering ------------------------------------------------------------------------------------------

    def enter(self, command: Command, guard: Guard) -> Entered:
        thread = self._thread
        if thread is None:
            raise Stopped("the kernel is gone", None)
        self._endpoint.begin(command, guard=guard)
        thread.host, thread.endpoint = self._host, self._endpoint
        if isinstance(command, RunCode):
            thread.kernel.display.leave_open()
        clock = None if guard.cpu is None else _Clock(thread.identifier, guard.cpu)
        with self._interrupts.watching(guard), switched():
            thread.resting = thread.taken = False
            thread.entries.put(True)
            try:
                self._attend(thread, clock)
            except BaseException:
                self._end_thread()
                raise
            finally:
                thread.host = thread.endpoint = None
        if not self._endpoint.has_report:
            self._end_thread()
        return self._endpoint.ended(self._interrupts.reason)

    def _attend(self, thread: _KernelThread, clock: _Clock | None) -> None:
        """Answer the kernel until it is over, and interrupt it when it is due."""
        interrupts = self._interrupts
        while True:
            try:
                event = thread.events.get(timeout=_TICK)
            except queue.Empty:
                event = b""
            if thread.resting:
                return
            if event:
                thread.replies.put(self._endpoint.answer(event) or b"")
            if thread.dropped:
                thread.dropped = False
                interrupts.delivered = False
            if interrupts.due(clock is not None and clock.is_used_up):
                interrupts.delivered = _interrupt(thread)
            if interrupts.is_hopeless:
                raise Stopped("the code ignored the interrupt", interrupts.reason, goes_on=True)


def _import_from(no_more: Sequence[Path], now: Sequence[Path]) -> None:
    """Have the process import from other directories, the last of all."""
    for directory in no_more:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(directory))
    sys.path.extend(str(directory) for directory in now if str(directory) not in sys.path)
    importlib.invalidate_caches()


def _interrupt(thread: _KernelThread) -> bool:
    """Raise KeyboardInterrupt in the user's code, if that is what runs; whether it was."""
    frame = sys._current_frames().get(thread.identifier)
    match place_of(frame):
        case "user":
            _raise_in_thread(thread.identifier, KeyboardInterrupt)
        case "loop":
            thread.kernel.interrupt_loop()
        case "kernel":
            return False
    return True


class _Clock:
    """The processor time of a thread, where the system reports it."""

    def __init__(self, identifier: int, seconds: float) -> None:
        self._clock = time.pthread_getcpuclockid(identifier)
        self._end = time.clock_gettime(self._clock) + seconds

    @property
    def is_used_up(self) -> bool:
        return time.clock_gettime(self._clock) >= self._end
