"""Workers that are processes of this machine: a pool without a cluster."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import Future
from contextlib import suppress
from multiprocessing.connection import Connection
from socket import socketpair
from typing import Any

from planaria.pool.engine import Engine, StepQueue
from planaria.pool.errors import PoolError, WorkerLost
from planaria.pool.steps import Drain, Reply, Step
from planaria.pool.worker import Worker, WorkerSettings

__all__ = ["ProcessEngine", "portable", "serve"]

_GONE = (EOFError, OSError, pickle.UnpicklingError)
_PROGRAM = "import sys; from planaria.pool.processes import serve; serve(int(sys.argv[1]))"


class ProcessEngine(Engine):
    """Processes, each with a thread here that gives it one step at a time.

    A step goes to the worker that had its session last if that is free, and else to any.
    """

    def __init__(self, settings: WorkerSettings, workers: int | None) -> None:
        if workers is None:
            workers = os.cpu_count() or 1
        if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
            raise ValueError(f"workers={workers!r}: must be a number of processes greater than 0")
        self._settings = _pickled(settings)
        self._changed = threading.Condition()
        self._waiting = StepQueue(workers * settings.most_live)
        self._is_closing = False
        #: The workers that have to close their live sessions.
        self._draining: set[int] = set()
        self._busy = [False] * workers
        self._processes: list[_WorkerProcess | None] = [None] * workers
        self._threads = [
            threading.Thread(target=self._feed, args=(number,), name=f"planaria-pool-{number}", daemon=True)
            for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, step: Step) -> Future[Reply]:
        future: Future[Reply] = Future()
        with self._changed:
            if self._is_closing:
                raise PoolError("this pool is closed")
            self._waiting.add(step, future)
            self._changed.notify_all()
        return future

    def drain(self) -> None:
        with self._changed:
            self._draining.update(range(len(self._threads)))
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._draining or self._is_closing)

    def close(self) -> None:
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def worker_pids(self) -> list[int]:
        return [process.pid for process in list(self._processes) if process is not None]

    # -- the thread of one worker --------------------------------------------------------------------------

    def _feed(self, number: int) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._has_work(number))
                taken = self._take(number)
                if taken is None and number not in self._draining:
                    break  # closing, and nothing waits
                self._busy[number] = True
            if taken is None:
                self._drain_one(number)
            elif taken[1].set_running_or_notify_cancel():
                self._execute(number, *taken)
            with self._changed:
                self._busy[number] = False
                self._changed.notify_all()
        process = self._processes[number]
        if process is not None:
            process.close()

    def _has_work(self, number: int) -> bool:
        return (
            self._is_closing
            or number in self._draining
            or self._waiting.has_one_for(number, self._busy.__getitem__)
        )

    def _take(self, number: int) -> tuple[Step, Future[Reply]] | None:
        taken = self._waiting.take(number, self._busy.__getitem__)
        return self._waiting.take_any(number) if taken is None and self._is_closing else taken

    def _execute(self, number: int, step: Step, future: Future[Reply]) -> None:
        try:
            reply = self._ask(number, step)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(reply)

    def _drain_one(self, number: int) -> None:
        try:
            if self._processes[number] is not None:
                self._ask(number, Drain())
        except WorkerLost:
            pass  # it has no live sessions then
        with self._changed:
            self._draining.discard(number)
            self._changed.notify_all()

    def _ask(self, number: int, message: Step | Drain) -> Any:
        process = self._processes[number]
        if process is None:
            process = self._processes[number] = _WorkerProcess(self._settings)
        try:
            return process.ask(message)
        except WorkerLost:
            self._processes[number] = None
            raise


class _WorkerProcess:
    """One process, spoken to over a pair of sockets."""

    def __init__(self, settings: bytes) -> None:
        ours, theirs = socketpair()
        # What the callbacks are imported from is found as it is here.
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for this process
            )
        self.pid = self._process.pid
        self._connection = Connection(ours.detach())
        self._settings: bytes | None = settings

    def ask(self, message: Step | Drain) -> Any:
        try:
            if self._settings is not None:
                self._connection.send_bytes(self._settings)
                self._settings = None
            self._connection.send(message)
            succeeded, answer = self._connection.recv()
        except _GONE:
            self.close()
            status = self._process.returncode
            raise WorkerLost(f"the worker {self.pid} ended in a step, with status {status}") from None
        if not succeeded:
            raise answer
        return answer

    def close(self) -> None:
        """End the process when it has read what it was sent."""
        self._connection.close()
        self._process.wait()


def serve(descriptor: int) -> None:
    """Be a worker until the other side closes the connection. For the process of one."""
    with Connection(descriptor) as connection:
        try:
            worker: Worker | PoolError = Worker(pickle.loads(connection.recv_bytes()), end=_end)
            assert isinstance(worker, Worker)
            worker.appear()
        except EOFError:
            return
        except Exception as error:  # reported to those who ask
            worker = PoolError(f"the worker cannot start: {type(error).__name__}: {error}")
        with suppress(EOFError, ConnectionError):
            while True:
                message = connection.recv()
                connection.send(_answered(worker, message))
        if isinstance(worker, Worker):
            worker.close()


def _end() -> None:
    """The pool starts another process when it has a step for this one."""
    os._exit(0)


def _answered(worker: Worker | PoolError, message: Step | Drain) -> tuple[bool, object]:
    try:
        if isinstance(worker, PoolError):
            raise worker
        if isinstance(message, Drain):
            worker.drain()
            return True, None
        return True, worker.step(message)
    except Exception as error:
        return False, portable(error)


def portable(error: Exception) -> Exception:
    """The error, or one that says the same where it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return PoolError(f"{type(error).__name__}: {error}")
    return error


def _pickled(settings: WorkerSettings) -> bytes:
    """The settings as bytes; with cloudpickle, where it is installed, also functions of the main program."""
    try:
        import cloudpickle  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        dumps = pickle.dumps
    else:
        dumps = cloudpickle.dumps
    try:
        data: bytes = dumps(settings)
    except Exception as error:
        raise PoolError(
            f"what the workers need cannot be pickled: {error}. Give the store as a URL, and callbacks as "
            "'module:name'; functions of the main program need cloudpickle: pip install 'planaria[pool]'"
        ) from None
    return data
