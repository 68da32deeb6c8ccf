"""What a run of Python as a command must not share with the session around it, or leave behind.

The interpreter is one. What a process of its own would have for itself is set aside before the run and put
back after it: `sys` and `builtins`, modules of the user's, the environment and the working directory, signal
handlers, warnings, logging, the event loop, exit handlers.
"""

from __future__ import annotations

import asyncio
import atexit
import builtins
import gc
import importlib
import os
import random
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import ModuleType
from typing import Any, Final

from planaria_shell.state.int_limits import DigitsOfPython

__all__ = ["ExitHandlers", "isolated"]

#: Frames that a script may use, as everywhere.
_RECURSION_LIMIT: Final = 1000


@contextmanager
def isolated(env: dict[str, str], cwd: str, own_directory: str) -> Iterator[ExitHandlers]:
    """For the time of the body, an interpreter like a new one: `env`, `cwd`, and none of the user's modules,
    nor those in `own_directory`. Gives the exit handlers that are registered meanwhile. Raises OSError when
    there is no directory `cwd`.
    """
    with ExitStack() as stack:
        for part in (
            _attributes(sys),
            _attributes(builtins),
            _directory(cwd),
            _environment(env),
            _modules(own_directory, cwd),
            _recursion(),
            DigitsOfPython(),
            _signals(),
            _warnings(),
            _logging(),
            _random(),
            _no_loop(),
            _collector(),
        ):
            stack.enter_context(part)
        yield stack.enter_context(_exit_handlers())


@contextmanager
def _attributes(module: ModuleType) -> Iterator[None]:
    """Whatever is assigned to a module is taken back; lists in it are changed in copies."""
    names = vars(module)
    before = names.copy()
    for name, value in before.items():
        if type(value) is list:
            names[name] = value.copy()
    try:
        yield
    finally:
        for name in names.keys() - before.keys():
            del names[name]
        names.update(before)


@contextmanager
def _directory(path: str) -> Iterator[None]:
    before = os.getcwd()
    if path != before:
        os.chdir(path)
    try:
        yield
    finally:
        with suppress(FileNotFoundError):  # the script has removed it
            os.chdir(before)


@contextmanager
def _environment(env: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    _set_environment(env)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(env: dict[str, str]) -> None:
    zone = os.environ.get("TZ")
    for name in os.environ.keys() - env.keys():
        del os.environ[name]
    for name, value in env.items():
        if os.environ.get(name) != value:
            os.environ[name] = value
    if os.environ.get("TZ") != zone and hasattr(time, "tzset"):
        time.tzset()


def _roots(own: str, cwd: str) -> tuple[str, ...]:
    """Where libraries are: what the session's search path names, but not the places of the user's code."""
    places = {os.path.abspath(place) for place in sys.path if place and os.path.isabs(place)}
    return tuple(place + os.sep for place in places - {own, cwd})


@contextmanager
def _modules(own: str, cwd: str) -> Iterator[None]:
    """Modules that are not of a library are the session's or the script's, never both's."""
    modules = sys.modules
    roots = _roots(own, cwd)
    theirs = {name: module for name, module in modules.items() if _is_users(name, module, roots)}
    for name in theirs:
        del modules[name]
    finders = sys.path_importer_cache.keys() | set()
    # A file that was written a moment ago must be found.
    importlib.invalidate_caches()
    try:
        yield
    finally:
        for name in [name for name, module in modules.items() if _is_users(name, module, roots)]:
            del modules[name]
        modules.update(theirs)
        for place in sys.path_importer_cache.keys() - finders:
            sys.path_importer_cache.pop(place, None)


def _is_users(name: str, module: Any, roots: tuple[str, ...]) -> bool:
    if name in ("__main__", "__mp_main__"):
        return True
    file = getattr(module, "__file__", None)
    if not isinstance(file, str):
        # Without a file it is built in, or a namespace package.
        try:
            file = next(iter(module.__path__), None)
        except (AttributeError, TypeError):
            return False
    if not isinstance(file, str) or not os.path.isabs(file):
        return False
    return not file.startswith(roots)


@contextmanager
def _recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    depth = 0
    frame = sys._getframe()
    while frame is not None:
        depth += 1
        frame = frame.f_back  # type: ignore[assignment]
    sys.setrecursionlimit(depth + _RECURSION_LIMIT)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@contextmanager
def _signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in signal.Signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)


