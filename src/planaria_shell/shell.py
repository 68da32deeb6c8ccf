"""The shell: the public face of the state, the interpreter's operations and the builtins."""

from __future__ import annotations

import os
from collections.abc import Mapping
from operator import attrgetter
from typing import Self

import planaria_shell.builtins  # noqa: F401  (fills the table of builtins)
from planaria_shell.compile import run_time_text
from planaria_shell.execution import (
    command_lookup,
    commands,
    diagnostics,
    evaluator,
    jobs,
    remembering,
    resources,
    subshells,
    traps,
)
from planaria_shell.expand.arithmetic import evaluate
from planaria_shell.expand.subscripts import key_of
from planaria_shell.state.command import CommandFunction
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.limits import Limits
from planaria_shell.state.random_numbers import Random
from planaria_shell.state.signals import SIGNALS
from planaria_shell.state.special_variables import define
from planaria_shell.state.state import State
from planaria_shell.state.streams import Stream
from planaria_shell.state.variable import ASSOCIATIVE, EXPORT, Variable
from planaria_shell.state.variables import Variables

__all__ = ["Shell"]

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#: Conditions of `trap` that are signals, which programs inherit.
_NUMBERED = frozenset(SIGNALS.values())

#: All that a shell knows, in the order of its slots.
_everything = attrgetter(*State.__slots__)


