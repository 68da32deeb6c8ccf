"""A kernel that takes over a whole interpreter, as in the sandbox: streams, input, limits, asyncio."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

HARNESS = """
import os, sys
from planaria_kernel.startup import start
from planaria_kernel.protocol import decode, encode

queue, lines, reports = [], ["first", "second"], []

def answer(request):
    if request[:1] == b"N":
        return encode(queue.pop(0))
    if request[:1] == b"I":
        prompt = decode(request[1:])
        prompt = prompt if isinstance(prompt, str) else prompt[0]  # (prompt, True) asks for a secret
        os.write(1, b"<prompt %s>" % prompt.encode())
        return encode(("ok", lines.pop(0) + "\\n") if lines else ("eof",))
    reports.append(decode(request[1:]))
    return b""

kernel = start(answer)

def run(source):
    queue.append(("run", source, 1))
    kernel.enter()
    report = reports[-1]
    return decode(report[1]["value"]) if report[0] == "done" and "value" in report[1] else report

def configure(**settings):
    queue.append(("configure", settings))
    kernel.enter()
    return reports[-1]
"""


def interpreter(program: str) -> tuple[str, str]:
    """Standard output and error of a program that has a booted kernel."""
    source = HARNESS + textwrap.dedent(program)
    run = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert run.returncode == 0, run.stderr
    return run.stdout, run.stderr


def test_order_of_output() -> None:
    """Text and bytes written in turn through sys.stdout, print and os.write come out in that order."""
    out, _ = interpreter(
        """
        run("import os, sys\\nprint('a', end='')\\nos.write(1, b'b')")
        run("sys.stdout.write('c')\\nos.write(1, b'd')")
        os.write(1, b"|after|")
        run("print('e', end='')")
        run("print('\\\\ud800', '\\u00e9', end='')")
        """
    )
    assert out == "abcd|after|e\\ud800 é"


def test_order_of_both_streams() -> None:
    """What was printed comes before the line that is then written to standard error."""
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            HARNESS
            + "run('import sys\\nfor i in range(3): print(i, end=str()) or sys.stderr.write(chr(101) + chr(10))')",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert run.stdout == "0e\n1e\n2e\n"


def test_closed_stdout() -> None:
    """A cell that closes sys.stdout does not silence the cells after it."""
    out, _ = interpreter("run('import sys; sys.stdout.close()'); run('print(1)')")
    assert out == "1\n"


def test_input() -> None:
    """input(), getpass() and sys.stdin read lines from the host, and EOFError says how to give some."""
    out, _ = interpreter(
        """
        assert run("print('before', end=' '); input('name? ')") == "first"
        assert run("import getpass; getpass.getpass('word? ')") == "second"
        report = run("input()")
        assert report[1]["type"] == "EOFError" and "stdin=" in report[1]["message"], report
        lines[:] = ["x", "y"]
        assert run("import sys; sys.stdin.readline(2), list(sys.stdin)") == ("x\\n", ["y\\n"])
        assert run("sys.stdin.read()") == ""
        """
    )
    assert out.startswith("before <prompt name? ><prompt word? >")


def test_recursion_limit() -> None:
    """A recursion limit is set as it is given; what CPython refuses is refused."""
    interpreter(
        """
        assert run("import sys; sys.setrecursionlimit(10**6); sys.getrecursionlimit()") == 10**6
        assert run("sys.setrecursionlimit(0)")[1]["type"] == "ValueError"
        """
    )


def test_settings() -> None:
    """Environment, seed and recursion limit can be set; an unknown setting is an error."""
    interpreter(
        """
        assert configure(environ={"A": "1", "HOME": None}, recursion_limit=1500) == ("done", {})
        found = run("import os, sys\\nos.environ['A'], 'HOME' in os.environ, sys.getrecursionlimit()")
        assert found == ("1", False, 1500)
        configure(seed=5)
        first = run("import random\\nrandom.seed(5)\\nrandom.random()")
        configure(seed=5)
        assert run("random.random()") == first
        assert configure(colour="red")[0] == "error"
        """
    )


def test_exit_functions() -> None:
    """exit() and quit() end the cell and leave standard input open."""
    interpreter(
        """
        assert run("exit(3)")[1]["exit_code"] == 3
        assert run("quit()")[1]["exit_code"] == 0
        assert run("input()") == "first"
        """
    )


def test_asyncio_run() -> None:
    """asyncio.run works at the top level and inside functions, with the kernel's own loop."""
    interpreter(
        """
        run("import asyncio\\nasync def main():\\n    await asyncio.sleep(0.001)\\n    return 7")
        assert run("(lambda: asyncio.run(main()))()") == 7
        assert run("asyncio.get_event_loop() is not None") is True
        """
    )


@pytest.mark.parametrize("name", ["display", "clear_output", "invoke", "list_callbacks"])
def test_names(name: str) -> None:
    """The kernel's names are there without being user variables."""
    interpreter(
        f"""
        assert run("callable({name})") is True
        queue.append(("names",)); kernel.enter()
        assert reports[-1] == ("answer", {{}})
        """
    )
