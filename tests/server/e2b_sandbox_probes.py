"""The methods of E2B's sandboxes: code, files, commands, states."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import e2b
import pytest
from e2b import CommandExitException
from e2b_probes import got, probe

__all__: list[str] = []

# -- sandboxes -----------------------------------------------------------------------------------------------


@probe("create", "kill")
async def _create(box: Any) -> None:
    one = await got(type(box).create(envs={"X": "7"}, metadata={"of": "create"}))
    assert (await got(one.commands.run("echo $X"))).stdout == "7\n"
    assert await got(one.kill()) is True
    assert await got(type(box).kill(one.sandbox_id)) is False


@probe("list", "SandboxPaginator.next_items")
async def _list(box: Any) -> None:
    paginator = type(box).list(query=e2b.SandboxQuery(metadata={"of": "methods"}))
    assert [one.sandbox_id for one in await got(paginator.next_items())] == [box.sandbox_id]


@probe("get_info", "is_running", "set_timeout")
async def _info(box: Any) -> None:
    before = (await got(box.get_info())).end_at
    await got(box.set_timeout(7200))
    info = await got(type(box).get_info(box.sandbox_id))
    assert info.end_at > before
    assert info.metadata == {"of": "methods"}
    assert await got(box.is_running()) is True


@probe("pause", "connect")
async def _pause(box: Any) -> None:
    await got(box.run_code("paused = 5"))
    assert await got(box.pause()) is True
    assert await got(box.is_running()) is False
    again = await got(type(box).connect(box.sandbox_id))
    assert (await got(again.run_code("paused"))).text == "5"


@probe("fork")
async def _fork(box: Any) -> None:
    await got(box.run_code("forked = 1"))
    one, two = await got(box.fork(count=2))
    await got(one.run_code("forked = 2"))
    assert [(await got(each.run_code("forked"))).text for each in (box, one, two)] == ["1", "2", "1"]
    await got(one.kill())
    await got(two.kill())


@probe("create_snapshot", "list_snapshots", "SnapshotPaginator.next_items", "delete_snapshot")
async def _snapshots(box: Any) -> None:
    await got(box.run_code("saved = 3"))
    made = await got(box.create_snapshot(name="three"))
    listed = await got(type(box).list_snapshots().next_items())
    assert [one.snapshot_id for one in listed] == [made.snapshot_id]
    copy = await got(type(box).create(made.snapshot_id))
    assert (await got(copy.run_code("saved"))).text == "3"
    await got(copy.kill())
    assert await got(type(box).delete_snapshot(made.snapshot_id)) is True


@probe("download_url", "upload_url")
async def _urls(box: Any) -> None:
    await got(box.files.write("signed.txt", "here"))
    import httpx

    async with httpx.AsyncClient(timeout=120) as client:
        assert (await client.get(await got(box.download_url("signed.txt")))).text == "here"
        files = {"file": ("signed.txt", b"new")}
        assert (await client.post(await got(box.upload_url("signed.txt")), files=files)).status_code == 200
    assert await got(box.files.read("signed.txt")) == "new"


@probe("get_metrics")
async def _metrics(box: Any) -> None:
    assert await got(box.get_metrics()) is not None


@probe("update_network")
async def _network(box: Any) -> None:
    await got(box.update_network({"allow_out": ["example.com"]}))


@probe("get_mcp_token")
async def _mcp(box: Any) -> None:
    with_gateway = await got(type(box).create(mcp={"duckduckgo": {}}))
    assert await got(with_gateway.get_mcp_token())


# -- code ----------------------------------------------------------------------------------------------------


@probe("run_code")
async def _code(box: Any) -> None:
    printed: list[str] = []
    found = await got(
        box.run_code("x = 1\nprint('p')\nx + 1", on_stdout=lambda one: printed.append(one.line))
    )
    assert (found.text, found.logs.stdout, printed) == ("2", ["p\n"], ["p\n"])
    error = (await got(box.run_code("1 / 0"))).error
    assert (error.name, error.value) == ("ZeroDivisionError", "division by zero")
    assert (await got(box.run_code("echo $Q", language="bash", envs={"Q": "7"}))).logs.stdout == ["7\n"]


@probe("create_code_context", "list_code_contexts", "restart_code_context", "remove_code_context")
async def _contexts(box: Any) -> None:
    before = len(await got(box.list_code_contexts()))
    context = await got(box.create_code_context(cwd="/tmp"))
    await got(box.run_code("y = 1", context=context))
    assert (await got(box.run_code("y"))).error.name == "NameError"
    assert len(await got(box.list_code_contexts())) == before + 1
    await got(box.restart_code_context(context))
    assert (await got(box.run_code("y", context=context))).error.name == "NameError"
    await got(box.remove_code_context(context))
    assert len(await got(box.list_code_contexts())) == before


# -- files ---------------------------------------------------------------------------------------------------


@probe("files.write", "files.read", "files.write_files")
async def _contents(box: Any) -> None:
    assert (await got(box.files.write("a/b.txt", "text"))).path == "/home/user/a/b.txt"
    await got(box.files.write_files([{"path": "c.txt", "data": "1"}, {"path": "/tmp/d", "data": b"\0\xff"}]))
    assert await got(box.files.read("a/b.txt")) == "text"
    assert await got(box.files.read("/tmp/d", format="bytes")) == b"\0\xff"


@probe("files.list", "files.exists", "files.get_info", "files.make_dir", "files.rename", "files.remove")
async def _tree(box: Any) -> None:
    assert await got(box.files.make_dir("tree")) is True
    await got(box.files.write("tree/one.txt", "1234"))
    assert [one.name for one in await got(box.files.list("tree"))] == ["one.txt"]
    info = await got(box.files.get_info("tree/one.txt"))
    assert (info.size, info.permissions, info.owner) == (4, "-rw-r--r--", "user")
    assert (await got(box.files.rename("tree/one.txt", "tree/two.txt"))).path == "/home/user/tree/two.txt"
    await got(box.files.remove("tree"))
    assert await got(box.files.exists("tree")) is False


@probe("files.watch_dir", "WatchHandle.get_new_events", "WatchHandle.stop")
async def _watch(box: Any) -> None:
    await got(box.files.make_dir("watched"))
    seen: list[str] = []
    if inspect.iscoroutinefunction(box.files.watch_dir):
        ready = asyncio.Event()

        def take(event: Any) -> None:
            seen.append(event.type.value)
            ready.set()

        handle = await box.files.watch_dir("watched", take)
        await box.files.write("watched/w.txt", "1")
        await asyncio.wait_for(ready.wait(), 60)
    else:
        handle = box.files.watch_dir("watched")
        box.files.write("watched/w.txt", "1")
        seen += [event.type.value for event in handle.get_new_events()]
    assert seen[0] == "create"
    await got(handle.stop())


# -- commands ------------------------------------------------------------------------------------------------


@probe("commands.run")
async def _run(box: Any) -> None:
    done = await got(box.commands.run("echo $Y; pwd; echo e >&2", envs={"Y": "2"}, cwd="/tmp"))
    assert (done.stdout, done.stderr, done.exit_code) == ("2\n/tmp\n", "e\n", 0)
    with pytest.raises(CommandExitException) as failed:
        await got(box.commands.run("exit 3"))
    assert failed.value.exit_code == 3


@probe("commands.list", "commands.kill", "commands.connect")
async def _background(box: Any) -> None:
    handle = await got(box.commands.run("read x; echo got $x", background=True, stdin=True))
    assert handle.pid in [one.pid for one in await got(box.commands.list())]
    other = await got(box.commands.connect(handle.pid))
    await got(box.commands.send_stdin(handle.pid, "it\n"))
    assert (await got(other.wait())).stdout.endswith("got it\n")
    sleeping = await got(box.commands.run("sleep 600", background=True))
    assert await got(box.commands.kill(sleeping.pid)) is True
    assert await got(box.commands.kill(999_999)) is False


@probe(
    "commands.send_stdin",
    "commands.close_stdin",
    "commands.stream_input",
    "CommandInputHandle.send",
    "CommandInputHandle.close",
)
async def _input(box: Any) -> None:
    handle = await got(box.commands.run("cat", background=True, stdin=True))
    await got(box.commands.send_stdin(handle.pid, "one\n"))
    if inspect.iscoroutinefunction(box.commands.send_stdin):
        stream = box.commands.stream_input(handle.pid)
        await stream.send("two\n")
        await stream.close()
    else:
        box.commands.stream_input(handle.pid, ["two\n"])
    await got(box.commands.close_stdin(handle.pid))
    assert (await got(handle.wait())).stdout == "one\ntwo\n"


@probe(
    "CommandHandle.wait", "CommandHandle.send_stdin", "CommandHandle.close_stdin", "CommandHandle.disconnect"
)
async def _handle(box: Any) -> None:
    handle = await got(box.commands.run("cat", background=True, stdin=True))
    await got(handle.disconnect())
    handle = await got(box.commands.connect(handle.pid))
    await got(handle.send_stdin("one\n"))
    await got(handle.close_stdin())
    assert (await got(handle.wait())).stdout == "one\n"


@probe("CommandHandle.kill")
async def _killing(box: Any) -> None:
    handle = await got(box.commands.run("sleep 600", background=True))
    assert await got(handle.kill()) is True
    with pytest.raises(CommandExitException):
        await got(handle.wait())
