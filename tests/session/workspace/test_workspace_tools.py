"""Tools in the code of sessions, and approvals of their calls."""

from __future__ import annotations

import asyncio
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from workspace_sessions import add, raising, slowly, value

import planaria
from planaria import AsyncSession, Session, ToolRegistry

pytestmark = pytest.mark.slow


# -- tools -------------------------------------------------------------------------------------------------


def test_tools_in_code(make: Any, constructor: str) -> None:
    """Tools of all kinds are called plainly and awaited, the same with every executor."""
    session = make(constructor)
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


def test_any_number_of_arguments() -> None:
    """A function with `*args` and `**kwargs` takes them as in Python, and shows them in its signature."""

    def collect(first: int, *rest: int, last: int = 0, **more: str) -> Any:
        return first, rest, last, more

    def anything(*args, **kwargs):  # type: ignore[no-untyped-def]
        return args, kwargs

    with Session(tools=[collect, anything]) as session:
        assert session.execute("tools.collect(1, 2, '3', last=4, name='x')").value == (
            1,
            (2, 3),
            4,
            {"name": "x"},
        )
        assert session.execute("tools.collect(first=1)").value == (1, (), 0, {})
        assert session.execute("await tools.anything(1, 'b', c=3)").value == ((1, "b"), {"c": 3})
        assert session.execute("await tools.anything.call_async(1)").value == ((1,), {})
        session.execute("import inspect")
        shown = session.execute(
            "str(inspect.signature(tools.collect)), str(inspect.signature(tools.anything))"
        )
        assert shown.value == (
            "(first: int, *rest: int, last: int = 0, **more: str)",
            "(*args: Any, **kwargs: Any)",
        )
        stubs = session.tools.stubs()
        assert "def collect(first: int, *rest: int, last: int = 0, **more: str)" in stubs
        compile(stubs, "stubs", "exec")


def test_errors_of_tools(make: Any, constructor: str) -> None:
    """A tool's failure is an exception in the code, with exit code and output; builtin ones keep their type."""
    session = make(constructor)
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


def test_errors_of_web_interfaces(make: Any, constructor: str) -> None:
    """The status with which a web interface has answered is that of the exception in the code."""
    pytest.importorskip("httpx")

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        session = make(constructor)
        session.storage.set_tool_definition(
            "web",
            f"name: web\ntype: http\nbase_url: http://127.0.0.1:{server.server_address[1]}\n"
            "endpoints: [{name: page, path: /page}]\n",
        )
        with getattr(Session, constructor)(session.storage.path) as other:
            code = (
                "try:\n    tools.web.page()\nexcept ToolCallError as error:\n    found = error.status\nfound"
            )
            assert value(other, code) == 404
        server.shutdown()


def test_lists_and_searches(make: Any, constructor: str) -> None:
    """The session and its code see the same tools, described with their parameters."""
    session = make(constructor)
    assert [tool["name"] for tool in session.list_tools()] == ["add", "echo", "raising", "slowly"]
    assert value(session, "tools.list()") == session.list_tools()
    assert value(session, "tools.search('two numbers', 1)") == session.search_tools("two numbers", 1)
    described = session.search_tools("two numbers", 1)[0]
    assert (described["name"], described["callables"][0]["parameters"][1]["default"]) == ("add", 1)
    assert "def add(*, a: int, b: int = 1) -> int" in session.tool_stubs("signatures")
    assert "Add two numbers." in session.run("help(tools.add)").stdout


def test_trace(make: Any, constructor: str) -> None:
    """A result has a record of every call of a tool: who, with what, and what came of it."""
    session = make(constructor)
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


def test_reset(make: Any, constructor: str) -> None:
    """After a reset the user's names are gone and the namespaces are as they were, whatever was bound to them."""
    session = make(constructor)
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
