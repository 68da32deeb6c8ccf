"""Pools of processes, and of executors of `concurrent.futures`."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from planaria import SnapshotConflict, SnapshotNotFound
from planaria.errors import CallbackError, ExecutionError
from planaria.pool import AsyncPool, Pool, PoolError, WorkerLost

pytestmark = pytest.mark.slow

CALLBACKS = "pool_callbacks:registry"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"file://{tmp_path_factory.mktemp('sessions')}"


@pytest.fixture(scope="module")
def pool(store: str) -> Iterator[Pool]:
    with Pool(store, callbacks=CALLBACKS, workers=2) as pool:
        yield pool


def test_branches_are_tried_and_the_best_one_is_promoted(pool: Pool) -> None:
    """A session is forked under new names, which execute side by side, and one of them takes its place."""
    pool.run("user", "base = 10\ndef score(seed): return base * (seed % 3)")
    branches = pool.fork("user", 4)
    assert branches == ["user.1", "user.2", "user.3", "user.4"]
    scores = pool.map(branches, "result = score(seed)\nresult", args=[{"seed": n} for n in range(4)])
    assert (scores, scores.argmax(), scores.argmin()) == ([0, 10, 20, 0], 2, 0)
    pool.promote(branches[scores.argmax()], to="user")
    assert pool.run("user", "result").value == 20
    assert set(pool.names()) >= {"user", *branches}
    pool.delete("user.1")
    assert pool.fork("user", 2) == ["user.1", "user.5"]


def test_new_sessions_go_to_the_workers_in_turn(pool: Pool) -> None:
    """Of workers that are free a new session gets the one that was asked longest ago, and it stays with that."""
    first = [pool.start(f"turn-{number}", "n = 0").worker for number in range(4)]
    again = [pool.start(f"turn-{number}", "n += 1").worker for number in range(4)]
    assert len(set(first)) == 2
    assert again == first


def test_a_pending_call_outlives_all_workers(pool: Pool) -> None:
    """An execution that waits is resolved by whatever worker there is, when those that knew it are gone."""
    run = pool.start("order", "ok = await approve(amount=900)\nprint('paid' if ok else 'refused')")
    assert not run.is_done
    for pid in pool.worker_pids():
        os.kill(pid, signal.SIGKILL)
    run = pool.resolve("order", run.pending[0].id, True)
    assert run.is_done
    assert run.result.stdout == "paid\n"


@pytest.mark.parametrize("end", ["SIGKILL", "SIGTERM"])
def test_a_worker_that_ends_in_a_step_loses_nothing(pool: Pool, tmp_path: Path, end: str) -> None:
    """A step whose worker ends is executed again from the state before: its effect is there once, and its
    calls have the same keys.
    """
    pool.run(end, "n = 0")
    notes = tmp_path / "notes"
    result = pool.run(end, f"n += 1\nwhere = await end_once({str(notes)!r}, {end!r})\nn, where")
    assert result.value == (1, "there")
    first, second = notes.read_text().split()
    assert first == second


def test_a_step_that_ends_every_worker(pool: Pool) -> None:
    """A step that no worker survives is a WorkerLost error, and the session is in the state before it."""
    pool.run("deadly", "n = 1")
    with pytest.raises(WorkerLost, match="5 workers were lost"):
        pool.run("deadly", "n = 2\nawait end()")
    assert pool.run("deadly", "n").value == 1


def test_steps_of_one_name_take_turns(pool: Pool) -> None:
    """Steps for one name that are submitted at the same time are executed one after the other."""
    pool.run("turns", "log = []")
    pool.map(["turns"] * 6, "log.append(len(log))")
    assert pool.run("turns", "log").value == list(range(6))


def test_two_pools_share_a_store(pool: Pool, store: str) -> None:
    """Each of two pools sees what the other one has done, and a name is new only once."""
    with Pool(store, callbacks=CALLBACKS, workers=1) as other:
        assert pool.run("shared", "x = 1; x").value == 1
        assert other.run("shared", "x += 1; x").value == 2
        assert pool.run("shared", "x += 1; x").value == 3
        with pytest.raises(SnapshotConflict):
            other.fork("shared", names=["shared"])


@pytest.mark.parametrize("kind", ["file", "redis"])
def test_two_pools_execute_one_name(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Steps of one name that two pools submit at the same time wait for each other, and none is refused."""
    place = f"file://{tmp_path}" if kind == "file" else f"{request.getfixturevalue('redis_url')}?prefix=two:"
    inside = repr(str(tmp_path / "inside"))
    source = f"await enter({inside})\nn = globals().get('n', 0) + 1\nawait leave({inside})\nn"
    with (
        Pool(place, callbacks=CALLBACKS, workers=1) as one,
        Pool(place, callbacks=CALLBACKS, workers=1) as two,
    ):
        with ThreadPoolExecutor(10) as threads:
            steps = [threads.submit(pool.run, "both", source) for pool in (one, two) for _ in range(5)]
        assert sorted(step.result().value for step in steps) == list(range(1, 11))


