"""Sessions with `deterministic=`: the same code and answers give the same state, whenever and wherever."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import planaria

#: Executed in two processes: everything that differs between two runs of a program.
PROGRAM = """
import planaria
def length(text): return len(text)
session = planaria.Session(deterministic=planaria.Deterministic(seed=7), callbacks=[length])
for code in (
    "import os, random, tempfile, time, uuid",
    "seen = [random.random(), uuid.uuid4(), os.urandom(8), time.time(), time.monotonic(), hash('a'), id(object())]",
    "with tempfile.NamedTemporaryFile('w', delete=False) as file: file.write('x')",
    "stats = os.stat(file.name)",
    "import asyncio; await asyncio.gather(*[length('x' * n) for n in range(5)])",
    "import time; await asyncio.sleep(60); time.sleep(60)",
    "def down(n): return n and down(n - 1)",
    "try: down(10**6)\\nexcept RecursionError: pass",
    "import sqlite3; drawn = sqlite3.connect(':memory:').execute('select random()').fetchall()",
    "raise ValueError(repr(seen))",
):
    print(session.run(code).error)
session.bash("echo $RANDOM $$ $(date) > drawn.txt; mktemp >> drawn.txt; ls -l >> drawn.txt")
print(session.state_digest())
"""


def length(text: str) -> int:
    return len(text)


def digest_in_another_process(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PLANARIA_BACKGROUND_COMPILE": "0"}
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def test_two_processes_come_to_the_same_digest() -> None:
    """The whole state of a session that drew, read clocks, wrote files and waited is the same in each process."""
    first, second = digest_in_another_process("1"), digest_in_another_process("2")
    assert first == second
    assert len(first.split()[-1]) == 64


def test_asking_for_the_digest_changes_nothing(new_session: Callable[..., Any]) -> None:
    """A session that was asked for its digest between executions ends as one that was not."""
    asked, other = (new_session(deterministic=planaria.Deterministic()) for _ in range(2))
    digests = []
    for code in ("x = [object() for _ in range(1000)]", "del x", "import json; json.loads('[1, 2]')"):
        asked.execute(code)
        digests.append(asked.state_digest())
        other.execute(code)
    assert asked.state_digest() == other.state_digest()
    assert len(set(digests)) == 3


def test_the_seed_the_clock_and_the_files_are_part_of_the_state(new_session: Callable[..., Any]) -> None:
    """Sessions that differ in one setting or file have other digests from where it shows."""
    one = new_session(deterministic=planaria.Deterministic())
    seeded = new_session(deterministic=planaria.Deterministic(seed=1))
    assert one.state_digest() != seeded.state_digest()
    late = new_session(deterministic=planaria.Deterministic(clock=0))
    for each in (one, late):
        each.execute("import time; now = time.time()")
    assert one.state_digest() != late.state_digest()
    before = one.state_digest()
    one.files.write_text("a.txt", "a")
    assert one.state_digest() != before


def test_undo_brings_the_clock_and_the_random_numbers_back(new_session: Callable[..., Any]) -> None:
    """The same execution after an undo draws the same numbers at the same time."""
    session = new_session(deterministic=planaria.Deterministic())
    session.execute("import os, random, time")
    code = "[os.urandom(4), random.random(), time.time(), time.monotonic()]"
    drawn = session.execute(code).value
    digest = session.state_digest()
    session.undo()
    assert session.execute(code).value == drawn
    assert session.state_digest() == digest
    assert session.execute(code).value != drawn


def test_answers_come_in_the_order_of_the_calls(new_session: Callable[..., Any]) -> None:
    """Each call gets its answer by itself and after those of all earlier calls, however long they take."""
    last_was_made = threading.Event()

    def answer(number: int) -> int:
        if number == 4:
            last_was_made.set()
        else:
            assert last_was_made.wait(30)
        return number

    async def answer_at_once(number: int) -> int:
        return answer(number)

    digests = set()
    for function in (answer, answer_at_once):
        last_was_made.clear()
        if function is answer_at_once:
            last_was_made.set()
        callback = planaria.Callback("answer", function)
        session = new_session(deterministic=planaria.Deterministic(), callbacks=[callback])
        code = """
        import asyncio
        order = []
        async def call(number):
            order.append(await answer(number))
        await asyncio.gather(*map(call, range(5)))
        order
        """
        assert session.execute(code).value == [0, 1, 2, 3, 4]
        digests.add(session.state_digest())
    # Only the parameters are the same: a plain function and an asynchronous one answer alike.
    assert len(digests) == 1


def test_a_suspended_call_holds_up_no_other(new_session: Callable[..., Any]) -> None:
    """A call that waits for a decision leaves the answers of later ones to the code."""

    def decide() -> bool:
        raise planaria.Suspend("later")

    session = new_session(deterministic=planaria.Deterministic(), callbacks=[decide, length])
    code = "import asyncio\nfirst = asyncio.ensure_future(decide())\nprint(await length('abc'))\nawait first"
    run = session.start(code)
    assert [call.name for call in run.pending] == ["decide"]
    run.resolve(run.pending[0].id, True)
    assert run.result().stdout == "3\n"
    assert run.result().value is True


@pytest.mark.parametrize(("sleep", "moved"), [("virtual", 7200), ("zero", 0)])
def test_sleeps_are_over_at_once(new_session: Callable[..., Any], sleep: Any, moved: int) -> None:
    """Two hours of sleep pass at once, on the date only where sleeping is virtual, and always for timers."""
    session = new_session(
        deterministic=planaria.Deterministic(sleep=sleep, tick=0), limits=planaria.Limits(timeout=60)
    )
    code = "import asyncio, time\nt, m = time.time(), time.monotonic()\nawait asyncio.sleep(3600)\ntime.sleep(3600)"
    session.execute(code)
    date, monotonic = session.execute("time.time() - t, time.monotonic() - m").value
    assert date == pytest.approx(moved, abs=1e-3)
    assert monotonic == pytest.approx(7200, abs=1e-3)
    assert session.bash("SECONDS=0; sleep 100; sleep 20; echo done").stdout == "done\n"


def test_a_timer_fires_once_no_call_is_open(new_session: Callable[..., Any]) -> None:
    """Host calls take no time, so `wait_for` never gives one up; without a call it does."""
    session = new_session(deterministic=planaria.Deterministic(), callbacks=[length])
    code = "import asyncio\nawait asyncio.wait_for(length('abc'), 0.5)"
    assert session.execute(code).value == 3
    error = session.run("await asyncio.wait_for(asyncio.Event().wait(), 5)").error
    assert error is not None
    assert error.type == "TimeoutError"


def test_every_reading_moves_the_clocks_by_a_tick(new_session: Callable[..., Any]) -> None:
    """Code that waits for a time without sleeping comes to an end."""
    start = datetime(2000, 2, 29, 12, tzinfo=UTC)
    session = new_session(deterministic=planaria.Deterministic(clock=start, tick=0.25))
    session.execute("import time, datetime")
    first, second, used, again = session.execute(
        "time.time_ns(), time.time_ns(), time.process_time_ns(), time.process_time_ns()"
    ).value
    assert second - first == again - used == 250_000_000
    assert session.execute("datetime.datetime.now(datetime.UTC)").value - start < timedelta(minutes=1)
    session.execute("end = time.monotonic() + 10\nwhile time.monotonic() < end: pass")


def test_files_of_the_host_look_the_same_from_another_directory(
    new_session: Callable[..., Any], tmp_path: Path
) -> None:
    """A copy of a mounted directory, with other times and inode numbers, gives the same state."""
    (tmp_path / "a" / "sub").mkdir(parents=True)
    (tmp_path / "a" / "sub" / "x.txt").write_text("x")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    os.utime(tmp_path / "b" / "sub" / "x.txt", (1, 1))
    os.link(tmp_path / "b" / "sub" / "x.txt", tmp_path / "outside")
    code = "import os; seen = [list(os.stat(p)) for p in ('/m', '/m/sub', '/m/sub/x.txt')], next(os.scandir('/m')).inode()"
    digests = set()
    for mode in ("ro", "overlay"):
        for name in ("a", "b"):
            mount = planaria.Mount(tmp_path / name, "/m", mode)
            session = new_session(deterministic=planaria.Deterministic(), mounts=[mount])
            session.execute(code)
            seen, inode = session.execute("seen").value
            assert seen[1][1] == inode
            digests.add((mode, session.state_digest()))
    assert len(digests) == 2


def test_a_sandbox_repeats_itself() -> None:
    """Every execution of a deterministic sandbox sees the same time and the same random numbers."""
    sandbox = planaria.Sandbox(deterministic=planaria.Deterministic())
    code = "import random, time; random.random(), time.time()"
    assert sandbox.execute(code).value == sandbox.execute(code).value


def test_forks_are_alike(new_session: Callable[..., Any]) -> None:
    """A copy of a deterministic session goes on with the same time and numbers as the session."""
    session = new_session(deterministic=planaria.Deterministic())
    session.execute("import random, time")
    (copy,) = session.fork()
    code = "drawn = random.random(), time.time()"
    session.execute(code)
    copy.execute(code)
    assert session.state_digest() == copy.state_digest()
    copy.close()


def test_a_snapshot_takes_the_clock_with_it(new_session: Callable[..., Any]) -> None:
    """A deterministic session that continues from a snapshot elsewhere is the same as the one it was."""
    session = new_session(deterministic=planaria.Deterministic())
    session.execute("import time, os; time.sleep(5); os.urandom(3)")
    data = bytes(session.snapshot_state())
    other = planaria.Session.from_snapshot(data, deterministic=planaria.Deterministic())
    for each in (session, other):
        each.execute("later = time.time(), os.urandom(3)")
    assert session.state_digest() == other.state_digest()
    other.close()


@pytest.mark.full
def test_the_full_tier_is_reached_on_the_same_way(new_session: Callable[..., Any]) -> None:
    """Deterministic sessions begin on the core tier also where the full one is compiled, and move up alike."""
    digests = set()
    for _ in range(2):
        session = new_session(deterministic=planaria.Deterministic())
        assert session._engine.executor.tier == "core"
        session.execute("x = 1")
        session.execute("import numpy as np; drawn = np.random.default_rng().random(3), np.random.rand()")
        assert session._engine.executor.tier == "full"
        digests.add(session.state_digest())
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"clock": datetime(2026, 1, 1)}, ValueError, "time zone"),
        ({"clock": -1}, ValueError, "between the years"),
        ({"clock": "now"}, TypeError, "a datetime or seconds"),
        ({"clock": float("nan")}, ValueError, "finite"),
        ({"tick": -1}, ValueError, "between 0 and 3600"),
        ({"tick": "1"}, TypeError, "a number of seconds"),
        ({"sleep": "real"}, ValueError, "'virtual' or 'zero'"),
        ({"seed": None}, TypeError, "an integer"),
    ],
)
def test_settings_that_are_not_usable_are_refused(
    arguments: dict[str, Any], kind: type[Exception], words: str
) -> None:
    """Each argument is checked, with its name in the message."""
    with pytest.raises(kind, match=words) as caught:
        planaria.Deterministic(**arguments)
    assert next(iter(arguments)) in str(caught.value)


def test_clock_and_seed_are_given_once() -> None:
    """Beside `deterministic=`, a clock or a seed is refused; so is the whole with another executor."""
    with pytest.raises(TypeError, match="part of deterministic="):
        planaria.Session(deterministic=planaria.Deterministic(), seed=1)
    with pytest.raises(TypeError, match="deterministic= is for the sandbox"):
        planaria.Session(deterministic=planaria.Deterministic(), executor=planaria.InProcessExecutor())


def test_a_frozen_clock_moves_while_a_task_sleeps(new_session: Callable[..., Any]) -> None:
    """`await asyncio.sleep` under a FrozenClock ends, and the clock has moved by it, as with `time.sleep`."""
    session = new_session(clock=planaria.FrozenClock(10**18), limits=planaria.Limits(timeout=60))
    code = "import asyncio, time\nbefore = time.time()\nawait asyncio.sleep(0.01)\ntime.time() - before"
    assert session.execute(code).value == pytest.approx(0.01, abs=1e-6)
