"""Sessions at a server, used as any other session."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from session_server import Served, free_port, process, served

import planaria
from planaria import CapabilityError, FileSystemError, ServerError, ServerSession, SessionError, Suspend

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared(server: Served) -> Iterator[ServerSession]:
    """A session that tests leave as they found it."""
    with planaria.connect(server.url) as session:
        yield session


@pytest.fixture
def remote(shared: ServerSession) -> ServerSession:
    """That session without variables."""
    shared.reset()
    return shared


def test_states(remote: ServerSession) -> None:
    """Executions are undone, redone and rewound at the server, and the count follows."""
    remote.execute("x = 1")
    remote.checkpoint("one")
    remote.execute("x = 2")
    remote.undo()
    assert (remote.execute("x").value, remote.execution_count) == (1, 2)
    remote.undo()
    remote.redo()
    remote.execute("x = 3")
    remote.rewind("one")
    assert (remote.execution_count, remote.execute("x").value) == (1, 1)
    assert [one.code for one in remote.history] == ["x = 1", "x"]
    with pytest.raises(SessionError, match="there is no checkpoint 'two'"):
        remote.rewind("two")


def test_variables(remote: ServerSession) -> None:
    """Values are handed in and out, and what was set is part of the state at the server."""
    remote.set(words=["a", "b"])
    remote.execute("words.append('c')")
    assert remote.get("words") == ["a", "b", "c"]
    remote.set(words="none")
    with planaria.Session.from_snapshot(remote.snapshot_state()) as here:
        assert here.get("words") == "none"
    with pytest.raises(NameError, match="'nothing' is not defined"):
        remote.get("nothing")


def test_forks(remote: ServerSession, client: httpx.Client) -> None:
    """Forks go their own ways, call the same functions, and end at the server when they are closed."""
    remote.execute("x = 1")
    first, second = remote.fork(2)
    with first, second:
        first.execute("x += 1")
        assert [one.execute("x").value for one in (remote, first, second)] == [1, 2, 1]
        name = first.name
    assert client.get(f"/v1/sessions/{name}").status_code == 404


def test_snapshots_go_anywhere(remote: ServerSession, server: Served) -> None:
    """A snapshot of a session at a server is restored in this process, and the other way."""
    remote.execute("x = 41")
    with planaria.Session.from_snapshot(remote.snapshot_state()) as here:
        assert here.execute("x + 1").value == 42
        here.execute("x = 43")
        state = here.snapshot_state()
    remote.restore_state(state)
    assert (remote.execute("x").value, remote.execution_count) == (43, 4)
    with planaria.connect(server.url, snapshot=state) as other:
        assert other.execute("x").value == 43


def test_files(remote: ServerSession) -> None:
    """Files are written, read, listed, moved and removed; their errors are those of any session."""
    files = remote.files
    files.mkdir("a/b", parents=True)
    files.write_text("a/b/one.txt", "1")
    with files.open("a/b/one.txt", "a") as stream:
        stream.write("2")
    files.symlink("one.txt", "a/b/link")
    files.rename("a/b/one.txt", "a/two.txt")
    assert remote.bash("cat a/two.txt; readlink a/b/link").stdout == "12one.txt\n"
    assert (files.listdir("a"), files.is_dir("a/b"), files.stat("a/two.txt").size) == (
        ["b", "two.txt"],
        True,
        2,
    )
    assert (files.readlink("a/b/link"), files.exists("a/b/link")) == ("one.txt", False)
    assert next(files.walk("a")) == ("/home/user/a", ["b"], ["two.txt"])
    files.rmtree("a")
    with pytest.raises(FileSystemError) as caught:
        files.read_bytes("a/two.txt")
    assert (caught.value.errno, caught.value.filename) == (2, "/home/user/a/two.txt")


def test_completion_and_analysis(remote: ServerSession) -> None:
    """Names are completed from the session's state, and scripts analysed, without an execution."""
    remote.execute("some_name = 1")
    assert remote.complete("some_n").matches == ["some_name"]
    assert remote.analyze("cat a | sort > b").commands == ["cat", "sort"]
    assert remote.execution_count == 1


def test_capabilities(remote: ServerSession) -> None:
    """It has what it says; what only a session of this process has is refused by name."""
    assert remote.supports("fork")
    assert remote.supports("shell")
    for use in (remote.pickle_variables, lambda: remote.save_as_image("x"), lambda: remote.tools):
        with pytest.raises(CapabilityError):
            use()
    before = remote.state_digest()
    remote.execute("x = 1")
    assert len(before) == len(remote.state_digest()) == 64
    assert before != remote.state_digest()


