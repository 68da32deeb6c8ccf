"""Assigning lists of elements to arrays."""

from __future__ import annotations

from planaria_shell.errors import ReadonlyError
from planaria_shell.state.variable import (
    ASSOCIATIVE,
    INDEXED,
    READONLY,
    SLOW_WRITE,
    Variable,
)
from planaria_shell.state.variables import Variables

__all__ = ["ArrayArgument", "Element", "store_array"]

#: One element to assign: subscript (None: the next one), value, whether it is appended to the old value.
Element = tuple["str | None", str, bool]


class ArrayArgument(str):
    """An argument of `declare` and its like that assigns an array: the text before it is `name=`."""

    __slots__ = ("append", "elements", "name")

    name: str
    elements: list[Element]
    append: bool


def store_array(
    variables: Variables, name: str, variable: Variable, elements: list[Element], *, append: bool
) -> None:
    """Assign a list of elements to an array variable."""
    if variable.flags & READONLY:
        raise ReadonlyError(name)
    if variable.flags & ASSOCIATIVE:
        _store_associative(variables, name, variable, elements, append=append)
        return
    if not variable.flags & INDEXED:
        variables.make_array(variable)
        if not append:
            variable.array = None
    simple = not variable.flags & SLOW_WRITE & ~INDEXED
    index = variable.next_index() if append else 0
    target: dict[int, str] = variable.indexed() if append else {}
    variable.array = target
    variable.ordered = True
    for subscript, value, added in elements:
        variables.grow(value)
        if subscript is not None:
            if subscript in ("", "@", "*"):
                wrong = "cannot assign to non-numeric index" if subscript else "bad array subscript"
                variables.warn(f"[{subscript}]={value}: {wrong}")
                continue
            found = variables.index_of(subscript)
            if found < 0:
                found += variable.next_index()
                target = variable.indexed()
                if found < 0:
                    variables.warn(f"[{subscript}]={value}: bad array subscript")
                    continue
            index = found
        if added or not simple:
            value = variables.converted(variable, value, target.get(index), added)
        if index not in target and target and index < next(reversed(target)):
            variable.ordered = False
        target[index] = value
        index += 1
    if not variable.ordered:
        variable.indexed()


def _store_associative(
    variables: Variables, name: str, variable: Variable, elements: list[Element], *, append: bool
) -> None:
    #: What `[key]+=` appends to, also when the array is assigned anew.
    before: dict[str, str] = variable.array or {}  # type: ignore[assignment]
    array = before if append else {}
    pending: str | None = None
    keyed = bool(elements) and elements[0][0] is not None
    for subscript, value, added in elements:
        if subscript is not None and not keyed:
            # Among keys and values in turn it is a word like the others.
            subscript, value = None, f"[{subscript}]{'+' if added else ''}={value}"
        if subscript is None:
            if keyed:
                variables.warn(f"{name}: '{value}': must use subscript when assigning associative array")
                continue
            # `name=(key value key value …)`
            if pending is None:
                pending = value
                continue
            variables.grow(value)
            array[pending] = variables.converted(variable, value, None, False)
            pending = None
            continue
        if not subscript:
            variables.warn(f"[{subscript}]={value}: bad array subscript")
            continue
        variables.grow(value)
        array[subscript] = variables.converted(variable, value, before.get(subscript), added)
    if pending is not None:
        array[pending] = ""
    variable.array = array
