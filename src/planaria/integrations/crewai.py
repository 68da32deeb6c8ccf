"""CrewAI: the tools of a session. Needs `planaria[crewai]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crewai.tools import BaseTool, ToolFailure
from pydantic import PrivateAttr

from planaria.integrations.session_tools import Answer, SessionTool, session_tools

if TYPE_CHECKING:
    from planaria.session._sync.session import Session

__all__ = ["tools"]


def tools(session: Session) -> list[BaseTool]:
    """`run_python`, `run_bash`, `read_file` and `write_file` on a session. Figures are mentioned only; what
    fails is a ToolFailure.
    """
    return [_Tool(one) for one in session_tools(session)]


class _Tool(BaseTool):
    _tool: SessionTool = PrivateAttr()

    def __init__(self, tool: SessionTool) -> None:
        # Executing the same code again is not the same: results must not come from a cache.
        super().__init__(
            name=tool.name,
            description=tool.description,
            args_schema=tool.model,
            cache_function=_never,
        )
        self._tool = tool

    def _run(self, **arguments: Any) -> str | ToolFailure:
        return _output(self._tool.call(**arguments))

    async def _arun(self, **arguments: Any) -> str | ToolFailure:
        return _output(await self._tool.acall(**arguments))


def _never(*_: Any) -> bool:
    return False


def _output(answer: Answer) -> str | ToolFailure:
    number = len(answer.images)
    figures = [f"({number} {'figure' if number == 1 else 'figures'}, not shown here)"] if number else []
    text = "\n".join([answer.text, *figures]).strip("\n")
    return ToolFailure(message=text) if answer.is_error else text
