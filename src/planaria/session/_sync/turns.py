"""Turns at an engine, for threads."""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from planaria.errors import SessionBusy
from planaria.fork import in_forked_child
from planaria.session import executing
from planaria.session.engine import SessionEngine
from planaria.session.execution_state import ExecutionState
from planaria.session.function_calls import calling_back
from planaria.session.phases import Phase
from planaria.session.waiting_threads import any_waits_for_this

__all__ = ["Turns", "interruption"]

T = TypeVar("T")

#: Seconds between two looks at what the thread that holds a session does.
_LOOK_SECONDS: Final = 0.1

#: Those that exist, for a child of a fork to recover.
_all: Final[weakref.WeakSet[Turns]] = weakref.WeakSet()


def interruption() -> type[BaseException]:
    """What is raised on the thread that executes to interrupt the code."""
    return KeyboardInterrupt


class Turns:
    """One thread at a time uses an engine, in a `with`; blocking work is done on that thread.

    `AsyncTurns` has the same methods; these two classes are where sessions with and without `await` differ.
    """

    def __init__(self, engine: SessionEngine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        #: The thread that holds the lock.
        self._owner: int | None = None
        _all.add(self)

    def prepare(self) -> None:
        """Do what the constructor of a session waits for: start the kernel."""
        self._engine.start()

    def held(self, *, ready: bool = True) -> contextlib.AbstractContextManager[None]:
        """Hold the session: another thread waits for it, its own callback is refused."""
        return self if ready else _Unready(self)

    def __exit__(self, _kind: object, _error: object, _traceback: object) -> None:
        self._owner = None
        self._lock.release()

    def take(self, *, ready: bool = True) -> None:
        """Begin to hold the session."""
        engine = self._engine
        # Looked at here, since it holds nearly always.
        if engine.phase is Phase.CLOSED or id(engine.host_calls) in calling_back.get():
            engine.check_usable()
        here = threading.get_ident()
        if self._owner == here:
            raise SessionBusy(
                "this session waits for the very function that wants to use it (on_stdout, stdin, "
                "a signal handler); return from it first, or use another session"
            )
        lock = self._lock
        if not lock.acquire(blocking=False):
            self._wait_for_turn(lock)
        try:
            self._owner = here
            engine.was_interrupted = False
            if ready and engine.phase is not Phase.READY:
                engine.ensure_started()
        except BaseException:
            self.__exit__(None, None, None)
            raise

    __enter__ = take

    def _wait_for_turn(self, lock: threading.Lock) -> None:
        """Take the lock that another thread holds.

        The session may be inside a callback that waits for this thread. Raises SessionBusy when the stacks of
        both show that, or when the callback goes on beyond the time limit of its execution.
        """
        engine = self._engine
        while True:
            execution, threads = engine.execution, tuple(engine.host_calls.threads)
            # One that is closed abandons its callbacks.
            if execution is not None and threads and not engine.is_closing:
                if any_waits_for_this(threads):
                    raise SessionBusy(
                        "this session waits for a callback that waits for this thread, which is trying to "
                        "use it; do not wait in a callback for another thread that uses its own session"
                    )
                if execution.deadline is not None and time.monotonic() >= execution.deadline:
                    raise SessionBusy(
                        "this session has waited for a callback beyond the time limit of its execution; a "
                        "callback must not wait for another thread that uses its own session"
                    )
            if lock.acquire(timeout=_LOOK_SECONDS):
                return

    @contextlib.contextmanager
    def closing(self) -> Iterator[None]:
        """Hold the session to close it; the execution of another thread is interrupted."""
        with contextlib.ExitStack() as stack:
            if self._owner != threading.get_ident():
                stack.enter_context(self._engine.ending())
            stack.enter_context(self.held(ready=False))
            yield

    def call(self, function: Callable[[], T]) -> T:
        """Call a function that uses the engine and may block."""
        return function()

    def elsewhere(self, function: Callable[[], T]) -> T:
        """Call a function that may block and does not use the engine."""
        return function()

    def begin(self, begun: Callable[[], ExecutionState]) -> ExecutionState:
        """Begin an execution, for which the state before it is kept."""
        return begun()

    def enter(self, execution: ExecutionState) -> None:
        """Enter the kernel."""
        executing.enter(self._engine, execution)

    def wait(self, execution: ExecutionState) -> None:
        """Wait for an answer, a timer of the code's, or the end of the time."""
        execution.alarm.wait(execution.seconds_left())

    def after_fork(self) -> None:
        """In a child of a fork, where only the forking thread exists."""
        here = threading.get_ident()
        if self._owner != here and (self._owner is not None or not self._engine.executor.is_copied_by_fork):
            self._engine.lose_kernel()
            self._owner = None
        if self._owner is None:
            self._lock = threading.Lock()
        self._engine.host_calls.after_fork()


class _Unready:
    """While a session is held that need not be ready."""

    __slots__ = ("_turns",)

    def __init__(self, turns: Turns) -> None:
        self._turns = turns

    def __enter__(self) -> None:
        self._turns.take(ready=False)

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self._turns.__exit__(kind, error, traceback)


@in_forked_child("sessions")
def _after_fork() -> None:
    for turns in list(_all):
        turns.after_fork()
