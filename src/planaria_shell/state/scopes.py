"""The dynamic scopes of functions: what is local, and what names mean outside.

Binding is shallow: the table always holds what each name means now, and a scope remembers what its local
names meant before. So a look-up is one dictionary access however deep the functions nest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from planaria_shell.errors import ShellError
from planaria_shell.state.variable import DYNAMIC, EXPORT, Scope, Variable

__all__ = ["ScopeOwner", "Scopes"]


class ScopeOwner(Protocol):
    """What scopes need of the shell whose variables they hold."""

    getopts_offset: int
    shopts: set[str]


class Scopes:
    """A table of variables, and what its names mean in the scopes around."""

    #: What assigning to a special variable does, by name; called with the shell and the value.
    setters: ClassVar[dict[str, Callable[[Any, str | None], None]]] = {}

    def __init__(self, owner: ScopeOwner) -> None:
        self.table: dict[str, Variable] = {}
        self.scopes: list[Scope] = []
        #: Flags that every variable gets from now on (`set -a`).
        self.new_flags = 0
        self._owner = owner

    def local(self, name: str, *, inherit: bool = False, listed: bool = False) -> Variable:
        """The variable of the innermost function's own of this name, made when it is not there.

        `listed`: it will be an array, which `set -a` does not export.
        """
        scope = self.function_scope()
        if scope is None:
            raise ShellError("can only be used in a function")
        if name in scope.saved:
            variable = self.table.get(name)
            if variable is None:
                variable = self.table[name] = Variable(None)
            return variable
        before = self.table.get(name)
        scope.saved[name] = before
        if name == "OPTIND":
            scope.getopts_offset = self._owner.getopts_offset
        variable = Variable(None, 0 if listed else self.new_flags)
        if before is not None:
            if inherit:
                variable = before.copy()
            elif before.flags & EXPORT and self._is_temporary(name):
                # A value given before the function's name is what its local variable begins with.
                variable = before.copy()
            variable.flags |= before.flags & EXPORT
            if before.flags & DYNAMIC:
                variable = before
        self.table[name] = variable
        return variable

    def is_global(self, name: str) -> bool:
        """Whether `name` means what it means outside all functions."""
        return not any(name in scope.saved for scope in self.scopes)

    def _is_temporary(self, name: str) -> bool:
        scope = self.scopes[-2] if len(self.scopes) > 1 else None
        return scope is not None and scope.temporary and name in scope.saved

    def remove(self, name: str) -> None:
        """Forget what `name` means in the innermost scope that has it."""
        for depth, scope in enumerate(reversed(self.scopes)):
            if name in scope.saved:
                if (depth == 0 or "localvar_unset" in self._owner.shopts) and not scope.temporary:
                    # Local here: it stays local, without a value or attributes.
                    exported = self.table[name].flags & EXPORT if self._is_temporary(name) else 0
                    self.table[name] = Variable(None, exported)
                    return
                before = scope.saved.pop(name)
                if before is None:
                    self.table.pop(name, None)
                else:
                    self.table[name] = before
                return
        self.table.pop(name, None)

    def function_scope(self) -> Scope | None:
        """The innermost scope that belongs to a function."""
        for scope in reversed(self.scopes):
            if not scope.temporary:
                return scope
        return None

    def pop(self) -> Scope:
        """Leave the innermost scope: its names mean again what they meant before."""
        scope = self.scopes.pop()
        table = self.table
        for name, before in scope.saved.items():
            if before is None:
                table.pop(name, None)
            else:
                table[name] = before
            hook = self.setters.get(name)
            if hook is not None and not (before is not None and before.flags & DYNAMIC):
                hook(self._owner, before.value if before is not None else None)
        if scope.getopts_offset is not None:
            self._owner.getopts_offset = scope.getopts_offset
        return scope

    def exchange(self) -> None:
        """Let the innermost scope's names mean what they meant before; again: what they mean in it."""
        saved = self.scopes[-1].saved
        table = self.table
        for name, other in saved.items():
            saved[name] = table.get(name)
            if other is None:
                table.pop(name, None)
            else:
                table[name] = other

    def bind(self, scope: Scope, name: str, variable: Variable) -> None:
        """Give `name` a new meaning as long as `scope` lasts."""
        if name not in scope.saved:
            scope.saved[name] = self.table.get(name)
        self.table[name] = variable
        hook = self.setters.get(name)
        if hook is not None and not variable.flags & DYNAMIC:
            hook(self._owner, variable.value)

    def at_global_scope(self, name: str) -> Variable | None:
        """What `name` means outside all functions."""
        for scope in self.scopes:
            if name in scope.saved:
                return scope.saved[name]
        return self.table.get(name)

    def make_global(self, name: str, *, listed: bool = False) -> Variable:
        """The variable that `declare -g` means, made when it is not there."""
        flags = 0 if listed else self.new_flags
        for scope in self.scopes:
            if name in scope.saved:
                variable = scope.saved[name]
                if variable is None:
                    variable = scope.saved[name] = Variable(None, flags)
                return variable
        variable = self.table.get(name)
        if variable is None:
            variable = self.table[name] = Variable(None, flags)
        return variable
