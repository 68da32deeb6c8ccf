"""A machine: one WebAssembly instance with its memory, its host calls and its way of being stopped.

Between two calls the WebAssembly stack is empty, so linear memory and the system interface's tables are
the whole state of the guest; `Machine.pages` reads what changed since the image, and a new machine made from
the same image with those pages written over is a running copy.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` wraps each call in conversions to enums, which cost more than the call
import logging
import threading
import time
from collections.abc import Callable
from functools import cached_property
from queue import Empty, SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakMethod

import wasmtime
from wasmtime import TrapCode

from planaria.files import interruption
from planaria.limits import Guard, Stopped, StopReason
from planaria.machine.changes import ChangedPages
from planaria.machine.imports import FUNCTION_NAMES, current, instantiate, weak_method
from planaria.machine.linear_memory import LinearMemory, check_mappings_left
from planaria.machine.memory import (
    WASM_PAGE_BYTES,
    MemoryFile,
)
from planaria.machine.private_pages import IMMORTAL_MINIMUM, STACK_BASE
from planaria.machine.processors import Turn, processors
from planaria.machine.stack import call_on_large_stack
from planaria.machine.ticker import Ticker
from planaria.machine.write_protection import FAULTS, thread_usage
from planaria.once import once
from planaria.runtime.native import (
    RawFunction,
    RawGlobal,
    Trap,
    engine,
    export,
    increment_epochs,
    memory_size,
    set_epoch_callback,
)

if TYPE_CHECKING:
    from planaria.machine.wasi.system import Wasi

__all__ = ["STACK_BASE", "Machine"]

_LOG: Final = logging.getLogger("planaria.machine")

Result = TypeVar("Result")

_SIGINT: Final = int(_signal.SIGINT)
_SIGINT_OF_C: Final = 2
_SIGALRM_OF_C: Final = 14
#: LLVM keeps up to 128 bytes below the stack pointer (its red zone) in use; step well over them.
_RED_ZONE: Final = 1024
_FAR_AWAY: Final = 1 << 40
#: Fuel that no call uses up.
_UNLIMITED: Final = 1 << 62
#: In seconds. A signal that arrives just before the system waits does not end that wait, so none is long.
_LONGEST_WAIT: Final = 0.1


#: The shapes of the guest's functions, which are the same in every instance; empty before the first.
_shapes: dict[str, tuple[int, int]] = {}


@once
def _ticker() -> Ticker:
    return Ticker(increment_epochs, processors())


_main_thread: Final = threading.main_thread().ident


class Machine:
    """One instance. One thread at a time may be inside; `Session` sees to that.

    `answer` answers the guest's requests: a function or a weak reference to a method.
    `memory_limit` is in bytes. With `metered`, `module` is one that counts instructions. The machine closes
    itself when it traps.
    """

    def __init__(
        self,
        module: wasmtime.Module,
        wasi: Wasi,
        answer: Callable[[bytes], bytes] | WeakMethod[Callable[[bytes], bytes]],
        *,
        memory_limit: int | None = None,
        metered: bool = False,
    ) -> None:
        check_mappings_left()
        self.module = module
        #: Gives what answers requests; None when its object is gone.
        self.find_answer: Callable[[], Callable[[bytes], bytes] | None] = (
            answer if isinstance(answer, WeakMethod) else lambda: answer
        )
        #: Answers a request in short when the guest has no memory for the reply.
        self.too_large: Callable[[bytes], bytes] = lambda _request: b""
        self.wasi = wasi
        self.failure: BaseException | None = None
        #: Whether the guest has called the system since this was last set to False.
        self.has_called_system = True
        self.had_input = False
        """Whether the guest got anything from outside in the last call: from the system, a signal, or the
        host, which sets this for its answers but those that it keeps. Without that, the call is a function
        of the memory before it, and of what was kept.
        """
        self.seconds = 0.0
        """The processor time of the last call."""
        self.is_repeated = False
        """Whether a call is being made again (see `repeat`)."""
        store = wasmtime.Store(engine(metered))
        self._is_metered = metered
        #: The instructions of the last call, of a metered machine.
        self.fuel_used = 0
        if metered:
            store.set_fuel(_UNLIMITED)
        if memory_limit is not None:
            store.set_limits(memory_size=memory_limit // WASM_PAGE_BYTES * WASM_PAGE_BYTES)
        set_epoch_callback(store, weak_method(self._visited))
        self._store = store
        #: The ticker's count when the deadline was last set, one tick after it.
        self._epoch = _ticker().epoch
        store.set_epoch_deadline(1)
        self._instance = instance = instantiate(store, module, metered=metered)
        self.linear = LinearMemory(store, export(store, instance, "memory"))
        self.memory = self.linear.view
        self._stack_pointer = RawGlobal(
            store, export(store, instance, "__stack_pointer"), checked=bool(_shapes)
        )
        self._call = self.function("PyObject_CallNoArgs")
        wasi.memory = self.memory
        # What the ticker looks at while a call runs.
        self.wants_visits = False
        self._guard = Guard()
        self._cpu_clock: int | None = None
        self._cpu_deadline: float | None = None
        self._reason: StopReason | None = None
        #: When an interrupt was first raised in this call, and whether it need not be raised again.
        self._interrupted_at: float | None = None
        self._delivered = False
        self._kill = False
        #: When the guest is to get SIGALRM, and the seconds after which again; `time.monotonic()`.
        self._alarm: float | None = None
        self._alarm_interval = 0.0
        #: How many functions of the user's run on the host inside this call; Ctrl-C is theirs then.
        self._outside = 0
        self.processor = Turn(processors())
        """The turns of the guest at the processors."""
        # What ends a sleep. A queue, as a signal handler must be able to wake the thread that it interrupts:
        # an Event is locked for a moment when a wait begins, and would be waited for by its own holder.
        self._calls_to_wake: SimpleQueue[None] = SimpleQueue()
        wasi.sleep = weak_method(self.sleep)

    # What few executions call is looked up when it is first called.

    @cached_property
    def functions(self) -> list[Callable[..., int]]:
        """Those of the system, in the order of `FUNCTION_NAMES`."""
        return [getattr(self.wasi, name) for name in FUNCTION_NAMES]

    @cached_property
    def allocate(self) -> RawFunction:
        """Allocates so many bytes in the guest; their address, 0 when there is no memory."""
        return self.function("host_alloc")

    @cached_property
    def _release(self) -> RawFunction:
        return self.function("_Py_DecRef")

    @cached_property
    def _set_interrupt(self) -> RawFunction:
        return self.function("PyErr_SetInterruptEx")

    def function(self, name: str) -> RawFunction:
        """A function that the module exports; to be called in `guarded`."""
        function: wasmtime.Func = export(self._store, self._instance, name)
        if (shape := _shapes.get(name)) is None:
            shape = _shapes[name] = RawFunction.shape_of(self._store, function)
        return RawFunction(self._store, function, shape)

    # -- memory ------------------------------------------------------------------------------------

    @property
    def memory_bytes(self) -> int:
        """The present size of the linear memory."""
        known = self.linear.known_size
        return self.linear.size if known is None else known

    def can_go_back(self, image: MemoryFile, size: int) -> bool:
        """Whether `LinearMemory.go_back` can make the memory one of `size` bytes that began from `image`."""
        return self._is_at_rest() and self.linear.can_go_back(image, size)

    def pages(self, most: int, most_rewritten: int, known: ChangedPages) -> tuple[MemoryFile, ChangedPages]:
        """The present memory; see `LinearMemory.pages`. The guest must be at rest."""
        assert self._is_at_rest()
        return self.linear.pages(most, most_rewritten, known)

    def capture(self) -> MemoryFile:
        """The whole memory as a new file. The guest must be at rest."""
        assert self._is_at_rest()
        return self.linear.capture()

    def _is_at_rest(self) -> bool:
        return self.linear.user is None and self._stack_pointer.get() == STACK_BASE

    # -- calls ----------------------------------------------------------------------------------------

    def enter(self, function: int, guard: Guard) -> StopReason | None:
        """Call the guest's function object at address `function` without arguments.

        Returns None, or why an interrupt was raised in the guest meanwhile. Raises `Stopped` when the guest
        did not come back, and whatever a host call or a system function failed with.
        """

        result = self.guarded(self._call, guard, function)
        reason = self._reason
        # None, which nearly every call returns, is never let go of; that would be another call.
        if int.from_bytes(self.memory.view[result : result + 4], "little") < IMMORTAL_MINIMUM:
            self.guarded(self._release, guard, result)
            self.had_input = True  # this was one more call
        return reason

    def repeat(self, function: int) -> bool:
        """Make a call again that got nothing from outside, in the memory as it was then.

        No interrupt reaches it; whether there was one. Raises `Stopped`, also when it asks for something.
        """
        self.is_repeated = True
        try:
            reason = self.enter(function, Guard())
        finally:
            self.is_repeated = False
        if self.had_input:
            raise Stopped("a call that was made again went another way", None)
        return reason is not None

    def guarded(self, function: Callable[..., Result], guard: Guard, *arguments: int) -> Result:
        """Run `function`, which calls into the guest, on a large stack, watched by the ticker."""
        self._guard = guard
        self._reason = self._interrupted_at = None
        self._kill = self._delivered = self._raised = self.had_input = False
        if not self._calls_to_wake.empty():
            self._forget_calls()
        self._cpu_clock = None
        linear = self.linear

        def run() -> Result:
            outer, current.machine = current.machine, self
            thread = interruption.current
            waiting = thread.is_due, thread.take_raised
            thread.is_due, thread.take_raised = self.is_due, self.take_raised
            if guard.cpu is not None:
                self._cpu_deadline = time.thread_time() + guard.cpu
                self._cpu_clock = time.pthread_getcpuclockid(threading.get_ident())
            if self._is_metered:
                fuel = _UNLIMITED if guard.fuel is None else guard.fuel
                self._store.set_fuel(fuel)
            linear.user, linear.known_size = threading.get_ident(), None
            before = thread_usage()
            try:
                return function(*arguments)
            finally:
                after = thread_usage()
                self.seconds = after[0] + after[1] - before[0] - before[1]
                if after[FAULTS] != before[FAULTS]:
                    linear.private.is_looked_at = False
                linear.user, linear.known_size = None, memory_size(self._store, linear.exported)
                if self._is_metered:
                    self.fuel_used = fuel - self._store.get_fuel()
                current.machine = outer
                thread.is_due, thread.take_raised = waiting

        handler = self._take_signals()
        ticker = _ticker()
        ticker.running[self] = None  # dictionary operations are atomic, so no lock is taken
        if ticker.is_asleep:
            ticker.wake()
        try:
            self.processor.begin(self._is_stopping)
            if self._epoch != ticker.epoch:
                self._epoch = ticker.epoch
                self._store.set_epoch_deadline(1)
            return call_on_large_stack(run, self.interrupt)
        except Trap as trap:
            # A trap below a call of ours is the guest's end like any other.
            if self.failure is not None and not isinstance(self.failure, Trap):
                self.wasi.take_held_output()
                raise self.failure from None
            self.wasi.take_held_output()
            out_of_fuel = trap.code is TrapCode.OUT_OF_FUEL
            _LOG.debug("a trap: %s", trap.message)
            # Without the stack of numbered functions before it.
            cause = trap.message.rpartition("Caused by:")[2].strip()
            raise Stopped(cause, "fuel" if out_of_fuel else self._reason) from None
        finally:
            self.processor.end()
            ticker.running.pop(self, None)
            if handler is not None:
                _signal.signal(_SIGINT, handler)
            self.failure = None

    # -- being stopped --------------------------------------------------------------------------------

    def interrupt(self, reason: StopReason = "interrupt") -> None:
        """Raise KeyboardInterrupt in the guest at the line it is at; from any thread, or a signal handler."""
        if self._reason is None:
            self._reason = reason
        self._wake()
        _ticker().visit()

    def interrupt_dropped(self) -> None:
        """The guest says that the interrupt hit no code of the user's: raise it again at the next tick."""
        self._delivered = False

    def call_outside(self, function: Callable[[], Result]) -> Result:
        """Call a function of the user's that the guest waits for: Ctrl-C raises KeyboardInterrupt in it."""
        self._outside += 1
        try:
            if self._reason == "interrupt" and self._interrupted_at is None:
                # It was pressed a moment before, and the guest is not to learn it before this returns.
                raise KeyboardInterrupt
            self.processor.end()
            try:
                return function()
            finally:
                self.processor.go_on_at_once()
        except KeyboardInterrupt:
            self._reason = self._reason or "interrupt"
            self._interrupted_at = time.monotonic()
            self._delivered = True  # the guest learns it from the answer
            raise
        finally:
            self._outside -= 1

    def raise_interrupted(self) -> None:
        """Raise the interrupt that ended a function of the user's, where the guest does not learn it from its
        answer.
        """
        self._raise_interrupt()
        self._raised = False

    def stop(self) -> None:
        """Stop the guest hard, wherever it is; the call that runs ends with `Stopped`."""
        self._kill = True
        self.interrupt()

    def timer(self) -> tuple[float, float]:
        """The seconds until the guest gets SIGALRM (0: never), and after which again."""
        if self._alarm is None:
            return (0.0, 0.0)
        return (max(self._alarm - time.monotonic(), 1e-6), self._alarm_interval)

    def set_timer(self, seconds: float, interval: float = 0.0) -> None:
        """Raise SIGALRM in the guest after so many seconds (0: never), and whenever `interval` has passed."""
        self._alarm = time.monotonic() + seconds if seconds > 0 else None
        self._alarm_interval = interval

    def due(self, now: float) -> bool:
        """For the ticker: whether the guest must be visited now."""
        alarm = self._alarm
        if alarm is not None and now >= alarm:
            self._wake()
            self._must_interrupt(now)
            return True
        return self._must_interrupt(now)

    def _must_interrupt(self, now: float) -> bool:
        if self._reason is None:
            guard = self._guard
            deadline, clock = guard.deadline, self._cpu_clock
            if guard.interrupted is not None and guard.interrupted():
                self._reason = "interrupt"
            elif deadline is not None and now >= deadline + self.processor.lost(now):
                self._reason = "timeout"
            elif clock is not None and self._cpu_deadline is not None and self._used_up(clock):
                self._reason = "cpu"
            else:
                return False
            self._wake()
            return True
        if self._interrupted_at is None:
            return True
        if now >= self._interrupted_at + self._guard.grace:
            self._kill = True
            self._wake()
            return True
        return not self._delivered

    def _is_stopping(self) -> bool:
        """Whether the guest is to be interrupted or stopped, or was in this call."""
        return self._kill or self._reason is not None

    def is_due(self) -> bool:
        """Whether the guest is to be interrupted as soon as the host function it waits for ends."""
        return self._kill or (self._reason is not None and not self._delivered)

    def take_raised(self) -> bool:
        """Whether an interrupt was raised in the guest since the last time that this was asked."""
        raised, self._raised = self._raised, False
        return raised

    def _used_up(self, clock: int) -> bool:
        try:
            return time.clock_gettime(clock) >= (self._cpu_deadline or 0)
        except OSError:  # the thread ended between two looks
            return False

    def _visited(self) -> int:
        """The epoch's callback, on the guest's own thread in the middle of its code; see
        `set_epoch_callback`.
        """
        self.processor.go_on(self._is_stopping)
        if self.is_repeated:
            return 1
        if self._kill:
            raise Trap("stopped hard")
        self.wasi.take_held_output()
        if self._reason is not None and not self._delivered:
            self._raise_interrupt()
        self._raise_alarm()
        return 1

    def _raise_interrupt(self) -> None:
        """Have CPython raise KeyboardInterrupt at the next line it executes."""
        self._delivered = self._raised = True
        if self._interrupted_at is None:
            self._interrupted_at = time.monotonic()
        self._signal(_SIGINT_OF_C)

    def _raise_alarm(self) -> None:
        """Raise SIGALRM in the guest if its timer has run out."""
        if self._alarm is not None and (now := time.monotonic()) >= self._alarm:
            self._alarm = now + self._alarm_interval if self._alarm_interval > 0 else None
            self._signal(_SIGALRM_OF_C)

    def _signal(self, number: int) -> None:
        self.had_input = True
        self._store.set_epoch_deadline(_FAR_AWAY)  # the call below must not be visited
        top = self._stack_pointer.get()
        self._stack_pointer.set(top - _RED_ZONE)
        self._set_interrupt(number)
        self._stack_pointer.set(top)
        self._store.set_epoch_deadline(1)

    def sleep(self, seconds: float) -> bool:
        """Wait on behalf of the guest; False when the wait was cut short by an interrupt."""
        with self.processor.given_up():
            return self._sleep(time.monotonic() + seconds)

    def _sleep(self, end: float) -> bool:
        while (left := end - time.monotonic()) > 0:
            try:
                self._calls_to_wake.get(timeout=min(left, _LONGEST_WAIT))
            except Empty:
                continue
            self._forget_calls()
            if self._reason is not None and not self._delivered:
                self._raise_interrupt()
            self._raise_alarm()
            return False
        return True

    def _wake(self) -> None:
        self.processor.hurry()
        if self._calls_to_wake.empty():
            self._calls_to_wake.put(None)

    def _forget_calls(self) -> None:
        """Forget all calls so far."""
        while not self._calls_to_wake.empty():
            self._calls_to_wake.get()

    def _take_signals(self) -> Any:
        """On the main thread, let Ctrl-C interrupt the guest; what to put back afterwards, or None.

        Python's own handler would raise KeyboardInterrupt in the middle of one of our host functions.
        """
        is_main = threading.get_ident() == _main_thread
        self.wants_visits = is_main or bool(self.wasi.held)
        if not is_main or _signal.getsignal(_SIGINT) is not _signal.default_int_handler:
            return None

        def handler(_number: int, _frame: FrameType | None) -> None:
            if self._outside:
                raise KeyboardInterrupt
            if self._reason == "interrupt":  # pressed again: no more patience
                self._kill = True
            self.interrupt()

        return _signal.signal(_SIGINT, handler)

    def close(self) -> None:
        """Give the instance and its memory back; closing twice is harmless."""
        self._store.close()
        self.linear.close()
