"""MCP servers as tools: real servers, over all transports."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from recording_server import RecordingServer

from planaria.errors import ToolArgumentError, ToolCallError, ToolDefinitionError, ToolNotFound, ToolTimeout
from planaria.workspace.tools.loading import load_tools
from planaria.workspace.tools.tool import Tool
from planaria.workspace.tools.variables import ToolEnvironment

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
PNG = b"\x89PNG\r\n\x1a\n\x00picture"
IMAGE = {"type": "image", "mime_type": "image/png", "data": PNG}


class Text(NamedTuple):
    origin: str
    text: str


Define = Callable[..., Tool]


@pytest.fixture
def define() -> Iterator[Define]:
    """A function that makes a tool of a definition's rest, beside the servers of the tests."""
    made: list[Tool] = []

    def make(rest: str, environment: ToolEnvironment | None = None) -> Tool:
        text = f"name: demo\ntype: mcp\n{textwrap.dedent(rest)}"
        made.extend(load_tools([Text("demo.yaml", text)], environment, HERE))
        return made[-1]

    yield make
    for tool in made:
        tool.close()


STDIO = "command: ${PYTHON}\nargs: [demo_mcp_server.py]\n"


@contextmanager
def running(kind: str, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """The server of the tests over HTTP; it listens already."""
    command = [sys.executable, str(HERE / "demo_mcp_server.py"), kind, str(port)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    assert process.poll() is None
                    time.sleep(0.02)
            yield process
        finally:
            process.kill()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module", params=["stdio", "http", "sse"])
def demo(request: pytest.FixtureRequest) -> Iterator[Tool]:
    """The server of the tests over each transport; it is used by all tests that do not stop it."""
    if request.param == "stdio":
        [tool] = load_tools([Text("demo.yaml", f"name: demo\ntype: mcp\n{STDIO}")], folder=HERE)
        yield tool
        tool.close()
        return
    port = free_port()
    path = "mcp" if request.param == "http" else "sse"
    text = f"name: demo\ntype: mcp\nurl: http://127.0.0.1:{port}/{path}\ntransport: {request.param}"
    with running(request.param, port):
        [tool] = load_tools([Text("demo.yaml", text)])
        yield tool
        tool.close()


def call(tool: Tool, function: str | None = None, /, **arguments: Any) -> Any:
    async def calling() -> Any:
        return await tool.call(function, arguments)

    return asyncio.run(calling())


def is_alive(process: int) -> bool:
    """Whether a process runs; one that ended but was not waited for does not."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # the latter when it ends between opening and reading
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(process: int) -> bool:
    end = time.monotonic() + 20
    while is_alive(process) and time.monotonic() < end:
        time.sleep(0.05)
    return not is_alive(process)


def test_values(demo: Tool) -> None:
    """Text, structured content, images and resources come back as values."""
    assert call(demo, "add", a=40, b=2) == 42
    assert call(demo, "add", a=1) == 2
    assert call(demo, "weather", city="Rome") == {"city": "Rome", "degrees": 21.5, "days": [1, 2]}
    assert call(demo, "names") == ["a", "b"]
    assert call(demo, "greet", name="Ü") == "Hello, Ü!"
    assert call(demo, "picture") == IMAGE
    assert call(demo, "mixed") == ["text", IMAGE]
    assert call(demo, "both") == {"structured": {"size": 1}, "content": [IMAGE]}
    assert call(demo, "nothing") is None
    assert call(demo, "resources") == [
        {"type": "resource", "uri": "demo://note", "mime_type": "text/plain", "text": "note"},
        {"type": "resource", "uri": "demo://data", "mime_type": None, "data": b"\x00\xff"},
        {
            "type": "resource_link",
            "uri": "demo://link",
            "name": "link",
            "mime_type": None,
            "description": "Elsewhere",
        },
    ]


def test_functions(demo: Tool) -> None:
    """The server's tools are functions with typed parameters; their names become identifiers."""
    found = {one.name: one for one in demo.callables}
    assert found["add"].description == "Add two numbers."
    assert found["add"].returns == "int"
    assert [(one.name, one.type, one.required, one.default) for one in found["add"].parameters] == [
        ("a", "int", True, None),
        ("b", "int", False, 1),
    ]
    assert found["weather"].parameters[0].description == "Where"
    assert found["weather"].returns == "dict[str, Any]"
    assert call(demo, "odd_name_x", where="here") == "odd here"
    assert call(demo, "odd-name.x", where="there") == "odd there"


def test_arguments(demo: Tool) -> None:
    """Arguments that do not fit are refused, with a suggestion, before the server hears of them."""
    with pytest.raises(ToolArgumentError, match=r"demo.add\(\) has no parameter 'aa'; did you mean 'a'"):
        call(demo, "add", aa=1)
    with pytest.raises(ToolArgumentError, match="is missing 'a'"):
        call(demo, "add")
    with pytest.raises(ToolArgumentError, match="a is of type bytes, which JSON cannot represent"):
        call(demo, "add", a=b"1")
    with pytest.raises(ToolNotFound, match="did you mean 'add'"):
        call(demo, "addd")


def test_errors(demo: Tool) -> None:
    """What a tool of the server raises, and what it says of arguments, are errors with its text."""
    with pytest.raises(ToolCallError, match="it went wrong") as caught:
        call(demo, "fail")
    assert (caught.value.tool, caught.value.callable) == ("demo", "fail")
    with pytest.raises(ToolCallError, match="valid integer"):
        call(demo, "add", a="x")


def test_concurrent(demo: Tool) -> None:
    """Calls from one loop, and from several, run at the same time on one server."""

    async def meeting() -> list[Any]:
        # Each of them waits for the others.
        return await asyncio.gather(*(demo.call("meet", {"count": 5}) for _ in range(5)))

    assert asyncio.run(meeting()) == ["met"] * 5
    assert call(demo, "add", a=1) == 2


def test_new_tools(demo: Tool) -> None:
    """A tool that the server has got since it was asked is found."""
    with pytest.raises(ToolNotFound):
        call(demo, "grown")
    call(demo, "grow")
    assert call(demo, "grown") == "grown"


def test_cancelled(demo: Tool) -> None:
    """A call that is cancelled, or whose loop is gone, harms neither the server nor other calls."""

    left = []

    async def cancelling() -> None:
        task = asyncio.ensure_future(demo.call("wait", {"seconds": 60}))
        other = asyncio.ensure_future(demo.call("wait", {"seconds": 0.3}))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await other == "waited"
        left.append(asyncio.ensure_future(demo.call("wait", {"seconds": 60})))
        await asyncio.sleep(0.1)

    asyncio.run(cancelling())
    assert call(demo, "add", a=1) == 2


def test_timeout(define: Define) -> None:
    """A call that takes too long is abandoned; the server goes on."""
    tool = define(STDIO + "timeout: 0.5")
    process = call(tool, "process")
    with pytest.raises(ToolTimeout, match=r"gave no answer within 0.5 s while calling 'wait'"):
        call(tool, "wait", seconds=60)
    assert call(tool, "process") == process


def test_lazy(define: Define, tmp_path: Path) -> None:
    """A server is started when it is first used and not before; listing uses it."""
    started = tmp_path / "started"
    tool = define(
        f"command: sh\nargs: [-c, 'touch {started}; exec \"$0\" demo_mcp_server.py', '${{PYTHON}}']"
    )
    assert not started.exists()
    assert tool.callables
    assert started.exists()


def test_crash(define: Define) -> None:
    """A server that is gone fails the call that notices it, with its last words, and is started at the next one."""
    tool = define(STDIO)
    process = call(tool, "process")
    with pytest.raises(
        ToolCallError, match=r"was lost while calling 'crash': it ended with exit status 3; its stderr ends:"
    ) as caught:
        call(tool, "crash")
    assert caught.value.stderr.endswith("the last words")
    other = call(tool, "process")
    assert other != process
    os.kill(other, signal.SIGKILL)
    assert wait_until_gone(other)
    with contextlib.suppress(ToolCallError):  # a call may be what notices that it is gone
        call(tool, "add", a=1)
    assert call(tool, "add", a=1) == 2


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_restarted_server(define: Define, kind: str) -> None:
    """A server over HTTP that cannot be reached is an error; once it is there again, calls reach it."""
    port = free_port()
    tool = define(f"url: http://127.0.0.1:{port}/{'mcp' if kind == 'http' else 'sse'}\ntransport: {kind}")
    with pytest.raises(ToolCallError, match="could not be reached"):
        call(tool, "add", a=1)
    with running(kind, port):
        assert call(tool, "add", a=1) == 2
        with pytest.raises(ToolCallError, match="was lost while calling 'crash'"):
            call(tool, "crash")
    with pytest.raises(ToolCallError):
        call(tool, "add", a=1)
    with running(kind, port):
        assert call(tool, "add", a=1) == 2


def test_close(define: Define) -> None:
    """Closing ends the server and all it started, even what ignores being asked to; it can be used again."""
    tool = define(STDIO)
    process, child = call(tool, "process"), call(tool, "child")
    assert is_alive(child)
    tool.close()
    assert not is_alive(process)
    assert wait_until_gone(child)
    tool.close()
    assert call(tool, "add", a=1) == 2


def test_collected() -> None:
    """A tool without references ends its server."""
    [tool] = load_tools([Text("demo.yaml", f"name: demo\ntype: mcp\n{STDIO}")], folder=HERE)
    process = call(tool, "process")
    del tool
    gc.collect()
    assert wait_until_gone(process)


@pytest.mark.parametrize("end", ["exit", "sigterm", "sigkill"])
def test_no_orphans(tmp_path: Path, end: str) -> None:
    """However the host ends, without closing anything, neither the server nor its children outlive it."""
    program = f"""
import asyncio, os, signal, sys
from planaria.workspace.tools.loading import load_tools
[tool] = load_tools({str(tmp_path)!r})
async def main():
    print(await tool.call("process", {{}}), await tool.call("child", {{}}), flush=True)
asyncio.run(main())
if {end!r} != "exit": os.kill(os.getpid(), signal.{"SIGTERM" if end == "sigterm" else "SIGKILL"})
"""
    (tmp_path / "demo.yaml").write_text(f"name: demo\ntype: mcp\n{STDIO}cwd: {HERE}\n")
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=os.environ
    )
    process, child = map(int, result.stdout.split())
    try:
        assert wait_until_gone(process)
        assert wait_until_gone(child)
    finally:
        for one in (process, child):
            if is_alive(one):
                os.kill(one, signal.SIGKILL)
    if end == "exit":
        assert (result.returncode, result.stderr) == (0, "")


def test_fork(define: Define) -> None:
    """A forked process starts a server of its own and leaves that of its parent alone."""
    tool = define(STDIO)
    process = call(tool, "process")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, str(call(tool, "process")).encode())
            tool.close()
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        other = int(file.read())
    os.waitpid(child, 0)
    assert other != process
    assert not is_alive(other)
    assert call(tool, "process") == process


