"""Variables: values, attributes, arrays, namerefs; `scopes` has the dynamic scopes of functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Protocol

from planaria_shell.errors import AbandonError, BadSubscriptError, ReadonlyError, ShellError, abandoning
from planaria_shell.state.characters import lower_case, upper_case
from planaria_shell.state.functions import FunctionBody
from planaria_shell.state.limits import Counters
from planaria_shell.state.scopes import ScopeOwner, Scopes
from planaria_shell.state.variable import (
    ASSOCIATIVE,
    CAPITALIZE,
    DYNAMIC,
    EXPORT,
    HOOKED,
    INDEXED,
    INTEGER,
    LOWER,
    NAMEREF,
    READONLY,
    SLOW_READ,
    SLOW_WRITE,
    UPPER,
    Scope,
    Variable,
)
from planaria_shell.state.variable_bytes import measure

__all__ = ["Variables", "is_reference"]

_REFERENCE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[(.*)\])?\Z", re.DOTALL)


def is_reference(text: str) -> bool:
    """Whether a nameref may refer to this: a name, or an element of an array."""
    return _REFERENCE.match(text) is not None


class VariableOwner(ScopeOwner, Protocol):
    """What variables need of their shell."""

    counters: Counters
    functions: dict[str, FunctionBody]

    def evaluate(self, text: str) -> int:
        """The value of an arithmetic expression."""

    def expand_text(self, text: str) -> str:
        """`text` expanded as between double quotes."""

    def complain(self, message: str) -> None:
        """Write a message to standard error."""


class Variables(Scopes):
    """All variables of one shell."""

    #: Values, computed elements and assignments of special variables, by name.
    getters: ClassVar[dict[str, Callable[[Any], str]]] = {}
    #: Those that lists of all variables show with what they are at the time.
    listed: ClassVar[frozenset[str]] = frozenset()
    array_getters: ClassVar[dict[str, Callable[[Any], dict[int, str] | dict[str, str]]]] = {}
    #: What the elements of a computed array are good for once they have been assigned.
    array_setters: ClassVar[dict[str, Callable[[Any, dict[str, str]], None]]] = {}

    def __init__(self, shell: VariableOwner) -> None:
        super().__init__(shell)
        self.shell = shell

    def number(self, text: str) -> int:
        """The value of a text that is given to an integer."""
        try:
            return self.shell.evaluate(text)
        except ShellError as error:
            error = abandoning(error)
            if isinstance(error, AbandonError):
                error.named = True
            raise error from None

    def index_of(self, subscript: str) -> int:
        """The index that a subscript stands for; `$` in it is expanded first."""
        shell = self.shell
        if "$" in subscript or "`" in subscript:
            subscript = shell.expand_text(subscript)
        try:
            return shell.evaluate(subscript)
        except ShellError as error:
            raise abandoning(error) from None

    def warn(self, message: str) -> None:
        """Tell about something odd that does not stop anything."""
        self.shell.complain(message)

    def copy_into(self, other: Variables) -> None:
        """Make `other` hold the same variables, independently."""
        # Computed variables hold nothing of their own and are shared.
        other.table.update(
            {
                name: (
                    variable
                    if variable.flags & DYNAMIC
                    else Variable(variable.value, variable.flags)
                    if variable.array is None
                    else variable.copy()
                )
                for name, variable in self.table.items()
            }
        )
        other.scopes = []
        for scope in self.scopes:
            twin = Scope(temporary=scope.temporary)
            twin.saved = {
                name: None if variable is None else variable.copy() for name, variable in scope.saved.items()
            }
            twin.options = scope.options
            other.scopes.append(twin)
        other.new_flags = self.new_flags

    # -- namerefs ----------------------------------------------------------------------------------

    def resolve(self, name: str) -> tuple[str, str | None]:
        """The name (and subscript) that `name` stands for, through namerefs."""
        seen: set[str] | None = None
        while True:
            variable = self.table.get(name)
            if variable is None or not variable.flags & NAMEREF or not variable.value:
                return name, None
            if seen is None:
                seen = set()
            if name in seen:
                self.warn(f"warning: {name}: circular name reference")
                return "", None
            seen.add(name)
            match = _REFERENCE.match(variable.value)
            if match is None:
                raise ShellError(f"`{variable.value}': not a valid identifier")
            target, subscript = match.groups()
            if target == name and subscript is None:
                # `local -n x=x`: the x of the caller, if that can be seen at all.
                self.warn(f"warning: {name}: circular name reference")
                return "", None
            if subscript is not None:
                return target, subscript
            name = target

    # -- reading -----------------------------------------------------------------------------------

    def find(self, name: str) -> Variable | None:
        """The variable that `name` means, through namerefs, with computed elements filled in."""
        variable = self.table.get(name)
        if variable is None:
            return None
        if variable.flags & NAMEREF:
            target, subscript = self.resolve(name)
            if subscript is not None:
                value = self.get_element(target, subscript)
                return None if value is None else Variable(value)
            if not target:
                return self.at_global_scope(name)
            return self.find(target) if target != name else variable
        if variable.flags & DYNAMIC:
            self._refresh(name, variable)
        return variable

    def _refresh(self, name: str, variable: Variable) -> None:
        getter = self.getters.get(name)
        if getter is not None:
            variable.value = getter(self.shell)
            return
        array = self.array_getters.get(name)
        if array is not None:
            variable.array = array(self.shell)
            variable.ordered = True
            if not variable.array and name == "FUNCNAME":
                variable.array = None

    def prepare_to_list(self, name: str, variable: Variable) -> None:
        """Give a variable the value with which lists of all variables show it: most of what is computed has
        one only where it is asked for by name."""
        if not variable.flags & DYNAMIC:
            return
        if name in self.listed:
            self._refresh(name, variable)
        else:
            variable.value = None
            variable.array = {} if name in self.array_getters else None

    def get(self, name: str) -> str | None:
        """What `$name` gives, or None when it is unset."""
        variable = self.table.get(name)
        if variable is None:
            return None
        if not variable.flags & SLOW_READ:
            return variable.value
        if variable.flags & NAMEREF:
            target, subscript = self.resolve(name)
            if subscript is not None:
                return self.get_element(target, subscript)
            if not target:
                outer = self.at_global_scope(name)
                return None if outer is None or outer is variable else outer.scalar()
            return self.get(target) if target != name else None
        if variable.flags & DYNAMIC:
            self._refresh(name, variable)
        return variable.scalar()

    def get_element(self, name: str, subscript: str) -> str | None:
        """One element by its subscript as text (expanded already)."""
        if name in self.table and self.table[name].flags & NAMEREF:
            name, _ = self.resolve(name)
        variable = self.find(name)
        if variable is None:
            return None
        if subscript in ("@", "*"):
            values = variable.values()
            return " ".join(values) if values else None
        if variable.flags & ASSOCIATIVE:
            return (variable.array or {}).get(subscript)  # type: ignore[call-overload]
        number = self.index_of(subscript)
        if variable.array is None:
            return variable.value if variable.index(number, name) == 0 else None
        return variable.array.get(variable.index(number, name))  # type: ignore[call-overload]

    # -- writing -----------------------------------------------------------------------------------

    def grow(self, text: str) -> None:
        """Account for a text that is about to be stored; raises LimitReachedError when there is too much."""
        counters = self.shell.counters
        counters.growth -= len(text)
        if counters.growth < 0:
            self.measure(len(text))

    def measure(self, more: int) -> None:
        """See how much all variables hold, with `more` characters to come."""
        measure(self.shell.counters, self, more)

    def set(self, name: str, value: str, *, append: bool = False) -> None:
        """Assign to a scalar (or to element 0 of an array), as all its attributes require."""
        self.grow(value)
        variable = self.table.get(name)
        if variable is None:
            self.table[name] = Variable(value, self.new_flags)
            if name in self.setters:
                self.setters[name](self.shell, value)
            return
        flags = variable.flags
        if not flags & SLOW_WRITE:
            variable.value = value if not append else (variable.value or "") + value
            if name in self.setters:
                self.setters[name](self.shell, variable.value)
            return
        if flags & NAMEREF:
            target, subscript = self.resolve(name)
            if not target:
                self._set_outer(name, value, append=append)
                return
            if subscript is not None:
                self.set_element(target, subscript, value, append=append)
                return
            if target != name:
                self.set(target, value, append=append)
                return
            if value and not is_reference(value):
                raise ShellError(f"`{value}': not a valid identifier")
        if flags & READONLY:
            raise ReadonlyError(name)
        if flags & ASSOCIATIVE:
            self.set_element(name, "0", value, append=append)
            return
        if flags & INDEXED:
            self.set_element(name, "0", value, append=append)
            return
        value = self.converted(variable, value, variable.value, append)
        if flags & DYNAMIC:
            setter = self.setters.get(name)
            if setter is not None:
                setter(self.shell, value)
            return
        variable.value = value
        if flags & HOOKED:
            variable.flags |= self.new_flags
        hook = self.setters.get(name)
        if hook is not None:
            hook(self.shell, value)

    def _set_outer(self, name: str, value: str, *, append: bool) -> None:
        """Assign to the global variable that a reference of the same name hides."""
        variable = self.make_global(name)
        if variable.flags & READONLY:
            raise ReadonlyError(name)
        if variable.flags & NAMEREF:
            # There is nothing but references to each other, which has been reported.
            failure = ShellError(f"{name}: circular name reference")
            failure.reported = True
            raise failure
        self.warn(f"warning: {name}: circular name reference")
        if variable.flags & (INDEXED | ASSOCIATIVE):
            array: dict[int | str, str] = variable.array or {}  # type: ignore[assignment]
            key = "0" if variable.flags & ASSOCIATIVE else 0
            array[key] = self.converted(variable, value, array.get(key), append)
            variable.array = array  # type: ignore[assignment]
            return
        variable.value = self.converted(variable, value, variable.value, append)

    def converted(self, variable: Variable, value: str, old: str | None, append: bool) -> str:
        """`value` as the attributes want it (and appended to `old`)."""
        flags = variable.flags
        if flags & INTEGER:
            number = self.number(value)
            if append:
                number += self.number(old or "0")
                number = (number + (1 << 63)) % (1 << 64) - (1 << 63)
            return str(number)
        if append and old:
            value = old + value
        if flags & LOWER:
            return lower_case(value)
        if flags & UPPER:
            return upper_case(value)
        if flags & CAPITALIZE:
            return upper_case(value[:1]) + lower_case(value[1:])
        return value

    def target(self, name: str) -> Variable:
        """The variable to write elements of: through namerefs, made when it is not there."""
        variable = self.table.get(name)
        if variable is not None and variable.flags & NAMEREF:
            target, _ = self.resolve(name)
            if not target:
                variable = self.make_global(name)
            elif target == name:
                self.warn(f"warning: {name}: removing nameref attribute")
                variable.flags &= ~NAMEREF
            else:
                name = target
                variable = self.table.get(name)
        if variable is None:
            # Arrays are not exported by `set -a`.
            variable = self.table[name] = Variable(None)
        if variable.flags & READONLY:
            raise ReadonlyError(name)
        if variable.flags & DYNAMIC:
            self._refresh(name, variable)
        return variable

    def make_array(self, variable: Variable) -> None:
        """Turn a scalar into an indexed array whose element 0 it is."""
        if not variable.flags & (INDEXED | ASSOCIATIVE):
            variable.flags |= INDEXED
            if variable.value is not None:
                variable.array = {0: variable.value}
                variable.value = None

    def set_element(self, name: str, subscript: str, value: str, *, append: bool = False) -> None:
        """Assign one element by its subscript as text (expanded already)."""
        self.grow(value)
        variable = self.target(name)
        if variable.flags & ASSOCIATIVE:
            if variable.array is None:
                variable.array = {}
            old = variable.array.get(subscript)  # type: ignore[call-overload]
            variable.array[subscript] = self.converted(variable, value, old, append)  # type: ignore[index]
            if variable.flags & DYNAMIC:
                self.stored(name, variable)
            return
        if not subscript:
            raise BadSubscriptError(f"{name}[{subscript}]")
        self.set_indexed(name, variable, self.index_of(subscript), value, append=append)

    def set_indexed(
        self, name: str, variable: Variable, number: int, value: str, *, append: bool = False
    ) -> None:
        """Assign one element of an indexed array."""
        self.grow(value)
        if not variable.flags & INDEXED:
            self.make_array(variable)
        index = variable.index(number, name) if number >= 0 else self._negative(variable, number, name)
        if append or variable.flags & SLOW_WRITE & ~INDEXED:
            old = (variable.array or {}).get(index)  # type: ignore[call-overload]
            value = self.converted(variable, value, old, append)
        variable.store(index, value)
        if variable.flags & DYNAMIC:
            self.stored(name, variable)

    def _negative(self, variable: Variable, number: int, name: str) -> int:
        try:
            return variable.index(number, name)
        except ShellError:
            raise BadSubscriptError(f"{name}[{number}]") from None

    def stored(self, name: str, variable: Variable) -> None:
        """Elements of a computed array have been assigned."""
        setter = self.array_setters.get(name)
        if setter is not None:
            setter(self.shell, {str(key): value for key, value in (variable.array or {}).items()})

    # -- unsetting ---------------------------------------------------------------------------------

    def unset(self, name: str) -> bool:
        """Forget a variable (what it stands for, when it is a nameref)."""
        variable = self.table.get(name)
        if variable is None:
            return True
        if variable.flags & READONLY:
            raise ShellError(f"{name}: cannot unset: readonly variable")
        self.remove(name)
        hook = self.setters.get(name)
        if hook is not None and not variable.flags & DYNAMIC:
            hook(self.shell, self.get(name))
        return True

    def unset_element(self, name: str, subscript: str) -> None:
        """Forget one element."""
        if name in self.table and self.table[name].flags & NAMEREF:
            name, _ = self.resolve(name)
        variable = self.table.get(name)
        if variable is None:
            return
        if variable.flags & READONLY:
            raise ShellError(f"{name}: cannot unset: readonly variable")
        if variable.flags & ASSOCIATIVE:
            if variable.flags & DYNAMIC:
                self._refresh(name, variable)
            (variable.array or {}).pop(subscript, None)  # type: ignore[call-overload]
            if variable.flags & DYNAMIC:
                self.stored(name, variable)
            return
        if subscript in ("@", "*"):
            variable.array = {} if variable.array is not None else None
            return
        number = self.index_of(subscript)
        if not variable.flags & INDEXED:
            if number == 0:
                self.remove(name)
                return
            raise ShellError(f"{name}: not an array variable")
        try:
            index = variable.index(number, name)
        except ShellError:
            raise ShellError(f"[{subscript}]: bad array subscript") from None
        (variable.array or {}).pop(index, None)  # type: ignore[call-overload]

    def adopt(self, name: str, *, local: bool) -> None:
        """Make a value that was given before a builtin that declares `name` the variable's own."""
        given = self.table[name]
        before = self.scopes[-1].saved.pop(name)
        if before is None:
            self.table.pop(name)
        else:
            self.table[name] = before
        if local:
            variable = self.local(name)
            variable.value = given.value
            variable.flags |= EXPORT
        else:
            self.set(name, given.value or "")
            self.table[name].flags |= EXPORT

    # -- listings ----------------------------------------------------------------------------------

    def names(self, prefix: str = "") -> list[str]:
        """The names of all variables with a value that begin with `prefix`, sorted."""
        return sorted(
            name
            for name, variable in self.table.items()
            if name.startswith(prefix) and (variable.is_set() or variable.flags & DYNAMIC)
        )

    def exported(self) -> dict[str, str]:
        """The environment of commands."""
        result: dict[str, str] = {}
        for name, variable in self.table.items():
            if variable.flags & EXPORT and not variable.flags & (INDEXED | ASSOCIATIVE):
                value = self.get(name) if variable.flags & SLOW_READ else variable.value
                if value is not None:
                    result[name] = value
        for name, function in self.shell.functions.items():
            if function.exported:
                result[f"BASH_FUNC_{name}%%"] = function.text()
        return result

    def __iter__(self) -> Iterator[str]:
        return iter(self.table)
