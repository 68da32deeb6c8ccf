"""Workers that are actors of Ray (https://docs.ray.io), on any machine of its cluster."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from planaria.pool.engine import ATTEMPTS, Engine, StepQueue
from planaria.pool.errors import PoolError, WorkerLost
from planaria.pool.steps import Reply, Step
from planaria.pool.worker import Worker, WorkerSettings
from planaria.version import __version__

__all__ = ["RayEngine", "RayWorkers"]

_LOG: Final = logging.getLogger("planaria.pool")

#: The namespace of Ray that actors with names are in.
_NAMESPACE: Final = "planaria"
_ALONE: Final[Mapping[str, Any]] = {"num_cpus": 1}


@dataclass(frozen=True, slots=True)
class RayWorkers:
    """Which actors a pool on Ray has: `Pool(store, RayWorkers(most=8), workers=2)`.

    While steps wait for all of the `workers=` that it begins with, it starts more of them, up to `most`, for
    which Ray's own autoscaler starts machines; those that had nothing to do for `idle` seconds end again.

    With a `name` the actors are detached: they outlive the program, and other programs that give this name
    use the same ones, with the callbacks and options of the first. `end` ends them.
    """

    name: str | None = None
    most: int | None = None
    """As many as the pool begins with unless given."""
    idle: float = 60.0
    """In seconds."""
    options: Mapping[str, Any] = field(default_factory=lambda: dict(_ALONE))
    """What each needs, as `ray.remote` has it: `num_cpus`, `memory`, `resources` and so on."""

    def end(self) -> int:
        """End the actors of this name; how many there were. Raises PoolError without a name or Ray."""
        if self.name is None:
            raise PoolError("only actors with a name outlive their pool")
        ray = _connected()
        actors = [ray.get_actor(one, _NAMESPACE) for one in self._there(ray)]
        for actor in actors:
            ray.kill(actor)
        return len(actors)

    def _there(self, ray: Any) -> list[str]:
        """The names of the actors that are there, sorted by number."""
        named = ray.util.list_named_actors(all_namespaces=True)
        numbers = [
            int(number)
            for one in named
            if one["namespace"] == _NAMESPACE
            for name, _, number in [one["name"].rpartition(".")]
            if name == self.name and number.isdecimal()
        ]
        return [f"{self.name}.{number}" for number in sorted(numbers)]

    def _actor_options(self, number: int) -> dict[str, Any]:
        options = {"max_restarts": -1, "max_task_retries": ATTEMPTS - 1, **self.options}
        if self.name is not None:
            named = {"name": f"{self.name}.{number}", "namespace": _NAMESPACE}
            options |= {**named, "lifetime": "detached", "get_if_exists": True}
        return options


class _Member:
    """One actor of the pool."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.is_ready = False
        self.is_busy = False
        self.idle_since = time.monotonic()


