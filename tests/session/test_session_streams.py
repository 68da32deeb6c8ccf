"""Standard output, standard error and standard input."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planaria


def test_exact_text(session: Any) -> None:
    """Output is the exact text: nothing is stripped, no line end is changed."""
    result = session.execute("import sys; print('  a\\r\\n\\tb', end='  '); sys.stderr.write('e\\n\\n')")
    assert (result.stdout, result.stderr) == ("  a\r\n\tb  ", "e\n\n")
    assert session.execute("print('é🐛', '\\ud800')").stdout_bytes.startswith("é🐛".encode())


def test_descriptors(session: Any) -> None:
    """What is written to the descriptors themselves, or by C code, is captured in order; other bytes
    survive.
    """
    result = session.execute(
        "import os, sys\nprint('a', end='')\nos.write(1, b'b\\xff')\nprint('c')\nos.write(2, b'e')\n"
        "open('/dev/stdout', 'w').write('d')\nsys.stdout.buffer.write(b'f')\nprint('g', file=sys.__stdout__)"
    )
    assert result.stdout_bytes == b"ab\xffc\ndfg\n"
    assert (result.stdout, result.stderr) == ("ab\ufffdc\ndfg\n", "e")


def test_streaming(new_session: Callable[..., Any]) -> None:
    """Listeners hear all of it, in the order in which it was written, across both streams and displays."""
    heard: list[tuple[str, Any]] = []
    lines: list[str] = []
    errors: list[str] = []

    async def report() -> None:
        heard.append(("host", ""))

    session = new_session(
        callbacks=[report],
        on_output=lambda stream, text: heard.append((stream, text)),
        on_stdout=lines.append,
        on_stderr=errors.append,
    )
    result = session.execute(
        "import sys\nprint('one')\nprint('two', file=sys.stderr)\nawait report()\nprint('three')\n"
        "display({'a': 1})\nprint('four', end='')"
    )
    assert "".join(lines) == result.stdout == "one\nthree\nfour"
    assert "".join(errors) == result.stderr == "two\n"
    kinds = [stream for stream, _ in itertools.groupby(heard, lambda one: one[0])]
    assert kinds == ["stdout", "stderr", "host", "stdout", "display", "stdout"]
    assert [shown for stream, shown in heard if stream == "display"] == result.outputs


def test_lines_are_passed_on_together() -> None:
    """Many short lines leave the sandbox in a few chunks, whichever stream they are written to."""
    heard: list[tuple[str, Any]] = []
    with planaria.Session(on_output=lambda stream, text: heard.append((stream, text))) as session:
        for stream in ("stdout", "stderr"):
            heard.clear()
            result = session.execute(f"import sys\nfor i in range(20000): print(i, file=sys.{stream})")
            lines = "".join(f"{i}\n" for i in range(20000))
            assert getattr(result, stream) == "".join(text for _, text in heard) == lines
            assert len(heard) < 2000


_WRITES = {
    "o": ("print('o{}')", 1),
    "e": ("print('e{}', file=sys.stderr)", 2),
    "b": ("sys.stdout.buffer.write(b'b{}\\n')", 1),
    "w": ("os.write(1, b'w{}\\n')", 1),
    "x": ("os.write(2, b'x{}\\n')", 2),
    "d": ("os.write(other, b'd{}\\n')", 1),
    "p": ("open('/dev/stderr', 'w').write('p{}\\n')", 2),
    "l": ("sys.stderr.writelines(['l{}', '\\n'])", 2),
    "s": ("time.sleep(0)", 0),
    "f": ("sys.stdout.flush()", 0),
    "k": ("kept('k{}\\n')", 1),
    "h": ("kept_errors('h{}\\n')", 2),
    "n": ("print('', end='')", 0),
    "u": ("print('u{}', 'é' * 3000, flush=True)", 1),
    "r": ("sys.stdout.buffer.raw.write(b'r{}\\n')", 1),
    "t": ("sys.stdout.reconfigure(line_buffering=not sys.stdout.line_buffering)", 0),
}


@given(st.text(alphabet="".join(_WRITES), min_size=1, max_size=40))
@settings(max_examples=30)
def test_order_of_writes(sequence: str) -> None:
    """Whatever ways of writing are mixed, listeners get everything in the order in which it was written."""
    heard: list[tuple[str, Any]] = []
    lines = [_WRITES[kind][0].format(number) for number, kind in enumerate(sequence)]
    with planaria.Session(on_output=lambda stream, text: heard.append((stream, text))) as session:
        session.execute(
            "import os, sys, time\nother = os.dup(1)\nkept = sys.stdout.write\nkept_errors = sys.stderr.write\n"
            + "\n".join(lines)
        )
    expected = [
        (_WRITES[kind][1], f"{kind}{number}") for number, kind in enumerate(sequence) if _WRITES[kind][1]
    ]
    chunks = [
        (1 if stream == "stdout" else 2, "".join(text for _, text in texts))
        for stream, texts in itertools.groupby(heard, lambda one: one[0])
    ]
    got = [(stream, line.partition(" ")[0]) for stream, text in chunks for line in text.splitlines()]
    assert got == expected


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize(
    "stop",
    ["pass", "if n % 7 == 0: print(end='', file=other)", "if n == 5000: out.buffer"],
    ids=["one stream", "both streams", "with its buffer"],
)
def test_interrupted_prints(stream: str, stop: str) -> None:
    """Of what a loop prints until it is interrupted each line is passed on once, and what comes after it is
    complete.
    """
    heard: list[str] = []
    code = f"""
