"""Recording and replaying: what was executed is done again without the outside, and ends in the same state."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planaria
from planaria.executors.journal import Keyframe

pytestmark = pytest.mark.slow


class Outside:
    """A callback that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def draw(self, kind: str) -> str:
        self.calls += 1
        if kind == "bad":
            raise ValueError(f"no {kind} ones")
        return f"{kind}!"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[planaria.Recording, str, Outside]:
    """A recording of everything that can come from outside, its last digest, and the outside, which has gone."""
    place = tmp_path_factory.mktemp("mounted")
    (place / "in.txt").write_text("from outside")
    (place / "link").symlink_to("in.txt")
    outside = Outside()
    storage = planaria.VfsStorage()
    storage.write_text("shared.txt", "shared")
    session = planaria.Session(
        record=True,
        callbacks=[outside.draw],
        mounts=[planaria.Mount(place, "/m", "rw"), planaria.Mount(place, "/o", "overlay")],
        vfs=storage,
        stdin="first\nsecond\nthird\n",
    )
    session.execute("import asyncio, os, random, time, uuid")
    session.execute("chance = time.time(), random.random(), os.urandom(5), uuid.uuid4()")
    session.execute("answers = await asyncio.gather(draw('a'), draw('b')); await asyncio.sleep(0.01)")
    session.run("await draw('bad')")
    session.execute("read = open('/m/link').read(), sorted(os.listdir('/m')), os.stat('/m/in.txt').st_mtime")
    session.execute(
        "open('/m/out.txt', 'w').write('x'); os.rename('/m/out.txt', '/m/moved.txt'); os.mkdir('/m/new')"
    )
    session.run("open('/m/nothing')")
    session.execute(
        "open('/o/in.txt', 'a').write('!'); both = open('/o/in.txt').read(), open('/data/shared.txt').read()"
    )
    session.execute(
        "line = input() + os.read(0, 6).decode() + input() + open(0).read(); time.sleep(0.001); print(line, time.monotonic())"
    )
    session.bash("cat /m/in.txt; date; echo $RANDOM; ls -l /m /o /data; echo x > /tmp/x")
    session.files.write_text("written.txt", "by the host")
    session.execute("written = open('written.txt').read()")
    session.undo(2)
    session.redo()
    session.redo()
    session.run("while True: pass", timeout=0.05)
    session.execute("answers.append('more')")
    digest, recording = session.state_digest(), planaria.Recording.from_bytes(bytes(session.recording()))
    assert session.state_digest() == digest
    session.close()
    shutil.rmtree(place)
    storage.remove("shared.txt")
    return recording, digest, outside


def test_a_replay_ends_in_the_same_digest_without_the_outside(
    recorded: tuple[planaria.Recording, str, Outside],
) -> None:
    """Callbacks, clocks, chance, input and files give what they gave, though none of them is there any more."""
    recording, digest, outside = recorded
    calls = outside.calls
    with planaria.replay(recording) as replay:
        results = [replay.step() for _ in replay.executions]
        assert replay.step() is None
        assert replay.state_digest() == digest
        assert outside.calls == calls
        assert results == replay.results
        assert str(results[3].error) == "ValueError: no bad ones"
        assert results[6].error.type == "FileNotFoundError"
        assert results[8].stdout.startswith("firstsecondthird\n ")
        assert results[9].stdout.startswith("from outside")
        assert "was stopped" in str(results[-2].error)
        assert replay.evaluate("answers").value == ["a!", "b!", "more"]
        assert replay.evaluate("read[0], both, written").value == (
            "from outside",
            ("from outside!", "shared"),
            "by the host",
        )
        assert replay.state_digest() == digest


def test_a_replay_stops_at_an_execution_and_goes_back(
    recorded: tuple[planaria.Recording, str, Outside],
) -> None:
    """Any position can be gone to in any order; the state there is the same each time."""
    recording, digest, _ = recorded
    with planaria.replay(recording) as replay:
        digests = [replay.state_digest()]
        for _ in replay.executions[:-1]:
            replay.step()
            digests.append(replay.state_digest())
        assert len(set(digests)) == len(digests)
        for position in (5, 0, 9, 8):
            replay.go_to(position)
            assert (replay.position, replay.state_digest()) == (position, digests[position])
        replay.back()
        assert replay.state_digest() == digests[7]
        assert replay.run().state_digest() == digest
        assert replay.is_over
        with pytest.raises(ValueError, match="there are"):
            replay.go_to(len(replay.executions) + 1)


