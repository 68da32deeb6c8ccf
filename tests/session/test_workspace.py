"""Sessions with a workspace, with every executor that is available."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import planaria
from planaria import AsyncSession, FileStorage, Session, ToolRegistry

pytestmark = pytest.mark.slow

HOMES = ["from_base", "inprocess", "subprocess"]
ECHO = """
name: echo
command: [sh, -c]
description: Runs a script.
tags: [shell]
stdin: true
schema:
  positional: [{name: script, required: true}]
recipes:
  failing: {preset: {script: "echo out; echo err >&2; exit 3"}}
"""


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


async def slowly(text: str) -> str:
    """Say it in a moment."""
    await asyncio.sleep(0.01)
    return text


def raising(kind: str) -> None:
    """Raise a builtin exception."""
    raise getattr(__import__("builtins"), kind)("on purpose")


TOOLS = (add, slowly, raising)


@pytest.fixture(params=HOMES)
def home(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "base" / "tools").mkdir(parents=True)
    (tmp_path / "base" / "tools" / "echo.yaml").write_text(ECHO)
    return tmp_path / "base"


@pytest.fixture
def make(base: Path) -> Iterator[Callable[..., Session]]:
    """A function that makes sessions with the workspace, closed after the test."""
    made: list[Session] = []

    def make(home: str = "from_base", **arguments: Any) -> Session:
        made.append(getattr(Session, home)(base, **{"tools": TOOLS, **arguments}))
        return made[-1]

    yield make
    for session in made:
        session.close()


def value(session: Session, code: str) -> Any:
    return session.execute(code, timeout=300).value


# -- tools -------------------------------------------------------------------------------------------------


def test_tools_in_code(make: Any, home: str) -> None:
    """Tools of all kinds are called plainly and awaited, the same with every executor."""
    session = make(home)
    assert value(session, "tools.add(a=1, b=2), tools.add(1)") == (3, 2)
    assert value(session, "tools.slowly(text='x'), await tools.slowly(text='y')") == ("x", "y")
    assert value(session, "tools.echo('echo hello'), await tools.echo(script='echo there')") == (
        "hello\n",
        "there\n",
    )
    together = (
        "import asyncio\nawait asyncio.gather(*[tools.slowly.call_async(text=str(n)) for n in range(4)])"
    )
    assert value(session, together) == ["0", "1", "2", "3"]


def test_errors_of_tools(make: Any, home: str) -> None:
    """A tool's failure is an exception in the code, with exit code and output; builtin ones keep their type."""
    session = make(home)
    code = (
        "try:\n    {}tools.echo.failing()\n"
        "except ToolCallError as error:\n"
        "    found = error.tool, error.callable, error.exit_code, error.stdout, error.stderr\nfound"
    )
    for form in ("", "await "):
        assert value(session, code.format(form)) == ("echo", "failing", 3, "out\n", "err\n")
    assert session.run("tools.raising(kind='ValueError')").error.type == "ValueError"
    assert session.run("await tools.raising(kind='KeyError')").error.type == "KeyError"
    error = session.run("tools.add(a='x')").error
    assert (error.type, error.traceback.count("planaria/")) == ("ToolArgumentError", 0)
    assert session.run("tools.nothing").error.type == "AttributeError"
    assert "did you mean 'add'?" in session.run("tools.ad(a=1)").error.message


def test_errors_of_web_interfaces(make: Any, home: str) -> None:
    """The status with which a web interface has answered is that of the exception in the code."""
    pytest.importorskip("httpx")

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        session = make(home)
        session.storage.set_tool_definition(
            "web",
            f"name: web\ntype: http\nbase_url: http://127.0.0.1:{server.server_address[1]}\n"
            "endpoints: [{name: page, path: /page}]\n",
        )
        with getattr(Session, home)(session.storage.path) as other:
            code = (
                "try:\n    tools.web.page()\nexcept ToolCallError as error:\n    found = error.status\nfound"
            )
            assert value(other, code) == 404
        server.shutdown()


def test_lists_and_searches(make: Any, home: str) -> None:
    """The session and its code see the same tools, described with their parameters."""
    session = make(home)
    assert [tool["name"] for tool in session.list_tools()] == ["add", "echo", "raising", "slowly"]
    assert value(session, "tools.list()") == session.list_tools()
    assert value(session, "tools.search('two numbers', 1)") == session.search_tools("two numbers", 1)
    described = session.search_tools("two numbers", 1)[0]
    assert (described["name"], described["callables"][0]["parameters"][1]["default"]) == ("add", 1)
    assert "def add(*, a: int, b: int = 1) -> int" in session.tool_stubs("signatures")
    assert "Add two numbers." in session.run("help(tools.add)").stdout


