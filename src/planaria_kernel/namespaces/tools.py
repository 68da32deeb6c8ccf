"""`tools`: what the host lets code use."""

from __future__ import annotations

import builtins
import difflib
import inspect
import sys
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any

from planaria_kernel.namespaces.awaiting import is_awaited
from planaria_kernel.namespaces.operations import Host, Steps, operation

__all__ = ["Tool", "ToolCallable", "Tools", "signature_of", "suggestion"]


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: one that is near, or those that there are."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; there is {', '.join(map(repr, names))}" if names else ""


class Text(str):
    """Text that prints as it is: an annotation or a default known by its source only."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def signature_of(
    parameters: Iterable[Mapping[str, Any]], *, defaults_are_text: bool = False
) -> inspect.Signature:
    """A signature from parameters as the host describes them: name (with the stars that it has), type,
    required, default.
    """
    made = []
    named: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for one in parameters:
        name = one["name"]
        kind = named
        default: Any = inspect.Parameter.empty
        if name.startswith("**"):
            kind = inspect.Parameter.VAR_KEYWORD
        elif name.startswith("*"):
            kind, named = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.KEYWORD_ONLY
        elif not one.get("required", False):
            default = one.get("default")
            if defaults_are_text and default is not None:
                default = Text(default)
        annotation = Text(one["type"]) if one.get("type") else inspect.Parameter.empty
        made.append(inspect.Parameter(name.lstrip("*"), kind, default=default, annotation=annotation))
    # Python wants those with a default after those without.
    return inspect.Signature(
        sorted(made, key=lambda one: (one.kind, one.default is not inspect.Parameter.empty))
    )


class ToolCallable:
    """One function of a tool: a plain call blocks and gives the value, an awaited one parks.

    `call_sync` blocks also where it is awaited, and `call_async` always gives a coroutine, for
    `asyncio.gather` and tasks.
    """

    def __init__(self, host: Host, tool: str, callable: str | None, document: Mapping[str, Any]) -> None:  # noqa: A002
        self._host = host
        self._target = (tool, callable)
        self._describe(document)

    def _describe(self, document: Mapping[str, Any]) -> None:
        self.__name__ = document["name"]
        self.__qualname__ = ".".join(part for part in self._target if part)
        self.__signature__ = signature_of(document["parameters"])
        self.__doc__ = _text_of(self.__qualname__, self.__signature__, document)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        call = (*self._target, self._arguments(args, kwargs) if args else kwargs)
        if is_awaited(sys._getframe(1)):
            return self._host.awaited("@tools.call", call, {})
        return self._host.blocking("@tools.call", call, {})

    def call_sync(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call it and block until the value is there."""
        call = (*self._target, self._arguments(args, kwargs))
        return self._host.blocking("@tools.call", call, {})

    def call_async(self, /, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        """A coroutine that calls it when it is awaited."""
        call = (*self._target, self._arguments(args, kwargs))
        return self._host.awaited("@tools.call", call, {})

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """All arguments by name; the host judges the names and values."""
        parameters = self.__signature__.parameters.values()
        rest = next((one.name for one in parameters if one.kind is one.VAR_POSITIONAL), None)
        # Without `*rest`, those that the function wants by keyword may be given by their place all the same.
        names = [
            one.name
            for one in parameters
            if one.kind is one.POSITIONAL_OR_KEYWORD or (one.kind is one.KEYWORD_ONLY and rest is None)
        ]
        if rest is not None and len(args) > len(names):
            kwargs = {**kwargs, f"*{rest}": list(args[len(names) :])}
            args = args[: len(names)]
        if len(args) > len(names):
            raise TypeError(
                f"{self.__qualname__}() takes {len(names)} arguments but {len(args)} were given; "
                f"its signature is {self.__qualname__}{self.__signature__}"
            )
        given = dict(zip(names, args, strict=False))
        twice = given.keys() & kwargs.keys()
        if twice:
            raise TypeError(f"{self.__qualname__}() got more than one value for {', '.join(sorted(twice))}")
        return {**given, **kwargs}

    def __repr__(self) -> str:
        return f"<tool {self.__qualname__}{self.__signature__}>"


class Tool(ToolCallable):
    """A tool and its functions. What it can do is asked of the host when it is first needed."""

    def __init__(self, host: Host, name: str, description: str) -> None:
        self._host = host
        self._target = (name, None)
        self.__name__ = self.__qualname__ = name
        self._description = description
        self._callables: dict[str, ToolCallable] | None = None

    def _load(self) -> dict[str, ToolCallable]:
        if self._callables is None:
            self._take(self._host.blocking("@tools.describe", (self.__name__,), {}))
        assert self._callables is not None
        return self._callables

    def _take(self, document: Mapping[str, Any]) -> None:
        """Take the host's description of it."""
        self._description = document["description"]
        name = self.__name__
        found = {}
        for one in document["callables"]:
            if one["name"] == name:
                self.__signature__ = signature_of(one["parameters"])
            found[one["name"]] = ToolCallable(self._host, name, one["name"], one)
        self._callables = found
        self.__dict__.update((one, function) for one, function in found.items() if not one.startswith("_"))

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        if args and "__signature__" not in self.__dict__:
            self._load()
            if "__signature__" not in self.__dict__:
                self.__signature__ = inspect.Signature()  # it cannot be called itself, which the host says
                return dict(kwargs)
        return super()._arguments(args, kwargs) if args else kwargs

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"tool {self.__dict__.get('__name__')!r} has no {name!r}")
        known = self._load()
        if name not in known:
            raise AttributeError(f"tool {self.__name__!r} has no {name!r}{suggestion(name, known)}", obj=self)
        return known[name]

    def __dir__(self) -> list[str]:
        return sorted({*self._load(), "call_async", "call_sync"})

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        known = self._load()
        parts = [self._description] if self._description else []
        for name, function in known.items():
            _, _, text = (function.__doc__ or "").partition("\n")
            own = name == self.__name__
            if own and text.strip() == self._description.strip():
                text = ""
            shown = f"tools.{name}" if own else f"tools.{self.__name__}.{name}"
            parts.append(f"{shown}{function.__signature__}" + (f"\n{text}" if text.strip() else ""))
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        said = f": {self._description}" if self._description else ""
        return f"<tool {self.__name__}{said}>"


