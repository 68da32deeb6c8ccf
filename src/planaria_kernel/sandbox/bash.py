"""The shell of a session: one bash that lasts, in the same sandbox and on the same files as Python."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import inspect
import io
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TextIO

from planaria_kernel.execution.session_shell import set_owner, shell
from planaria_kernel.kernel import Kernel
from planaria_shell import interactive
from planaria_shell.execution.python_command import exit_outcome, outcome_of
from planaria_shell.saved_state import StateError, apply_state, state_of
from planaria_shell.shell import Shell
from planaria_shell.state.command import COMMANDS, Process
from planaria_shell.state.limits import Limits
from planaria_shell.state.resources import System
from planaria_shell.state.streams import BorrowedOutput, HostInput, NullStream, TextInput, flush_all
from planaria_shell.state.variable import EXPORT, Variable
from planaria_shell.syntax.analysis import analyze

__all__ = ["SessionShell", "command", "shell"]

#: Frames of Python that a script may have on the stack; more is bash's "maximum nesting level".
_RECURSION = 50_000

#: Objects made between two looks for garbage while a script runs.
_YOUNG = 50_000

#: `$?` after Ctrl-C.
_INTERRUPTED = 130


def command(function: Callable[..., Any] | None = None, *, name: str | None = None) -> Any:
    """Make a function a command of the session's shell: a decorator, with or without `name=`.

    It is called as `function(arguments, stdin, environment)` (a list of texts, bytes, a dict), can be `async`
    and return what functions of the host return: text or bytes to print, an exit status, None, or
    `(status, output)` or `(status, output, errors)`. What it raises is the command's error message, with
    status 1. Raises LookupError where there is no shell.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        called = name or function.__name__

        def run(process: Process) -> int:
            try:
                returned = function(process.argv[1:], process.stdin.read(), dict(process.env))
                if inspect.iscoroutine(returned):
                    returned = asyncio.run(returned)
                status, output, errors = outcome_of(called, returned)
            except SystemExit as leaving:
                status, output, errors = exit_outcome(leaving)
            except Exception as error:
                process.error(str(error) or type(error).__name__)
                return 1
            process.stdout.write(output)
            process.stderr.write(errors)
            return status

        shell().commands[called] = run
        return function

    return register if function is None else register(function)