class Shell(Interpreter):
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

    __slots__ = ()

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
        super().__init__(
            cwd=cwd,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            commands=commands,
            limits=limits,
            name=name,
            arguments=arguments,
        )
        self._set_environment(dict(os.environ) if env is None else env)

    # The operations, by the modules that carry them out.

    # Expressions.
    evaluate = evaluate
    expand_text = run_time_text.expand_text
    expand_fields = run_time_text.expand_fields
    expand_key = run_time_text.expand_key
    # Running commands.
    execute = commands.execute
    stream_execute = commands.stream_execute
    wait_for_input = commands.wait_for_input
    bind_temporary = commands.bind_temporary
    unbind_temporary = commands.unbind_temporary
    call_tested = commands.call_tested
    call_function = commands.call_function
    stream_function = commands.stream_function
    define_function = commands.define_function
    define_functions = commands.define_functions
    external = commands.external
    stream_external = commands.stream_external
    # Finding commands.
    find_command = command_lookup.find_command
    find_commands = command_lookup.find_commands
    registered = command_lookup.registered
    must_be_executable = command_lookup.must_be_executable
    hint = command_lookup.hint
    # Subshells and substitutions.
    run_subshell = subshells.run_subshell
    stream_subshell = subshells.stream_subshell
    let_go = subshells.let_go
    close_streams = subshells.close_streams
    deeper = subshells.deeper
    capture = subshells.capture
    capture_here = subshells.capture_here
    run_here = subshells.run_here
    leaves_state_alone = subshells.leaves_state_alone
    # Running source text.
    run = evaluator.run
    remember = remembering.remember
    enter_history = remembering.enter_history
    run_exit_trap = evaluator.run_exit_trap
    exit_within = evaluator.exit_within
    finish = evaluator.finish
    stream_program = evaluator.stream_program
    stream_line = evaluator.stream_line
    takes_turns = evaluator.takes_turns
    run_text = evaluator.run_text
    stream_text = evaluator.stream_text
    # Messages.
    error_output = diagnostics.error_output
    output = diagnostics.output
    write_failed = diagnostics.write_failed
    complain = diagnostics.complain
    report_error = diagnostics.report_error
    report_death = diagnostics.report_death
    report = diagnostics.report
    arithmetic_failed = diagnostics.arithmetic_failed
    report_syntax_error = diagnostics.report_syntax_error
    warn_of_source = diagnostics.warn_of_source
    trace = diagnostics.trace
    heading = diagnostics.heading
    trace_line = diagnostics.trace_line
    trace_assignment = diagnostics.trace_assignment
    report_times = diagnostics.report_times
    prompt = diagnostics.prompt
    # Jobs.
    expect_fifos = jobs.expect_fifos
    fifo = jobs.fifo
    start_job = jobs.start_job
    jobs_beside = jobs.jobs_beside
    leave_jobs = jobs.leave_jobs
    detach = jobs.detach
    begin_session = jobs.begin_session
    kill_jobs_since = jobs.kill_jobs_since
    find_process = jobs.find_process
    run_jobs = jobs.run_jobs
    run_writers = jobs.run_writers
    settle_jobs = jobs.settle_jobs
    report_jobs = jobs.report_jobs
    wait_job = jobs.wait_job
    find_job = jobs.find_job
    start_coprocess = jobs.start_coprocess
    end_coprocess = jobs.end_coprocess
    process_substitution = jobs.process_substitution
    end_process_substitutions = jobs.end_process_substitutions
    run_consumers = jobs.run_consumers
    descriptor_path = jobs.descriptor_path
    fifo_path = jobs.fifo_path
    collect_outputs = jobs.collect_outputs
    # Limits of resources.
    set_bounds = resources.set_bounds
    apply_limits = resources.apply_limits
    apply_umask = resources.apply_umask
    may_open = resources.may_open
    may_fork = resources.may_fork
    # Traps.
    run_trap = traps.run_trap
    run_debug_trap = traps.run_debug_trap
    failed = traps.failed
    raise_signal = traps.raise_signal
    take_signals = traps.take_signals
    children_ended = traps.children_ended

    def _set_environment(self, env: Mapping[str, str]) -> None:
        for name, value in env.items():
            if name.isidentifier() and name.isascii():
                self.table[name] = Variable(value, EXPORT)
        define(self)
        if "PATH" not in self.table:
            self.table["PATH"] = Variable(DEFAULT_PATH)
        self.table["PWD"] = Variable(self.cwd, EXPORT)
        self.table.setdefault("OLDPWD", Variable(None, EXPORT))

    def fork(self) -> Self:
        """A subshell: the same state, changed independently from now on; streams are shared.

        Raises `LimitReachedError` when it is in too many others."""
        self.deeper()
        if self.processes is not None:
            self.may_fork()
        child = type(self).__new__(type(self))
        for name, value in zip(State.__slots__, _everything(self), strict=True):
            setattr(child, name, value)
        child.variables = Variables(child)
        self.variables.copy_into(child.variables)
        child.table = child.variables.table
        child.functions = self.functions.copy()
        child.aliases = self.aliases.copy()
        child.shopts = self.shopts.copy()
        child.hashes = True
        child.hashed = self.hashed.copy()
        child.hash_hits = self.hash_hits.copy()
        child.traps = {name: command for name, command in self.traps.items() if not command}
        if self.errtrace and "ERR" in self.traps:
            child.traps["ERR"] = self.traps["ERR"]
        if self.functrace:
            child.traps.update({n: c for n, c in self.traps.items() if n in ("DEBUG", "RETURN")})
        child.shown_traps = self.traps or self.shown_traps
        child.running_traps = self.running_traps & {"DEBUG", "ERR", "RETURN"}
        child.running_trap = ""
        child.runs_exit_trap = True
        child.is_one_command = False
        child.last_command = None
        child.ended_by = 0
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
        child.parent_process_id = self.own_process_id
        child.own_process_id = self.new_process_id()
        child.random = Random(self.random.seed ^ child.own_process_id)
        if child.watching or child.tracing:
            child.update_watching()
        return child

    def spawn(self, env: Mapping[str, str], *, name: str, arguments: list[str]) -> Self:
        """A new shell as a program of this one's: its environment, its own state, the same streams.

        Raises `LimitReachedError` when it is in too many others."""
        self.deeper()
        child = type(self)(
            env=env, cwd=self.cwd, commands=self.commands, limits=self.limits, name=name, arguments=arguments
        )
        child.fds = {number: stream.retain() for number, stream in self.fds.items()}
        child.plain_input = child.fds.get(0)
        child.counters = self.counters
        child.fifos = self.fifos
        child.fifos_expected = self.fifos_expected
        child.orphans = self.orphans
        child.is_detached = self.is_detached
        child.system = self.system
        child.umask = self.umask
        child.bounds = child.outer_bounds = self.bounds
        child.open_files, child.processes = self.open_files, self.processes
        child.next_process = self.next_process
        if self.is_one_command or self.becomes_command():
            # The shell becomes the command.
            parent, child.own_process_id = self.parent_process_id, self.own_process_id
        else:
            parent, child.own_process_id = self.own_process_id, self.new_process_id()
        child.process_id = child.own_process_id
        child.parent_process_id = parent
        child.table["PPID"].value = str(parent)
        child.starter = self
        child.traps = {name: "" for name, command in self.traps.items() if not command and name in _NUMBERED}
        child.ignored_signals = frozenset(child.traps)
        child.nesting = self.nesting + 1
        child.functions = {name: body for name, body in self.functions.items() if body.exported}
        child.background = self.background
        child.gives_way = self.gives_way
        # In a job it sleeps and waits as the job does.
        child.alarm = self.alarm
        child.blocked = self.blocked
        return child

    def becomes_command(self) -> bool:
        """Whether what runs is the last command, and no trap has to run behind it."""
        if self.last_command is None or self.node is not self.last_command:
            return False
        return not any(text for name, text in self.traps.items() if name not in ("DEBUG", "RETURN"))

    def replace_environment(self, env: Mapping[str, str]) -> None:
        """Make the exported variables just these."""
        for name in [name for name, variable in self.table.items() if variable.flags & EXPORT]:
            del self.table[name]
        for name, value in env.items():
            if name.isidentifier():
                self.table[name] = Variable(value, EXPORT)
        self.hashed = {}
        self.hash_hits.clear()

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
