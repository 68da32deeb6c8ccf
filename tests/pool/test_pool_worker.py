"""Workers, by themselves: what a step does to a session and to the store."""

from __future__ import annotations

import math
import threading
from typing import Any, Unpack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_snapshots import make_snapshot
from pool_callbacks import registry

from planaria import Limits, MemoryStore, Session, SnapshotConflict, SnapshotVersionError, Store
from planaria.errors import ExecutionError, LimitError, TimeoutError
from planaria.pool.errors import PoolError
from planaria.pool.outcomes import decoded_result
from planaria.pool.steps import Answer, Cancel, Command, Execute, Reply, Step
from planaria.pool.worker import Worker, WorkerSettings, _literal
from planaria.session.options import SessionOptions

pytestmark = pytest.mark.slow


def new_worker(store: Store, **options: Unpack[SessionOptions]) -> Worker:
    return Worker(WorkerSettings(store, registry, options))


def value(reply: Reply) -> Any:
    result = decoded_result(reply.result)
    assert result.error is None
    return result.value


def step(worker: Worker, command: str | Command, name: str = "one") -> Reply:
    return worker.step(Step(name, Execute(command) if isinstance(command, str) else command))


def test_any_worker_resumes_a_session() -> None:
    """A session goes on in another worker where the last one left it, and in the first one after that."""
    store = MemoryStore()
    first, second = new_worker(store), new_worker(store)
    step(first, "x = 1")
    assert not step(second, "x += 1").was_live
    reply = step(first, "x += 1; x")
    assert (value(reply), reply.was_live) == (3, False)
    reply = step(first, "x += 1; x")
    assert (value(reply), reply.was_live) == (4, True)


def test_live_sessions_are_bounded_by_memory() -> None:
    """A worker closes the sessions that it used least recently once they take too much memory, but not the last."""
    worker = Worker(WorkerSettings(MemoryStore(), most_live_memory=100 << 20))
    for name in ("large", "small", "other"):
        step(worker, "data = bytes(range(256)) * (80 << 12)" if name == "large" else "n = 1", name)
    assert all(step(worker, "n = 2", name).was_live for name in ("small", "other"))
    assert step(worker, "len(data)", "large").was_live
    step(worker, "data = bytes(range(256)) * (40 << 12)", "small")
    assert not step(worker, "len(data)", "large").was_live  # closed for the one before
    assert step(worker, "data *= 2", "large").was_live


def test_a_step_that_is_sent_again_is_not_executed_again() -> None:
    """A step that was saved is answered with its own result, also by another worker."""
    store = MemoryStore()
    first, second = new_worker(store), new_worker(store)
    step(first, "x = 0")
    again = Step("one", Execute("x += 1; x"))
    assert [value(worker.step(again)) for worker in (first, first, second)] == [1, 1, 1]
    assert value(step(second, "x")) == 1


def test_a_step_names_the_version_that_it_expects() -> None:
    """A step that expects another state is refused, and changes nothing."""
    worker = new_worker(MemoryStore())
    version = worker.step(Step("one", Execute("x = 1"), expected=None)).version
    with pytest.raises(SnapshotConflict):
        worker.step(Step("one", Execute("x = 2"), expected=None))
    worker.step(Step("one", Execute("x += 1"), expected=version))
    with pytest.raises(SnapshotConflict):
        worker.step(Step("one", Execute("x += 1"), expected=version))
    assert value(step(worker, "x")) == 2


def test_a_waiting_execution_is_answered_elsewhere() -> None:
    """An execution that waits is saved as it waits, and another worker resolves, rejects or cancels it."""
    store = MemoryStore()
    first, second = new_worker(store), new_worker(store)
    code = "try:\n    got = await approve(amount=5)\nexcept BaseException as error:\n    got = type(error).__name__"
    for answer, got in (
        (Answer(1, "yes"), "yes"),
        (Answer(1, error="no"), "RuntimeError"),
        (Cancel(), "CancelledError"),
    ):
        name = type(answer).__name__ + got
        (call,) = decoded_result(step(first, code, name).result).suspended
        assert (call.name, call.kwargs) == ("approve", {"amount": 5})
        if isinstance(answer, Answer):
            answer = Answer(call.id, answer.value, answer.error)
        step(second, answer, name)
        assert value(step(first, "got", name)) == got


