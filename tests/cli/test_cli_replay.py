"""`planaria replay`: a recording in a terminal, or with commands from standard input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from planaria_process import Run

import planaria


def test_commands_from_standard_input(planaria: Run, tmp_path: Path) -> None:
    """Commands are read line by line; an empty one repeats the last; the status says whether one failed."""
    _record(tmp_path / "a.rec")
    commands = b"step\n\nprint x\nback\nprint x\nexplain x\nlist\nrun\ndigest\nquit\nnot read\n"
    done = planaria("replay", "a.rec", stdin=commands)
    assert done.stderr == b""
    assert done.returncode == 0
    lines = done.stdout.decode().splitlines()
    assert lines[:8] == [
        "3 executions; help lists the commands",
        "[1] x = [1]",
        "[2] x.append(2); print(x)",
        "[1, 2]",
        "[1, 2]",
        "after 1 of 3 executions",
        "[1]",
        "[2] x.append(2); print(x)",
    ]
    assert lines[8:11] == [
        ">   1 [1] x = [1]",
        "    2 [2] x.append(2); print(x)",
        "    3 [3] 1 / 0  ZeroDivisionError: division by zero",
    ]
    assert lines[11] == "after 3 of 3 executions"
    assert len(lines[12]) == 64
    assert len(lines) == 13


def test_going_by_lines(planaria: Run, tmp_path: Path) -> None:
    """`until`, `next` and `previous` show the line, `print` what code gives there."""
    _record(tmp_path / "a.rec")
    commands = b"step\nuntil 1\nprint x\nnext\nnext\nprevious\nprevious\nuntil x\n"
    done = planaria("replay", "a.rec", stdin=commands)
    assert done.stdout.decode().splitlines()[2:] == [
        "<cell 2>, line 1: x.append(2); print(x)",
        "[1]",
        "<cell 2>, line 1: x.append(2); print(x)",  # its last expression, whose value is shown
        "it does not get there",
        "<cell 2>, line 1: x.append(2); print(x)",
        "after 1 of 3 executions",
    ]
    assert done.stderr == b"until: give a line and, for a function of an earlier cell, its number\n"


def test_going_by_calls(planaria: Run, tmp_path: Path) -> None:
    """`call` stops at each call and at the end of an execution, `calls` shows what waits, `back` returns."""
    with _session_with(double) as session:
        session.run("x = await double(1)\ny = await double(x)")
        session.recording().save(tmp_path / "a.rec")
    commands = b"call\ncalls\ncall\nback\ngo 1\nprint x, y\ncall"
    done = planaria("replay", "a.rec", stdin=commands)
    first, second = (
        f"HostCall(id={number}, name='double', args=({number},), kwargs={{}})" for number in (1, 2)
    )
    assert done.stdout.decode().splitlines()[1:] == [
        first,
        first,
        second,
        "after 0 of 1 executions",
        "after 1 of 1 executions",
        "(2, 4)",
        "after 1 of 1 executions",
    ]
    assert done.stderr == b""


def double(n: int) -> int:
    return 2 * n


def _session_with(callback: Callable[..., object]) -> planaria.Session:
    """A session that records; the fixture `planaria` hides the module in tests."""
    return planaria.Session(record=True, callbacks=[callback])


def test_errors_of_what_is_printed(planaria: Run, tmp_path: Path) -> None:
    """An error of `print` is shown as the code has it, also at a line; so are bytes that cannot be decoded."""
    _record(tmp_path / "a.rec")
    done = planaria(
        "replay", "a.rec", stdin=b"step\nprint x +\nuntil 1\nprint y\nprint '\xff'\nback\nprint x\n"
    )
    shown = done.stdout.decode().splitlines()
    assert "SyntaxError: invalid syntax" in shown
    assert "NameError: name 'y' is not defined" in shown
    assert shown[-1] == "[1]"
    assert done.stderr == b""


def test_a_command_that_fails(planaria: Run, tmp_path: Path) -> None:
    """What is wrong goes to standard error, and the rest is done all the same."""
    _record(tmp_path / "a.rec")
    done = planaria("replay", "a.rec", stdin=b"go 9\nfly\nstep\n")
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == [
        "go_to(9): there are 3 executions",
        "fly: unknown command; help lists them",
    ]
    assert done.stdout.endswith(b"[1] x = [1]\n")


def test_a_file_that_is_not_a_recording(planaria: Run, tmp_path: Path) -> None:
    """Anything else is refused with one line."""
    (tmp_path / "b.rec").write_bytes(b"something")
    done = planaria("replay", "b.rec")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"Error: this is not a recording of planaria, or it is damaged\n"


def _record(path: Path) -> None:
    with planaria.Session(record=True) as session:
        for code in ("x = [1]", "x.append(2); print(x)", "1 / 0"):
            session.run(code)
        session.recording().save(path)
