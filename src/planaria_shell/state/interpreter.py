"""What the code of scripts runs on: the state of a shell, and the operations that need more than state.

`expand`, `compile` and `translation` produce functions that take an `Interpreter`. They stand below the
modules that carry the operations out, so they know them only by this interface; `Shell` implements it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping
from math import inf
from typing import Self

from planaria_shell.errors import ShellError, ShellSyntaxError
from planaria_shell.state.builtin import Builtin
from planaria_shell.state.command import CommandFunction
from planaria_shell.state.control import Exit
from planaria_shell.state.functions import FunctionBody
from planaria_shell.state.jobs import Fifo, Job
from planaria_shell.state.pipes import PipeInput
from planaria_shell.state.resources import Bounds
from planaria_shell.state.state import State
from planaria_shell.state.streams import Stream
from planaria_shell.state.variable import Scope
from planaria_shell.syntax.nodes import Command

__all__ = ["Code", "Interpreter", "StreamCode"]

#: A compiled command: runs to its end and returns its status.
Code = Callable[["Interpreter"], int]
#: The same as a generator function, which yields whenever its standard output is full.
StreamCode = Callable[["Interpreter"], Generator[None, None, int]]


class Interpreter(State, ABC):
    """The state of a shell with the operations that run on it."""

    __slots__ = ()

    main: Interpreter
    job_owner: Interpreter
    starter: Interpreter | None

    # -- Other shells ------------------------------------------------------------------------------

    @abstractmethod
    def fork(self) -> Self:
        """A subshell: the same state, changed independently from now on; streams are shared.

        Raises `LimitReachedError` when it is in too many others."""

    @abstractmethod
    def spawn(self, env: Mapping[str, str], *, name: str, arguments: list[str]) -> Self:
        """A new shell as a program of this one's: its environment, its own state, the same streams.

        Raises `LimitReachedError` when it is in too many others."""

    @abstractmethod
    def replace_environment(self, env: Mapping[str, str]) -> None:
        """Make the exported variables just these."""

    # -- Expressions -------------------------------------------------------------------------------

    @abstractmethod
    def evaluate(self, text: str) -> int:
        """The value of an arithmetic expression."""

    @abstractmethod
    def expand_text(self, text: str) -> str:
        """`text` expanded as between double quotes."""

    @abstractmethod
    def expand_fields(self, text: str) -> list[str]:
        """The words in `text`, parted at the characters of IFS and expanded, but not globbed."""

    @abstractmethod
    def expand_key(self, text: str) -> str:
        """The key that a subscript of an associative array stands for."""

    @abstractmethod
    def assign(self, target: str, value: str) -> None:
        """Assign to a name or to `name[subscript]`."""

    # -- Running commands -------------------------------------------------------------------------------

    @abstractmethod
    def execute(self, argv: list[str], tested: bool = False) -> int:
        """Run a command by its arguments."""

    @abstractmethod
    def stream_execute(self, argv: list[str], tested: bool = False) -> Generator[None, None, int]:
        """Run a command, yielding when its output is full."""

    @abstractmethod
    def wait_for_input(self, stream: PipeInput, deadline: float | None = None) -> Generator[None, None, None]:
        """Let others run until there is something to read, or the end, or the time is over."""

    @abstractmethod
    def bind_temporary(
        self, assignments: list[Callable[[Interpreter, Scope], None]], argv: list[str]
    ) -> None:
        """Make the variables that the command `argv` has for as long as it runs."""

    @abstractmethod
    def unbind_temporary(self, argv: list[str]) -> None:
        """The command `argv` has ended: its own variables go, unless they stay after it, by POSIX."""

    @abstractmethod
    def call_tested(self, builtin: Builtin, argv: list[str]) -> int:
        """Run a builtin whose failure is looked at, and so is that of what it runs (`eval`, `source`)."""

    @abstractmethod
    def call_function(self, function: FunctionBody, argv: list[str], tested: bool) -> int:
        """Run a function with `argv[1:]` as its positional parameters."""

    @abstractmethod
    def stream_function(
        self, function: FunctionBody, argv: list[str], tested: bool
    ) -> Generator[None, None, int]:
        """The same, yielding when the output is full."""

    @abstractmethod
    def define_function(self, body: FunctionBody) -> int:
        """`name () …`"""

    @abstractmethod
    def define_functions(self, table: dict[str, FunctionBody]) -> bool:
        """Define them all, by their names, if nothing stands against any of them and none is exported."""

    @abstractmethod
    def external(self, argv: list[str], shown: str | None = None) -> int:
        """Run a command that is neither a function nor a builtin, to its end, under the name `shown`."""

    @abstractmethod
    def stream_external(
        self, argv: list[str], shown: str | None = None, *, alone: bool = False
    ) -> Generator[None, None, int]:
        """The same, yielding when the output is full or, unless it is `alone`, others have to run."""

    # -- Finding commands -------------------------------------------------------------------------------

    @abstractmethod
    def find_command(self, name: str, *, remember: bool = True) -> tuple[str, CommandFunction | None] | None:
        """Where a command is: its path, and its function when the registry has it."""

    @abstractmethod
    def find_commands(self, name: str) -> Iterator[tuple[str, CommandFunction | None]]:
        """All places on PATH where a command of this name is."""

    @abstractmethod
    def registered(self, name: str) -> CommandFunction | None:
        """The function behind a command's name, from the host's commands or the registry."""

    @abstractmethod
    def must_be_executable(self, name: str) -> None:
        """Raise the OSError with which execvp(3) would refuse to run a command of this name."""

    @abstractmethod
    def hint(self, name: str) -> str:
        """Why a program is not here, or the command of which a name is a slip of the fingers."""

    # -- Subshells and substitutions --------------------------------------------------------------------

    @abstractmethod
    def run_subshell(self, code: Code) -> int:
        """Run `code` as all that this subshell does; its descriptors close afterwards."""

    @abstractmethod
    def stream_subshell(self, code: StreamCode) -> Generator[None, None, int]:
        """The same, yielding when the output is full."""

    @abstractmethod
    def let_go(self) -> None:
        """The end of a subshell: close its descriptors, and drop its variables."""

    @abstractmethod
    def close_streams(self) -> None:
        """Let go of all descriptors, and have the limits of the shell around it hold again."""

    @abstractmethod
    def deeper(self) -> None:
        """A subshell, a job or another bash is about to begin: raises `LimitReachedError` when it is in too
        many others.
        """

    @abstractmethod
    def capture(self, code: Code) -> bytes:
        """What `code` writes, run in a subshell."""

    @abstractmethod
    def capture_here(self, code: Code) -> bytes:
        """What `code` writes, run in this shell since it changes nothing in it."""

    @abstractmethod
    def run_here(
        self,
        code: Code,
        source: Stream | None,
        output: Stream | None,
        *,
        captured: bool = False,
    ) -> int:
        """Run in this shell, with other streams, what needs no subshell because it changes nothing."""

    @abstractmethod
    def leaves_state_alone(self, name: str) -> bool:
        """Whether running the command of this name changes nothing in this shell."""

    # -- Running source text ----------------------------------------------------------------------------

    @abstractmethod
    def run(self, source: str, *, where: str = "") -> int:
        """Run a script in this shell and return its status. Output goes to the shell's streams.

        State stays for the next call. What `exit` ends is only this call (after the EXIT trap). Errors of the
        script are reported on standard error, never raised; `KeyboardInterrupt` goes through.
        """

    @abstractmethod
    def enter_history(self, text: str) -> None:
        """Put a line into the history, unless HISTCONTROL or HISTIGNORE keep it out."""

    @abstractmethod
    def remember(self, source: str) -> None:
        """Put what is about to be run into the history, as HISTCONTROL and HISTSIZE have it."""

    @abstractmethod
    def run_exit_trap(self) -> None:
        """Run the EXIT trap, once."""

    @abstractmethod
    def exit_within(self, jump: Exit) -> None:
        """`exit` inside a function: the EXIT trap still sees what is local there."""

    @abstractmethod
    def finish(self) -> int:
        """The shell ends: the EXIT trap, the last of its jobs; returns the status it ends with."""

    @abstractmethod
    def stream_program(
        self, source: str, where: str = "", *, as_command: bool = False
    ) -> Generator[None, None, int]:
        """Run a script as a writer into a pipe: yields when the output is full, ends with the EXIT trap."""

    @abstractmethod
    def stream_line(
        self, source: str, where: str = "", line: int = 1, *, as_command: bool = False
    ) -> Generator[None, None, int]:
        """Run a chunk of a script, which begins in line `line`; `exited` says whether it called `exit`."""

    @abstractmethod
    def takes_turns(self) -> bool:
        """Whether others must run in between: in the background, or at a pipe that may be full or empty."""

    @abstractmethod
    def run_text(self, text: str, *, line: int = 1, where: str = "") -> int:
        """Run source text here (eval, traps, sourced files); a syntax error gives status 2."""

    @abstractmethod
    def stream_text(self, text: str, *, line: int = 1) -> Generator[None, None, int]:
        """The same, yielding when the output is full."""

    # -- Messages ---------------------------------------------------------------------------------------

    @abstractmethod
    def error_output(self, text: str) -> None:
        """Write to standard error."""

    @abstractmethod
    def output(self, data: bytes) -> None:
        """Write to standard output; raises BrokenPipeError when there is no reader."""

    @abstractmethod
    def write_failed(self, error: OSError, name: str = "") -> int:
        """Tell that something could not be written, by the builtin `name` if it was one; the status.

        A file that would be larger than `ulimit -f` allows is a signal first, which ends a shell without a
        trap for it: raises `Exit`.
        """

    @abstractmethod
    def complain(self, message: str) -> None:
        """Write `bash: line N: message`."""

    @abstractmethod
    def report_death(self, number: int, node: Command | str | None, argv: list[str]) -> None:
        """Say that a signal has ended a command of the foreground."""

    @abstractmethod
    def report_error(self, error: ShellError) -> None:
        """Write an error's message, unless it has been written."""

    @abstractmethod
    def report(self, error: ShellError) -> None:
        """Write an error's message; one that ends the shell raises `Exit`."""

    @abstractmethod
    def arithmetic_failed(self, error: ShellError) -> None:
        """Write the error of an expression in `(( ))`; one that ends more is raised again."""

    @abstractmethod
    def becomes_command(self) -> bool:
        """Whether what runs is the last command, and no trap has to run behind it."""

    @abstractmethod
    def report_syntax_error(self, error: ShellSyntaxError, where: str = "") -> None:
        """Write a syntax error and the line it is in (bash has no message for a few)."""

    @abstractmethod
    def warn_of_source(self, line: int, message: str) -> None:
        """Tell what is odd in a line of source text but no error."""

    @abstractmethod
    def trace(self, argv: list[str]) -> None:
        """`set -x` shows a command that is about to run, if there is one."""

    @abstractmethod
    def heading(self, node: Command | str | None, line: int) -> bool:
        """A compound command or an iteration of a loop begins: run the DEBUG trap, which may have it
        skipped (then this is true), and show its head for `set -x`. `(( ))` and `[[ ]]` are shown when
        their words are expanded.

        Args:
            node: the command, or the part of it that `$BASH_COMMAND` shows.
            line: where it stands.
        """

    @abstractmethod
    def trace_line(self, text: str) -> None:
        """One line of `set -x`."""

    @abstractmethod
    def trace_assignment(self, name: str, text: str, append: bool) -> None:
        """"""

    @abstractmethod
    def report_times(self, real: float, used: float, *, portable: bool) -> None:
        """What `time` prints, by TIMEFORMAT."""

    @abstractmethod
    def prompt(self, text: str) -> str:
        """A prompt string with its escapes and expansions replaced (also `${x@P}`)."""

    # -- Jobs -------------------------------------------------------------------------------------------

    @abstractmethod
    def expect_fifos(self) -> None:
        """From now on there may be named pipes."""

    @abstractmethod
    def fifo(self, path: str) -> Fifo | None:
        """The named pipe at `path`, or None when there is another kind of file or none."""

    @abstractmethod
    def start_job(self, code: StreamCode, text: str, node: Command | None = None) -> Job:
        """Put a command into the background; `node` is the command where it is known."""

    @abstractmethod
    def jobs_beside(self) -> list[Job]:
        """The jobs that can go on while this shell waits: its own, those of the shells around it, and those
        that have outlived theirs."""

    @abstractmethod
    def leave_jobs(self) -> None:
        """The shell ends: what still runs of its jobs goes on without it."""

    @abstractmethod
    def detach(self, argv: list[str]) -> None:
        """Start a command that belongs to no shell."""

    @abstractmethod
    def begin_session(self) -> None:
        """The command that a job consists of begins a session of its own."""

    @abstractmethod
    def kill_jobs_since(self, process_id: int) -> None:
        """Kill the jobs without a shell that were started after this process and are in its session."""

    @abstractmethod
    def find_process(self, process_id: int) -> Job | None:
        """The job of any shell that has this process number."""

    @abstractmethod
    def run_jobs(self, finished: Callable[[], bool], *, deadline: float | None = None) -> None:
        """Run the jobs side by side until `finished()` or the time is over."""

    @abstractmethod
    def run_writers(
        self, stream: Stream, finished: Callable[[], bool] = lambda: False, deadline: float = inf
    ) -> None:
        """Run the jobs that may still write into `stream`."""

    @abstractmethod
    def settle_jobs(self) -> None:
        """Run jobs as far as they come without waiting."""

    @abstractmethod
    def report_jobs(self) -> None:
        """Say which jobs were killed or, with job control, ended or stopped."""

    @abstractmethod
    def wait_job(self, job: Job) -> int:
        """Run until the job has ended; its status."""

    @abstractmethod
    def find_job(self, text: str, *, listed: bool = False) -> Job | None:
        """The job that `%1`, `%%`, `%-`, `%text`, `%?text` or a process number means;
        `listed`: also one that a subshell only lists."""

    @abstractmethod
    def start_coprocess(self, name: str, code: StreamCode, text: str) -> None:
        """`coproc`: a command that runs when its output is read."""

    @abstractmethod
    def end_coprocess(self, job: Job) -> None:
        """Forget the variables and close the descriptors of a coprocess that has ended."""

    @abstractmethod
    def process_substitution(self, direction: str, code: StreamCode) -> str:
        """Start `<(…)` or `>(…)`; the name by which it is opened."""

    @abstractmethod
    def end_process_substitutions(self, mark: int) -> None:
        """The command has ended: close what it was given, and let the readers of `>(…)` run."""

    @abstractmethod
    def run_consumers(self, *, close: bool = False) -> None:
        """Run the readers of `>(…)` whose input is complete (all of them when the shell ends)."""

    @abstractmethod
    def descriptor_path(self, number: int, name: str) -> str:
        """A file that stands for a descriptor, for commands that open files by name."""

    @abstractmethod
    def fifo_path(self, path: str) -> str:
        """A file with what comes out of the named pipe at `path`; other paths as they are."""

    @abstractmethod
    def collect_outputs(self, mark: int) -> None:
        """Move what commands wrote into such files to where it belongs."""

    # -- Limits of resources ----------------------------------------------------------------------------

    @abstractmethod
    def set_bounds(self, bounds: Bounds) -> None:
        """Have these limits from now on."""

    @abstractmethod
    def apply_limits(self) -> None:
        """Apply the limits of this shell to the system."""

    @abstractmethod
    def apply_umask(self) -> None:
        """Apply the shell's umask to the system, where it has one."""

    @abstractmethod
    def may_open(self, name: str) -> None:
        """Raises `ShellError` when one descriptor more is too many."""

    @abstractmethod
    def may_fork(self) -> None:
        """Raises `ShellError` when one process beside this shell, others around it and jobs is too many."""

    # -- Traps ------------------------------------------------------------------------------------------

    @abstractmethod
    def run_trap(self, name: str) -> int:
        """Run the trap of this name, if there is one; its status, while `$?` is kept."""

    @abstractmethod
    def run_debug_trap(self) -> bool:
        """Before each command: the DEBUG trap, if there is one that counts here. With `shopt -s extdebug` its
        status decides whether the command is skipped (which is what this returns), or all of the function.
        """

    @abstractmethod
    def failed(self, status: int) -> int:
        """A command whose status is not tested has failed: run the ERR trap, then apply `set -e`."""

    @abstractmethod
    def raise_signal(self, number: int) -> None:
        """The shell itself gets a signal: its trap runs, or the shell ends."""

    @abstractmethod
    def children_ended(self, count: int = 1) -> None:
        """So many commands that bash would run in processes of their own have ended."""

    @abstractmethod
    def take_signals(self) -> None:
        """Signals that came while the shell was not running."""