def failing(define: Define, program: str, **fields: Any) -> ToolCallError:
    """The error of a call of a server that is a small program."""
    rest = "".join(f"{name}: {value}\n" for name, value in fields.items())
    tool = define(f"command: ${{PYTHON}}\nargs: [-u, -c, {json.dumps(textwrap.dedent(program))}]\n{rest}")
    with pytest.raises(ToolCallError) as caught:
        call(tool, "add")
    return caught.value


def test_no_program(define: Define) -> None:
    """A program that is not there is an error that names it."""
    tool = define("command: no-such-program-here")
    with pytest.raises(ToolCallError, match=r"'demo' could not be started: .*no-such-program-here"):
        call(tool, "add")


def test_ends_at_start(define: Define) -> None:
    """A server that ends at once is an error with its status and the end of its stderr."""
    error = failing(define, "import sys; sys.exit('a key is missing')")
    assert (
        "'demo' could not be started: it ended with exit status 1; its stderr ends:\na key is missing"
        in str(error)
    )
    assert error.stderr == "a key is missing"


def test_never_answers(define: Define) -> None:
    """A server that never answers is abandoned after start_timeout, and ended."""
    program = "import os, sys, time; print(os.getpid(), file=sys.stderr); time.sleep(600)"
    error = failing(define, program, start_timeout=1)
    assert isinstance(error, ToolTimeout)
    assert "did not answer within start_timeout=1 s; its stderr ends:" in str(error)
    assert wait_until_gone(int(error.stderr))


