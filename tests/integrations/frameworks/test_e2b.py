"""What frameworks have for E2B, on a server of ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from session_server import served_to_e2b
from smolagents import CodeAgent, FinalAnswerTool
from smolagents.models import ChatMessage, MessageRole, Model
from smolagents.monitoring import AgentLogger, LogLevel
from smolagents.remote_executors import E2BExecutor


@pytest.fixture
def executor() -> Iterator[E2BExecutor]:
    """The executor of smolagents."""
    with served_to_e2b():
        one = E2BExecutor([], AgentLogger(level=LogLevel.OFF))
        yield one
        one.cleanup()


class Scripted(Model):  # type: ignore[misc]
    """Answers with steps that were written before."""

    def __init__(self, *steps: str) -> None:
        super().__init__(model_id="scripted")
        self.steps = list(steps)

    def generate(self, messages: object, **options: object) -> ChatMessage:
        return ChatMessage(
            role=MessageRole.ASSISTANT, content=f"Thought: go on\n<code>\n{self.steps.pop(0)}\n</code>"
        )


def test_smolagents_executor_of_e2b(executor: E2BExecutor) -> None:
    """Its code keeps its variables, gives values, output, pictures and errors, and gets variables and tools."""
    executor.send_variables({"n": 20, "names": ["a", "b"]})
    executor.send_tools({"final_answer": FinalAnswerTool()})
    assert executor("m = n + len(names)\nprint('printed')\nm").logs == "printed\n"
    assert executor("m").output == "22"
    done = executor("final_answer(m * 2)")
    assert (done.output, done.is_final_answer) == (44, True)
    with pytest.raises(Exception, match="ZeroDivisionError"):
        executor("1 / 0")


def test_an_agent_of_smolagents_on_e2b(executor: E2BExecutor) -> None:
    """An agent whose code runs in a sandbox of E2B's keeps its state between steps and answers."""
    model = Scripted("total = sum(range(10))\nprint(total)", "final_answer(total + 1)")
    agent = CodeAgent(tools=[], model=model, executor=executor, verbosity_level=LogLevel.OFF)
    assert agent.run("Add up.") == 46
