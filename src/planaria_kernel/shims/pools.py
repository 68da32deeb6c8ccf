"""`multiprocessing.pool.ThreadPool` without threads: what is given to it runs at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from planaria_kernel.shims.importing import when_imported

__all__ = ["ThreadPool", "install"]


class AsyncResult:
    """The outcome of a call that has been made."""

    def __init__(
        self,
        call: Callable[[], Any],
        callback: Callable[[Any], Any] | None = None,
        error_callback: Callable[[BaseException], Any] | None = None,
    ) -> None:
        self._value: Any = None
        self._error: Exception | None = None
        try:
            self._value = call()
        except Exception as error:
            self._error = error
            if error_callback is not None:
                error_callback(error)
        else:
            if callback is not None:
                callback(self._value)

    def ready(self) -> bool:
        return True

    def successful(self) -> bool:
        return self._error is None

    def wait(self, timeout: float | None = None) -> None:
        """Nothing to wait for."""

    def get(self, timeout: float | None = None) -> Any:
        if self._error is not None:
            raise self._error
        return self._value


class ThreadPool:
    """A pool of threads as far as its callers can tell, except that nothing happens at the same time."""

    def __init__(
        self,
        processes: int | None = None,
        initializer: Callable[..., Any] | None = None,
        initargs: Iterable[Any] = (),
    ) -> None:
        if processes is not None and processes < 1:
            raise ValueError("Number of processes must be at least 1")
        self._processes = processes or 1
        self._open = True
        if initializer is not None:
            initializer(*initargs)

    def _check(self) -> None:
        if not self._open:
            raise ValueError("Pool not running")

    def apply(self, func: Callable[..., Any], args: Any = (), kwds: Any = None) -> Any:
        self._check()
        return func(*args, **(kwds or {}))

    def map(
        self, func: Callable[..., Any], iterable: Iterable[Any], chunksize: int | None = None
    ) -> list[Any]:
        self._check()
        return list(map(func, iterable))

    def starmap(
        self, func: Callable[..., Any], iterable: Iterable[Any], chunksize: int | None = None
    ) -> list[Any]:
        self._check()
        return list(itertools.starmap(func, iterable))

    def imap(self, func: Callable[..., Any], iterable: Iterable[Any], chunksize: int = 1) -> Iterator[Any]:
        self._check()
        return map(func, iterable)

    imap_unordered = imap

    def apply_async(
        self,
        func: Callable[..., Any],
        args: Any = (),
        kwds: Any = None,
        callback: Callable[[Any], Any] | None = None,
        error_callback: Callable[[BaseException], Any] | None = None,
    ) -> AsyncResult:
        self._check()
        return AsyncResult(lambda: func(*args, **(kwds or {})), callback, error_callback)

    def map_async(
        self,
        func: Callable[..., Any],
        iterable: Iterable[Any],
        chunksize: int | None = None,
        callback: Callable[[Any], Any] | None = None,
        error_callback: Callable[[BaseException], Any] | None = None,
    ) -> AsyncResult:
        self._check()
        return AsyncResult(lambda: list(map(func, iterable)), callback, error_callback)

    def starmap_async(
        self,
        func: Callable[..., Any],
        iterable: Iterable[Any],
        chunksize: int | None = None,
        callback: Callable[[Any], Any] | None = None,
        error_callback: Callable[[BaseException], Any] | None = None,
    ) -> AsyncResult:
        self._check()
        return AsyncResult(lambda: list(itertools.starmap(func, iterable)), callback, error_callback)

    def close(self) -> None:
        self._open = False

    terminate = close

    def join(self) -> None:
        if self._open:
            raise ValueError("Pool is still running")

    def __enter__(self) -> ThreadPool:
        self._check()
        return self

    def __exit__(self, *exception: object) -> None:
        self.terminate()


def _change(module: Any) -> None:
    module.ThreadPool = ThreadPool


def install() -> None:
    """Put this in place of `multiprocessing.pool.ThreadPool`."""
    when_imported("multiprocessing.pool", _change)