import signal, sys
out, other = sys.stdout, sys.stderr
if {stream!r} == "stderr":
    out, other = other, out
class TimeUp(Exception): pass
def time_up(*_): raise TimeUp
signal.signal(signal.SIGALRM, time_up)
signal.setitimer(signal.ITIMER_REAL, 0.3)
n = 0
try:
    while True:
        {stop}  # not last: CPython's jump back from a condition is outside of `try`
        print(n, file=out)
        n += 1
except TimeUp:
    signal.setitimer(signal.ITIMER_REAL, 0)
    first = n
while True:
    {stop}
    print(n, file=out)
    n += 1
"""

    def hear(name: str, text: Any) -> None:
        assert name == stream
        heard.append(text)

    with planaria.Session(on_output=hear) as session:
        result = session.run(code, timeout=1)
        text = getattr(result, stream)
        assert "".join(heard) == text
        first, count = session.execute("first, n").value
        parts = ["".join(f"{i}\n" for i in range(*span)) for span in ((0, first), (first, count))]
        # What is being printed when the loop is interrupted may have been written, or a part of it.
        allowed = [["", str(n), f"{n}\n"] for n in (first, count)]
        assert text in [parts[0] + one + parts[1] + other for one in allowed[0] for other in allowed[1]]
        assert getattr(session.execute("print('after', file=out)"), stream) == "after\n"


@pytest.mark.parametrize(
    "options", ["encoding='latin-1'", "encoding='utf-16'", "newline='\\r\\n'", "errors='surrogateescape'", ""]
)
def test_parts_of_a_line_after_a_change_of_streams(options: str) -> None:
    """What is printed in parts leaves whole when the stream changes, as the stream's settings have it."""
    code = (
        f"import sys\nfor stream in sys.stdout, sys.stderr: stream.reconfigure({options})\n"
        "for n in range(3):\n    print(n, 'é', file=sys.stdout)\n    print('err', 'é', n, file=sys.stderr)\n"
    )
    native = subprocess.run([sys.executable, "-c", code], capture_output=True)
    heard: list[tuple[str, Any]] = []
    with planaria.Session(on_output=lambda name, text: heard.append((name, text))) as session:
        result = session.execute(code)
    assert result.stdout == native.stdout.decode("utf-8", "replace")
    assert result.stderr == native.stderr.decode("utf-8", "replace")
    if not options:
        assert [text for _, text in heard] == [
            text for n in range(3) for text in (f"{n} é\n", f"err é {n}\n")
        ]