def test_trace(make: Any, home: str) -> None:
    """A result has a record of every call of a tool: who, with what, and what came of it."""
    session = make(home)
    result = session.run(
        "tools.add(a=1)\ntry: tools.echo.failing()\nexcept ToolCallError: pass\nawait tools.slowly('x')"
    )
    assert [(call.name, call.outcome) for call in result.tool_calls] == [
        ("add", "ok"),
        ("echo.failing", "error"),
        ("slowly", "ok"),
    ]
    assert result.tool_calls[0].arguments == {"a": 1}
    assert all(call.duration_ms is not None for call in result.tool_calls)
    assert session.run("1").tool_calls == []


def test_reset(make: Any, home: str) -> None:
    """After a reset the user's names are gone and the namespaces are as they were, whatever was bound to them."""
    session = make(home)
    session.run("tools = workflows = 1\nx = 2")
    session.reset()
    assert session.run("x").error.type == "NameError"
    assert value(session, "tools.add(a=1)") == 2
    session.run("tools = 1")
    session.clear_state()
    assert value(session, "tools.add(a=1)") == 2


def test_tools_without_storage() -> None:
    """tools= alone gives a session tools; what needs a storage says how to get one."""
    with Session(tools=[add]) as session:
        assert value(session, "tools.add(a=1)") == 2
        with pytest.raises(planaria.SessionError, match=r"no storage.*from_base"):
            session.list_workflows()
        assert "no storage" in session.run("artifacts.save('x', 1)").error.message


def test_registry() -> None:
    """A ToolRegistry is taken as it is, scopes included, and stays the user's."""
    registry = ToolRegistry()
    registry.add(add, tags=["safe"])
    registry.add(raising)
    with Session(tools=registry.scoped(["safe"])) as session:
        assert value(session, "dir(tools)") == ["add", "list", "search"]
        assert session.run("tools.raising(kind='ValueError')").error.type == "AttributeError"
        # A guest that asks for it past the namespaces gets the same error.
        past = "tools._host.blocking('@tools.call', ('raising', None, {'kind': 'ValueError'}), {})"
        assert session.run(past).error.type == "ToolNotFound"
    assert len(registry) == 2


def test_tools_that_come_later(make: Any) -> None:
    """A tool that is added while the session runs can be called at once; one that is removed cannot."""
    session = make()

    def later() -> str:
        return "here"

    session.tools.add(later)
    assert value(session, "tools.later()") == "here"
    session.tools.remove("later")
    assert session.run("tools.later()").error.type == "ToolNotFound"


def test_colliding_callbacks() -> None:
    """Callbacks cannot take the names of a workspace; without one they may."""
    callback = {"name": "tools.add", "fn": add}
    with pytest.raises(planaria.CallbackError, match="names artifacts, deps, tools, workflows are its own"):
        Session(callbacks=[callback], tools=[add])
    with Session(callbacks=[callback]) as session:
        assert value(session, "await tools.add(1)") == 2


def test_what_a_guest_could_send(make: Any) -> None:
    """Calls that the namespaces would never make are refused on the host."""
    session = make(allow_runtime_deps=False)
    for code, kind in {
        "send('@tools.call', 'add', None, [1])": "TypeError",
        "send('@tools.call', 'add')": "TypeError",
        "send('@nothing')": "NameError",
        "send('@workspace')": "NameError",
        "send('@artifacts.write', 7, b'')": "ArtifactError",
        "send('@artifacts.save', '../x', 'bytes', b'', '', None)": "ArtifactError",
        "send('@artifacts.save', 'x', 'exe', b'', '', None)": "ArtifactError",
        "send('@artifacts.save', 'x', 'bytes', 'text', '', None)": "TypeError",
        "send('@workflows.create', '../x', 'def run(): 1', '')": "WorkflowError",
        "send('@deps.add', 'six')": "DependencyError",
        "send('@deps.remove', 'six')": "DependencyError",
    }.items():
        send = "send = lambda name, *args: tools._host.blocking(name, args, {})\n"
        assert session.run(send + code).error.type == kind, code
    assert not (session.storage.path.parent / "x").exists()


