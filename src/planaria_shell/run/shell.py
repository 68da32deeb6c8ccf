"""The shell: its state, copies of it, its options and descriptors."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Generator, Mapping
from typing import Any

from planaria_shell.builtins import BUILTINS, Builtin
from planaria_shell.compile.arithmetic import evaluate
from planaria_shell.compile.functions import Frame, FunctionBody
from planaria_shell.expand.pathnames import Pathnames
from planaria_shell.run.command import CommandFunction, Input, Output
from planaria_shell.run.command_lookup import Lookup
from planaria_shell.run.diagnostics import Diagnostics
from planaria_shell.run.evaluator import Sources
from planaria_shell.run.execution import Execution
from planaria_shell.run.jobs import Fifo, Job, Jobs
from planaria_shell.run.limits import Counters, Limits
from planaria_shell.run.options import LETTERS, SET_OPTIONS, SHOPT_DEFAULTS
from planaria_shell.run.pipes import Pipe
from planaria_shell.run.resources import FROM_THE_START, Bounds, Resources, System
from planaria_shell.run.special_variables import Random, define
from planaria_shell.run.streams import AdaptedStream, FileInput, FileOutput, Stream
from planaria_shell.run.subscripts import key_of
from planaria_shell.run.subshells import Subshells
from planaria_shell.run.traps import Traps
from planaria_shell.run.variable import ASSOCIATIVE, EXPORT, INDEXED, Variable
from planaria_shell.run.variables import Variables
from planaria_shell.syntax.lexer import Lexer
from planaria_shell.syntax.nodes import Command, DoubleQuoted, Word
from planaria_shell.syntax.parser import Parser

__all__ = ["Shell"]

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_RECURSION = 200_000
#: Python frames that one call of a function in a function may take.
_FRAMES = 12


class Shell(Execution, Lookup, Subshells, Sources, Pathnames, Diagnostics, Jobs, Resources, Traps):
    """One shell. State lasts from one `run` to the next, as in one interactive bash.

    Arguments:
        env: the exported variables it begins with.
        cwd: its working directory (absolute).
        stdin, stdout, stderr: its streams; those of the Python process when not given.
        commands: further commands by name, found before those of the registry.
        limits: what scripts may use.
        name: `$0`.
        arguments: the positional parameters.
    """

    # Where execution is, and what has to be heeded at each command; all are set in `__init__`.
    alarm: list[float]
    background: bool
    gives_way: bool
    becomes_subshell: bool
    plain_input: Stream | None
    bounds: Bounds
    outer_bounds: Bounds
    cwd: str
    line_offset: int
    name: str
    random: Random
    debug_trap: bool
    err_trap_depth: int
    function_depth: int
    last_argument: str
    last_background: int
    line: int
    loops: int
    running_trap: str
    trap_status: int
    process_id: int
    own_process_id: int
    processes: int | None
    status: int
    substitution_level: int
    substitution_status: int
    subshell_level: int
    nesting: int
    suppressed: int
    tracing: bool
    watching: bool
    arithmetic_depth: int
    sourcing: int
    pipe_statuses: list[int] | None
    node: Command | str | None
    trapped: Command | str | None
    fds: dict[int, Stream]

    # The options of `set`; their names are those of options.SET_OPTIONS.
    allexport: bool
    braceexpand: bool
    errexit: bool
    errtrace: bool
    functrace: bool
    hashall: bool
    histexpand: bool
    history_enabled: bool
    interactive_comments: bool
    monitor: bool
    noclobber: bool
    noexec: bool
    noglob: bool
    nounset: bool
    physical: bool
    pipefail: bool
    posix: bool
    verbose: bool
    xtrace: bool

    def __init__(
        self,
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stdin: Stream | None = None,
        stdout: Stream | None = None,
        stderr: Stream | None = None,
        commands: Mapping[str, CommandFunction] | None = None,
        limits: Limits | None = None,
        name: str = "bash",
        arguments: list[str] | None = None,
    ) -> None:
        self.limits = limits or Limits()
        #: Functions inside each other, as the limit has it or as far as the interpreter can follow.
        self.deepest = self._deepest()
        #: Shared with subshells, as the limits are.
        self.counters = Counters(self.limits)
        self.name = name
        #: The file that is being run, if it is one.
        self.script = ""
        self.positional: list[str] = list(arguments or [])
        self.cwd = os.path.abspath(cwd or os.getcwd())
        self.umask = 0o022
        self.variables = Variables(self)
        self.table = self.variables.table
        self.functions: dict[str, FunctionBody] = {}
        self.readonly_functions: set[str] = set()
        self.aliases: dict[str, str] = {}
        self.builtins: dict[str, Builtin] = BUILTINS
        self.disabled_builtins: set[str] = set()
        self.commands: dict[str, CommandFunction] = dict(commands or {})
        self.commands_loaded = False
        #: Where commands were found: path, and function when it is one of the registry.
        self.hashed: dict[str, tuple[str, CommandFunction | None]] = {}
        self.fds = {
            0: stdin or FileInput(0, owned=False),
            1: stdout or FileOutput(1, owned=False),
            2: stderr or FileOutput(2, owned=False),
        }
        for attribute in SET_OPTIONS.values():
            setattr(self, attribute, False)
        self.braceexpand = True
        self.hashall = True
        self.interactive_comments = True
        self.shopts: set[str] = set(SHOPT_DEFAULTS)
        self.traps: dict[str, str] = {}
        #: In a subshell: the traps of the shell around, which `trap` lists until it sets one itself.
        self.shown_traps: dict[str, str] = {}
        #: What `jobs` shows in a subshell that has none of its own.
        self.shown_jobs: list[Job] = []
        self.running_traps: set[str] = set()
        #: The innermost of them, and what `$?` was before it.
        self.running_trap = ""
        self.trap_status = 0
        self.err_trap_depth = 0
        # What is heeded at each command; see `update_watching`.
        self.watching = False
        self.tracing = False
        self.debug_trap = False
        self.suppressed = 0
        # Where execution is.
        self.status = 0
        self.pipe_statuses = None
        self.substitution_status = 0
        self.line = 1
        self.line_offset = 0
        self.loops = 0
        self.frames: list[Frame] = []
        self.function_depth = 0
        self.sourcing = 0
        self.arithmetic_depth = 0
        self.subshell_level = 0
        #: How many subshells and other shells this one is in.
        self.nesting = 0
        self.substitution_level = 0
        self.last_argument = name
        #: The command that runs, and the one that a running trap is about.
        self.node = None
        self.trapped = None
        self.process_id = os.getpid() if hasattr(os, "getpid") else 1000
        self.own_process_id = self.process_id
        self._next_process = [self.process_id + 1]
        # Jobs and the like.
        self.jobs: list[Job] = []
        #: The shell whose jobs may write into named pipes that this one reads.
        self.job_owner: Shell = self
        self.last_background = 0
        self.background = False
        #: In a stage of a pipeline: whether it lets others run while it sleeps.
        self.gives_way = False
        #: Whether it is there for a `( )`, which then is not one more subshell.
        self.becomes_subshell = False
        #: Standard input as no pipe and no redirection of a compound command has changed it: what runs in the
        #: background does not get it.
        self.plain_input: Stream | None = self.fds[0]
        #: Shared by a job and its subshells: when it wants to go on, and whether it waits for input.
        self.alarm = [0.0]
        self.blocked = [False]
        self.pending_signals: list[int] = []
        #: The shell that this one is a subshell of, in the end, and the one that started it as a program.
        self.main: Shell = self
        self.starter: Shell | None = None
        self.remembered_statuses: dict[int, int] = {}
        self.disowned: list[Job] = []
        #: Whether `exit` was called in the last `run` or `stream_line`.
        self.exited = False
        self.consumers: list[tuple[Pipe, Generator[None, None, int]]] = []
        self.process_descriptors: list[int] = []
        #: Named pipes that are open, by path; shared with subshells.
        self.fifos: dict[str, Fifo] = {}
        #: Whether there may be named pipes at all (otherwise opening a file need not look); shared too.
        self.fifos_expected = [False]
        #: The limits of `ulimit`, and what of them is looked at again and again; in a subshell also those
        #: that the shell around it goes on with.
        self.bounds = self.outer_bounds = FROM_THE_START
        self.open_files = 1024
        self.processes = None
        #: What the system was told last; shared too.
        self.system = System()
        self.spooled_outputs: list[tuple[str, Stream | None, Stream]] = []
        # What special variables need.
        self.ifs = " \t\n"
        self.random = Random(int(time.time_ns() ^ self.process_id) & 0xFFFFFFFF)
        self.seconds_since = time.time()
        self.getopts_offset = 1
        self.directories: list[str] = []
        self.history: list[str] = []
        #: How many lines of it are in its file, and whether the line that runs has been taken out of it.
        self.history_saved = 0
        self.history_replaced = False
        self.completions: dict[str, str] = {}
        self._set_environment(dict(os.environ) if env is None else env)

    def _deepest(self) -> int:
        if sys.getrecursionlimit() < _RECURSION:
            # An interpreter that does not let itself be raised so far keeps its own limit.
            with contextlib.suppress(ValueError, RecursionError):
                sys.setrecursionlimit(_RECURSION)
        possible = sys.getrecursionlimit() // _FRAMES
        limit = self.limits.function_depth
        return possible if limit is None else min(limit, possible)

    def limit(self, limits: Limits) -> None:
        """Bound scripts by `limits` from now on."""
        self.limits = limits
        self.deepest = self._deepest()
        self.counters.apply(limits)

    def _set_environment(self, env: Mapping[str, str]) -> None:
        for name, value in env.items():
            if name.isidentifier() and name.isascii():
                self.table[name] = Variable(value, EXPORT)
        define(self)
        if "PATH" not in self.table:
            self.table["PATH"] = Variable(DEFAULT_PATH)
        self.table["PWD"] = Variable(self.cwd, EXPORT)
        self.table.setdefault("OLDPWD", Variable(None, EXPORT))

    # -- copies ------------------------------------------------------------------------------------

    def fork(self) -> Shell:
        """A subshell: the same state, changed independently from now on; streams are shared.

        Raises `LimitReachedError` when it is in too many others."""
        self.deeper()
        if self.processes is not None:
            self.may_fork()
        child: Shell = Shell.__new__(Shell)
        child.__dict__.update(self.__dict__)
        child.variables = Variables(child)
        self.variables.copy_into(child.variables)
        child.table = child.variables.table
        child.functions = self.functions.copy()
        child.aliases = self.aliases.copy()
        child.shopts = self.shopts.copy()
        child.hashed = self.hashed.copy()
        child.traps = {name: command for name, command in self.traps.items() if not command}
        if self.errtrace and "ERR" in self.traps:
            child.traps["ERR"] = self.traps["ERR"]
        if self.functrace:
            child.traps.update({n: c for n, c in self.traps.items() if n in ("DEBUG", "RETURN")})
        child.shown_traps = self.traps or self.shown_traps
        child.running_traps = self.running_traps & {"DEBUG", "ERR", "RETURN"}
        child.running_trap = ""
        child.loops = 0
        child.frames = self.frames.copy()
        child.fds = {number: stream.retain() for number, stream in self.fds.items()}
        child.pending_signals = []
        child.jobs = []
        child.shown_jobs = []
        child.job_owner = self.job_owner if not self.jobs else self
        child.consumers = []
        child.process_descriptors = []
        child.spooled_outputs = []
        child.directories = self.directories.copy()
        child.history = self.history.copy()
        child.outer_bounds = self.bounds
        child.subshell_level = self.subshell_level + 1
        child.nesting = self.nesting + 1
        child.own_process_id = self.new_process_id()
        child.random = Random(self.random.seed ^ child.own_process_id)
        if child.watching or child.tracing:
            child.update_watching()
        return child

    def new_process_id(self) -> int:
        number = self._next_process[0]
        self._next_process[0] += 1
        return number

    def spawn(self, env: Mapping[str, str], *, name: str, arguments: list[str]) -> Shell:
        """A new shell as a program of this one's: its environment, its own state, the same streams.

        Raises `LimitReachedError` when it is in too many others."""
        self.deeper()
        child = Shell(
            env=env, cwd=self.cwd, commands=self.commands, limits=self.limits, name=name, arguments=arguments
        )
        child.fds = {number: stream.retain() for number, stream in self.fds.items()}
        child.plain_input = child.fds.get(0)
        child.counters = self.counters
        child.fifos = self.fifos
        child.fifos_expected = self.fifos_expected
        child.system = self.system
        child.umask = self.umask
        child.bounds = child.outer_bounds = self.bounds
        child.open_files, child.processes = self.open_files, self.processes
        child.commands_loaded = self.commands_loaded
        child._next_process = self._next_process
        child.process_id = child.own_process_id = self.new_process_id()
        child.table["PPID"].value = str(self.own_process_id)
        child.starter = self
        child.nesting = self.nesting + 1
        child.functions = {name: body for name, body in self.functions.items() if body.exported}
        child.background = self.background
        child.gives_way = self.gives_way
        # In a job it sleeps and waits as the job does.
        child.alarm = self.alarm
        child.blocked = self.blocked
        return child

    def replace_environment(self, env: Mapping[str, str]) -> None:
        """Make the exported variables just these."""
        for name in [name for name, variable in self.table.items() if variable.flags & EXPORT]:
            del self.table[name]
        for name, value in env.items():
            if name.isidentifier():
                self.table[name] = Variable(value, EXPORT)
        self.hashed = {}

    # -- services for expansions -------------------------------------------------------------------

    def evaluate(self, text: str) -> int:
        """The value of an arithmetic expression."""
        return evaluate(self, text)

    def expand_text(self, text: str) -> str:
        """`text` expanded as between double quotes."""
        from planaria_shell.compile.compiler import Compiler

        lexer: Lexer = Parser(text, line=self.line, extglob="extglob" in self.shopts)
        lexer.posix = self.posix
        return Compiler().words.text(Word([DoubleQuoted(lexer.double_quoted(here_document=True))]))(self)

    def assign(self, target: str, value: str) -> None:
        """Assign to a name or to `name[subscript]`."""
        if "[" in target and target.endswith("]"):
            name, _, subscript = target[:-1].partition("[")
            variable = self.variables.find(name)
            if variable is not None and variable.flags & ASSOCIATIVE:
                self.variables.set_element(name, key_of(self, subscript), value)
            else:
                self.variables.set_element(name, self.expand_text(subscript), value)
            return
        self.variables.set(target, value)

    def state(self) -> dict[str, Any]:
        """The state that lasts between calls as a JSON document (see `state.py`)."""
        from planaria_shell.run.state import state_of

        return state_of(self)

    def from_state(self, document: dict[str, Any]) -> None:
        """Take a state back; raises `state.StateError` and changes nothing when it is not well formed."""
        from planaria_shell.run.state import apply_state

        apply_state(self, document)

    # -- options -----------------------------------------------------------------------------------

    def builtins_without(self, disabled: set[str]) -> dict[str, Builtin]:
        """The table of builtins without those that `enable -n` turned off."""
        if not disabled:
            return BUILTINS
        return {name: function for name, function in BUILTINS.items() if name not in disabled}

    @property
    def lastpipe(self) -> bool:
        return "lastpipe" in self.shopts

    def options_on(self) -> list[str]:
        """The names of the options of `set` that are on."""
        return [name for name, attribute in SET_OPTIONS.items() if getattr(self, attribute)]

    def option_is_on(self, name: str) -> bool:
        attribute = SET_OPTIONS.get(name)
        return attribute is not None and bool(getattr(self, attribute))

    def option_letters(self) -> str:
        """`$-`"""
        on = "".join(letter for letter, name in LETTERS.items() if getattr(self, SET_OPTIONS[name]))
        return on + ("" if self.script else "c")

    def save_options(self) -> object:
        """All options of `set`, for `restore_options`."""
        return {attribute: getattr(self, attribute) for attribute in SET_OPTIONS.values()}

    def restore_options(self, saved: Any) -> None:
        for attribute, value in saved.items():
            setattr(self, attribute, value)
        self.update_watching()

    # -- descriptors -------------------------------------------------------------------------------

    def set_stream(self, number: int, stream: Stream | Input | Output) -> None:
        """Make a descriptor stand for a stream that others hold too."""
        if not isinstance(stream, Stream):
            stream = AdaptedStream(stream)
            stream.owners = 0
        before = self.fds.get(number)
        self.fds[number] = stream.retain()
        if before is not None:
            before.release()

    def put_stream(self, number: int, stream: Stream) -> None:
        """Make a descriptor the owner of a new stream."""
        before = self.fds.get(number)
        self.fds[number] = stream
        if before is not None:
            before.release()

    def free_descriptor(self, start: int = 10, *, down: bool = False) -> int:
        """A number that is not in use."""
        while start in self.fds:
            start += -1 if down else 1
        return start

    def set_matches(self, groups: list[str]) -> None:
        """BASH_REMATCH."""
        variable = self.table.get("BASH_REMATCH")
        if variable is None:
            variable = self.table["BASH_REMATCH"] = Variable(None, INDEXED)
        variable.flags |= INDEXED
        variable.array = dict(enumerate(groups))
        variable.ordered = True

    def load_commands(self) -> None:
        """Import the modules that register commands."""
        from planaria_shell import commands
        from planaria_shell.run import invocation  # noqa: F401

        commands.load()
        self.commands_loaded = True
