"""Background jobs, coprocesses and process substitutions, without processes.

A job is a generator that runs when the shell waits for something: in `wait`, `fg`, `sleep`, and when a call
of the shell ends. `sleep` inside a job only sets a time before which the job does not go on, so that jobs
sleep side by side. A job that is killed before it has ended never runs the rest.
"""

# mypy: disable-error-code="misc"
# The methods here are a part of `Shell` and are only ever called on one, which is what `self: Shell` says.

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from planaria_shell.compile.pipeline import Producer
from planaria_shell.run.control import BROKEN_PIPE
from planaria_shell.run.pipes import Pipe, PipeInput, PipeOutput, PipeUpdate
from planaria_shell.run.streams import FileInput, FileOutput, NullStream, flush_all
from planaria_shell.run.variable import INDEXED, Variable

if TYPE_CHECKING:
    from planaria_shell.run.shell import Shell

__all__ = ["Job", "Jobs"]

StreamCode = Callable[["Shell"], Generator[None, None, int]]
#: Rounds that a job which neither sleeps nor ends gets when a call of the shell ends.
_PATIENCE = 10_000
#: The status of a job that Ctrl-C has ended.
_INTERRUPTED = 130


class Job:
    """One background job."""

    __slots__ = (
        "coprocess",
        "generator",
        "number",
        "process_id",
        "shell",
        "signal",
        "status",
        "text",
    )

    def __init__(
        self, number: int, process_id: int, text: str, shell: Shell, generator: Generator[None, None, int]
    ) -> None:
        self.number = number
        self.process_id = process_id
        self.text = text
        self.shell = shell
        self.generator = generator
        self.status: int | None = None
        #: The signal that ended it, if one did.
        self.signal = 0
        #: The name of a coprocess, and the descriptors that lead to it.
        self.coprocess: tuple[str, int, int] | None = None

    def advance(self) -> bool:
        """Run until the next pause; False when the job has ended."""
        if self.status is not None or self.running:
            return False
        try:
            next(self.generator)
        except StopIteration as stop:
            self.status = stop.value
            return False
        except BaseException as error:
            # A limit, or an interrupt: it ends the script, and this job with it.
            self.status = _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
            raise
        return True

    @property
    def running(self) -> bool:
        """Whether it is what runs right now, and so what waits is a part of it."""
        return bool(self.generator.gi_running)  # type: ignore[attr-defined]

    @property
    def sleeping(self) -> float:
        """Seconds until the job wants to go on."""
        return max(0.0, self.shell.alarm[0] - time.monotonic())

    def kill(self, number: int) -> None:
        """End the job as a signal would."""
        if self.status is None:
            self.generator.close()
            self.status = 128 + number
            self.signal = number

    def state(self) -> str:
        """What `jobs` shows."""
        if self.status is None:
            return "Running"
        if self.signal:
            return {1: "Hangup", 2: "Interrupt", 9: "Killed", 15: "Terminated"}.get(
                self.signal, f"Signal {self.signal}"
            )
        return "Done" if self.status == 0 else f"Exit {self.status}"


class Fifo:
    """A named pipe: what its writers have written and its reader has not read yet.

    Opening one never waits, since nobody else would run meanwhile: a reader runs the background jobs until
    one of them has written or there is none left; what is written stays until somebody reads it.
    """

    __slots__ = ("output", "pipe")

    def __init__(self) -> None:
        self.pipe = Pipe()
        self.output: PipeOutput | None = None

    def writer(self) -> PipeOutput:
        """The stream of one more writer."""
        self.pipe.reader_closed = False
        if self.output is None or self.output.owners == 0:
            self.pipe.writer_closed = False
            self.output = PipeOutput(self.pipe)
            return self.output
        self.output.retain()
        return self.output

    def reader(self, shell: Shell, *, update: bool = False) -> PipeInput:
        """The stream of a reader, which runs the jobs of `shell` while the pipe is empty. With `update` it
        can be written to as well."""

        def pull() -> bool:
            live = [job for job in shell.job_owner.jobs if job.status is None]
            progress = False
            for job in live:
                if not job.sleeping and job.advance():
                    progress = True
            if live and not progress and any(job.sleeping for job in live):
                seconds = min(job.sleeping for job in live if job.status is None)
                progress = self.pipe.patience(seconds) == seconds
                shell.pause(self.pipe.patience(seconds))
            elif not progress and self.pipe.deadline is not None:
                shell.pause(self.pipe.patience(float("inf")))
            return progress or bool(self.pipe.pieces)

        self.pipe.pull = pull
        self.pipe.reader_closed = False
        if self.output is None or self.output.owners == 0:
            # The next writer is waited for, not the end that the last one left.
            self.pipe.writer_closed = False
        return PipeUpdate(self.pipe, self.output) if update else PipeInput(self.pipe, self.output)


