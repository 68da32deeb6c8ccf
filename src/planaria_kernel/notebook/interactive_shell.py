"""What `get_ipython()` returns: the session as code sees it, and the magics."""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, TextIO

from planaria_kernel.execution import magic_names as names
from planaria_kernel.execution.error_reports import describe as describe_error
from planaria_kernel.execution.names import short_repr
from planaria_kernel.notebook import packages
from planaria_kernel.notebook.describing import describe
from planaria_kernel.notebook.events import Events
from planaria_kernel.notebook.expansion import expanded
from planaria_kernel.notebook.front_end import FrontEnd
from planaria_kernel.notebook.outputs import CapturedIO, Lines
from planaria_kernel.notebook.script_options import ScriptOptions
from planaria_kernel.notebook.timing import Clock, TimeitResult, measure
from planaria_kernel.notebook.usage import UsageError
from planaria_kernel.shims.notebooks import announce_widgets

if TYPE_CHECKING:
    from planaria_kernel.execution.display import Display, Formatter

__all__ = ["InteractiveShell", "UsageError"]

Magic = Callable[..., Any]

#: The types that cell magics show their body as.
_SHOWN_AS: Final = {
    "html": "text/html",
    "javascript": "application/javascript",
    "js": "application/javascript",
    "latex": "text/latex",
    "markdown": "text/markdown",
    "svg": "image/svg+xml",
}
_BACKENDS: Final = frozenset({"", "agg", "auto", "inline", "planaria"})
#: The names under which front ends keep earlier cells and values.
_EARLIER: Final = frozenset({"In", "Out"})
_MOST_VALUE: Final = 60