class Tools:
    """The tools of this session: `tools.NAME.FUNCTION(argument=...)`, plainly or with `await`.

    `tools.list()` and `tools.search(query)` list what there is, `help(tools.NAME)` how it is called.
    """

    _host: Host
    _known: dict[str, Tool]

    def __init__(self, host: Host, known: Mapping[str, str]) -> None:
        self.__dict__["_host"] = host
        self.__dict__["_known"] = {}
        for name, description in known.items():
            self._add(name, description)

    def _add(self, name: str, description: str) -> Tool:
        tool = self._known[name] = Tool(self._host, name, description)
        if not name.startswith("_") and not hasattr(type(self), name):
            self.__dict__[name] = tool  # for completion, which calls nothing
        return tool

    @operation
    def list(self) -> Steps[Any]:
        """All tools: name, description, tags, and callables with their parameters."""
        found: list[dict[str, Any]] = yield "@tools.list", ()
        for document in found:
            tool = self._known.get(document["name"]) or self._add(document["name"], document["description"])
            tool._take(document)
        return found

    @operation
    def search(self, query: str, limit: int = 10) -> Steps[Any]:
        """The tools that fit a query best, with their scores."""
        return (yield "@tools.search", (query, limit))

    def __getattr__(self, name: str) -> Tool:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Tool:
        """The tool of that name, also where it is the name of one of these methods."""
        known = self._known.get(name)
        if known is not None:
            return known
        try:
            document = self._host.blocking("@tools.describe", (name,), {})
        except LookupError as error:
            # With an object and without a name, Python adds no guess of its own.
            raise AttributeError(str(error), obj=self) from None
        tool = self._add(document["name"], document["description"])
        tool._take(document)
        return tool

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"tools.{name}: tools are given by the host, code cannot set them")

    def __dir__(self) -> builtins.list[str]:
        return sorted({*self._known, "list", "search"})

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __repr__(self) -> str:
        return f"<tools: {', '.join(self._known) or 'none'}>"


def _text_of(name: str, signature: inspect.Signature, document: Mapping[str, Any]) -> str:
    """A docstring: the signature, the description, and the parameters that have one."""
    lines = [f"{name}{signature}", ""]
    if document.get("description"):
        lines += [document["description"], ""]
    for one in document["parameters"]:
        if one.get("description"):
            lines.append(f"    {one['name']}: {one['description']}")
    return "\n".join(lines).rstrip()
