"""Host functions as the guest's code sees them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Coroutine
from types import CoroutineType
from typing import Any

from planaria_kernel.protocol.signatures import ArgumentCheck

__all__ = ["Callback", "CallbackNamespace", "Callbacks"]

_Awaited = Callable[[str, tuple[Any, ...], dict[str, Any]], Coroutine[Any, Any, Any]]
_Blocking = Callable[[str, tuple[Any, ...], dict[str, Any]], Any]


class Callback:
    """A function of the host: `await name(...)` calls it; `name.call(...)` calls it and blocks."""

    def __init__(self, declared: dict[str, Any], awaited: _Awaited, blocking: _Blocking) -> None:
        self.__name__ = self.__qualname__ = declared["name"]
        self.__doc__ = declared.get("description") or None
        self.schema = declared.get("schema")
        self.__signature__ = _signature(declared.get("signature"))
        self._check = None if self.__signature__ is None else ArgumentCheck(self.__signature__)
        self._awaited = awaited
        self._blocking = blocking
        if sys.version_info >= (3, 12):
            inspect.markcoroutinefunction(self)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        check = self._check
        if check is not None and (len(kwargs) > 0 or len(args) not in check.taken):
            try:
                check(args, kwargs)
            except TypeError as error:
                raise self._refusal(error) from None
        made = self._awaited(self.__name__, args, kwargs)
        if type(made) is CoroutineType:
            # For its repr, and the warning where it is never awaited.
            made.__name__ = made.__qualname__ = self.__name__
        return made

    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the host function and wait for it, without await; for plain functions."""
        try:
            if self._check is not None:
                self._check(args, kwargs)
        except TypeError as error:
            raise self._refusal(error) from None
        return self._blocking(self.__name__, args, kwargs)

    def _refusal(self, error: TypeError) -> TypeError:
        """The error for arguments that the host function would not take, before anything is sent."""
        return TypeError(f"{self.__name__}(): {error}; its signature is {self._text()}")

    def _text(self) -> str:
        return f"{self.__name__}{self.__signature__ or '(...)'}"

    def __repr__(self) -> str:
        return f"<host function {self._text()}>"


class CallbackNamespace:
    """The part of a dotted name before a dot: `tools` in `tools.search`."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __repr__(self) -> str:
        members = ", ".join(name for name in self.__dict__ if name != "_name")
        return f"<host functions {self.__dict__['_name']}: {members}>"


class Callbacks:
    """Every host function, and the names by which guest code reaches them (`names`)."""

    def __init__(self, awaited: _Awaited, blocking: _Blocking) -> None:
        self._awaited = awaited
        self._blocking = blocking
        self._declared: dict[str, dict[str, Any]] = {}
        self._callbacks: dict[str, Callback] = {}
        self.names: dict[str, Any] = {}

    def declare(self, declarations: list[dict[str, Any]]) -> None:
        """Replace all host functions by these."""
        self._declared = {declared["name"]: declared for declared in declarations}
        self._callbacks = {}
        self.names = {"invoke": self.invoke, "list_callbacks": self.list_callbacks}
        for name, declared in self._declared.items():
            callback = Callback(declared, self._awaited, self._blocking)
            self._callbacks[name] = callback
            *path, last = name.split(".")
            scope = self.names
            for depth, part in enumerate(path, 1):
                space = scope.get(part)
                if not isinstance(space, CallbackNamespace):
                    space = scope[part] = CallbackNamespace(".".join(path[:depth]))
                scope = space.__dict__
            scope[last] = callback

    def invoke(self, name: str, /, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        """Call a host function by its name: `await invoke("search", query="x")`."""
        callback = self._callbacks.get(name)
        if callback is None:
            known = ", ".join(sorted(self._callbacks)) or "none is declared"
            raise NameError(f"there is no host function {name!r}; known: {known}")
        return callback(*args, **kwargs)

    def list_callbacks(self) -> list[dict[str, Any]]:
        """The host functions: name, description, signature as text, and schema where there is one."""
        listed = []
        for name, declared in self._declared.items():
            entry = {"name": name, "description": declared.get("description") or ""}
            signature = self._callbacks[name].__signature__
            if signature is not None:
                entry["signature"] = str(signature)
            if declared.get("schema") is not None:
                entry["schema"] = declared["schema"]
            listed.append(entry)
        return listed


def _signature(parameters: Any) -> inspect.Signature | None:
    """A signature from what the host declares.

    That is a list of (name, kind, annotation text or None) or (name, kind, annotation, text of the
    default): kind is the name of one of `inspect.Parameter`'s, in lower case. None: anything goes.
    """
    if parameters is None:
        return None
    made = []
    for name, kind, annotation, *default in parameters:
        made.append(
            inspect.Parameter(
                name,
                getattr(inspect.Parameter, kind.upper()),
                default=_Text(default[0]) if default else inspect.Parameter.empty,
                annotation=inspect.Parameter.empty if annotation is None else _Text(annotation),
            )
        )
    return inspect.Signature(made)


class _Text(str):
    """Text that prints as it is: a default or annotation known by its source only."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
