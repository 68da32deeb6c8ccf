"""A session of a server: its record, its notebook, and the calls for which its code blocks."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import anyio

from planaria.executors.messages import Answer as CallResult
from planaria.executors.messages import Ok, Raised
from planaria.integrations.named_sessions import NamedSession
from planaria.server.client_callbacks import waiting_callback
from planaria.server.kept_outputs import KeptOutputs
from planaria.server.models import CallbackDeclaration
from planaria.server.notebooks import Notebook, Recording
from planaria.server.output import listen_to_bytes
from planaria.server.problems import Problem
from planaria.server.records import Record
from planaria.session import executing
from planaria.session._async.session import AsyncSession
from planaria.session.callbacks import CallbackRegistry
from planaria.session.collector import Listeners
from planaria.session.engine import SessionEngine
from planaria.session.execution_state import ExecutionState
from planaria.session.history import Past
from planaria.session.result import Result
from planaria.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from planaria.stores.versions import Version

__all__ = ["SEPARATOR", "BlockedCall", "Outcome", "ServedSession"]

#: Between a name space and the name of a session.
SEPARATOR: Final = "."


class BlockedCall:
    """A call for which the code blocks, until a client answers it."""

    def __init__(self, name: str, arguments: tuple[object, ...], keywords: dict[str, object]) -> None:
        self.name = name
        self.arguments = arguments
        self.keywords = keywords
        self.answer: Future[CallResult] = Future()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an execution has come to."""

    execution: ExecutionState
    result: Result


def _configure(engine: SessionEngine, settings: Mapping[str, object]) -> None:
    engine.check_at_rest()
    engine.ask("configure", settings)
    engine.history.has_changed = True


def _noted(recording: Recording | None, outcome: Outcome) -> Outcome:
    if recording is not None:
        recording.end(outcome.result, waits=outcome.execution.outcome is None)
    return outcome