def test_prints_of_a_recursion(session: Any) -> None:
    """What a recursion prints until it is too deep is all there."""
    result = session.execute(
        "import sys\ndone = []\ndef f(n):\n    print(n, 'x' * 100)\n    done.append(n)\n    f(n + 1)\n"
        "try: f(0)\nexcept RecursionError: print('end')\nlen(done)"
    )
    lines = result.stdout.splitlines()
    assert lines[-1] == "end"
    assert [int(line.split()[0]) for line in lines[: result.value]] == list(range(result.value))


def test_prints_around_a_state(new_session: Callable[..., Any]) -> None:
    """What was printed before a state is captured in the middle of an execution is heard once, and not in
    the other sessions that continue from it.
    """
    heard: list[str] = []

    def ask() -> None:
        raise planaria.Suspend

    session = new_session(callbacks=[ask], on_stdout=heard.append)
    run = session.start("print('one')\nawait ask()\nprint('two', end='')\nawait ask()\nprint('three')")
    run.resolve(run.pending[0].id, None)
    assert "".join(heard) == "one\ntwo"
    data = bytes(session.snapshot_state())
    run.resolve(run.pending[0].id, None)
    assert run.result().stdout == "".join(heard) == "one\ntwothree\n"
    with planaria.Session.from_snapshot(data, callbacks=[ask]) as other:
        resumed = other.run_in_progress
        assert resumed is not None
        resumed.resolve(resumed.pending[0].id, None)
        assert resumed.result().stdout == "one\ntwothree\n"
        result = other.execute("import sys\nfor i in range(5000): print(i)\nsys.stdout.line_buffering")
        assert result.stdout == "".join(f"{i}\n" for i in range(5000))
        assert result.value is False


def test_attributes_of_streams(session: Any) -> None:
    """The standard streams are text streams of Python like any other."""
    result = session.execute(
        "import io, sys\n[(type(one) is io.TextIOWrapper, one.encoding, one.errors, one.isatty(), one.mode, "
        "one.closed, one.writable(), one.readable(), one.fileno(), one.name, one.line_buffering, "
        "type(one.buffer) is io.BufferedWriter, type(one.buffer.raw) is io.FileIO) "
        "for one in (sys.stdout, sys.stderr)]"
    )
    assert result.value == [
        (True, "utf-8", "backslashreplace", False, "w", False, True, False, number, number, False, True, True)
        for number in (1, 2)
    ]
    result = session.execute(
        "sys.stdout.reconfigure(encoding='latin-1', errors='replace')\nprint('é€')\n"
        "sys.stdout.reconfigure(encoding='utf-8', errors='backslashreplace')\nprint('é')\n"
        "f = open('x', 'w'); f.write('a'); f.buffer.write(b'b'); f.close(); open('x').read()"
    )
    assert (result.stdout_bytes, result.value) == (b"\xe9?\n\xc3\xa9\n", "ba")


@pytest.mark.parametrize(
    "end",
    [
        "os._exit(3)",
        "sum(range(10**12))",  # must be stopped hard
        "raise KeyboardInterrupt",
        "sys.stdout.close()",
        "sys.stdout.detach()",
        "os.dup2(os.open('/tmp/log', os.O_WRONLY | os.O_CREAT), 1)",
        "del sys.stdout, sys.stderr",
    ],
)
def test_nothing_printed_is_lost(end: str) -> None:
    """What was printed before an execution ended is in its result, whatever ended it."""
    with planaria.Session() as session:
        session.execute("import os, sys")
        result = session.run(f"print('one')\nprint('two', file=sys.stderr)\nprint('three')\n{end}", timeout=1)
        assert (result.stdout, result.stderr) == ("one\nthree\n", "two\n")


