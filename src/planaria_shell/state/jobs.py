"""Background jobs and named pipes: what each of them is."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Protocol

from planaria_shell.state.pipes import Pipe, PipeInput, PipeOutput, PipeUpdate
from planaria_shell.state.signals import IGNORED, INTERRUPTS, SIGNALS, STOPPING, signal_text
from planaria_shell.state.streams import Stream, pause

__all__ = ["Fifo", "Job", "JobOwner", "JobShell", "job_line"]

#: The status of a job that Ctrl-C has ended.
_INTERRUPTED = 130


class JobShell(Protocol):
    """What a job needs of the subshell that runs it."""

    alarm: list[float]
    ended_by: int
    fds: dict[int, Stream]
    blocked: list[bool]
    is_detached: bool
    pending_signals: list[int]
    traps: dict[str, str]
    ignores_interrupts: bool


class JobOwner(Protocol):
    """A shell with jobs."""

    jobs: list[Job]


class Job:
    """One background job."""

    __slots__ = (
        "coprocess",
        "generator",
        "held_signals",
        "number",
        "process_id",
        "reported",
        "shell",
        "signal",
        "status",
        "stopped",
        "text",
    )

    def __init__(
        self, number: int, process_id: int, text: str, shell: JobShell, generator: Generator[None, None, int]
    ) -> None:
        self.number = number
        self.process_id = process_id
        self.text = text
        self.shell = shell
        self.generator = generator
        self.status: int | None = None
        #: The signal that ended it, if one did.
        self.signal = 0
        #: The signal that stopped it, until it is continued, and those that came meanwhile.
        self.stopped = 0
        self.held_signals: list[int] = []
        #: Whether the shell has said that it ended or stopped.
        self.reported = False
        #: The name of a coprocess, and the descriptors that lead to it.
        self.coprocess: tuple[str, int, int] | None = None

    def advance(self) -> bool:
        """Run until the next pause; False when the job has ended."""
        if self.status is not None or self.running or self.stopped:
            return False
        try:
            next(self.generator)
        except StopIteration as stop:
            self.status = stop.value
            self.signal = self.shell.ended_by
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

    @property
    def runs(self) -> bool:
        """Whether it can go on: it has neither ended nor been stopped, and is not what waits."""
        return self.status is None and not self.stopped and not self.running

    def take(self, number: int) -> None:
        """A signal comes: the job's trap runs when it goes on, or the job ends, stops or continues."""
        name = SIGNALS[number]
        if name == "CONT":
            self.stopped = 0
            held, self.held_signals = self.held_signals, []
            for one in held:
                self.take(one)
        if self.stopped and name != "KILL" and name not in STOPPING:
            self.held_signals.append(number)
        elif name in self.shell.traps and name not in ("KILL", "STOP"):
            if self.shell.traps[name]:
                self.shell.pending_signals.append(number)
        elif name in STOPPING:
            if not self.stopped and self.status is None:
                self.stopped, self.reported = number, False
        elif name not in IGNORED and not (self.shell.ignores_interrupts and name in INTERRUPTS):
            self.kill(number)

    def kill(self, number: int) -> None:
        """End the job as a signal would."""
        if self.status is None:
            self.generator.close()
            self.status = 128 + number
            self.signal = number
            self.stopped, self.reported = 0, False

    def wait_status(self) -> int:
        """The status that `wait` has for the job, which may have stopped."""
        return self.status if self.status is not None else 128 + self.stopped if self.stopped else 127

    def state(self, *, long: bool = False) -> str:
        """What `jobs` shows, or `jobs -l`."""
        if self.stopped:
            return f"Stopped{STOPPING[SIGNALS[self.stopped]] if long else ''}"
        if self.status is None:
            return "Running"
        if self.signal:
            return signal_text(self.signal)
        return "Done" if self.status == 0 else f"Exit {self.status}"


def job_line(jobs: list[Job], job: Job, *, long: bool = False) -> str:
    """A job as the command `jobs` shows it; `jobs` are all that its shell has."""
    # What was stopped is the current job, else what was put into the background last.
    current = sorted([other for other in jobs if other.status is None], key=lambda other: bool(other.stopped))
    current = current or jobs[-1:]
    mark = "+" if job is current[-1] else "-" if len(current) > 1 and job is current[-2] else " "
    number = f"{job.process_id:5d}" if long else ""
    text = job.text + (" &" if job.status is None and not job.stopped else "")
    return f"[{job.number}]{mark} {number} {job.state(long=long):<24}{text}"


class Fifo:
    """A named pipe: what its writers have written and its reader has not read yet.

    Opening one never waits, since nothing else would run meanwhile: a reader runs the background jobs until
    one of them has written or there is none left; what is written stays until it is read.
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

    def reader(self, owner: JobOwner, *, update: bool = False) -> PipeInput:
        """The stream of a reader, which runs the jobs of `owner` while the pipe is empty. With `update` it
        can be written to as well."""

        def pull() -> bool:
            live = [job for job in owner.jobs if job.status is None and not job.stopped]
            progress = False
            for job in live:
                if not job.sleeping and job.advance():
                    progress = True
            if live and not progress and any(job.sleeping for job in live):
                seconds = min(job.sleeping for job in live if job.status is None)
                progress = self.pipe.patience(seconds) == seconds
                pause(self.pipe.patience(seconds))
            elif not progress and self.pipe.deadline is not None:
                pause(self.pipe.patience(float("inf")))
            return progress or bool(self.pipe.pieces)

        self.pipe.pull = pull
        self.pipe.reader_closed = False
        if self.output is None or self.output.owners == 0:
            # The next writer is waited for, not the end that the last one left.
            self.pipe.writer_closed = False
        return PipeUpdate(self.pipe, self.output) if update else PipeInput(self.pipe, self.output)
