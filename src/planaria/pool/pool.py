"""`Pool`: sessions by name, each step of which any worker may execute."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor as FuturesExecutor
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, Unpack

from planaria.executors.messages import HostCall
from planaria.limits import NOT_GIVEN, NotGiven
from planaria.pool.engine import Engine
from planaria.pool.errors import PoolError
from planaria.pool.opening import open_engine
from planaria.pool.outcomes import decoded_result
from planaria.pool.ray import RayWorkers
from planaria.pool.sending import Sender
from planaria.pool.steps import Answer, Cancel, Command, Execute, Reply, Step
from planaria.pool.worker import WorkerSettings
from planaria.session.callbacks import Callbacks
from planaria.session.executing import check_source
from planaria.session.options import SessionOptions
from planaria.session.parameters import suggest_session_options
from planaria.session.result import Result
from planaria.stores.opening import open_store
from planaria.stores.store import Store, check_name
from planaria.stores.versions import Version

__all__ = ["AsyncPool", "Pool", "PoolExecution", "Values"]


class Values(list[Any]):
    """The values of a map, in the order of its names."""

    def argmax(self) -> int:
        """The place of the largest value. Raises ValueError when there is none."""
        return max(range(len(self)), key=self.__getitem__)

    def argmin(self) -> int:
        """The place of the smallest value. Raises ValueError when there is none."""
        return min(range(len(self)), key=self.__getitem__)


@dataclass(frozen=True, slots=True)
class PoolExecution:
    """What an execution has come to: it is over, or waits for calls that `Pool.resolve` answers."""

    name: str
    result: Result
    """Of an execution that waits, what there is so far."""
    version: Version
    """Of the state that was saved."""
    worker: int
    """The process that executed the step."""

    @property
    def pending(self) -> list[HostCall]:
        """The calls that wait for an answer."""
        return list(self.result.suspended)

    @property
    def is_done(self) -> bool:
        return not self.result.suspended


class _Core:
    """What the two pools have in common."""

    @suggest_session_options(SessionOptions.__annotations__)
    def __init__(
        self,
        store: str | Store,
        engine: str | FuturesExecutor | RayWorkers | Engine = "processes",
        *,
        callbacks: Callbacks | str = (),
        workers: int | None = None,
        most_live: int = 16,
        most_live_memory: int = 1 << 30,
        patience: float = 30.0,
        setup: Callable[[], object] | str | None = None,
        **options: Unpack[SessionOptions],
    ) -> None:
        """Open a pool.

        Args:
            store: where the sessions are, which all workers must reach: a URL (`file:///directory`,
                `sqlite:////file`, `redis://…`) or a store.
            engine: what runs the workers: "processes" of this machine, "ray" or `RayWorkers`, or any executor
                of `concurrent.futures`.
            callbacks: as `Session` has them, or "module:name" of what the workers import.
            workers: how many; as many as there are processors unless given.
            most_live: how many sessions each worker keeps in memory.
            most_live_memory: how many bytes these may take together, besides the images that they began with;
                the one that was used last is kept whatever it takes.
            patience: seconds for which steps are tried again while the store cannot be reached.
            setup: a function, or "module:name", that each worker calls when it starts, for logging and
                telemetry.
            options: other arguments of `Session`, as `limits` and `image`.

        Raises PoolError when the engine cannot be had, StorageError when the store cannot be used, and for
        an argument that no session could use what `Session` raises.
        """
        settings = WorkerSettings(store, callbacks, options, most_live, most_live_memory, setup)
        settings.check()
        if isinstance(patience, bool) or not isinstance(patience, (int, float)) or not patience >= 0:
            raise ValueError(f"patience={patience!r}: must be a number of seconds, 0 or more")
        self._owns_store = isinstance(store, str)
        self._store = open_store(store) if isinstance(store, str) else store
        try:
            self._engine = open_engine(engine, settings, workers)
        except BaseException:
            if self._owns_store:
                self._store.close()
            raise
        self._sender = Sender(self._engine, self._store, patience)

    def _submit(self, name: str, command: Command) -> Future[Reply]:
        check_name(name)
        return self._sender.submit(Step(name, command))

    def names(self) -> list[str]:
        """The names of the sessions, sorted."""
        return self._store.list()

    def _fork(self, name: str, names: Sequence[str]) -> list[str]:
        snapshot = self._store.load(name)
        for one in names:
            self._store.save(one, snapshot, expected=None, keep=1)
        return list(names)

    def _new_names(self, name: str, n: int) -> list[str]:
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ValueError(f"n={n!r}: must be a number of forks greater than 0")
        taken = set(self._store.list())
        names: list[str] = []
        number = 0
        while len(names) < n:
            number += 1
            if f"{name}.{number}" not in taken:
                names.append(f"{name}.{number}")
        return names

    def _promote(self, name: str, to: str) -> None:
        snapshot = self._store.load(name)
        self._store.save(to, snapshot, expected=self._store.newest(to), keep=1)

    def _delete(self, name: str) -> None:
        self._store.delete(name)

    def worker_pids(self) -> list[int]:
        """The processes of the workers that have started. Raises PoolError where they are others'."""
        return self._engine.worker_pids()

    def _close(self) -> None:
        self._sender.close()
        self._engine.close()
        if self._owns_store:
            self._store.close()


