from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from planaria_process import COMMAND, Run

from planaria.session.report import as_json
from planaria.session.result import Result

pytestmark = pytest.mark.slow


def test_a_file_runs_with_its_arguments_as_sys_argv(planaria: Run, tmp_path: Path) -> None:
    """A program finds its name and everything after it in sys.argv, options included."""
    (tmp_path / "script.py").write_text("import sys\nprint(sys.argv, __name__)")
    done = planaria("run", "script.py", "one", "--json", "-x")
    assert done.stdout == b"['script.py', 'one', '--json', '-x'] __main__\n"
    assert (done.returncode, done.stderr) == (0, b"")


def test_code_and_standard_input_are_programs_too(planaria: Run) -> None:
    """-c takes the program from the command line, and - from standard input, as python does."""
    assert planaria("run", "-c", "import sys; print(sys.argv)", "a").stdout == b"['-c', 'a']\n"
    done = planaria("run", "-", "a", stdin=b"import sys\nfor x in sys.argv:\n    print(x)\n")
    assert done.stdout == b"-\na\n"


def test_a_program_comes_through_a_pipe(planaria: Run) -> None:
    """Without FILE and -c the program is standard input, and sys.argv is [''], as with python."""
    done = planaria("run", stdin=b"import sys\nprint(sys.argv)")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"['']\n", b"")


def test_output_is_passed_on_byte_for_byte(planaria: Run) -> None:
    """Bytes that are not text arrive as they were written, each on its stream."""
    code = r"import os; os.write(1, b'\xff\x00\n'); print('é', end=''); os.write(2, b'\xfe')"
    done = planaria("run", "-c", code)
    assert (done.stdout, done.stderr) == (b"\xff\x00\n\xc3\xa9", b"\xfe")


def test_output_has_no_limit_when_it_is_passed_on(planaria: Run) -> None:
    """More output than a session keeps is passed on whole."""
    code = "line = 'x' * 65535\nfor _ in range(300): print(line)"
    assert len(planaria("run", "-c", code).stdout) == 300 * 65536


def test_a_value_is_not_printed(planaria: Run) -> None:
    """A program's last expression is not shown, as with python."""
    assert planaria("run", "-c", "1 + 1").stdout == b""


@pytest.mark.parametrize(
    ("code", "status"),
    [("import sys; sys.exit(7)", 7), ("raise SystemExit", 0), ("exit(-1)", 255), ("1 / 0", 1)],
)
def test_the_exit_status_is_the_programs(planaria: Run, code: str, status: int) -> None:
    """The exit status is that of sys.exit(), or 1 after an exception."""
    assert planaria("run", "-c", code).returncode == status


def test_an_exception_is_shown_as_python_shows_it(planaria: Run, tmp_path: Path) -> None:
    """The traceback on standard error names the program's file and shows its line."""
    (tmp_path / "bad.py").write_text("def f():\n    return {}['x']\nf()\n")
    done = planaria("run", "bad.py")
    assert done.returncode == 1
    text = done.stderr.decode()
    assert text.startswith("Traceback (most recent call last):\n")
    assert 'File "bad.py", line 2, in f' in text
    assert text.endswith("KeyError: 'x'\n")


def test_a_message_of_sys_exit_goes_to_standard_error(planaria: Run) -> None:
    """sys.exit("text") prints the text on standard error and exits with 1."""
    done = planaria("run", "-c", "import sys; sys.exit('no such thing')")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"no such thing\n")


def test_input_reads_standard_input(planaria: Run) -> None:
    """input() gives line after line, prompts go to standard output, and the end raises EOFError."""
    code = "print([input('name? '), input(), input()])\ntry: input()\nexcept EOFError: print('end')"
    done = planaria("run", "-c", code, stdin="Zoë\n\nlast".encode())
    assert done.stdout.decode() == "name? ['Zoë', '', 'last']\nend\n"


