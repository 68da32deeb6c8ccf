"""Workers of Celery (https://docs.celeryq.dev): steps are tasks of an application.

    app = Celery("myapp", broker="redis://…", backend="redis://…")
    engine = CeleryEngine(app, store="redis://…", callbacks="myapp.callbacks:registry")
    pool = Pool("redis://…", engine)

The module that Celery's workers load must create the same engine, which registers the task.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, Unpack

from planaria.pool.engine import Engine
from planaria.pool.errors import WorkerLost
from planaria.pool.futures import step_here
from planaria.pool.processes import portable
from planaria.pool.steps import Reply, Step
from planaria.pool.worker import WorkerSettings
from planaria.session.options import SessionOptions
from planaria.session.parameters import suggest_session_options

__all__ = ["CeleryEngine"]

#: Steps that are waited for at once.
_WAITING: Final = 64


class CeleryEngine(Engine):
    """Sends each step to the workers of a Celery application, whose broker sends it again when one is lost.

    `store` is a URL and `callbacks` is "module:name"; other arguments are those of `Pool`. Results are taken
    from the application's result backend. What is sent is pickled, so the broker must be trusted as the
    workers are.
    """

    @suggest_session_options(SessionOptions.__annotations__)
    def __init__(
        self,
        app: Any,
        *,
        store: str,
        callbacks: str | tuple[()] = (),
        most_live: int = 16,
        setup: Callable[[], object] | str | None = None,
        queue: str | None = None,
        **options: Unpack[SessionOptions],
    ) -> None:
        common = WorkerSettings(store, callbacks, options, most_live, setup=setup)
        common.check()
        settings = pickle.dumps(common)
        self._queue = queue
        self._threads = ThreadPoolExecutor(_WAITING, thread_name_prefix="planaria-celery")

        def execute(step: str) -> str:
            try:
                answer: tuple[bool, object] = True, step_here(settings, pickle.loads(base64.b64decode(step)))
            except Exception as error:
                answer = False, portable(error)
            return base64.b64encode(pickle.dumps(answer)).decode()

        self._task: Any = app.task(name="planaria.pool.step", acks_late=True, reject_on_worker_lost=True)(
            execute
        )

    def submit(self, step: Step) -> Future[Reply]:
        data = base64.b64encode(pickle.dumps(step)).decode()
        sent = self._task.apply_async((data,), queue=self._queue)
        return self._threads.submit(self._wait_for, sent)

    def _wait_for(self, sent: Any) -> Reply:
        try:
            data: str = sent.get(interval=0.01)
        except Exception as error:
            raise WorkerLost(f"Celery has lost a step: {type(error).__name__}: {error}") from None
        succeeded, answer = pickle.loads(base64.b64decode(data))
        if not succeeded:
            raise answer
        assert isinstance(answer, Reply)
        return answer

    def drain(self) -> None:
        """Nothing: which processes there are is Celery's, and every state is saved already."""

    def close(self) -> None:
        self._threads.shutdown()
