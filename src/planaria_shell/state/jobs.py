"""Background jobs and named pipes: what each of them is."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Protocol

from planaria_shell.state.pipes import Pipe, PipeInput, PipeOutput, PipeUpdate
from planaria_shell.state.streams import pause

__all__ = ["Fifo", "Job", "JobOwner", "JobShell"]

#: The status of a job that Ctrl-C has ended.
_INTERRUPTED = 130


class JobShell(Protocol):
    """What a job needs of the subshell that runs it."""

    alarm: list[float]
    blocked: list[bool]
    is_detached: bool
    pending_signals: list[int]
    traps: dict[str, str]


class JobOwner(Protocol):
    """A shell with jobs."""

    jobs: list[Job]


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
            live = [job for job in owner.jobs if job.status is None]
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
