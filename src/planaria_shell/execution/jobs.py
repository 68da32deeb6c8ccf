"""Background jobs, coprocesses and process substitutions, without processes.

A job is a generator that runs when the shell waits for something: in `wait`, `fg`, `sleep`, and when a call
of the shell ends. `sleep` inside a job only sets a time before which the job does not go on, so that jobs
sleep side by side. A job that is killed before it has ended never runs the rest.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Callable, Generator
from math import inf

from planaria_shell.compile.pipeline import Producer, begin
from planaria_shell.state.control import BROKEN_PIPE
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.jobs import Fifo, Job, job_line
from planaria_shell.state.pipes import Pipe, PipeInput, PipeOutput
from planaria_shell.state.signals import SIGNALS
from planaria_shell.state.streams import (
    DescriptorInput,
    DescriptorOutput,
    NullStream,
    Stream,
    flush_all,
    pause,
)
from planaria_shell.state.variable import INDEXED, Variable
from planaria_shell.syntax.nodes import Command, Simple

__all__ = [
    "StreamCode",
    "begin_session",
    "collect_outputs",
    "descriptor_path",
    "detach",
    "end_coprocess",
    "end_process_substitutions",
    "expect_fifos",
    "fifo",
    "fifo_path",
    "find_job",
    "find_process",
    "jobs_beside",
    "kill_jobs_since",
    "leave_jobs",
    "process_substitution",
    "report_jobs",
    "run_consumers",
    "run_jobs",
    "run_writers",
    "settle_jobs",
    "start_coprocess",
    "start_job",
    "wait_job",
]


StreamCode = Callable[["Interpreter"], Generator[None, None, int]]
#: Iterations that a job which neither sleeps nor ends gets when a call of the shell ends.
_PATIENCE = 10_000
#: Signals whose victims are not named: INT, PIPE and TERM.
_NOT_TOLD = frozenset([2, 13, 15])


def expect_fifos(shell: Interpreter) -> None:
    """From now on there may be named pipes."""
    shell.fifos_expected[0] = True


def fifo(shell: Interpreter, path: str) -> Fifo | None:
    """The named pipe at `path`, or None when there is another kind of file or none."""
    if not shell.fifos_expected[0]:
        return None
    try:
        if not stat.S_ISFIFO(os.stat(path).st_mode):
            return None
    except OSError:
        return None
    return shell.fifos.setdefault(os.path.normpath(path), Fifo())


def start_job(shell: Interpreter, code: StreamCode, text: str, node: Command | None = None) -> Job:
    """Put a command into the background."""
    child = shell.fork()
    child.background = True
    child.alarm = [0.0]
    child.reports_deaths = not isinstance(node, Simple)
    child.ignores_interrupts = not shell.monitor and not shell.traps.get("INT")
    if node is not None:
        begin(child, node)
    if not shell.monitor and shell.fds.get(0) is shell.plain_input:
        child.put_stream(0, NullStream())
    number = max((job.number for job in shell.jobs), default=0) + 1
    job = Job(number, child.own_process_id, text, child, child.stream_subshell(code))
    shell.jobs.append(job)
    shell.last_background = child.own_process_id
    return job


def jobs_beside(shell: Interpreter) -> list[Job]:
    """The jobs that can go on while this shell waits: its own, those of the shells around it, and those that
    have outlived theirs."""
    return [job for job in all_jobs(shell) if job.runs]


def all_jobs(shell: Interpreter) -> list[Job]:
    """The jobs of this shell, of the shells around it, and those that have outlived theirs."""
    around = shell.starter if shell.job_owner is shell else shell.job_owner
    return [*(shell.orphans if around is None else all_jobs(around)), *shell.jobs]


def leave_jobs(shell: Interpreter) -> None:
    """The shell ends: what still runs of its jobs goes on without it, as a child of init would."""
    if shell.jobs:
        shell.orphans += [job for job in shell.jobs if job.status is None]
        shell.jobs = []


def begin_session(shell: Interpreter) -> None:
    """The command that a job consists of begins a session of its own. In the foreground there is none: a
    shell does not become what it runs."""
    if any(job.shell is shell for job in all_jobs(shell)):
        shell.is_detached = True


def kill_jobs_since(shell: Interpreter, process_id: int) -> None:
    """Kill the jobs that have outlived their shells, were started after the process with this number, and
    have not begun a session of their own."""
    for job in shell.orphans:
        if job.process_id > process_id and not job.shell.is_detached:
            job.kill(9)


def detach(shell: Interpreter, argv: list[str]) -> None:
    """Start a command that belongs to no shell."""
    job = start_job(shell, lambda child: child.stream_external(argv), " ".join(argv))
    job.shell.is_detached = True
    shell.jobs.remove(job)
    shell.orphans.append(job)


def run_jobs(shell: Interpreter, finished: Callable[[], bool], *, deadline: float | None = None) -> None:
    """Run the jobs side by side until `finished()` or the time is over."""
    while not finished():
        now = time.monotonic()
        if deadline is None:
            if all(job.status is not None for job in shell.jobs):
                return
        elif now >= deadline:
            return
        live = shell.jobs_beside()
        awake = [job for job in live if not job.sleeping]
        if not awake:
            pauses = [job.sleeping for job in live]
            if deadline is not None:
                pauses.append(deadline - now)
            if not pauses:
                return
            pause(min(pauses))
            continue
        for job in awake:
            job.advance()
            if job.status is not None and "CHLD" in shell.traps and job in shell.jobs:
                shell.run_trap("CHLD")
        live = [job for job in live if job.runs]
        if live and all(job.shell.blocked[0] and not job.sleeping for job in live):
            # All that is left waits for input that cannot come while the shell waits.
            if deadline is None:
                return
            pause(deadline - time.monotonic())


def run_writers(
    shell: Interpreter, stream: Stream, finished: Callable[[], bool] = lambda: False, deadline: float = inf
) -> None:
    """Run jobs until `finished()` or the time is over, as long as any of them may still write into `stream`:
    what reads this has not come to its end before."""

    def ended() -> bool:
        return finished() or not any(
            stream in job.shell.fds.values() and (job.sleeping or not job.shell.blocked[0])
            for job in shell.jobs_beside()
        )

    shell.run_jobs(ended, deadline=deadline)


def settle_jobs(shell: Interpreter) -> None:
    """Run the jobs of a shell as far as they come without waiting; when it is the outermost one, also those
    that have outlived their shells."""
    outermost = shell.starter is None and shell.job_owner is shell
    if outermost:
        shell.orphans[:] = [job for job in shell.orphans if job.status is None]
    for _ in range(_PATIENCE):
        jobs = [*shell.orphans, *shell.jobs] if outermost else shell.jobs
        awake = [job for job in jobs if job.runs and not job.sleeping]
        if not awake:
            return
        for job in awake:
            job.advance()


def wait_job(shell: Interpreter, job: Job) -> int:
    """Run until the job has ended or stopped; its status."""
    shell.run_jobs(lambda: job.status is not None)
    return job.wait_status()


def report_jobs(shell: Interpreter) -> None:
    """Say which jobs have been killed or, with job control, have ended or stopped, as far as it has not been
    said."""
    for job in shell.jobs:
        if job.reported or (job.status is None and not job.stopped):
            continue
        job.reported = True
        if job.stopped:
            if shell.monitor:
                shell.error_output(f"\n{job_line(shell.jobs, job)}\n")
        elif job.signal and job.signal not in _NOT_TOLD and SIGNALS[job.signal] not in shell.traps:
            shell.complain(f"{job.process_id:5d} {job.state():<24}{job.text}")
        elif shell.monitor:
            shell.error_output(f"{job_line(shell.jobs, job)}\n")


def find_process(shell: Interpreter, process_id: int) -> Job | None:
    """The job of any shell that has this process number."""
    return next((job for job in reversed(all_jobs(shell)) if job.process_id == process_id), None)


def find_job(shell: Interpreter, text: str, *, listed: bool = False) -> Job | None:
    """The job that `%1`, `%%`, `%-`, `%text`, `%?text` or a process number means; `listed`: also one that a
    subshell only lists."""
    jobs = shell.jobs or (shell.shown_jobs if listed else [])
    if not text.startswith("%"):
        if not text.isdecimal():
            return None
        return next((job for job in reversed(jobs) if job.process_id == int(text)), None)
    rest = text[1:]
    if rest in ("", "%", "+"):
        return jobs[-1] if jobs else None
    if rest == "-":
        return jobs[-2] if len(jobs) > 1 else (jobs[-1] if jobs else None)
    if rest.isdecimal():
        return next((job for job in jobs if job.number == int(rest)), None)
    if rest.startswith("?"):
        return next((job for job in jobs if rest[1:] in job.text), None)
    return next((job for job in jobs if job.text.startswith(rest)), None)


# -- coprocesses -------------------------------------------------------------------------------


def start_coprocess(shell: Interpreter, name: str, code: StreamCode, text: str) -> None:
    """`coproc`: a command that runs when its output is read."""
    towards, back = Pipe(), Pipe()
    child = shell.fork()
    child.put_stream(0, PipeInput(towards))
    output = PipeOutput(back)
    child.put_stream(1, output)
    job = shell.start_job(code, text)
    job.generator.close()
    job.generator = child.stream_subshell(code)
    job.shell = child
    child.background = True
    child.alarm = [0.0]
    child.blocked = [False]

    def pull() -> bool:
        """Run the coprocess on; nothing more comes while it waits for input."""
        if job.status is None and (seconds := job.sleeping):
            patience = back.patience(seconds)
            deadline = time.monotonic() + patience
            shell.run_jobs(lambda: bool(back.pieces or not job.sleeping), deadline=deadline)
            if job.sleeping:
                return bool(back.pieces)
        elif not job.advance():
            return False
        if child.blocked[0] and not back.pieces:
            pause(0.0 if back.deadline is None else back.patience(float("inf")))
            return False
        return True

    back.pull = pull
    back.alarm = child.alarm
    reading, writing = shell.free_descriptor(63, down=True), 0
    shell.fds[reading] = PipeInput(back, output)
    writing = shell.free_descriptor(62, down=True)
    shell.fds[writing] = PipeOutput(towards)
    variable = shell.table[name] = Variable(None, INDEXED)
    variable.array = {0: str(reading), 1: str(writing)}
    shell.variables.set(f"{name}_PID", str(job.process_id))
    job.coprocess = (name, reading, writing)


def end_coprocess(shell: Interpreter, job: Job) -> None:
    """Forget the variables and close the descriptors of a coprocess that has ended."""
    if job.coprocess is None:
        return
    name, *numbers = job.coprocess
    for number in numbers:
        stream = shell.fds.pop(number, None)
        if stream is not None:
            stream.release()
    for variable in (name, f"{name}_PID"):
        if variable in shell.table:
            shell.variables.unset(variable)


# -- process substitution ----------------------------------------------------------------------


def process_substitution(shell: Interpreter, direction: str, code: StreamCode) -> str:
    """Start `<(…)` or `>(…)`; the name by which it is opened."""
    child = shell.fork()
    child.shown_jobs = shell.jobs or shell.shown_jobs
    child.gives_way = True
    pipe = Pipe()
    child.alarm = pipe.alarm
    number = shell.free_descriptor(63, down=True)
    shell.last_background = child.own_process_id

    def running() -> Generator[None, None, int]:
        status = BROKEN_PIPE
        try:
            status = yield from child.stream_subshell(code)
        finally:
            shell.remembered_statuses[child.own_process_id] = status
        return status

    if direction == "<":
        output = PipeOutput(pipe)
        child.put_stream(1, output)
        producer = Producer(shell, output, running())

        def go_on() -> None:
            """It need not be read to run to its end."""
            if producer.status is None:
                child.background = True
                shell.orphans.append(Job(0, child.own_process_id, "", child, producer.generator))

        pipe.abandoned = go_on
        shell.fds[number] = PipeInput(pipe, output)
    else:
        child.put_stream(0, PipeInput(pipe))
        child.background = True
        shell.fds[number] = PipeOutput(pipe)
        shell.consumers.append((pipe, running()))
    shell.process_descriptors.append(number)
    return f"/dev/fd/{number}"


def end_process_substitutions(shell: Interpreter, mark: int) -> None:
    """The command has ended: close what it was given, and let the readers of `>(…)` run."""
    while len(shell.process_descriptors) > mark:
        stream = shell.fds.pop(shell.process_descriptors.pop(), None)
        if stream is not None:
            stream.release()
    shell.run_consumers()


def run_consumers(shell: Interpreter, *, close: bool = False) -> None:
    """Run the readers of `>(…)` whose input is complete (all of them when the shell ends)."""
    waiting = shell.consumers
    if not waiting:
        return
    for item in waiting.copy():
        pipe, generator = item
        if close:
            pipe.writer_closed = True
        if not pipe.writer_closed:
            continue
        waiting.remove(item)
        for _ in generator:
            pass


# -- descriptors as files ----------------------------------------------------------------------


def descriptor_path(shell: Interpreter, number: int, name: str) -> str:
    """A file that stands for a descriptor, for commands that open files by name."""
    stream = shell.fds.get(number)
    if stream is None:
        return name
    for path, _, source in shell.spooled_outputs:
        if source is stream:
            return path
    if stream.readable and not stream.writable:
        if isinstance(stream, DescriptorInput) and stream.path and not stream.buffer:
            return stream.path
        descriptor, path = tempfile.mkstemp(prefix="planaria-")
        with os.fdopen(descriptor, "wb") as file:
            for piece in stream.chunks():
                file.write(piece)
        shell.spooled_outputs.append((path, None, stream))
        return path
    if isinstance(stream, NullStream):
        return "/dev/null"
    if isinstance(stream, DescriptorOutput) and stream.path:
        flush_all()
        return stream.path
    descriptor, path = tempfile.mkstemp(prefix="planaria-")
    os.close(descriptor)
    shell.spooled_outputs.append((path, stream, stream))
    return path


def fifo_path(shell: Interpreter, path: str) -> str:
    """A file with what comes out of the named pipe at `path`; other paths as they are."""
    fifo = shell.fifo(path)
    if fifo is None or not (fifo.pipe.pieces or any(job.status is None for job in shell.job_owner.jobs)):
        return path
    for spooled, _, source in shell.spooled_outputs:
        if isinstance(source, PipeInput) and source.pipe is fifo.pipe:
            return spooled
    stream = fifo.reader(shell.job_owner)
    descriptor, spooled = tempfile.mkstemp(prefix="planaria-")
    with os.fdopen(descriptor, "wb") as file:
        for piece in stream.chunks():
            file.write(piece)
    shell.spooled_outputs.append((spooled, None, stream))
    return spooled


def collect_outputs(shell: Interpreter, mark: int) -> None:
    """Move what commands wrote into such files to where it belongs."""
    while len(shell.spooled_outputs) > mark:
        path, stream, _ = shell.spooled_outputs.pop()
        try:
            if stream is not None:
                with open(path, "rb") as file:
                    while piece := file.read(65536):
                        stream.write(piece)
        finally:
            os.unlink(path)
