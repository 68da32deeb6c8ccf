"""Whether the call that is being made is awaited on the spot: `await f()` and not `f()`."""

from __future__ import annotations

import dis
import inspect
from types import CodeType, FrameType
from typing import Final

__all__ = ["is_awaited"]

_ASYNCHRONOUS: Final = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_MOST_KEPT: Final = 256

#: Where code awaits what it has just called, by the id of the code, which is kept alive beside it.
_awaited: dict[int, tuple[CodeType, frozenset[int]]] = {}


def is_awaited(caller: FrameType) -> bool:
    """Whether `caller`, a frame that stands at a call, awaits what that call returns.

    So its next instruction decides. A value that is only put aside to be awaited later is not awaited.
    """
    code = caller.f_code
    if not code.co_flags & _ASYNCHRONOUS:
        return False
    known = _awaited.get(id(code))
    if known is None:
        while len(_awaited) >= _MOST_KEPT:
            _awaited.pop(next(iter(_awaited)), None)
        known = _awaited[id(code)] = (code, _awaiting_calls(code))
    return caller.f_lasti in known[1]


def _awaiting_calls(code: CodeType) -> frozenset[int]:
    """Where a frame of `code` can stand while it makes a call whose result is awaited at once."""
    found: set[int] = set()
    call = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "GET_AWAITABLE" and call is not None:
            # At the call, or at the caches that follow it (CPython 3.11, calling a function in Python).
            found.update(range(call, instruction.offset, 2))
        call = instruction.offset if instruction.opname.startswith("CALL") else None
    return frozenset(found)
