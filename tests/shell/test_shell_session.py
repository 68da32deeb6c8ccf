"""The shell as a session: state between calls, limits, streaming, analysis, state as a document."""

from __future__ import annotations

import gc
import json
from collections.abc import Generator
from pathlib import Path

import pytest

from planaria_shell.saved_state import StateError, apply_state, state_of
from planaria_shell.shell import Shell
from planaria_shell.state.command import Process
from planaria_shell.state.limits import Limits
from planaria_shell.state.streams import CapturedOutput, NullStream
from planaria_shell.state.variable import Variable
from planaria_shell.syntax.analysis import analyze


class Session:
    """A shell and what it has written since one last looked."""

    def __init__(self, **options: object) -> None:
        self.out, self.err = CapturedOutput(), CapturedOutput()
        self.shell = Shell(
            env={"PATH": "/usr/bin:/bin", "HOME": "/root"},
            stdin=NullStream(), stdout=self.out, stderr=self.err, **options,  # type: ignore[arg-type]
        )  # fmt: skip

    def __call__(self, source: str) -> tuple[str, int]:
        status = self.shell.run(source)
        output = self.out.getvalue().decode()
        self.out.pieces.clear()
        return output, status

    @property
    def errors(self) -> str:
        return self.err.getvalue().decode()


def endless(process: Process) -> Generator[None, None, int]:
    """A command that writes until it has no reader."""
    while True:
        process.stdout.write(b"y\n" * 1000)
        if process.stdout.full:
            yield


def first(process: Process) -> int:
    """A command that takes one line."""
    process.stdout.write(process.stdin.readline())
    return 0


def test_state_lasts_between_calls(tmp_path: Path) -> None:
    """Variables, functions, options, the directory and open descriptors are there in the next call."""
    session = Session(cwd=str(tmp_path))
    session("x=5; a=(1 2); f() { echo f$1; }; set -u; mkdir() { :; }; cd /; exec 7> " + str(tmp_path / "out"))
    assert session("echo $x ${a[1]} $PWD $-; f 1; echo to7 >&7; (exit 4)") == ("5 2 / huBc\nf1\n", 4)
    assert session("echo $?; exec 7>&-") == ("4\n", 0)
    assert (tmp_path / "out").read_text() == "to7\n"


def test_exit_ends_a_call_only() -> None:
    """`exit` ends the call with its status after the EXIT trap; the shell stays usable."""
    session = Session()
    assert session("x=1; trap 'echo bye' EXIT; exit 3; echo never") == ("bye\n", 3)
    assert session("echo $x") == ("1\n", 0)


def test_a_job_that_has_ended_is_reported_once() -> None:
    """`jobs` shows a job that has ended once, and then its number is free."""
    session = Session()
    assert session("(exit 3) & sleep 0.05; jobs")[0] == "[1]+  Exit 3                  ( exit 3 )\n"
    assert session("jobs; sleep 9 & jobs; kill $!")[0] == "[1]+  Running                 sleep 9 &\n"


def test_earlier_lines_run_before_a_syntax_error() -> None:
    """What stands on the lines before a syntax error has run."""
    session = Session()
    assert session("echo one\necho two; )\necho three") == ("one\n", 2)
    assert "syntax error near unexpected token `)'" in session.errors


def test_an_endless_writer_stops_when_its_reader_ends() -> None:
    """Commands, loops and functions that never end stop with 141 when they have no reader any more."""
    session = Session(commands={"endless": endless, "first": first})
    assert session("endless | first; echo ${PIPESTATUS[@]}") == ("y\n141 0\n", 0)
    assert session("while true; do echo l; done | first; echo ${PIPESTATUS[@]}") == ("l\n141 0\n", 0)
    assert session("f() { while :; do echo f; done; }; f | f2() { :; } | first")[1] == 0
    assert session("{ endless | while read -r x; do echo $x$x; done; } | first") == ("yy\n", 0)
    assert session("first < <(endless)") == ("y\n", 0)


