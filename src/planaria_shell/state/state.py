"""The state of one shell: its variables, options, descriptors, jobs, traps, and where execution is."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import Counter
from collections.abc import Generator, Mapping
from typing import Any

from planaria_shell.state.builtin import BUILTINS, Builtin
from planaria_shell.state.command import CommandFunction, Input, Output
from planaria_shell.state.functions import Frame, FunctionBody
from planaria_shell.state.jobs import Fifo, Job
from planaria_shell.state.limits import Counters, Limits
from planaria_shell.state.options import LETTERS, SET_OPTIONS, SHOPT_DEFAULTS
from planaria_shell.state.pipes import Pipe
from planaria_shell.state.random_numbers import Random
from planaria_shell.state.resources import FROM_THE_START, Bounds, System
from planaria_shell.state.streams import AdaptedStream, DescriptorInput, DescriptorOutput, Stream
from planaria_shell.state.variable import INDEXED, Variable
from planaria_shell.state.variables import Variables
from planaria_shell.syntax.nodes import Command, Simple

__all__ = ["State"]

_RECURSION = 200_000
#: Python frames that one call of a function in a function may take.
_FRAMES = 12


class State:
    """What a shell knows. Everything that runs code receives it (as `Interpreter`, which adds operations).

    It has slots, since CPython is quick with no more than the first thirty attributes of other objects.
    """

    __slots__ = (
        "alarm", "aliases", "allexport", "arithmetic_depth", "background", "becomes_subshell", "blocked",
        "bounds", "braceexpand", "builtins", "bytewise", "command_number", "commands", "completions",
        "consumers", "counters", "cwd", "debug_trap", "deepest", "directories", "disabled_builtins",
        "emacs", "ended_by", "err_trap_depth", "err_trap_nesting", "errexit", "errtrace", "exited", "fds",
        "fifos", "fifos_expected", "frames", "function_depth", "functions", "functrace", "getopts_offset",
        "gives_way", "hash_hits", "hashall", "hashed", "hashes", "histexpand", "history", "history_base",
        "history_enabled", "history_replaced", "history_saved", "ifs", "ignored_signals", "ignoreeof",
        "ignores_interrupts", "interactive", "interactive_comments", "is_detached", "is_one_command",
        "job_owner", "jobs", "key_bindings", "keyword", "last_argument", "last_background",
        "last_command", "limits", "line", "line_offset", "loops", "main", "monitor", "name", "nesting",
        "next_process", "noclobber", "node", "noexec", "noglob", "nolog", "notify", "nounset", "onecmd",
        "open_files", "orphans", "outer_bounds", "own_process_id", "parent_process_id", "pending_signals",
        "physical", "pipe_statuses", "pipefail", "plain_input", "positional", "positional_sets", "posix",
        "privileged", "process_descriptors", "process_id", "processes", "random", "readline_variables",
        "readonly_functions", "reads_input", "remembered_statuses", "reports_deaths", "restricted",
        "running_trap", "running_traps", "runs_exit_trap", "script", "seconds_since", "shopts",
        "shown_jobs", "shown_traps", "sourcing", "spooled_outputs", "starter", "status", "subshell_level",
        "substitution_level", "substitution_status", "suppressed", "system", "table", "trace_descriptor",
        "tracing", "trap_status", "trapped", "traps", "umask", "untold_death", "variables", "verbose",
        "vi", "watching", "xtrace",
    )  # fmt: skip

    # Where execution is, and what has to be checked at each command; all are set in `__init__`.
    alarm: list[float]
    background: bool
    gives_way: bool
    becomes_subshell: bool
    runs_exit_trap: bool
    is_one_command: bool
    last_command: Simple | None
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
    emacs: bool
    vi: bool
    keyword: bool
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

    main: State
    job_owner: State
    starter: State | None

    def __init__(
        self,
        *,
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
        self.variables = Variables(self)  # type: ignore[arg-type]
        self.table = self.variables.table
        self.functions: dict[str, FunctionBody] = {}
        self.readonly_functions: set[str] = set()
        self.aliases: dict[str, str] = {}
        self.builtins: dict[str, Builtin] = BUILTINS
        self.disabled_builtins: set[str] = set()
        self.commands: dict[str, CommandFunction] = dict(commands or {})
        #: Whether commands that are found are remembered.
        self.hashes = True
        #: Where commands were found: path, and function when it is one of the registry.
        self.hashed: dict[str, tuple[str, CommandFunction | None]] = {}
        #: How often commands were found there, or put there, to be run.
        self.hash_hits: Counter[str] = Counter()
        self.fds = {
            0: stdin or DescriptorInput(0, owned=False),
            1: stdout or DescriptorOutput(1, owned=False),
            2: stderr or DescriptorOutput(2, owned=False),
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
        # What is checked at each command; see `update_watching`.
        self.watching = False
        self.tracing = False
        self.debug_trap = False
        self.suppressed = 0
        #: In how many functions and texts the trap for ERR was set, as far as these have not ended.
        self.err_trap_nesting = 0
        #: Whether it is a restricted shell (`bash -r`), which it remains.
        self.restricted = False
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
        #: The signal that has ended this shell, or the command that it has become, if one has.
        self.ended_by = 0
        #: Whether it says which signal has ended a command that it waited for, and the one that it will say
        #: when the redirections of that command are undone.
        self.reports_deaths = True
        self.untold_death = 0
        #: How many subshells and other shells this one is in.
        self.nesting = 0
        self.substitution_level = 0
        self.last_argument = name
        #: The command that runs, and the one that a running trap is about.
        self.node = None
        self.trapped = None
        self.process_id = os.getpid() if hasattr(os, "getpid") else 1000
        self.own_process_id = self.process_id
        #: The process that has begun this one.
        self.parent_process_id = 0
        self.next_process = [self.process_id + 1]
        # Jobs and the like.
        self.jobs: list[Job] = []
        #: The shell whose jobs may write into named pipes that this one reads.
        self.job_owner = self
        self.last_background = 0
        self.background = False
        #: In a stage of a pipeline: whether it lets others run while it sleeps.
        self.gives_way = False
        #: Whether it is there for a `( )`, which then is not one more subshell.
        self.becomes_subshell = False
        #: How often `set` has replaced the positional parameters.
        self.positional_sets = 0
        #: Whether this subshell runs an EXIT trap that is set in it: not where it is a loop or a condition.
        self.runs_exit_trap = True
        #: Whether it is a subshell for one simple command.
        self.is_one_command = False
        #: The simple command that the text of `bash -c` ends with: the shell becomes it.
        self.last_command: Simple | None = None
        #: Signals that were ignored when the shell began, which it cannot change.
        self.ignored_signals: frozenset[str] = frozenset()
        #: Put into the background without job control: INT and QUIT do nothing, unless there is a trap.
        self.ignores_interrupts = False
        #: Standard input as no pipe and no redirection of a compound command has changed it: what runs in the
        #: background does not get it.
        self.plain_input: Stream | None = self.fds[0]
        #: Shared by a job and its subshells: when it wants to go on, and whether it waits for input.
        self.alarm = [0.0]
        self.blocked = [False]
        self.pending_signals: list[int] = []
        #: The shell that this one is a subshell of, in the end, and the one that started it as a program.
        self.main = self
        self.starter = None
        self.remembered_statuses: dict[int, int] = {}
        #: Whether it runs in a session of its own (`setsid`), apart from the program that started it.
        self.is_detached = False
        #: Jobs that have outlived the shell that started them; shared by all shells of a session.
        self.orphans: list[Job] = []
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
        #: What was last set in the system; shared too.
        self.system = System()
        self.spooled_outputs: list[tuple[str, Stream | None, Stream]] = []
        # What special variables need.
        self.ifs = " \t\n"
        #: Where `set -x` writes to, unless that is the standard error.
        self.trace_descriptor: int | None = None
        #: Whether each byte is a character (the locale of C).
        self.bytewise = False
        self.random = Random(int(time.time_ns() ^ self.process_id) & 0xFFFFFFFF)
        self.seconds_since = time.time()
        self.getopts_offset = 1
        self.directories: list[str] = []
        self.history: list[str] = []
        #: The number of the first of them.
        self.history_base = 1
        #: How many lines of it are in its file, and whether the line that runs has been taken out of it.
        self.history_saved = 0
        self.history_replaced = False
        #: The specification that `complete` has for each command, as its options.
        self.completions: dict[str, str] = {}
        #: What `bind` changed; both are replaced, never changed in place.
        self.key_bindings: dict[str, str] = {}
        self.readline_variables: dict[str, str] = {}
        #: Whether it was started to be used by a person (`bash -i`).
        self.interactive = False
        #: The number of the next command of a dialogue, for the prompt.
        self.command_number = 1
        #: Whether it reads its commands from standard input.
        self.reads_input = False

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

    def new_process_id(self) -> int:
        """The next number of a process that there is not."""
        number = self.next_process[0]
        self.next_process[0] += 1
        return number

    def path(self, name: str) -> str:
        """`name` made absolute with the shell's working directory."""
        if name.startswith("/"):
            return name
        return f"/{name}" if self.cwd == "/" else f"{self.cwd}/{name}"

    # -- options -----------------------------------------------------------------------------------

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
        on = [letter for letter, name in LETTERS.items() if getattr(self, SET_OPTIONS[name])]
        on += ["i"] * self.interactive + ["r"] * self.restricted
        on.sort(key=lambda letter: (letter.isupper(), letter))
        return "".join(on) + ("s" if self.reads_input else "" if self.script else "c")

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

    def update_watching(self) -> None:
        """After a change of options or traps: update what has to be checked at each command."""
        self.watching = self.errexit or bool(self.traps.get("ERR"))
        self.debug_trap = bool(self.traps.get("DEBUG"))
        self.tracing = self.xtrace or self.debug_trap
