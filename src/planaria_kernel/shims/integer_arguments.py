"""Arrays of int64 where functions of extension modules want indices, which have 32 bits in the sandbox."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

__all__ = ["narrow_arguments", "narrowing"]


def narrow_arguments(module: Any) -> None:
    """Let an extension module's functions take int64 where they want indices, as they do on a desktop."""
    for name, value in list(vars(module).items()):
        kind = type(value).__name__
        if kind == "cython_function_or_method":
            setattr(module, name, narrowing(value))
        elif kind == "fused_cython_function":
            setattr(module, name, _Fused(value))


def narrowing(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except ValueError as error:
            if not _wants_indices(error):
                raise
        return _call_narrowed(function, args, kwargs)

    return update_wrapper(wrapper, function)


def _wants_indices(error: ValueError) -> bool:
    """Whether Cython refused an array of int64 before anything was done."""
    message = str(error)
    return message.startswith("Buffer dtype mismatch") and "intp" in message and "'long long'" in message


def _call_narrowed(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    pairs: list[tuple[Any, Any]] = []

    def narrowed(value: Any) -> Any:
        if type(value) is list:
            return [narrowed(item) for item in value]
        if getattr(getattr(value, "dtype", None), "char", "") != "q":
            return value
        pairs.append((value, value.astype("l")))
        return pairs[-1][1]

    result = function(*map(narrowed, args), **{name: narrowed(value) for name, value in kwargs.items()})
    for wide, narrow in pairs:  # one of them may be there to be filled
        if wide.flags.writeable:
            wide[...] = narrow
    return result


class _Fused:
    """A Cython function for several types, one of which can be chosen by its name."""

    def __init__(self, function: Any) -> None:
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.__wrapped__(*args, **kwargs)
        except ValueError as error:
            if not _wants_indices(error):
                raise
        return _call_narrowed(self.__wrapped__, args, kwargs)

    def __getitem__(self, types: Any) -> Callable[..., Any]:
        return narrowing(self.__wrapped__[types])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)
