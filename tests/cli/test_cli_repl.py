from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from planaria_process import Run

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are POSIX", allow_module_level=True)

from planaria_terminal import CTRL_C, CTRL_D, ENTER, TAB, Terminal

pytestmark = pytest.mark.slow


@pytest.fixture
def terminal(environment: dict[str, str], tmp_path: Path) -> Iterator[Terminal]:
    one = Terminal(environment, tmp_path)
    one.wait_for("[1]>")
    yield one
    one.close()


def test_a_conversation(terminal: Terminal) -> None:
    """Cells share their state, values are shown, blocks take several lines, and Ctrl-D leaves."""
    terminal.run("x = 41")
    assert "42\r\n" in terminal.run("x + 1")
    assert "turn 0\r\nturn 1\r\n" in terminal.run(f"for i in range(2):{ENTER}print('turn', i){ENTER}")
    assert "7\r\n" in terminal.run("await __import__('asyncio').sleep(0, 7)")
    assert "no newline\r\n" in terminal.run("print('no new' + 'line', end='')")
    terminal.type(CTRL_D)
    assert terminal.end() == 0


def test_an_error_leaves_the_session_as_it_was(terminal: Terminal) -> None:
    """An exception is shown as a traceback with the cell's line, and the next cell runs."""
    shown = terminal.run("x = 3; 1/0")
    assert 'File "<cell 1>", line 1' in shown
    assert "ZeroDivisionError: division by zero" in shown
    assert "3\r\n" in terminal.run("x")
    terminal.type("exit(5)" + ENTER)
    assert terminal.end() == 5


def test_ctrl_c_stops_the_cell_and_keeps_the_session(terminal: Terminal) -> None:
    """Ctrl-C stops a cell that computes or waits for input, and clears a line that is being typed."""
    terminal.run("n = 0")
    terminal.type("while True: n += 1; n == 1 and print('run' + 'ning')" + ENTER)
    terminal.wait_for("running")
    terminal.type(CTRL_C)
    terminal.wait_for("interrupted")
    terminal.wait_for("[3]>")
    terminal.type("input('wh' + 'o?')" + ENTER)
    terminal.wait_for("who?")
    terminal.type(CTRL_C)
    terminal.wait_for("interrupted")
    terminal.wait_for("[4]>")
    terminal.type("nonsense(")
    terminal.wait_for("nonsense(")
    terminal.type(CTRL_C)
    terminal.wait_for("[4]>")
    terminal.cells = 3
    assert "True\r\n" in terminal.run("n > 0")


def test_input_is_typed_at_the_terminal(terminal: Terminal) -> None:
    """input() asks the person at the terminal."""
    terminal.type("input('wh' + 'o?').upper()" + ENTER)
    terminal.wait_for("who?")
    terminal.type("ann" + ENTER)
    terminal.wait_for("ann\r\n'ANN'\r\n")


def test_completion_comes_from_the_session(terminal: Terminal) -> None:
    """Tab completes what the session's variables have."""
    terminal.run("class A: distinguished = 'attribute'")
    terminal.type("A.dist" + TAB)
    # The terminal is sent only what is new: the whole word, or what comes after the letters it has already.
    terminal.wait_for("inguished")
    assert "'attribute'\r\n" in terminal.run("")


def test_directives_speak_to_the_session(terminal: Terminal, tmp_path: Path) -> None:
    """Lines that begin with % go back in time, show files, and move them between host and session."""
    terminal.run("open('note', 'w').write('first')")
    terminal.run("open('note', 'w').write('second')")
    terminal.type("%undo" + ENTER)
    terminal.wait_for("back to the state after execution 1")
    terminal.type("%files" + ENTER)
    terminal.wait_for("5  note")
    terminal.type("%get note copy" + ENTER)
    terminal.wait_for("copied to copy on this computer")
    assert (tmp_path / "copy").read_text() == "first"
    terminal.type("%nonsense" + ENTER)
    terminal.wait_for("cells have no magic %nonsense")
    terminal.type("%undo 9" + ENTER)
    terminal.wait_for("2 executions can be undone")


def test_pictures_are_saved_and_named(terminal: Terminal, tmp_path: Path) -> None:
    """A picture is saved in the working directory, and its name is shown."""
    terminal.run(f"class P:{ENTER}def _repr_png_(self): return b'picture'{ENTER}")
    assert "saved figure-1.png\r\n" in terminal.run("P()")
    assert (tmp_path / "figure-1.png").read_bytes() == b"picture"


def test_what_was_typed_is_remembered_for_the_user_only(
    terminal: Terminal, environment: dict[str, str]
) -> None:
    """The history file holds the cells and can be read by no other user."""
    terminal.run("secret = 1")
    history = Path(environment["XDG_STATE_HOME"], "planaria", "history")
    assert "+secret = 1\n" in history.read_text()
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


