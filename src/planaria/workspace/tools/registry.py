"""The tools of a session: by name, within a scope, behind middleware."""

from __future__ import annotations

import builtins
import contextlib
import inspect
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from os import PathLike
from typing import TYPE_CHECKING, Any

from planaria.errors import (
    Suspend,
    ToolArgumentError,
    ToolCallError,
    ToolDefinitionError,
    ToolDenied,
    ToolNotFound,
)
from planaria.workspace.tools.call import ToolCall
from planaria.workspace.tools.middleware import approval, denied
from planaria.workspace.tools.names import identifier, shown, suggestion
from planaria.workspace.tools.tool import Tool

if TYPE_CHECKING:
    from planaria.workspace.embedding import Embedder
    from planaria.workspace.search import SearchEntry, SearchIndex
    from planaria.workspace.tools.loading import DefinitionText
    from planaria.workspace.tools.stubs import Detail
    from planaria.workspace.tools.variables import ToolEnvironment

__all__ = ["ToolRegistry"]

#: Gives what a call that is awaited holds meanwhile, to bound how many there are at once.
Turns = Callable[[], AbstractAsyncContextManager[Any]]

#: What the namespace of tools has itself.
_TAKEN = frozenset({"list", "search"})


class ToolRegistry:
    """Tools by name.

    `tools` are tools, Python functions and objects (see `add`), or a mapping of names to functions and
    objects; `middleware` stands around every call, the first one outermost. With an `embedder`, searches go
    by meaning besides words.
    """

    def __init__(
        self,
        tools: Iterable[Any] | Mapping[str, Any] = (),
        *,
        middleware: Iterable[Any] = (),
        embedder: Embedder | None = None,
    ) -> None:
        self._tools: dict[str, Tool] = {}
        self._middleware = list(middleware)
        #: A tool is in scope when it has a tag of each.
        self._scopes: tuple[frozenset[str], ...] = ()
        self._embedder = embedder
        self._index: SearchIndex | None = None
        self._indexed: frozenset[str] = frozenset()
        if isinstance(tools, Mapping):
            for name, target in tools.items():
                self.add(target, name=name)
        else:
            for tool in tools:
                self.add(tool)

    @property
    def middleware(self) -> builtins.list[Any]:
        """Objects with `before(call)` and `after(call, result)`, or one of them; the list may be changed."""
        return self._middleware

    @middleware.setter
    def middleware(self, middleware: Iterable[Any]) -> None:
        # The list stays the same one: scopes share it.
        self._middleware[:] = list(middleware)

    def add(
        self,
        tool: Tool | Callable[..., Any] | object,
        *,
        name: str | None = None,
        description: str | None = None,
        tags: Iterable[str] = (),
    ) -> Tool:
        """Add a tool, a function, or an object whose public methods become its callables.

        A function has its own name and is described by its docstring, if nothing else is said; an object has
        those of its class. Raises ToolDefinitionError when the name is taken, or nothing can be made of it.
        """
        self._check_whole("added")
        if not isinstance(tool, Tool):
            from planaria.workspace.tools.python import python_tool

            return self.add(python_tool(tool, name=name, description=description, tags=tags))
        if name is not None or description is not None or tags:
            raise TypeError("name, description and tags are for functions and objects; a tool has its own")
        why = self._refusal(tool)
        if why is not None:
            raise ToolDefinitionError(why)
        self._tools[tool.name] = tool
        return tool

    def _refusal(self, tool: Tool) -> str | None:
        """Why a tool cannot be added, if it cannot."""
        if tool.name in _TAKEN:
            return f"a tool cannot be called {tool.alias!r}: tools.{tool.name}() is taken"
        other = self._tools.get(tool.name)
        if other is None:
            return None
        same = "" if tool.alias == other.alias else f"; {tool.alias!r} is the same name in code"
        return f"there is a tool {other.alias!r} already{same}"

    def load(
        self,
        source: str | PathLike[str] | Iterable[DefinitionText],
        environment: ToolEnvironment | None = None,
        folder: str | PathLike[str] | None = None,
    ) -> builtins.list[Tool]:
        """Add the tools of a directory of YAML files, of one file, or of texts; all of them or none.

        `folder` is what `${TOOL_DIR}` stands for in texts. Raises ToolDefinitionError with every problem, its
        file and line.
        """
        from planaria.workspace.tools.loading import load_tools

        self._check_whole("added")
        loaded = load_tools(source, environment, folder, self._refusal)
        self._tools.update({tool.name: tool for tool in loaded})
        return loaded

    def remove(self, name: str) -> bool:
        """Close a tool and forget it; False when there is none of that name."""
        self._check_whole("removed")
        tool = self._find(name)
        if tool is None:
            return False
        del self._tools[tool.name]
        tool.close()
        return True

    def scoped(self, tags: Iterable[str]) -> ToolRegistry:
        """A view of the tools that have at least one of these tags; the others do not exist in it.

        It follows this registry's changes and shares its middleware. Nothing can be added to it or removed.
        """
        if isinstance(tags, str):
            raise TypeError(f"scoped(tags={tags!r}): expected a list of tags")
        view = ToolRegistry(embedder=self._embedder)
        view._tools = self._tools
        view._middleware = self._middleware
        view._scopes = (*self._scopes, frozenset(tags))
        return view

    def _check_whole(self, what: str) -> None:
        if self._scopes:
            raise TypeError(f"tools are {what} in the whole registry, not in a scope of it")

    def _in_scope(self, tool: Tool) -> bool:
        return all(not scope.isdisjoint(tool.tags) for scope in self._scopes)

    def __iter__(self) -> Iterator[Tool]:
        """The tools in scope, by name."""
        return iter([tool for _, tool in sorted(self._tools.items()) if self._in_scope(tool)])

    def __len__(self) -> int:
        return sum(map(self._in_scope, self._tools.values()))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._find(name) is not None

    def _find(self, name: str) -> Tool | None:
        tool = self._tools.get(name)
        if tool is None:
            try:
                tool = self._tools.get(identifier(name))
            except ValueError:
                return None
        return tool if tool is not None and self._in_scope(tool) else None

    def get(self, name: str) -> Tool:
        """The tool of that name, `my_tool` or as it was given. Raises ToolNotFound, with a suggestion."""
        tool = self._find(name)
        if tool is None:
            known = [one.name for one in self]
            raise ToolNotFound(f"there is no tool {shown(name)}{suggestion(name, known)}", tool=name)
        return tool

    def list(self) -> builtins.list[dict[str, Any]]:
        """The tools as dicts with name, description, tags and callables with their parameters, by name.

        One whose callables cannot be found out has none, and an `error` that says why. May block while
        servers start.
        """
        return [_document(tool) for tool in self]

    def search(self, query: str, limit: int = 10) -> builtins.list[dict[str, Any]]:
        """The tools that fit a query best, as in `list` and with their `score`, the best first.

        Looks at names, descriptions, parameters and tags. Scores of one search can be compared with each
        other. May block while servers start.
        """
        from planaria.workspace.search import SearchIndex

        if self._index is None:
            # One for each scope: what is outside must not even show in the scores.
            self._index = SearchIndex(embedder=self._embedder)
        documents = {document["name"]: document for document in self.list()}
        for gone in self._indexed - documents.keys():
            self._index.discard(gone)
        self._indexed = frozenset(documents)
        for document in documents.values():
            self._index.put(_entry(document))
        found = self._index.search(query, limit)
        return [{**documents[name], "score": score} for name, score in found]

    def stubs(self, detail: Detail = "signatures") -> str:
        """The tools as Python source for a model's prompt; it parses.

        "names" has a line for each function, "signatures" the typed signatures, "docstrings" also the
        descriptions of functions and parameters. May block while servers start.
        """
        from planaria.workspace.tools.stubs import write_stubs

        return write_stubs(self, detail)

    def call(
        self,
        name: str,
        callable: str | None,  # noqa: A002
        arguments: Mapping[str, Any],
        *,
        trace: builtins.list[ToolCall] | None = None,
        turns: Turns | None = None,
    ) -> Any:
        """Call a tool; returns its value, or an awaitable of it.

        A plain Python function gives its value at once, unless a middleware is asynchronous. `trace` gets the
        record of the call when it begins. What is awaited is so within `turns()`. Raises ToolCallError, what
        a Python tool raises, and Suspend when a middleware asks for approval; all of them at once or when
        awaited.
        """
        return self._begin(name, callable, arguments, trace, turns, approved=False)

    def resume(
        self,
        name: str,
        callable: str | None,  # noqa: A002
        arguments: Mapping[str, Any],
        decision: object,
        *,
        trace: builtins.list[ToolCall] | None = None,
        turns: Turns | None = None,
    ) -> Any:
        """Go on with a call that was suspended for approval: `call` again with True, ToolDenied otherwise."""
        approved = decision is True
        return self._begin(name, callable, arguments, trace, turns, approved=approved, decision=decision)

    def _begin(
        self,
        name: str,
        callable: str | None,  # noqa: A002
        arguments: Mapping[str, Any],
        trace: builtins.list[ToolCall] | None,
        turns: Turns | None,
        *,
        approved: bool,
        decision: object = True,
    ) -> Any:
        call = ToolCall(name, callable, dict(arguments), approved=approved)
        if trace is not None:
            trace.append(call)
        try:
            for key in call.arguments:
                if type(key) is not str:
                    raise ToolArgumentError(f"{call.name}(): argument names must be strings, not {key!r}")
            tool = self._tools.get(name)
            if tool is None or self._scopes:
                tool = self.get(name)
            call.tool, call.tags = tool.name, tool.tags
            if decision is not True:
                raise denied(call, decision)
            if self._middleware:
                value = _advance(_through(tool, call, tuple(self._middleware)))
            else:
                value = tool.call(callable, call.arguments)
        except BaseException as error:
            _failed(call, error)
            raise
        if inspect.isawaitable(value):
            return _finish(call, value, turns)
        call.end("ok")
        return value

    def __enter__(self) -> ToolRegistry:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all tools, waiting for their servers; a view of a scope leaves them alone.

        Raises what closing raised, after all were closed.
        """
        if self._scopes:
            return
        errors = []
        while self._tools:
            _, tool = self._tools.popitem()
            try:
                tool.close()
            except Exception as error:
                errors.append(error)
        if len(errors) == 1:
            raise errors[0]
        if errors:
            raise ExceptionGroup("some tools could not be closed", errors)


def _document(tool: Tool) -> dict[str, Any]:
    try:
        return tool.document()
    except ToolCallError as error:
        known = {"name": tool.name, "description": tool.description, "tags": sorted(tool.tags)}
        return {**known, "callables": [], "error": str(error)}


def _entry(document: Mapping[str, Any]) -> SearchEntry:
    """What can be found of a tool."""
    from planaria.workspace.search import SearchEntry

    texts = []
    for one in document["callables"]:
        texts += [one["name"], one["description"]]
        for parameter in one["parameters"]:
            texts += [parameter["name"], parameter["description"]]
    name = document["name"]
    return SearchEntry(name, name, document["description"], tuple(texts), tuple(document["tags"]))


#: The steps of a call: yields what may be an awaitable, and is sent its value.
_Steps = Generator[Any, Any, Any]


def _through(tool: Tool, call: ToolCall, middleware: tuple[Any, ...]) -> _Steps:
    """A call with all that stands around it, whatever of it is asynchronous."""
    for one in middleware:
        before = getattr(one, "before", None)
        if before is not None:
            try:
                yield before(call)
            except Suspend as suspend:
                if not call.approved:
                    raise approval(suspend) from None
    value = yield tool.call(call.callable, call.arguments)
    for one in reversed(middleware):
        after = getattr(one, "after", None)
        if after is not None:
            value = yield after(call, value)
    return value


def _advance(steps: _Steps) -> Any:
    """Take the steps, up to the first that must be waited for; then an awaitable of the rest."""
    try:
        step = next(steps)
        while not inspect.isawaitable(step):
            step = steps.send(step)
    except StopIteration as stop:
        return stop.value
    return _advance_waiting(steps, step)


async def _advance_waiting(steps: _Steps, step: Any) -> Any:
    try:
        while True:
            try:
                value = (await step) if inspect.isawaitable(step) else step
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = steps.send(value)
    except StopIteration as stop:
        return stop.value


async def _finish(call: ToolCall, waiting: Awaitable[Any], turns: Turns | None) -> Any:
    try:
        async with contextlib.nullcontext() if turns is None else turns():
            value = await waiting
    except BaseException as error:
        if inspect.iscoroutine(waiting):
            waiting.close()  # one that was abandoned before its turn
        _failed(call, error)
        raise
    call.end("ok")
    return value


def _failed(call: ToolCall, error: BaseException) -> None:
    if isinstance(error, ToolCallError):
        error.tool = error.tool or call.tool
        error.callable = error.callable or call.callable
    if call.outcome != "running":  # the execution has ended before
        return
    if isinstance(error, Suspend):
        call.end("suspended")
        call.error = error.reason
        return
    if not isinstance(error, Exception):  # the cancellation of the event loop that runs it
        call.end("cancelled")
        return
    call.end("denied" if isinstance(error, ToolDenied) else "error")
    call.error = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
