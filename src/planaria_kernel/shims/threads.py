"""Threads without threads: each runs to its end, on the stack of the one that waits for it.

`Thread.start` only queues a thread. It runs when another thread would block: in `join`, on a lock, event,
condition or queue, in `time.sleep` (unless a lock is held meanwhile, which the others may want), and at the
end of a cell or when a cell parks (`run_pending`; daemons and timers excepted). Those below it on the stack
hold their locks, and are other threads to `get_ident`, `RLock` and `threading.local`. One whose function has
the attribute `takes_turns` is left when it has nothing to do, and begun anew the next time
(`planaria_kernel.network.turns`). Where real threads would take turns forever or one would have to wait for
another that is below it on the stack, there is a RuntimeError that says so; without that the sandbox would
trap.
"""

from __future__ import annotations

import _thread
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

from planaria_kernel.event_loop.leaving import outside_loop
from planaria_kernel.execution.error_reports import without_kernel_frames
from planaria_kernel.network.turns import TurnOver, is_turn, turn
from planaria_kernel.shims.importing import when_imported
from planaria_kernel.shims.polling import SleepWatch
from planaria_kernel.shims.timers import sleep as _sleep

__all__ = ["Lock", "entered", "install", "queued", "run_pending"]

#: Threads that are started and have not run, oldest first; those that run, outermost first.
queued: list[threading.Thread] = []
_running: list[threading.Thread] = []
#: Seconds for which one of several threads that take turns may wait.
_SLICE: Final = 0.01
_ADVICE: Final = (
    "the sandbox has no threads: each runs to its end when something waits for it, so two cannot take turns"
)
_POLLING: Final = (
    f"deadlock: this thread polls for what only the thread that waits for it could do ({_ADVICE})"
)
_WAITING: Final = frozenset({"threading", "queue", __name__})
#: The number of the main thread.
_MAIN: Final = threading.get_ident()


class _Activity:
    """What a thread that runs is doing; that of the main thread is there for good.

    `deadline` is when the one below it wanted to go on (None: when this one has ended), `locks` how many it
    holds, and `watch` knows what it was seen to wait for.
    """

    __slots__ = ("deadline", "locks", "watch")

    def __init__(self, deadline: float | None = None) -> None:
        self.deadline = deadline
        self.locks = 0
        self.watch = SleepWatch()

    def must_not_wait(self, frame: FrameType | None, *, for_a_lock: bool = False) -> bool:
        """Whether the thread, in `frame`, polls for what only one below it could do, and that one is due."""
        if self is _activities[0]:
            return False
        overdue = self.deadline is not None and time.monotonic() > self.deadline
        in_vain = self.watch.is_in_vain(frame, despite_changes=for_a_lock and overdue)
        return in_vain and (overdue or self.deadline is None)


#: Of the main thread, and of those that run.
_activities: list[_Activity] = [_Activity()]
#: Holds what no thread holds.
_NO_THREAD: Final = _Activity()


def _takes_turns(thread: threading.Thread) -> bool:
    return getattr(getattr(thread, "_target", None), "takes_turns", False)


@contextlib.contextmanager
def entered(thread: threading.Thread, deadline: float | None = None) -> Iterator[None]:
    """Be in a thread, on the stack of one that wants to go on at `deadline`."""
    active = threading._active  # type: ignore[attr-defined]
    _running.append(thread)
    _activities.append(_Activity(deadline))
    active[thread.ident] = thread
    try:
        with outside_loop():
            yield
    finally:
        _activities.pop()
        _running.pop()
        if thread not in _running and thread not in queued:
            active.pop(thread.ident, None)


