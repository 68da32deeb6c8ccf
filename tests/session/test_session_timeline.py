"""Going back and forward: undo, redo, checkpoints, rewind, copies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import planaria

pytestmark = pytest.mark.slow


class Sessions(RuleBasedStateMachine):
    """A session whose whole state is a list of numbers, beside what that list should be."""

    @initialize()
    def begin(self) -> None:
        self.session = planaria.Session()
        self.next = 0
        #: The present: numbers in the guest, and the number of executions.
        self.state: tuple[tuple[int, ...], int] = ((), 0)
        #: The states through which the session came here, one for each execution.
        self.path: list[tuple[tuple[int, ...], int]] = []
        self.undone: list[tuple[tuple[int, ...], int]] = []
        self.labels: dict[str, tuple[Any, list[Any]]] = {}
        self.execute("log = []")
        self.state = ((), 1)

    def teardown(self) -> None:
        if hasattr(self, "session"):
            self.session.close()

    def execute(self, source: str) -> None:
        self.session.execute(source)
        self.path.append(self.state)
        self.undone.clear()

    def check(self) -> None:
        """The state is looked at in a copy, as looking is an execution too."""
        copy = self.session.fork()[0]
        assert (tuple(copy.execute("log").value), self.session.execution_count) == self.state
        copy.close()
        assert [entry.count for entry in self.session.history] == list(range(1, self.state[1] + 1))

    @rule()
    def append(self) -> None:
        self.next += 1
        self.execute(f"log.append({self.next})")
        self.state = ((*self.state[0], self.next), self.state[1] + 1)
        self.check()

    @rule()
    def fail(self) -> None:
        self.next += 1
        assert self.session.run(f"log.append({self.next}); 1 / 0").error is not None
        self.path.append(self.state)
        self.undone.clear()
        self.state = ((*self.state[0], self.next), self.state[1] + 1)

    @rule()
    def crash(self) -> None:
        assert self.session.run("log.append(0); import os; os._exit(3)").exit_code == 3
        self.path.append(self.state)
        self.undone.clear()
        self.state = (self.state[0], self.state[1] + 1)
        self.check()

    @precondition(lambda self: len(self.path) > 1)
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        n = data.draw(st.integers(1, len(self.path) - 1))
        self.session.undo(n)
        for _ in range(n):
            self.undone.append(self.state)
            self.state = self.path.pop()
        self.check()

    @rule()
    def redo(self) -> None:
        if not self.undone:
            with pytest.raises(planaria.SessionError):
                self.session.redo()
            return
        self.session.redo()
        self.path.append(self.state)
        self.state = self.undone.pop()
        self.check()

    @rule(label=st.sampled_from("ab"))
    def checkpoint(self, label: str) -> None:
        self.session.checkpoint(label)
        self.labels[label] = (self.state, list(self.path))

    @rule(label=st.sampled_from("ab"))
    def rewind(self, label: str) -> None:
        if label not in self.labels:
            with pytest.raises(planaria.SessionError):
                self.session.rewind(label)
            return
        self.session.rewind(label)
        self.undone.clear()
        self.state, path = self.labels[label]
        self.path = list(path)
        self.check()

    @precondition(lambda self: self.path)
    @rule(data=st.data())
    def rewind_to_a_number(self, data: st.DataObject) -> None:
        index = data.draw(st.integers(0, len(self.path) - 1))
        if index == 0:
            return
        count = self.path[index][1]
        try:
            self.session.rewind(count)
        except planaria.SessionError:
            return  # not kept: the path went over a labelled point of another branch
        self.undone.clear()
        self.state = self.path[index]
        del self.path[index:]
        self.check()


Sessions.TestCase.settings = settings(
    max_examples=12, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)


class TestSessions(Sessions.TestCase):  # type: ignore[misc,valid-type]
    """Any sequence of executions and goings back leaves what a model says."""


def test_undo_takes_back_everything(session: Any) -> None:
    """Undo takes back variables, files, modules and the count; redo brings them again."""
    session.execute("x = 1; open('f', 'w').write('one')")
    session.execute("x = 2; open('f', 'w').write('two'); import this as zen")
    session.undo()
    assert session.execution_count == 1
    assert session.fork()[0].execute("x, open('f').read(), 'zen' in globals()").value == (1, "one", False)
    session.redo()
    assert session.execute("x, open('f').read(), 'zen' in globals()").value == (2, "two", True)


def test_files_written_from_the_host_are_kept(session: Any) -> None:
    """What the host wrote between two executions belongs to the state before the second."""
    session.execute("1")
    session.execute("2")
    session.files.write_text("f", "host")
    session.execute("open('f', 'w').write('guest')")
    session.undo()
    assert session.files.read_text("f") == "host"


def test_labels_of_other_branches(session: Any) -> None:
    """A labelled state of a way not taken can be gone to by its label, but not undone to, nor fallen back
    to.
    """
    session.execute("way = ['start']")
    session.execute("way.append('left')")
    session.checkpoint("left")
    session.rewind(1)
    session.execute("way.append('right')")
    session.execute("1")
    session.undo()
    assert session.execute("way").value == ["start", "right"]
    session.run("import os; os._exit(1)")
    assert session.execute("way").value == ["start", "right"]
    session.rewind("left")
    assert session.execute("way").value == ["start", "left"]


def test_late_answers_do_not_reach_another_state(new_session: Callable[..., Any]) -> None:
    """After an undo the answer to a call of the undone time is dropped."""

    async def slow(x: str) -> str:
        await asyncio.sleep(0.3 if x == "old" else 0.6)
        return x

    session = new_session(callbacks=[slow])
    session.execute("import asyncio")
    session.execute("task = asyncio.create_task(slow('old'))\nawait asyncio.sleep(0.01)")
    session.undo()
    session.execute("task = asyncio.create_task(slow('new'))\nawait asyncio.sleep(0.01)")
    assert session.execute("await task").value == "new"


def test_with_await() -> None:
    """An asynchronous session goes back likewise."""

    async def main() -> None:
        async with planaria.AsyncSession() as session:
            await session.execute("x = 1")
            await session.checkpoint("one")
            await session.execute("x = 2")
            await session.undo()
            await session.redo()
            assert (await session.execute("x")).value == 2
            await session.rewind("one")
            assert (await session.execute("x")).value == 1
            await session.clear_state()
            await session.reset()
            assert session.execution_count == 0

    asyncio.run(main())


# -- going back in the same machine, and beginning ---------------------------------------------------------------


def test_going_back_after_growth() -> None:
    """Going back is right whether or not the memory grew since, and again after that."""
    with planaria.Session() as session:
        session.execute("data = list(range(50_000))")
        snapshot = session.snapshot_state()
        for change in ("data = None", "data.append(bytes(20 << 20))", "data.clear()", "data[7] = 'x'"):
            for _ in range(2):
                session.execute(change)
                session.restore_state(snapshot)
                assert session.execute("len(data), data[7], sum(data)").value == (50_000, 7, 1_249_975_000)


def test_going_back_keeps_descriptors() -> None:
    """Files that were open are open again at their positions, and those opened since are not."""
    with planaria.Session() as session:
        session.execute("f = open('a.txt', 'w+'); f.write('abc'); f.flush(); position = f.seek(1)")
        session.checkpoint("here")
        session.execute("f.seek(0); f.write('xyz'); f.close(); g = open('b.txt', 'w'); number = g.fileno()")
        number = session.execute("number").value
        session.rewind("here")
        assert session.execute("f.tell(), f.read(), 'g' in globals()").value == (1, "bc", False)
        with pytest.raises(planaria.ExecutionError, match=r"b\.txt"):
            session.execute("open('b.txt')")
        assert session.execute("open('c.txt', 'w').fileno()").value <= number + 1


def test_first_execution_again() -> None:
    """The first execution, undone and made again, draws the same random numbers; after that others come."""
    source = "import random; random.random()"
    with planaria.Session() as session:
        first = session.execute(source).value
        session.undo()
        assert session.execute(source).value == first
        session.reset()
        assert session.execute(source).value != first


@pytest.mark.parametrize("image", [None, "saved"])
def test_random_numbers(image: str | None) -> None:
    """Each new session draws numbers of its own, whether anything was executed before it is forked or not."""
    source = "import random, uuid; (random.random(), str(uuid.uuid4()))"
    arguments: dict[str, Any] = {}
    if image is not None:
        with planaria.Session() as session:
            session.execute("import random; random.seed(1)")
            arguments["image"] = session.save_as_image("test-random-numbers")
    try:
        parent, other = planaria.Session(**arguments), planaria.Session(**arguments)
        with parent, other:
            children = parent.fork(2)
            grandchildren = children[0].fork(1)
            drawn = [one.execute(source).value for one in (parent, other, *children, *grandchildren)]
            for child in (*children, *grandchildren):
                child.close()
        numbers = [number for pair in drawn for number in pair]
        assert len(set(numbers)) == len(numbers)
    finally:
        if image is not None:
            planaria.Image.remove("test-random-numbers")


def test_copies_without_numbers_of_their_own() -> None:
    """A fork with reseed=False draws what its parent draws, as does a restored snapshot, also when nothing was
    executed before.
    """
    source = "import random; random.random()"
    with planaria.Session() as parent:
        (child,) = parent.fork(reseed=False)
        (grandchild,) = child.fork(reseed=False)
        snapshot = bytes(child.snapshot_state())
        restored = planaria.Session.from_snapshot(snapshot, reseed=False)
        drawn = {one.execute(source).value for one in (parent, child, grandchild, restored)}
        assert len(drawn) == 1
        for one in (child, grandchild, restored):
            one.close()


def test_seeded_from_the_beginning() -> None:
    """With a seed the first numbers are the same in every session and in its forks; `reset` begins again."""
    source = "import random; random.random()"
    with planaria.Session(seed=5) as one, planaria.Session(seed=5) as two:
        (child,) = two.fork()
        first = one.execute(source).value
        assert {two.execute(source).value, child.execute(source).value} == {first}
        one.reset()
        assert one.execute(source).value == first
        child.close()


def test_settings_beside_the_usual() -> None:
    """What a session is given beyond the usual is so from its first execution, in its forks, and after
    `reset`.
    """
    source = "import sys, os; (sys.argv, sys.getrecursionlimit(), os.environ['A'])"
    with planaria.Session(
        argv=["prog", "x"], limits=planaria.Limits(recursion=500), env={"A": "b"}
    ) as session:
        (child,) = session.fork()
        for one in (session, child):
            assert one.execute(source).value == (["prog", "x"], 500, "b")
        child.close()
        session.reset()
        assert session.execute(source).value == (["prog", "x"], 500, "b")
        image = session.save_as_image("test-usual-settings")
    try:
        with planaria.Session(image=image) as plain:
            assert plain.execute(source).value == ([""], 1000, "b")
    finally:
        planaria.Image.remove(image.name)


def test_a_hard_stop_loses_that_execution_only(session: Any) -> None:
    """What ran before an execution that was stopped hard is kept, however fast it came."""
    for number in range(30):
        session.execute(f"v{number} = {number}")
    error = session.run("sum(range(10**12))", timeout=0.2).error
    assert (error.state, error.rewound_to) == ("rewound", None)
    assert session.execute("sum(f'v{n}' in globals() for n in range(30))").value == 30


def test_undo_of_what_waits(new_session: Callable[..., Any]) -> None:
    """An execution that waits for an answer is taken back first; with it again, it waits for the same answer."""

    def approve(amount: int) -> bool:
        raise planaria.Suspend("someone has to decide")

    session = new_session(callbacks=[approve])
    session.execute("x = 1")
    first = session.start("x = 2; ok = await approve(amount=900)")
    session.checkpoint("waits")
    for go_back in (session.redo, lambda: session.rewind("waits")):
        session.undo()
        assert [session.run_in_progress] == [None]
        assert session.get("x") == 1
        with pytest.raises(planaria.SessionError, match="the session went back to a state without it"):
            first.resolve(1, True)
        go_back()
        waiting = session.run_in_progress
        assert [call.kwargs for call in waiting.pending] == [{"amount": 900}]
    waiting.resolve(1, True)
    assert waiting.result().is_ok
    assert session.execute("x, ok").value == (2, True)