def test_errors_reach_the_caller(pool: Pool) -> None:
    """`run` has errors in its result, `map` raises the first one with its session's name, unknown names raise."""
    assert isinstance(pool.run("errors", "1 / 0").error, ExecutionError)
    with pytest.raises(ExecutionError, match="ZeroDivisionError") as caught:
        pool.map(["fine", "errors"], "1 / d", args=[{"d": 1}, {"d": 0}])
    assert caught.value.__notes__ == ["in the session 'errors'"]
    with pytest.raises(SnapshotNotFound):
        pool.fork("unknown")
    with pytest.raises(PoolError, match="does not wait"):
        pool.resolve("errors", 1, True)
    with pytest.raises(ValueError, match="2 names and 1 arguments"):
        pool.map(["a", "b"], "1", args=[{}])


def test_draining_keeps_everything(pool: Pool) -> None:
    """Draining closes the live sessions, which go on from the store."""
    pool.run("drained", "x = 5")
    pool.drain()
    assert pool.run("drained", "x").value == 5
    assert pool.bash("drained", "echo $((1 + 1))").stdout == "2\n"


def test_drains_at_the_same_time_end(pool: Pool) -> None:
    """Several threads may drain at once, and each returns when no session is live."""
    pool.run("drained", "1")
    with ThreadPoolExecutor(4) as threads:
        for drained in [threads.submit(pool.drain) for _ in range(4)]:
            assert drained.result(timeout=300) is None


def test_closing_waits_for_what_was_submitted(store: str) -> None:
    """Steps that wait for their turn when a pool is closed are executed, and no more are taken."""

    async def main() -> None:
        pool = AsyncPool(store, workers=1)
        await pool.run("closing", "n = 0")
        tasks = [asyncio.create_task(pool.run("closing", "n += 1; n")) for _ in range(20)]
        await asyncio.sleep(0)  # each has submitted its step then
        await pool.close()
        assert [(await task).value for task in tasks] == list(range(1, 21))
        with pytest.raises(PoolError, match="closed"):
            await pool.run("closing", "n")

    asyncio.run(main())


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    """Engines, numbers of workers and callbacks that cannot be are errors that say what to write."""
    store = f"file://{tmp_path}"
    with pytest.raises(PoolError, match="engine='threads'"):
        Pool(store, "threads")
    with pytest.raises(ValueError, match="workers=0"):
        Pool(store, workers=0)
    with pytest.raises(PoolError, match="write 'module:name'"):
        Pool(store, callbacks="pool_callbacks")
    with (
        Pool(store, callbacks="nowhere:registry", workers=1) as pool,
        pytest.raises(PoolError, match="nowhere"),
    ):
        pool.run("x", "1")
    with Pool(store, workers=1) as pool:
        pass
    with pytest.raises(PoolError, match="closed"):
        pool.run("x", "1")


def test_an_executor_of_futures(tmp_path: Path) -> None:
    """The same works over an executor of `concurrent.futures`, whose broken pool is a lost worker."""
    context: Any = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        pool = Pool(f"sqlite:///{tmp_path / 'sessions.db'}", executor, callbacks=CALLBACKS)
        assert pool.run("a", "x = 1; x").value == 1
        assert pool.map(pool.fork("a", 2), "x + 1") == [2, 2]
        with pytest.raises(PoolError, match="not its own"):
            pool.worker_pids()
        with pytest.raises(WorkerLost):
            pool.run("a", "await end()")
        pool.close()


def test_async(store: str) -> None:
    """An AsyncPool does the same with methods that are awaited."""

    async def main() -> None:
        async with AsyncPool(store, callbacks=CALLBACKS, workers=1) as pool:
            assert (await pool.run("async", "x = 2; x * y", args={"y": 4})).value == 8
            assert await pool.map(await pool.fork("async", 2), "x * y", args=[{"y": 1}, {"y": 2}]) == [2, 4]
            run = await pool.start("async", "ok = await approve(1)\nok")
            run = await pool.resolve("async", run.pending[0].id, "fine")
            assert run.result.value == "fine"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"limits": 5}, TypeError, "limits= must be a planaria.Limits"),
        ({"seed": "a"}, TypeError, "seed= must be an int"),
        ({"callbacks": 5}, CallbackError, "callbacks= is a list of functions"),
        ({"callbacks": "nothing"}, PoolError, "write 'module:name'"),
        ({"setup": 5}, TypeError, "setup= must be a function"),
        ({"setup": "nothing"}, PoolError, "write 'module:name'"),
        ({"most_live": 0}, ValueError, "most_live=0: must be a number of sessions"),
        ({"patience": -1}, ValueError, "patience=-1: must be a number of seconds"),
        ({"workers": 0}, ValueError, "workers=0: must be a number of processes"),
    ],
)
def test_arguments_are_checked_at_once(arguments: dict[str, Any], kind: type[Exception], words: str) -> None:
    """A pool with an argument that no session could use is not opened."""
    with pytest.raises(kind, match=words):
        Pool("memory:", **arguments)
    with pytest.raises(TypeError, match="the store of a pool is a URL, a path or a store, not NoneType"):
        Pool(None)  # type: ignore[arg-type]


def test_a_map_begins_when_all_is_right(pool: Pool) -> None:
    """A map with a name or code that cannot be used executes nothing, not in the sessions before it either."""
    with pytest.raises(ValueError, match="cannot name a snapshot"):
        pool.map(["mapped.1", "", "mapped.2"], "1")
    with pytest.raises(TypeError, match="not the string 'mapped'"):
        pool.map("mapped", "1")
    with pytest.raises(TypeError, match="code must be a str"):
        pool.map(["mapped.1"], 5)  # type: ignore[arg-type]
    assert not [name for name in pool.names() if name.startswith("mapped")]
