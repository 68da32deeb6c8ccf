"""Workflows and artifacts of sessions, and what snapshots, copies and images have of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from workspace_sessions import value

import planaria
from planaria import Session

pytestmark = pytest.mark.slow


# -- workflows and artifacts ---------------------------------------------------------------------------------


def test_workflows(make: Any, constructor: str) -> None:
    """Workflows that the host or the code has kept run in the code, in this session and in later ones."""
    session = make(constructor)
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
    other = make(constructor)
    assert other.run("workflows.twice(x=1)").error.type == "AttributeError"
    assert value(other, "workflows.delete('twice'), workflows.list()") == (True, [])


def test_names_of_devices(make: Any, constructor: str) -> None:
    """A workflow with a name that no storage can keep is refused, and the workspace is as it was."""
    session = make(constructor)
    error = session.run("workflows.create('con', 'def run(): return 1', '')").error
    assert (error.type, "the name of a device" in error.message) == ("WorkflowError", True)
    session.add_workflow("fine", "def run(): return 1", "")
    assert value(session, "workflows.fine()") == 1


def test_error_of_workflow(make: Any, constructor: str) -> None:
    """An exception in a workflow has the frames of the cell and of the workflow, and no others."""
    session = make(constructor)
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


def test_recursion(make: Any, constructor: str) -> None:
    """Workflows without end stop at a depth that every executor can hold."""
    session = make(constructor)
    session.add_workflow("again", "async def run(n):\n    return workflows.again(n + 1)\n", "")
    error = session.run("workflows.again(0)").error
    assert (error.type, "32 deep" in error.message) == ("RecursionError", True)
    assert value(session, "1 + 1") == 2


def test_interrupted_workflow(make: Any, constructor: str) -> None:
    """A workflow without end is stopped when its time is over, and the session goes on."""
    session = make(constructor)
    session.add_workflow(
        "endless", "import asyncio\nasync def run():\n    while True: await asyncio.sleep(0)\n", ""
    )
    session.execute("x = 1")
    assert isinstance(session.run("workflows.endless()", timeout=0.3).error, planaria.TimeoutError)
    assert value(session, "x, tools.add(a=1), await tools.add(a=2)") == (1, 2, 3)


def test_artifacts(make: Any, constructor: str) -> None:
    """Artifacts keep the types of what was saved, between the host and the code, and between sessions."""
    session = make(constructor)
    data = {"rows": [1, 2.5, None], "name": "é"}
    session.save_artifact("report", data, "A report", {"year": 2024})
    assert value(session, "artifacts.load('report')") == data
    value(session, "artifacts.save('pair', (1, {'x'}), description='A pair')")
    value(session, "await artifacts.save('folder/bytes', b'\\x00\\xff')")
    assert session.load_artifact("pair") == (1, {"x"})
    assert make(constructor).load_artifact("folder/bytes") == b"\x00\xff"
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
