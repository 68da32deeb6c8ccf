"""What a front end asks about names and code, without running a cell."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from types import ModuleType
from typing import Any

from planaria_kernel.execution import completion, display, names, trampolines
from planaria_kernel.execution.reports import NOTHING, Report
from planaria_kernel.protocol import encode

__all__ = ["Queries"]


class Queries:
    """Answers about the namespace `main`; `builtin_names` returns what cells find beside it."""

    def __init__(
        self, main: ModuleType, context: contextvars.Context, builtin_names: Callable[[], dict[str, Any]]
    ) -> None:
        self._main = main
        self._context = context
        self._builtin_names = builtin_names
        #: By the names of the host's commands.
        self.commands: dict[str, Callable[..., Report]] = {
            "assign": self._assign,
            "complete": self._complete,
            "evaluate": self._evaluate,
            "inspect": self._inspect,
            "is_complete": self._is_complete,
            "mime_bundle": self._mime_bundle,
            "names": self._user_names,
            "sizes": self._sizes,
        }

    def _all_names(self) -> dict[str, Any]:
        return {**self._builtin_names(), **self._main.__dict__}

    def _assign(self, values: dict[str, Any]) -> Report:
        """Make values of the host variables."""
        self._main.__dict__.update(values)
        return NOTHING

    def _complete(self, text: str, cursor: int) -> Report:
        return ("answer", trampolines.call(completion.complete, text, cursor, self._all_names()))

    def _inspect(self, text: str, cursor: int, detail: int) -> Report:
        """A text about the name at a cursor, or None."""
        from planaria_kernel.notebook.describing import describe, name_at

        name = name_at(text, cursor)
        space = self._all_names()
        found = trampolines.call(lambda: describe(name, space, with_source=detail > 0)) if name else None
        return ("answer", found)

    def _is_complete(self, text: str) -> Report:
        from planaria_kernel.notebook.completeness import completeness

        return ("answer", trampolines.call(completeness, text))

    def _mime_bundle(self, expression: str) -> Report:
        """The representations of an expression's value and their metadata; or what it raised."""
        try:
            return ("answer", list(trampolines.call(display.mime_bundle, self._value(expression))))
        except Exception as error:
            return ("answer", (type(error).__name__, f"{error}"))

    def _user_names(self) -> Report:
        return ("answer", trampolines.call(names.user_names, self._main, self._builtin_names()))

    def _sizes(self) -> Report:
        from planaria_kernel.execution.sizes import size_of

        found = trampolines.call(names.user_names, self._main, self._builtin_names())
        space = self._main.__dict__
        return ("answer", {name: trampolines.call(size_of, space[name]) for name in found if name in space})

    def _evaluate(self, expression: str) -> Report:
        value = self._value(expression)
        try:
            trampolines.call(encode, value, names.stand_in)
        except names.NOT_SERIALISABLE:
            value = trampolines.call(names.stand_in, value)
        return ("answer", value)

    def _value(self, expression: str) -> Any:
        code = compile(expression, "<expression>", "eval")
        return trampolines.call(self._context.run, eval, code, self._main.__dict__)