def test_a_replay_stops_at_a_call(recorded: tuple[planaria.Recording, str, Outside]) -> None:
    """`step_call` goes to where the code awaits calls, in the middle of an execution."""
    with planaria.replay(recorded[0]) as replay:
        assert [call.args for call in replay.step_call()] == []
        replay.go_to(2)
        assert [call.args for call in replay.step_call()] == [("a",), ("b",)]
        assert replay.position == 2
        assert [call.name for call in replay.pending] == ["draw", "draw"]
        replay.back()
        assert (replay.position, replay.pending) == (2, [])
        replay.step()
        assert [call.args for call in replay.step_call()] == [("bad",)]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> planaria.Recording:
    """A recording with a function, a loop that calls it and awaits, an error, and what a time limit stopped."""
    session = planaria.Session(record=True, callbacks=[{"name": "draw", "fn": lambda: 10}])
    session.execute("def f(n):\n    k = n * 2\n    return k + 1")
    session.execute(
        "import random\nxs = []\nfor i in range(3):\n    xs.append(f(i))\n    got = await draw()\nxs"
    )
    session.run("1 / 0")
    session.run("while True: pass", timeout=0.05)
    recording = session.recording()
    session.close()
    return recording


def test_a_replay_stops_at_lines(lines: planaria.Recording) -> None:
    """`until` goes to each time a line comes, also in a function of another cell; code sees the names there."""
    with planaria.replay(lines) as replay:
        replay.go_to(1)
        digest = replay.state_digest()
        seen = []
        while replay.until(4) is not None:
            seen.append(replay.evaluate("i, xs").value)
        assert seen == [(0, []), (1, [1]), (2, [1, 3])]
        replay.back()
        assert (replay.line, replay.position, replay.state_digest()) == (None, 1, digest)
        line = replay.until(3, cell=1)
        assert line is not None
        assert (line.cell, line.line, line.function) == ("<cell 1>", 3, "f")
        assert replay.evaluate("locals()").value == {"n": 0, "k": 0}
        assert str(replay.evaluate("nothing").error) == "NameError: name 'nothing' is not defined"
        assert replay.evaluate("xs.append('changed there')").error is None
        assert str(replay.evaluate("f")).startswith("<function f at")
        result = replay.step()
        assert result is not None
        assert (result.value, replay.line) == ([1, 3, 5], None)


def test_a_replay_goes_by_lines(lines: planaria.Recording) -> None:
    """`step_line` and `back_line` go by one line, into functions and out of them."""
    with planaria.replay(lines) as replay:
        replay.go_to(1)
        places: list[tuple[str, int]] = []
        while (line := replay.step_line()) is not None and len(places) < 7:
            places.append((line.cell, line.line))
        one, two = "<cell 1>", "<cell 2>"
        assert places == [(two, 1), (two, 2), (two, 3), (two, 4), (one, 2), (one, 3), (two, 5)]
        back = [replay.back_line() for _ in range(3)]
        assert [line and line.line for line in back] == [5, 3, 2]
        assert [replay.back_line() is None for _ in range(5)] == [False] * 4 + [True]
        assert replay.line is None
        assert replay.back_line() is None


def test_lines_that_are_not_reached(lines: planaria.Recording) -> None:
    """A line that does not come leaves the replay where it is; a stopped execution has no lines, the end neither."""
    with planaria.replay(lines) as replay:
        replay.go_to(2)
        assert replay.until(1) is not None
        assert replay.until(1) is None
        assert replay.line is not None
        replay.go_to(3)
        with pytest.raises(planaria.ReplayError, match="was stopped"):
            replay.until(1)
        replay.run()
        with pytest.raises(planaria.ReplayError, match="end of the recording"):
            replay.step_line()
        with pytest.raises(ValueError, match="a line is a number"):
            replay.until(0)


@pytest.mark.parametrize("last", ["import numpy", "__import__('num' + 'py')"], ids=["foreseen", "unforeseen"])
def test_lines_of_an_execution_that_moved_up(last: str, new_session: Callable[..., Any]) -> None:
    """It has lines like any other, though it began in another runtime."""
    session = new_session(record=True)
    session.execute(f"a = 1\nb = 2\n{last}\nc = 3")
    with planaria.replay(session.recording()) as replay:
        line = replay.until(4)
        assert line is not None
        assert (line.line, line.number) == (4, 3)
        assert replay.evaluate("a, b").value == (1, 2)
        assert replay.evaluate("c").error.type == "NameError"
        assert replay.back_line().line == 3
        replay.step()
        assert replay.state_digest() == session.state_digest()


