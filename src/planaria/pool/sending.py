"""Sending steps to workers until they are answered."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Final

from planaria.errors import PlanariaError, SnapshotConflict, StorageError
from planaria.pool.engine import ATTEMPTS, Engine
from planaria.pool.errors import NameInUse, PoolError, SaveUncertain, WorkerLost
from planaria.pool.saved import SavedSteps
from planaria.pool.steps import Reply, Step
from planaria.stores.store import Store

__all__ = ["Sender"]

_LOG: Final = logging.getLogger("planaria.pool")

#: Seconds between two attempts while the store fails, at first and at most.
_PAUSE: Final = (0.05, 2.0)


class _Sent:
    """A step on its way, and what has happened to it so far."""

    def __init__(self, step: Step, patience: float) -> None:
        self.step = step
        self.outcome: Future[Reply] = Future()
        self.outcome.set_running_or_notify_cancel()
        self.lost = 0
        """Workers that were lost with it."""
        self.pause = _PAUSE[0]
        self._patience = patience
        self._until: float | None = None

    def is_out_of_patience(self) -> bool:
        """Whether the store has failed for too long now."""
        if self._until is None:
            self._until = time.monotonic() + self._patience
        return time.monotonic() >= self._until

    def again(self) -> None:
        """Count another attempt."""
        self.step = replace(self.step, attempt=self.step.attempt + 1)


class Sender:
    """Sends steps, those of one name one after the other, and again when it was not answered.

    That is safe however often it is done: a step that was saved is found by its identifier.
    """

    def __init__(self, engine: Engine, store: Store, patience: float) -> None:
        self._engine = engine
        self._store = store
        self._patience = patience
        self._changed = threading.Condition()
        #: The steps of each name, of which the first one is with a worker.
        self._queues: dict[str, deque[Callable[[], None]]] = {}
        self._is_closed = False

    def close(self) -> None:
        """Take no more steps, and wait for those that were submitted."""
        with self._changed:
            self._is_closed = True
            self._changed.wait_for(lambda: not self._queues)

    def submit(self, step: Step) -> Future[Reply]:
        sent = _Sent(step, self._patience)

        def begin() -> None:
            self._send(sent)

        with self._changed:
            if self._is_closed:
                raise PoolError("this pool is closed")
            queue = self._queues.setdefault(step.name, deque())
            queue.append(begin)
            is_first = len(queue) == 1
        if is_first:
            begin()
        return sent.outcome

    def _send(self, sent: _Sent) -> None:
        try:
            future = self._engine.submit(sent.step)
        except BaseException as error:
            self._finish(sent, error)
            return
        future.add_done_callback(lambda done: self._received(sent, done))

    def _received(self, sent: _Sent, done: Future[Reply]) -> None:
        error = done.exception()
        match error:
            case None:
                self._finish(sent, done.result())
            case NameInUse():  # by another pool
                self._send(sent)
            case WorkerLost() | StorageError() | SaveUncertain():
                _LOG.warning(
                    "a step of %r was not answered: %s",
                    *(sent.step.name, error),
                    extra={
                        "name_of_session": sent.step.name,
                        "step": sent.step.identifier,
                        "attempt": sent.step.attempt,
                    },
                )
                self._not_answered(sent, error)
            case SnapshotConflict() if sent.step.expected == "any" and sent.lost + 1 < ATTEMPTS:
                sent.lost += 1  # by one that holds no lease
                self._send(sent)
            case _:
                self._finish(sent, error)

    def _not_answered(self, sent: _Sent, error: PlanariaError) -> None:
        """A worker was lost, or the store failed."""
        match error:
            case WorkerLost() if sent.lost + 1 < self._engine.attempts:
                sent.lost += 1
                sent.again()
                self._send(sent)
            case WorkerLost():
                self._finish(sent, self._reply_of_lost(sent.step, error))
            case StorageError() | SaveUncertain() if not sent.is_out_of_patience():
                sent.again()
                timer = threading.Timer(sent.pause, self._send, [sent])
                timer.daemon = True
                timer.start()
                sent.pause = min(2 * sent.pause, _PAUSE[1])
            case _:
                self._finish(sent, error)

    def _reply_of_lost(self, step: Step, error: WorkerLost) -> Reply | BaseException:
        """Of a step with which all workers were lost: the last one may have saved it."""
        try:
            newest = self._store.newest(step.name)
            reply = SavedSteps.of(newest).reply(step, newest, os.getpid())
        except StorageError as failure:
            return SaveUncertain(f"workers were lost with a step of {step.name!r}: {failure}")
        except PlanariaError as failure:
            return failure
        return reply or WorkerLost(
            f"{ATTEMPTS} workers were lost with this step of {step.name!r}, which was not saved; "
            f"the last: {error}"
        )

    def _finish(self, sent: _Sent, result: Reply | BaseException) -> None:
        with self._changed:
            queue = self._queues[sent.step.name]
            queue.popleft()
            following = queue[0] if queue else None
            if not queue:
                del self._queues[sent.step.name]
                self._changed.notify_all()
        if isinstance(result, BaseException):
            sent.outcome.set_exception(result)
        else:
            sent.outcome.set_result(result)
        if following is not None:
            following()
