"""DSPy: sessions as code interpreters. Needs `planaria[dspy]`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self, Unpack

import dspy
from dspy.primitives.code_interpreter import CodeExecutionError, CodeInterpreterError, FinalOutput

from planaria.errors import CrashError, SessionError
from planaria.integrations.code_session import CodeSession
from planaria.session.options import SessionArgumentsBesideTools
from planaria.session.parameters import suggest_session_options

__all__ = ["PlanariaInterpreter"]

_SUBMIT = "SUBMIT"


class PlanariaInterpreter:
    """The interpreter of RLM, CodeAct, ProgramOfThought and others:
    `dspy.configure(interpreter_factory=PlanariaInterpreter)`.

    State lasts from one `execute` to the next. Tools run on the host; generated code calls them as functions.

    Args:
        tools: functions by name.
        output_fields: the names (and types) of the arguments of SUBMIT; without them it takes `output`.
        arguments: those of `planaria.Session`: `limits`, `mounts`, `network` and so on.
    """

    execution_instructions: ClassVar[str] = (
        "CPython in a sandbox, with its standard library, numpy, pandas, scipy, scikit-learn and matplotlib. "
        "Files are kept between steps. Tools and SUBMIT are plain functions: call them without await."
    )

    @suggest_session_options(SessionArgumentsBesideTools.__annotations__)
    def __init__(
        self,
        tools: dict[str, Callable[..., Any]] | None = None,
        output_fields: list[dict[str, Any]] | None = None,
        **arguments: Unpack[SessionArgumentsBesideTools],
    ) -> None:
        self._tools = dict(tools or {})
        self.output_fields = output_fields
        self._arguments = arguments
        self._code: CodeSession | None = None
        self._is_shut_down = False
        #: The tools and fields that the session knows.
        self._known: tuple[dict[str, Callable[..., Any]], list[dict[str, Any]] | None] | None = None

    @property
    def tools(self) -> dict[str, Callable[..., Any]]:
        """The tools by name; what is changed here is there in the next execution."""
        return self._tools

    def start(self) -> None:
        """Begin the session, if it has not begun. Raises CodeInterpreterError when it has ended."""
        if self._is_shut_down:
            raise CodeInterpreterError("this interpreter has been shut down; create another one")
        if self._code is None:
            self._code = CodeSession({**self._arguments, "tools": None})

    def execute(self, code: str, variables: dict[str, Any] | None = None) -> Any:
        """Execute code: the FinalOutput that it submits, else what it prints and its last value as text, or
        None.

        Raises SyntaxError, CodeExecutionError for what the code or a tool raises, CodeInterpreterError for
        what the code cannot repair.
        """
        self.start()
        assert self._code is not None
        try:
            self._define(self._code)
            self._code.assign(variables or {})
            outcome = self._code.run(code)
        except (SessionError, ValueError) as error:
            raise CodeInterpreterError(str(error)) from error
        result = outcome.result
        if outcome.final is not None:
            return FinalOutput(outcome.final[0])
        failure = result.error
        if isinstance(failure, CrashError):
            raise CodeInterpreterError(str(failure)) from failure
        if failure is not None:
            if failure.type == "SyntaxError":
                raise SyntaxError(f"Invalid Python syntax. message: {failure}") from failure
            raise CodeExecutionError(str(failure)) from failure
        shown = "" if result.value is None else f"{result.repr}\n"
        return (result.stdout + shown) or None

    def shutdown(self) -> None:
        """End the session."""
        self._is_shut_down = True
        if self._code is not None:
            self._code.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def __call__(self, code: str, variables: dict[str, Any] | None = None) -> Any:
        return self.execute(code, variables)

    def _define(self, code: CodeSession) -> None:
        """Have the session know the tools and SUBMIT as they are now."""
        now = (dict(self._tools), self.output_fields)
        if now == self._known:
            return
        functions = {name: partial(_call_by_keywords, tool) for name, tool in self._tools.items()}
        names = [field["name"] for field in self.output_fields or [{"name": "output"}]]
        parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
        functions[_SUBMIT] = partial(_submitted, inspect.Signature(parameters))
        code.define(functions, final=[_SUBMIT])
        self._known = now


def _call_by_keywords(tool: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Tools of DSPy take keywords; generated code gives what comes first by position."""
    if not arguments:
        return tool(**keywords)
    bound = inspect.signature(tool).bind(*arguments, **keywords)
    return tool(*bound.args, **bound.kwargs) if _takes_positions(tool) else tool(**bound.arguments)


def _takes_positions(tool: Callable[..., Any]) -> bool:
    return any(
        parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
        for parameter in inspect.signature(tool).parameters.values()
    )


def _submitted(signature: inspect.Signature, *arguments: Any, **keywords: Any) -> dict[str, Any]:
    """The fields of a final answer; raises TypeError, for the code to repair, when some are missing."""
    fields = signature.bind(*arguments, **keywords).arguments
    return {name: _typed(value) for name, value in fields.items()}


def _typed(value: Any) -> Any:
    """An image of PIL as the image of DSPy, which fields have; signatures do not make one of the other."""
    return dspy.Image(value) if type(value).__module__.startswith("PIL.") else value