# -- approvals ---------------------------------------------------------------------------------------------


class Asking:
    """Wants everything approved."""

    def before(self, call: planaria.ToolCall) -> None:
        raise planaria.Suspend(f"may {call.name} be called?")


@pytest.mark.parametrize("decision", [True, False])
def test_approval(decision: bool) -> None:
    """A middleware that suspends parks an awaited call; the answer decides whether it goes on."""
    with Session(tools=ToolRegistry([add], middleware=[Asking()])) as session:
        result = session.run("x = 1\nawait tools.add(a=x)")
        (call,) = result.suspended
        assert call.args == ("add", None, {"a": 1})
        execution = session.run_in_progress
        assert execution is not None
        execution.resolve(call.id, decision)
        done = execution.result()
        if decision:
            assert done.value == 2
            assert [call.outcome for call in done.tool_calls] == ["suspended", "ok"]
        else:
            assert isinstance(done.error, planaria.ExecutionError)
            assert done.error.type == "ToolDenied"
        assert "can suspend" not in str(done.error)
        assert "only an awaited call can" in session.run("tools.add(a=1)").error.message


def test_approval_elsewhere() -> None:
    """A call that waits for an approval goes on in another session, from a snapshot."""
    registry = ToolRegistry([add], middleware=[Asking()])
    with Session(tools=registry) as session:
        result = session.run("x = 41\nawait tools.add(a=x)")
        snapshot = bytes(session.snapshot_state())
    with Session.from_snapshot(snapshot, tools=registry) as other:
        execution = other.run_in_progress
        assert execution is not None
        execution.resolve(result.suspended[0].id, True)
        assert execution.result().value == 42


def test_approval_under_asyncio() -> None:
    """The same under asyncio, where an asynchronous tool goes on after it was approved."""

    async def main() -> None:
        registry = ToolRegistry([slowly, add], middleware=[Asking()])
        async with AsyncSession(tools=registry) as session:
            code = "import asyncio\nawait asyncio.gather(tools.slowly.call_async('x'), tools.add.call_async(a=1))"
            result = await session.run(code)
            first, second = result.suspended
            execution = session.run_in_progress
            assert execution is not None
            await execution.resolve(second.id, True)
            assert [call.id for call in execution.pending] == [first.id]
            await execution.resolve(first.id, True)
            assert (await execution.result()).value == ["x", 2]

    asyncio.run(main())


# -- workflows and artifacts ---------------------------------------------------------------------------------


def test_workflows(make: Any, home: str) -> None:
    """Workflows that the host or the code has kept run in the code, in this session and in later ones."""
    session = make(home)
    added = session.add_workflow(
        "more", "async def run(x: int) -> int:\n    return await tools.add(a=x)\n", "Adds"
    )
    assert (added["name"], added["version"], added["parameters"][0]["type"]) == ("more", 1, "int")
    code = "workflows.create('twice', 'def run(x):\\n    return workflows.more(x=workflows.more(x=x))\\n', 'Two')"
    assert value(session, code)["description"] == "Two"
    assert value(session, "workflows.twice(x=1), await workflows.twice(x=2)") == (3, 4)
    assert [one["name"] for one in session.list_workflows()] == ["more", "twice"]
    assert value(session, "workflows.list()") == session.list_workflows()
    assert "source" not in session.list_workflows()[0]
    assert session.search_workflows("adds")[0]["name"] == "more"
    session.add_workflow("more", "def run(x): return -x", "Less")
    assert value(session, "workflows.more(x=1)") == -1
    assert session.get_workflow("more", version=1)["source"] == added["source"]
    assert value(session, "workflows.get('more', 1)['source']") == added["source"]
    assert (session.get_workflow("nothing"), session.remove_workflow("nothing")) == (None, False)
    assert session.remove_workflow("more")
    other = make(home)
    assert other.run("workflows.twice(x=1)").error.type == "AttributeError"
    assert value(other, "workflows.delete('twice'), workflows.list()") == (True, [])


def test_names_of_devices(make: Any, home: str) -> None:
    """A workflow with a name that no storage can keep is refused, and the workspace is as it was."""
    session = make(home)
    error = session.run("workflows.create('con', 'def run(): return 1', '')").error
    assert (error.type, "the name of a device" in error.message) == ("WorkflowError", True)
    session.add_workflow("fine", "def run(): return 1", "")
    assert value(session, "workflows.fine()") == 1