def test_commands_that_cannot_be_taken() -> None:
    """A command that does not fit to what a session waits for is a PoolError, and the session stays as it was."""
    worker = new_worker(MemoryStore())
    with pytest.raises(PoolError, match="does not wait"):
        step(worker, Answer(1, True))
    (call,) = decoded_result(step(worker, "await approve(1)", "two").result).suspended
    with pytest.raises(PoolError, match=r"waits for approve\(\)"):
        step(worker, "1", "two")
    with pytest.raises(PoolError, match="it waits for"):
        step(worker, Answer(call.id + 1, True), "two")
    assert value(step(worker, Answer(call.id, 7), "two")) == 7


def test_sessions_of_another_version_are_refused() -> None:
    """A session that another version has saved is refused with the way to go on, and stays as it is."""
    store = MemoryStore()
    version = store.save("old", make_snapshot(1))
    with pytest.raises(
        SnapshotVersionError, match=r"'old' was saved by workers .* Run a pool of that version"
    ):
        step(new_worker(store), "1", "old")
    assert store.newest("old") == version


def test_a_chain_of_deltas_stays_short() -> None:
    """However many steps a session has taken, also as a fork, its state is a whole snapshot and at most one delta."""
    store = MemoryStore()
    worker = new_worker(store)
    for number in range(6):
        step(worker, f"x{number} = [{number}] * 10000")
        assert len(store.load("one").chain()) <= 2
    store.save("fork", store.load("one"))
    child = Session.from_snapshot(store.load("one"), callbacks=registry)
    store.save("deep", child.snapshot_state(parent=store.load("one")))
    child.close()
    for name in ("fork", "deep"):
        step(new_worker(store), "y = 1", name)
        assert len(store.load(name).chain()) <= 2, name


def test_deltas_are_folded_in_the_background() -> None:
    """A delta that has grown is replaced by a complete snapshot under the same version, while steps go on."""
    store = MemoryStore()
    worker = new_worker(store)
    step(worker, "import random; parts = [random.randbytes(300_000)]")
    grown = step(worker, "parts.append(random.randbytes(300_000))")
    worker.close()  # which waits for what is folded
    newest = store.newest("one")
    assert newest == grown.version
    assert newest.kept_digest != newest.digest
    assert len(store.load("one").chain()) == 1
    assert value(step(new_worker(store), "len(parts)")) == 2


def test_steps_go_on_from_what_was_folded() -> None:
    """The next delta of a live session is of the complete snapshot that was made in the background."""
    store = MemoryStore()
    worker = new_worker(store)
    step(worker, "import random; parts = [random.randbytes(300_000)]")
    for _ in range(3):
        step(worker, "parts.append(random.randbytes(300_000))")
        worker._folding.close()
        whole = store.load("one")
        assert step(worker, "n = 1").was_live
        delta = store.load("one")
        assert delta.parent == whole
        assert len(delta) < 64 << 10
    assert value(step(new_worker(store), "len(parts)")) == 4