def test_workspace(tmp_path: Path, remote: ServerSession) -> None:
    """Tools, workflows and artifacts are those of the server's workspace, which code has; so are their errors."""
    arguments = {"storage": planaria.FileStorage(tmp_path), "tools": [price]}
    with served(arguments=arguments) as running, planaria.connect(running.url) as session:
        workspace = session.workspace
        assert [one["name"] for one in session.list_tools()] == ["price"]
        assert "def price(*, article: str) -> int" in workspace.tools.stubs("signatures")
        assert session.execute("tools.price(article='pear')").value == 4
        added = workspace.workflows.add("twice", "def run(n: int) -> int:\n    return 2 * n")
        assert session.execute(f"workflows.{added['name']}(n=4)").value == 8
        assert workspace.workflows.get("nowhere") is None
        session.execute("artifacts.save('facts', {'n': [1, 2]})")
        assert workspace.artifacts.load("facts") == {"n": [1, 2]}
        workspace.artifacts.save("bytes", b"\x00\xff", metadata={"kind": "raw"})
        assert session.execute("artifacts.load('bytes')").value == b"\x00\xff"
        assert workspace.artifacts.delete("bytes")
        with pytest.raises(planaria.ArtifactError, match="bytes"):
            workspace.artifacts.load("bytes")
        with pytest.raises(planaria.WorkflowError):
            workspace.workflows.add("not a name", "def run(): pass")
    with pytest.raises(SessionError, match="no workspace"):
        remote.workspace.tools.list()


def price(article: str) -> int:
    """What an article costs."""
    return {"apple": 3, "pear": 4}[article]


def test_a_session_by_name_stays(server: Served) -> None:
    """A named session keeps its state when it is closed, and another client goes on with what waits."""

    def approve(amount: int) -> bool:
        raise Suspend("ask")

    with planaria.connect(server.url, session="by-name", callbacks=[approve]) as session:
        session.start("x = 1\nprint('asked')\nok = await approve(amount=5)\nx, ok")
    with planaria.connect(server.url, session="by-name") as session:
        assert session.execution_count == 1
        waiting = session.run_in_progress
        assert waiting is not None
        [call] = waiting.pending
        assert (call.name, call.kwargs) == ("approve", {"amount": 5})
        waiting.resolve(call.id, True)
        result = waiting.result()
        assert (result.value, result.stdout) == ((1, True), "asked\n")


def test_functions_for_a_session_that_waits(server: Served) -> None:
    """A client may bring functions to a session in which an execution waits; the next execution has them."""

    def ask(question: str) -> int:
        raise Suspend("later")

    def double(x: int) -> int:
        return 2 * x

    with planaria.connect(server.url, session="waits", callbacks=[ask]) as session:
        session.start("v = await ask('q')\nv * 2")
    with planaria.connect(server.url, session="waits", callbacks=[ask, double]) as session:
        waiting = session.run_in_progress
        assert waiting is not None
        waiting.resolve(waiting.pending[0].id, 21)
        assert waiting.result().value == 42
        assert session.execute("await double(v)").value == 42


def test_two_clients_take_turns(server: Served) -> None:
    """Two clients of one session see each other's variables; `refresh` takes over the count."""
    with (
        planaria.connect(server.url, session="shared") as first,
        planaria.connect(server.url, session="shared") as second,
    ):
        first.execute("x = 1")
        assert second.execute("x").value == 1
        first.refresh()
        assert first.execution_count == 2


def test_a_function_declared_later(server: Served) -> None:
    """Functions of a later client replace those of an earlier one, with their signatures."""
    with planaria.connect(server.url, session="later") as session:
        session.execute("x = 1")

    def scale(value: int, by: int = 2) -> int:
        return value * by

    with planaria.connect(server.url, session="later", callbacks=[scale]) as session:
        assert session.execute("await scale(x, by=3)").value == 3
        assert session.execute("import inspect; str(inspect.signature(scale))").value == (
            "(value: int, by: int = 2)"
        )