def test_silence_is_waited_for_once(define: Define, tmp_path: Path) -> None:
    """A server that did not answer is not waited for by the next who ask, but is tried again later."""
    starts = tmp_path / "starts"
    tool = define(f"command: sh\nargs: [-c, 'echo >> {starts}; sleep 600']\nstart_timeout: 2")
    for _ in range(3):
        with pytest.raises(ToolTimeout, match="did not answer within start_timeout=2 s"):
            assert tool.callables
    assert starts.read_text() == "\n"
    time.sleep(2)
    with pytest.raises(ToolTimeout):
        call(tool, "add")
    assert starts.read_text() == "\n\n"


def test_nonsense(define: Define) -> None:
    """A server that writes what are not messages is an error that shows the first of it."""
    error = failing(define, "import time; print('Welcome!'); time.sleep(600)", start_timeout=1)
    assert "its stdout has a line that is not a message: 'Welcome!'" in str(error)
    error = failing(define, "while True: print('Welcome!')")
    assert "it writes a line to its stdout that is not a message: 'Welcome!'" in str(error)
    error = failing(define, "import sys\nwhile True: sys.stdout.buffer.write(b'\\xff\\n')")
    assert "that is not a message" in str(error)


def test_greeting(define: Define) -> None:
    """A few lines on stdout that are not messages are passed over."""
    tool = define("command: sh\nargs: [-c, 'echo Hello; echo; exec \"$0\" demo_mcp_server.py', '${PYTHON}']")
    assert call(tool, "add", a=1) == 2


