"""Calls on a stack of our own, large enough for CPython in WebAssembly.

CPython's own recursion check must fire before the WebAssembly stack ends, so guests get 128 MiB of
it (address space; only what is used takes memory); a main thread has 8 MiB, other threads often less.
Handing each call to a thread with a large stack costs two wake-ups across cores (about 55 us on a
virtual machine). Switching the stack of the calling thread costs 2 us: `swapcontext` of the C library
runs a callback on another stack and comes back, strictly nested, like any call (makecontext(3)).

Where the C library has no `swapcontext`, where Python checks its stack by address (3.14 and newer),
or where greenlets copy stacks about, a worker thread with a large stack takes its place.
"""

from __future__ import annotations

import contextvars
import ctypes
import mmap
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

__all__ = ["STACK_BYTES", "call_on_large_stack", "switches_stacks"]

Result = TypeVar("Result")

STACK_BYTES: Final = 160 << 20
_GUARD_BYTES: Final = 64 << 10
_KEEP_FREE: Final = 8
#: How much of a stack that is kept for the next call may stay in memory, in bytes.
_KEEP_RESIDENT: Final = 1 << 20
#: A call that leaves this many bytes zero just below that did not go so deep: no frame is as large.
_UNTOUCHED: Final = bytes(4096)
#: In seconds. A signal that arrives just before the system waits does not end that wait, so none is long.
_LONGEST_WAIT: Final = 0.1

_MAP_NORESERVE: Final = 0x4000
_MAP_STACK: Final = 0x20000
_PROT_NONE: Final = 0


def _library() -> ctypes.PyDLL | None:
    """The C library with its context functions typed, or None where it has none we can use.

    They are called with Python's lock held, so that what runs on the other stack has it.
    """
    if not sys.platform.startswith("linux") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    if sys.version_info >= (3, 14):
        return None
    library = ctypes.PyDLL(None, use_errno=True)
    try:
        library.getcontext.argtypes = [ctypes.c_void_p]
        library.swapcontext.restype = ctypes.c_int
        library.makecontext.restype = None
    except AttributeError:  # musl
        return None
    library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return library


_LIBRARY: Final = _library()
#: The address of the function of CPython that calls an object.
_CALL: Final = ctypes.cast(ctypes.pythonapi.PyObject_CallNoArgs, ctypes.c_void_p)


class _Segment:
    """One stack and the two contexts between which it switches; used by one call at a time."""

    __slots__ = ("_enter", "_fields", "_function", "_here", "_prepare", "_result", "_stack", "_there")

    def __init__(self) -> None:
        assert _LIBRARY is not None
        self._stack = mmap.mmap(
            -1, STACK_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE | _MAP_STACK
        )
        bottom = ctypes.addressof(ctypes.c_char.from_buffer(self._stack))
        if _LIBRARY.mprotect(bottom, _GUARD_BYTES, _PROT_NONE):
            raise OSError(ctypes.get_errno(), "cannot guard the end of a stack")
        # ucontext_t is 968 bytes on x86-64 and 4560 on AArch64 and begins alike on both:
        # flags, link, then the stack as pointer, flags and size.
        self._here = ctypes.create_string_buffer(8192)
        self._there = ctypes.create_string_buffer(8192)
        _LIBRARY.getcontext(self._there)
        self._fields = (ctypes.c_uint64 * 5).from_buffer(self._there)
        self._fields[1] = ctypes.addressof(self._here)
        self._fields[2] = bottom
        self._fields[4] = STACK_BYTES
        self._function: Callable[[], Any] | None = None
        self._result: Any = None

        def run() -> None:  # returns nothing, as nothing on the other stack would take it
            assert self._function is not None
            self._result = self._function()

        # Given as values of C, without types of arguments: converting takes longer than the call.
        here, there = map(ctypes.c_void_p, map(ctypes.addressof, (self._here, self._there)))
        callee = ctypes.c_void_p.from_buffer(ctypes.py_object(run))
        self._prepare = partial(_LIBRARY.makecontext, there, _CALL, ctypes.c_int(1), callee)
        self._enter = partial(_LIBRARY.swapcontext, here, there)

    def call(self, function: Callable[[], Result]) -> Result:
        self._function = function
        self._prepare()
        try:
            self._enter()  # raises what the function raised
            return self._result  # type: ignore[no-any-return]
        finally:
            self._function = self._result = None
            self._trim()

    def _trim(self) -> None:
        """Give the memory of deep recursion back."""
        end = STACK_BYTES - _KEEP_RESIDENT
        if self._stack[end - len(_UNTOUCHED) : end] != _UNTOUCHED:
            self._stack.madvise(mmap.MADV_DONTNEED, _GUARD_BYTES, end - _GUARD_BYTES)


_free: list[_Segment] = []


def switches_stacks() -> bool:
    """Whether calls stay on the calling thread (True) or go to a worker thread (False)."""
    return _LIBRARY is not None and "greenlet" not in sys.modules


def call_on_large_stack(function: Callable[[], Result], interrupt: Callable[[], object]) -> Result:
    """Call `function()` with `STACK_BYTES` of stack; its result or exception comes back.

    Runs on the calling thread where it can, else on another one while this thread waits;
    `interrupt()` is called when a KeyboardInterrupt hits that wait, and the wait goes on.
    Calls may nest: each gets a stack of its own.
    """
    if not switches_stacks():
        return call_on_thread(function, interrupt)
    try:
        segment = _free.pop()
    except IndexError:
        segment = _Segment()
    try:
        return segment.call(function)
    finally:
        if len(_free) < _KEEP_FREE:
            _free.append(segment)


_stack_size_lock = threading.Lock()


def call_on_thread(function: Callable[[], Result], interrupt: Callable[[], object]) -> Result:
    """Call `function()` on a new thread with a large stack and wait for it, in a copy of its context."""
    context = contextvars.copy_context()
    outcome: list[Result] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(context.run(function))
        except BaseException as error:  # carried to the thread that waits
            failure.append(error)

    with _stack_size_lock:
        before = threading.stack_size(STACK_BYTES)
        try:
            thread = threading.Thread(target=run, name="planaria-guest", daemon=True)
            thread.start()
        finally:
            threading.stack_size(before)
    while thread.is_alive():
        try:
            thread.join(_LONGEST_WAIT)
        except KeyboardInterrupt:
            interrupt()
    if failure:
        raise failure[0]
    return outcome[0]
