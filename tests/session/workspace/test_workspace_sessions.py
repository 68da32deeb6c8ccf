"""Making sessions with a workspace."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from workspace_sessions import TOOLS, add, value

import planaria
from planaria import AsyncSession, FileStorage, Session, ToolRegistry

pytestmark = pytest.mark.slow


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
    with pytest.raises(
        TypeError, match="sync_deps_on_start= and extra_deps= are for sessions with a workspace"
    ):
        Session(sync_deps_on_start=True)


def test_bad_extra_deps(make: Any, constructor: str) -> None:
    """A text in place of several requirements, and what is not a requirement, are refused when a session is made."""
    with pytest.raises(TypeError, match=r"a list of (strings|requirements),.*'attrs'"):
        make(constructor, extra_deps="attrs")
    with pytest.raises(planaria.DependencyError, match="is not a valid requirement"):
        make(constructor, extra_deps=["not one!"])


def test_bad_definitions(base: Path) -> None:
    """A definition that is wrong is reported with file and line when the session is made."""
    (base / "tools" / "bad.yaml").write_text("name: bad\ncommand: sh\nnonsense: 1\n")
    with pytest.raises(planaria.ToolDefinitionError, match=r"tools/bad.yaml:3: nonsense"):
        Session.from_base(base)


def test_timeout(make: Any, constructor: str) -> None:
    """`timeout` of a constructor is what executions may take."""
    session = make(constructor, timeout=0.3)
    assert isinstance(session.run("while True: pass").error, planaria.TimeoutError)


def test_timeout_in_a_tool(make: Any, constructor: str) -> None:
    """An execution whose time is over while it blocks for a tool ends with TimeoutError and keeps its state."""
    session = make(constructor)
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


def test_async(base: Path, constructor: str) -> None:
    """An AsyncSession has the same methods, awaited, with every executor."""

    async def main(constructor: str) -> None:
        async with getattr(AsyncSession, constructor)(base, tools=TOOLS) as session:
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
        session = getattr(AsyncSession, constructor)(base)
        assert await session.start() is None
        assert (await session.run("1 + 1")).value == 2
        await session.close()

    asyncio.run(main(constructor))


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
