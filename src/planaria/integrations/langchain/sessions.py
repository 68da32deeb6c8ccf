"""The sessions of the middleware: found by the state of a graph, kept for later calls."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.errors import GraphInterrupt
from langgraph.types import interrupt

from planaria.errors import SessionError, SnapshotNotFound, Suspend
from planaria.files.chunks import digest_of
from planaria.integrations.code_tools import CodeTools, FrameworkTool
from planaria.integrations.langchain.calls import Call
from planaria.session._sync.session import Session
from planaria.session.options import SessionArguments
from planaria.snapshot.snapshot import Snapshot
from planaria.workspace.tools.middleware import asks_approval, question

if TYPE_CHECKING:
    from planaria.executors.messages import HostCall
    from planaria.session._sync.session import Execution
    from planaria.session.result import Result
    from planaria.stores.store import Store

__all__ = ["LiveSessions", "Saved", "latest"]


#: What stands before the middleware's note in the reason of a call that waits.
_NOTE: Final = "\nplanaria: "


#: A session in the state of a graph: the number of its executions, the digest of its snapshot, and the bytes
#: of that, or None where a store has them. Plain values, which every checkpointer takes.
Saved: TypeAlias = tuple[int, str, bytes | None]


def latest(old: Sequence[Any] | None, new: Sequence[Any] | None) -> Sequence[Any] | None:
    """Of the states that the calls of one step leave, the one after most executions."""
    if old is None or new is None:
        return new if old is None else old
    return max(new, old, key=lambda saved: saved[0])


class LiveSession:
    """A live session, which one call at a time uses."""

    def __init__(
        self,
        tools: Sequence[BaseTool],
        code_tools: CodeTools,
        arguments: SessionArguments,
        saved: Snapshot | None,
    ) -> None:
        self.lock = threading.Lock()
        self.digest = "" if saved is None else saved.digest
        """Of the state that it was saved in last; empty while a program waits."""
        self.over: set[str] = set()
        """The ids of the calls in the present step that are over."""
        self._call: Call | None = None
        self._tools = {one.name: one for one in _framework_tools(tools, self._invoke)}
        arguments = {**arguments, "tools": code_tools.with_tools(self._tools.values())}
        self.session = Session(**arguments) if saved is None else Session.from_snapshot(saved, **arguments)

    @contextmanager
    def used_by(self, call: Call) -> Iterator[None]:
        """Hold the session for a call."""
        with self.lock:
            self._call = call
            self.digest = ""
            try:
                yield
            finally:
                self._call = None

    def execute(self, code: str) -> Result:
        """Execute code for the call that holds the session, or go on with it. Raises GraphInterrupt when a
        call of it needs an answer.
        """
        call = self._call
        assert call is not None
        run = self.session.run_in_progress
        waits_for, answered = ("", 0) if run is None else _noted(run, run.pending[0])
        if run is not None and waits_for != call.identity:
            run.cancel()  # of a call that was abandoned
            run = None
        if run is None:
            result = self.session.run(code)
            if not result.suspended:
                return result
            run = self.session.run_in_progress
            assert run is not None
        else:
            call.pass_over(answered)
        while True:
            self._answer(run, call, run.pending[0])
            try:
                return run.result()
            except SessionError:
                if not run.pending:
                    raise

    def _answer(self, run: Execution, call: Call, pending: HostCall) -> None:
        """Answer a call that waits. Raises GraphInterrupt when that needs an answer itself."""
        tool: FrameworkTool | None = None
        reason = _reason(run, pending)
        # A call that waits for an approval goes on by itself with the answer.
        if pending.name == "@tools.call" and not asks_approval(reason):
            name, function, given = cast("tuple[str, str | None, dict[str, Any]]", pending.args)
            tool = self._tools.get(name)
        try:
            if tool is None:
                value = interrupt({"call": str(pending), "reason": question(reason)})
                call.over()
            else:
                arguments = tool.wire_arguments(function, given)
                asked = call.interrupt_of(tool.alias, arguments)
                if asked is not None:
                    raise asked
                value = tool.call(function, given)
                if asyncio.iscoroutine(value):
                    value = asyncio.run(value)
        except GraphInterrupt:
            self._wait(run, call)
            raise
        except Suspend:
            self._wait(run, call)
            asked = call.interrupt_of(tool.alias, arguments) if tool is not None else None
            if asked is None:
                raise
            raise asked from None
        except Exception as error:
            run.reject(pending.id, error)
        else:
            run.resolve(pending.id, value)

    def _wait(self, run: Execution, call: Call) -> None:
        """Note for whom the program waits, and how many answers it has had: in the reasons of its calls,
        which are saved with the session.
        """
        for pending in run.pending:
            reason = _reason(run, pending)
            run._state.suspended[pending.id] = f"{reason}{_NOTE}{call.identity} {call.answered}"

    def _invoke(self, tool: BaseTool, arguments: dict[str, Any]) -> Any:
        assert self._call is not None
        return self._call.invoke(tool, arguments)


class LiveSessions:
    """The live sessions of a middleware.

    Args:
        tools: the tools that code can call.
        store: where states are kept under the thread's id; None keeps them in the state of the graph.
        most: how many are kept for later calls.
        arguments: those of `planaria.Session`.
    """

    def __init__(
        self, tools: Sequence[BaseTool], store: Store | None, most: int, arguments: SessionArguments
    ) -> None:
        self._tools = tools
        self._store = store
        self._most = most
        self._arguments = arguments
        self._lock = threading.Lock()
        #: By the checkpoint at which the step began that used them last, the latest at the end.
        self._live: OrderedDict[str, LiveSession] = OrderedDict()
        self._code_tools = CodeTools(arguments)
        self.registry = self._code_tools.with_tools(_framework_tools(tools, _not_live))
        """The functions that code can call."""

    def of_step(self, step: str, thread: str | None, call: str, saved: Sequence[Any] | None) -> LiveSession:
        """The session for a call: that of the calls before it in the same step, or the one that is in the
        state that the graph knows, live or restored.
        """
        with self._lock:
            live = self._live.pop(step, None)
            if live is None or call in live.over or live.session.is_closed:
                live = self._of_state(thread, call, saved)
                live.over.clear()
            self._live[step] = live
            self._make_room()
            return live

    def save(self, live: LiveSession, thread: str | None) -> Saved | None:
        """What the graph keeps of a session after a call; None when it crashed, so that the state before
        the call stays.
        """
        if live.session.is_closed:
            return None
        snapshot = live.session.snapshot_state()
        live.digest = snapshot.digest
        data = None
        if self._store is not None and thread is not None:
            self._store.save(thread, snapshot)
        else:
            data = bytes(snapshot)
        return live.session.execution_count, snapshot.digest, data

    def save_waiting(self, live: LiveSession, thread: str | None, call: str) -> None:
        """Save a program that waits for an answer, where there is a store."""
        if self._store is not None and thread is not None:
            self._store.save(_waiting(thread, call), live.session.snapshot_state())

    def forget_waiting(self, thread: str | None, call: str) -> None:
        """Delete what was saved of a program that waited."""
        if self._store is not None and thread is not None:
            with suppress(SnapshotNotFound):
                self._store.delete(_waiting(thread, call))

    def close(self) -> None:
        """Close all of them, and their tools."""
        with self._lock:
            while self._live:
                self._live.popitem()[1].session.close()
            self._code_tools.close()

    def _of_state(self, thread: str | None, call: str, saved: Sequence[Any] | None) -> LiveSession:
        digest = "" if saved is None else saved[1]
        for step, live in self._live.items():
            if digest and live.digest == digest and not live.lock.locked() and not live.session.is_closed:
                del self._live[step]
                return live
        found = self._loaded(thread, call, saved)
        return LiveSession(self._tools, self._code_tools, self._arguments, found)

    def _loaded(self, thread: str | None, call: str, saved: Sequence[Any] | None) -> Snapshot | None:
        if self._store is not None and thread is not None:
            with suppress(SnapshotNotFound):
                return self._store.load(_waiting(thread, call))
        if saved is None:
            return None
        _, digest, data = saved
        if data is not None:
            return Snapshot(data)
        if self._store is None or thread is None:
            raise SnapshotNotFound(f"the session {digest[:12]} of this thread is in a store; give that one")
        return self._store.load(thread, digest)

    def _make_room(self) -> None:
        """Close those that were not used for longest when there are too many."""
        for step, live in list(self._live.items()):
            if len(self._live) <= self._most:
                return
            if not live.lock.locked() and step != next(reversed(self._live)):
                del self._live[step]
                live.session.close()


def _framework_tools(
    tools: Sequence[BaseTool], invoke: Callable[[BaseTool, dict[str, Any]], Any]
) -> Iterator[FrameworkTool]:
    for tool in tools:
        schema = convert_to_openai_tool(tool)["function"].get("parameters") or {}
        yield FrameworkTool(tool.name, tool.description, schema, partial(invoke, tool))


def _not_live(tool: BaseTool, arguments: dict[str, Any]) -> Any:
    raise SessionError(f"{tool.name}() is called in a session only")


def _waiting(thread: str, call: str) -> str:
    return f"{thread}.{digest_of(call.encode())[:16]}"


def _reason(run: Execution, pending: HostCall) -> str:
    """Why a call waits, as `Suspend` said it."""
    return run.reasons.get(pending.id, "").partition(_NOTE)[0]


def _noted(run: Execution, pending: HostCall) -> tuple[str, int]:
    """The call of `eval_python` that a program waits for, and how many answers it has had."""
    call, _, answered = run.reasons.get(pending.id, "").partition(_NOTE)[2].rpartition(" ")
    return call, int(answered or 0)