def test_without_a_terminal_standard_input_is_one_cell(planaria: Run) -> None:
    """Text from a pipe is run as a whole, its value is shown, and its exit status is the program's."""
    done = planaria(stdin=b"for i in range(2):\n    print(i)\ni + 41\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"0\n1\n42\n", b"")
    assert planaria(stdin=b"1/0").returncode == 1


def test_what_the_prompt_takes_beside_python(terminal: Terminal, tmp_path: Path) -> None:
    """Lines for the shell, questions about names, earlier values, timings and files, as IPython has them."""
    (tmp_path / "job.py").write_text("def double(n):\n    'Twice as much.'\n    return 2 * n\n")
    assert "6\r\n" in terminal.run("!echo $((2 * 3))")
    terminal.run("%run job.py")
    assert "42\r\n" in terminal.run("double(21)")
    shown = terminal.run("double?")
    assert "Signature: double(n)\r\n" in shown
    assert "Twice as much.\r\n" in shown
    assert "return 2 * n\r\n" in terminal.run("double??")
    assert "(42, 42)\r\n" in terminal.run("(Out[3], _3)")
    assert "[0," in terminal.run("list(range(60))")
    assert "59]}\r\n" in terminal.run("{'wide': list(range(60))}")
    assert "True\r\n" in terminal.run("import sys; sys.stdout.isatty()")
    assert "Use exit()" in terminal.run("exit")


def test_magics_at_the_prompt_are_those_of_cells(terminal: Terminal, tmp_path: Path) -> None:
    """%time shows the value, %who lists modules, and %run takes arguments for a file of the session."""
    (tmp_path / "job.py").write_text("import sys\nprint('got', sys.argv[1:])\n")
    shown = terminal.run("%time 40 + 2")
    assert "Wall time: " in shown
    assert "42\r\n" in shown
    assert "loops each)\r\n" in terminal.run("%timeit -n 5 -r 2 1 + 1")
    terminal.run("import math")
    shown = terminal.run("%who")
    assert "math\r\n" in shown
    assert "Out" not in shown
    assert "/home/user" in terminal.run("%pwd")
    terminal.type("%put job.py own.py" + ENTER)
    terminal.wait_for("copied to own.py in the session")
    terminal.wait_for("[6]>")
    assert "got ['-x', 'a b']\r\n" in terminal.run("%run own.py -x 'a b'")
    shown = terminal.run("len??")
    assert "Type:      builtin_function_or_method\r\n" in shown
    assert "Return the number of items in a container." in shown


def test_a_failed_command_of_the_shell_says_its_status(terminal: Terminal) -> None:
    """The exit status of `!command` is shown unless it is 0, and is `_exit_code` and `$?` then."""
    assert "exit status 3\r\n" in terminal.run("!(exit 3)")
    assert "3\r\n" in terminal.run("!echo $?").partition("$?")[2]
    terminal.run("!false")
    assert "41\r\n" in terminal.run("40 + _exit_code")
    assert "exit status" not in terminal.run("!true")
    assert "40\r\n" in terminal.run("40 + _exit_code")


def test_forks_at_the_prompt(terminal: Terminal) -> None:
    """A copy is kept under a name and gone on in; what one does the other does not see."""
    terminal.run("x = 1")
    for line, answer in (
        ("%fork other", "%switch other goes on from here"),
        ("%fork other", "there is a session of that name"),
        ("%switch none", "there is no session of that name"),
        ("%forks", "main (cells run here)\r\nother"),
    ):
        terminal.type(line + ENTER)
        terminal.wait_for(answer)
        terminal.wait_for("[2]>")
    terminal.run("x = 2")
    terminal.type("%switch other" + ENTER)
    terminal.wait_for("cells run in other now")
    terminal.wait_for("[2]>")
    terminal.cells = 1
    assert "1\r\n" in terminal.run("x")


def test_a_cell_in_parallel_forks(terminal: Terminal) -> None:
    """A cell runs in forks, each with its number; cells go on from the one that is chosen."""
    terminal.run("x = 10")
    code = "print('wrote', FORK)\nx += FORK\n1 // (1 - FORK) if FORK == 1 else x"
    terminal.type(f"%%parallel 3{ENTER}{code}\n{ENTER}".replace("\n", ENTER))
    shown = terminal.wait_for("until then nothing has changed")
    terminal.wait_for("[2]>")
    first, second, third = shown.partition("--- fork 0 ---")[2].split("--- fork ")
    assert "wrote 0\r\n10\r\n" in first
    assert "ZeroDivisionError" in second
    assert "wrote 2\r\n12\r\n" in third
    terminal.type("%choose 2" + ENTER)
    terminal.wait_for("cells go on from fork 2")
    terminal.wait_for("[4]>")
    terminal.cells = 3
    assert "12\r\n" in terminal.run("x")
    terminal.type("%choose 0" + ENTER)
    terminal.wait_for("there are 0 forks")
    terminal.type("%%parallel" + ENTER + "x" + ENTER + ENTER)
    terminal.wait_for("usage: %%parallel N")
