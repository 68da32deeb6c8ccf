"""Workers that are processes of this machine: a pool without a cluster."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from socket import SHUT_WR, socket, socketpair
from typing import Any, Final

from planaria.pool.engine import Engine, StepQueue
from planaria.pool.errors import PoolError, WorkerLost
from planaria.pool.steps import Drain, Reply, Step
from planaria.pool.worker import Worker, WorkerSettings

__all__ = ["ProcessEngine", "portable", "serve"]

#: Messages up to so many bytes fit into the buffer of a socket, so that sending them does not wait.
_AT_ONCE: Final = 32 << 10
_PROGRAM: Final = "import sys; from planaria.pool.processes import serve; serve(int(sys.argv[1]))"


class ProcessEngine(Engine):
    """Processes, each with a thread here that receives its answers.

    A step goes to the worker that had its session last if that is free, and else to any. Where one is free,
    the thread that submits the step sends it too, so that no other thread has to wake up before.
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
        #: The workers, the one that was asked last at the end: new sessions go to the others first.
        self._order = list(range(workers))
        self._processes: list[_WorkerProcess | None] = [None] * workers

    def submit(self, step: Step) -> Future[Reply]:
        future: Future[Reply] = Future()
        with self._changed:
            if self._is_closing:
                raise PoolError("this pool is closed")
            self._waiting.add(step, future)
            asked = self._hand_out()
        self._ask(asked)
        return future

    def drain(self) -> None:
        with self._changed:
            self._draining.update(number for number, one in enumerate(self._processes) if one is not None)
            asked = self._hand_out()
        self._ask(asked)
        with self._changed:
            self._changed.wait_for(lambda: not self._draining or self._is_closing)

    def close(self) -> None:
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not len(self._waiting) and not any(self._busy))
            processes = [one for one in self._processes if one is not None]
        for process in processes:
            process.close()

    def worker_pids(self) -> list[int]:
        processes = [one for one in list(self._processes) if one is not None]
        return [one.pid for one in processes if one.pid is not None]

    def _hand_out(self) -> list[tuple[int, _Question]]:
        """With the lock held: what the workers that are free have to be asked; they are busy from now on."""
        asked: list[tuple[int, _Question]] = []
        for number in list(self._order):
            while not self._busy[number] and (question := self._next_for(number)) is not None:
                if question.answer.set_running_or_notify_cancel():
                    self._busy[number] = True
                    asked.append((number, question))
                    self._order.remove(number)
                    self._order.append(number)
        return asked

    def _next_for(self, number: int) -> _Question | None:
        if number in self._draining:
            return _Question(Drain(), Future())
        taken = self._waiting.take(number, self._busy.__getitem__)
        return None if taken is None else _Question(*taken)

    def _ask(self, asked: list[tuple[int, _Question]]) -> None:
        for number, question in asked:
            process = self._processes[number]
            if process is None:  # no other thread starts it, since this worker is busy
                process = _WorkerProcess(self._settings, partial(self._answered, number))
                self._processes[number] = process
            process.ask(question)

    def _answered(
        self,
        number: int,
        process: _WorkerProcess,
        question: _Question | None,
        answer: object,
        error: Exception | None,
    ) -> None:
        """A worker has answered, or has ended, also when it was asked nothing."""
        with self._changed:
            if process.has_ended and self._processes[number] is process:
                self._processes[number] = None
            if question is not None:
                self._busy[number] = False
                if isinstance(question.message, Drain):  # one that has ended has no live sessions either
                    self._draining.discard(number)
            asked = self._hand_out()
            self._changed.notify_all()
        self._ask(asked)
        if question is None:
            pass
        elif error is None:
            question.answer.set_result(answer)
        else:
            question.answer.set_exception(error)


@dataclass(frozen=True, slots=True)
class _Question:
    message: Step | Drain
    answer: Future[Any]


class _WorkerProcess:
    """One process, spoken to over a pair of sockets. Its thread starts it, and receives its answers."""

    def __init__(self, settings: bytes, answered: Callable[..., None]) -> None:
        """`answered` is called with this object, the question (None for none), the answer, and the error."""
        self.pid: int | None = None
        """None until it was started."""
        self.has_ended = False
        self._settings = settings
        self._answered = answered
        self._lock = threading.Lock()
        #: What it was asked and has not answered, and the bytes of that.
        self._question: tuple[_Question, bytes] | None = None
        self._socket: socket | None = None
        self._connection: Connection | None = None
        self._thread = threading.Thread(target=self._work, name="planaria-pool", daemon=True)
        self._thread.start()

    def ask(self, question: _Question) -> None:
        """Ask what it has to do next; the question before must have been answered."""
        try:
            data = pickle.dumps(question.message)
        except Exception as error:
            self._answered(self, question, None, error)
            return
        with self._lock:
            connection, has_ended = self._connection, self.has_ended
            if not has_ended:
                self._question = question, data
        if has_ended:
            self._answered(self, question, None, WorkerLost("the worker has ended"))
        elif connection is None:
            pass  # its thread sends it when the process has started
        elif len(data) <= _AT_ONCE:
            _send(connection, data)
        else:
            threading.Thread(target=_send, args=(connection, data), daemon=True).start()

    def close(self) -> None:
        """End the process when it has read what it was sent."""
        with self._lock:
            if self._socket is not None:
                with suppress(OSError):  # it has ended by itself
                    self._socket.shutdown(SHUT_WR)
        self._thread.join()

    def _work(self) -> None:
        failure: Exception
        try:
            ours, process = self._started()
        except OSError as error:
            failure = PoolError(f"a worker cannot be started: {error}")
        else:
            with ours, Connection(os.dup(ours.fileno())) as connection:
                _send(connection, self._settings)
                with self._lock:
                    self._socket, self._connection = ours, connection
                    first = self._question
                if first is not None:
                    _send(connection, first[1])
                self._receive(connection)
                with self._lock:  # no thread sends any more
                    self._socket = None
            status = process.wait()
            failure = WorkerLost(f"the worker {self.pid} ended in a step, with status {status}")
        with self._lock:
            self.has_ended = True
        self._pass_on(None, failure)

    def _started(self) -> tuple[socket, subprocess.Popen[bytes]]:
        ours, theirs = socketpair()
        # What the callbacks are imported from is found as it is here.
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for this process
            )
        self.pid = process.pid
        return ours, process

    def _receive(self, connection: Connection) -> None:
        """Pass answers on until the process closes its side."""
        while True:
            try:
                data = connection.recv_bytes()
            except (EOFError, OSError):
                return
            try:
                succeeded, answer = pickle.loads(data)
            except Exception as error:  # a class that cannot be imported here
                succeeded, answer = False, error
            self._pass_on(*((answer, None) if succeeded else (None, answer)))

    def _pass_on(self, answer: object, error: Exception | None) -> None:
        with self._lock:
            asked, self._question = self._question, None
        self._answered(self, None if asked is None else asked[0], answer, error)


def _send(connection: Connection, data: bytes) -> None:
    with suppress(OSError):  # the thread that receives finds that the process has ended
        connection.send_bytes(data)


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
                message = pickle.loads(connection.recv_bytes())
                connection.send_bytes(pickle.dumps(_answered(worker, message)))
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
