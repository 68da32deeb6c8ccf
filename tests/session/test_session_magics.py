"""What cells have beside Python: magics, lines for the shell, questions about names, `IPython.display`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import planaria


@pytest.fixture(scope="module")
def shared() -> Iterator[planaria.Session]:
    """One session for cells that do not mind others."""
    with planaria.Session() as session:
        yield session


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("x = !echo a b; echo c\nx", ["a b", "c"]),
        ("n = 20\nx = !echo {n + 1} $n $HOME ${n:-no}\nx", ["21 20 /home/user no"]),
        ("x = !echo one two | awk '{print $2}'\nx", ["two"]),
        ("x = !echo {a,b}\nx[0]", "a b"),
        ("!!printf '1\\n2\\n'", ["1", "2"]),
        ("x = %pwd\nx", "/home/user"),
        ("%cd /tmp\n%cd -\n%pwd", "/home/user"),
        ("%env SHADE=dark blue\n%env SHADE", "dark blue"),
        ("%time 6 * 7", 42),
        ("%time x = 6 * 7\nx", 42),
        ("import asyncio\n%time await asyncio.sleep(0, 'woken')", "woken"),
        ("%%time\nx = 6\nx * 7", 42),
        ("%%time\nimport asyncio\nawait asyncio.sleep(0, 'woken')", "woken"),
        ("%%capture\nprint('unseen')\n5", None),
        ("%matplotlib inline\n7", 7),
        ("for i in range(2):\n    if i:\n        x = !echo {i}\nx", ["1"]),
        ("x = '''\n%pwd\n!ls\n'''\n%time len(x)", 10),
        ("x = [\n  10\n  %3]\n%time x", [1]),
        ("get_ipython().run_line_magic('env', 'HOME')", "/home/user"),
        ("%timeit -n 3 -r 2 -q -o pass", None),
    ],
)
def test_value(shared: planaria.Session, cell: str, value: Any) -> None:
    """A line that begins with `%` or `!` is done in the sandbox, and its value is a value like others."""
    result = shared.run(cell)
    assert result.error is None, result.error
    if value is not None:
        assert result.value == value


@pytest.mark.parametrize(
    ("cell", "stdout"),
    [
        ("%%bash\nfor i in 1 2; do echo $((i * 2)); done", "2\n4\n"),
        ("%%python3\nprint(6 * 7)", "42\n"),
        ("%%script sort -r\na\nb\n", "b\na\n"),
        ("!echo $((1 + 2)) \\\n  more", "3 more\n"),
        ("%%capture\nprint('kept')\n", ""),
        ("%pip install toolz", "Requirement already satisfied: toolz (1.2.0)\n"),
        ("%cd /tmp", "/tmp\n"),
        ("%set_env A=1", "env: A=1\n"),
        ("nothing_of_this_name?", "Object `nothing_of_this_name` not found.\n"),
    ],
)
def test_prints(shared: planaria.Session, cell: str, stdout: str) -> None:
    """What a magic prints is standard output of the execution."""
    result = shared.run(cell)
    assert (result.error, result.stdout) == (None, stdout)


def test_output_of_scripts_in_variables(shared: planaria.Session) -> None:
    """%%bash --out and --err put what is printed into variables, and a status may be let pass."""
    cell = "%%bash --out o --err=e --no-raise-error -s a\necho $1; echo b >&2; exit 3"
    assert shared.execute(cell).stdout == ""
    assert shared.execute("o, e, _exit_code").value == ("a\n", "b\n", 3)
    assert shared.run("%%script --err e bash\necho out; exit 1").stdout == "out\n"
    assert "non-zero exit status 3" in str(shared.run("%%bash --out o\nexit 3").error)


def test_files_are_written(session: Any) -> None:
    """%%writefile writes the cell to a file, in place of what was there or, with -a, behind it."""
    assert session.run("%%writefile notes.txt\none\n").stdout == "Writing notes.txt\n"
    assert session.run("%%writefile notes.txt\ntwo\n").stdout == "Overwriting notes.txt\n"
    assert session.run("%%writefile -a notes.txt\nthree\n").stdout == "Appending to notes.txt\n"
    assert session.run("%cat notes.txt").stdout == "two\nthree\n"


def test_output_is_captured(session: Any) -> None:
    """%%capture keeps what a cell prints and displays; `show()` shows it later."""
    result = session.run("%%capture out\nprint('kept')\ndisplay(5)\n7")
    assert (result.stdout, result.outputs, result.value) == ("", [], None)
    assert session.run("out.stdout").value == "kept\n"
    shown = session.run("out.show()")
    assert shown.stdout == "kept\n"
    assert [one.data for one in shown.outputs] == [{"text/plain": "5"}]


def test_timings_are_shown(shared: planaria.Session) -> None:
    """%time and %timeit say how long it took."""
    assert "Wall time: " in shared.run("%time pass").stdout
    assert (
        " per loop (mean ± std. dev. of 2 runs, 3 loops each)" in shared.run("%timeit -n 3 -r 2 1 + 1").stdout
    )
    assert "2 runs, 1 loop each" in shared.run("%%timeit -n 1 -r 2 x = 5\nx + 1").stdout


def test_run_takes_over_the_variables_of_a_file(shared: planaria.Session) -> None:
    """%run runs a file as a program with arguments, and its variables become the session's."""
    shared.files.write_text("/tmp/job.py", "import sys\ndouble = 2 * int(sys.argv[1])\nname = __name__")
    assert shared.run("%run /tmp/job.py 21\ndouble, name").value == (42, "__main__")


