"""How much the variables of a shell hold, and whether that is too much."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from planaria_shell.state.control import LimitReachedError
from planaria_shell.state.limits import Counters
from planaria_shell.state.scopes import Scopes
from planaria_shell.state.variable import ASSOCIATIVE, Variable

__all__ = ["measure"]


def measure(counters: Counters, scopes: Scopes, more: int) -> None:
    """See how much all variables hold, with `more` characters to come, and how much may be added until the
    next look.

    Raises LimitReachedError, or MemoryError when it is the memory that sets the limit.
    """
    limit = counters.limits.variable_bytes
    memory = counters.memory
    if memory is not None and (limit is None or memory < limit):
        limit = memory
    if limit is None:
        counters.growth = 1 << 62
        return
    total = more
    tables: list[Mapping[str, Variable | None]] = [scopes.table]
    tables += [scope.saved for scope in scopes.scopes]
    for variable in chain.from_iterable(table.values() for table in tables):
        if variable is None:
            continue
        total += len(variable.value or "")
        if variable.array:
            total += sum(map(len, variable.array.values()))
            if variable.flags & ASSOCIATIVE:
                total += sum(len(str(key)) for key in variable.array)
    if total > limit == memory:
        raise MemoryError
    if total > limit:
        raise LimitReachedError("variable_bytes", f"limit reached: variable_bytes ({limit})")
    counters.growth = max(limit - total, limit // 16)
