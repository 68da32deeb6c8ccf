"""Host functions that code in the sandbox may call."""

from __future__ import annotations

import builtins
import inspect
import keyword
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Final, TypeVar, overload

from planaria import errors
from planaria.errors import (
    ArtifactError,
    CallbackError,
    CapabilityError,
    DependencyError,
    EncodeError,
    SessionError,
    StorageError,
    ToolCallError,
    WorkflowError,
)
from planaria.executors.messages import Raised
from planaria.snapshot.record import Declaration
from planaria_kernel.protocol import encode
from planaria_kernel.protocol.signatures import ArgumentCheck

__all__ = ["Callback", "CallbackRegistry", "Callbacks", "not_serialisable", "raised", "too_large"]

Function = TypeVar("Function", bound=Callable[..., object])

#: Types of an exception's arguments that arrive as what they are, also in a tuple.
_PLAIN = (str, int, float, bool, bytes, type(None))
#: Exceptions of which the kernel makes another one, of the message.
_OF_A_MESSAGE = frozenset({"StopIteration", "ExceptionGroup", "BaseExceptionGroup"})
#: Exceptions that are only made of all their arguments; without these they arrive as a UnicodeError.
_OF_ARGUMENTS = frozenset({"UnicodeDecodeError", "UnicodeEncodeError", "UnicodeTranslateError"})
#: What arrives in the sandbox as what it is.
_OWN = (ArtifactError, DependencyError, SessionError, StorageError, ToolCallError, WorkflowError)
#: Answers of fewer bytes are sent again when others did not fit into the sandbox's memory.
_SMALL_ANSWER: Final = 65536
#: Names that code finds without an import.
_BUILTINS: Final = frozenset(dir(builtins))
#: The same of ours, which a callback takes the place of.
_OURS: Final = frozenset({"invoke", "list_callbacks"})
#: Those that code finds before callbacks.
_FIRST: Final = frozenset({"display", "get_ipython"})