@pytest.mark.parametrize(
    ("limits", "script"),
    [
        (Limits(iterations=1000), "while :; do x=1; done"),
        (Limits(commands=1000), "for ((;;)); do echo > /dev/null; done"),
        (Limits(substitution_bytes=1000), "x=$(while :; do echo hello; done)"),
        (Limits(substitution_depth=20), "f() { x=$(f); }; f"),
    ],
)
def test_a_limit_is_reported_by_name(limits: Limits, script: str) -> None:
    """A script that reaches a limit ends with an error that names it, and keeps what it wrote before."""
    session = Session(limits=limits)
    output, status = session(f"echo before\n{script}\necho after")
    name = next(field for field in Limits.__slots__ if getattr(limits, field) != getattr(Limits(), field))
    assert (output, status) == ("before\n", 1)
    assert f"limit reached: {name}" in session.errors


@pytest.mark.parametrize(
    "script", ["f() { f; }; f", "f() { eval f; }; f", "f() { f | read x; }; f", "x=x; echo $((x))"]
)
def test_endless_recursion_is_an_error_of_the_script(script: str) -> None:
    """Recursion without end gives an error as the shell words it, never one of Python."""
    session = Session(limits=Limits(function_depth=500))
    session(script)
    assert "exceeded" in session.errors or "limit reached" in session.errors
    assert session("echo alive") == ("alive\n", 0)


def test_bytes_that_are_not_text_survive() -> None:
    """Bytes that are not UTF-8 go through variables, expansions and pipes unchanged."""
    session = Session()
    session.shell.run(
        'x=$\'\\xff\\xfe\'; printf \'%s|\' "$x" "${x:0:1}"; echo "$x" | { read -r y; printf %s "$y"; }'
    )
    assert session.out.getvalue() == b"\xff\xfe|\xff|\xff\xfe"


@pytest.mark.parametrize("command", ["printf '%3000000000s' x", "printf 'a%.*d' 3000000000 1 2 3"])
def test_fields_wider_than_any_text_are_refused(command: str) -> None:
    """printf fails when a field is to be wider than the C library allows, rather than write nothing."""
    session = Session()
    assert session(f"{command} > /dev/null; echo $?") == ("1\n", 0)
    assert session.errors == "bash: line 1: printf: Value too large for defined data type\n"


def test_a_program_that_cannot_be_here_says_what_there_is_instead() -> None:
    """git and its like are not found, by `command -v` neither, and the message has a hint."""
    session = Session()
    assert session("command -v git sudo pip || git status") == ("", 127)
    assert session.errors == (
        "bash: line 1: git: command not found (use the host's git, or diff and patch here)\n"
    )


def test_pip_says_where_packages_come_from() -> None:
    """pip is not found, and the message says how a session gets packages."""
    session = Session()
    assert session("pip install attrs") == ("", 127)
    assert "an image that was built with them, or from deps.add(NAME)" in session.errors


@pytest.mark.parametrize(
    "command", ["x=$(echo $i | tr 1 2)", "(a+=(y)); (:) &", "cat <(echo $i; :) > /dev/null", "bash -c : $i"]
)
def test_subshells_that_have_ended_keep_nothing(command: str) -> None:
    """Copies of the variables go with the subshell, without waiting for Python to look for cycles."""

    def arrays() -> int:
        return sum(isinstance(one, Variable) and len(one.array or ()) >= 1000 for one in gc.get_objects())

    session = Session()
    session("for ((i = 0; i < 1000; i++)); do a+=($i); done")
    gc.collect()
    gc.disable()
    try:
        before = arrays()
        session(f"for i in 1 2 3 4 5 6 7 8 9; do {command}; done; wait")
        assert arrays() == before
    finally:
        gc.enable()


def test_jobs_run_while_the_shell_waits() -> None:
    """Background jobs run in `wait` and in `sleep`, side by side, and can be killed before they end."""
    session = Session()
    assert session("(sleep 0.02; echo late) & echo now; wait; echo done")[0] == "now\nlate\ndone\n"
    assert session("sleep 60 & kill $!; wait $!; echo $?")[0] == "143\n"
    assert session("(exit 3) & wait $!; echo $?")[0] == "3\n"