def test_error_of_workflow(make: Any, home: str) -> None:
    """An exception in a workflow has the frames of the cell and of the workflow, and no others."""
    session = make(home)
    session.add_workflow("bad", "async def run():\n    x = 0\n    return 1 / x\n", "")
    for form in ("workflows.bad()", "await workflows.bad()"):
        error = session.run(form).error
        assert error.type == "ZeroDivisionError"
        files = [line.split(",")[0] for line in error.traceback.splitlines() if line.startswith("  File")]
        assert len(files) == 2
        assert files[1] == '  File "<workflow bad>"'
        assert "return 1 / x" in error.traceback


def test_broken_workflow(make: Any, base: Path) -> None:
    """A workflow that was broken by hand is listed with its error, and running it says the same."""
    session = make()
    (base / "workflows").mkdir()
    (base / "workflows" / "broken.py").write_text("def run(:\n")
    assert session.list_workflows()[0]["error"].startswith("line 1")
    error = session.run("workflows.broken()").error
    assert (error.type, "line 1" in error.message) == ("WorkflowError", True)


def test_recursion(make: Any, home: str) -> None:
    """Workflows without end stop at a depth that every executor can hold."""
    session = make(home)
    session.add_workflow("again", "async def run(n):\n    return workflows.again(n + 1)\n", "")
    error = session.run("workflows.again(0)").error
    assert (error.type, "32 deep" in error.message) == ("RecursionError", True)
    assert value(session, "1 + 1") == 2


def test_interrupted_workflow(make: Any, home: str) -> None:
    """A workflow without end is stopped when its time is over, and the session goes on."""
    session = make(home)
    session.add_workflow(
        "endless", "import asyncio\nasync def run():\n    while True: await asyncio.sleep(0)\n", ""
    )
    session.execute("x = 1")
    assert isinstance(session.run("workflows.endless()", timeout=0.3).error, planaria.TimeoutError)
    assert value(session, "x, tools.add(a=1), await tools.add(a=2)") == (1, 2, 3)


def test_artifacts(make: Any, home: str) -> None:
    """Artifacts keep the types of what was saved, between the host and the code, and between sessions."""
    session = make(home)
    data = {"rows": [1, 2.5, None], "name": "é"}
    session.save_artifact("report", data, "A report", {"year": 2024})
    assert value(session, "artifacts.load('report')") == data
    value(session, "artifacts.save('pair', (1, {'x'}), description='A pair')")
    value(session, "await artifacts.save('folder/bytes', b'\\x00\\xff')")
    assert session.load_artifact("pair") == (1, {"x"})
    assert make(home).load_artifact("folder/bytes") == b"\x00\xff"
    listed = session.list_artifacts()
    assert [one["name"] for one in listed] == ["folder/bytes", "pair", "report"]
    assert {*listed[0]} == {"name", "path", "description", "metadata", "created_at"}
    assert listed[2]["metadata"] == {"year": 2024}
    assert value(session, "artifacts.list()") == listed
    assert value(session, "artifacts.exists('pair'), artifacts.delete('pair'), artifacts.exists('pair')") == (
        True,
        True,
        False,
    )
    assert session.run("artifacts.load('pair')").error.type == "ArtifactError"
    assert (session.delete_artifact("report"), session.delete_artifact("report")) == (True, False)


def test_large_artifact(make: Any) -> None:
    """An artifact of many megabytes crosses in pieces, also where one call may carry much less."""
    session = make(limits=planaria.Limits(value=6 << 20))
    value(session, "artifacts.save('large', bytes(range(256)) * 80_000)")
    assert session.load_artifact("large") == bytes(range(256)) * 80_000
    assert value(session, "artifacts.load('large') == bytes(range(256)) * 80_000") is True


def test_half_written_artifacts(make: Any) -> None:
    """What an execution leaves half written is not there, and does not use up what others may write."""
    session = make()
    send = "send = lambda name, *args: tools._host.blocking(name, args, {})\n"
    for _ in range(3):
        code = "for n in range(16): send('@artifacts.begin', f'a{n}', 'bytes', '', None)"
        assert session.run(send + code).is_ok
    assert (
        session.run(send + code + "\nsend('@artifacts.begin', 'b', 'bytes', '', None)").error.type
        == "ArtifactError"
    )
    assert session.list_artifacts() == []


