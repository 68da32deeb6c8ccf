"""`signal.alarm` and `setitimer(ITIMER_REAL)`: the host raises SIGALRM when the time is up.

It does so at the next line of the code, in a sleep too; while the code awaits something, at the end of that.
A timer ends with the execution that has set it.
"""

from __future__ import annotations

import errno
import math
import operator
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from planaria_kernel.protocol import decode, encode

__all__ = ["connect", "install", "sleep"]

_NAMES: Final = ("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF")
#: When the kernel itself is running, or a loop's machinery, the signal is raised again after so many seconds.
_AGAIN: Final = 0.01
#: What a shell reports of a program that this signal has ended.
_STATUS: Final = 128 + signal.SIGALRM
_sleep: Final = time.sleep
_signal: Final = signal.signal
_getsignal: Final = signal.getsignal
_raise_signal: Final = signal.raise_signal

#: The code's own handler.
_handler: Any = signal.SIG_DFL
_is_armed = False
_ask: Callable[..., tuple[float, float]]
_runs_user_code: Callable[[FrameType | None], bool]


def sleep(seconds: float) -> None:
    """As `time.sleep`, which ends early when the signal is raised."""
    if not _is_armed:
        _sleep(seconds)
        return
    end = time.monotonic() + seconds
    while seconds > 0:
        _sleep(seconds)
        seconds = end - time.monotonic()


def _raised(number: int, frame: FrameType | None) -> None:
    if not _runs_user_code(frame):
        _ask(_AGAIN, _ask()[1])
    elif callable(_handler):
        _handler(number, frame)
    elif _handler == signal.SIG_DFL:
        print("Alarm clock", file=sys.stderr)
        raise SystemExit(_STATUS)


def _raise(signalnum: int, /) -> None:
    """Send a signal to the executing process."""
    number = operator.index(signalnum)
    if not 0 <= number < signal.NSIG:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    if number:  # C's own traps for what is not a signal
        _raise_signal(number)


def _set_handler(signalnum: Any, handler: Any, /) -> Any:
    global _handler
    if signalnum != signal.SIGALRM:
        return _signal(signalnum, handler)
    if not callable(handler) and handler not in (signal.SIG_DFL, signal.SIG_IGN):
        return _signal(signalnum, handler)  # raises what is right
    # One of the code's own is called by ours, which knows whether the code is running.
    before, _handler = _get_handler(signalnum), handler
    _signal(signalnum, _raised if callable(handler) or _is_armed else handler)
    return before


def _get_handler(signalnum: Any, /) -> Any:
    return _handler if signalnum == signal.SIGALRM else _getsignal(signalnum)


def _alarm(seconds: int, /) -> int:
    """Arrange for SIGALRM to arrive after the given number of seconds."""
    return math.ceil(_set_timer(signal.ITIMER_REAL, int(seconds))[0])


def _set_timer(which: int, seconds: float, interval: float = 0.0, /) -> tuple[float, float]:
    """Sets given itimer (one of ITIMER_REAL, ITIMER_VIRTUAL or ITIMER_PROF)."""
    global _is_armed
    if which not in range(3) or seconds < 0 or interval < 0:
        raise signal.ItimerError(28, "Invalid argument")
    if which != signal.ITIMER_REAL:
        if seconds:
            raise signal.ItimerError(f"the sandbox has no timer signal.{_NAMES[which]}: use ITIMER_REAL")
        return (0.0, 0.0)
    if seconds and not _is_armed:
        _is_armed = True
        _signal(signal.SIGALRM, _raised)
    return _ask(float(seconds), float(interval))


def _get_timer(which: int, /) -> tuple[float, float]:
    """Returns current value of given itimer."""
    if which not in range(3):
        raise signal.ItimerError(28, "Invalid argument")
    return _ask() if which == signal.ITIMER_REAL else (0.0, 0.0)


def install(call_host: Callable[[bytes], bytes]) -> None:
    """Put this in place."""
    global _ask

    def ask(*setting: float) -> tuple[float, float]:
        status, answer = decode(call_host(b"F" + encode(("timer", *setting))))
        if status != "ok":
            raise signal.ItimerError(
                "this session has no alarm signal, since it could not be repeated: run the code with "
                "timeout=, or use asyncio.timeout()"
            )
        return answer[0], answer[1]

    _ask = ask
    for number, name in enumerate(_NAMES):
        setattr(signal, name, number)
    signal.ItimerError = OSError  # type: ignore[misc,assignment]
    for name, function in (
        ("raise_signal", _raise),
        ("signal", _set_handler),
        ("getsignal", _get_handler),
        ("alarm", _alarm),
        ("setitimer", _set_timer),
        ("getitimer", _get_timer),
    ):
        function.__name__ = function.__qualname__ = name
        setattr(signal, name, function)


def connect(runs_user_code: Callable[[FrameType | None], bool]) -> None:
    """Have the signal raised only in frames of which this is true."""
    global _runs_user_code
    _runs_user_code = runs_user_code
