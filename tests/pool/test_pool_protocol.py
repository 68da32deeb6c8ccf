"""The protocol of steps as a model: workers that crash or stop at any point, leases that end, steps sent again."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from example_counts import examples
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import planaria
from planaria import MemoryStore
from planaria.errors import SnapshotConflict
from planaria.pool import worker as worker_module
from planaria.pool.errors import NameInUse, OutcomeUnknown
from planaria.pool.outcomes import decoded_result
from planaria.pool.steps import Execute, Reply, Step
from planaria.pool.worker import Worker, WorkerSettings
from planaria.session.options import SessionOptions
from planaria.stores import folding as folding_module
from planaria.stores.leases import Lease, MemoryLeases

pytestmark = pytest.mark.slow

#: More points than a step passes.
POINTS = 12
NAMES = st.sampled_from(["a", "b"])
IMAGE = f"protocol-{os.getpid()}"
OPTIONS: SessionOptions = {"image": IMAGE}


class Crash(BaseException):
    """Ends a worker as SIGKILL would: it does nothing any more."""


class Gate:
    """Lets a worker pass a number of points, at which it then stops until it may go on or has to crash."""

    def __init__(self, points: int | None) -> None:
        self._left = points
        self.stopped = threading.Event()
        self._goes_on = threading.Event()
        self._is_dead = False

    def point(self) -> None:
        if self._is_dead:
            raise Crash
        if self._left == 0:
            self.stopped.set()
            self._goes_on.wait()
            if self._is_dead:
                raise Crash
        if self._left is not None:
            self._left -= 1

    def go_on(self, *, crash: bool) -> None:
        self._is_dead = crash
        self._goes_on.set()


class GatedStore:
    """A store in which a worker passes a point before and after each operation."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.gate = Gate(None)
        self.leases = GatedLeases(store.leases, self)
        self.folding: Any = None
        """The same store for the thread that folds, with a gate of its own."""

    def __getattr__(self, name: str) -> Any:
        return self.gated(getattr(self._store, name))

    def gated(self, action: Callable[..., Any]) -> Callable[..., Any]:
        def passing(*args: Any, **kwargs: Any) -> Any:
            self.gate.point()
            result = action(*args, **kwargs)
            self.gate.point()
            return result

        return passing


class GatedLeases:
    def __init__(self, leases: Any, store: GatedStore) -> None:
        self._leases = leases
        self._store = store

    def acquire(self, *args: Any, **kwargs: Any) -> Lease | None:
        lease: Lease | None = self._store.gated(self._leases.acquire)(*args, **kwargs)
        return None if lease is None else Lease(lease.name, self._store.gated(lease.release))


class Attempt(threading.Thread):
    """A step in a worker, which may stop on its way."""

    def __init__(self, worker: Worker, store: GatedStore, step: Step, points: int | None) -> None:
        super().__init__(daemon=True)
        self.worker, self.one = worker, step
        self._store = store
        self.gate = store.gate = Gate(points)
        self.reply: Reply | None = None
        self.error: BaseException | None = None
        self._ended = threading.Event()
        self.start()

    def run(self) -> None:
        try:
            self.reply = self.worker.step(self.one)
        except BaseException as error:
            self.error = error
        self._ended.set()
        self.gate.stopped.set()

    def has_ended(self) -> bool:
        """Wait until it has ended or stopped; whether it has ended."""
        self.gate.stopped.wait()
        return self._ended.is_set()


class Fold(threading.Thread):
    """A worker's thread that folds a delta, which may stop on its way."""

    def __init__(self, worker: Worker, store: GatedStore, points: int | None) -> None:
        super().__init__(daemon=True)
        self.worker = worker
        self.gate = store.gate = Gate(points)
        self._error: BaseException | None = None
        self._ended = threading.Event()
        self.start()

    def run(self) -> None:
        try:
            self.worker._folding.fold_one()
        except Crash:
            pass
        except BaseException as error:
            self._error = error
        self._ended.set()
        self.gate.stopped.set()

    def has_ended(self) -> bool:
        """Wait until it has ended or stopped; whether it has ended."""
        self.gate.stopped.wait()
        if self._error is not None:
            raise self._error
        return self._ended.is_set()

    def end(self, *, crash: bool) -> None:
        self.gate.go_on(crash=crash)
        self.join()
        assert self.has_ended()


