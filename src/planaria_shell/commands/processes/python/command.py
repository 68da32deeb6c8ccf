"""`python3`, `python`: run a script, a command, a module or standard input with this very interpreter."""

from __future__ import annotations

import builtins
import contextvars
import linecache
import os
import pkgutil
import runpy
import signal
import sys
import warnings
from collections.abc import Callable, Generator
from importlib.machinery import BuiltinImporter, SourceFileLoader
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any, NoReturn

from planaria_shell.commands.processes.python.invocation import InvocationError, PythonInvocation, parse
from planaria_shell.commands.processes.python.isolation import ExitHandlers, isolated
from planaria_shell.commands.processes.python.standard import Standard
from planaria_shell.state.command import Process, Status
from planaria_shell.state.control import BROKEN_PIPE
from planaria_shell.state.deadline import Expired
from planaria_shell.state.streams import HostInput
from planaria_shell.toolkit.invocation import Invocation as Command
from planaria_shell.toolkit.invocation import command

__all__: list[str] = []

_USAGE = """\
usage: {name} [option] ... [-c cmd | -m mod | file | -] [arg] ...
"""
_HELP = """\
Options that do something here:
-B     : don't write .pyc files on import
-c cmd : program passed in as string (terminates option list)
-E, -I : ignore PYTHON* environment variables; -I also leaves the script's directory out of sys.path
-m mod : run library module as a script (terminates option list)
-O     : remove assert and __debug__-dependent statements of the program itself; -OO docstrings too
-P     : don't prepend a potentially unsafe path to sys.path
-u     : force the stdout and stderr streams to be unbuffered
-V     : print the Python version number and exit (also --version)
-W arg : warning control
-x     : skip first line of source
file   : program read from script file
-      : program read from stdin
arg ...: arguments passed to program in sys.argv[1:]
"""
_INTERRUPTED = 130