def test_flood_at_start(define: Define) -> None:
    """A server that writes a line without end is stopped, and memory is not filled with it."""
    error = failing(define, "import sys\nwhile True: sys.stdout.write('x' * 65536)", max_result=1000000)
    assert "wrote a line of more than" in str(error)


def test_flood_of_errors(define: Define) -> None:
    """Of a stderr without end, the end is kept."""
    program = "import sys, time\nfor n in range(20000): print('error', n, file=sys.stderr)\nsys.exit(1)"
    error = failing(define, program)
    assert error.stderr.endswith("error 19999")
    assert len(error.stderr) <= 4096


@pytest.mark.parametrize("message", ['{"jsonrpc": "2.0", "id": 1, "result": []}', "[]", "null", '"' * 100])
def test_wrong_answers(define: Define, message: str) -> None:
    """A server whose answers keep to no protocol is an error."""
    program = f"import sys\nfor line in sys.stdin: print({message!r})"
    failing(define, program, start_timeout=2)


def test_large_results(define: Define) -> None:
    """A result larger than max_result fails its call only; the server and its other calls go on."""
    tool = define(STDIO + "max_result: 1000000")
    process = call(tool, "process")
    with pytest.raises(ToolCallError, match="the result is larger than max_result=1,000,000 bytes"):
        call(tool, "big", size=3_000_000)
    assert call(tool, "process") == process
    assert len(call(tool, "big", size=400_000)) == 400_000


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_large_results_over_http(define: Define, kind: str) -> None:
    """A result that is too large is refused over HTTP, too, and other calls go on."""
    port = free_port()
    path = "mcp" if kind == "http" else "sse"
    tool = define(f"url: http://127.0.0.1:{port}/{path}\ntransport: {kind}\nmax_result: 1000000")
    with running(kind, port):
        with pytest.raises(ToolCallError, match=r"larger than max_result=1,000,000|1048576 byte limit"):
            call(tool, "big", size=3_000_000)
        assert len(call(tool, "big", size=400_000)) == 400_000