@pytest.mark.full
def test_scientific_artifacts(make: Any) -> None:
    """Arrays and frames come back as such in the sandbox, and a figure as its PNG."""
    import numpy
    import pandas

    session = make()
    session.save_artifact("array", numpy.arange(6.0).reshape(2, 3))
    assert value(session, "a = artifacts.load('array'); (type(a).__name__, a.shape, a.sum())") == (
        "ndarray",
        (2, 3),
        15.0,
    )
    value(session, "import pandas; artifacts.save('frame', pandas.DataFrame({'x': [1, 2]}))")
    assert isinstance(session.load_artifact("frame"), pandas.DataFrame)
    value(
        session,
        "from matplotlib import pyplot\nfigure, axes = pyplot.subplots()\n"
        "artifacts.save('figure', figure); pyplot.close()",
    )
    assert session.load_artifact("figure").startswith(b"\x89PNG")


# -- snapshots, copies, images ---------------------------------------------------------------------------------


def test_snapshot(make: Any) -> None:
    """The namespaces are in a restored session, which uses the workspace that it has itself."""
    session = make()
    session.run("kept = tools.add\nx = tools.add(a=1)")
    snapshot = bytes(session.snapshot_state())

    def add(a: int) -> str:
        return "other"

    with Session.from_snapshot(snapshot, tools=[add]) as other:
        assert value(other, "x, kept(a=1), tools.add(a=1)") == (2, "other", "other")
        assert value(other, "dir(tools)") == ["add", "list", "search"]


def test_snapshot_without_workspace(make: Any) -> None:
    """A session without a workspace refuses such a snapshot, or goes on and says so when it is needed."""
    session = make()
    session.run("x = 1")
    snapshot = bytes(session.snapshot_state())
    with pytest.raises(planaria.SnapshotMismatch, match="needs a workspace"):
        Session.from_snapshot(snapshot)
    with Session.from_snapshot(snapshot, missing="ignore") as other:
        assert value(other, "x") == 1
        assert "had a workspace; this one does not" in other.run("tools.add(a=1)").error.message
        with pytest.raises(planaria.SnapshotMismatch, match="needs a workspace"):
            Session.from_snapshot(bytes(other.snapshot_state()))


def test_snapshot_of_a_session_without(session: Any, make: Any) -> None:
    """A snapshot of a session that had no workspace gets the receiver's."""
    session.run("x = 1")
    other = make()
    other.restore_state(bytes(session.snapshot_state()))
    assert value(other, "x, tools.add(a=1)") == (1, 2)


def test_fork_and_rewind(make: Any) -> None:
    """Copies share the workspace, which is closed with the last of them; going back keeps the namespaces."""
    session = make()
    session.run("x = 1")
    (copy,) = session.fork()
    session.checkpoint("here")
    session.run("tools = 1; x = 2")
    session.rewind("here")
    assert value(session, "x, tools.add(a=x)") == (1, 2)
    session.close()
    assert value(copy, "tools.add(a=x), tools.echo('echo still')") == (2, "still\n")
    result = copy.run("tools.add(a=5)")
    assert [call.name for call in result.tool_calls] == ["add"]
    copy.close()


def test_image(make: Any, tmp_path: Path) -> None:
    """An image of a session with a workspace has its variables, and none of the namespaces."""
    session = make()
    session.run("x = 1")
    name = f"workspace-{tmp_path.name}"
    image = session.save_as_image(name)
    try:
        with Session(image=image) as other:
            assert value(other, "x") == 1
            assert other.run("tools").error.type == "NameError"
    finally:
        planaria.Image.remove(name)


# -- making sessions -------------------------------------------------------------------------------------------


def test_no_workspace(session: Any) -> None:
    """A session without a workspace says how to get one, for each of the methods."""
    for call in (
        session.list_tools,
        lambda: session.search_tools("x"),
        session.list_workflows,
        lambda: session.get_workflow("x"),
        lambda: session.add_workflow("x", "def run(): ..."),
        session.list_artifacts,
        lambda: session.load_artifact("x"),
        session.list_deps,
        lambda: session.add_dep("six"),
        session.sync_deps,
        lambda: session.storage,
        session.tool_stubs,
    ):
        with pytest.raises(
            planaria.SessionError, match=r"no workspace: create it with Session.from_base\(path\)"
        ):
            call()
    assert session.run("tools").error.type == "NameError"