@dataclass(frozen=True, slots=True)
class Callback:
    """One host function with the name it has in the sandbox (dots make namespaces).

    Raises CallbackError when the name is not usable or the function is not callable.
    """

    name: str
    function: Callable[..., object]
    description: str = ""
    schema: Mapping[str, object] | None = None
    """A JSON schema of the arguments, shown by `list_callbacks()`."""
    on_caller_thread: bool = False
    """Call a plain function on the thread that executes, one call at a time, for what belongs to a thread (a
    connection of `sqlite3`, a window). While it runs, the execution's time limit cannot end it."""
    check: ArgumentCheck | None = field(init=False, compare=False, repr=False)
    """Raises TypeError for arguments that the function does not take; None when that is not known."""
    is_async: bool = field(init=False, compare=False)
    """Whether calling it gives a coroutine."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not all(
            part.isidentifier() and not keyword.iskeyword(part) for part in self.name.split(".")
        ):
            raise CallbackError(f"a callback's name must be identifiers joined by dots, not {self.name!r}")
        first = self.name.partition(".")[0]
        if first.startswith("__") and first.endswith("__"):
            raise CallbackError(f"callback {self.name!r}: names of the form __name__ are Python's own")
        if not callable(self.function):
            raise CallbackError(
                f"callback {self.name!r}: 'fn' must be a function, not {type(self.function).__name__}"
            )
        try:
            check = ArgumentCheck(inspect.signature(self.function))
        except (TypeError, ValueError):  # some functions written in C do not tell
            check = None
        object.__setattr__(self, "check", check)
        asynchronous = inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(
            type(self.function).__call__
        )
        object.__setattr__(self, "is_async", asynchronous)

    @classmethod
    def of(cls, item: Callback | Mapping[str, object] | Callable[..., object]) -> Callback:
        """Make one of what a user gave: a Callback, a dict, or a function with a name."""
        if isinstance(item, Callback):
            return item
        if isinstance(item, Mapping):
            unknown = set(item) - {"name", "fn", "description", "schema", "on_caller_thread"}
            if unknown or "name" not in item or "fn" not in item:
                raise CallbackError(
                    "a callback is a dict with 'name' and 'fn', and 'description' and 'schema' if you like; "
                    + (
                        f"unknown: {', '.join(map(repr, sorted(unknown)))}"
                        if unknown
                        else f"got {sorted(item)}"
                    )
                )
            return _of_dict(item)
        name = getattr(item, "__name__", None)
        if callable(item) and name:
            return cls(name, item, inspect.getdoc(item) or "")
        raise CallbackError(
            "a callback must be a function, a dict with 'name' and 'fn', or a Callback, "
            f"not {type(item).__name__}"
        )

    @property
    def signature(self) -> inspect.Signature | None:
        """What arguments the function takes, if that is known."""
        return None if self.check is None else self.check.signature

    def declaration(self) -> Declaration:
        """What the kernel is configured with."""
        declared: Declaration = {"name": self.name, "description": self.description}
        if self.schema is not None:
            declared["schema"] = dict(self.schema)
        if self.signature is not None:
            declared["signature"] = [_declared(one) for one in self.signature.parameters.values()]
        return declared


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == "planaria"


def _of_dict(item: Mapping[str, object]) -> Callback:
    name, function, schema = item["name"], item["fn"], item.get("schema")
    # The constructor refuses a name or function of another type with the words for it.
    return Callback(
        name,  # type: ignore[arg-type]
        function,  # type: ignore[arg-type]
        str(item.get("description") or ""),
        schema if isinstance(schema, Mapping) else None,
        bool(item.get("on_caller_thread")),
    )


def _declared(parameter: inspect.Parameter) -> tuple[object, ...]:
    """A parameter as the kernel takes it: name, kind, annotation, and the repr of its default if any."""
    annotation = None
    if parameter.annotation is not parameter.empty:
        annotation = parameter.annotation
        if not isinstance(annotation, str):
            annotation = inspect.formatannotation(annotation)
    declared = (parameter.name, parameter.kind.name, annotation)
    if parameter.default is parameter.empty:
        return declared
    default = repr(parameter.default)
    return (*declared, "..." if "0x" in default else default)  # not the address of an object of the host


class CallbackRegistry:
    """Callbacks collected with a decorator:

    registry = CallbackRegistry()

    @registry.callback
    def add(a: int, b: int) -> int: ...

    @registry.callback(name="store.get", description="Read a key")
    async def get(key: str) -> str | None: ...

    Session(callbacks=registry)
    """

    def __init__(
        self, callbacks: Iterable[Callback | Mapping[str, object] | Callable[..., object]] = ()
    ) -> None:
        self._callbacks: dict[str, Callback] = {}
        for item in callbacks:
            self.add(item)

    @classmethod
    def of(cls, callbacks: object) -> CallbackRegistry:
        """What a user gave as `callbacks=`, as a registry."""
        if isinstance(callbacks, CallbackRegistry):
            return callbacks
        if isinstance(callbacks, (str, Mapping)) or not isinstance(callbacks, Iterable):
            raise CallbackError(
                "callbacks= is a list of functions and of dicts with 'name' and 'fn', or a CallbackRegistry, "
                f"not {type(callbacks).__name__}"
            )
        return cls(callbacks)

    def add(self, item: Callback | Mapping[str, object] | Callable[..., object]) -> Callback:
        """Add one; raises CallbackError when the name is taken, or is a namespace of another's."""
        callback = Callback.of(item)
        name = callback.name
        for other in self._callbacks:
            if other == name or other.startswith(name + ".") or name.startswith(other + "."):
                raise CallbackError(f"callback {name!r} collides with {other!r}")
        self._callbacks[name] = callback
        return callback

    @overload
    def callback(self, function: Function) -> Function: ...

    @overload
    def callback(
        self,
        *,
        name: str | None = None,
        description: str | None = None,
        schema: Mapping[str, object] | None = None,
    ) -> Callable[[Function], Function]: ...

    def callback(
        self,
        function: Function | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        schema: Mapping[str, object] | None = None,
    ) -> Function | Callable[[Function], Function]:
        """Decorate a function, plainly or with arguments; the function itself is returned unchanged."""

        def register(function: Function) -> Function:
            text = description if description is not None else (inspect.getdoc(function) or "")
            self.add(Callback(name or function.__name__, function, text, schema))
            return function

        return register if function is None else register(function)

    def __iter__(self) -> Iterator[Callback]:
        return iter(self._callbacks.values())

    def __len__(self) -> int:
        return len(self._callbacks)

    def warn_of_builtins(self) -> None:
        """Warn of callbacks that take the place of a function of Python's or of ours, or cannot.

        The warning names the caller of planaria.
        """
        given = {one.name.partition(".")[0] for one in self}
        for names, effect in (
            (given & _BUILTINS, "cells get that instead of Python's builtin"),
            (given & _OURS, "cells get that instead of the function of planaria"),
            (given & _FIRST, "cells get instead the function of planaria"),
        ):
            if names:
                self._warn(sorted(names), effect)

    def _warn(self, names: list[str], effect: str) -> None:
        level = 2
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and _is_ours(frame.f_globals.get("__name__")):
            level, frame = level + 1, frame.f_back
        these = "a callback named" if len(names) == 1 else "callbacks named"
        warnings.warn(
            f"{these} {', '.join(map(repr, names))}: {effect} of this name; "
            "{'name': ..., 'fn': ...} gives it another name",
            stacklevel=level,
        )

    def get(self, name: str) -> Callback | None:
        """The callback of that name, or None."""
        return self._callbacks.get(name)


