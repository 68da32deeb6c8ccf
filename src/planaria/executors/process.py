"""What executors in another process have in common: a kernel at the other end of a pipe."""

from __future__ import annotations

import secrets
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Final

from planaria.errors import ProtocolError, RuntimeSetupError, SessionError
from planaria.executors.executor import Entered, Executor, Host, SandboxSetup
from planaria.executors.host_endpoint import HostEndpoint, answer_frame, unknown_request
from planaria.executors.messages import Command, Configure, Raised, Request
from planaria.executors.pipe import Pipe
from planaria.executors.signals import Interrupts
from planaria.fork import in_forked_child
from planaria.limits import Guard, Limits, Stopped, StopReason
from planaria_kernel.protocol import decode, encode

__all__ = ["PROGRAM", "Process", "ProcessExecutor"]

#: Starts a kernel, with the directory that it is found in as the first argument.
PROGRAM: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); from planaria_kernel import own_builtins; "
    "own_builtins.install(); from planaria_kernel.process.main import main; main()"
)

#: How often what only answers when asked (`Guard.interrupted`, a clock) is asked, in seconds.
_TICK: Final = 0.05
#: A signal that arrives just before the system waits does not end that wait, so none is long.
_LONGEST_WAIT: Final = 0.1
#: After so many seconds an interrupt that hit no code of the user's is raised again.
_AGAIN: Final = 0.01
#: After so many frames without a pause the time is looked at.
_FRAMES: Final = 64

#: Executors that are alive, for a child of a fork to leave their processes to its parent.
_living: Final[weakref.WeakSet[ProcessExecutor]] = weakref.WeakSet()


@in_forked_child("executors")
def _after_fork() -> None:
    for executor in list(_living):
        executor.abandon()


class Process(ABC):
    """A kernel's process: how it is connected, stopped and measured."""

    pipe: Pipe

    @abstractmethod
    def interrupt(self) -> None:
        """Raise SIGINT in it."""

    @abstractmethod
    def end(self, seconds: float) -> None:
        """Close the connection, end the process with all that it has started, and release everything.

        It has `seconds` to end by itself. Ending twice is harmless.
        """

    @abstractmethod
    def forget(self) -> None:
        """In a child of a fork: release what this process has of it, and let it run."""

    @abstractmethod
    def ending(self) -> tuple[str, int | None]:
        """It has closed its connection: in words how it ended, and the status if it ended itself with one."""

    def cpu_seconds(self) -> float | None:
        """The processor time that it has used; None when that is not known."""
        return None

    def memory_bytes(self) -> int:
        """How much memory it takes, as far as that is known."""
        return 0


