"""`concurrent.futures` without threads: what is submitted runs at once."""

from __future__ import annotations

import concurrent.futures
import itertools
import threading
from collections.abc import Callable
from typing import Any, Final

from planaria_kernel.shims.importing import when_imported
from planaria_kernel.shims.processes import warn_inline
from planaria_kernel.shims.threads import entered

__all__ = ["ThreadPoolExecutor", "install"]

_numbers: Final = itertools.count()


class ThreadPoolExecutor(concurrent.futures.Executor):
    """An executor that runs each call in `submit`, in its one thread, and returns a future that is done."""

    def __init__(
        self,
        max_workers: int | None = None,
        thread_name_prefix: str = "",
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
    ) -> None:
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        self._max_workers = max_workers or 1
        self._initializer = initializer
        self._arguments = initargs
        self._is_broken = False
        prefix = thread_name_prefix or f"ThreadPoolExecutor-{next(_numbers)}"
        #: It is entered for each call, and never started.
        self._worker = threading.Thread(name=f"{prefix}_0")
        self._worker._ident = id(self._worker)  # type: ignore[attr-defined]
        self._closed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        if self._is_broken:
            raise self._broken()
        if self._closed:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        initializer, self._initializer = self._initializer, None
        if initializer is not None:
            self._initialize(initializer)
        if self._is_broken:
            future.set_exception(self._broken())
            return future
        future.set_running_or_notify_cancel()
        try:
            result = self._call(fn, *args, **kwargs)
        except KeyboardInterrupt:
            raise  # the host stops the cell
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)
        return future

    def _call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        with entered(self._worker):
            return function(*args, **kwargs)

    def _initialize(self, initializer: Callable[..., Any]) -> None:
        try:
            self._call(initializer, *self._arguments)
        except KeyboardInterrupt:
            raise
        except BaseException:
            concurrent.futures._base.LOGGER.critical("Exception in initializer:", exc_info=True)
            self._is_broken = True

    def _broken(self) -> Exception:
        from concurrent.futures.thread import BrokenThreadPool

        return BrokenThreadPool("A thread initializer failed, the thread pool is not usable anymore")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._closed = True


class ProcessPoolExecutor(ThreadPoolExecutor):
    """An executor of processes that runs each call in `submit`, in this one, and warns that it does."""

    def __init__(
        self,
        max_workers: int | None = None,
        mp_context: Any = None,
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
        *,
        max_tasks_per_child: int | None = None,
    ) -> None:
        warn_inline("concurrent.futures.ProcessPoolExecutor")
        super().__init__(max_workers, "", initializer, initargs)

    def _call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    def _broken(self) -> Exception:
        from concurrent.futures.process import BrokenProcessPool

        return BrokenProcessPool("A process initializer failed, the process pool is not usable anymore")


def _change_thread(module: Any) -> None:
    module.ThreadPoolExecutor = ThreadPoolExecutor


def _change_process(module: Any) -> None:
    module.ProcessPoolExecutor = ProcessPoolExecutor


def install() -> None:
    """Put these in place of the executors of `concurrent.futures`."""
    ThreadPoolExecutor.__module__ = "concurrent.futures.thread"
    ProcessPoolExecutor.__module__ = "concurrent.futures.process"
    when_imported("concurrent.futures.thread", _change_thread)
    when_imported("concurrent.futures.process", _change_process)
    # The package hands its classes out on first use, from the modules above.
    concurrent.futures.ThreadPoolExecutor = ThreadPoolExecutor  # type: ignore[misc,assignment]