class InteractiveShell:
    """The session: its variables (`user_ns`), its magics, its shell.

    `display` shows things, and `workspace` gives the names of the workspace, if there is one.
    """

    #: Only there while a notebook's front end shows what the session does, as code may ask.
    kernel: FrontEnd

    def __init__(
        self, space: dict[str, Any], display: Display, workspace: Callable[[], dict[str, Any]]
    ) -> None:
        self.user_ns = space
        self._display = display
        self._workspace = workspace
        self._clock: Clock | None = None
        self._added: dict[str, dict[str, Magic]] = {"line": {}, "cell": {}}
        self._directories: list[str] = []
        self.events = Events()

    @classmethod
    def instance(cls) -> InteractiveShell:
        """That of this session."""
        found: InteractiveShell = builtins.get_ipython()  # type: ignore[attr-defined]
        return found

    @property
    def display_formatter(self) -> Formatter:
        """What makes representations of values."""
        return self._display.formatter

    def attach_front_end(self) -> None:
        """A notebook's front end shows what cells do from now on."""
        self.kernel = FrontEnd()

    def get_parent(self) -> dict[str, Any]:
        """The request that is being answered; empty without a front end."""
        return self.kernel.get_parent() if hasattr(self, "kernel") else {}

    # -- running -------------------------------------------------------------------------------------

    def run_line_magic(self, magic_name: str, line: str) -> Any:
        """Call a line magic. Raises UsageError when there is none of that name."""
        added = self._added["line"].get(magic_name)
        if added is not None:
            return added(line)
        if magic_name in names.SHELL_ALIASES:
            return self.system(f"{magic_name} {line}")
        method = getattr(self, f"line_{magic_name}", None) if magic_name in names.LINE_MAGICS else None
        if method is None:
            raise UsageError(f"there is no line magic %{magic_name}; %lsmagic lists them")
        return method(line if magic_name in ("time", "timeit") else expanded(line, self.user_ns))

    def run_cell_magic(self, magic_name: str, line: str, cell: str) -> Any:
        """Call a cell magic. Raises UsageError when there is none of that name."""
        added = self._added["cell"].get(magic_name)
        if added is not None:
            return added(line, cell)
        if magic_name in names.SCRIPT_MAGICS:
            return self._script(magic_name, expanded(line, self.user_ns), cell)
        if magic_name in _SHOWN_AS:
            self._display.show({_SHOWN_AS[magic_name]: cell}, raw=True)
            return None
        if magic_name in names.WRAPPERS:
            with getattr(self, magic_name)(line):
                return self.ex(cell)
        method = getattr(self, f"cell_{magic_name}", None) if magic_name in names.CELL_MAGICS else None
        if method is None:
            raise UsageError(f"there is no cell magic %%{magic_name}; %lsmagic lists them")
        return method(line, cell)

    def magic(self, line: str) -> Any:
        """Call a line magic, given as the line without its `%`."""
        name, _, argument = line.removeprefix("%").partition(" ")
        return self.run_line_magic(name, argument.strip())

    def register_magic_function(
        self, func: Magic, magic_kind: str = "line", magic_name: str | None = None
    ) -> None:
        """Have `%name` (or `%%name`, of the kind "cell") call `func` in the cells that come.

        Raises UsageError for another kind.
        """
        name = magic_name or func.__name__
        if magic_kind not in self._added:
            raise UsageError(f"the kind of a magic is 'line' or 'cell', not {magic_kind!r}")
        self._added[magic_kind][name] = func
        (names.LINE_MAGICS if magic_kind == "line" else names.CELL_MAGICS).add(name)

    def ex(self, code: str) -> None:
        """Execute code among the user's variables."""
        exec(compile(code, "<magic>", "exec"), self.user_ns)

    def ev(self, expression: str) -> Any:
        """The value of an expression among the user's variables."""
        return eval(compile(expression, "<magic>", "eval"), self.user_ns)

    def push(self, variables: dict[str, Any]) -> None:
        """Make variables the user's."""
        self.user_ns.update(variables)

    def showtraceback(self, exc_tuple: Any = None, **_: Any) -> None:
        """Print the exception that is being handled, or the given one, as an uncaught one is."""
        error = (exc_tuple or sys.exc_info())[1]
        if error is not None:
            sys.stderr.write(describe_error(error)["traceback"])

    def before_cell(self, source: str) -> None:
        """A cell is about to run."""
        self.events.trigger("pre_execute")
        self.events.trigger("pre_run_cell", SimpleNamespace(raw_cell=source))

    def after_cell(self, value: Any, succeeded: bool) -> None:
        """A cell has run."""
        self.events.trigger("post_execute")
        self.events.trigger("post_run_cell", SimpleNamespace(result=value, success=succeeded))

    # -- the shell -----------------------------------------------------------------------------------

    def system(self, cmd: str) -> None:
        """Run a command of bash and show what it prints; its status is `_exit_code` then."""
        self._run(["bash", "-c", expanded(cmd, self.user_ns)])

    def getoutput(self, cmd: str) -> Lines:
        """The lines that a command of bash prints."""
        done = subprocess.run(
            ["bash", "-c", expanded(cmd, self.user_ns)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.user_ns["_exit_code"] = done.returncode
        return Lines(done.stdout.decode("utf-8", "replace").splitlines())

    def _run(
        self, argv: Sequence[str], given: str | None = None, options: ScriptOptions | None = None
    ) -> int:
        data = None if given is None else given.encode()
        if options is not None and options.variables:
            done = subprocess.run(argv, input=data, capture_output=True)
            for name, stream, printed in (
                ("out", sys.stdout, done.stdout),
                ("err", sys.stderr, done.stderr),
            ):
                text = printed.decode("utf-8", "replace")
                if name in options.variables:
                    self.user_ns[options.variables[name]] = text
                else:
                    stream.write(text)
            status = done.returncode
        elif sys.stdout is sys.__stdout__ and sys.stderr is sys.__stderr__:
            status = subprocess.run(argv, input=data).returncode
        else:  # what it prints has to come by way of Python's streams
            done = subprocess.run(argv, input=data, capture_output=True)
            sys.stdout.write(done.stdout.decode("utf-8", "replace"))
            sys.stderr.write(done.stderr.decode("utf-8", "replace"))
            status = done.returncode
        self.user_ns["_exit_code"] = status
        return status

    def _script(self, name: str, line: str, body: str) -> None:
        options = ScriptOptions.of(name, shlex.split(line))
        status = self._run(options.argv, body, options)
        if status and options.raises:
            raise subprocess.CalledProcessError(status, options.argv)

    def line_system(self, line: str) -> None:
        self.system(line)

    def line_sx(self, line: str) -> Lines:
        return self.getoutput(line)

    # -- questions -----------------------------------------------------------------------------------

    def show_help(self, name: str, detail: int = 0) -> None:
        """Show what a name means, for `name?`; with `detail`, for `name??`, its source."""
        if name.startswith("%"):
            text = _help_of_magic(name.lstrip("%"))
        else:
            text = describe(name, {**vars(sys.modules["builtins"]), **self.user_ns}, with_source=detail > 0)
        if text is None:
            print(f"Object `{name}` not found.")
        else:
            self._display.page(text)

    def line_lsmagic(self, _line: str) -> None:
        """The magics that there are."""
        cells = {*names.CELL_MAGICS, *names.SCRIPT_MAGICS, *names.WRAPPERS}
        print("line magics: " + " ".join(sorted(f"%{name}" for name in names.LINE_MAGICS)))
        print("cell magics: " + " ".join(sorted(f"%%{name}" for name in cells)))
        print("!COMMAND runs in the shell, NAME? and NAME?? describe a value")

    # -- time ----------------------------------------------------------------------------------------

    def clock(self) -> None:
        """Begin to measure, for `%time`."""
        self._clock = Clock()

    def timed(self, _begun: None = None, value: Any = None) -> Any:
        """Say how long it took since `clock()`; returns `value`."""
        if self._clock is not None:
            print(self._clock.report())
        return value

    @contextlib.contextmanager
    def time(self, _line: str) -> Iterator[None]:
        """What the statements of a `%%time` cell run in."""
        clock = Clock()
        yield
        print(clock.report())

    def line_time(self, line: str) -> Any:
        """How long a statement takes, once."""
        self.clock()
        try:
            return self.timed(None, self.ev(line))
        except SyntaxError:
            self.ex(line)
        return self.timed()

    def line_timeit(self, line: str) -> TimeitResult | None:
        """How long a statement takes, repeated: %timeit [-n LOOPS] [-r ROUNDS] [-p DIGITS] [-q] [-o]."""
        options, statement = _timeit_options(line)
        return self._timeit(options, statement, "")

    def cell_timeit(self, line: str, cell: str) -> TimeitResult | None:
        """How long the cell takes, repeated; the rest of its first line is run before, and not timed."""
        options, setup = _timeit_options(line)
        return self._timeit(options, cell, setup)

    def _timeit(self, options: dict[str, Any], statement: str, setup: str) -> TimeitResult | None:
        result = measure(
            statement,
            setup,
            self.user_ns,
            loops=int(options.get("n", 0)),
            repeat=int(options.get("r", 7)),
            precision=int(options.get("p", 3)),
        )
        if "q" not in options:
            print(result)
        return result if "o" in options else None

    # -- output --------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def capture(self, line: str) -> Iterator[None]:
        """What the statements of a `%%capture` cell run in: %%capture [NAME] [--no-stdout] [--no-stderr]
        [--no-display].
        """
        words = shlex.split(line)
        target = next((word for word in words if not word.startswith("-")), None)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.ExitStack() as stack:
            if "--no-stdout" not in words:
                stack.enter_context(contextlib.redirect_stdout(out))
            if "--no-stderr" not in words:
                stack.enter_context(contextlib.redirect_stderr(err))
            outputs: list[Any] = []
            if "--no-display" not in words:
                outputs = stack.enter_context(self._display.captured())
            try:
                yield
            finally:
                if target is not None:
                    self.user_ns[target] = CapturedIO(out, err, outputs, self._display)

    def line_matplotlib(self, line: str) -> None:
        """Figures are shown as they are: `%matplotlib inline` changes nothing."""
        words = [word for word in line.split() if word not in ("--list", "-l")]
        if words != line.split():
            print("Available matplotlib backends: ['inline']")
        elif line.strip().lower() not in _BACKENDS:
            raise UsageError(
                f"%matplotlib {line}: figures are shown inline, there is no other backend that shows any"
            )

    # -- files and the environment -------------------------------------------------------------------

    def cell_writefile(self, line: str, cell: str) -> None:
        """Write the cell to a file: %%writefile [-a] FILE."""
        words = shlex.split(expanded(line, self.user_ns))
        append = bool(words) and words[0] in ("-a", "--append")
        if len(words) != 1 + append:
            raise UsageError("usage: %%writefile [-a] FILE")
        path = os.path.expanduser(words[-1])
        done = "Appending to" if append else "Overwriting" if os.path.exists(path) else "Writing"
        with open(path, "a" if append else "w", encoding="utf-8") as file:
            file.write(cell)
        print(f"{done} {words[-1]}")

    cell_file = cell_writefile

    def line_pwd(self, _line: str) -> str:
        """The working directory."""
        return os.getcwd()

    def line_cd(self, line: str) -> None:
        """Change the working directory: %cd [DIRECTORY]; `%cd -` goes back."""
        target = line.strip().strip("\"'") or "~"
        if target == "-":
            if not self._directories:
                raise UsageError("%cd -: there is no earlier directory")
            target = self._directories.pop()
            here = None
        else:
            here = os.getcwd()
        os.chdir(os.path.expanduser(target))
        if here is not None:
            self._directories.append(here)
        print(os.getcwd())

    def line_env(self, line: str) -> Any:
        """The environment: %env, %env NAME, %env NAME=VALUE."""
        name, sign, value = line.partition("=")
        if not sign:
            name, _, value = line.strip().partition(" ")
        name, value = name.strip(), value.strip()
        if not name:
            return dict(os.environ)
        if not sign and not value:
            if name not in os.environ:
                raise UsageError(f"there is no environment variable {name}")
            return os.environ[name]
        return self.line_set_env(f"{name} {value}")

    def line_set_env(self, line: str) -> None:
        """Set a variable of the environment: %set_env NAME VALUE."""
        name, _, value = line.replace("=", " ", 1).partition(" ") if "=" in line else line.partition(" ")
        os.environ[name.strip()] = value.strip()
        print(f"env: {name.strip()}={value.strip()}")

    def line_run(self, line: str) -> None:
        """Run a Python file; its variables become the session's: %run [-i] FILE [ARGUMENTS]."""
        words = shlex.split(line)
        own = not (words and words[0] == "-i")
        words = words if own else words[1:]
        if not words:
            raise UsageError("usage: %run [-i] FILE [ARGUMENTS]")
        path = os.path.expanduser(words[0])
        if not os.path.exists(path) and os.path.exists(f"{path}.py"):
            path += ".py"
        argv, sys.argv = sys.argv, [path, *words[1:]]
        try:
            if own:
                main = sys.modules["__main__"]
                try:
                    found = runpy.run_path(path, run_name="__main__")
                finally:
                    sys.modules["__main__"] = main
                self.user_ns.update(
                    (name, value) for name, value in found.items() if not name.startswith("__")
                )
            else:
                with open(path, encoding="utf-8") as file:
                    exec(compile(file.read(), path, "exec"), self.user_ns)
        except SystemExit as leaving:
            if leaving.code not in (None, 0):
                raise
        finally:
            sys.argv = argv

    # -- variables -----------------------------------------------------------------------------------

    def _variables(self, kinds: str) -> dict[str, Any]:
        wanted = kinds.split()
        return {
            name: value
            for name, value in sorted(self.user_ns.items())
            if not name.startswith("_")
            and name not in _EARLIER
            and (not wanted or type(value).__name__ in wanted)
        }

    def line_who(self, line: str) -> None:
        """The names of the variables; of those types only, if any are given."""
        found = self._variables(line)
        print("\t".join(found) if found else "Interactive namespace is empty.")

    def line_whos(self, line: str) -> None:
        """The variables with their types and values."""
        found = self._variables(line)
        if not found:
            print("Interactive namespace is empty.")
            return
        rows = [
            (name, type(value).__name__, _on_one_line(short_repr(value, 200)))
            for name, value in found.items()
        ]
        wide = [max(len(row[column]) for row in (("Variable", "Type"), *rows)) for column in (0, 1)]
        print(f"{'Variable':{wide[0]}}   {'Type':{wide[1]}}   Data/Info")
        print("-" * (wide[0] + wide[1] + 15))
        for name, kind, value in rows:
            print(f"{name:{wide[0]}}   {kind:{wide[1]}}   {value}")

    def line_reset(self, line: str) -> None:
        """Forget all variables: %reset -f."""
        if line.strip() != "-f" and input("Forget all variables (y/[n])? ").strip().lower() != "y":
            print("Nothing done.")
            return
        for name in list(self._variables("")):
            del self.user_ns[name]

    def line_pip(self, line: str) -> None:
        """Install packages: %pip install REQUIREMENT ..., or list them: %pip list."""
        errors = io.StringIO()
        status = self.run_pip(shlex.split(line), sys.stdout, errors, name="%pip")
        if hasattr(self, "kernel"):
            announce_widgets()
        if status:
            raise UsageError(errors.getvalue().removeprefix("ERROR: ").rstrip())
        sys.stderr.write(errors.getvalue())

    def run_pip(self, arguments: list[str], out: TextIO, errors: TextIO, *, name: str = "pip") -> int:
        """Do what a command line of pip says, and write as it does; its exit status."""
        return packages.run_pip(arguments, self._workspace().get("deps"), out, errors, name=name)

    def __repr__(self) -> str:
        return "<the shell of this session; see %lsmagic>"


def _timeit_options(line: str) -> tuple[dict[str, Any], str]:
    """The options that a `%timeit` begins with, and what is left."""
    options: dict[str, Any] = {}
    rest = line.lstrip()
    while len(rest) > 1 and rest[0] == "-" and rest[1] in "nrpqo":
        flag, rest = rest[1], rest[2:]
        if flag in "qo":
            options[flag] = True
        else:
            number, _, rest = rest.lstrip().partition(" ")
            if not number.isdecimal() or not int(number):
                raise UsageError(f"%timeit -{flag} needs a number greater than 0, not {number!r}")
            options[flag] = int(number)
        rest = rest.lstrip()
    return options, rest


def _help_of_magic(name: str) -> str | None:
    for kind in ("line", "cell"):
        method = getattr(InteractiveShell, f"{kind}_{name}", None)
        if method is not None and method.__doc__:
            return f"%{name}: {' '.join(method.__doc__.split())}"
    return f"%{name} runs the command {name} of the shell" if name in names.SHELL_ALIASES else None


def _on_one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MOST_VALUE else text[: _MOST_VALUE - 1] + "…"