def _run(thread: threading.Thread, deadline: float | None = None) -> None:
    """Run a queued thread to its end, or have it take its turn, for one that wants to go on at `deadline`."""
    queued.remove(thread)
    takes_turns = _takes_turns(thread)
    with entered(thread, deadline):
        try:
            with turn(deadline, is_one=takes_turns) as taken:
                if takes_turns:
                    thread._target(*thread._args, **thread._kwargs)  # type: ignore[attr-defined]
                else:
                    thread.run()
        except TurnOver:
            queued.append(thread)
            if not taken.has_waited:  # for the network: it would be begun anew at once
                _sleep(_SLICE)
        except KeyboardInterrupt:
            raise  # the host stops the whole cell, whichever thread it is in
        except BaseException as error:
            error.__traceback__ = without_kernel_frames(error.__traceback__)
            threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, thread)))


def _run_next(deadline: float | None) -> bool:
    """Run a queued thread for one that wants to go on at `deadline`; False when there is none, or it is time.

    Those that take turns come last, and where there are several, each in a slice of the time.
    """
    if not queued:
        return False
    plain = next((one for one in queued if not _takes_turns(one)), None)
    if plain is not None:
        _run(plain, deadline)
        return True
    now = time.monotonic()
    if deadline is not None and now >= deadline:
        return False
    if len(queued) > 1:
        deadline = now + _SLICE if deadline is None else min(deadline, now + _SLICE)
    _run(queued[0], deadline)
    return True


def run_pending(*, all_of_them: bool = False) -> bool:
    """Run the queued threads; whether there were any. Daemons and timers stay queued unless `all_of_them`."""
    ran = False
    for thread in list(queued):
        if thread in queued and (all_of_them or not (thread.daemon or isinstance(thread, threading.Timer))):
            _run(thread)
            ran = True
    return ran


class Lock:
    """`threading.Lock` for one thread: a lock that is taken is waited for by running the queued threads."""

    __slots__ = ("__weakref__", "_holder")

    def __init__(self) -> None:
        #: Of the thread that has taken it.
        self._holder: _Activity | None = None

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._holder is None:
            self._take()
            return True
        if not blocking:
            if timeout != -1:
                raise ValueError("can't specify a timeout for a non-blocking call")
            return False
        if timeout < 0 and timeout != -1:
            raise ValueError("timeout value must be a non-negative number")
        if timeout == -1 and is_turn():
            raise TurnOver  # the one that has it may be the one that waits for this thread
        deadline = time.monotonic() + timeout
        while self._holder is not None and _run_next(None if timeout == -1 else deadline):
            pass
        if self._holder is not None:
            if timeout == -1:
                raise RuntimeError(f"deadlock: this would wait forever ({_ADVICE})")
            left = deadline - time.monotonic()
            if left > 0:
                if _activities[-1].must_not_wait(_waiting_frame(), for_a_lock=True):
                    raise RuntimeError(_POLLING)
                _sleep(left)
            return False
        self._take()
        return True

    def _take(self) -> None:
        self._holder = _activities[-1]
        self._holder.locks += 1

    def release(self) -> None:
        if self._holder is None:
            raise RuntimeError("release unlocked lock")
        self._holder.locks -= 1
        self._holder = None

    def locked(self) -> bool:
        return self._holder is not None

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *exception: object) -> None:
        self.release()

    def _at_fork_reinit(self) -> None:
        if self._holder is not None:
            self.release()

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle '_thread.lock' object")

    def __repr__(self) -> str:
        state = "locked" if self.locked() else "unlocked"
        return f"<{state} _thread.lock object at {id(self):#x}>"


class _Signal(Lock):
    """A lock that is taken to be waited for, as `threading.Condition` does, not to keep others out."""

    __slots__ = ()

    def _take(self) -> None:
        self._holder = _NO_THREAD


class _RLock(threading._PyRLock):  # type: ignore[name-defined,misc]
    """`threading.RLock`; the one in C takes all threads for one."""

    def __init__(self) -> None:
        super().__init__()
        self._block = Lock()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        return bool(super().acquire(blocking, timeout))

    __enter__ = acquire

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle '_thread.RLock' object")


def _enter_semaphore(self: threading.Semaphore) -> bool:
    acquired = self.acquire()
    _activities[-1].locks += 1
    return acquired