def test_redirected_output(session: Any) -> None:
    """What is printed while descriptor 1 leads to a file goes into the file, and nothing of before."""
    result = session.execute(
        "import os\nprint('before')\nsaved = os.dup(1)\nos.dup2(os.open('log', os.O_WRONLY | os.O_CREAT), 1)\n"
        "print('within', flush=True)\nfor i in range(10**6): pass\n"
        "print('rest'); sys_out = __import__('sys').stdout; sys_out.flush(); os.dup2(saved, 1)\nprint('after')\n"
        "open('log').read()"
    )
    assert (result.stdout, result.value) == ("before\nafter\n", "within\nrest\n")


def test_output_is_seen_while_code_computes() -> None:
    """A listener gets what was printed while the code goes on without writing anything more."""

    def stop(text: str) -> None:
        raise LookupError(text)

    with planaria.Session(on_stdout=stop) as session:
        with pytest.raises(LookupError, match="begun"):
            session.execute("kept = 1\nprint('begun')\nwhile True: pass")
        assert session.execute("kept").value == 1


@pytest.mark.parametrize("limit", [None, 10, 11, 12, 13, 14])
def test_split_sequences(new_session: Callable[..., Any], limit: int | None) -> None:
    """A listener never gets a part of a character, however it was written or where it was cut off."""
    heard: list[str] = []
    session = new_session(on_stdout=heard.append, limits=planaria.Limits(output=limit))
    text = "aé€🐛" * 3
    result = session.execute(f"import os\nfor byte in {text.encode()!r}: os.write(1, bytes([byte]))")
    assert text.startswith("".join(heard))
    assert "\ufffd" not in result.stdout + "".join(heard)
    assert ("".join(heard) == result.stdout == text) is (limit is None)
    assert result.stdout_truncated is (limit is not None)
    broken = session.execute("import os; os.write(1, b'ok\\xc3')")
    assert broken.stdout == "ok\ufffd"


def test_truncation(new_session: Callable[..., Any]) -> None:
    """A stream beyond its limit keeps its beginning and its end, with the counts of what is left out."""
    session = new_session(limits=planaria.Limits(output=1000))
    result = session.execute(
        "import sys\nfor i in range(100_000): print('x' * 100)\nsys.stderr.write('short')\n5"
    )
    total, note = 10_100_000, "[... 10,099,000 bytes (99,991 lines) omitted ...]\n"
    assert result.stdout_truncated
    head, _, tail = result.stdout.partition(note)
    assert (len(head.removesuffix("\n")), len(tail)) == (500, 500)
    assert (result.stdout_omitted_bytes, result.stdout_omitted_lines) == (total - 1000, 99_991)
    assert (result.stderr, result.stderr_truncated, result.value) == ("short", False, 5)
    result = session.execute("import sys\nsys.stderr.write('e' * 1001); print('y' * 999)")
    assert (result.stdout_truncated, result.stderr_truncated) == (False, True)
    assert result.stderr == "e" * 500 + "\n[... 1 byte (0 lines) omitted ...]\n" + "e" * 500
    assert (result.stderr_omitted_bytes, result.stdout) == (1, "y" * 999 + "\n")
    assert session.execute("print('again')").stdout == "again\n"
    result = session.execute("for i in range(10_000): print('row', i)\nprint('RESULT=42')")
    assert result.stdout.startswith("row 0\nrow 1\n")
    assert result.stdout.endswith("row 9999\nRESULT=42\n")