@pytest.fixture(scope="module", autouse=True)
def image() -> Iterator[None]:
    """The image that the sessions begin with, which stores keep for those who lack it."""
    with planaria.Session() as session:
        session.run("began = True")
        session.save_as_image(IMAGE)
    yield
    planaria.Image.remove(IMAGE)


class Protocol(RuleBasedStateMachine):
    """Each step appends its number to the session's list `log`, so that the list is the session's history."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore()
        self.workers: list[tuple[Worker, GatedStore]] = []
        self.count = 0
        #: Steps that were not answered.
        self.unanswered: list[Step] = []
        #: Steps whose outcome cannot be known any more.
        self.unknown: set[int] = set()
        self.stopped: list[Attempt] = []
        self.folds: list[Fold] = []
        self.answered: dict[str, list[tuple[int, list[int]]]] = {"a": [], "b": []}
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(worker_module, "_WAIT", 0.0)
        # Each delta has to be folded, when the model says so rather than at once.
        self.patch.setattr(folding_module, "is_worth_a_delta", lambda *_, times=1: times > 1)
        self.patch.setattr(folding_module.Folding, "_start", lambda _: None)

    @initialize()
    def begin(self) -> None:
        self.workers = [self.new_worker() for _ in range(2)]

    def new_worker(self) -> tuple[Worker, GatedStore]:
        gated: Any = GatedStore(self.store)
        worker = Worker(WorkerSettings(gated, options=OPTIONS))
        folding: Any = GatedStore(self.store)
        worker._folding._store = gated.folding = folding
        return worker, gated

    # -- what happens ----------------------------------------------------------------------------------------

    @rule(
        name=NAMES, which=st.integers(0, 1), points=st.none() | st.integers(0, POINTS), crashes=st.booleans()
    )
    def send(self, name: str, which: int, points: int | None, crashes: bool) -> None:
        """A new step, whose worker may stop or crash at a point."""
        self.count += 1
        number = self.count
        source = f"log = [*globals().get('log', []), {number}]; log"
        self.attempt(Step(name, Execute(source), identifier=str(number)), which, points, crashes)

    @precondition(lambda self: self.unanswered)
    @rule(
        data=st.data(),
        which=st.integers(0, 1),
        points=st.none() | st.integers(0, POINTS),
        crashes=st.booleans(),
    )
    def send_again(self, data: st.DataObject, which: int, points: int | None, crashes: bool) -> None:
        """A step that was not answered, perhaps after others."""
        step = self.unanswered.pop(data.draw(st.integers(0, len(self.unanswered) - 1)))
        self.attempt(replace(step, attempt=step.attempt + 1), which, points, crashes)

    @rule(name=NAMES, which=st.integers(0, 1))
    def send_many(self, name: str, which: int) -> None:
        """So many steps that earlier ones are not remembered."""
        for _ in range(8):
            self.send(name, which, None, False)

    @rule(name=NAMES, points=st.integers(0, POINTS), crash=st.booleans())
    def overtake(self, name: str, points: int, crash: bool) -> None:
        """A worker stands still for so long that its lease ends and another executes a step; then it goes on."""
        self.send(name, 0, points, False)
        self.expire(name)
        self.send(name, 1, None, False)
        if self.stopped:
            self.end(self.stopped.pop(), crash=crash)

    def attempt(self, step: Step, which: int, points: int | None, crashes: bool) -> None:
        worker, gated = self.workers[which]
        attempt = Attempt(worker, gated, step, points)
        if attempt.has_ended():
            self.judge(attempt)
            return
        self.workers[which] = self.new_worker()
        if crashes:
            self.end(attempt, crash=True)
        else:
            self.stopped.append(attempt)

    @precondition(lambda self: self.stopped)
    @rule(data=st.data(), crash=st.booleans())
    def go_on(self, data: st.DataObject, crash: bool) -> None:
        """A worker that stood still goes on, however late, or turns out to be dead."""
        self.end(self.stopped.pop(data.draw(st.integers(0, len(self.stopped) - 1))), crash=crash)

    def end(self, attempt: Attempt, *, crash: bool) -> None:
        attempt.gate.go_on(crash=crash)
        attempt.join()
        self.judge(attempt)
        if not crash:
            attempt.worker.close()

    @rule(name=NAMES)
    def expire(self, name: str) -> None:
        """A lease ends, since its holder was not heard of."""
        assert isinstance(self.store.leases, MemoryLeases)
        self.store.leases._held.pop(name, None)

    @rule(which=st.integers(0, 1), points=st.none() | st.integers(0, 1))
    def fold(self, which: int, points: int | None) -> None:
        """A worker folds a delta that it has saved, and may stand still before or after it replaces that."""
        worker, gated = self.workers[which]
        if worker._folding._waiting:
            fold = Fold(worker, gated.folding, points)
            if not fold.has_ended():
                self.folds.append(fold)

    @precondition(lambda self: self.folds)
    @rule(data=st.data(), crash=st.booleans())
    def fold_goes_on(self, data: st.DataObject, crash: bool) -> None:
        """A worker that stood still while it folded goes on, after steps of its own and of others."""
        fold = self.folds[data.draw(st.integers(0, len(self.folds) - 1))]
        if not fold.worker._turn.locked():  # by a step that stands still
            self.folds.remove(fold)
            fold.end(crash=crash)

    @rule()
    def collect(self) -> None:
        """What no version needs is removed, also the image when there is no version."""
        self.store.collect_garbage()

    @rule(name=NAMES)
    def forget(self, name: str) -> None:
        """A session is deleted while no worker is in the middle of one of its steps."""
        if self.store.newest(name) is None or any(one.one.name == name for one in self.stopped):
            return
        self.unknown |= set(self.log(name))
        self.answered[name].clear()
        self.store.delete(name)

    @rule(which=st.integers(0, 1))
    def drain(self, which: int) -> None:
        """A worker closes its live sessions."""
        self.workers[which][0].drain()

    # -- what must hold --------------------------------------------------------------------------------------

    def judge(self, attempt: Attempt) -> None:
        step, number = attempt.one, int(attempt.one.identifier)
        match attempt.error:
            case None:
                assert attempt.reply is not None
                log = decoded_result(attempt.reply.result).value
                assert log[-1] == number
                self.answered[step.name].append((number, log))
            case OutcomeUnknown():
                self.unknown.add(number)
            case NameInUse():
                assert self.store.leases.is_held(step.name)
                self.unanswered.append(step)
            case Crash() | SnapshotConflict():
                self.unanswered.append(step)
            case error:
                raise error

    def log(self, name: str) -> list[int]:
        """What the newest state in the store says."""
        newest = self.store.newest(name)
        if newest is None:
            return []
        fresh = Worker(WorkerSettings(self.store, options=OPTIONS))
        live = fresh._opened(name, newest)
        log: list[int] = live.session.run("log").value
        live.session.close()
        return log

    @invariant()
    def each_session_has_its_image(self) -> None:
        """The image that the sessions rest on is in the store as long as there is one of them."""
        if self.store.list():
            assert self.store._read(lambda shelves: shelves.sizes("layer"))

    @invariant()
    def there_is_one_history(self) -> None:
        """What was answered is in the history, in that place, and nothing is there twice."""
        for name, answers in self.answered.items():
            if not answers:
                continue
            assert len(self.store.load(name).chain()) <= 2
            log = self.log(name)
            assert len(set(log)) == len(log)
            for _, seen in answers:
                assert log[: len(seen)] == seen

    def teardown(self) -> None:
        """In the end each step has happened exactly once, but for those that were reported as unknown."""
        try:
            for attempt in self.stopped:
                self.end(attempt, crash=True)
            self.stopped.clear()
            for fold in self.folds:
                fold.end(crash=False)
            while self.unanswered:
                step = self.unanswered.pop()
                self.expire(step.name)
                self.attempt(replace(step, attempt=step.attempt + 1), 0, None, False)
            self.there_is_one_history()
            logs = [*self.log("a"), *self.log("b")]
            assert len(set(logs)) == len(logs)
            assert set(range(1, self.count + 1)) - set(logs) <= self.unknown
        finally:
            self.patch.undo()
            for worker, gated in self.workers:
                gated.gate = Gate(None)
                worker.close()


TestProtocol = Protocol.TestCase
TestProtocol.settings = settings(max_examples=examples(15), stateful_step_count=20, deadline=None)
