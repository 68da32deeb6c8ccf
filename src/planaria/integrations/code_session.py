"""A session for code that a model writes: functions of the host by name, variables, and final answers."""

from __future__ import annotations

import asyncio
import inspect
import io
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from planaria.errors import ExecutionError
from planaria.loop_thread import LoopThread
from planaria.session._sync.session import Session
from planaria.session.options import SessionArguments
from planaria.session.result import Result
from planaria_kernel.protocol import Repr

__all__ = ["CodeSession", "Outcome"]

#: What the session executes first. `_Finished` is not an Exception, which programs catch.
#: Images cross as PNG, as arguments, answers and variables; figures of matplotlib become images.
_SETUP: Final = '''
class _Finished(BaseException):
    """The program has given its final answer."""


def _sent(value):
    module = type(value).__module__
    if module.startswith("PIL.") and hasattr(value, "save"):
        save = value.save
    elif module == "matplotlib.figure" and hasattr(value, "savefig"):
        save = value.savefig
    else:
        return value
    import io

    file = io.BytesIO()
    save(file, format="PNG")
    return {"planaria/png": file.getvalue()}


def _received(value):
    if type(value) is not dict or list(value) != ["planaria/png"]:
        return value
    import io

    import PIL.Image

    return PIL.Image.open(io.BytesIO(value["planaria/png"]))


class _HostFunction:
    """A function of the host, called without await."""

    def __init__(self, name, ends):
        self.__name__ = name
        self._ends = ends

    def __call__(self, *arguments, **keywords):
        keywords = {name: _sent(value) for name, value in keywords.items()}
        answer = _host.call.call(self.__name__, [_sent(value) for value in arguments], keywords)
        if self._ends:
            raise _Finished
        return _received(answer)

    def __repr__(self):
        return f"<function {self.__name__} of the host>"
'''
_ASSIGN: Final = """
globals().update({name: _received(value) for name, value in _host.variables.call().items()})
"""
#: The key of an image.
_PNG: Final = "planaria/png"
_DEFINE: Final = """
globals().update({name: _HostFunction(name, ends) for name, ends in _host.functions.call().items()})
"""

_loop_thread: Final = LoopThread("planaria functions of frameworks")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program gave."""

    result: Result
    final: tuple[Any] | None = None
    """The final answer, alone in a tuple, if the program gave one; then `result.error` only says so."""


class CodeSession:
    """A session in which functions of the host are plain functions, of any number at any time.

    Args:
        arguments: those of `planaria.Session`.
    """

    def __init__(self, arguments: SessionArguments) -> None:
        self._functions: dict[str, Callable[..., Any]] = {}
        #: Those whose call is the end of the program.
        self._final: frozenset[str] = frozenset()
        self._final_answer: tuple[Any] | None = None
        self._variables: Mapping[str, Any] = {}
        self._defined: dict[str, bool] = {}
        own = [
            {"name": "_host.call", "fn": self._call},
            {"name": "_host.variables", "fn": lambda: {n: _sent(v) for n, v in self._variables.items()}},
            {"name": "_host.functions", "fn": lambda: self._defined},
        ]
        given: SessionArguments = {**arguments, "callbacks": [*arguments.get("callbacks", ()), *own]}
        self.session = Session(**given)
        self.session.execute(_SETUP, name="<setup>")

    def define(self, functions: Mapping[str, Callable[..., Any]], *, final: Collection[str] = ()) -> None:
        """Make functions callable by name. What a function named in `final` returns is the final answer: its
        call ends the program. Raises ValueError for what is not a name.
        """
        _check_names(functions)
        self._functions.update(functions)
        self._final = (self._final - functions.keys()) | frozenset(final)
        self._defined = {name: name in self._final for name in functions}
        if functions:
            self.session.execute(_DEFINE, name="<functions>")

    def assign(self, variables: Mapping[str, Any]) -> None:
        """Assign variables. Raises ValueError for what is not a name, ConversionError for values that are
        not serialisable.
        """
        _check_names(variables)
        self._variables = variables
        try:
            if variables:
                self.session.execute(_ASSIGN, name="<variables>")
        finally:
            self._variables = {}

    def run(self, code: str) -> Outcome:
        """Execute code; what it raises is in the result's `error`."""
        self._final_answer = None
        result = self.session.run(code)
        error = result.error
        is_final = isinstance(error, ExecutionError) and error.type == "_Finished"
        if result.value is not None:
            result.value = _shown_image(result)
        return Outcome(result, self._final_answer if is_final else None)

    def close(self) -> None:
        """Close the session."""
        self.session.close()

    def _call(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        keywords = {name: _received(value) for name, value in keywords.items()}
        answer = self._functions[name](*map(_received, arguments), **keywords)
        if inspect.iscoroutine(answer):
            answer = _finished(answer)
        if name not in self._final:
            return _sent(answer)
        self._final_answer = (answer,)
        return None


def _sent(value: Any) -> Any:
    """What the session gets for a value: for an image, its PNG."""
    if not type(value).__module__.startswith("PIL.") or not hasattr(value, "save"):
        return value
    file = io.BytesIO()
    value.save(file, "PNG")
    return {_PNG: file.getvalue()}


def _received(value: Any) -> Any:
    """A value of the session's, with an image where PIL is installed."""
    if not isinstance(value, dict) or list(value) != [_PNG]:
        return value
    return _image(value[_PNG]) or value


def _shown_image(result: Result) -> Any:
    """The value of a program: of what is shown as an image, and would only be described, the image."""
    if isinstance(result.value, Repr):
        for output in result.outputs:
            if output.is_value and "image/png" in output.data:
                return _image(output.data["image/png"]) or result.value
    return result.value


def _image(png: bytes) -> Any:
    """The image, or None without PIL."""
    try:
        from PIL import Image
    except ImportError:
        return None
    return Image.open(io.BytesIO(png))


def _finished(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine gives, run on a loop of its own beside whatever loop runs here."""
    return asyncio.run_coroutine_threadsafe(coroutine, _loop_thread.loop()).result()


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        if not name.isidentifier():
            raise ValueError(f"{name!r} is not a name for a variable or function")