def _result(reply: Reply) -> Result:
    return decoded_result(reply.result)


def _execution(name: str, reply: Reply) -> PoolExecution:
    return PoolExecution(name, _result(reply), reply.version, reply.worker)


def _value(name: str, reply: Reply) -> Any:
    result = _result(reply)
    if result.error is not None:
        result.error.add_note(f"in the session {name!r}")
        raise result.error
    if result.suspended:
        raise PoolError(f"{name!r} waits for {', '.join(f'{call.name}()' for call in result.suspended)}")
    return result.value


def _commands(names: Sequence[str], code: str, args: Iterable[Mapping[str, object]] | None) -> list[Execute]:
    """What a map sends to each of its sessions; all are checked before the first is sent."""
    if isinstance(names, str):
        raise TypeError(f"the names of sessions are a list, not the string {names!r}")
    for name in names:
        check_name(name)
    check_source(code)
    given = [{} for _ in names] if args is None else [dict(one) for one in args]
    if len(given) != len(names):
        raise ValueError(f"there are {len(names)} names and {len(given)} arguments")
    return [Execute(code, one) for one in given]


class Pool(_Core):
    """Sessions by name, each step of which any worker may execute. For any thread.

    Each state is saved before its step is answered. When a worker is lost, its step is executed again by
    another one, from the state before; what it has changed in the session happens once. Callbacks may be
    called again then (see `idempotency_key`).
    """

    def run(
        self,
        name: str,
        code: str,
        timeout: float | NotGiven | None = NOT_GIVEN,
        *,
        args: Mapping[str, object] | None = None,
    ) -> Result:
        """Execute code in the session of a name, which is created when it is new; see `Session.run`.

        `args` are values of variables that are set before: None, numbers, strings, bytes, and lists, tuples,
        sets and dicts of these. Raises WorkerLost when workers end one after the other with this step.
        """
        return _result(self._submit(name, Execute(code, args or {}, timeout)).result())

    def bash(self, name: str, script: str, timeout: float | NotGiven | None = NOT_GIVEN) -> Result:
        """Run a script in the shell of a session; what `Session.bash` raises is in the result's `error`."""
        return _result(self._submit(name, Execute(script, {}, timeout, is_script=True)).result())

    def start(self, name: str, code: str, timeout: float | NotGiven | None = NOT_GIVEN) -> PoolExecution:
        """Execute code that may wait for calls whose callbacks raise `Suspend`; see `resolve`."""
        return _execution(name, self._submit(name, Execute(code, {}, timeout)).result())

    def resolve(self, name: str, call: int, value: object = None) -> PoolExecution:
        """Answer a call that a session waits for, and go on. Raises PoolError for another one."""
        return _execution(name, self._submit(name, Answer(call, value)).result())

    def reject(self, name: str, call: int, error: str) -> PoolExecution:
        """Answer a call with a RuntimeError of that message, and go on. Raises PoolError for another one."""
        return _execution(name, self._submit(name, Answer(call, error=error)).result())

    def cancel(self, name: str) -> PoolExecution:
        """Raise KeyboardInterrupt where a session waits. Raises PoolError when it does not."""
        return _execution(name, self._submit(name, Cancel()).result())

    def fork(self, name: str, n: int = 1, *, names: Sequence[str] | None = None) -> list[str]:
        """New names for copies of a session's state: NAME.1, NAME.2 and so on unless given.

        Raises SnapshotNotFound when there is no session of that name, SnapshotConflict when a name is taken.
        """
        return self._fork(name, self._new_names(name, n) if names is None else names)

    def map(
        self, names: Sequence[str], code: str, *, args: Iterable[Mapping[str, object]] | None = None
    ) -> Values:
        """Execute code in several sessions at the same time; their values in order.

        Raises the error of the first one that failed, when all are over.
        """
        commands = _commands(names, code, args)
        futures = [self._submit(name, command) for name, command in zip(names, commands, strict=True)]
        for future in futures:
            future.exception()
        return Values(_value(name, future.result()) for name, future in zip(names, futures, strict=True))

    def promote(self, name: str, *, to: str) -> None:
        """Make the state of one session that of another name. Raises SnapshotNotFound."""
        self._promote(name, to)

    def delete(self, name: str) -> None:
        """Delete a session. Raises SnapshotNotFound."""
        self._delete(name)

    def drain(self) -> None:
        """Have the workers close their live sessions, all of which are saved."""
        self._engine.drain()

    def close(self) -> None:
        """Wait for the steps under way, and end the workers; the sessions stay in the store."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class AsyncPool(_Core):
    """`Pool` for asyncio: the same methods, to be awaited."""

    async def run(
        self,
        name: str,
        code: str,
        timeout: float | NotGiven | None = NOT_GIVEN,
        *,
        args: Mapping[str, object] | None = None,
    ) -> Result:
        """See `Pool.run`."""
        return _result(await self._step(name, Execute(code, args or {}, timeout)))

    async def bash(self, name: str, script: str, timeout: float | NotGiven | None = NOT_GIVEN) -> Result:
        """See `Pool.bash`."""
        return _result(await self._step(name, Execute(script, {}, timeout, is_script=True)))

    async def start(
        self, name: str, code: str, timeout: float | NotGiven | None = NOT_GIVEN
    ) -> PoolExecution:
        """See `Pool.start`."""
        return _execution(name, await self._step(name, Execute(code, {}, timeout)))

    async def resolve(self, name: str, call: int, value: object = None) -> PoolExecution:
        """See `Pool.resolve`."""
        return _execution(name, await self._step(name, Answer(call, value)))

    async def reject(self, name: str, call: int, error: str) -> PoolExecution:
        """See `Pool.reject`."""
        return _execution(name, await self._step(name, Answer(call, error=error)))

    async def cancel(self, name: str) -> PoolExecution:
        """See `Pool.cancel`."""
        return _execution(name, await self._step(name, Cancel()))

    async def fork(self, name: str, n: int = 1, *, names: Sequence[str] | None = None) -> list[str]:
        """See `Pool.fork`."""
        return await asyncio.to_thread(
            lambda: self._fork(name, self._new_names(name, n) if names is None else names)
        )

    async def map(
        self, names: Sequence[str], code: str, *, args: Iterable[Mapping[str, object]] | None = None
    ) -> Values:
        """See `Pool.map`."""
        commands = _commands(names, code, args)
        steps = [self._step(name, command) for name, command in zip(names, commands, strict=True)]
        replies = await asyncio.gather(*steps, return_exceptions=True)
        values = Values()
        for name, reply in zip(names, replies, strict=True):
            if isinstance(reply, BaseException):
                raise reply
            values.append(_value(name, reply))
        return values

    async def promote(self, name: str, *, to: str) -> None:
        """See `Pool.promote`."""
        await asyncio.to_thread(self._promote, name, to)

    async def delete(self, name: str) -> None:
        """See `Pool.delete`."""
        await asyncio.to_thread(self._delete, name)

    async def drain(self) -> None:
        """See `Pool.drain`."""
        await asyncio.to_thread(self._engine.drain)

    async def close(self) -> None:
        """See `Pool.close`."""
        await asyncio.to_thread(self._close)

    async def _step(self, name: str, command: Command) -> Reply:
        return await asyncio.wrap_future(self._submit(name, command))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