class RayEngine(Engine):
    """Actors, each of which executes one step at a time.

    A step goes to the actor that had its session last if that is free, and else to any. Ray starts an actor
    that was lost again, where there is room, and executes its step again.
    """

    attempts = 1

    def __init__(self, settings: WorkerSettings, workers: int | None, wanted: RayWorkers) -> None:
        self._ray = ray = _connected()
        #: What calls of an actor raise that is lost, or that there is nowhere a place for any more.
        self._lost = (ray.exceptions.RayActorError, ray.exceptions.ActorUnschedulableError)
        least = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._least, self._most = least, max(least, wanted.most or least)
        self._wanted = wanted
        self._settings = settings
        self._changed = threading.Condition()
        self._waiting = StepQueue(self._most * settings.most_live)
        self._members: dict[int, _Member] = {}
        self._is_closing = False
        #: Why the last actor that could not be used could not.
        self._failure: BaseException | None = None
        numbers = set(range(least))
        if wanted.name is not None:  # also those that others have added
            numbers |= {int(name.rpartition(".")[2]) for name in wanted._there(ray)}
        with self._changed:
            for number in sorted(numbers):
                self._add(number)
        if self._most > least:
            threading.Thread(target=self._shrink, name="planaria-pool-idle", daemon=True).start()

    def submit(self, step: Step) -> Future[Reply]:
        future: Future[Reply] = Future()
        with self._changed:
            if self._is_closing:
                raise PoolError("this pool is closed")
            self._waiting.add(step, future)
            self._hand_out()
            if len(self._waiting) and len(self._members) < self._most:
                self._grow()
            failed = self._abandoned()
        self._fail(failed)
        return future

    def drain(self) -> None:
        with self._changed:
            actors = [member.actor for member in self._members.values()]
        self._ray.get([actor.drain.remote() for actor in actors])

    def close(self) -> None:
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: not len(self._waiting) and not any(one.is_busy for one in self._members.values())
            )
            members, self._members = self._members, {}
        if self._wanted.name is None:
            for member in members.values():
                self._ray.kill(member.actor)

    def worker_pids(self) -> list[int]:
        with self._changed:
            actors = [member.actor for member in self._members.values()]
        pids = []
        for answer in [actor.about.remote() for actor in actors]:
            with suppress(*self._lost):  # one that has ended meanwhile
                pids.append(self._ray.get(answer)[0])
        return pids

    # -- with the lock held ----------------------------------------------------------------------------------

    def _add(self, number: int) -> None:
        actor = self._ray.remote(_Actor).options(**self._wanted._actor_options(number))
        member = self._members[number] = _Member(actor.remote(self._settings))
        answered = member.actor.about.remote().future()
        answered.add_done_callback(lambda done: self._appeared(number, member, done))

    def _grow(self) -> None:
        """Start another actor, unless one is being started."""
        if all(member.is_ready for member in self._members.values()):
            number = next(one for one in range(self._most) if one not in self._members)
            _LOG.info("%d steps wait: starting a worker more", len(self._waiting))
            self._add(number)

    def _is_busy(self, number: int) -> bool:
        member = self._members.get(number)
        return member is None or member.is_busy or not member.is_ready

    def _hand_out(self) -> None:
        """Give steps to the actors that are free."""
        for number, member in self._members.items():
            while not member.is_busy and member.is_ready:
                taken = self._waiting.take(number, self._is_busy)
                if taken is None:
                    break
                step, future = taken
                if future.set_running_or_notify_cancel():  # else the actor is free for the next one
                    member.is_busy = True
                    self._execute(number, member, step, future)

    def _execute(self, number: int, member: _Member, step: Step, future: Future[Reply]) -> None:
        answered = member.actor.step.remote(step).future()
        answered.add_done_callback(lambda done: self._answered(number, member, future, done))

    def _abandoned(self) -> list[Future[Reply]]:
        """The steps that wait although there is no actor any more."""
        return self._waiting.clear() if not self._members and self._failure is not None else []

    # -- on threads of Ray -----------------------------------------------------------------------------------

    def _appeared(self, number: int, member: _Member, done: Future[tuple[int, str, str]]) -> None:
        """An actor has said who it is, or could not be created."""
        error: BaseException | None = done.exception()
        if error is None:
            _, version, store = done.result()
            if version != __version__:
                error = PoolError(
                    f"the actors named {self._wanted.name!r} are of planaria {version}, and this is "
                    f"{__version__}: end them with RayWorkers(name).end(), or use another name"
                )
            elif store != _place(self._settings):
                error = PoolError(f"the actors named {self._wanted.name!r} have another store: {store}")
        with self._changed:
            if error is None:
                member.is_ready = True
                member.idle_since = time.monotonic()
                self._hand_out()
            else:
                self._failure = PoolError(f"an actor could not be started: {error}")
                self._members.pop(number, None)
            failed = self._abandoned()
            self._changed.notify_all()
        self._fail(failed)

    def _answered(self, number: int, member: _Member, future: Future[Reply], done: Future[Reply]) -> None:
        error = done.exception()
        with self._changed:
            member.is_busy = False
            member.idle_since = time.monotonic()
            exceptions = self._ray.exceptions
            # An actor that was lost is started again by Ray, unless someone has ended it, or that fails.
            if isinstance(error, (exceptions.ActorDiedError, exceptions.ActorUnschedulableError)):
                member.is_ready = False
                threading.Thread(
                    target=self._replace, args=(number, member), name="planaria-pool-replace", daemon=True
                ).start()
            self._hand_out()
            self._changed.notify_all()
        if error is not None:
            future.set_exception(self._translated(error))
        else:
            future.set_result(done.result())

    def _translated(self, error: BaseException) -> BaseException:
        if isinstance(error, self._lost):
            return WorkerLost(f"an actor was lost in the middle of a step: {error}")
        if isinstance(error, self._ray.exceptions.RayTaskError):
            cause: BaseException = error.cause
            return cause
        return error

    def _fail(self, futures: list[Future[Reply]]) -> None:
        for future in futures:
            if future.set_running_or_notify_cancel():
                assert self._failure is not None
                future.set_exception(self._failure)

    # -- on threads of our own -------------------------------------------------------------------------------

    def _replace(self, number: int, member: _Member) -> None:
        """Have another actor in the place of one that Ray does not start again.

        Ending an actor waits for an answer, which one of Ray's own threads receives.
        """
        self._ray.kill(member.actor)
        with self._changed:
            if self._members.get(number) is member:
                del self._members[number]
                self._add(number)

    def _shrink(self) -> None:
        while True:
            with self._changed:
                if self._is_closing:
                    return
                surplus = len(self._members) - self._least
                idle = [one for one in self._members.items() if self._is_idle(one[1])]
                asked = idle[::-1][: max(0, surplus)]
                for _, member in asked:
                    member.is_busy = True
                if not asked:
                    self._changed.wait(self._wanted.idle)
            for number, member in asked:
                has_left = self._has_left(member)
                with self._changed:
                    member.is_busy = False
                    member.idle_since = time.monotonic()
                    if has_left:
                        _LOG.info("a worker had nothing to do for %g s, and has ended", self._wanted.idle)
                        self._members.pop(number, None)
                    self._hand_out()
                    self._changed.notify_all()

    def _is_idle(self, member: _Member) -> bool:
        is_free = member.is_ready and not member.is_busy
        return is_free and time.monotonic() - member.idle_since >= self._wanted.idle

    def _has_left(self, member: _Member) -> bool:
        """Have an actor end, all of whose sessions are saved, unless another program has steps for it."""
        try:
            self._ray.get(member.actor.leave.remote(self._wanted.idle))
        except self._ray.exceptions.RayActorError:
            return True
        return False


class _Actor:
    """A worker as Ray has it."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._worker = Worker(settings, end=_end)
        self._worker.appear()
        self._used_at = time.monotonic()

    def step(self, step: Step) -> Reply:
        try:
            return self._worker.step(step)
        finally:
            self._used_at = time.monotonic()

    def drain(self) -> None:
        self._worker.drain()

    def leave(self, idle: float) -> None:
        """End for good, unless there was a step within so many seconds."""
        import ray  # type: ignore[import-not-found,import-untyped,unused-ignore]

        if time.monotonic() - self._used_at >= idle:
            self._worker.close()
            ray.actor.exit_actor()

    def about(self) -> tuple[int, str, str]:
        """Its process, its version of planaria, and its store."""
        return os.getpid(), __version__, _place(self._settings)


def _place(settings: WorkerSettings) -> str:
    return settings.store if isinstance(settings.store, str) else type(settings.store).__name__


def _end() -> None:
    """Ray starts another process for this actor."""
    os._exit(0)


def _connected() -> Any:
    """The module of Ray, connected to a cluster. Raises PoolError without it."""
    try:
        import ray  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise PoolError("engine='ray' needs Ray: pip install 'planaria[ray]'") from error
    if not ray.is_initialized():
        ray.init()
    return ray