def test_lines_across_a_change_of_files(new_session: Callable[..., Any]) -> None:
    """Lines are counted on where the host has written files in the middle of an execution."""

    def ask() -> int:
        raise planaria.Suspend("later")

    session = new_session(record=True, callbacks=[ask])
    run = session.start("a = 1\nb = await ask()\nc = 3\nd = 4")
    session.files.write_text("new.txt", "by the host")
    run.resolve(run.pending[0].id, 2)
    run.result()
    with planaria.replay(session.recording()) as replay:
        numbers = [(line.line, line.number) for line in iter(replay.step_line, None)]
        assert numbers == [(1, 0), (2, 1), (3, 2), (4, 3)]
        replay.go_to(0)
        line = replay.until(3)
        assert line is not None
        assert replay.evaluate("a, b").value == (1, 2)


def test_explain_names_the_execution_that_changed_a_variable_last(
    recorded: tuple[planaria.Recording, str, Outside],
) -> None:
    """A change of the contents counts as one of the value; a variable that never was has none."""
    with planaria.replay(recorded[0]) as replay:
        found = {name: replay.explain(name) for name in ("answers", "chance", "nothing")}
    assert found["answers"] is not None
    assert found["chance"] is not None
    assert found["answers"].code == "answers.append('more')"
    assert found["chance"].code.startswith("chance =")
    assert found["nothing"] is None


def test_a_session_continues_from_a_replay(recorded: tuple[planaria.Recording, str, Outside]) -> None:
    """`session()` is a session like any other; the replay does not notice what it does."""
    with planaria.replay(recorded[0]) as replay:
        replay.go_to(3)
        digest = replay.state_digest()
        session = replay.session()
        assert session.execute("answers.append(1); answers").value == ["a!", "b!", 1]
        assert session.execution_count == 4
        session.close()
        assert replay.state_digest() == digest


def test_explain_in_a_session_knows_only_what_was_not_undone(new_session: Callable[..., Any]) -> None:
    """An execution that was undone has changed nothing."""
    session = new_session(record=True)
    for code in ("x = [1]", "y = 2", "x.append(2)", "x.append(3)"):
        session.execute(code)
    session.undo()
    assert session.explain("x").count == 3
    assert session.explain("y").code == "y = 2"
    assert session.explain("z") is None


def test_undo_goes_back_to_executions_without_a_checkpoint(new_session: Callable[..., Any]) -> None:
    """What was thinned out is done again from the recording, on the branch on which the session is."""
    session = new_session(record=True, limits=planaria.Limits(checkpoints=0))
    for number in range(12):
        session.execute(f"x = {number}; data = bytes(10000)")
    assert session.history[0].checkpoint is None
    session.undo(8)
    assert session.execute("x").value == 3
    session.execute("x = 'other branch'")
    session.undo(3)
    assert session.execute("x").value == 2
    session.rewind(1)
    assert [session.execute("x").value, session.execution_count] == [0, 2]
    session.undo(2)
    assert session.run("x").error.type == "NameError"
    digest = session.state_digest()
    assert planaria.replay(session.recording()).run().state_digest() == digest


def test_an_execution_that_waits_is_replayed_to_where_it_waits(new_session: Callable[..., Any]) -> None:
    """The calls that wait in the session wait in the replay, and a session from it can answer them."""

    def ask(question: str) -> str:
        raise planaria.Suspend("later")

    session = new_session(record=True, callbacks=[ask])
    run = session.start("first = await ask('a')\nsecond = await ask('b')\nfirst + second")
    run.resolve(run.pending[0].id, "1")
    replay = planaria.replay(bytes(session.recording())).run()
    assert [call.args for call in replay.pending] == [("b",)]
    assert replay.state_digest() == session.state_digest()
    other = replay.session()
    assert other.run_in_progress is not None
    other.run_in_progress.resolve(other.run_in_progress.pending[0].id, "2")
    run.resolve(run.pending[0].id, "2")
    assert planaria.replay(session.recording()).run().results[0].value == "12"
    other.close()
    replay.close()


def test_a_deterministic_session_can_be_recorded(new_session: Callable[..., Any]) -> None:
    """Its clock moves in the replay as in the session; nothing of time and chance is in the recording."""
    session = new_session(record=True, deterministic=planaria.Deterministic(seed=3, tick=0.5))
    session.execute("import asyncio, os, time; await asyncio.sleep(5); seen = time.time(), os.urandom(9)")
    session.bash("sleep 5; date; echo $RANDOM")
    recording = session.recording()
    assert planaria.replay(recording).run().state_digest() == session.state_digest()


