"""Checkpoints that are kept as commands to be repeated."""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import signal
import time

import pytest

import planaria
from planaria import Limits, Session
from planaria.errors import Exited
from planaria.executors import command_log
from planaria.executors.wasm_state import WasmState
from planaria.limits import Stopped
from planaria.machine.machine import Machine
from planaria.session.engine import SessionEngine


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is repeated must not depend on how fast the machine is."""
    monkeypatch.setattr(command_log, "_MOST_SECONDS", 3600.0)


def kept(session: Session) -> list[WasmState]:
    """The states to which the session can go back, the oldest first."""
    return [point.state.kernel for point in session._engine.history.points]


def memory(session: Session) -> str:
    """The digest of all of the session's memory, as it is when it was captured."""
    session._engine.state()
    machine = session._engine.executor._machine  # type: ignore[attr-defined]
    machine.memory.refresh()
    return hashlib.sha256(machine.memory.view).hexdigest()


def test_quick_executions_copy_no_memory() -> None:
    """The state before a quick execution is that of one some executions before, with the code since."""
    with Session() as session:
        for number in range(40):
            session.execute(f"x = {number}")
        states = kept(session)
        assert any(state.commands for state in states)
        for before, after in itertools.pairwise(states):
            if after.commands:
                assert after.pages is before.pages


def test_short_answers_are_kept() -> None:
    """Executions that await calls are repeated with the answers that they got, and without those calls."""
    answers: list[int] = []

    def take() -> int:
        answers.append(len(answers))
        return answers[-1]

    with Session(callbacks=[take]) as session:
        session.execute("got = []")
        for _ in range(20):
            session.execute("got.append(await take())")
        assert any(state.commands and state.commands[-1].replies for state in kept(session))
        session.undo(5)
        assert session.execute("got").value == list(range(15))
    assert len(answers) == 20


def test_long_answers_are_not_kept() -> None:
    """After an execution that got a long answer the memory is read."""

    def take() -> bytes:
        return bytes(5000)

    with Session(callbacks=[take]) as session:
        for _ in range(10):
            session.execute("got = len(await take())")
        assert not any(state.commands for state in kept(session))
        session.undo()
        assert session.execute("got").value == 5000


@pytest.mark.parametrize("seed", range(4))
def test_the_memory_is_the_same_to_the_byte(seed: int) -> None:
    """Going back to any execution gives the memory as it was then."""
    chance = random.Random(seed)
    codes = [
        "n += 1",
        "seen.append(n)",
        "f = lambda: n",
        "1/0",
        "n",
        "del seen[:1]",
        "import json",
        "print(n)",
        "n += await one()",
        "import asyncio\nn += sum(await asyncio.gather(one(), one()))",
        "for _ in range(5): seen.append(await one())",
    ]
    expected: list[int] = []

    def one() -> int:
        return 1

    with Session(callbacks=[one], limits=Limits(checkpoint_time=None)) as session:
        session.execute("n = 0\nseen = []")
        for _ in range(50):
            expected.append(session.execute("(n, tuple(seen))").value)
            session.run(chance.choice(codes))
        for index in sorted(chance.sample(range(20, 50), 12), reverse=True):
            session.rewind(2 * index + 1)
            assert session.execute("(n, tuple(seen))").value == expected[index]
            session.undo()
            there = memory(session)
            session.execute("n = None")
            session.undo()
            assert memory(session) == there


def test_repeated_memory_equals_read_memory() -> None:
    """A state that is reached by commands has the pages that were read when it was the present one."""
    with Session(limits=Limits(checkpoint_time=None)) as session:
        session.execute("x = [0]")
        for number in range(10):
            session.execute(f"x.append({number})")
        before = memory(session)
        engine = session._engine
        for number in range(10):
            session.execute(f"y = {number}, x[-1]")
        state = engine.logged_state()
        assert state is not None
        assert state.kernel.commands
        read = memory(session)
        session.execute("x = y = None")
        engine.snapshots_for("rewind").restore(state.kernel)
        assert memory(session) == read != before


def test_a_crash_loses_only_what_crashed() -> None:
    """A session whose code ends the sandbox has all executions before."""
    with Session() as session:
        session.execute("x = []")
        for number in range(20):
            session.execute(f"x.append({number})")
        assert kept(session)[-1].commands
        with pytest.raises(Exited):
            session.execute("import os\nos._exit(1)")
        assert session.execute("x").value == list(range(20))


def test_undo_and_redo_of_quick_executions() -> None:
    """Quick executions can be undone and redone one by one."""
    with Session() as session:
        session.execute("x = 0")
        for number in range(1, 12):
            session.execute(f"x = {number}")
        for number in reversed(range(12)):
            assert session.get("x") == number
            session.undo()
        for number in range(12):
            session.redo()
            assert session.get("x") == number


@pytest.mark.parametrize(
    "code",
    [
        "import random; random.seed(); x = random.random()",
        "import time; x = time.time_ns()",
        "import os; x = os.urandom(8)",
        "open('/tmp/x', 'w').write('1'); x = open('/tmp/x').read()",
        "x = bytes(20_000_000); x = len(x)",
        "x = await number()",
        "import asyncio; await asyncio.sleep(0.001); x = id(object())",
    ],
)
def test_what_came_from_outside_is_not_asked_for_again(code: str) -> None:
    """Going back does not repeat an execution that got something from outside."""
    calls: list[int] = []

    def number() -> int:
        calls.append(1)
        return len(calls)

    with Session(callbacks=[number]) as session:
        session.execute("y = 1")
        session.execute(code)
        session.execute("y = 2")
        x = session.get("x")
        made = len(calls)
        session.execute("x = None")
        session.undo()
        assert session.get("x") == x
        assert len(calls) == made


