"""The user's variables, and short texts of values that are safe to make."""

from __future__ import annotations

import builtins
import reprlib
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from planaria_kernel.errors import EncodeError
from planaria_kernel.protocol import Repr, encode

__all__ = [
    "MAX_REPR",
    "NOT_SERIALISABLE",
    "encoded",
    "is_kernels",
    "module_of",
    "name_of",
    "new_main",
    "short_repr",
    "stand_in",
    "type_label",
    "user_names",
]

#: Characters of the text of a value.
MAX_REPR: Final = 20_000
#: What encode() raises for a value that is too deep, too large, in itself, or changed by its own items.
NOT_SERIALISABLE: Final = (EncodeError, RuntimeError, MemoryError)

#: The attributes of a class itself, which a metaclass may hide.
name_of: Final[Callable[[type], str]] = type.__dict__["__name__"].__get__
_qualified: Final[Callable[[type], str]] = type.__dict__["__qualname__"].__get__
_module: Final[Callable[[type], object]] = type.__dict__["__module__"].__get__

_SIMPLE: Final = frozenset({int, float, bool, complex, type(None)})


#: Items from the end of a sequence whose repr is cut.
_LAST: Final = 3


class _Bounded(reprlib.Repr):
    """repr() of containers as Python writes it, as far as there is room."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.maxlevel = 20
        self.maxtuple = self.maxlist = self.maxarray = self.maxdict = limit // 4
        self.maxset = self.maxfrozenset = self.maxdeque = limit // 4
        self.maxstring = self.maxlong = self.maxother = limit
        self.left = limit

    def repr1(self, x: Any, level: int) -> str:
        # One budget for the whole text: when it is used up, what is left is dots.
        if self.left <= 0:
            return "..."
        text = super().repr1(x, level)
        if not isinstance(x, (list, tuple, dict, set, frozenset)):
            self.left -= len(text)
        return text

    def _repr_iterable(self, x: Any, level: int, left: str, right: str, maxiter: int, trail: str = "") -> str:
        """The items from the beginning, and of a long sequence the last ones too."""
        if level <= 0 and len(x):
            return f"{left}...{right}"
        has_end = isinstance(x, (list, tuple)) and len(x) > _LAST
        reserved = self.left // 4 if has_end else 0
        self.left -= reserved
        parts: list[str] = []
        for number, item in enumerate(x):
            if number == maxiter or self.left <= 0:
                parts.append("...")
                if has_end:
                    self.left, reserved = reserved, 0
                    parts += [self.repr1(item, level - 1) for item in x[max(number, len(x) - _LAST) :]]
                break
            parts.append(self.repr1(item, level - 1))
        self.left += reserved
        if len(x) == 1 and trail:
            right = trail + right
        return f"{left}{', '.join(parts)}{right}"

    def repr_dict(self, x: Any, level: int) -> str:
        # In the order of insertion, unlike the base class, which sorts.
        if level <= 0 and x:
            return "{...}"
        parts = []
        for number, (key, value) in enumerate(dict.items(x)):
            if number == self.maxdict or self.left <= 0:
                parts.append("...")
                break
            parts.append(f"{self.repr1(key, level - 1)}: {self.repr1(value, level - 1)}")
        return "{" + ", ".join(parts) + "}"

    def repr_str(self, x: str, level: int) -> str:
        if len(x) <= self.maxstring:
            return repr(x)
        end = self.maxstring // 4
        return f"{x[: self.maxstring - end]!r}...{x[-end:]!r}"

    def repr_int(self, x: int, level: int) -> str:
        try:
            return super().repr_int(x, level)
        except ValueError:  # more digits than sys.get_int_max_str_digits allows
            return hex(x) if x.bit_length() < 4 * self.maxlong else f"<int of {x.bit_length()} bits>"

    def repr_instance(self, x: Any, level: int) -> str:
        return _cut(repr(x), self.maxother)


def _cut(text: str, limit: int) -> str:
    """A text, or three quarters of the limit from its beginning and one from its end."""
    if len(text) <= limit:
        return text
    end = limit // 4
    return f"{text[: limit - end]}...{text[len(text) - end :]}"


def short_repr(value: Any, limit: int = MAX_REPR) -> str:
    """`repr(value)`, cut after about `limit` characters; says what went wrong when the object's own repr
    raises.
    """
    kind = type(value)
    try:
        if kind in _SIMPLE and (kind is not int or -(1 << 64) < value < 1 << 64):
            return repr(value)
        if kind is str and len(value) <= limit:
            return repr(value)
        if kind in (list, tuple, dict, set, frozenset, str, bytes, int):
            return _Bounded(limit).repr(value)
        return _cut(repr(value), limit)
    except KeyboardInterrupt:
        raise  # a repr that does not end was interrupted: it must not be tried again
    except BaseException as error:
        return f"<{_qualified(kind)} object; its repr raised {name_of(type(error))}>"


def module_of(kind: type) -> str:
    """The name of the module that a class says it is from, empty when that is not a string."""
    try:
        module = _module(kind)
    except AttributeError:  # a class whose namespace has none
        return ""
    return module if type(module) is str else ""


def type_label(value: Any) -> str:
    """The name of a value's type, with its module unless that is known; asks nothing of the value."""
    kind = type(value)
    name, module = _qualified(kind), module_of(kind)
    return name if module in ("", "builtins", "__main__") else f"{module}.{name}"


def stand_in(value: Any) -> Repr:
    """What crosses the boundary for an object that cannot."""
    return Repr(short_repr(value, 2000), _cut(type_label(value), 500))


def encoded(value: Any, max_bytes: int) -> bytes:
    """The bytes of a value, or of its stand-in when it cannot be serialised."""
    try:
        return encode(value, stand_in, max_bytes=max_bytes)
    except NOT_SERIALISABLE:
        return encode(stand_in(value))


def new_main(builtins: Any = builtins.__dict__) -> ModuleType:
    """An empty `__main__`, so that pickle, dataclasses and type hints find what cells define."""
    module = ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    return module


def clear(main: ModuleType, builtins: Any) -> None:
    """Remove the user's variables from `main`; it has `builtins` again, whatever became of them."""
    fresh = new_main(builtins).__dict__
    main.__dict__.clear()
    main.__dict__.update(fresh)


def is_kernels(kernels: dict[str, Any], name: str, value: object) -> bool:
    """Whether a variable of cells is one of `kernels`, the names that the kernel publishes."""
    return name in kernels and kernels[name] is value


def user_names(main: ModuleType, kernels: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The user's variables, without those of the kernel's names that are among them: the name of the type and
    a short text of each.
    """
    shown: dict[str, tuple[str, str]] = {}
    asks = True
    for name, value in list(main.__dict__.items()):
        if not isinstance(name, str) or name == "_" or (name.startswith("__") and name.endswith("__")):
            continue
        if is_kernels(kernels, name, value):
            continue
        text = "..."
        if asks:
            try:
                text = short_repr(value, 200)
            except KeyboardInterrupt:  # of the host, since a repr does not end: no other one is asked for
                asks = False
        shown[name] = (name_of(type(value)), text)
    return shown