def test_nothing_reaches_the_host() -> None:
    """Nothing that the guest writes, nor a crash of it, appears on the host's own streams."""
    source = """
import planaria
with planaria.Session() as session:
    session.run("import os, sys; print('leak'); os.write(1, b'leak'); os.write(2, b'leak'); 1 / 0")
    session.run("open('/dev/tty', 'w').write('leak')")
    session.run("import faulthandler; faulthandler.dump_traceback()")
    session.run("import os; os.abort()")
    session.run("import warnings; warnings.warn('leak')")
    session.run("import _host; _host.call(b'leak')")
    session.run("raise SystemExit('leak')")
    session.run("class A:\\n    def __del__(self): print('leak'); 1 / 0\\na = A()")
    session.clear_state()
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_input_from_text(new_session: Callable[..., Any]) -> None:
    """input() takes a text line by line, over executions, and raises EOFError at its end."""
    session = new_session(stdin="one\ntwo\x0bstill two\r\nthree")
    assert session.execute("print('?', end=''); input('name: ')").value == "one"
    assert session.execute("input(), input()").value == ("two\x0bstill two", "three")
    error = session.run("input()").error
    assert (error.type, "stdin" in error.message) == ("EOFError", True)
    assert session.execute("import sys; sys.stdin.read()").value == ""
    fresh = new_session(stdin="a\nb\n")
    assert fresh.execute("import sys\nlist(sys.stdin)").value == ["a\n", "b\n"]
    fresh = new_session(stdin="a\r\nb\rc\n\nd")
    assert fresh.execute("import sys\ninput(), sys.stdin.readline(1), list(sys.stdin)").value == (
        "a",
        "b",
        ["\n", "c\n", "\n", "d"],
    )
    fresh = new_session(stdin="a\nb")
    assert fresh.execute("import sys\nsys.stdin.buffer.read()").value == b"a\nb"


def test_input_from_a_function(new_session: Callable[..., Any]) -> None:
    """A function of the prompt gives the lines; None is the end, and what it raises arrives in the guest."""
    prompts: list[str] = []

    def ask(prompt: str) -> Any:
        prompts.append(prompt)
        match len(prompts):
            case 1:
                return "answer\n"
            case 2:
                return None
            case 3:
                raise ValueError("no")
            case _:
                return 5

    session = new_session(stdin=ask)
    assert session.execute("input('who? ')").value == "answer"
    assert session.run("input()").error.type == "EOFError"
    error = session.run("input()").error
    assert (error.type, error.message) == ("ValueError", "no")
    error = session.run("input()").error
    assert (error.type, "int" in error.message) == ("TypeError", True)
    assert prompts == ["who? ", "", "", ""]
    assert session.execute("1").value == 1


def test_no_input(session: Any) -> None:
    """Without stdin= input() raises EOFError, and the host's own standard input is not read."""
    assert session.run("input('x')").error.type == "EOFError"
    assert session.execute("import sys; sys.stdin.read()").value == ""


def test_input_from_replaced_streams(new_session: Callable[..., Any]) -> None:
    """input() reads what has taken the place of sys.stdin, and writes its prompt to what has taken that of
    sys.stdout.
    """
    session = new_session(stdin="from the host\n")
    source = """
import contextlib, io, sys
sys.stdin = io.StringIO("3\\n1 2\\n")
given = input("? "), input()
try:
    input()
except EOFError as error:
    given += (str(error),)
sys.stdin = sys.__stdin__
with contextlib.redirect_stdout(io.StringIO()) as out:
    given += (input("name: "),)
given, out.getvalue()
"""
    result = session.execute(source)
    assert result.value == (("3", "1 2", "EOF when reading a line", "from the host"), "name: ")
    assert result.stdout == "? "
    assert "lost sys.stdin" in str(session.run("del sys.stdin; input()").error)


def test_input_in_async_sessions() -> None:
    """An asynchronous session takes input as well."""

    async def main() -> Any:
        async with planaria.AsyncSession(stdin=lambda prompt: prompt * 2) as session:
            return (await session.execute("input('ab')")).value

    assert asyncio.run(main()) == "abab"


def test_failing_listener(new_session: Callable[..., Any]) -> None:
    """What a listener raises is raised on the host once the guest has stopped; the session keeps its
    state.
    """

    def fail(text: str) -> None:
        raise LookupError(text)

    session = new_session(on_stderr=fail)
    with pytest.raises(LookupError, match="oops"):
        session.execute("x = 5\nimport sys\nsys.stderr.write('oops')\nsys.stderr.flush()\nwhile True: pass")
    assert session.execute("x").value == 5
    assert session.history[0].code.startswith("x = 5")


