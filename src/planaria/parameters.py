"""Misspelled and missing arguments: a TypeError that names what was meant, as the caller wrote the call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from typing import Any, Final, ForwardRef, ParamSpec, TypeVar, cast

__all__ = [
    "check_string_dict",
    "check_strings",
    "suggest_field_names",
    "suggest_names",
    "suggest_option_names",
]

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)

_OWNERS: Final = {"self", "cls"}
_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def suggest_names(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function refuse unknown keyword arguments with a suggestion. Its signature stays visible."""
    return suggest_option_names({})(function)


def suggest_option_names(
    options: Mapping[str, object], *, meanings: Mapping[str, str] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`suggest_names` for a function that also takes `options` as `**keywords`: names and annotations, as
    those of the TypedDict of the keywords. Its signature has each of them, with `...` as the default.

    `meanings` has what to write for other names: the name of a parameter, or one with its value.
    """
    others = {} if meanings is None else meanings

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = {
            name: one
            for name, one in inspect.signature(function).parameters.items()
            if one.kind is not inspect.Parameter.VAR_KEYWORD
        }
        positional = [name for name, one in parameters.items() if one.kind in _POSITIONAL]
        required = [name for name, one in parameters.items() if _is_required(one) and name not in _OWNERS]
        known = [name for name in (*parameters, *options) if name not in _OWNERS]
        names = frozenset(known)

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            if len(args) > len(positional) or not kwargs.keys() <= names or required:
                _check(function, args, kwargs, positional, required, known, others)
            return function(*args, **kwargs)

        if options:
            cast(Any, checked).__signature__ = _with_options(inspect.signature(function), options)
        return checked

    return decorate


def _with_options(signature: inspect.Signature, options: Mapping[str, object]) -> inspect.Signature:
    """A signature with each of the options in place of `**keywords`."""
    own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    others = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=...,
            annotation=annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation,
        )
        for name, annotation in options.items()
    ]
    return signature.replace(parameters=[*own, *others])


def _is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL


def suggest_field_names(kind: C) -> C:
    """Have a dataclass refuse unknown fields with a suggestion."""
    kind.__init__ = suggest_names(kind.__init__)  # type: ignore[misc]
    return kind


def check_strings(name: str, given: object) -> None:
    """Raise TypeError when the argument `name` is not a list, tuple or other sequence of strings."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        raise TypeError(f"{name}= must be a list of strings, not {_described(given)}")
    for one in given:
        if not isinstance(one, str):
            raise TypeError(f"{name}= must be a list of strings; {one!r} is of type {type(one).__name__}")


def check_string_dict(name: str, given: object) -> None:
    """Raise TypeError when the argument `name` is not a dict or other mapping of strings to strings."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{name}= must be a dict of strings, not {_described(given)}")
    for one in (*given.keys(), *given.values()):
        if not isinstance(one, str):
            raise TypeError(f"{name}= must be a dict of strings; {one!r} is of type {type(one).__name__}")


def _described(value: object) -> str:
    return f"the string {value!r}" if isinstance(value, str) else f"{type(value).__name__}"


def _check(
    function: Callable[..., object],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    positional: list[str],
    required: list[str],
    known: list[str],
    others: Mapping[str, str],
) -> None:
    """Raise TypeError for a call that does not fit the parameters."""
    called = _called(function, args, positional)
    if len(args) > len(positional) and set(positional) <= _OWNERS:
        raise TypeError(f"{called}() takes only keyword arguments, as in {called}({known[0]}=...)")
    for unknown in kwargs:
        if unknown not in known:
            suggestion = _suggestion(unknown, known, others)
            raise TypeError(f"{called}() got an unexpected keyword argument {unknown!r}{suggestion}")
    given = {*positional[: len(args)], *kwargs}
    missing = [repr(name) for name in required if name not in given]
    if missing:
        plural = "" if len(missing) == 1 else "s"
        raise TypeError(f"{called}() is missing the argument{plural} {' and '.join(missing)}")


def _called(function: Callable[..., object], args: tuple[object, ...], positional: list[str]) -> str:
    """The function as its callers write it."""
    if not positional or positional[0] not in _OWNERS or not args:
        return function.__name__
    owner = args[0] if isinstance(args[0], type) else type(args[0])
    return owner.__name__ if function.__name__ == "__init__" else f"{owner.__name__}.{function.__name__}"


def _suggestion(unknown: str, known: list[str], others: Mapping[str, str]) -> str:
    if (meant := others.get(unknown)) in known:
        return f". Did you mean {meant!r}?"
    inner = [name for name, meant in others.items() if "=" in meant]
    near = get_close_matches(unknown, [*known, *inner], 1)
    if not near:
        return ""
    return f". Did you mean {repr(near[0]) if near[0] in known else others[near[0]]}?"
