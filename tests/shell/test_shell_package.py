"""The public face of the package, and the shell as a program of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import planaria_shell
from planaria_shell.state.command import COMMANDS
from planaria_shell.toolkit.invocation import Invocation


def program(*arguments: str, stdin: bytes = b"") -> tuple[bytes, bytes, int]:
    """What `python -m planaria_shell` writes, and its status."""
    process = subprocess.run(
        [sys.executable, "-m", "planaria_shell", *arguments], input=stdin, capture_output=True, check=False
    )
    return process.stdout, process.stderr, process.returncode


def test_run_gives_output_and_status() -> None:
    """`run` runs a script on the given standard input and collects what it writes."""
    completed = planaria_shell.run("tr a-z A-Z; echo no >&2; exit 3", stdin=b"yes\n")
    assert (completed.stdout, completed.stderr, completed.status) == (b"YES\n", b"no\n", 3)


def test_run_takes_environment_and_directory(tmp_path: Path) -> None:
    """`run` gives a script the environment and the working directory that it is called with."""
    completed = planaria_shell.run('echo "$x $PWD"', env={"x": "1"}, cwd=tmp_path)
    assert completed.stdout == f"1 {tmp_path}\n".encode()


def test_run_is_limited() -> None:
    """`run` ends a script at a limit with a message that names it."""
    completed = planaria_shell.run("while :; do :; done", limits=planaria_shell.Limits(iterations=10))
    assert b"limit reached: iterations (10)" in completed.stderr
    assert completed.status == 1


def test_shell_keeps_state() -> None:
    """A `Shell` keeps variables from one script to the next."""
    shell = planaria_shell.Shell(env={})
    shell.run("x=1")
    assert shell.run("[ $x = 1 ]") == 0


def test_command_registers_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that `command` has registered is found by its name in scripts."""
    monkeypatch.setitem(COMMANDS, "greet", lambda process: 1)

    @planaria_shell.command("greet")
    def greet(call: Invocation) -> int:
        call.stdout.write(f"hello {call.argv[1]}\n".encode())
        return 0

    assert planaria_shell.run("greet you").stdout == b"hello you\n"


def test_the_public_names_are_there() -> None:
    """Each name of `__all__` can be imported, and another one is an AttributeError."""
    assert all(hasattr(planaria_shell, name) for name in planaria_shell.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        planaria_shell.nothing  # noqa: B018


def test_program_runs_a_command_line() -> None:
    """`python -m planaria_shell -c` runs its argument with the further ones as parameters."""
    assert program("-c", 'echo "$0 $1"; exit 4', "name", "one") == (b"name one\n", b"", 4)


def test_program_runs_standard_input() -> None:
    """`python -m planaria_shell` without arguments runs what it reads from standard input."""
    assert program(stdin=b"echo $((1 + 1))\n") == (b"2\n", b"", 0)


def test_program_shows_help() -> None:
    """`python -m planaria_shell --help` shows how it is called and ends with status 0."""
    output, errors, status = program("--help")
    assert output.startswith(b"GNU bash, version 5.2")
    assert b"script-file" in output
    assert (errors, status) == (b"", 0)


def test_package_needs_only_the_standard_library() -> None:
    """Importing the shell imports nothing but the standard library and the package itself."""
    code = (
        "import sys, planaria_shell.shell\n"
        "names = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(names - set(sys.stdlib_module_names) - {'__main__', 'planaria_shell'}))"
    )
    path = str(Path(planaria_shell.__file__).parents[1])
    process = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {path!r})\n{code}"],
        capture_output=True,
        check=True,
    )
    assert process.stdout == b"[]\n"
