"""`ulimit` in the shell of a session, and disks that are full."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import planaria

pytestmark = pytest.mark.slow


@pytest.fixture
def bash() -> Iterator[planaria.Bash]:
    with planaria.Bash() as shell:
        yield shell


def test_a_command_cannot_make_a_file_too_large(bash: planaria.Bash) -> None:
    """With `ulimit -f` a command's file has the blocks that are allowed, and the command dies of SIGXFSZ; where
    that is ignored, it fails and reports why."""
    result = bash.execute("ulimit -f 2; head -c 5000 /dev/zero > f; echo $?; wc -c < f")
    assert result.stdout == "153\n2048\n"
    assert "File size limit exceeded" in result.stderr
    result = bash.execute("trap '' XFSZ; for c in cat 'awk 1'; do yes | head -c 5000 | $c > f; echo $?; done")
    assert result.stdout == "1\n2\n"
    assert result.stderr == "cat: write error: File too large\nawk: write error: File too large\n"


def test_a_shell_that_makes_a_file_too_large_ends(bash: planaria.Bash) -> None:
    """A builtin that writes too much is SIGXFSZ for the shell; with a trap for it, an error of the builtin."""
    script = "ulimit -f 1; printf %05000d 1 > f; echo not reached"
    assert (bash.execute(script).exit_code, len(bash.files.read_bytes("f"))) == (153, 1024)
    result = bash.execute("trap 'echo caught' XFSZ; printf %05000d 1 > f; echo $?")
    assert result.stdout == "caught\n1\n"
    assert result.stderr == "bash: line 1: printf: write error: File too large\n"
    result = bash.execute("trap '' XFSZ; exec 3>f; printf %05000d 1 >&3; echo $?; exec 3>&-")
    assert result.stdout == "1\n"


def test_limits_of_a_subshell_stay_there(bash: planaria.Bash) -> None:
    """A limit that a subshell sets binds it, is inherited further down, and does not come out."""
    result = bash.execute(
        "(ulimit -f 1; ulimit -n 10; (ulimit -f); (printf %05000d 1 > f)); echo $?; printf %05000d 1 > g; "
        "ulimit -f; ulimit -n; wc -c < f; wc -c < g"
    )
    assert result.stdout == "1\n153\nunlimited\n1024\n1024\n5000\n"


def test_limits_are_inherited_by_programs(bash: planaria.Bash) -> None:
    """A script that is run as a program has the limits of the shell that runs it, and cannot change those."""
    bash.files.write_text("inner.sh", "ulimit -f; ulimit -f 1; printf %05000d 1 > f\n")
    result = bash.execute("ulimit -f 3; bash inner.sh; echo $?; ulimit -f")
    assert result.stdout == "3\n153\n3\n"


def test_open_files_are_bounded(bash: planaria.Bash) -> None:
    """With `ulimit -n` neither the shell nor a program has more files open, and higher numbers are refused."""
    result = bash.execute(
        "ulimit -n 12; exec 13>f; echo $?; python3 -c '\n"
        "files = []\n"
        "try:\n"
        '    while True: files.append(open("/etc/passwd"))\n'
        "except OSError as error: print(len(files))'"
    )
    assert result.stdout == "1\n9\n"
    assert "13: Bad file descriptor" in result.stderr
    assert bash.session.execute("len([open('/etc/passwd') for _ in range(20)])").value == 20


@pytest.mark.parametrize(
    "what", ["while :; do :; done", "python3 -c 'while 1: pass'", "awk 'BEGIN{while(1);}'"]
)
def test_processor_time_is_bounded(bash: planaria.Bash, what: str) -> None:
    """With `ulimit -t` whatever takes longer is killed: status 137, or 152 where the hard limit is higher."""
    assert bash.execute(f"(ulimit -t 1; {what}); echo $?").stdout.strip() == "137"
    assert bash.execute(f"ulimit -S -t 1; {what}").exit_code == 152


def test_variables_are_bounded_by_virtual_memory(bash: planaria.Bash) -> None:
    """With `ulimit -v` a script whose variables hold more ends with an error; the shell stays usable."""
    result = bash.execute("ulimit -v 1000; x=begun; for ((;;)); do x+=$x; done")
    assert (result.exit_code, result.stderr) == (1, "bash: line 1: cannot allocate memory\n")
    assert bash.execute("echo ${x::5}").stdout == "begun\n"


def test_processes_are_bounded(bash: planaria.Bash) -> None:
    """With `ulimit -u` a job that is one too many cannot be started, which ends the script."""
    result = bash.execute("ulimit -u 3; sleep 9 & sleep 9 & sleep 9 & echo not reached")
    assert (result.exit_code, result.stdout) == (254, "")
    assert result.stderr == "bash: line 1: fork: Resource temporarily unavailable\n"


def test_a_hard_limit_is_not_raised(bash: planaria.Bash) -> None:
    """A soft limit goes up to the hard one, which only goes down, as for a user without privileges."""
    result = bash.execute("ulimit -f 10; ulimit -Sf 9; ulimit -Sf 10; ulimit -f; ulimit -f 11; echo $?")
    assert result.stdout == "10\n1\n"
    assert "file size: cannot modify limit: Operation not permitted" in result.stderr


def test_limits_are_state(bash: planaria.Bash) -> None:
    """Limits are in snapshots and in the readable state, and bind in the shell that goes on."""
    bash.execute("ulimit -Sf 1; ulimit -n 500")
    state = bash.state()
    assert (state["limits"]["f"], state["limits"]["n"]) == ([1, None], [500, 500])
    for other in (planaria.Bash.from_state(state), planaria.Bash.from_snapshot(bash.snapshot())):
        with other:
            result = other.execute("ulimit -n; head -c 3000 /dev/zero > f; wc -c < f")
            assert result.stdout == "500\n1024\n"


@pytest.mark.parametrize(
    "limits",
    [{"Z": [1, 1]}, {"f": [1]}, {"f": [2, 1]}, {"f": [None, 1]}, {"f": [-1, 1]}, {"f": ["1", "2"]}, 5],
)
def test_limits_in_a_state_are_checked(bash: planaria.Bash, limits: object) -> None:
    """A state with limits that cannot be is refused."""
    with pytest.raises(planaria.SnapshotError, match="limits"):
        planaria.Bash.from_state({**bash.state(), "limits": limits})


def test_python_of_the_session_is_not_bound(bash: planaria.Bash) -> None:
    """What `ulimit` sets binds the shell and its commands, not the session's Python."""
    bash.execute("ulimit -f 1; : > f")
    assert bash.session.execute("open('f', 'w').write('x' * 5000)").value == 5000
    assert bash.execute("wc -c < f").stdout == "5000\n"


def test_a_full_disk_is_an_error_of_what_writes() -> None:
    """Where a quota is used up, builtins, groups and commands fail and say so, and the script goes on."""
    with planaria.Bash(quota=planaria.Quota(bytes=20_000)) as bash:
        result = bash.execute(
            "printf %050000d 1 > f; echo $?; { printf %050000d 1; } > f; echo $?; rm f; echo on"
        )
        assert result.stdout == "1\n1\non\n"
        assert result.stderr == (
            "bash: line 1: printf: write error: No space left on device\n"
            "bash: line 1: write error: No space left on device\n"
        )
        result = bash.execute("exec 3>f; printf %050000d 1 >&3")
        assert (result.exit_code, result.stderr) == (
            1,
            "bash: line 1: write error: No space left on device\n",
        )