def test_variables_are_listed(session: Any) -> None:
    """%who names the variables, %whos shows their types and values, %reset -f forgets them."""
    session.run("count, label = 3, 'red'")
    assert session.run("%who").stdout == "count\tlabel\n"
    assert session.run("%who str").stdout == "label\n"
    assert session.run("%whos").stdout.splitlines()[2:] == ["count      int    3", "label      str    'red'"]
    session.run("%reset -f")
    assert session.run("%who").stdout == "Interactive namespace is empty.\n"


def test_question_about_a_name(shared: planaria.Session) -> None:
    """`name?` describes a value, and `name??` shows its source."""
    shared.run("def double(n):\n    'Twice as much.'\n    return 2 * n")
    described = shared.run("double?").stdout
    assert "Signature: double(n)" in described
    assert "Twice as much." in described
    assert "return 2 * n" in shared.run("?? double").stdout


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%matplotlib qt", "figures are shown inline"),
        ("%%writefile", "usage: %%writefile"),
        ("%timeit -n x pass", "-n needs a number"),
        ("%pip install no-such-package", "planaria.Image.build"),
        ("%pip download x", "%pip download is not available in a session"),
        ("%run", "usage: %run"),
        ("get_ipython().run_line_magic('nope', '')", "there is no line magic %nope"),
    ],
)
def test_misuse(shared: planaria.Session, cell: str, message: str) -> None:
    """A magic that is called wrongly raises UsageError, whose message says what would be right."""
    error = shared.run(cell).error
    assert isinstance(error, planaria.ExecutionError)
    assert error.type == "UsageError"
    assert message in error.message


def test_lines_keep_their_numbers(shared: planaria.Session) -> None:
    """An error after a magic is reported at the line where it stands in the cell."""
    error = shared.run("%time x = 1\n!echo \\\n  two\n\n1 / 0").error
    assert isinstance(error, planaria.ExecutionError)
    assert error.lineno == 5


def test_magics_of_the_users_own(session: Any) -> None:
    """`register_line_magic` makes a function a magic of the cells that come."""
    session.run(
        "from IPython.core.magic import register_line_magic\n@register_line_magic\ndef twice(line): return 2 * line"
    )
    assert session.run("%twice ab").value == "abab"


def test_pip_installs_into_a_workspace(new_session: Any, tmp_path: Any) -> None:
    """With a workspace, %pip is its `deps`, and says so where code may not change them."""
    session = new_session(storage=planaria.FileStorage(tmp_path), allow_runtime_deps=False)
    error = session.run("%pip install no-such-package").error
    assert error is not None
    assert "code may not change the packages of this session" in error.message


@pytest.mark.parametrize("command", ["pip", "pip3", "python3 -m pip"])
def test_pip_in_the_shell(session: Any, command: str) -> None:
    """Where nothing can be installed, pip says where packages come from."""
    result = session.bash(f"{command} install numpy -q; {command} install toolz no-such-package")
    assert result.stdout == "Requirement already satisfied: toolz (1.2.0)\n"
    assert result.stderr == (
        "ERROR: no-such-package: packages come with an image (planaria.Image.build, `planaria image build`), or with a workspace "
        "(--base), which this session does not have\n"
    )
    assert result.exit_code == 1