def test_bad_arguments() -> None:
    """What is not a storage, and dependencies without a workspace, are refused."""
    with pytest.raises(TypeError, match=r"storage= must be a planaria.Storage or None, not str"):
        Session(storage="./data")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sync_deps_on_start= and extra_deps= are for sessions with storage="):
        Session(sync_deps_on_start=True)


def test_bad_extra_deps(make: Any, home: str) -> None:
    """A text in place of several requirements, and what is not a requirement, are refused when a session is made."""
    with pytest.raises(TypeError, match=r"a list of (strings|requirements),.*'attrs'"):
        make(home, extra_deps="attrs")
    with pytest.raises(planaria.DependencyError, match="is not a valid requirement"):
        make(home, extra_deps=["not one!"])


def test_bad_definitions(base: Path) -> None:
    """A definition that is wrong is reported with file and line when the session is made."""
    (base / "tools" / "bad.yaml").write_text("name: bad\ncommand: sh\nnonsense: 1\n")
    with pytest.raises(planaria.ToolDefinitionError, match=r"tools/bad.yaml:3: nonsense"):
        Session.from_base(base)


def test_timeout(make: Any, home: str) -> None:
    """`timeout` of a constructor is what executions may take."""
    session = make(home, timeout=0.3)
    assert isinstance(session.run("while True: pass").error, planaria.TimeoutError)


def test_timeout_in_a_tool(make: Any, home: str) -> None:
    """An execution whose time is over while it blocks for a tool ends with TimeoutError and keeps its state."""
    session = make(home)
    for number in range(4):
        session.execute(f"x = {number}")
        error = session.run("tools.echo(script='sleep 20')", timeout=0.1).error
        assert isinstance(error, planaria.TimeoutError), error
        assert error.state == "kept"
        assert session.execute("x").value == number


def test_messages_name_the_tool(base: Path) -> None:
    """What a message says of a call of a tool is what the code wrote to call it."""

    class Asking(planaria.ToolMiddleware):
        def before(self, call: planaria.ToolCall) -> None:
            if call.tool == "add":
                raise planaria.Suspend("really?")

    def handle() -> object:
        return object()

    registry = ToolRegistry([add, handle])
    registry.load(base / "tools")
    registry.middleware.append(Asking())
    with Session(tools=registry, limits=planaria.Limits(callbacks=3)) as session:
        assert "await tools.add(...)" in str(session.run("tools.add(a=1)").error)
        assert "tools.handle() returned a value that cannot be serialised" in str(
            session.run("tools.handle()").error
        )
        looping = "while True:\n    try: tools.echo.failing()\n    except ToolCallError: pass"
        assert "is reached at tools.echo.failing()" in str(session.run(looping).error)


def test_long_names(make: Any) -> None:
    """A name that code makes up costs the host nothing, and is cut in messages."""
    session = make()
    session.add_workflow("announce", "def run(): pass", "")
    assert "did you mean 'announce'?" in str(session.run("workflows.anounce()").error)
    error = session.run("workflows.invoke('announc' * 1_000_000)").error
    assert isinstance(error, planaria.ExecutionError)
    assert "there is no workflow" in str(error)
    assert len(str(error)) < 1000


def test_tools_path(base: Path) -> None:
    """An executor's tools_path gives tools, beside a storage or without one."""
    from planaria import InProcessConfig, InProcessExecutor

    executor = InProcessExecutor(config=InProcessConfig(tools_path=base / "tools"))
    with Session(storage=FileStorage(base.parent / "other"), executor=executor) as session:
        assert value(session, "tools.echo('echo x')") == "x\n"


def test_start(make: Any) -> None:
    """start() without code makes a session ready, as often as it is called; with code it begins an execution."""
    session = make()
    assert session.start() is None
    assert session.start() is None
    assert session.start("x = 1; x").result().value == 1