def test_a_step_meanwhile_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is folded while a step executes changes nothing of its state; the step after it rests on that."""
    store = MemoryStore()
    worker = new_worker(store)
    folds, goes_on = threading.Event(), threading.Event()
    replace = store.replace

    def held(*args: Any) -> bool:
        folds.set()
        goes_on.wait()
        return replace(*args)

    monkeypatch.setattr(store, "replace", held)
    step(worker, "import random; parts = [random.randbytes(300_000)]")
    step(worker, "parts.append(random.randbytes(300_000))")
    folds.wait()
    won = step(worker, "parts.append(random.randbytes(1))")
    goes_on.set()
    worker._folding.close()
    newest = store.newest("one")
    assert newest is not None
    assert newest.number == won.version.number
    assert value(step(new_worker(store), "len(parts)")) == 3


def test_a_delta_has_a_largest_size() -> None:
    """A state of which far more has changed than the complete snapshot has is saved whole by its step."""
    store = MemoryStore()
    worker = new_worker(store)
    step(worker, "import random")
    reply = step(worker, "data = random.randbytes(3_000_000)")
    newest = store.newest("one")
    assert newest == reply.version
    assert newest.folded is None
    assert len(store.load("one").chain()) == 1


def test_errors_arrive_as_what_they_are() -> None:
    """Errors of executions arrive with their class and what they say, and the session stays."""
    worker = new_worker(MemoryStore(), limits=Limits(callbacks=1))
    error = decoded_result(step(worker, "x = 1\n1 / 0").result).error
    assert type(error) is ExecutionError
    assert (error.type, error.lineno, str(error)) == (
        "ZeroDivisionError",
        2,
        "ZeroDivisionError: division by zero",
    )
    error = decoded_result(step(worker, Execute("while True: pass", timeout=0.2)).result).error
    assert (type(error), error.state) == (TimeoutError, "kept")  # type: ignore[union-attr]
    error = decoded_result(step(worker, "await key()\nawait key()").result).error
    assert (type(error), error.limit) == (LimitError, "callbacks")  # type: ignore[union-attr]
    assert value(step(worker, "x")) == 1


def test_results_arrive_whole() -> None:
    """Output, rich outputs and the exit status of a script arrive, and a value without an encoding as its Repr."""
    worker = new_worker(MemoryStore())
    source = "class H:\n    def _repr_html_(self): return '<b>'\nprint('out')\nH()"
    result = decoded_result(step(worker, source).result)
    assert (result.stdout, result.outputs[0].data["text/html"]) == ("out\n", "<b>")
    assert "H object" in str(result.value)
    result = decoded_result(step(worker, Execute("echo err >&2; exit 3", is_script=True)).result)
    assert (result.stderr, result.exit_code) == ("err\n", 3)


def test_calls_have_keys() -> None:
    """Each call has a key of its own, which is the same when its step is executed again from the same state."""
    store = MemoryStore()
    step(new_worker(store), "pass")
    source = Step("one", Execute("[await key(), await key()]"))
    keys = value(new_worker(store).step(source))
    assert len(set(keys)) == 2
    store.delete("one")
    assert value(new_worker(store).step(source)) == keys


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    if isinstance(one, (list, tuple)) and len(one) == len(other):
        return type(one) is type(other) and all(map(same, one, other))
    if isinstance(one, dict) and one.keys() == other.keys():
        return all(same(value, other[key]) for key, value in one.items())
    return type(one) is type(other) and repr(one) == repr(other)


@given(PLAIN)
def test_arguments_are_what_was_given(given_value: Any) -> None:
    """The literal of a value of plain types evaluates to that value."""
    assert same(given_value, eval(_literal("x", given_value)))


def test_arguments_that_cannot_be() -> None:
    """Names that are not identifiers and values of other types are refused by name."""
    worker = new_worker(MemoryStore())
    with pytest.raises(PoolError, match="'a b' is not a name"):
        step(worker, Execute("1", {"a b": 1}))
    with pytest.raises(PoolError, match="'x' has a object"):
        step(worker, Execute("1", {"x": object()}))


class Crash(BaseException):
    """Ends a worker, as SIGKILL would, between two actions on the store."""


class CrashingStore:
    """A store that ends who uses it before or after it has saved."""

    def __init__(self, store: Store, crash: str) -> None:
        self._store = store
        self._crash = crash

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def save(self, *args: Any, **kwargs: Any) -> Any:
        if self._crash == "before":
            raise Crash
        version = self._store.save(*args, **kwargs)
        if self._crash == "after":
            raise Crash
        return version


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.lists(st.sampled_from(["before", "after"]), max_size=2)), max_size=6)
)
def test_each_step_happens_once(steps: list[tuple[bool, list[str]]]) -> None:
    """Whichever workers take the steps and whenever they crash, each step has its effect exactly once."""
    store = MemoryStore()
    workers = [new_worker(store), new_worker(store)]
    for number, (takes_first, crashes) in enumerate(steps):
        one = Step("one", Execute("n = globals().get('n', 0) + 1; n"))
        for crash in crashes:
            doomed: Any = CrashingStore(store, crash)
            with pytest.raises(Crash):
                new_worker(doomed).step(one)
            if crash == "after":
                break
        assert value(workers[takes_first].step(one)) == number + 1
    for worker in workers:
        worker.close()
