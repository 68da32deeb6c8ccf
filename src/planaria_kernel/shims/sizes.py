"""Sizes as on a 64-bit desktop, where Python code chooses or checks them.

Pointers have 32 bits here, so `sys.maxsize` would be 2**31 - 1, and `min(3_000_000_000, sys.maxsize)` the
wrong number. It is the desktop's value instead, and functions of the standard library that are called with it
or with other numbers beyond 2**31 take them. What compiled code measures (`len`, the length of a deque)
still ends at 2**31 - 1; the OverflowError beyond says why (`planaria_kernel.execution.error_reports`).
"""

from __future__ import annotations

import _collections_abc
import functools
import itertools
import math
import sys
from collections.abc import Callable, Iterator
from types import FunctionType, SimpleNamespace
from typing import Any, Final

from planaria_kernel.shims.importing import when_imported

__all__ = ["install"]

#: The largest size, index and C long of compiled code.
_LARGEST: Final = 2**31 - 1
#: `sys.maxsize` of a desktop.
_DESKTOP: Final = 2**63 - 1

#: Stands for `sys` in Python code that gives `sys.maxsize` to compiled code, and uses nothing else of it.
_COMPILED: Final = SimpleNamespace(maxsize=_LARGEST)

_END: Final = object()


def _with_compiled_sizes(function: Any) -> Any:
    """The function, for which `sys.maxsize` is the largest size of compiled code."""
    names = {**function.__globals__, "sys": _COMPILED}
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    return functools.update_wrapper(copy, function)


def _change_streams(module: Any) -> None:
    reader = module.DecompressReader
    reader.readall = _with_compiled_sizes(reader.readall)


def _change_print_options(module: Any) -> None:
    module.default_format_options_dict["legacy"] = _LARGEST


def _change_array_printing(module: Any) -> None:
    module.sys = _COMPILED


def _length(sized: Any) -> int:
    """`len`, also of a range that is longer than the largest size."""
    if type(sized) is range and sized:
        return int((sized[-1] - sized.start) // sized.step) + 1
    return len(sized)


#: The hash of a rational number is that number modulo this prime on a desktop, where hashes have 64 bits.
_MODULUS: Final = 2**61 - 1


def _desktop_hash(number: float) -> int:
    """`hash` of a float on a desktop (https://docs.python.org/3/library/stdtypes.html#hashing-of-numeric-types)."""
    if math.isinf(number):
        return sys.hash_info.inf if number > 0 else -sys.hash_info.inf
    numerator, denominator = abs(number).as_integer_ratio()
    value = numerator * pow(denominator, -1, _MODULUS) % _MODULUS
    return -2 if (value, number < 0) == (1, True) else value if number >= 0 else -value


def _change_random(module: Any) -> None:
    module.len = _length
    original = module.Random.seed

    @functools.wraps(original)
    def seed(self: Any, a: Any = None, version: int = 2) -> None:
        # A float seeds by its hash, as an unsigned number of the size of a pointer.
        if type(a) is float and not math.isnan(a):
            a = _desktop_hash(a) % 2**64
        original(self, a, version)

    module.Random.seed = seed
    module.seed = module._inst.seed


def _change_csv(module: Any) -> None:
    original = module.field_size_limit

    @functools.wraps(original)
    def field_size_limit(*limit: Any) -> Any:
        if len(limit) == 1 and isinstance(limit[0], int):
            limit = (min(limit[0], _LARGEST),)
        return original(*limit)

    module.field_size_limit = field_size_limit


def _lru_cache(original: Any) -> Any:
    @functools.wraps(original)
    def lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
        if not isinstance(maxsize, int) or maxsize <= _LARGEST:
            return original(maxsize, typed)

        def decorating_function(user_function: Callable[..., Any]) -> Any:
            wrapper = original(_LARGEST, typed)(user_function)
            wrapper.cache_parameters = lambda: {"maxsize": maxsize, "typed": typed}
            return wrapper

        return decorating_function

    return lru_cache


def _elements(iterator: Iterator[Any], start: int, stop: int) -> Iterator[Any]:
    """The elements from `start` up to `stop`, either of which may be larger than the largest size."""
    for number in _parts(start):
        if next(_islice(iterator, number - 1, number), _END) is _END:
            return
    for number in _parts(stop - start):
        first = next(iterator, _END)
        if first is _END:
            return
        yield first
        yield from _islice(iterator, number - 1)


def _parts(number: int) -> Iterator[int]:
    while number > 0:
        yield min(number, _LARGEST)
        number -= _LARGEST


_islice: Any = itertools.islice


class islice(_islice):  # type: ignore[misc]  # noqa: N801 - it stands for the one of itertools
    __doc__ = _islice.__doc__
    __slots__ = ()

    def __new__(cls, *arguments: Any) -> Any:
        try:
            return _islice.__new__(cls, *arguments)
        except ValueError:
            if not any(type(bound) is int and _LARGEST < bound <= _DESKTOP for bound in arguments[1:]):
                raise
        iterable, *bounds = arguments
        limits = slice(*bounds)
        # Raises the error of what else is wrong with them.
        _islice.__new__(cls, (), *(min(bound, _LARGEST) if type(bound) is int else bound for bound in bounds))
        start, stop = limits.start or 0, _DESKTOP if limits.stop is None else limits.stop
        return _islice.__new__(cls, _elements(iter(iterable), start, stop), None, None, limits.step)


def install() -> None:
    """Put the desktop's sizes in place, in modules when they are imported."""
    sys.maxsize = _DESKTOP
    _collections_abc.Set._hash = _with_compiled_sizes(_collections_abc.Set._hash)  # type: ignore[method-assign]
    functools.lru_cache = _lru_cache(functools.lru_cache)
    islice.__module__ = "itertools"
    itertools.islice = islice  # type: ignore[misc]
    for module in list(sys.modules.values()):
        if vars(module).get("islice") is _islice:  # imported it by name before
            module.islice = islice  # type: ignore[attr-defined]
    when_imported("random", _change_random)
    when_imported("csv", _change_csv)
    when_imported("compression._common._streams", _change_streams)
    when_imported("numpy._core.arrayprint", _change_array_printing)
    when_imported("numpy._core.printoptions", _change_print_options)
