"""The dynamic scopes of functions: what is local, and what names mean outside.

Binding is shallow: the table always holds what each name means now, and a scope remembers what its local
names meant before. So a look-up is one dictionary access however deep the functions nest.
"""

# mypy: disable-error-code="misc"
# The methods here are a part of `Variables` and are only ever called on them, which is what `self` says.

from __future__ import annotations

from typing import TYPE_CHECKING

from planaria_shell.run.variable import DYNAMIC, EXPORT, Scope, ShellError, Variable

if TYPE_CHECKING:
    from planaria_shell.run.variables import Variables

__all__ = ["Scopes"]


class Scopes:
    """How variables become local to a function, and global again."""

    def local(self: Variables, name: str, *, inherit: bool = False) -> Variable:
        """The variable of the innermost function's own of this name, made when it is not there."""
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
            scope.getopts_offset = self.shell.getopts_offset
        variable = Variable(None, self.new_flags)
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

    def is_global(self: Variables, name: str) -> bool:
        """Whether `name` means what it means outside all functions."""
        return not any(name in scope.saved for scope in self.scopes)

    def adopt(self: Variables, name: str, *, local: bool) -> None:
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

    def _is_temporary(self: Variables, name: str) -> bool:
        scope = self.scopes[-2] if len(self.scopes) > 1 else None
        return scope is not None and scope.temporary and name in scope.saved

    def function_scope(self: Variables) -> Scope | None:
        """The innermost scope that belongs to a function."""
        for scope in reversed(self.scopes):
            if not scope.temporary:
                return scope
        return None

    def pop(self: Variables) -> Scope:
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
                hook(self.shell, before.value if before is not None else None)
        if scope.getopts_offset is not None:
            self.shell.getopts_offset = scope.getopts_offset
        return scope

    def exchange(self: Variables) -> None:
        """Let the innermost scope's names mean what they meant before; again: what they mean in it."""
        saved = self.scopes[-1].saved
        table = self.table
        for name, other in saved.items():
            saved[name] = table.get(name)
            if other is None:
                table.pop(name, None)
            else:
                table[name] = other

    def bind(self: Variables, scope: Scope, name: str, variable: Variable) -> None:
        """Give `name` a new meaning as long as `scope` lasts."""
        if name not in scope.saved:
            scope.saved[name] = self.table.get(name)
        self.table[name] = variable
        hook = self.setters.get(name)
        if hook is not None and not variable.flags & DYNAMIC:
            hook(self.shell, variable.value)

    def at_global_scope(self: Variables, name: str) -> Variable | None:
        """What `name` means outside all functions."""
        for scope in self.scopes:
            if name in scope.saved:
                return scope.saved[name]
        return self.table.get(name)

    def make_global(self: Variables, name: str) -> Variable:
        """The variable that `declare -g` means, made when it is not there."""
        for scope in self.scopes:
            if name in scope.saved:
                variable = scope.saved[name]
                if variable is None:
                    variable = scope.saved[name] = Variable(None, self.new_flags)
                return variable
        variable = self.table.get(name)
        if variable is None:
            variable = self.table[name] = Variable(None, self.new_flags)
        return variable