def test_async(base: Path) -> None:
    """An AsyncSession has the same methods, awaited, with every executor."""

    async def main(home: str) -> None:
        async with getattr(AsyncSession, home)(base, tools=TOOLS) as session:
            assert (await session.execute("tools.add(a=1), await tools.slowly('x')")).value == (2, "x")
            assert len(await session.list_tools()) == 4
            assert (await session.search_tools("numbers"))[0]["name"] == "add"
            await session.add_workflow("w", "async def run(): return tools.slowly('y')", "Slow")
            assert (await session.execute("workflows.w(), await workflows.w()")).value == ("y", "y")
            assert (await session.get_workflow("w"))["source"]
            assert [one["name"] for one in await session.list_workflows()] == ["w"]
            assert [one["name"] for one in await session.search_workflows("slow")] == ["w"]
            await session.save_artifact("a", (1, 2))
            assert await session.load_artifact("a") == (1, 2)
            assert [one["name"] for one in await session.list_artifacts()] == ["a"]
            assert await session.delete_artifact("a")
            assert await session.remove_workflow("w")
            assert await session.list_deps() == []
            await session.reset()
            assert (await session.execute("tools.add(a=1)")).value == 2
            assert isinstance(session.storage, FileStorage)
        session = getattr(AsyncSession, home)(base)
        assert await session.start() is None
        assert (await session.run("1 + 1")).value == 2
        await session.close()

    for home in HOMES:
        asyncio.run(main(home))


def test_parts_of_the_workspace(base: Path) -> None:
    """`session.workspace` offers tools, workflows, artifacts, deps and storage; the flat methods are the same."""
    with Session.from_base(base, tools=TOOLS) as session:
        workspace = session.workspace
        assert workspace.tools.list() == session.list_tools()
        assert workspace.tools.search("numbers") == session.search_tools("numbers")
        assert workspace.tools.stubs("names") == session.tool_stubs("names")
        assert workspace.tools.registry is session.tools
        workspace.workflows.add("w", "def run(): return 1", "One")
        assert workspace.workflows.get("w") == session.get_workflow("w")
        assert workspace.workflows.list() == session.list_workflows()
        assert workspace.workflows.search("one") == session.search_workflows("one")
        workspace.artifacts.save("a", (1, 2), metadata={"k": 1})
        assert (workspace.artifacts.load("a"), workspace.artifacts.list()) == (
            (1, 2),
            session.list_artifacts(),
        )
        assert workspace.deps.list() == session.list_deps() == []
        assert workspace.deps.sync() == session.sync_deps()
        assert workspace.storage is session.storage
        assert (workspace.workflows.remove("w"), workspace.artifacts.delete("a")) == (True, True)


