"""The values of the boundary that have no builtin type: what arrives in place of a foreign object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["ArrayValue", "EnumMember", "Fields", "FrameValue", "Repr", "Undecodable"]


@dataclass(frozen=True, slots=True)
class Repr:
    """An object that cannot be serialised, as the text of its `repr` and the name of its type."""

    text: str
    type: str

    def __repr__(self) -> str:
        return f"<{self.type}: {self.text}>"


@dataclass(frozen=True, slots=True)
class Undecodable(Repr):
    """In the place of an object that the bytes describe and that cannot be built; `text` says why."""


@dataclass(frozen=True, slots=True)
class EnumMember:
    """A member of an enumeration that the other side does not have."""

    class_name: str
    name: str
    value: Any

    def __repr__(self) -> str:
        return f"<{self.class_name}.{self.name}: {self.value!r}>"


@dataclass(frozen=True, slots=True)
class ArrayValue:
    """A numpy array (or a scalar, whose shape is None) where numpy cannot be imported.

    `data` holds the items in C order, as bytes of `dtype` (an array-interface type string such as
    `<f8`, https://numpy.org/doc/stable/reference/arrays.interface.html), or as a list of objects
    when `dtype` is `|O`.
    """

    shape: tuple[int, ...] | None
    dtype: str
    data: bytes | list[Any]


@dataclass(frozen=True, slots=True)
class FrameValue:
    """A pandas object where pandas cannot be imported; `kind` is "frame", "series" or "index".

    `columns` pairs each label with its values (`ArrayValue`, or a list); `index` holds the row labels,
    and is None for an index.
    """

    kind: str
    columns: list[tuple[Any, Any]]
    index: Any


class Fields(NamedTuple):
    """The code of a structure and its fields, each an encodable value."""

    code: int
    items: tuple[Any, ...]
