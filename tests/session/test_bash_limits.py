"""What stops the scripts of a shell: its limits, timeouts, memory."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest

import planaria

# -- how it ends -----------------------------------------------------------------------------------------


def test_a_timeout_keeps_what_was_reached(bash: planaria.Bash) -> None:
    """A script that runs out of time raises TimeoutError with its output; variables and files stay."""
    with pytest.raises(planaria.TimeoutError) as caught:
        bash.execute("echo begun | tee f; i=0; while :; do ((i++)); done", timeout=0.5)
    assert caught.value.stdout == "begun\n"
    assert bash.execute("((i > 10)) && cat f").stdout == "begun\n"
    with pytest.raises(planaria.TimeoutError):
        bash.execute("sleep 60", timeout=0.3)
    with pytest.raises(planaria.TimeoutError):
        bash.execute("yes > /dev/null", timeout=0.3)
    assert bash.execute("f() { echo $((i > 10)); }; f").stdout == "1\n"


# -- limits ----------------------------------------------------------------------------------------------

EXCEEDED = {
    "commands": "while true; do true; done",
    "iterations": "while :; do ((i++)); done",
    "substitution_depth": "f() { echo $(f); }; f",
    "substitution_bytes": "x=$(yes)",
    "variable_bytes": "x=a; while :; do x+=$x; done",
}


@pytest.mark.parametrize("limit", EXCEEDED)
def test_a_limit_is_named_and_keeps_the_output(limit: str) -> None:
    """A script that reaches a limit ends with status 1 and a message with its name; the shell stays usable."""
    bounds = planaria.ShellLimits(
        commands=8_000,
        iterations=5_000,
        substitution_depth=10,
        substitution_bytes=100_000,
        variable_bytes=100_000,
    )
    with planaria.Bash(shell_limits=bounds) as bash:
        result = bash.execute(f"y=1; echo before; {EXCEEDED[limit]}; echo after")
        assert (result.stdout, result.exit_code) == ("before\n", 1)
        assert f"limit reached: {limit} (" in result.stderr
        assert bash.execute("echo $y").stdout == "1\n"
        bash.session.reset()
        assert f"limit reached: {limit} (" in bash.execute(EXCEEDED[limit]).stderr


@pytest.mark.parametrize(
    "growth",
    [
        "while :; do a+=(0123456789); done",
        "while :; do a[i++]=0123456789; done",
        "declare -A m; while :; do m[$((i++))]=0123456789; done",
        'while :; do eval "v$((i++))=0123456789"; done',
        "while :; do x+=0123456789; done",
        "f() { local x=$1$1; f $x; }; f 0123456789",
        "mapfile -t a < <(yes 0123456789)",
        "printf -v x '%*s' 200000 ''",
    ],
)
def test_variables_of_every_kind_are_bounded(growth: str) -> None:
    """Whatever makes variables grow without end is stopped by variable_bytes."""
    with planaria.Bash(shell_limits=planaria.ShellLimits(variable_bytes=100_000)) as bash:
        assert "limit reached: variable_bytes (100000)" in bash.execute(growth, timeout=20).stderr


def test_the_depth_of_functions_is_bounded(bash: planaria.Bash) -> None:
    """Recursion goes deep, and too deep ends with bash's message, the output so far and a living shell."""
    bash.execute("down() { (($1 == 0)) || down $(($1 - 1)); }")
    assert bash.execute("down 1500; echo $?").stdout == "0\n"
    result = bash.execute("echo before; down 100000; echo after")
    assert (result.stdout, result.exit_code) == ("before\n", 1)
    assert "maximum function nesting level exceeded" in result.stderr
    with planaria.Bash(shell_limits=planaria.ShellLimits(function_depth=10)) as shallow:
        shallow.execute("down() { (($1 == 0)) || down $(($1 - 1)); }")
        assert shallow.execute("down 9").exit_code == 0
        assert "(10)" in shallow.execute("down 10").stderr


@pytest.mark.parametrize(
    "bomb",
    [
        "bomb() { bomb | bomb & }",
        "bomb() { bomb & bomb & }",
        "bomb() { (bomb; bomb); }",
        "bomb() { bash -c 'bomb & bomb &'; }; export -f bomb",
        "bomb() { coproc bomb; bomb & }",
    ],
)
def test_a_fork_bomb_ends(bash: planaria.Bash, bomb: str) -> None:
    """What starts itself twice in whatever way ends with an error that says why, and the shell stays usable."""
    result = bash.execute(f"{bomb}; bomb", timeout=60)
    assert "substitution_depth (400)" in result.stderr or "maximum nesting level exceeded" in result.stderr
    assert result.exit_code == 1
    assert bash.execute("echo alive").stdout == "alive\n"


def test_a_full_disk_is_an_error() -> None:
    """Writing without end meets the quota: the message of ENOSPC, a status, and room again after rm."""
    with planaria.Bash(quota=planaria.Quota(bytes=10 << 20)) as bash:
        result = bash.execute("yes > big")
        assert (result.exit_code, result.stderr) == (1, "yes: write error: No space left on device\n")
        result = bash.execute("while echo line; do :; done > more")
        assert "No space left on device" in result.stderr
        assert bash.execute("rm big; echo fits > small; cat small").stdout == "fits\n"