def _leave_semaphore(self: threading.Semaphore, *exception: object) -> None:
    _activities[-1].locks -= 1
    self.release()


def _start(self: threading.Thread) -> None:
    """Start the thread's activity: it runs when something waits for it."""
    if not self._initialized:  # type: ignore[attr-defined]
        raise RuntimeError("thread.__init__() not called")
    if self._started.is_set():  # type: ignore[attr-defined]
        raise RuntimeError("threads can only be started once")
    self._started.set()  # type: ignore[attr-defined]
    self._ident = id(self)  # type: ignore[attr-defined]
    threading._active[self._ident] = self  # type: ignore[attr-defined]
    queued.append(self)


def _join(self: threading.Thread, timeout: float | None = None) -> None:
    """Run the thread to its end, if it has not run yet."""
    if not self._initialized:  # type: ignore[attr-defined]
        raise RuntimeError("Thread.__init__() not called")
    if not self._started.is_set():  # type: ignore[attr-defined]
        raise RuntimeError("cannot join thread before it is started")
    if self is threading.current_thread():
        raise RuntimeError("cannot join current thread")
    if self in queued and _takes_turns(self):
        deadline = None if timeout is None else time.monotonic() + timeout
        while self in queued and (deadline is None or time.monotonic() < deadline):
            _run(self, deadline)
    elif self in queued:
        _run(self)
    elif self in _running:
        if timeout is None:
            raise RuntimeError(f"deadlock: joining a thread that waits for this one ({_ADVICE})")
        _sleep(max(0.0, timeout))


def _is_alive(self: threading.Thread) -> bool:
    """Whether the thread is started and has not come to its end."""
    return self in queued or self in _running or self is threading.main_thread()


def _start_new_thread(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any = None, /) -> int:
    """Queue a thread that cannot be joined."""
    thread = threading.Thread(target=function, args=args, kwargs=kwargs or {}, daemon=True)
    thread.start()
    return thread.ident or 0


def _get_ident() -> int:
    """The number of the thread that runs."""
    return (_running[-1].ident if _running else None) or _MAIN


def _waiting_frame() -> FrameType | None:
    """The frame that waits: the innermost that is not of `threading`, `queue` or this module."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") in _WAITING:
        frame = frame.f_back
    return frame


def _sleep_and_run(seconds: float, /) -> None:
    """Delay execution for a number of seconds; queued threads run meanwhile.

    Not while a lock is held, since they may want it; but those may be what is polled for.
    """
    activity = _activities[-1]
    if queued and seconds >= 0 and (not activity.locks or activity.watch.is_in_vain(sys._getframe(1))):
        deadline = time.monotonic() + seconds
        while _run_next(deadline):
            pass
        seconds = max(0.0, deadline - time.monotonic())
    elif not queued and activity.must_not_wait(sys._getframe(1)):
        raise RuntimeError(_POLLING)
    _sleep(seconds)


def _change_queue(module: Any) -> None:
    # The one in C waits with the interpreter's own locks, which trap.
    module.SimpleQueue = module._PySimpleQueue


def install() -> None:
    """Put this in place of threads. Locks made before keep working, but trap where they would deadlock."""
    import _threading_local

    threading.Lock = _thread.allocate_lock = Lock  # type: ignore[assignment]
    threading._allocate_lock = _Signal  # type: ignore[attr-defined]
    threading._CRLock = _thread.RLock = _RLock  # type: ignore[attr-defined,misc]
    threading.Semaphore.__enter__ = _enter_semaphore  # type: ignore[method-assign,assignment]
    threading.Semaphore.__exit__ = _leave_semaphore  # type: ignore[method-assign]
    threading.get_ident = _thread.get_ident = _get_ident
    threading.local = _threading_local.local  # type: ignore[assignment]
    for name, function in (("start", _start), ("join", _join), ("is_alive", _is_alive)):
        setattr(threading.Thread, name, function)
    _thread.start_new_thread = _start_new_thread
    time.sleep = _sleep_and_run  # type: ignore[assignment]
    when_imported("queue", _change_queue)