def test_imports() -> None:
    """Nothing of workspaces is imported before a session has one."""
    code = (
        "import sys, planaria\nsession = planaria.Session()\nsession.run('1')\n"
        "print([name for name in sys.modules if name.startswith(('planaria.workspace', 'pydantic', 'yaml'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_calls_of_tools_take_turns() -> None:
    """No more than 32 calls of tools are on their way at once in a session; the others wait, and all come back."""
    now = most = 0

    async def busy() -> int:
        """Be busy."""
        nonlocal now, most
        now += 1
        most = max(most, now)
        try:
            await asyncio.sleep(0.02)
        finally:
            now -= 1
        return 1

    with Session(tools=[busy]) as session:
        code = "import asyncio\nsum(await asyncio.gather(*[tools.busy.call_async() for _ in range(100)]))"
        assert session.execute(code).value == 100
        cancelled = "import asyncio\ntasks = [asyncio.create_task(tools.busy.call_async()) for _ in range(80)]\nawait asyncio.sleep(0.01)\nfor task in tasks: task.cancel()\nlen(await asyncio.gather(*tasks, return_exceptions=True))"
        assert session.execute(cancelled).value == 80
        assert session.execute("await tools.busy()").value == 1
    assert most == 32


# -- how calls end, and what is bounded ------------------------------------------------------------------------


def is_running(seconds: str) -> bool:
    """Whether a process sleeps for just so long."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if (folder / "cmdline").read_bytes() == f"sleep\0{seconds}\0".encode():
                    return True
            except OSError:
                pass
    return False


def ends(seconds: str) -> bool:
    deadline = time.monotonic() + 10
    while is_running(seconds) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_running(seconds)


def test_a_call_that_a_timeout_ends_is_interrupted(make: Any, home: str) -> None:
    """Its record says "interrupted" and how long it took, awaited or not, and its process is gone."""
    session = make(home)
    seconds = f"61.{os.getpid()}"  # no other test's process sleeps for just so long
    for form in ("", "await "):
        result = session.run(f"{form}tools.echo(script='exec sleep {seconds}')", timeout=0.5)
        assert isinstance(result.error, planaria.TimeoutError)
        (call,) = result.tool_calls
        assert (call.outcome, call.duration_ms >= 100) == ("interrupted", True)
        assert ends(seconds)


def test_a_call_that_is_given_up_is_cancelled(make: Any, home: str) -> None:
    """Cancelled by its task, also as the last thing that an execution does, its process ends at once."""
    session = make(home)
    seconds = f"62.{os.getpid()}"
    last = (
        f"import asyncio\ntask = asyncio.create_task(tools.echo.call_async(script='exec sleep {seconds}'))\n"
        "await asyncio.sleep(0.3)\n_ = task.cancel()"
    )
    for code in (last, f"await asyncio.wait_for(tools.echo.call_async(script='exec sleep {seconds}'), 0.3)"):
        (call,) = session.run(code).tool_calls
        assert (call.outcome, call.duration_ms >= 100) == ("cancelled", True)
        assert ends(seconds)


def test_a_call_for_which_a_task_waits_goes_on(make: Any, home: str) -> None:
    """A call of a task that outlives the execution is "running" in its result, and ends in a later one."""
    session = make(home)
    code = (
        "import asyncio\ntask = asyncio.create_task(tools.echo.call_async(script='sleep 0.5; echo x'))\n"
        "await asyncio.sleep(0.1)"
    )
    (call,) = session.run(code).tool_calls
    assert call.outcome == "running"
    assert session.execute("await task").value == "x\n"
    assert call.outcome == "ok"


def test_values_where_something_to_await_is_wanted(make: Any, home: str) -> None:
    """Giving the value of a tool to gather or a task is a TypeError that mentions call_async."""
    session = make(home)
    session.execute("import asyncio")
    for code in ("await asyncio.gather(tools.add(a=1))", "asyncio.create_task(tools.add(a=1))"):
        error = session.run(code).error
        assert error.type == "TypeError"
        assert "asyncio.gather(tools.NAME.call_async(...), ...)" in error.message


def test_quota_of_artifacts(make: Any, home: str) -> None:
    """What code keeps as artifacts stays within the quota, in whatever way it is saved; the host may save more."""
    session = make(home, artifact_quota=planaria.ArtifactQuota(bytes=30_000, count=3))
    session.execute("artifacts.save('a', bytes(10_000)); artifacts.save('b', bytes(10_000))")
    session.execute("artifacts.save('b', bytes(20_000))")  # in place of the other
    error = session.run("artifacts.save('c', b'x')").error
    assert error.type == "ArtifactError"
    assert "ArtifactQuota(bytes=30000) and 30000 bytes are kept" in error.message
    session.execute("artifacts.delete('a'); artifacts.save('c', b'x'); artifacts.save('d', b'x')")
    assert "ArtifactQuota(count=3) and 3 artifacts" in session.run("artifacts.save('e', b'')").error.message
    session.save_artifact("host", bytes(50_000))
    assert session.run("artifacts.save('c', b'')").error.type == "ArtifactError"


def test_quota_of_artifacts_that_stream(make: Any) -> None:
    """An artifact that comes in pieces is refused when it becomes too large, and nothing of it stays."""
    session = make(artifact_quota=planaria.ArtifactQuota(bytes=10 << 20))
    error = session.run("artifacts.save('large', bytes(20 << 20))").error
    assert "ArtifactQuota(bytes=10485760)" in error.message
    assert session.list_artifacts() == []
    session.execute("artifacts.save('large', bytes(9 << 20))")


def test_a_quota_of_artifacts_without_a_bound(make: Any) -> None:
    """None means no limit; anything but an integer is refused."""
    session = make(artifact_quota=planaria.ArtifactQuota(bytes=None, count=None))
    session.execute("artifacts.save('a', b'x')")
    for wrong in (-1, 1.5, True, "1"):
        with pytest.raises(ValueError, match="must be a non-negative integer or None"):
            planaria.ArtifactQuota(bytes=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="artifact_quota= is for sessions with storage="):
        Session(artifact_quota=planaria.ArtifactQuota())


def test_a_workspace_of_a_closed_session(make: Any) -> None:
    """What a closed session is asked about its workspace is SessionClosed."""
    session = make()
    session.close()
    for use in (session.list_tools, session.list_artifacts, session.list_workflows, session.list_deps):
        with pytest.raises(planaria.SessionClosed):
            use()
    with pytest.raises(planaria.SessionClosed):
        session.load_artifact("x")