def test_exhausted_memory_is_an_error_of_the_script() -> None:
    """A script that wants more memory than there is ends with status 1; the shell goes on as it was."""
    limits = planaria.Limits(memory=128 << 20)
    with planaria.Bash(limits=limits, shell_limits=planaria.ShellLimits(variable_bytes=None)) as bash:
        result = bash.execute("y=kept; echo before; x=a; while :; do x=$x$x; done")
        assert (result.stdout, result.exit_code) == ("before\n", 1)
        assert result.stderr == "bash: line 1: cannot allocate memory\n"
        assert bash.execute("echo $y").stdout == "kept\n"


@pytest.mark.parametrize("bound", [0, -1, 1.5, True, "many"])
def test_a_bound_that_makes_no_sense_is_refused(bound: object) -> None:
    """ShellLimits takes whole numbers from 1 on, or None."""
    with pytest.raises((ValueError, TypeError), match=r"ShellLimits\(commands="):
        planaria.ShellLimits(commands=bound)  # type: ignore[arg-type]


LONG_LOOPS = {
    "numbers": "for ((i = 0; i < 3000; i++)); do ((s += i * i % 7, n ^= s << 40, m = -n / 3)); done; echo $s $n $m",
    "texts": "for i in {1..2000}; do p=/a/b$i/c.tar.gz; x=${p##*/}; y=${x%%.*}; z=${p//b/d}; s+=${z:3:4}; done; "
    "echo $x $y $z ${#s}",
    "arrays": "a=(x); declare -A m; for i in {1..1500}; do a+=($i); m[k$((i % 50))]=$i; a[i / 2]+=y; done; "
    'for x in "${a[@]}"; do n=$((n + ${#x})); done; echo ${#a[@]} $n ${m[k7]} ${a[700]}',
    "calls": "fib() { (($1 < 2)) && { r=$1; return; }; fib $(($1 - 1)); local a=$r; fib $(($1 - 2)); r=$((r + a)); }; "
    "fib 14; echo $r ${a-none}",
    "lines": 'for i in {1..2000}; do echo "line $i  of many"; done | { while read -r a b rest; do ((n += b)); done; '
    "echo $n $rest; }",
    "conditions": "for i in {1..2000}; do case $i in *5) ((n++));; 1*) ((n += 2));; esac; [ $i -gt 1990 ] && echo $i; "
    "[[ $i =~ ^1(.)0+$ ]] && echo ${BASH_REMATCH[1]}; done; echo $n",
    "an end by set -e": "set -e; for i in {1..2000}; do [ $i -lt 1500 ]; n=$i; done; echo not here",
}


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to compare with")
@pytest.mark.parametrize("name", LONG_LOOPS)
def test_long_loops_do_what_bash_does(bash: planaria.Bash, name: str) -> None:
    """Loops that are long enough to be translated give what real bash gives, the first time and again."""
    script = LONG_LOOPS[name]
    real = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    for _ in range(2):
        result = bash.execute(f"bash -c {shlex.quote(script)}")
        assert (result.stdout, result.exit_code) == (real.stdout, real.returncode)


@pytest.mark.parametrize(
    "loop", ["while :; do ((i++)); done", "f() { while :; do let i++; done; }; f", "sleep 9"]
)
def test_timeout_ends_what_computes(bash: planaria.Bash, loop: str) -> None:
    """`timeout` ends a script that neither writes nor sleeps, as it ends one that sleeps."""
    assert bash.execute(f"timeout 0.2 bash -c '{loop}'; echo $?").stdout == "124\n"


@pytest.mark.parametrize(
    ("reader", "lines"),
    [("head -2", 2), ("head", 10), ("head -n 100000", 100_000), ("head -c6 | cat", 3)],
)
def test_python_that_never_stops_writing_ends_with_its_reader(
    bash: planaria.Bash, reader: str, lines: int
) -> None:
    """A script without end is stopped, as by a broken pipe, when the `head` after it has what it wants."""
    result = bash.execute(f"python3 -c 'while True: print(1)' | {reader} | wc -l; echo ${{PIPESTATUS[0]}}")
    assert result.stdout.split() == [str(lines), "141"]
    assert result.stderr == ""


def test_timeout_ends_what_does_not_write(bash: planaria.Bash) -> None:
    """`timeout` in a pipeline ends a command that computes or sleeps, with status 124."""
    for script in ("while True: pass", "import time; time.sleep(60)"):
        result = bash.execute(f"timeout 0.2 python3 -c '{script}' | cat; echo ${{PIPESTATUS[0]}}", timeout=20)
        assert result.stdout == "124\n"


def test_the_status_after_an_interrupt_is_that_of_ctrl_c(bash: planaria.Bash) -> None:
    """After a script was stopped, the error names the script's line, and $? is 130."""
    for loop in (
        "while :; do :; done",
        "while :; do false; done",
        "sleep 9",
        "(sleep 9) | cat",
        "f() {\nsleep 9; }; f",
    ):
        with pytest.raises(planaria.TimeoutError) as caught:
            bash.execute(f"echo one\n\n{loop}", timeout=0.2)
        assert caught.value.lineno == 3 + loop.count("\n")
    assert bash.execute("echo $?").stdout == "130\n"


@pytest.mark.parametrize("command", ["grep x", "sort", "diff - /dev/null"])
def test_memory_that_is_used_up_is_no_answer(command: str) -> None:
    """grep, sort and diff that run out of memory end with 2, since 1 would be an answer."""
    with planaria.Bash(limits=planaria.Limits(memory=96 << 20)) as bash:
        result = bash.execute(f"head -c 300000000 /dev/zero | {command}")
        assert (result.exit_code, result.stdout) == (2, "")
        assert bash.execute("echo alive").stdout == "alive\n"
