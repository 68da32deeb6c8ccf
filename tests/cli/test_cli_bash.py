from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import pytest
from planaria_process import COMMAND, Run

pytestmark = pytest.mark.slow


def test_a_script_runs_with_its_arguments(planaria: Run, tmp_path: Path) -> None:
    """FILE is $0 and what follows are $1 and so on, options included; messages begin with its name."""
    (tmp_path / "script.sh").write_text('echo "$0" "$#" "$2"; nope; exit 4')
    done = planaria("bash", "script.sh", "one", "-c")
    assert (done.returncode, done.stdout) == (4, b"script.sh 2 -c\n")
    assert done.stderr == b"script.sh: line 1: nope: command not found\n"


def test_text_and_standard_input_are_scripts_too(planaria: Run) -> None:
    """-c takes the script from the command line as bash does; without it, standard input is the script."""
    assert planaria("bash", "-c", "echo $0 $1", "name", "one").stdout == b"name one\n"
    done = planaria("bash", stdin=b"x=1\necho $0 $x\n(exit 5)")
    assert (done.returncode, done.stdout) == (5, b"bash 1\n")


def test_a_script_reads_standard_input(planaria: Run) -> None:
    """`read` takes one line of this process's standard input, and a command after it the rest."""
    done = planaria("bash", "-c", 'read x; echo "<$x>"; tr a-z A-Z', stdin=b"one\ntwo\n\xff\n")
    assert done.stdout == b"<one>\nTWO\n\xff\n"


@pytest.mark.parametrize("data", [b"abc", b"a\r\nb\r", b"\n\n", b"\x00\xff\r\n\x1f\x8b" * 9000 + b"\xfe"])
def test_standard_input_byte_for_byte(planaria: Run, data: bytes) -> None:
    """A script gets the bytes of standard input as they are, also without a newline at their end."""
    assert planaria("bash", "-c", "cat", stdin=data).stdout == data
    assert planaria("bash", "-c", "read -r x; cat", stdin=b"first\n" + data).stdout == data


def test_the_trap_on_exit_runs_at_the_end(planaria: Run) -> None:
    """The trap on EXIT runs once, whether the script calls exit or ends."""
    assert planaria("bash", "-c", "trap 'echo bye' EXIT; echo hi").stdout == b"hi\nbye\n"
    done = planaria("bash", "-c", "trap 'echo bye; exit 6' EXIT; exit 3")
    assert (done.returncode, done.stdout) == (6, b"bye\n")


def test_options_are_those_of_run(planaria: Run, tmp_path: Path) -> None:
    """--mount and --timeout hold for scripts as they do for programs."""
    (tmp_path / "data.txt").write_text("here\n")
    assert planaria("bash", "--mount", f"{tmp_path}:/data", "-c", "cat /data/data.txt").stdout == b"here\n"
    done = planaria("bash", "--timeout", "0.5", "-c", "echo begun; while :; do :; done")
    assert (done.returncode, done.stdout) == (124, b"begun\n")
    assert done.stderr.startswith(b"planaria: stopped after 0.5 s")


def test_a_script_that_is_not_there(planaria: Run) -> None:
    """A FILE that cannot be read is reported, with bash's status 127."""
    done = planaria("bash", "missing.sh")
    assert (done.returncode, done.stderr) == (127, b"planaria: missing.sh: No such file or directory\n")


def test_a_syntax_error_exits_with_2(planaria: Run) -> None:
    """A script that is not well formed exits with 2 after what stands before the error has run."""
    done = planaria("bash", "-c", "echo one\nfi")
    assert (done.returncode, done.stdout) == (2, b"one\n")