def test_a_recording_never_has_more_than_its_limit(new_session: Callable[..., Any]) -> None:
    """The oldest executions are dropped, and what is left is replayed from there."""
    session = new_session(record=True, limits=planaria.Limits(recording=2_000_000))
    session.execute("kept = 'from the beginning'; n = 0")
    for number in range(12):
        session.execute(f"n = {number}; import os; x = os.urandom(300_000)")
    recording = session.recording()
    assert recording.is_cut
    assert 2 < len(recording.executions) < 12
    assert session._engine.recorder.size < 3_500_000
    replay = planaria.replay(recording).run()
    assert replay.state_digest() == session.state_digest()
    assert replay.evaluate("kept, n").value == ("from the beginning", 11)
    replay.close()


def test_one_execution_beyond_the_limit_is_kept_as_its_state(new_session: Callable[..., Any]) -> None:
    """What an execution got beyond all of the limit is not kept: the replay takes the state it left."""
    session = new_session(record=True, limits=planaria.Limits(recording=100_000))
    session.execute("import os; x = len(os.urandom(1_000_000)); data = os.urandom(8)")
    session.execute("y = x")
    replay = planaria.replay(session.recording()).run()
    assert replay.state_digest() == session.state_digest()
    assert "it got more from outside than Limits(recording=) allows" in str(replay.results[0].error)
    assert replay.results[1].error is None
    replay.close()


def test_states_of_a_large_session_count(new_session: Callable[..., Any]) -> None:
    """States count by all memory that they do not share, also what is not held as pages: the oldest are dropped."""
    session = new_session(record=True, limits=planaria.Limits(recording=10_000_000))
    session.execute("import os; data = bytearray(20_000_000)")
    for _ in range(6):
        session.execute("data[:] = os.urandom(len(data))")
        session.files.write_text("new.txt", "so that the next execution begins with a state")
    session.execute("last = data[-1]")
    recorder = session._engine.recorder
    states = [item for item in recorder.items if isinstance(item, Keyframe)]
    assert len(states) <= 2
    assert recorder.size > 20_000_000
    recording = session.recording()
    assert recording.is_cut
    with planaria.replay(recording) as replay:
        assert replay.run().state_digest() == session.state_digest()


def test_other_sessions_are_not_recorded(session: Any) -> None:
    """Without `record=True` there is no recording."""
    with pytest.raises(planaria.SessionError, match="record=True"):
        session.recording()


def test_a_fork_of_a_recorded_session_is_recorded(new_session: Callable[..., Any], tmp_path: Path) -> None:
    """The recording of a fork has what the session had executed, and what the fork read and was answered."""
    (tmp_path / "in.txt").write_text("text")
    session = new_session(
        record=True,
        limits=planaria.Limits(checkpoints=0),
        callbacks=[{"name": "draw", "fn": lambda: "drawn"}],
        mounts=[planaria.Mount(tmp_path, "/m")],
    )
    session.execute("import os, time; a = [time.time()]")
    session.execute("a.append('before')")
    copies = session.fork(2)
    session.execute("a.append('the other way')")
    for copy in copies:
        copy.execute("a += [open('/m/in.txt').read(), time.time(), os.urandom(4), await draw()]")
        copy.execute("a.append('more')")
    recordings = [copy.recording() for copy in copies]
    values = [copy.execute("a").value for copy in copies]
    (tmp_path / "in.txt").unlink()
    for copy, recording, value in zip(copies, recordings, values, strict=True):
        with planaria.replay(recording) as replay:
            assert len(replay.run().results) == 4
            assert replay.evaluate("a").value == value
        copy.undo(4)  # to before the fork, where no checkpoint is
        assert copy.execute("len(a)").value == 1
        copy.close()
    assert len(session.recording().executions) == 3