PIP = {
    "pip": ("Usage:", 0),
    "pip --version": ("pip (planaria) from /usr/local/lib/planaria", 0),
    "pip install -h": ("Usage:", 0),
    "pip list | head -n 1": ("Package            Version\n", 0),
    "pip list --format=freeze | grep toolz": ("toolz==1.2.0\n", 0),
    "pip list --format json | jq -r '.[] | select(.name == \"toolz\").version'": ("1.2.0\n", 0),
    "pip list --format xml": ("invalid choice: 'xml'", 2),
    "pip freeze | grep -x toolz.*": ("toolz==1.2.0\n", 0),
    "pip show Python-DateUtil | grep Requires": ("Requires: six\n", 0),
    "pip show six | grep Required-by": ("Required-by: html5lib, python-dateutil\n", 0),
    "pip show toolz absent | head -n 1": ("Name: toolz\n", 0),
    "pip show absent": ("WARNING: Package(s) not found: absent\n", 1),
    "pip install": ("You must give at least one requirement to install", 1),
    "pip install -r absent.txt": ("Could not open requirements file: ", 1),
    "pip install -r": ("--requirement option requires 1 argument", 2),
    "pip install --target /tmp toolz": ("pip has no option --target in a session", 2),
    "pip install --quiet=1 toolz": ("--quiet option does not take a value", 2),
    "pip install git+https://host.test/x": ("packages are installed by name here", 1),
    "pip install ./here": ("packages are installed by name here", 1),
    "pip frob": ('unknown command "frob"', 1),
    "pip download x": ("pip download is not available in a session", 1),
    "python3 -m pip download x": ("pip download is not available in a session", 1),
}  # fmt: skip


@pytest.mark.parametrize(("command", "outcome"), PIP.items(), ids=PIP.keys())
def test_pip_says_what_there_is(shared: planaria.Session, command: str, outcome: tuple[str, int]) -> None:
    """pip lists what there is, and says what is not available, with the exit statuses of pip."""
    result = shared.bash(command)
    assert outcome[0] in result.stdout + result.stderr
    assert result.exit_code == outcome[1]


# -- IPython.display ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("thing", "mime", "content"),
    [
        ("HTML('<b>x</b>')", "text/html", "<b>x</b>"),
        ("Markdown('# x')", "text/markdown", "# x"),
        ("Latex('$x$')", "text/latex", "$x$"),
        ("Math('x')", "text/latex", "$\\displaystyle x$"),
        ("SVG('<svg/>')", "image/svg+xml", "<svg/>"),
        ("JSON({'a': [1]})", "application/json", {"a": [1]}),
        ("Image(b'\\x89PNG..')", "image/png", b"\x89PNG.."),
        (
            "Image(url='https://e.org/a.png', width=5)",
            "text/html",
            '<img src="https://e.org/a.png" width="5"/>',
        ),
        ("Javascript('1')", "application/javascript", "1"),
        ("Pretty('as is')", "text/plain", "as is"),
    ],
)
def test_display_objects(shared: planaria.Session, thing: str, mime: str, content: Any) -> None:
    """The objects of `IPython.display` are shown as data of their types."""
    result = shared.run(f"from IPython.display import *\ndisplay({thing})")
    assert result.error is None
    assert result.outputs[0].data[mime] == content


def test_updating(shared: planaria.Session) -> None:
    """`update_display`, or the handle that display() returns, replaces what was shown before."""
    result = shared.run("display('old', display_id='a')\ndisplay(2)\nupdate_display('new', display_id='a')")
    assert [one.data["text/plain"] for one in result.outputs] == ["'new'", "2"]
    result = shared.run("handle = display('old', display_id=True)\nhandle.update('new')")
    assert [one.data["text/plain"] for one in result.outputs] == ["'new'"]
    assert result.outputs[0].display_id


def test_objects_that_display_themselves(shared: planaria.Session) -> None:
    """`_ipython_display_` takes the place of an object's representations."""
    shared.run("class Own:\n    def _ipython_display_(self): display({'text/plain': 'own'}, raw=True)")
    assert [one.data for one in shared.run("Own()").outputs] == [{"text/plain": "own"}]