class SessionShell:
    """Runs scripts for the host; `ask(name, arguments, keywords)` calls a function of the host's.

    `bound_files` passes to the system how large files may become and how many more may be opened.
    """

    def __init__(
        self,
        ask: Callable[[str, tuple[Any, ...], dict[str, Any]], Any],
        bound_files: Callable[[int | None, int | None], None] | None = None,
    ) -> None:
        COMMANDS.load()  # into the image, so that no session imports them
        self._ask = ask
        self._bound_files = bound_files
        #: Whether a front end shows prompts.
        self._has_prompt = False
        self.shell = self._new()

    def _new(self) -> Shell:
        with _SettingsOfTheShell():  # it looks how deep functions may nest
            shell = Shell(cwd=os.getcwd(), limits=Limits())
        shell.system = System(self._bound_files)
        return shell

    def connect(self, kernel: Kernel) -> None:
        """Be the shell of the session: have the kernel hand the commands that concern it to this object."""
        set_owner(self)
        for name in ("pip", "pip3"):
            self.shell.commands[name] = partial(_pip, kernel)
        kernel.add_command("bash", self.run)
        kernel.add_command("bash_program", self.run_program)
        kernel.add_command("bash_jobs", self.jobs)
        kernel.add_command("bash_state", self.state)
        kernel.add_command("bash_restore", self.restore)
        kernel.add_command("bash_forget_functions", self.forget_functions)
        kernel.add_command("bash_analyze", self.analyze)
        kernel.add_command("bash_prompts", self.prompts)
        kernel.add_command("bash_complete", self.complete)
        kernel.add_command("bash_is_complete", self.is_complete)
        configure = kernel.configure

        def configure_all(settings: dict[str, Any]) -> None:
            self.configure(settings)
            if configure is not None:
                configure(settings)

        kernel.configure = configure_all

    def configure(self, settings: dict[str, Any]) -> None:
        """Take what concerns the shell out of `settings`: commands of the host, limits, environment."""
        for name in settings.pop("commands", ()):
            self.shell.commands[name] = partial(self._host_command, name)
        limits = settings.pop("shell_limits", None)
        if limits is not None:
            with _SettingsOfTheShell():
                self.shell.limit(Limits(**limits))
        argv = settings.get("argv")
        if argv:
            self.shell.name = argv[0] or self.shell.name
            self.shell.positional = list(argv[1:])
        for name, text in settings.get("environ", {}).items():
            if text is not None and name.isidentifier():
                self.shell.table[name] = Variable(text, EXPORT)

    def run(self, source: str, stdin: bytes = b"") -> tuple[str, dict[str, Any]]:
        """Run a script; the report has its exit status.

        Without `stdin` it reads what the host gives, line by line.

        Shell and Python share the working directory, so it is taken over before and handed back after.
        """
        shell = self.shell
        here = os.getcwd()
        if here != shell.cwd and here != os.path.realpath(shell.cwd):  # the shell keeps the names of links
            shell.run(f"cd -- {_quoted(here)}")
        # This very stream: a Python that a script runs has a `sys.__stdin__` that reads from here.
        ask = partial(_line_of, sys.__stdin__)
        shell.fds[0] = TextInput(stdin) if stdin else HostInput(ask, terminal=self._has_prompt)
        try:
            with _SettingsOfTheShell():
                status = shell.run(source)
                if self._has_prompt and not shell.exited:
                    interactive.before_prompt(shell)
                    if shell.exited:
                        status = shell.status
        except KeyboardInterrupt as interrupt:
            shell.status = _INTERRUPTED
            interrupt.script_line = shell.line  # type: ignore[attr-defined]
            raise
        finally:
            flush_all()  # also when the script was interrupted
            shell.system.apply_limits(None, None)  # the limits of ulimit are none of Python's
            if shell.cwd != here:
                with suppress(OSError):  # a script may remove the directory it is in
                    os.chdir(shell.cwd)
        return ("done", {"exit_code": status})

    def run_program(self, source: str, stdin: bytes = b"") -> tuple[str, dict[str, Any]]:
        """Run a script in a subshell whose streams are its own, as a program that the host starts.

        Nothing of it stays in the shell, standard input is `stdin` and no more, and what it leaves in the
        background goes on in later calls without writing into their output.
        """
        shell = self.shell
        shell.fds[0] = NullStream()
        child = shell.fork()
        output, errors = BorrowedOutput(shell.fds[1]), BorrowedOutput(shell.fds[2])
        for number, stream in ((0, TextInput(stdin)), (1, output), (2, errors)):
            child.put_stream(number, stream)
        try:
            with _SettingsOfTheShell():
                status = child.run(source)
                child.let_go()
                shell.settle_jobs()
        except KeyboardInterrupt as interrupt:
            interrupt.script_line = child.line  # type: ignore[attr-defined]
            child.leave_jobs()
            shell.kill_jobs_since(child.own_process_id)
            raise
        finally:
            child.leave_jobs()
            flush_all()
            output.end()
            errors.end()
            shell.system.apply_limits(None, None)
        return ("done", {"exit_code": status})

    def jobs(self) -> tuple[str, Any]:
        """In how many seconds each job that has outlived its shell wants to go on."""
        return ("answer", [job.sleeping for job in self.shell.orphans if job.status is None])

    def state(self) -> tuple[str, Any]:
        """The shell's state as a JSON text."""
        return ("answer", json.dumps(state_of(self.shell)))

    def restore(self, document: str) -> tuple[str, Any]:
        """Become the shell of a state; an error changes nothing."""
        fresh = self._new()
        fresh.commands = self.shell.commands
        with _SettingsOfTheShell():
            fresh.limit(self.shell.limits)
        # Counters only grow.
        fresh.counters.total_commands = self.shell.counters.total_commands + self.shell.counters.commands
        fresh.counters.total_runs = self.shell.counters.total_runs
        try:
            with _SettingsOfTheShell():
                apply_state(fresh, json.loads(document))
        except StateError as error:
            return ("error", {"type": "StateError", "message": str(error)})
        except RecursionError:
            return ("error", {"type": "StateError", "message": "a function is nested too deeply"})
        self.shell = fresh
        if os.path.isdir(fresh.cwd):
            os.chdir(fresh.cwd)
        return ("done", {})

    def forget_functions(self) -> tuple[str, Any]:
        """Be without functions."""
        self.shell.functions.clear()
        self.shell.readonly_functions.clear()
        return ("done", {})

    def analyze(self, script: str) -> tuple[str, Any]:
        """What a script names; see `analysis.Analysis`."""
        with _SettingsOfTheShell():
            return ("answer", dataclasses.asdict(analyze(script)))

    def prompts(self) -> tuple[str, Any]:
        """The texts of PS1 and PS2, and whether the last script called `exit`."""
        self._has_prompt = True
        with _SettingsOfTheShell():
            return ("answer", {**interactive.prompts(self.shell), "exited": self.shell.exited})

    def complete(self, source: str, cursor: int) -> tuple[str, Any]:
        """What can stand before the cursor."""
        matches, start = interactive.complete(self.shell, source, cursor)
        return ("answer", {"matches": matches, "start": start, "end": cursor})

    def is_complete(self, source: str) -> tuple[str, Any]:
        """Whether a prompt need not ask for more."""
        return ("answer", interactive.is_complete(self.shell, source))

    def _host_command(self, name: str, process: Process) -> int:
        """A command that is a function of the host: it gets arguments, standard input and environment."""
        try:
            status, output, errors = self._ask(
                "!" + name, (process.argv[1:], process.stdin.read(), dict(process.env)), {}
            )
        except Exception as error:
            process.error(str(error) or type(error).__name__)
            return 1
        process.stdout.write(output)
        process.stderr.write(errors)
        return int(status)


def _pip(kernel: Kernel, process: Process) -> int:
    """`pip`: what it installs, the session's `deps` do."""
    out, errors = io.StringIO(), io.StringIO()
    status = kernel.get_ipython().run_pip(process.argv[1:], out, errors, name=process.argv[0])
    process.stdout.write(out.getvalue().encode())
    process.stderr.write(errors.getvalue().encode())
    return status


class _SettingsOfTheShell:
    """The recursion limit of the shell, which is not that of the session's Python, and fewer looks for
    garbage: scripts become very many small objects that are all still needed.

    A class, since entering and leaving a generator takes as long as the shell needs for `echo hi`.
    """

    __slots__ = ("_limit", "_thresholds")

    def __enter__(self) -> None:
        self._limit = limit = sys.getrecursionlimit()
        self._thresholds = young, *older = gc.get_threshold()
        sys.setrecursionlimit(max(limit, _RECURSION))
        gc.set_threshold(max(young, _YOUNG), *older)

    def __exit__(self, *_: object) -> None:
        sys.setrecursionlimit(self._limit)
        gc.set_threshold(*self._thresholds)


def _line_of(stream: TextIO | None) -> str:
    """A line of what the host has for standard input; nothing at the end."""
    return stream.readline() if stream is not None else ""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