def test_state_as_a_document_comes_back() -> None:
    """`state` is JSON; a new shell that takes it behaves as the old one."""
    session = Session()
    session(
        'x="a b"; arr=([3]=q); declare -A m=([k]=v); f() { echo "f $1 ${m[k]}"; }'
        "; alias l=ls; set -u; cd /tmp"
    )
    document = json.loads(json.dumps(state_of(session.shell)))
    other = Session()
    apply_state(other.shell, document)
    assert other('f 1; echo "$x" ${!arr[@]} $PWD $-') == ("f 1 v\na b 3 /tmp huBc\n", 0)


@pytest.mark.parametrize(
    "damage",
    [{"version": 99}, {"variables": {"x": 1}}, {"umask": "no"}, {"functions": {"f": {"source": "x"}}}],
)
def test_a_damaged_document_changes_nothing(damage: dict[str, object]) -> None:
    """A document that is not well formed is refused, and the shell is as it was."""
    session = Session()
    session("x=1")
    with pytest.raises(StateError):
        apply_state(session.shell, {**state_of(session.shell), **damage})
    assert session("echo $x") == ("1\n", 0)


def test_analysis_names_what_a_script_would_touch() -> None:
    """`analyze` finds commands, files and variables, also inside substitutions and functions."""
    found = analyze(
        'f() { rm -rf "$dir"; }; f; for x in $(ls /etc); do ((n+=1)); done > out.txt; cat < in.txt; eval "$c"'
    )
    assert found.commands == ["rm", "ls", "cat", "eval"]
    assert found.functions == ["f"]
    assert (found.reads, found.writes, found.paths) == (["in.txt"], ["out.txt"], ["/etc"])
    assert {"dir", "c"} <= set(found.variables)
    assert {"x", "n"} <= set(found.assigned)
    assert found.dynamic
    assert analyze("echo (").error


@pytest.mark.parametrize(
    ("script", "commands", "paths"),
    [
        ("rm data.csv *.log; cp a b", ["rm", "cp"], ["data.csv", "*.log", "a", "b"]),
        ("find src -type f -exec rm -f {} \\; -print", ["find", "rm"], []),
        ("find -exec {} \\;", ["find"], []),
        ("ls | xargs -n 1 -I{} mv {} old/x", ["ls", "xargs", "mv"], ["{}", "old/x"]),
        ("env -u A X=1 timeout -k 5 10 python3 s.py", ["env", "timeout", "python3"], ["s.py"]),
        ("nice -n5 -- shred k; command -v git", ["nice", "shred", "command", "git"], ["k"]),
        ('timeout "$t" rm -rf ~', ["timeout", "rm"], ["~"]),
        ("sed -i 's/a.b/c/' f.txt; sed -e p g.txt; grep a.b .", ["sed", "grep"], ["f.txt", "g.txt", "."]),
        ("for f in *.csv x; do wc $f; done", ["wc"], ["*.csv"]),
        ("echo 1.5 a=b.c -x.txt", ["echo"], []),
    ],
)
def test_analysis_sees_through_commands_that_run_others(
    script: str, commands: list[str], paths: list[str]
) -> None:
    """Commands that env, timeout, xargs, find and their like run are named, and operands that are files."""
    found = analyze(script)
    assert (found.commands, found.paths, found.error) == (commands, paths, "")


def test_many_stars_take_no_longer_than_the_text() -> None:
    """A pattern of many stars is decided without trying every way to divide the text among them."""
    session = Session()
    pattern = "*a" * 12 + "b"
    session("x=$(printf 'a%.0s' {1..5000}); y=${x}b")
    assert session(f"[[ $x == {pattern} ]]; echo $?; [[ $y == {pattern} ]]; echo $?") == ("1\n0\n", 0)
    assert session(f"z=${{x%%{pattern}}}; echo ${{#z}}; z=${{y#{pattern}}}; echo ${{#z}}") == ("5000\n0\n", 0)
    assert session(f"case $x in {pattern}) echo yes;; *) echo no;; esac") == ("no\n", 0)