def test_files_that_stay_open(new_session: Callable[..., Any], tmp_path: Path) -> None:
    """A mounted file that is open between executions is so in the replay, wherever that goes, and in its
    copies; also when the host has changed files meanwhile.
    """
    (tmp_path / "in.txt").write_text("".join(f"{number}\n" for number in range(9)))
    storage = planaria.VfsStorage()
    storage.write_text("in.txt", "a\nb\nc\n")
    mounts = [planaria.Mount(tmp_path, "/m", "rw"), planaria.Mount(tmp_path, "/o", "overlay")]
    session = new_session(record=True, mounts=mounts, vfs=storage)
    session.execute("import os\nplaces = '/m/in.txt', '/o/in.txt', '/data/in.txt'")
    session.execute("files = [open(place, 'rb', 0) for place in places]; folder = os.open('/m', os.O_RDONLY)")
    session.execute("lines = [file.readline() for file in files]")
    session.files.write_text("new.txt", "by the host")
    session.execute(
        "lines += [file.readline() for file in files]; size = os.stat('in.txt', dir_fd=folder).st_size"
    )
    session.execute("out = open('/m/out', 'w'); out.write('1'); out.flush()")
    session.execute("import numpy; lines += [file.readline() for file in files]")
    session.execute("out.write('2'); out.close()")
    assert (tmp_path / "out").read_text() == "12"
    with planaria.replay(bytes(session.recording())) as replay:
        digests = [replay.state_digest()]
        while replay.step() is not None:
            digests.append(replay.state_digest())
        assert digests[-1] == session.state_digest()
        assert replay.results[-2].error is None
        for position in (3, 4, 1, 6, 5, 2):
            replay.go_to(position)
            assert replay.state_digest() == digests[position]
        assert replay.until(1) is not None  # in a copy
        assert replay.evaluate("len(lines)").error.type == "NameError"
        assert replay.run().state_digest() == digests[-1]
    expected = [b"0\n", b"0\n", b"a\n", b"1\n", b"1\n", b"b\n", b"2\n", b"2\n", b"c\n"]
    assert session.execute("lines").value == expected


def test_a_fork_leaves_no_trace_in_the_recording(new_session: Callable[..., Any], tmp_path: Path) -> None:
    """What a copy reads from a mount, a clock or chance is not taken for what the session has read."""
    (tmp_path / "in.txt").write_text("text")
    session = new_session(record=True, mounts=[planaria.Mount(tmp_path, "/m")])
    session.execute("import os, time; a = open('/m/in.txt').read()")
    (copy,) = session.fork()
    copy.execute("a = [open('/m/in.txt').read(), time.time(), os.urandom(4)]")
    session.execute("b = time.time(), os.urandom(4)")
    assert copy.execute("os.urandom(8)").value != session.execute("os.urandom(8)").value
    assert planaria.replay(session.recording()).run().state_digest() == session.state_digest()
    copy.close()


def test_recordings_are_files(new_session: Callable[..., Any], tmp_path: Path) -> None:
    """What `save` wrote, `load` and `replay` read."""
    session = new_session(record=True)
    session.execute("x = 1")
    session.recording().save(tmp_path / "a.rec")
    assert planaria.Recording.load(tmp_path / "a.rec").executions == session.recording().executions
    with planaria.replay(tmp_path / "a.rec") as replay:
        assert replay.run().evaluate("x").value == 1


@settings(max_examples=30)
@given(data=st.data())
def test_damaged_recordings_are_refused(
    data: st.DataObject, recorded: tuple[planaria.Recording, str, Outside]
) -> None:
    """Bytes with any change, or cut, are a ReplayError."""
    whole = bytearray(bytes(recorded[0]))
    at = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        whole[at] ^= data.draw(st.integers(1, 255))
    else:
        del whole[at:]
    with pytest.raises(planaria.ReplayError):
        planaria.replay(bytes(whole))


def test_a_recording_of_other_answers_is_refused(new_session: Callable[..., Any]) -> None:
    """When the code goes another way than in the recording, the replay says so and does not guess."""
    session = new_session(record=True)
    session.execute("import time")
    session.execute("x = time.time()")
    recording = session.recording()
    entry = [item for item in recording.items if getattr(item, "outcomes", None)][-1]
    entry.outcomes[-1] = ("answer", b"")
    with pytest.raises(planaria.ReplayError, match="another way"):
        planaria.replay(recording).run()


@pytest.mark.full
def test_a_session_that_moved_up_is_replayed(new_session: Callable[..., Any]) -> None:
    """The move to the full tier in the middle of a recording is done again, too."""
    session = new_session(record=True)
    session.execute("x = 1")
    session.execute("import numpy as np; drawn = np.random.default_rng().random(3)")
    session.execute("__import__('pandas')")
    replay = planaria.replay(session.recording()).run()
    assert replay.state_digest() == session.state_digest()
    replay.close()
