"""Code agents of smolagents on sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import PIL.Image
import pytest
from smolagents import CodeAgent, FinalAnswerTool, Tool
from smolagents.local_python_executor import InterpreterError
from smolagents.models import ChatMessage, MessageRole, Model

from planaria.integrations.smolagents import PlanariaExecutor


class Price(Tool):  # type: ignore[misc]
    name = "price"
    description = "The price of an item"
    inputs = {"item": {"type": "string", "description": "what"}}  # noqa: RUF012
    output_type = "number"

    def forward(self, item: str) -> float:
        return {"tea": 2.5}[item]


class Flip(Tool):  # type: ignore[misc]
    name = "flip"
    description = "An image upside down"
    inputs = {"image": {"type": "image", "description": "which"}}  # noqa: RUF012
    output_type = "image"

    def forward(self, image: PIL.Image.Image) -> PIL.Image.Image:
        return image.transpose(PIL.Image.Transpose.FLIP_TOP_BOTTOM)


class ScriptedModel(Model):  # type: ignore[misc]
    """Says one program after the other, and keeps what it has read."""

    def __init__(self, *programs: str) -> None:
        super().__init__(model_id="scripted")
        self.programs = list(programs)
        self.reported: list[Any] = []

    def generate(self, messages: list[Any], **settings: Any) -> ChatMessage:
        self.reported = messages
        return ChatMessage(role=MessageRole.ASSISTANT, content=f"<code>\n{self.programs.pop(0)}\n</code>")


@pytest.fixture
def executor() -> Iterator[PlanariaExecutor]:
    executor = PlanariaExecutor()
    executor.send_tools({"price": Price(), "flip": Flip(), "final_answer": FinalAnswerTool()})
    yield executor
    executor.cleanup()


def test_state_lasts_from_step_to_step(executor: PlanariaExecutor) -> None:
    """Variables of the agent and of earlier steps are there; the last value is the output."""
    executor.send_variables({"count": 2})
    executor("total = count * price('tea')")
    output = executor("print('sum'); total")
    assert (output.output, output.logs, output.is_final_answer) == (5.0, "sum\n", False)


def test_final_answer_ends_the_step(executor: PlanariaExecutor) -> None:
    """final_answer() ends the step wherever it is called; its name in a text does nothing."""
    assert not executor("text = 'final_answer(1)'\ntext").is_final_answer
    output = executor(
        "for n in range(9):\n    try:\n        final_answer(n)\n    except Exception:\n        pass"
    )
    assert (output.output, output.is_final_answer) == (0, True)
    assert executor("n").output == 0


def test_failed_step_keeps_what_it_printed(executor: PlanariaExecutor) -> None:
    """A step that raises says where, and its output is in the state that the agent reads."""
    with pytest.raises(InterpreterError, match="KeyError: 'coffee'"):
        executor("print('before')\nprice('coffee')")
    assert executor.state["_print_outputs"] == "before\n"


def test_failed_steps_are_undone() -> None:
    """Where it is asked for, variables and files are as before the step that failed, and its error says so."""
    executor = PlanariaExecutor(undo_failed_steps=True)
    executor.send_tools({"final_answer": FinalAnswerTool()})
    executor("names = ['a']")
    with pytest.raises(
        InterpreterError, match=r"ZeroDivisionError.*\nVariables and files are again as they were"
    ):
        executor("names.append('b')\nopen('b.txt', 'w').close()\n1 / 0")
    assert executor("import os\nnames, os.path.exists('b.txt')").output == (["a"], False)
    assert executor("names.append('c')\nfinal_answer(names)").output == ["a", "c"]
    assert executor("names").output == ["a", "c"]
    executor.cleanup()


def test_images_are_images_on_both_sides(executor: PlanariaExecutor) -> None:
    """Images are given to tools and come back as PIL images, also as the last value and the final answer."""
    executor.send_variables({"picture": PIL.Image.new("RGB", (2, 3), "red")})
    output = executor("image = flip(picture)\nimage")
    assert isinstance(output.output, PIL.Image.Image)
    assert output.output.size == (2, 3)
    output = executor("final_answer(image.resize((5, 7)))")
    assert isinstance(output.output, PIL.Image.Image)
    assert output.output.size == (5, 7)


def test_figures_are_images(executor: PlanariaExecutor) -> None:
    """A figure of matplotlib is a PIL image for tools, as the last value and as the final answer."""
    output = executor(
        "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots()\naxes.plot([1, 2])\nfigure"
    )
    assert isinstance(output.output, PIL.Image.Image)
    output = executor("flip(figure).size")
    assert output.output == (640, 480)
    output = executor("final_answer(figure)")
    assert output.output.size == (640, 480)


def test_agent_repairs_a_step_and_asks_another_agent() -> None:
    """A whole run: state, a tool, a failure and its repair, a managed agent, an answer."""
    helper_model = ScriptedModel("final_answer('two')")
    helper = CodeAgent(
        tools=[],
        model=helper_model,
        executor=PlanariaExecutor(),
        name="helper",
        description="helps",
        verbosity_level=0,
    )
    model = ScriptedModel(
        "items = ['tea', 'coffee']\nprices = [price(item) for item in items]",
        "prices = [price('tea') for item in items]",
        "word = helper('how many?')",
        "final_answer(f'{sum(prices)} for {len(prices)}; {\"two\" in word}')",
    )
    agent = CodeAgent(
        tools=[Price()], model=model, executor=PlanariaExecutor(), managed_agents=[helper], verbosity_level=0
    )
    assert agent.run("What do they cost?") == "5.0 for 2; True"
    failed = agent.memory.steps[1]
    assert "KeyError: 'coffee'" in str(failed.error)
    agent.cleanup()
    helper.cleanup()
