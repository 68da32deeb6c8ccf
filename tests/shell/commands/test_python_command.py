"""`python3` as a command, beside the machine's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

#: A directory with nothing but the interpreter that runs these tests, for the real shell.
_REAL = os.path.realpath(sys.executable)


@pytest.fixture
def both(tmp_path: Path):
    """A function that runs a script in real bash with real Python, and in ours; both outcomes."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "python3").symlink_to(_REAL)
    work = tmp_path / "work"
    work.mkdir()

    def run(script: str) -> tuple[tuple[int, str, str], tuple[int, str, str]]:
        outcomes = []
        for command, path in (
            (["bash", "-c", script], f"{tools}:/usr/bin:/bin"),
            ([sys.executable, "-m", "planaria_shell", "-c", script], "/usr/bin:/bin"),
        ):
            env = {"PATH": path, "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
            if command[0] != "bash":
                env["PYTHONPATH"] = ":".join(place for place in sys.path if place)
                command[-1] = f"unset PYTHONPATH; {script}"
            done = subprocess.run(
                command, capture_output=True, text=True, cwd=work, env=env, stdin=subprocess.DEVNULL
            )
            outcomes.append((done.returncode, done.stdout, done.stderr))
        return outcomes[0], outcomes[1]

    run.work = work  # type: ignore[attr-defined]
    return run


@pytest.mark.parametrize(
    "script",
    [
        "python3 -c 'import sys; print(sys.argv, repr(sys.path[0]))' a -b",
        "python3 -c 'import sys; sys.exit(\"bye\")'; echo $?",
        "python3 -c 'raise SystemExit(300)'; echo $?",
        "python3 -c 'raise SystemExit'; echo $?",
        "python3 -c 'import os; os._exit(7)'; echo $?",
        "python3 -c '1/0'; echo $?",
        "python3 -c 'x ='; echo $?",
        "echo 'print(input())' | python3; echo $?",
        "printf 'a\\nb\\n' | python3 -c 'import sys; print(sys.stdin.read().upper(), end=\"\")'",
        "printf '\\377\\n' | python3 -c 'import sys; sys.stdout.write(sys.stdin.read())' | od -c",
        "echo abc | python3 -c 'import os; print(os.read(0, 2))'",
        "echo abc | python3 -c 'print(open(0).read())'",
        "python3 -c 'input()' < /dev/null; echo $?",
        'python3 -c \'open("f", "w").write("left open")\'; cat f',
        'python3 -c \'f = open("f", "w"); f.write("left open")\'; cat f',
        "python3 -c 'import atexit; atexit.register(print, \"end\"); print(1)'",
        "X=5 python3 -c 'import os; print(os.environ[\"X\"])'; echo $X",
        "mkdir -p d; cd d; python3 -c 'import os; print(os.path.basename(os.getcwd())); os.chdir(\"/\")'; pwd | tail -c 3",
        "echo '{\"a\": 1}' | python3 -m json.tool",
        "python3 nothing.py 2>&1 | sed 's/.*can/can/; s/[^ ]*nothing/nothing/'; echo ${PIPESTATUS[0]}",
        "python3 -m nothing_at_all 2>&1 | sed 's/.*: No/No/'; echo ${PIPESTATUS[0]}",
        "python3 -c 'for i in range(100000): print(i)' | tail -1",
        "python3 -c 'import asyncio\nasync def f(): await asyncio.sleep(0); return 3\nprint(asyncio.run(f()))'",
        "python3 -c 'import logging; logging.basicConfig(); logging.warning(\"w\")' 2>&1",
        "python3 -W error -c 'import warnings; warnings.warn(\"w\")' 2>&1 | tail -1",
        "python3 -O -c 'assert False; print(\"passed\")'",
        "python3 -c 'import sys; sys.stdout.buffer.write(b\"x\\n\"); print(sys.stdin.read())' <<< here",
        "python3 -c 'def f(): f()\nf()' 2>&1 | tail -1",
        "python3 -z 2>/dev/null; echo $?",
    ],
)
def test_same_as_the_real_one(both, script: str) -> None:
    """Output, errors and status are those of CPython as a process."""
    real, ours = both(script)
    assert ours == real


def test_a_script_with_a_traceback(both) -> None:
    """A script has its path in tracebacks, its directory first on sys.path, and modules beside it."""
    (both.work / "beside.py").write_text("def fail():\n    raise ValueError('no')\n")
    (both.work / "main.py").write_text(
        "import sys, os, beside\n"
        "print(sys.argv, sys.path[0] == os.getcwd(), __name__, os.path.basename(__file__))\n"
        "beside.fail()\n"
    )
    real, ours = both("python3 main.py --in x; echo $?")
    assert ours == real
    assert "beside.py" in real[2]


def test_runs_share_nothing(both) -> None:
    """What one run imports, assigns and registers is unknown to the next."""
    (both.work / "a").mkdir()
    (both.work / "b").mkdir()
    for name in "ab":
        (both.work / name / "same.py").write_text(f"name = {name!r}\n")
        (both.work / name / "main.py").write_text(
            "import builtins, same, sys, os, logging\n"
            "print(same.name, hasattr(builtins, 'left'), hasattr(sys, 'left'), logging.root.handlers)\n"
            "builtins.left = sys.left = 1; logging.basicConfig(); os.chdir('/'); sys.argv.append('x')\n"
        )
    real, ours = both("python3 a/main.py; python3 b/main.py; python3 a/main.py")
    assert ours == real


def test_order_of_what_is_written(both) -> None:
    """Text, bytes, descriptors and other commands write in the order in which they were called."""
    script = (
        'python3 -u -c \'import os, sys, subprocess\nprint(1); os.write(1, b"2\\n"); '
        'print(3, file=sys.stderr); sys.stdout.buffer.write(b"4\\n"); os.write(2, b"5\\n")\' 2>&1'
    )
    real, ours = both(script)
    assert ours == real


def test_a_reader_that_stops(both) -> None:
    """A script whose reader has gone ends as one that SIGPIPE ends."""
    _, ours = both("python3 -c 'for i in range(200000): print(i)' | head -1; echo ${PIPESTATUS[*]}")
    assert ours == (0, "0\n141 0\n", "")


def test_interactive_mode_is_refused(both) -> None:
    """`-i` says that there is no terminal."""
    _, ours = both("python3 -i")
    assert ours[0] == 2
    assert "no terminal" in ours[2]