def test_asynchronously(server: Served) -> None:
    """An asynchronous session streams its output, calls functions on the loop and is interrupted."""

    async def main() -> None:
        async def double(x: int) -> int:
            await asyncio.sleep(0)
            return 2 * x

        seen: list[str] = []
        session = await planaria.connect_async(server.url, callbacks=[double], on_stdout=seen.append)
        async with session:
            code = "import asyncio\nprint('a')\nprint(await asyncio.gather(double(1), double(2)))"
            await session.execute(code)
            assert "".join(seen) == "a\n[2, 4]\n"
            [copy] = await session.fork()
            async with copy:
                assert (await copy.run("await double(4)")).value == 8

    asyncio.run(main())


def test_refusals(server: Served) -> None:
    """A server that is not there, and arguments that cannot be, are reported as what they are."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    with pytest.raises(ServerError, match=r"the connection with .* failed"):
        planaria.connect(url)
    with pytest.raises(ValueError, match="not the address of a server"):
        planaria.connect("127.0.0.1:7700")
    with pytest.raises(ServerError, match="there is no image 'nothing'"):
        planaria.connect(server.url, image="nothing")


def test_a_lost_connection_is_made_again(server: Served) -> None:
    """When the connection breaks, the execution goes on, and its result and all of its output arrive once."""
    seen: list[str] = []
    lines = iter(["go"])

    def ask(_prompt: str) -> str | None:
        executor = session._engine.executor
        assert isinstance(executor, planaria.ServerExecutor)
        executor.connection.hang_up()
        return next(lines)

    with planaria.connect(server.url, stdin=ask, on_stdout=seen.append) as session:
        session.execute("n = 0")
        result = session.run("print('before')\nline = input()\nn += 1\nprint('after')\nn")
        assert (result.value, result.stdout) == (1, "before\nafter\n")
        assert "".join(seen) == "before\nafter\n"


def test_the_server_is_killed(tmp_path: Path) -> None:
    """After kill -9 a client goes on at the same address with all that was answered."""
    store, port = str(tmp_path / "store.db"), free_port()
    with process("--store", f"sqlite:///{store}", port=port) as (url, number):
        session = planaria.connect(url, session="kept")
        session.execute("x = 1")
        os.kill(number, signal.SIGKILL)
    restarted = threading.Event()
    results = []

    def execute() -> None:
        restarted.set()
        results.append(session.run("x += 1\nx"))

    thread = threading.Thread(target=execute)
    thread.start()
    restarted.wait()
    with process("--store", f"sqlite:///{store}", port=port) as (_, number):
        thread.join(60)
        assert [one.value for one in results] == [2]
        session.close()
        os.kill(number, signal.SIGTERM)


def test_texts_that_cannot_be_sent(remote: ServerSession) -> None:
    """Code with a lone surrogate is a ValueError that names the line, and the session goes on."""
    with pytest.raises(
        ValueError, match=r"the code has a lone surrogate, '\\udc80', in line 2, .* to a server"
    ):
        remote.run("x = 1\ny = '\udc80'")
    with pytest.raises(ValueError, match="the script has a lone surrogate"):
        remote.bash("echo '\udc80'")
    assert remote.execute("'\\udc80'").value == "\udc80"


def test_names_of_sessions(server: Served) -> None:
    """A name that a session cannot have is refused with the rule for names."""
    with pytest.raises(ServerError, match="1 to 64 ASCII letters, digits, '_' and '-'"):
        planaria.connect(server.url, session="für alle")


def test_recordings(server: Served) -> None:
    """With `record=True`, what came from this process is recorded at the server, and is replayed here."""
    with planaria.connect(server.url, callbacks=[price], record=True) as session:
        session.execute("total = await price('pear')")
        session.execute("other = 1")
        recording, there = session.recording(), session.state_digest()
        found = session.explain("total")
        assert found is not None
        assert (found.count, found.code) == (1, "total = await price('pear')")
    with planaria.replay(recording) as playback:
        playback.go_to(2)
        assert [one.code for one in playback.executions] == ["total = await price('pear')", "other = 1"]
        assert playback.state_digest() == there
    with planaria.connect(server.url) as session, pytest.raises(SessionError, match="record=True"):
        session.recording()


def test_snapshots_by_name(server: Served) -> None:
    """A state that is kept at the server by name is what new sessions begin from."""
    with planaria.connect(server.url) as session:
        session.execute("x = 41")
        session.save_snapshot("prepared")
    with planaria.connect(server.url, snapshot="prepared") as session:
        assert session.execute("x + 1").value == 42
    with pytest.raises(planaria.PlanariaError, match="nothing-there"):
        planaria.connect(server.url, snapshot="nothing-there")