@pytest.mark.parametrize("data", [b"abc", b"a\r\nb\rc", b"\n", b"a\n\nb\n"])
@pytest.mark.parametrize(
    "code",
    [
        "import sys; print(repr(sys.stdin.read()))",
        "import sys; print(list(sys.stdin))",
        "import sys; print(sys.stdin.buffer.read())",
        "import sys; print(repr(input()), repr(sys.stdin.readline(1)), repr(sys.stdin.read()))",
    ],
)
def test_standard_input_is_what_python_reads(planaria: Run, data: bytes, code: str) -> None:
    """Text and bytes of standard input are those that python3 reads, whether or not a newline ends them."""
    native = subprocess.run([sys.executable, "-c", code], input=data, stdout=subprocess.PIPE, check=True)
    assert planaria("run", "-c", code, stdin=data).stdout == native.stdout


@pytest.mark.parametrize("command", [["serve"], ["mcp", "--http"]])
def test_a_port_that_is_none(planaria: Run, command: list[str]) -> None:
    """A port beyond those there are is refused with the range."""
    done = planaria(*command, "--port", "99999")
    assert done.returncode == 2
    assert b"99999 is not in the range 0<=x<=65535" in done.stderr


@pytest.mark.parametrize("code", ["while True: pass", "await __import__('asyncio').sleep(60)"])
def test_a_timeout_exits_with_124(planaria: Run, code: str) -> None:
    """A program that runs over --timeout is stopped; one line says so."""
    done = planaria("run", "--timeout", "0.5", "-c", f"print('on', 'time')\n{code}")
    assert (done.returncode, done.stdout) == (124, b"on time\n")
    assert done.stderr == b"planaria: stopped after 0.5 s at line 2\n"