def test_environment(define: Define, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server gets what its definition gives it, from allowed variables, and nothing else of the host's."""
    monkeypatch.setenv("SECRET", "s3cret/value")
    monkeypatch.setenv("OTHER", "other")
    tool = define(STDIO + "env: {MINE: 'is ${SECRET}'}", ToolEnvironment(["SECRET"]))
    assert call(tool, "environment", name="MINE") == "is s3cret/value"
    assert call(tool, "environment", name="OTHER") is None
    assert call(tool, "environment", name="SECRET") is None
    assert call(tool, "environment", name="PATH") == os.environ["PATH"]
    with pytest.raises(ToolCallError) as caught:
        call(tool, "fail", secret="MINE")
    assert "it went wrong is ***" in str(caught.value)
    assert "s3cret" not in str(caught.value) + caught.value.stderr
    tool = define(STDIO + "env: {MINE: '${OTHER}'}", ToolEnvironment(["SECRET"]))
    with pytest.raises(ToolCallError, match="OTHER"):
        call(tool, "add", a=1)


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_headers(define: Define, kind: str) -> None:
    """Headers are sent with each request, with values from allowed variables."""
    port = free_port()
    path = "mcp" if kind == "http" else "sse"
    tool = define(
        f"url: http://127.0.0.1:{port}/{path}\ntransport: {kind}\nheaders: {{Authorization: 'Bearer ${{SECRET}}'}}",
        ToolEnvironment(values={"SECRET": "s3cret"}),
    )
    with running(kind, port):
        assert call(tool, "header", name="authorization") == "Bearer s3cret"


@pytest.mark.parametrize("kind", ["http", "sse"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_elsewhere(define: Define, kind: str, status: int) -> None:
    """A server cannot redirect to another origin: no request, and so no header, is sent there."""
    server, other = RecordingServer(), RecordingServer()
    try:
        head = f"HTTP/1.1 {status} Moved\r\nLocation: http://127.0.0.1:{other.port}/mcp\r\nContent-Length: 0"
        server.answer = lambda request: [f"{head}\r\n\r\n".encode()]
        tool = define(
            f"url: http://127.0.0.1:{server.port}/mcp\ntransport: {kind}\nheaders: {{X-Key: '${{SECRET}}'}}",
            ToolEnvironment(values={"SECRET": "s3cret"}),
        )
        with pytest.raises(ToolCallError):
            call(tool, "add", a=1)
        assert b"s3cret" in server.requests[0]
        assert other.addresses == []
    finally:
        server.close()
        other.close()


def test_published_server(define: Define) -> None:
    """A server that others wrote works as its documents say."""
    tool = define("command: ${PYTHON}\nargs: [-m, mcp_server_time, --local-timezone, Europe/Vienna]")
    assert {one.name for one in tool.callables} == {"get_current_time", "convert_time"}
    value = call(tool, "convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Kathmandu")
    assert "17:45" in str(value)
    with pytest.raises(ToolCallError, match=r"(?i)timezone"):
        call(tool, "get_current_time", timezone="Nowhere/Land")


@pytest.mark.parametrize(
    ("rest", "line", "message"),
    [
        ("", 1, "either 'command' (a server to start) or 'url'"),
        ("command: a\nurl: http://x", 1, "either 'command'"),
        ("url: http://x\nargs: [a]", 1, "'args' is for a 'command'"),
        ("command: a\nheaders: {a: b}", 1, "'headers' are for a 'url'"),
        ("command: a\ntransport: sse", 1, "transport 'sse' needs a 'url'"),
        ("url: http://x\ntransport: stdio", 1, "transport 'stdio' needs a 'command'"),
        ("comand: a", 3, "did you mean 'command'"),
        ("command: a\ntimeout: -1", 4, "greater than 0"),
    ],
)
def test_definition_errors(rest: str, line: int, message: str) -> None:
    """What is wrong in a definition is reported with file and line."""
    with pytest.raises(ToolDefinitionError) as caught:
        load_tools([Text("demo.yaml", f"name: demo\ntype: mcp\n{rest}")])
    assert any(
        problem.startswith(f"demo.yaml:{line}:") and message in problem for problem in caught.value.problems
    )
