"""smolagents: a session as the executor of code agents. Needs `planaria[smolagents]`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from smolagents import Tool
from smolagents.local_python_executor import CodeOutput, InterpreterError, PythonExecutor

from planaria.integrations.code_session import CodeSession
from planaria.session.options import SessionArguments
from planaria.session.parameters import suggest_session_options

__all__ = ["PlanariaExecutor"]

_FINAL_ANSWER = "final_answer"
#: The label of the state that a step began with.
_BEFORE = "before this step"
_UNDONE = "Variables and files are again as they were before this step."


class PlanariaExecutor(PythonExecutor):
    """Executes the code of a CodeAgent in a session: `CodeAgent(executor=PlanariaExecutor(), …)`.

    State lasts from step to step. Tools and managed agents run on the host, where their keys stay; code in
    the sandbox calls them as functions. Any import works that the sandbox has.

    Args:
        undo_failed_steps: whether a step that raises leaves no trace in the session, and says so.
        arguments: those of `planaria.Session`: `limits`, `mounts`, `network` and so on.
    """

    @suggest_session_options(SessionArguments.__annotations__)
    def __init__(self, *, undo_failed_steps: bool = False, **arguments: Unpack[SessionArguments]) -> None:
        self._undoes = undo_failed_steps
        self._code = CodeSession(arguments)
        self.session = self._code.session
        """The session, for checkpoints, forks, snapshots."""
        self.state: dict[str, Any] = {"_print_outputs": ""}
        """What the agent reads when a step has failed: what was printed until then."""

    def send_tools(self, tools: dict[str, Tool]) -> None:
        """Make tools callable. `final_answer` ends the step, wherever it is called."""
        functions = {name: _plain(tool) for name, tool in tools.items()}
        self._code.define(functions, final=[_FINAL_ANSWER] if _FINAL_ANSWER in tools else [])

    def send_variables(self, variables: dict[str, Any]) -> None:
        """Assign variables."""
        self._code.assign(variables)

    def __call__(self, code_action: str) -> CodeOutput:
        """Execute one step. Raises InterpreterError, with the traceback, for what the code raises."""
        if self._undoes:
            # Not left to `undo`: before quick steps a session need not keep its state by itself.
            self.session.checkpoint(_BEFORE)
        outcome = self._code.run(code_action)
        result = outcome.result
        logs = self.state["_print_outputs"] = result.stdout + result.stderr
        if outcome.final is not None:
            return CodeOutput(output=outcome.final[0], logs=logs, is_final_answer=True)
        if result.error is not None:
            message = result.error.traceback or str(result.error)
            if self._undoes:
                self.session.rewind(_BEFORE)
                message = f"{message.rstrip()}\n{_UNDONE}"
            raise InterpreterError(message) from result.error
        return CodeOutput(output=result.value, logs=logs, is_final_answer=False)

    def cleanup(self) -> None:
        """Close the session."""
        self._code.close()


def _plain(tool: Callable[..., Any]) -> Callable[..., Any]:
    """A tool whose typed answers (AgentText and so on) are given as what they hold."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        answer = tool(*arguments, **keywords)
        to_raw = getattr(answer, "to_raw", None)
        return answer if to_raw is None else to_raw()

    return call