def test_a_timeout_ends_a_read_that_is_not_answered(environment: dict[str, str]) -> None:
    """A program that waits for input which never comes is stopped as well."""
    command = [*COMMAND, "run", "--timeout", "0.3", "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, stderr=subprocess.PIPE) as process:
        assert process.wait(60) == 124


@pytest.mark.parametrize("code", ["while True: pass", "import time; time.sleep(60)", "input()"])
def test_ctrl_c_exits_with_130(environment: dict[str, str], code: str) -> None:
    """Ctrl-C stops a program that computes, sleeps or waits for input."""
    command = [*COMMAND, "run", "-c", f"print('begun')\n{code}"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert re.fullmatch(rb"planaria: interrupted at line [12]\n", process.stderr.read())


@pytest.mark.parametrize(
    ("end", "status", "printed"),
    [("", 0, b"handled\n"), ("sys.exit(7)", 7, b"handled\n"), ("raise ValueError('no')", 1, b"handled\n")],
)
def test_a_program_that_handles_ctrl_c_ends_as_it_says(
    environment: dict[str, str], end: str, status: int, printed: bytes
) -> None:
    """When the program handles KeyboardInterrupt, the exit status is the one that it ends with."""
    code = (
        "import sys\ntry:\n    print('begun')\n    while True: pass\n"
        f"except KeyboardInterrupt:\n    print('handled')\n    {end}"
    )
    command = [*COMMAND, "run", "-c", code]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(signal.SIGINT)
        assert (process.wait(60), process.stdout.read()) == (status, printed)
        assert (b"ValueError: no" in process.stderr.read()) is (status == 1)


def test_a_reader_that_goes_away_ends_the_program(environment: dict[str, str]) -> None:
    """When standard output has no reader any more, the program ends without a complaint."""
    command = [*COMMAND, "run", "-c", "while True: print('y')"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 128 + signal.SIGPIPE
        assert process.stderr.read() == b""


def test_the_memory_limit_is_the_programs(planaria: Run) -> None:
    """Over --memory the program gets a MemoryError."""
    code = "try: bytearray(200 << 20)\nexcept MemoryError: print('too much')"
    assert planaria("run", "--memory", "128M", "-c", code).stdout == b"too much\n"


def test_json_is_one_object_with_everything(planaria: Run) -> None:
    """--json prints one object that holds value, output and usage, and nothing else."""
    done = planaria(
        "run", "--json", "-c", "print('out'); import sys; print('err', file=sys.stderr); [1, {'a': None}]"
    )
    reported = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, b"")
    assert reported["ok"] is True
    assert reported["value"] == [1, {"a": None}]
    assert reported["repr"] == "[1, {'a': None}]"
    assert (reported["stdout"], reported["stderr"], reported["error"]) == ("out\n", "err\n", None)
    assert (reported["exit_code"], reported["execution_count"], reported["stdout_truncated"]) == (0, 1, False)
    assert reported["duration_ms"] > 0


@pytest.mark.parametrize("value", [(1, 2), {1: 2}, float("nan"), b"x", [(1,)], {1}, 1j, [float("inf")]])
def test_json_never_shows_a_look_alike(value: object) -> None:
    """A value that JSON cannot say exactly is null there, and its repr is reported."""
    reported = as_json(Result(value=value, repr=repr(value)), 0)
    assert (reported["value"], reported["repr"]) == (None, repr(value))


@pytest.mark.parametrize("value", [None, True, 1 << 100, 0.1, "é\ud800", [1, [2]], {"a": {"b": None}}])
def test_json_shows_what_it_can_say(value: object) -> None:
    """A value that JSON has is itself there."""
    assert json.loads(json.dumps(as_json(Result(value=value, repr="…"), 0)))["value"] == value


def test_json_is_alone_on_standard_output(planaria: Run) -> None:
    """A prompt of input() does not come between the JSON."""
    reported = json.loads(planaria("run", "--json", "-c", "input('name? ')", stdin=b"Ann\n").stdout)
    assert reported["value"] == "Ann"


def test_json_reports_an_error_by_its_parts(planaria: Run) -> None:
    """An exception is an object in JSON, with the exit status beside it."""
    done = planaria("run", "--json", "-c", "x = 1\nraise ValueError('no')")
    reported = json.loads(done.stdout)
    assert (done.returncode, reported["exit_code"], reported["ok"]) == (1, 1, False)
    error = reported["error"]
    assert (error["type"], error["message"], error["lineno"]) == ("ValueError", "no", 2)
    assert 'File "<string>", line 2' in error["traceback"]


def test_json_is_printed_after_ctrl_c_too(environment: dict[str, str], tmp_path: Path) -> None:
    """After Ctrl-C the object says what was printed before."""
    code = "print('begun'); open('/sign/begun', 'w').close()\nwhile True: pass"
    command = [*COMMAND, "run", "--json", "--mount", f"{tmp_path}:/sign:rw", "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        while not (tmp_path / "begun").exists():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stdout is not None
        reported = json.loads(process.stdout.read())
    assert (reported["stdout"], reported["exit_code"], reported["error"]["type"]) == (
        "begun\n",
        130,
        "Interrupted",
    )


PICTURE = """
class Picture:
    def _repr_png_(self): return b"\\x89PNG picture"
"""


def test_rich_outputs_are_in_the_json(planaria: Run) -> None:
    """Rich outputs are mime bundles in JSON, binary ones as base64."""
    reported = json.loads(planaria("run", "--json", "-c", PICTURE + "display(Picture())").stdout)
    (output,) = reported["outputs"]
    assert base64.b64decode(output["data"]["image/png"]) == b"\x89PNG picture"
    assert "text/plain" in output["data"]


def test_pictures_are_saved_under_free_names(planaria: Run, tmp_path: Path) -> None:
    """--save writes pictures as figure-1.png and so on, and never over a file that is there."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "figure-1.png").write_bytes(b"mine")
    done = planaria("run", "--save", "out", "-c", PICTURE + "display(Picture()); Picture()")
    assert (done.returncode, done.stderr) == (0, b"")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == {
        "figure-1.png": b"mine",
        "figure-2.png": b"\x89PNG picture",
        "figure-3.png": b"\x89PNG picture",
    }


def test_pictures_that_are_not_saved_are_mentioned(planaria: Run) -> None:
    """Without --save a line on standard error says that there were pictures."""
    done = planaria("run", "-c", PICTURE + "display(Picture())")
    assert done.stderr == b"planaria: 1 figure was not saved; --save DIR keeps them\n"


def test_displayed_text_goes_to_standard_output(planaria: Run) -> None:
    """display() of something that is not a picture prints its text, in order."""
    assert planaria("run", "-c", "print(1); display([2]); print(3)").stdout == b"1\n[2]\n3\n"


def test_mounts_show_directories_of_the_host(planaria: Run, tmp_path: Path) -> None:
    """A mount is read only unless said otherwise, rw changes the host, and overlay does not."""
    for name in ("ro", "rw", "overlay"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "given").write_text("text")
    code = """
for name in ("ro", "rw", "overlay"):
    assert open(f"/{name}/given").read() == "text"
    try:
        open(f"/{name}/made", "w").close()
    except OSError as error:
        print(name, error.strerror)
"""
    done = planaria(
        "run", "--mount", "ro:/ro", "--mount", "rw:/rw:rw", "--mount", "overlay:/overlay:overlay", "-c", code
    )
    assert (done.stdout, done.stderr) == (b"ro Read-only file system\n", b"")
    assert [os.path.exists(tmp_path / name / "made") for name in ("ro", "rw", "overlay")] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run", "missing.py"], "cannot read missing.py: No such file or directory"),
        (["run", "--timeout", "0", "-c", "1"], "'0' is not a number of seconds greater than 0"),
        (["run", "--memory", "lots", "-c", "1"], "'lots' is not a size; write it as 512M or 1G"),
        (["run", "--memory", "1M", "-c", "1"], "--memory 1048576: must be between 64 MiB"),
        (["run", "--mount", "nothing", "-c", "1"], "'nothing' is not HOST:GUEST"),
        (["run", "--mount", "absent:/x", "-c", "1"], "absent is not a directory"),
        (["run", "--mount", ".:relative", "-c", "1"], "GUEST must be absolute"),
        (["run", "--mount", ".:/x:zz", "-c", "1"], "the mode 'zz' is none of ro, rw and overlay"),
        (["run", "-c"], "Option '-c' requires an argument"),
        (["run", "--timeout", "9", "-m"], "Option '-m' requires an argument"),
        (["walk"], "No such command 'walk'"),
    ],
)
def test_misuse_exits_with_2_and_says_what_is_wrong(
    planaria: Run, arguments: list[str], complaint: str
) -> None:
    """A command line that makes no sense is refused in words, without a traceback."""
    done = planaria(*arguments)
    assert done.returncode == 2
    assert complaint in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_an_error_of_the_package_is_one_line(
    planaria: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    """What the runtime cannot do is reported in one line, without the host's traceback."""
    (tmp_path / "file").write_text("")
    environment["PLANARIA_CACHE"] = str(tmp_path / "file")
    done = planaria("run", "-c", "1")
    assert done.returncode == 1
    assert done.stderr.startswith(b"Error: ")
    assert done.stderr.count(b"\n") == 1


def test_the_package_runs_as_a_module(environment: dict[str, str]) -> None:
    """`python -m planaria` is the program."""
    command = [sys.executable, "-m", "planaria", "--version"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("planaria ")


def test_a_program_finds_itself_and_its_neighbours(planaria: Run, tmp_path: Path) -> None:
    """A file has its __file__, and imports the modules and packages beside it, and nothing else of them."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "__init__.py").write_text("from .deep import NUMBER\n")
    (tmp_path / "tools" / "deep.py").write_text("import other\nNUMBER = other.NUMBER\n")
    (tmp_path / "other.py").write_text("NUMBER = 5\n")
    (tmp_path / "secret.py").write_text("x = 1\n")
    (tmp_path / "main.py").write_text(
        "import os, sys\nfrom tools import NUMBER\n"
        "print(__file__, NUMBER, sys.path[0], os.path.exists('secret.py'), open(__file__).read()[:9])"
    )
    done = planaria("run", "main.py")
    assert done.stdout == b"/home/user/main.py 5 /home/user False import os\n"
    assert done.stderr == b""
    done = planaria("run", "--mount", ".:/project", "main.py")
    assert done.stdout.startswith(b"/project/main.py 5 /project False")


@pytest.mark.parametrize("options", [[], ["--mount", ".:/m"]])
def test_a_program_behind_a_link(planaria: Run, tmp_path: Path, options: list[str]) -> None:
    """A program that a link leads to has the link's name, and finds its modules beside the file itself."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "prog.py").write_text(
        "import sys; import helper\nprint(sys.argv[0], __file__, sys.path[0], helper.x)"
    )
    (tmp_path / "real" / "helper.py").write_text("x = 5")
    (tmp_path / "link.py").symlink_to("real/prog.py")
    (tmp_path / "directory").symlink_to("real")
    for name in ("link.py", "directory/prog.py"):
        done = planaria("run", *options, name)
        place, real = ("/m/", "/m/real") if options else ("/home/user/", "/home/user")
        shown = place + (name if options else name.rpartition("/")[2])
        assert (done.stdout.decode(), done.stderr) == (f"{name} {shown} {real} 5\n", b"")


def test_a_module_runs_with_its_arguments(planaria: Run, tmp_path: Path) -> None:
    """-m runs a module of the working directory, or of the standard library, as __main__."""
    (tmp_path / "work.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n")
    assert planaria("run", "-m", "work", "-x").stdout == b"__main__ ['-x']\n"
    done = planaria("run", "-m", "json.tool", "--compact", stdin=b'{"a": 1}')
    assert done.stdout == b'{"a":1}\n'
    assert planaria("run", "-m", "work", "-c", "1").stdout == b"__main__ ['-c', '1']\n"


@pytest.mark.parametrize("module", ["nosuch", "json.nosuch", "nosuch.module", "package"])
def test_a_module_that_there_is_not(planaria: Run, tmp_path: Path, module: str) -> None:
    """-m with what cannot be run ends with Python's own line, without a traceback."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    theirs = subprocess.run([sys.executable, "-m", module], cwd=tmp_path, capture_output=True, text=True)
    ours = planaria("run", "-m", module)
    assert ours.stderr.decode().partition(": ")[2] == theirs.stderr.partition(": ")[2]
    assert ours.returncode == theirs.returncode == 1


def test_what_code_lacks_is_named_by_the_options(planaria: Run) -> None:
    """Errors of code that could be given more name the option of the command line beside the argument."""
    done = planaria("run", "-c", "import urllib.request; urllib.request.urlopen('http://example.org')")
    assert b"--allow on the command line" in done.stderr
    done = planaria("run", "-c", "import no_such_module")
    assert b"`planaria image build --package no_such_module`" in done.stderr
    done = planaria("run", "-c", "input()")
    assert b"EOFError: there is no more standard input" in done.stderr
    done = planaria(stdin=b"x = 1\n%undo\n")
    assert b"cells have no magic %undo: it is for the prompt of `planaria` on a terminal" in done.stderr


def test_files_that_a_program_writes(planaria: Run, tmp_path: Path) -> None:
    """Files written in the sandbox are named when they end with it, and copied with --save."""
    code = "import os; os.makedirs('d'); open('d/a.txt', 'w').write('A'); open('b.txt', 'w').write('B')"
    done = planaria("run", "-c", code)
    assert done.stderr == (
        b"planaria: b.txt, d/a.txt: written in the sandbox, and gone with it; --save DIR keeps files\n"
    )
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "b.txt").write_text("mine")
    done = planaria("run", "--save", "out", "-c", code)
    assert (tmp_path / "out" / "d" / "a.txt").read_text() == "A"
    assert (tmp_path / "out" / "b.txt").read_text() == "mine"
    assert done.stderr.startswith(b"planaria: not saved, since they exist: ")