class ProcessExecutor(Executor):
    """A kernel at the other end of a pipe; subclasses know how its process is started."""

    _host: Host
    _limits: Limits

    is_copied_by_fork = False

    #: Seconds that a fresh process may take to be ready.
    _patience: float = 60.0
    #: Whether what is written to descriptors 1 and 2 has to come over the connection.
    _output_by_frames: ClassVar[bool] = False

    def __init__(self) -> None:
        self._interrupts = Interrupts(self._look_up)
        self._process: Process | None = None
        #: Commands that the kernel has to be sent before its next one.
        self._deferred: list[Command] = []
        self._again = 0.0

    @abstractmethod
    def _launch(self) -> Process:
        """Start a process. Raises RuntimeSetupError."""

    def _resources(self) -> dict[str, int]:
        """The limits that the process sets itself, by their names in the module resource."""
        return {"RLIMIT_CORE": 0}

    def _settings(self) -> dict[str, object]:
        """Further settings of the process."""
        return {}

    def start(self, host: Host, limits: Limits, setup: SandboxSetup | None = None) -> None:
        if hasattr(self, "_host"):
            raise SessionError("this executor has a session already; create another one")
        self._host = host
        self._limits = limits
        self._endpoint = HostEndpoint(host, self._interrupts.call_outside, memory=limits.decoded())
        _living.add(self)
        self.reset()

    # -- the life of a process -------------------------------------------------------------------------

    def reset(self) -> None:
        self._end_process(self._limits.grace)
        self._process = process = self._launch()
        self._end = weakref.finalize(self, process.end, 0.0)
        self._deferred.clear()
        try:
            self._greet(process)
        except BaseException:
            self._end_process(0)
            raise

    def _greet(self, process: Process) -> None:
        """Tell a fresh process its settings, and see that it is the kernel."""
        token = secrets.token_bytes(16)
        settings: dict[str, object] = {
            "token": token,
            "resources": self._resources(),
            "read_output": self._output_by_frames,
            **self._settings(),
        }
        pipe = process.pipe
        pipe.send(encode(settings))
        end = time.monotonic() + self._patience
        try:
            while (frame := pipe.next_frame()) is None:
                left = end - time.monotonic()
                if pipe.ended or left <= 0:
                    how = process.ending()[0] if pipe.ended else f"no answer after {self._patience:g} s"
                    pipe.take_beside()
                    said = bytes(pipe.stray).decode("utf-8", "replace").strip()
                    raise RuntimeSetupError(
                        f"the kernel's process did not start: {how}"
                        + (f"; it wrote:\n{said}" if said else "")
                    )
                pipe.wait(left)
            match frame[:1], decode(frame[1:]):
                case b"A", (bytes(given), (int(), int(), int()) as version, int()):
                    if secrets.compare_digest(given, token):
                        self.python_version = f"{version[0]}.{version[1]}"
                        return
        except ProtocolError as error:
            raise RuntimeSetupError(f"what answered is not the kernel that was started: {error}") from error
        raise RuntimeSetupError("what answered is not the kernel that was started: it sent another token")

    def _end_process(self, seconds: float) -> None:
        """End the process, which has `seconds` to end by itself."""
        process, self._process = self._process, None
        if process is not None:
            self._end.detach()
            process.end(seconds)

    def close(self) -> None:
        self._end_process(self._limits.grace if hasattr(self, "_limits") else 0)

    def abandon(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            self._end.detach()
            process.forget()

    def _running(self) -> Process:
        if self._process is None:
            raise Stopped(
                "the kernel's process is gone, or belongs to the process that this one is a fork of", None
            )
        return self._process

    @property
    def memory_bytes(self) -> int:
        return 0 if self._process is None else self._process.memory_bytes()

    def cpu_seconds(self) -> float:
        used = None if self._process is None else self._process.cpu_seconds()
        return 0.0 if used is None else used

    # -- entering ------------------------------------------------------------------------------------------

    def configure(self, settings: Mapping[str, object]) -> Entered:
        return self.enter(Configure(settings), Guard(deadline=time.monotonic() + self._patience))

    def enter(self, command: Command, guard: Guard) -> Entered:
        while self._deferred:
            before = self._deferred.pop()
            self._enter(before, Guard(deadline=time.monotonic() + self._patience))
        return self._enter(command, guard)

    def _enter(self, command: Command, guard: Guard) -> Entered:
        self._endpoint.begin(command, guard=guard)
        process = self._running()
        pipe = process.pipe
        pipe.written = self._host.output
        try:
            with self._interrupts.watching(guard):
                self._attend(process, guard)
            return self._endpoint.ended(self._interrupts.reason)
        except BaseException:
            # In the middle of an entry: the state of the kernel is unknown.
            self._end_process(0)
            raise
        finally:
            pipe.written = None

    def _attend(self, process: Process, guard: Guard) -> None:
        """Answer the kernel until it has reported; interrupt it when that is due."""
        pipe, endpoint = process.pipe, self._endpoint
        cpu_end = None
        if guard.cpu is not None:
            used = process.cpu_seconds()
            cpu_end = None if used is None else used + guard.cpu
        frames = 0
        self._look(process, cpu_end)
        while True:
            frame = pipe.next_frame()
            if frame is None:
                if pipe.ended:
                    how, status = process.ending()
                    pipe.take_beside()
                    raise Stopped(how, self._interrupts.reason, status)
                pipe.wait(self._seconds(guard, cpu_end is not None))
                self._look(process, cpu_end)
                continue
            self._answer(pipe, frame)
            if endpoint.has_report:
                return
            frames += 1
            if not frames % _FRAMES:
                self._look(process, cpu_end)

    def _seconds(self, guard: Guard, measures: bool) -> float:
        """How long to wait before `_look` has something to look at again."""
        if self._interrupts.reason is not None:
            return _TICK if self._interrupts.delivered else _AGAIN
        seconds = _TICK if measures or guard.interrupted is not None else _LONGEST_WAIT
        if guard.deadline is not None:
            seconds = min(seconds, max(0.0, guard.deadline - time.monotonic()))
        return seconds

    def _look(self, process: Process, cpu_end: float | None) -> None:
        """Interrupt the kernel if that is due. Raises Stopped when it did not respond in time."""
        interrupts = self._interrupts
        used = None if cpu_end is None else process.cpu_seconds()
        used_up = used is not None and cpu_end is not None and used >= cpu_end
        if interrupts.due(used_up) and time.monotonic() >= self._again:
            process.interrupt()
            interrupts.delivered = True
        if interrupts.reason is not None and interrupts.is_hopeless:
            raise Stopped("it did not come back after it was interrupted, and was killed", interrupts.reason)

    def _answer(self, pipe: Pipe, frame: bytes) -> None:
        """Handle a request; see docs/internals/boundary.md. What is not well formed raises ProtocolError."""
        kind = frame[0]
        if kind == Request.OUTPUT:
            descriptor = frame[1] - 48 if len(frame) > 1 else 0
            if descriptor not in (1, 2):
                raise ProtocolError(f"the kernel wrote to a stream that is not there: {frame[:2]!r}")
            self._host.output(descriptor, frame[2:])
        elif kind == Request.INTERRUPT_DROPPED:
            self._interrupts.delivered = False
            self._again = time.monotonic() + _AGAIN
        elif kind == Request.OUTPUT_TAKEN:
            pipe.send(encode(None))
        else:
            reply = self._endpoint.answer(frame)
            if reply is None:
                raise unknown_request(frame)
            if kind in (Request.CALL, Request.INPUT) and self._interrupts.due():
                # The kernel learns it from the answer: after that, a signal may come when the code is over.
                reply = encode(answer_frame(Raised("KeyboardInterrupt", "")))
                self._interrupts.delivered = True
            if kind not in (Request.REPORT, Request.DISPLAY):
                pipe.send(reply)

    def interrupt(self, reason: StopReason = "interrupt") -> None:
        self._interrupts.ask(reason)

    def _look_up(self) -> None:
        process = self._process
        if process is not None:
            process.pipe.wake()