def test_files_that_the_host_wrote_between_quick_executions() -> None:
    """Going back gives the files as they were before the execution that is undone, also those of the host."""
    with Session() as session:
        session.execute("x = 0")
        for number in range(5):
            session.files.write_text("a.txt", str(number))
            session.execute(f"x = {number}")
        assert kept(session)[-1].commands
        session.undo(2)
        assert session.execute("x, open('a.txt').read()").value == (2, "3")


def test_clocks_do_not_go_back_before_what_the_code_has_read() -> None:
    """In a session that went back over quick executions, clocks go on from what the code read before."""
    with Session() as session:
        session.execute("import time\nbefore = time.monotonic(), time.time(), time.process_time()")
        for number in range(5):
            session.execute(f"x = {number}")
        session.undo(2)
        session.execute("after = time.monotonic(), time.time(), time.process_time()")
        assert session.execute("all(one <= other for one, other in zip(before, after))").value


def test_forks_and_snapshots_of_a_session_that_went_back() -> None:
    """A session that went back to a state of commands can be forked, saved and executed in."""
    with Session() as session:
        session.execute("x = 0")
        for _ in range(10):
            session.execute("x += 1")
        session.undo(3)
        [copy] = session.fork()
        assert copy.execute("x").value == 7
        assert Session.from_snapshot(bytes(session.snapshot_state())).execute("x").value == 7
        session.execute("x += 1")
        session.execute("x += 1")
        session.undo()
        assert session.execute("x").value == 8
        copy.undo()
        copy.undo()
        assert copy.execute("x").value == 6
        copy.close()


def test_moving_to_the_full_tier_after_quick_executions() -> None:
    """Variables of quick executions are there after an import that needs the full runtime."""
    with Session() as session:
        for number in range(5):
            session.execute(f"x = {number}")
        assert session.execute("import numpy\nint(numpy.int64(x))").value == 4
        session.undo(2)
        assert session.execute("x").value == 3


def test_an_interrupt_does_not_reach_what_is_repeated() -> None:
    """Ctrl-C while a session goes back is raised on this side, after the state was reached."""
    with Session() as session:
        session.execute("x = 0")
        session.execute("for _ in range(1000): x += 1")
        session.execute("y = 1")
        engine = session._engine
        state = engine.logged_state()
        assert state is not None
        assert state.kernel.commands
        there = memory(session)
        session.execute("x = y = None")
        machine = engine.executor._machine  # type: ignore[attr-defined]
        call = machine._call

        def call_after_ctrl_c(function: int) -> int:
            os.kill(os.getpid(), signal.SIGINT)
            return call(function)  # type: ignore[no-any-return]

        machine._call = call_after_ctrl_c
        with pytest.raises(KeyboardInterrupt):
            _restore_and_wait(engine, state.kernel)
        machine._call = call
        assert memory(session) == there


def test_interrupting_a_session_that_goes_back() -> None:
    """`interrupt()` while a session goes back is not raised on this side."""
    with Session() as session:
        session.execute("x = 0")
        session.execute("x += 1")
        session.execute("y = 1")
        engine = session._engine
        state = engine.logged_state()
        assert state is not None
        assert state.kernel.commands
        session.execute("x = y = None")
        machine = engine.executor._machine  # type: ignore[attr-defined]
        call = machine._call

        def call_after_interrupt(function: int) -> int:
            engine.executor.interrupt()
            return call(function)  # type: ignore[no-any-return]

        machine._call = call_after_interrupt
        engine.snapshots_for("rewind").restore(state.kernel)
        machine._call = call
        assert session.execute("(x, y)").value == (1, 1)


def _restore_and_wait(engine: SessionEngine, state: WasmState) -> None:
    engine.snapshots_for("rewind").restore(state)
    time.sleep(10)  # ended by the signal


def _break(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every call that is made again go another way."""

    def other_way(self: Machine, function: int) -> bool:
        raise Stopped("a call that was made again went another way", None)

    monkeypatch.setattr(Machine, "repeat", other_way)


@pytest.mark.parametrize("way", ["undo", "rewind"])
def test_a_state_that_cannot_be_reached_again(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """When going back fails, the session is as it was, and other states can be reached."""
    with Session() as session:
        session.checkpoint("start")
        for number in range(6):
            session.execute(f"x = {number}")
        session.files.write_text("a.txt", "kept")
        count = next(
            point.state.count for point in session._engine.history.points if point.state.kernel.commands
        )
        with monkeypatch.context() as patch:
            _break(session, patch)
            with pytest.raises(planaria.SessionError, match="cannot be reached again"):
                session.undo(6 - count) if way == "undo" else session.rewind(count)
            assert session.execute("x, open('a.txt').read()").value == (5, "kept")
            session.rewind("start")
            assert session.run("x").error is not None


def test_recovering_when_a_state_cannot_be_reached_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a crash the session goes back to the newest state that it can reach, and says which."""
    with Session(limits=Limits(timeout=0.5)) as session:
        session.checkpoint("start")
        for number in range(6):
            session.execute(f"x = {number}")
        _break(session, monkeypatch)
        error = session.run("sum(range(10**12))").error
        assert error is not None
        assert error.state == "rewound"
        assert error.rewound_to == 0
        assert session.run("x").error is not None
        assert session.execute("2").value == 2
