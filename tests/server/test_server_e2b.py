"""E2B's own SDK against a server of ours."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from session_server import Served, served_to_e2b

e2b = pytest.importorskip("e2b_code_interpreter", reason="e2b-code-interpreter is not installed")
from e2b import (  # noqa: E402
    AuthenticationException,
    CommandExitException,
    NotFoundException,
    PtySize,
    SandboxException,
    SandboxNotFoundException,
    SandboxQuery,
    TimeoutException,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def e2b_server() -> Iterator[Served]:
    """A server with a token, to which the environment variables of the SDK lead."""
    with served_to_e2b(page=True) as server:
        yield server


@pytest.fixture(scope="module")
def sandbox(e2b_server: Served) -> Any:
    """A sandbox that the tests share."""
    return e2b.Sandbox.create(metadata={"team": "blue"}, envs={"X": "1"}, timeout=3600)


def test_e2b_needs_the_token(e2b_server: Served) -> None:
    """A key that is not a token of the server is refused."""
    with pytest.raises(AuthenticationException):
        e2b.Sandbox.create(api_key="another")


def test_e2b_code_keeps_its_state(sandbox: Any) -> None:
    """`run_code` has the value, the output as it comes and the error of code whose variables stay."""
    printed: list[str] = []
    found = sandbox.run_code("x = 1\nprint('p')\nx + 1", on_stdout=lambda one: printed.append(one.line))
    assert (found.text, found.logs.stdout, printed) == ("2", ["p\n"], ["p\n"])
    assert sandbox.run_code("x").text == "1"
    error = sandbox.run_code("1 / 0").error
    assert (error.name, error.value) == ("ZeroDivisionError", "division by zero")
    html = "display({'text/html': '<b>x</b>', 'text/plain': 'x'}, raw=True)"
    [shown] = sandbox.run_code(html).results
    assert (shown.html, shown.text, shown.is_main_result) == ("<b>x</b>", "x", False)


def test_e2b_code_has_languages_and_variables(sandbox: Any) -> None:
    """Bash is a language, another is refused, and `envs` are there for one execution."""
    assert sandbox.run_code("echo $Q", language="bash", envs={"Q": "7"}).logs.stdout == ["7\n"]
    assert sandbox.run_code("import os; os.environ['Q']", envs={"Q": "7"}).text == "'7'"
    assert sandbox.run_code("os.environ.get('Q', 'gone')").text == "'gone'"
    with pytest.raises(SandboxException, match="javascript"):
        sandbox.run_code("1", language="javascript")
    assert [one.language for one in sandbox.list_code_contexts()] == ["python", "bash"]


def test_e2b_executions_are_cells(e2b_server: Served) -> None:
    """Code and commands of the SDK appear on the page, as they were written, with their output."""
    one = e2b.Sandbox.create()
    one.run_code("print('out')\n6 * 7", envs={"Q": "7"})
    one.run_code("echo $Q >&2", language="bash", envs={"Q": "7"})
    one.commands.run("echo 'a  b'")
    one.run_code("1 / 0")
    path = f"{e2b_server.url}/v1/sessions/{one.sandbox_id.partition('-')[0]}/notebook"
    found = httpx.get(path, headers={"Authorization": "Bearer the-key"}).json()["cells"]
    assert [(cell["kind"], cell["source"], cell["state"]) for cell in found] == [
        ("code", "print('out')\n6 * 7", "done"),
        ("bash", "echo $Q >&2", "done"),
        ("bash", "echo 'a  b'", "done"),
        ("code", "1 / 0", "failed"),
    ]
    stream, value = found[0]["outputs"]
    assert (stream["text"], value["data"]["text/plain"]) == ("out\n", "42")
    assert [cell["outputs"][0]["text"] for cell in found[1:3]] == ["7\n", "a  b\n"]
    one.kill()


def test_e2b_contexts_have_their_variables(e2b_server: Served) -> None:
    """Code in a context has variables and a directory of its own, until it is restarted or removed."""
    one = e2b.Sandbox.create()
    one.run_code("x = 1")
    other = one.create_code_context(cwd="/tmp")
    assert one.run_code("import os; x = 2; os.getcwd()", context=other).text == "'/tmp'"
    assert (one.run_code("x").text, one.run_code("x", context=other).text) == ("1", "2")
    assert one.run_code("os.getcwd()", context=other).text == "'/tmp'"
    one.restart_code_context(other)
    assert one.run_code("x", context=other).error.name == "NameError"
    assert [one.language for one in one.list_code_contexts()] == ["python", "bash", "python"]
    one.remove_code_context(other)
    assert (len(one.list_code_contexts()), one.run_code("x").text) == (2, "1")
    with pytest.raises(SandboxException, match="no context"):
        one.run_code("x", context=other)
    with pytest.raises(SandboxException, match="one context"):
        one.create_code_context(language="bash")
    one.kill()


def test_e2b_commands_run(sandbox: Any) -> None:
    """Commands have their output, exit status, variables and working directory."""
    printed: list[str] = []
    done = sandbox.commands.run(
        "echo $X$Y; pwd; echo e >&2", envs={"Y": "2"}, cwd="/tmp", on_stdout=printed.append
    )
    assert (done.stdout, done.stderr, done.exit_code) == ("12\n/tmp\n", "e\n", 0)
    assert "".join(printed) == done.stdout
    with pytest.raises(CommandExitException) as failed:
        sandbox.commands.run("echo out; exit 3")
    assert (failed.value.exit_code, failed.value.stdout) == (3, "out\n")
    with pytest.raises(TimeoutException):
        sandbox.commands.run("sleep 60", timeout=0.5)


def test_e2b_commands_are_listed_and_killed(sandbox: Any) -> None:
    """A command in the background is listed with its number, and ends when it is killed."""
    handle = sandbox.commands.run("sleep 60", background=True)
    assert handle.pid in [one.pid for one in sandbox.commands.list()]
    assert sandbox.commands.kill(handle.pid) is True
    with pytest.raises(CommandExitException):
        handle.wait()
    assert sandbox.commands.kill(999_999) is False


def test_e2b_files(sandbox: Any) -> None:
    """Files are written, read, listed, renamed and removed."""
    files = sandbox.files
    assert files.write("a/b.txt", "text").path == "/home/user/a/b.txt"
    files.write_files([{"path": "c.txt", "data": "1"}, {"path": "/tmp/d.bin", "data": b"\0\xff"}])
    assert (files.read("a/b.txt"), files.read("/tmp/d.bin", format="bytes")) == ("text", b"\0\xff")
    assert b"".join(files.read("c.txt", format="stream")) == b"1"
    files.write("c.txt", "zipped", gzip=True)
    assert files.read("c.txt") == "zipped"
    assert "/home/user/a/b.txt" in [one.path for one in files.list(".", depth=2)]
    info = files.get_info("a/b.txt")
    assert (info.size, info.permissions, info.owner) == (4, "-rw-r--r--", "user")
    assert (files.make_dir("m"), files.make_dir("m")) == (True, False)
    assert files.rename("c.txt", "n/e.txt").path == "/home/user/n/e.txt"
    files.remove("n")
    assert (files.exists("n"), files.exists("a")) == (False, True)
    with pytest.raises(NotFoundException):
        files.read("none")


def test_e2b_sandboxes_are_listed(sandbox: Any) -> None:
    """Sandboxes are listed by metadata; a sandbox has its state and time."""
    query = SandboxQuery(metadata={"team": "blue"})
    assert [one.sandbox_id for one in e2b.Sandbox.list(query=query).next_items()] == [sandbox.sandbox_id]
    assert e2b.Sandbox.list(query=SandboxQuery(metadata={"team": "red"})).next_items() == []
    before = sandbox.get_info().end_at
    sandbox.set_timeout(7200)
    assert sandbox.get_info().end_at > before


def test_e2b_sandboxes_pause_and_fork(e2b_server: Served) -> None:
    """A paused sandbox comes back with its variables, forks go their own ways, a killed one is gone."""
    first = e2b.Sandbox.create()
    first.run_code("x = 5")
    assert first.pause() is True
    assert (first.is_running(), first.get_info().state.value) == (False, "paused")
    again = e2b.Sandbox.connect(first.sandbox_id)
    assert again.run_code("x").text == "5"
    one, two = again.fork(count=2)
    one.run_code("x = 6")
    assert (two.run_code("x").text, again.run_code("x").text) == ("5", "5")
    snapshot = again.create_snapshot(name="five")
    assert e2b.Sandbox.create(snapshot.snapshot_id).run_code("x").text == "5"
    assert e2b.Sandbox.delete_snapshot("five") is True
    assert (again.kill(), again.kill(), again.is_running()) == (True, False, False)
    with pytest.raises(SandboxNotFoundException):
        e2b.Sandbox.connect(first.sandbox_id)


def test_e2b_sandboxes_end(e2b_server: Served) -> None:
    """A sandbox whose time is over is gone, or paused if that was asked for."""
    gone = e2b.Sandbox.create(timeout=0)
    assert gone.is_running() is False
    kept = e2b.Sandbox.create(timeout=0, lifecycle={"on_timeout": "pause"})
    assert kept.get_info().state.value == "paused"


def test_e2b_says_why_something_is_missing(sandbox: Any) -> None:
    """What is not there is answered with `unimplemented` and the reason."""
    with pytest.raises(SandboxException, match="job control"):
        sandbox.pty.create(size=PtySize(rows=24, cols=80))
    with pytest.raises(SandboxException, match="recorded"):
        sandbox.get_metrics()
    with pytest.raises(SandboxException, match="--allow"):
        sandbox.update_network({"allow_out": ["example.com"]})


def test_e2b_commands_read_what_is_sent(sandbox: Any) -> None:
    """A command with standard input gets lines while it runs, one after the other or as a stream, and the end."""
    handle = sandbox.commands.run("read x; echo got $x; cat", background=True, stdin=True)
    sandbox.commands.send_stdin(handle.pid, "one\n")
    sandbox.commands.stream_input(handle.pid, ["two\nth", "ree"])
    sandbox.commands.close_stdin(handle.pid)
    assert handle.wait().stdout == "got one\ntwo\nthree\n"
    without = sandbox.commands.run("sleep 60", background=True)
    with pytest.raises(SandboxException, match="without standard input"):
        sandbox.commands.send_stdin(without.pid, "x")
    without.kill()


def test_e2b_directories_are_watched(sandbox: Any) -> None:
    """A watcher has what was created, written, renamed and removed since it was asked last."""
    sandbox.files.make_dir("watched/below")
    flat = sandbox.files.watch_dir("watched")
    deep = sandbox.files.watch_dir("watched", recursive=True)
    sandbox.files.write("watched/a.txt", "1")
    sandbox.commands.run("echo 2 > watched/below/b.txt")

    def events(watcher: Any) -> list[tuple[str, str]]:
        return [(one.type.value, one.name) for one in watcher.get_new_events()]

    assert events(flat) == [("create", "a.txt"), ("write", "a.txt")]
    assert sorted(events(deep)) == [
        ("create", "a.txt"),
        ("create", "below/b.txt"),
        ("write", "a.txt"),
        ("write", "below/b.txt"),
    ]
    sandbox.files.write("watched/a.txt", "12")
    sandbox.files.rename("watched/below/b.txt", "watched/c.txt")
    assert sorted(events(flat)) == [("create", "c.txt"), ("write", "a.txt"), ("write", "c.txt")]
    sandbox.files.remove("watched/a.txt")
    sandbox.commands.run("chmod 600 watched/c.txt")
    assert sorted(events(flat)) == [("chmod", "c.txt"), ("remove", "a.txt")]
    flat.stop()
    with pytest.raises(NotFoundException):
        sandbox.files.watch_dir("nowhere")


def test_e2b_files_have_signed_urls(sandbox: Any) -> None:
    """A signed URL reads or writes one file without another credential, until it expires."""
    sandbox.files.write("signed.txt", "here")
    url = sandbox.download_url("signed.txt")
    assert httpx.get(url, timeout=120).text == "here"
    assert httpx.get(url.replace("signed.txt", "other.txt"), timeout=120).status_code == 401
    upload = sandbox.upload_url("signed.txt", use_signature_expiration=3600)
    assert httpx.post(upload, files={"file": ("signed.txt", b"new")}, timeout=120).status_code == 200
    assert sandbox.files.read("signed.txt") == "new"
    late = sandbox.download_url("signed.txt", use_signature_expiration=-10)
    assert httpx.get(late, timeout=120).status_code == 401


def test_e2b_asynchronously(e2b_server: Served) -> None:
    """The asynchronous SDK does the same: code, commands with input, files, watching, forks, pausing."""

    async def main() -> None:
        one = await e2b.AsyncSandbox.create(metadata={"way": "asynchronous"})
        assert (await one.run_code("x = 1\nx + 1")).text == "2"
        context = await one.create_code_context()
        assert (await one.run_code("x", context=context)).error.name == "NameError"
        await one.remove_code_context(context)
        handle = await one.commands.run("cat", background=True, stdin=True)
        await one.commands.send_stdin(handle.pid, "a\n")
        await one.commands.close_stdin(handle.pid)
        assert (await handle.wait()).stdout == "a\n"
        seen: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        watch = await one.files.watch_dir(".", lambda event: seen.put_nowait((event.type.value, event.name)))
        await one.files.write("w.txt", "1")
        assert await asyncio.wait_for(seen.get(), 60) == ("create", "w.txt")
        assert await asyncio.wait_for(seen.get(), 60) == ("write", "w.txt")
        await watch.stop()
        assert [entry.name for entry in await one.files.list(".")] == ["w.txt"]
        assert (await one.files.get_info("w.txt")).size == 1
        await one.files.rename("w.txt", "v.txt")
        assert await one.files.exists("v.txt")
        await one.files.remove("v.txt")
        [copy] = await one.fork(count=1)
        assert (await copy.run_code("x")).text == "1"
        await copy.kill()
        await one.pause()
        again = await e2b.AsyncSandbox.connect(one.sandbox_id)
        assert (await again.run_code("x")).text == "1"
        assert await again.is_running()
        query = SandboxQuery(metadata={"way": "asynchronous"})
        listed = await e2b.AsyncSandbox.list(query=query).next_items()
        assert [info.sandbox_id for info in listed] == [one.sandbox_id]
        await again.set_timeout(60)
        assert await again.kill()

    asyncio.run(main())


def test_e2b_interrupts_for_a_client_that_is_gone(e2b_server: Served) -> None:
    """Code whose client closes the connection is interrupted, and the sandbox is free for the next."""
    one = e2b.Sandbox.create()
    with pytest.raises(TimeoutException):
        one.run_code("n = 1\nwhile True: pass", timeout=0.5)
    answers: list[str] = []
    thread = threading.Thread(target=lambda: answers.append(one.run_code("n").text))
    thread.start()
    thread.join(60)
    assert answers == ["1"]


@pytest.mark.full
def test_e2b_charts_are_data(sandbox: Any) -> None:
    """Figures of matplotlib come with what they show: lines, dots, bars, slices, boxes, several of them; frames
    with their columns."""
    prelude = "import datetime, matplotlib.pyplot as plt\n"

    def chart(code: str) -> Any:
        done = sandbox.run_code(prelude + code + "\nplt.show()")
        assert done.error is None, done.error
        [result] = done.results
        assert result.png
        return result.chart

    line = chart(
        "plt.plot([1, 2, 4], [2.5, float('nan'), 3], label='speed')\nplt.plot([1, 2], [1, 0])\n"
        "plt.title('Run')\nplt.xlabel('Time (s)')\nplt.ylabel('Speed [m/s]')\nplt.yscale('symlog')"
    )
    assert (line.type.value, line.title, line.x_label, line.x_unit) == ("line", "Run", "Time (s)", "s")
    assert (line.y_unit, line.x_scale.value, line.y_scale.value) == ("m/s", "linear", "symlog")
    assert [(one.label, one.points) for one in line.elements] == [
        ("speed", [(1, 2.5), (2, None), (4, 3)]),
        ("_series1", [(1, 1), (2, 0)]),
    ]
    assert (1.0 in line.x_ticks, len(line.x_ticks)) == (True, len(line.x_tick_labels))
    dates = chart("plt.scatter([datetime.date(2026, 5, day) for day in (1, 2)], ['low', 'high'])")
    assert (dates.type.value, dates.x_scale.value, dates.y_scale.value) == (
        "scatter",
        "datetime",
        "categorical",
    )
    assert dates.elements[0].points == [("2026-05-01T00:00:00", "low"), ("2026-05-02T00:00:00", "high")]
    bars = chart("plt.bar(['a', 'b'], [3, 4], label='A')\nplt.bar(['a', 'b'], [1, 2], label='B')")
    assert [(one.label, one.group, one.value) for one in bars.elements] == [
        ("a", "A", 3),
        ("b", "A", 4),
        ("a", "B", 1),
        ("b", "B", 2),
    ]
    across = chart("plt.barh(['a', 'b'], [3, 4])")
    assert [(one.label, one.value) for one in across.elements] == [("a", 3), ("b", 4)]
    pie = chart("plt.pie([1, 3], labels=['x', 'y'], autopct='%d')")
    assert [(one.label, round(one.angle), one.radius) for one in pie.elements] == [
        ("x", 90, 1),
        ("y", 270, 1),
    ]
    for options in ("", ", patch_artist=True", ", orientation='horizontal'"):
        box = chart(f"plt.boxplot([[1, 2, 3, 4, 20], [5, 6, 7, 8, 9]], tick_labels=['p', 'q']{options})")
        assert [(one.label, one.min, one.median, one.max, one.outliers) for one in box.elements] == [
            ("p", 1, 3, 4, [20]),
            ("q", 5, 7, 9, []),
        ]
        assert (box.elements[0].first_quartile, box.elements[0].third_quartile) == (2, 4)
    several = chart(
        "figure, two = plt.subplots(2)\ntwo[0].plot([1])\ntwo[1].bar(['z'], [1])\nplt.suptitle('Both')"
    )
    assert (several.type.value, several.title) == ("superchart", "Both")
    assert [one.type.value for one in several.elements] == ["line", "bar"]
    assert chart("plt.imshow([[1, 2]])").type.value == "unknown"
    frame = sandbox.run_code("import pandas as pd\npd.DataFrame({'n': [1, 2], 't': [pd.Timestamp(0), None]})")
    assert frame.results[0].data == {"n": [1, 2], "t": ["1970-01-01T00:00:00", "NaT"]}