@contextmanager
def _warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.resetwarnings()
        for kind in (ResourceWarning, ImportWarning, PendingDeprecationWarning, DeprecationWarning):
            warnings.simplefilter("ignore", kind)
        warnings.filterwarnings("default", category=DeprecationWarning, module="__main__")
        yield


@contextmanager
def _logging() -> Iterator[None]:
    """A root logger without handlers; the session's loggers get back what they had."""
    logging = sys.modules.get("logging")
    if logging is None:
        yield
        logging = sys.modules.get("logging")
        if logging is not None:
            _reset_loggers(logging, {}, {})
        return
    loggers = _loggers(logging)
    before = {name: vars(logger).copy() for name, logger in loggers.items()}
    for logger in loggers.values():
        logger.handlers = [] if logger is logging.root else logger.handlers.copy()
    logging.root.setLevel(logging.WARNING)
    disabled = logging.root.manager.disable
    try:
        yield
    finally:
        logging.root.manager.disable = disabled
        _reset_loggers(logging, loggers, before)


def _loggers(logging: Any) -> dict[str, Any]:
    found = {
        name: logger
        for name, logger in logging.root.manager.loggerDict.items()
        if isinstance(logger, logging.Logger)
    }
    return {"": logging.root, **found}


def _reset_loggers(logging: Any, loggers: dict[str, Any], before: dict[str, dict[str, Any]]) -> None:
    for name, logger in _loggers(logging).items():
        kept = before.get(name, {}).get("handlers", [])
        for handler in logger.handlers:
            if handler not in kept:
                handler.close()
        if name in loggers:
            vars(logger).update(before[name])
        else:
            logger.handlers = []
            logger.setLevel(logging.WARNING if logger is logging.root else logging.NOTSET)
    logging.root.manager._clear_cache()


@contextmanager
def _random() -> Iterator[None]:
    state = random.getstate()
    random.seed()
    try:
        yield
    finally:
        random.setstate(state)


@contextmanager
def _no_loop() -> Iterator[None]:
    """A script may run an event loop, also when it was started below one."""
    loop = asyncio._get_running_loop()
    task = None if loop is None else asyncio.current_task(loop)
    if loop is not None and task is not None:
        asyncio._leave_task(loop, task)
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)
        if loop is not None and task is not None:
            asyncio._enter_task(loop, task)


@contextmanager
def _collector() -> Iterator[None]:
    enabled = gc.isenabled()
    try:
        yield
    finally:
        (gc.enable if enabled else gc.disable)()


class ExitHandlers:
    """What a script registers with `atexit`."""

    def __init__(self) -> None:
        self._handlers: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []

    def register(self, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """Register a function to be executed upon normal program termination."""
        if not callable(func):
            raise TypeError("the first argument must be callable")
        self._handlers.append((func, args, kwargs))
        return func

    def unregister(self, func: Callable[..., Any], /) -> None:
        """Unregister an exit function which was previously registered using atexit.register."""
        self._handlers = [handler for handler in self._handlers if handler[0] != func]

    def run(self) -> None:
        """Call them, the last first; what they raise is only reported."""
        while self._handlers:
            function, args, kwargs = self._handlers.pop()
            try:
                function(*args, **kwargs)
            except SystemExit:
                pass
            except Exception as error:
                sys.stderr.write(f"Exception ignored in atexit callback: {function!r}\n")
                trace = error.__traceback__
                traceback.print_exception(error.with_traceback(trace.tb_next if trace else None))


@contextmanager
def _exit_handlers() -> Iterator[ExitHandlers]:
    handlers = ExitHandlers()
    register, unregister = atexit.register, atexit.unregister
    atexit.register = handlers.register
    atexit.unregister = handlers.unregister
    try:
        yield handlers
    finally:
        atexit.register, atexit.unregister = register, unregister
