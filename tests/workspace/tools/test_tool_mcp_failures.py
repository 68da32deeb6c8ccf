"""MCP servers that fail, flood or talk nonsense."""

from __future__ import annotations

import json
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from mcp_processes import STDIO, wait_until_gone
from tool_calls import Define, call

from planaria.errors import ToolCallError, ToolTimeout

pytestmark = pytest.mark.slow


def failing(define_mcp: Define, program: str, **fields: Any) -> ToolCallError:
    """The error of a call of a server that is a small program."""
    rest = "".join(f"{name}: {value}\n" for name, value in fields.items())
    tool = define_mcp(f"command: ${{PYTHON}}\nargs: [-u, -c, {json.dumps(textwrap.dedent(program))}]\n{rest}")
    with pytest.raises(ToolCallError) as caught:
        call(tool, "add")
    return caught.value


def test_no_program(define_mcp: Define) -> None:
    """A program that is not there is an error that names it."""
    tool = define_mcp("command: no-such-program-here")
    with pytest.raises(ToolCallError, match=r"'demo' could not be started: .*no-such-program-here"):
        call(tool, "add")


def test_ends_at_start(define_mcp: Define) -> None:
    """A server that ends at once is an error with its status and the end of its stderr."""
    error = failing(define_mcp, "import sys; sys.exit('a key is missing')")
    assert (
        "'demo' could not be started: it ended with exit status 1; its stderr ends:\na key is missing"
        in str(error)
    )
    assert error.stderr == "a key is missing"


def test_never_answers(define_mcp: Define) -> None:
    """A server that never answers is abandoned after start_timeout, and ended."""
    program = "import os, sys, time; print(os.getpid(), file=sys.stderr); time.sleep(600)"
    error = failing(define_mcp, program, start_timeout=1)
    assert isinstance(error, ToolTimeout)
    assert "did not answer within start_timeout=1 s; its stderr ends:" in str(error)
    assert wait_until_gone(int(error.stderr))


def test_silence_is_waited_for_once(define_mcp: Define, tmp_path: Path) -> None:
    """A server that did not answer is not waited for by the next who ask, but is tried again later."""
    starts = tmp_path / "starts"
    tool = define_mcp(f"command: sh\nargs: [-c, 'echo >> {starts}; sleep 600']\nstart_timeout: 2")
    for _ in range(3):
        with pytest.raises(ToolTimeout, match="did not answer within start_timeout=2 s"):
            assert tool.callables
    assert starts.read_text() == "\n"
    time.sleep(2)
    with pytest.raises(ToolTimeout):
        call(tool, "add")
    assert starts.read_text() == "\n\n"


def test_nonsense(define_mcp: Define) -> None:
    """A server that writes what are not messages is an error that shows the first of it."""
    error = failing(define_mcp, "import time; print('Welcome!'); time.sleep(600)", start_timeout=1)
    assert "its stdout has a line that is not a message: 'Welcome!'" in str(error)
    error = failing(define_mcp, "while True: print('Welcome!')")
    assert "it writes a line to its stdout that is not a message: 'Welcome!'" in str(error)
    error = failing(define_mcp, "import sys\nwhile True: sys.stdout.buffer.write(b'\\xff\\n')")
    assert "that is not a message" in str(error)


def test_greeting(define_mcp: Define) -> None:
    """A few lines on stdout that are not messages are passed over."""
    tool = define_mcp(
        "command: sh\nargs: [-c, 'echo Hello; echo; exec \"$0\" demo_mcp_server.py', '${PYTHON}']"
    )
    assert call(tool, "add", a=1) == 2


def test_flood_at_start(define_mcp: Define) -> None:
    """A server that writes a line without end is stopped, and memory is not filled with it."""
    error = failing(define_mcp, "import sys\nwhile True: sys.stdout.write('x' * 65536)", max_result=1000000)
    assert "wrote a line of more than" in str(error)


def test_flood_of_errors(define_mcp: Define) -> None:
    """Of a stderr without end, the end is kept."""
    program = "import sys, time\nfor n in range(20000): print('error', n, file=sys.stderr)\nsys.exit(1)"
    error = failing(define_mcp, program)
    assert error.stderr.endswith("error 19999")
    assert len(error.stderr) <= 4096


@pytest.mark.parametrize("message", ['{"jsonrpc": "2.0", "id": 1, "result": []}', "[]", "null", '"' * 100])
def test_wrong_answers(define_mcp: Define, message: str) -> None:
    """A server whose answers keep to no protocol is an error."""
    program = f"import sys\nfor line in sys.stdin: print({message!r})"
    failing(define_mcp, program, start_timeout=2)


def test_large_results(define_mcp: Define) -> None:
    """A result larger than max_result fails its call only; the server and its other calls go on."""
    tool = define_mcp(STDIO + "max_result: 1000000")
    process = call(tool, "process")
    with pytest.raises(ToolCallError, match="the result is larger than max_result=1,000,000 bytes"):
        call(tool, "big", size=3_000_000)
    assert call(tool, "process") == process
    assert len(call(tool, "big", size=400_000)) == 400_000