class Jobs:
    """The job table of a shell."""

    def expect_fifos(self: Shell) -> None:
        """From now on there may be named pipes."""
        self.fifos_expected[0] = True

    def fifo(self: Shell, path: str) -> Fifo | None:
        """The named pipe at `path`, or None when there is another kind of file or none."""
        if not self.fifos_expected[0]:
            return None
        try:
            if not stat.S_ISFIFO(os.stat(path).st_mode):
                return None
        except OSError:
            return None
        return self.fifos.setdefault(os.path.normpath(path), Fifo())

    def start_job(self: Shell, code: StreamCode, text: str) -> Job:
        """Put a command into the background."""
        child = self.fork()
        child.background = True
        child.alarm = [0.0]
        if not self.monitor and self.fds.get(0) is self.plain_input:
            child.put_stream(0, NullStream())
        number = max((job.number for job in self.jobs), default=0) + 1
        job = Job(number, child.own_process_id, text, child, child.stream_subshell(code))
        self.jobs.append(job)
        self.last_background = child.own_process_id
        return job

    def jobs_beside(self: Shell) -> list[Job]:
        """The jobs that can go on while this shell waits: its own, and those of what it is a subshell of."""
        live = [job for job in self.jobs if job.status is None and not job.running]
        return live if self.job_owner is self else [*self.job_owner.jobs_beside(), *live]

    def run_jobs(self: Shell, finished: Callable[[], bool], *, deadline: float | None = None) -> None:
        """Run the jobs side by side until `finished()` or the time is over."""
        while not finished():
            now = time.monotonic()
            if deadline is None:
                if all(job.status is not None for job in self.jobs):
                    return
            elif now >= deadline:
                return
            live = self.jobs_beside()
            awake = [job for job in live if not job.sleeping]
            if not awake:
                pauses = [job.sleeping for job in live]
                if deadline is not None:
                    pauses.append(deadline - now)
                if not pauses:
                    return
                self.pause(min(pauses))
                continue
            for job in awake:
                job.advance()
                if job.status is not None and "CHLD" in self.traps and job in self.jobs:
                    self.run_trap("CHLD")
            live = [job for job in live if job.status is None]
            if live and all(job.shell.blocked[0] and not job.sleeping for job in live):
                # All that is left waits for input that nobody can give while the shell waits.
                if deadline is None:
                    return
                self.pause(deadline - time.monotonic())

    def pause(self: Shell, seconds: float) -> None:
        """Let time pass."""
        flush_all()
        while seconds > 0:
            piece = min(seconds, 0.05)
            time.sleep(piece)
            seconds -= piece

    def settle_jobs(self: Shell) -> None:
        """Run jobs as far as they come without waiting."""
        for _ in range(_PATIENCE):
            awake = [job for job in self.jobs if job.status is None and not job.sleeping]
            if not awake:
                return
            for job in awake:
                job.advance()

    def wait_job(self: Shell, job: Job) -> int:
        """Run until the job has ended; its status."""
        self.run_jobs(lambda: job.status is not None)
        return job.status if job.status is not None else 127

    def find_job(self: Shell, text: str) -> Job | None:
        """The job that `%1`, `%%`, `%-`, `%text`, `%?text` or a process number means."""
        jobs = self.jobs
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

    def start_coprocess(self: Shell, name: str, code: StreamCode, text: str) -> None:
        """`coproc`: a command that runs when its output is read."""
        towards, back = Pipe(), Pipe()
        child = self.fork()
        child.put_stream(0, PipeInput(towards))
        output = PipeOutput(back)
        child.put_stream(1, output)
        job = self.start_job(code, text)
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
                self.run_jobs(lambda: bool(back.pieces or not job.sleeping), deadline=deadline)
                if job.sleeping:
                    return bool(back.pieces)
            elif not job.advance():
                return False
            if child.blocked[0] and not back.pieces:
                self.pause(0.0 if back.deadline is None else back.patience(float("inf")))
                return False
            return True

        back.pull = pull
        back.alarm = child.alarm
        reading, writing = self.free_descriptor(63, down=True), 0
        self.fds[reading] = PipeInput(back, output)
        writing = self.free_descriptor(62, down=True)
        self.fds[writing] = PipeOutput(towards)
        variable = self.table[name] = Variable(None, INDEXED)
        variable.array = {0: str(reading), 1: str(writing)}
        self.variables.set(f"{name}_PID", str(job.process_id))
        job.coprocess = (name, reading, writing)

    def end_coprocess(self: Shell, job: Job) -> None:
        """Forget the variables and close the descriptors of a coprocess that has ended."""
        if job.coprocess is None:
            return
        name, *numbers = job.coprocess
        for number in numbers:
            stream = self.fds.pop(number, None)
            if stream is not None:
                stream.release()
        for variable in (name, f"{name}_PID"):
            if variable in self.table:
                self.variables.unset(variable)

    # -- process substitution ----------------------------------------------------------------------

    def process_substitution(self: Shell, direction: str, code: StreamCode) -> str:
        """Start `<(…)` or `>(…)`; the name by which it is opened."""
        child = self.fork()
        child.shown_jobs = self.jobs or self.shown_jobs
        child.gives_way = True
        pipe = Pipe()
        child.alarm = pipe.alarm
        number = self.free_descriptor(63, down=True)
        self.last_background = child.own_process_id

        def running() -> Generator[None, None, int]:
            status = BROKEN_PIPE
            try:
                status = yield from child.stream_subshell(code)
            finally:
                self.remembered_statuses[child.own_process_id] = status
            return status

        if direction == "<":
            output = PipeOutput(pipe)
            child.put_stream(1, output)
            Producer(self, output, running())
            self.fds[number] = PipeInput(pipe, output)
        else:
            child.put_stream(0, PipeInput(pipe))
            child.background = True
            self.fds[number] = PipeOutput(pipe)
            self.consumers.append((pipe, running()))
        self.process_descriptors.append(number)
        return f"/dev/fd/{number}"

    def end_process_substitutions(self: Shell, mark: int) -> None:
        """The command has ended: close what it was given, and let the readers of `>(…)` run."""
        while len(self.process_descriptors) > mark:
            stream = self.fds.pop(self.process_descriptors.pop(), None)
            if stream is not None:
                stream.release()
        self.run_consumers()

    def run_consumers(self: Shell, *, close: bool = False) -> None:
        """Run the readers of `>(…)` whose input is complete (all of them when the shell ends)."""
        waiting = self.consumers
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

    def descriptor_path(self: Shell, number: int, name: str) -> str:
        """A file that stands for a descriptor, for commands that open files by name."""
        stream = self.fds.get(number)
        if stream is None:
            return name
        for path, _, source in self.spooled_outputs:
            if source is stream:
                return path
        if stream.readable and not stream.writable:
            if isinstance(stream, FileInput) and stream.path and not stream.buffer:
                return stream.path
            descriptor, path = tempfile.mkstemp(prefix="planaria-")
            with os.fdopen(descriptor, "wb") as file:
                for piece in stream.chunks():
                    file.write(piece)
            self.spooled_outputs.append((path, None, stream))
            return path
        if isinstance(stream, NullStream):
            return "/dev/null"
        if isinstance(stream, FileOutput) and stream.path:
            flush_all()
            return stream.path
        descriptor, path = tempfile.mkstemp(prefix="planaria-")
        os.close(descriptor)
        self.spooled_outputs.append((path, stream, stream))
        return path

    def fifo_path(self: Shell, path: str) -> str:
        """A file with what comes out of the named pipe at `path`; other paths as they are."""
        fifo = self.fifo(path)
        if fifo is None or not (fifo.pipe.pieces or any(job.status is None for job in self.job_owner.jobs)):
            return path
        for spooled, _, source in self.spooled_outputs:
            if isinstance(source, PipeInput) and source.pipe is fifo.pipe:
                return spooled
        stream = fifo.reader(self)
        descriptor, spooled = tempfile.mkstemp(prefix="planaria-")
        with os.fdopen(descriptor, "wb") as file:
            for piece in stream.chunks():
                file.write(piece)
        self.spooled_outputs.append((spooled, None, stream))
        return spooled

    def collect_outputs(self: Shell, mark: int) -> None:
        """Move what commands wrote into such files to where it belongs."""
        while len(self.spooled_outputs) > mark:
            path, stream, _ = self.spooled_outputs.pop()
            try:
                if stream is not None:
                    with open(path, "rb") as file:
                        while piece := file.read(65536):
                            stream.write(piece)
            finally:
                os.unlink(path)