class _HardExit(BaseException):
    """`os._exit`: the end without exit handlers."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def _hard_exit(status: int) -> NoReturn:
    """Exit to the system with specified status, without normal exit processing."""
    raise _HardExit(status)


@command("python3", "python", "python3.{minor}", raw=True)
def python(call: Command) -> Generator[None, None, Status]:
    """Run Python with its own `__main__`, `sys.argv`, environment, directory and standard streams."""
    process = call.process
    try:
        asked = parse(process.argv[1:])
    except InvocationError as error:
        text = f"{error}\n{_USAGE.format(name=process.argv[0])}Try `python -h' for more information.\n"
        process.stderr.write(text.encode())
        return 2
    if asked.has("h") or asked.has("?"):
        process.stdout.write(f"{_USAGE.format(name=process.argv[0])}{_HELP}".encode())
        return 0
    if asked.has("V"):
        version = sys.version if asked.flags["V"] > 1 else sys.version.partition(" ")[0]
        process.stdout.write(f"Python {version}\n".encode())
        return 0
    if asked.has("i"):
        process.error("-i is not available: there is no terminal to go on at; give a script, -c or -m")
        return 2
    run = _Run(process, asked)
    status = run.status()
    yield from run.standard.output.drain()
    if run.standard.error is not run.standard.output:
        yield from run.standard.error.drain()
    if run.interrupted:
        # The interrupt is meant for the shell too, as Ctrl-C goes to all that run at a terminal.
        raise KeyboardInterrupt
    return status


class _Run:
    """One run of Python."""

    def __init__(self, process: Process, asked: PythonInvocation) -> None:
        self.process = process
        self.asked = asked
        self.env = {} if asked.ignores_environment else process.env
        self.interrupted = False
        self.standard = Standard(
            process,
            unbuffered=asked.has("u") or bool(self.env.get("PYTHONUNBUFFERED")),
            encoding=self.env.get("PYTHONIOENCODING", ""),
        )

    def status(self) -> Status:
        """Run it, and give the exit status."""
        process, asked = self.process, self.asked
        script = asked.script
        path = ""
        if asked.command is None and asked.module is None and script not in (None, "-"):
            assert script is not None
            path = os.path.normpath(process.path(script))
        own = os.path.dirname(os.path.realpath(path)) if path else process.cwd
        if path and pkgutil.get_importer(path) is not None and not os.path.isfile(path):
            own = path
        stdin = sys.stdin
        reads_session = isinstance(process.stdin, HostInput) and (
            script not in (None, "-") or asked.command is not None or asked.module is not None
        )
        ask = builtins.input
        try:
            with isolated(dict(process.env), process.cwd, own) as handlers, self.standard.connected():
                self._enter(path, own)
                if reads_session:
                    # What the host answers: the session's own way of reading lines.
                    sys.stdin = stdin
                    builtins.input = ask
                before = os._exit
                os._exit = _hard_exit
                try:
                    return self._main(path, handlers)
                finally:
                    os._exit = before
        except OSError as error:
            process.error(f"cannot enter the working directory '{process.cwd}': {error.strerror}")
            return 1
        finally:
            self._forget_umask()

    def _forget_umask(self) -> None:
        """The script may have changed the umask: the shell sets its own again."""
        shell = getattr(self.process, "shell", None)
        if shell is not None:
            shell.system.umask = -1

    def _enter(self, path: str, own: str) -> None:
        """Make `sys` what it is at the start of such a run."""
        asked, standard = self.asked, self.standard
        name = "-c" if asked.command is not None else "-m" if asked.module is not None else asked.script or ""
        sys.argv = [name, *asked.arguments]
        sys.orig_argv = list(self.process.argv)
        search = [place for place in sys.path if place and os.path.isabs(place)]
        extra = [place for place in self.env.get("PYTHONPATH", "").split(os.pathsep) if place]
        sys.path = [*(os.path.abspath(place) for place in extra), *search]
        if not (asked.has("I") or asked.has("P") or self.env.get("PYTHONSAFEPATH")):
            sys.path.insert(0, own if path or asked.module is not None else "")
        for word in ("stdin", "stdout", "stderr"):
            setattr(sys, word, getattr(standard, word))
            setattr(sys, f"__{word}__", getattr(standard, word))
        builtins.input = standard.input
        sys.excepthook = sys.__excepthook__
        sys.displayhook = sys.__displayhook__
        if asked.has("B") or self.env.get("PYTHONDONTWRITEBYTECODE"):
            sys.dont_write_bytecode = True
        wanted = [word for word in self.env.get("PYTHONWARNINGS", "").split(",") if word]
        sys.warnoptions = [*wanted, *asked.warnings]
        if sys.warnoptions:
            warnings._processoptions(sys.warnoptions)  # type: ignore[attr-defined]
        main = ModuleType("__main__")
        main.__dict__["__builtins__"] = builtins
        main.__loader__ = BuiltinImporter
        sys.modules["__main__"] = main
        self._watch_interrupts()

    def _watch_interrupts(self) -> None:
        handler: Any = signal.getsignal(signal.SIGINT)

        def on_interrupt(number: int, frame: FrameType | None) -> None:
            self.interrupted = True
            handler(number, frame)

        if callable(handler):
            signal.signal(signal.SIGINT, on_interrupt)

    # -- running -----------------------------------------------------------------------------------

    def _main(self, path: str, handlers: ExitHandlers) -> Status:
        main = sys.modules["__main__"]
        try:
            program = self._program(path)
            status = self._guard(program) if callable(program) else program
            threads = sys.modules.get("planaria_kernel.shims.threads")
            if threads is not None:
                self._guard(threads.run_pending)
            self._guard(handlers.run)
        except _HardExit as end:
            return end.status & 0xFF
        finally:
            # Files that were left open are written out, and objects go while the streams are still theirs.
            main.__dict__.clear()
            for name in ("<string>", "<stdin>"):
                linecache.cache.pop(name, None)
            sys.last_type = sys.last_value = sys.last_traceback = None
            broken = self._flush()
        return BROKEN_PIPE if broken else status

    def _flush(self) -> bool:
        """Write out what the streams hold back; whether a reader has gone."""
        for stream in (sys.stdout, sys.stderr, self.standard.stdout, self.standard.stderr):
            try:
                stream.flush()
            except (ValueError, AttributeError, BrokenPipeError):
                pass  # closed or taken away by the script; a broken pipe is known to the sink
        return self.standard.output.broken

    def _program(self, path: str) -> Callable[[], object] | Status:
        """What is to be run, or a status when it cannot be found."""
        asked = self.asked
        main = sys.modules["__main__"]
        if asked.command is not None:
            return self._source(asked.command.encode("utf-8", "surrogateescape"), "<string>")
        if asked.module is not None:
            module = asked.module
            return lambda: runpy._run_module_as_main(module)  # type: ignore[attr-defined]
        if not path:
            return self._source(self.process.stdin.read(), "<stdin>")
        if os.path.isdir(path) or (not path.endswith(".py") and pkgutil.get_importer(path) is not None):
            sys.path[0] = path
            return lambda: runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined]
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            sys.stderr.write(
                f"{self.process.argv[0]}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}\n"
            )
            return 2
        main.__file__ = path
        main.__dict__["__cached__"] = None
        main.__loader__ = SourceFileLoader("__main__", path)
        return self._source(data, path)

    def _source(self, data: bytes, name: str) -> Callable[[], object]:
        if self.asked.has("x"):
            data = b"\n" + data.partition(b"\n")[2]
        optimize = min(self.asked.flags.get("O", 0), 2) if self.asked.has("O") else -1
        space = sys.modules["__main__"].__dict__

        def run() -> None:
            if name == "<string>" and sys.version_info >= (3, 13):
                lines = data.decode("utf-8", "replace").splitlines(keepends=True)
                linecache.cache[name] = (len(data), None, lines, name)
            code: CodeType = compile(data, name, "exec", dont_inherit=True, optimize=optimize)
            exec(code, space)

        return run

    def _guard(self, function: Callable[[], object]) -> Status:
        """Call something of the script's in a context of its own; its status."""
        try:
            contextvars.Context().run(function)
        except (_HardExit, Expired):
            raise
        except SystemExit as error:
            return self._exit_status(error.code)
        except KeyboardInterrupt as error:
            self._report(error)
            return _INTERRUPTED
        except BrokenPipeError as error:
            if not self.standard.output.broken:
                self._report(error)
            return 1
        except BaseException as error:
            self._report(error)
            return 1
        return 0

    def _exit_status(self, code: Any) -> Status:
        if code is None:
            return 0
        if isinstance(code, int):
            return code & 0xFF
        self.standard.flush_output()
        print(code, file=sys.stderr)
        return 1

    def _report(self, error: BaseException) -> None:
        """Print an uncaught exception, beginning with the script's own frames."""
        error = error.with_traceback(_without_own(error.__traceback__))
        self.standard.flush_output()
        try:
            sys.excepthook(type(error), error, error.__traceback__)
        except Exception as failure:
            sys.stderr.write("Error in sys.excepthook:\n")
            sys.__excepthook__(type(failure), failure, _without_own(failure.__traceback__))
            sys.stderr.write("\nOriginal exception was:\n")
            sys.__excepthook__(type(error), error, error.__traceback__)


def _without_own(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of this package, which stand at its beginning and in `input` and its
    like.
    """
    while trace is not None and _is_own(trace):
        trace = trace.tb_next
    place = trace
    while place is not None:
        while place.tb_next is not None and _is_own(place.tb_next):
            place.tb_next = place.tb_next.tb_next
        place = place.tb_next
    return trace


def _is_own(trace: TracebackType) -> bool:
    return trace.tb_frame.f_code.co_filename.startswith(_PACKAGE)


# Not from `__file__`: compiled without a source, as in the sandbox, code still names its source.
_PACKAGE = os.path.dirname(python.__code__.co_filename) + os.sep