#: What a user may give as `callbacks=`.
Callbacks = CallbackRegistry | Iterable[Callback | Mapping[str, object] | Callable[..., object]]


def _are_plain(arguments: tuple[object, ...]) -> bool:
    """Whether arguments of an exception say more than its message, and can be sent as they are."""
    return (len(arguments) != 1 or type(arguments[0]) is not str) and all(
        type(one) in _PLAIN or (type(one) is tuple and all(type(inner) in _PLAIN for inner in one))
        for one in arguments
    )


def raised(error: BaseException) -> Raised:
    """A host exception as it arrives in the sandbox: with the nearest builtin class of its ancestors.

    Names of host files are left out. Exceptions of a session or a workspace arrive as what they are. What
    ends a program ends neither the host's nor the code: it is a RuntimeError.
    """
    if isinstance(error, SystemExit):
        return Raised("RuntimeError", f"the host's function raised SystemExit({error.code!r})")
    if isinstance(error, _OWN):
        own = next(cls for cls in type(error).__mro__ if getattr(errors, cls.__name__, None) is cls)
        if own is CapabilityError:  # which is not made of a message
            own = SessionError
        return Raised(own.__name__, str(error), error.fields() if isinstance(error, ToolCallError) else {})
    kind = next(cls.__name__ for cls in type(error).__mro__ if getattr(builtins, cls.__name__, None) is cls)
    if isinstance(error, OSError) and error.errno is not None:
        return Raised(kind, f"[Errno {error.errno}] {error.strerror}")
    if isinstance(error, KeyError) and len(error.args) == 1 and isinstance(error.args[0], str):
        return Raised(kind, error.args[0])
    try:
        is_known = kind in _OF_ARGUMENTS or (kind == type(error).__name__ and kind not in _OF_A_MESSAGE)
        if is_known and _are_plain(error.args):
            return Raised(kind, str(error), {"args": tuple(error.args)})
        return Raised("UnicodeError" if kind in _OF_ARGUMENTS else kind, str(error))
    except Exception:
        return Raised(kind, f"<{type(error).__name__} without a message>")


def not_serialisable(value: object) -> Raised | None:
    """The exception in place of a callback's result, if that cannot be sent."""
    try:
        encode(value)
    except EncodeError as error:
        return Raised("TypeError", f"the callback returned a value that cannot be serialised: {error}")
    return None


def too_large(value: object) -> Raised | None:
    """As `not_serialisable`, when the sandbox had no memory for the answers together."""
    size = len(encode(value))
    if size < _SMALL_ANSWER:
        return None
    return Raised(
        "MemoryError", f"the callback's result of {size} bytes does not fit into the memory of this sandbox"
    )