class ServedSession(NamedSession):
    """A session of a server, with its record."""

    def __init__(
        self,
        name: str,
        session: AsyncSession,
        record: Record,
        version: Version | None = None,
        base: Snapshot | None = None,
        notebook: Notebook | None = None,
        kept: KeptOutputs | None = None,
    ) -> None:
        super().__init__(name, session, version, base)
        self.record = record
        self.notebook = notebook
        self.kept = kept
        """The larger outputs of the notebook, where there is a store."""
        self.nodes: dict[Past | None, int] = {}
        """The numbers of the states that the tree had last."""
        self.blocked: dict[str, BlockedCall] = {}
        """Calls for which the code blocks, by their ids."""
        self.reader: Callable[[], Future[CallResult]] | None = None
        """Gives the lines of standard input to a command that has one of its own."""
        self.changes = 0
        """How often it was used in a way that may have changed something."""
        self._changed = anyio.Event()
        self.on_blocked: Callable[[str, BlockedCall], None] | None = None
        """Is called with each new one, on the thread of the execution."""
        self.is_executing = False
        """Whether code runs, rather than that its lock is held for something else."""
        self._recording: Recording | None = None
        """Shows the latest execution in the notebook."""
        self._numbers = itertools.count(1)
        session._engine.host_calls.blocked = self._block

    @property
    def id(self) -> str:
        """Its name in its name space."""
        return self.name.partition(SEPARATOR)[2]

    def has_changed(self) -> None:
        """Something may have changed."""
        self.changes += 1
        if self.notebook is not None:
            self.notebook.publish("changed")
        self._changed.set()
        self._changed = anyio.Event()

    async def next_change(self) -> None:
        """Wait until something may have changed."""
        await self._changed.wait()

    def note(self) -> bytes:
        """The record, which is saved beside the state."""
        self.record.executions = self.session.execution_count
        if self.notebook is not None:
            self.record.notebook = self.notebook.saved(self.kept.there if self.kept is not None else ())
        return self.record.note()

    # -- executing -----------------------------------------------------------------------------------------

    async def begin(
        self,
        source: str,
        timeout: float | None,
        *,
        name: str | None = None,
        stdin: bytes | None = None,
        is_program: bool = False,
        step: bool = False,
        cell: str | None = None,
    ) -> Outcome:
        """Execute code, or with `stdin` a script, as far as it goes; with `step` to its next timer.

        It is shown in a cell of the notebook, a new one unless there is a `cell`.
        """
        session, notebook = self.session, self.notebook
        program = Listeners(on_bytes=listen_to_bytes) if is_program else None
        kind: Literal["code", "bash"] = "code" if stdin is None else "bash"
        shown = nullcontext() if notebook is None else notebook.recording(source, kind, cell)
        with self._executing(shown) as recording:
            async with session._turns.held():
                execution = await session._turns.begin(
                    partial(executing.begin, session._engine, source, timeout, name, stdin, program)
                )
                result = await session._advance(execution, sleep=not step)
            return _noted(recording, Outcome(execution, result))

    async def resume(
        self, answers: Sequence[tuple[int, Ok | Raised]], *, cancel: bool = False, step: bool = False
    ) -> Outcome:
        """Take the execution that waits further, with answers to its calls. Raises Problem."""
        session = self.session
        execution = session._engine.execution
        if execution is None:
            raise Problem(409, "no execution waits in this session", code="nothing-waits")
        for number, _ in answers:
            if number not in execution.pending:
                raise Problem(404, f"no call '{number}' waits", code="no-call")

        def prepare(engine: SessionEngine) -> None:
            for number, answer in answers:
                engine.host_calls.answer_from_outside(execution, number, answer)
            if cancel:
                execution.interrupt("interrupt")

        notebook = self.notebook
        with self._executing(nullcontext() if notebook is None else notebook.going_on()) as recording:
            result = await session._resume(execution, prepare, sleep=not step)
            return _noted(recording, Outcome(execution, result))

    async def show(
        self, source: str, kind: Literal["code", "bash"], execute: Callable[[], Awaitable[Result]]
    ) -> Result:
        """Execute something, and show it in a new cell of the notebook."""
        notebook = self.notebook
        with self._executing(
            nullcontext() if notebook is None else notebook.recording(source, kind, None)
        ) as recording:
            result = await execute()
            if recording is not None:
                recording.end(result, waits=bool(result.suspended))
            return result

    @contextmanager
    def _executing(self, shown: AbstractContextManager[Recording | None]) -> Iterator[Recording | None]:
        """Execute, as `shown` shows it in the notebook."""
        with shown as self._recording:
            self.is_executing = True
            try:
                yield self._recording
            finally:
                self.is_executing = False

    async def change(
        self, *, callbacks: Sequence[CallbackDeclaration] | None, env: Mapping[str, str], seed: int | None
    ) -> None:
        """Declare other functions of the client's to the code, set variables and the random numbers."""
        settings: dict[str, object] = {}
        if callbacks is not None:
            registry = CallbackRegistry(map(waiting_callback, callbacks))
            known = self.session._engine.settings.registry
            # Forks have the same registry, and may go on calling what this session forgets.
            for callback in registry:
                if known.get(callback.name) is None:
                    known.add(callback)
            settings["callbacks"] = [callback.declaration() for callback in registry]
        if env:
            settings["environ"] = dict(env)
        if seed is not None:
            settings["seed"] = seed
        if settings:
            await self.session._ask(lambda engine: _configure(engine, settings))

    def _block(self, name: str, arguments: tuple[object, ...], keywords: Any) -> Future[CallResult] | None:
        """Take a call that blocks; comes on the thread of the execution."""
        if name == "input" and self.reader is not None:
            return self.reader()
        if name == "input" and not self.record.input:
            return None
        number = f"b{next(self._numbers)}"
        call = self.blocked[number] = BlockedCall(name, arguments, dict(keywords))
        call.answer.add_done_callback(lambda _: self.blocked.pop(number, None))
        if self._recording is not None:
            self._recording.publish_calls()
            call.answer.add_done_callback(self._recording.publish_calls)
        if self.on_blocked is not None:
            self.on_blocked(number, call)
        return call.answer