@pytest.mark.parametrize("buffer", ["buffer", "detach()"])
@pytest.mark.parametrize("wrapper", ["io.TextIOWrapper", "codecs.getwriter('utf-8')"])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_wrapped_streams(new_session: Callable[..., Any], stream: str, wrapper: str, buffer: str) -> None:
    """What is printed to a wrapper of a standard stream's buffer comes with the execution that printed it."""
    session = new_session()
    session.execute("import codecs, io, sys")
    code = f"sys.{stream} = {wrapper}(sys.{stream}.{buffer}); print('a', file=sys.{stream})"
    assert getattr(session.execute(code), stream) == "a\n"
    assert getattr(session.execute(f"print('é', file=sys.{stream})"), stream) == "é\n"


def test_detached_streams(session: Any) -> None:
    """A standard stream that was detached from its buffer is a new one in the next execution."""
    session.execute("import sys; buffer = sys.stdout.detach()")
    assert session.execute("print(1)").stdout == "1\n"


def test_input_as_bytes(new_session: Callable[..., Any]) -> None:
    """sys.stdin.buffer gives the bytes of what sys.stdin would give, and the two may take turns."""
    session = new_session(stdin="é1\ntwo\nthree\n4 5\n6\n")
    session.execute("import io, sys")
    assert session.execute("sys.stdin.buffer.readline()").value == "é1\n".encode()
    assert session.execute("sys.stdin.buffer.read(5), input(), sys.stdin.buffer.readline()").value == (
        b"two\nt",
        "4 5",
        b"hree\n",
    )
    assert session.execute("io.TextIOWrapper(sys.stdin.buffer).read()").value == "6\n"
    assert session.execute("sys.stdin.buffer.read()").value == b""


@pytest.mark.parametrize(
    "expression",
    [
        "open(0).read()",
        "open('/dev/stdin').read()",
        "open('/dev/fd/0').read()",
        "b''.join(iter(lambda: os.read(0, 5), b'')).decode()",
        "os.fdopen(os.dup(sys.stdin.fileno())).read()",
        "subprocess.run(['cat'], capture_output=True, text=True).stdout",
        "subprocess.run(['cat'], stdin=sys.stdin, capture_output=True, text=True).stdout",
    ],
)
def test_descriptor_of_input(new_session: Callable[..., Any], expression: str) -> None:
    """What reads descriptor 0, by whatever name, reads the session's standard input to its end."""
    session = new_session(stdin="é1\ntwo\n\nfour")
    session.execute("import os, subprocess, sys")
    assert session.execute(expression).value == "é1\ntwo\n\nfour"
    assert session.execute("open(0).read(), sys.stdin.read()").value == ("", "")
    assert session.execute("os.close(0)\nopen('file', 'w').fileno()").value == 0


def test_descriptor_and_lines(new_session: Callable[..., Any]) -> None:
    """Descriptor 0 and input() take turns at the same input, within an execution and from one to the next."""
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return f"line {len(asked)}"

    session = new_session(stdin=ask)
    session.execute("import os, sys")
    assert session.execute("os.read(0, 4), input('a'), input('b'), os.read(0, 99)").value == (
        b"line",
        " 1",
        "line 2",
        b"line 3\n",
    )
    assert session.execute("os.read(0, 2)").value == b"li"
    assert session.execute("sys.stdin.readline()").value == "ne 4\n"
    assert asked == ["", "b", "", ""]


def test_descriptor_of_failing_input(new_session: Callable[..., Any]) -> None:
    """What the function for standard input raises is an OSError where descriptor 0 is read."""

    def fail(prompt: str) -> str:
        raise LookupError(prompt)

    session = new_session(stdin=fail)
    session.execute("import errno, os\ntry: os.read(0, 1)\nexcept OSError as error: number = error.errno")
    assert session.execute("number == errno.EIO").value is True


def test_values_of_compiled_code(session: Any) -> None:
    """Code that a cell compiles as an interactive statement displays its value, as `code.interact` does."""
    assert session.execute("exec(compile('6 * 7', 'some', 'single'))").stdout == "42\n"
    result = session.execute("import code; code.InteractiveInterpreter().runsource('1 + 1')")
    assert (result.stdout, result.value) == ("2\n", False)