def test_ctrl_c_ends_a_script_with_130(environment: dict[str, str]) -> None:
    """Ctrl-C stops a script that computes or sleeps."""
    command = [*COMMAND, "bash", "-c", "echo begun >&2; sleep 60"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == b"begun\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


@pytest.mark.parametrize(
    ("traps", "status", "printed"),
    [
        ('trap "echo bye" EXIT', 130, b"bye\n"),
        ('trap "echo int; exit 9" INT; trap "echo bye" EXIT', 9, b"int\nbye\n"),
        ('trap "echo int" INT', 130, b"int\n"),
    ],
)
def test_ctrl_c_runs_the_traps(
    environment: dict[str, str], tmp_path: Path, traps: str, status: int, printed: bytes
) -> None:
    """Ctrl-C runs the trap on INT, which may choose the exit status, and the one on EXIT."""
    (tmp_path / "long.sh").write_text(f"{traps}\necho begun >&2\nsleep 60\n")
    for arguments in (["-c", f"{traps}; echo begun >&2; sleep 60"], ["long.sh"]):
        with subprocess.Popen(
            [*COMMAND, "bash", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=environment,
            cwd=tmp_path,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stderr.readline() == b"begun\n"
            process.send_signal(signal.SIGINT)
            assert (process.wait(60), process.stdout.read()) == (status, printed)


def test_a_timeout_runs_the_trap_on_exit(planaria: Run) -> None:
    """A script that --timeout stops runs its trap on EXIT."""
    done = planaria("bash", "--timeout", "0.5", "-c", "trap 'echo bye' EXIT; while :; do :; done")
    assert (done.returncode, done.stdout) == (124, b"bye\n")


def test_a_script_knows_its_file(planaria: Run, tmp_path: Path) -> None:
    """BASH_SOURCE is $0 in a script of its own, messages name it, and it finds what a mount shows beside it."""
    (tmp_path / "tools").mkdir()
    script = 'main() { echo "$1 ${BASH_SOURCE[0]}"; }\n[[ "${BASH_SOURCE[0]}" == "$0" ]] && main "$@"\nnope\n'
    (tmp_path / "tools/main.sh").write_text(script)
    done = planaria("bash", "tools/main.sh", "a b")
    assert (done.returncode, done.stdout) == (127, b"a b tools/main.sh\n")
    assert done.stderr == b"tools/main.sh: line 3: nope: command not found\n"
    (tmp_path / "tools/library.sh").write_text("greet() { echo hello; }\n")
    (tmp_path / "tools/main.sh").write_text('source "$(dirname "$0")/library.sh"\ngreet\n')
    assert planaria("bash", "--mount", f"{tmp_path}:/w", "tools/main.sh").stdout == b"hello\n"


if sys.platform != "win32":
    from planaria_terminal import CTRL_C, CTRL_D, ENTER, TAB, Terminal

    @pytest.fixture
    def terminal(environment: dict[str, str], tmp_path: Path) -> Iterator[Terminal]:
        one = Terminal(environment, tmp_path, "bash")
        one.wait_for("user@planaria:~$")
        yield one
        one.close()

    def test_a_conversation_with_the_shell(terminal: Terminal) -> None:
        """State lasts, the prompt follows the shell, a command may take several lines, Ctrl-D leaves."""
        terminal.type(f"x=41; mkdir -p deep; cd deep{ENTER}")
        terminal.wait_for("user@planaria:~/deep$")
        terminal.type(f"PS1='ne''xt> '{ENTER}")
        terminal.wait_for("next>")
        terminal.type(f"for i in 1 2; do{ENTER}echo turn-$((x + i)){ENTER}done{ENTER}")
        assert "turn-42\r\nturn-43\r\n" in terminal.wait_for("turn-43\r\nnext>")
        terminal.type(f"echo do''ne; false{ENTER}")
        terminal.wait_for("done\r\n")
        terminal.wait_for("next>")
        terminal.type(CTRL_D)
        assert terminal.end() == 1

    def test_tab_completes_from_the_live_shell(terminal: Terminal) -> None:
        """Commands, variables and files complete from what the shell knows now."""
        terminal.type("eval greet_$((6 * 7))'() { echo got-$1; }'; touch file_$((6 * 8)); ")
        terminal.type(f"echo do''ne{ENTER}")
        terminal.wait_for("done\r\n")
        terminal.wait_for("~$")
        terminal.type(f"gree{TAB}")
        terminal.wait_for("42")
        terminal.type(f" fil{TAB}")
        terminal.wait_for("48")
        terminal.type(ENTER)
        terminal.wait_for("got-file_48\r\n")

    def test_ctrl_c_stops_the_script_and_not_the_shell(terminal: Terminal) -> None:
        """A script that runs is interrupted, and the shell goes on with what it had reached."""
        terminal.type(f"y=kept; echo be''gun >&2; while :; do :; done{ENTER}")
        terminal.wait_for("begun\r\n")
        terminal.type(CTRL_C)
        terminal.wait_for("~$")
        terminal.type(f"echo still-$y-$?{ENTER}")
        terminal.wait_for("still-kept-")
        terminal.type(f"exit 9{ENTER}")
        assert terminal.end() == 9


#: Scripts whose errors end more or less, with another status, by where the shell has its commands from.
ENDS = {
    "message": "echo a; : ${nope:?gone}; echo b\necho c",
    "nounset": "set -u; echo $nope; echo b\necho c",
    "arithmetic": "set -u; (( nope + 1 )); echo b\necho c",
    "readonly": "readonly r=1\nf() { r=2; echo b; }\nf; echo c\necho d $?",
    "trap": "trap 'echo bye $?' EXIT; : ${nope?}",
    "return": "return 3; echo b\necho c $?",
    "source": 'f() { echo "${FUNCNAME[*]} ${BASH_LINENO[*]}"; }\nf\necho "$- ${#BASH_SOURCE[@]}"; (exit 5)',
    "subshell": "( : ${nope?}; echo a ); echo $?",
}


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to compare with")
@pytest.mark.parametrize("way", ["file", "text", "input"])
def test_an_error_ends_what_it_ends_in_bash(planaria: Run, tmp_path: Path, way: str) -> None:
    """A script's errors end as much of it, and with the same status, as in bash: from a file, -c or a pipe."""
    script = "".join(
        f"cat > {name}.sh <<'END'\n{text}\nEND\nrun {name} {quote(text)}; echo \"$?\"\n"
        for name, text in ENDS.items()
    )
    run = {"file": "bash $1.sh", "text": 'bash -c "$2"', "input": "bash < $1.sh"}[way]
    script = f"run() {{ {run}; }}\n{script}"
    real = subprocess.run(["bash", "-c", script], cwd=tmp_path, stdout=subprocess.PIPE)
    assert planaria("bash", "-c", script).stdout == real.stdout
    # The command itself takes its script in the same ways.
    for name in ("message", "readonly", "source"):
        text = ENDS[name]
        (tmp_path / f"{name}.sh").write_text(text)
        arguments = {"file": [f"{name}.sh"], "text": ["-c", text], "input": []}[way]
        given = text.encode() if way == "input" else b""
        theirs = subprocess.run(["bash", *arguments], cwd=tmp_path, input=given, stdout=subprocess.PIPE)
        ours = planaria("bash", *arguments, stdin=given)
        assert (ours.returncode, ours.stdout) == (theirs.returncode, theirs.stdout)


def test_an_image_is_for_scripts_too(planaria: Run) -> None:
    """--image names what the script's files begin from; one that does not exist is reported."""
    done = planaria("bash", "--image", "no-such-image", "-c", "echo hi")
    assert done.returncode != 0
    assert b"no-such-image" in done.stderr
