"""Agents of Pydantic AI that write code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp_tool_directory import PROCESS, define_server, is_there
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import planaria
from planaria.integrations.pydantic_ai import PlanariaCodeMode

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Script:
    """A model that says one thing after the other, and keeps which tools it was given."""

    def __init__(self, *turns: Any) -> None:
        self.turns = iter([*turns, "done"])
        self.tools: list[Any] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.tools = info.function_tools
        turn = next(self.turns)
        if isinstance(turn, dict):
            return ModelResponse(parts=[ToolCallPart("run_code", turn)])
        return ModelResponse(parts=[turn if isinstance(turn, ToolCallPart) else TextPart(turn)])


class Repl:
    """A place for states, by the dependencies of a run."""

    def __init__(self) -> None:
        self.states: dict[str, bytes | None] = {}

    async def load(self, ctx: RunContext[Any]) -> bytes | None:
        return self.states.get(ctx.deps)

    async def save(self, ctx: RunContext[Any], state: bytes | None) -> None:
        self.states[ctx.deps] = state


def agent_of(script: Script, **settings: Any) -> Agent[str, str]:
    agent = Agent(FunctionModel(script), deps_type=str, capabilities=[PlanariaCodeMode(**settings)])

    @agent.tool
    async def price(ctx: RunContext[str], item: str) -> float:
        """What an item costs for who asks."""
        if item == "air":
            raise ModelRetry("air is free")
        return {"tea": 2.5, "bread": 4.0}[item] * len(ctx.deps)

    @agent.tool_plain
    def shout(text: str) -> str:
        """Say it louder."""
        return text.upper()

    return agent


def answers(result: Any) -> list[Any]:
    """What the tools gave, and the figures."""
    return [
        part.content if part.part_kind == "tool-return" else [type(one) for one in part.content]
        for message in result.all_messages()[1:]
        for part in message.parts
        if part.part_kind in ("tool-return", "user-prompt")
    ]


async def test_whole_task() -> None:
    """State, calls of tools with the run's dependencies, failures and their repair, a figure."""
    script = Script(
        {"code": "prices = [await tools.price(item=one) for one in ('tea', 'salt')]"},
        {"code": "prices = [tools.price(item=one) for one in ('tea', 'bread')]\nprices"},
        {"code": "await tools.price(item='air')"},
        {"code": "import matplotlib.pyplot as plt\nplt.plot(prices)\nawait tools.shout(text='seen')"},
    )
    failed, repaired, refused, drawn, figures = answers(await agent_of(script).run("go", deps="ab"))
    assert failed.endswith("KeyError: 'salt'")
    assert repaired == "[5.0, 8.0]"
    assert refused.endswith("air is free")
    assert drawn.endswith("'SEEN'")
    assert figures == [BinaryContent]
    [run_code] = script.tools
    assert "def price(*, item: str) -> float:" in run_code.description


async def test_state_goes_on_in_the_next_run() -> None:
    """With a store a run has the variables of the one before; `restart` begins anew."""
    repl = Repl()
    await agent_of(Script({"code": "x = 1"}), repl_store=repl).run("go", deps="ab")
    again = await agent_of(
        Script({"code": "x"}, {"code": "'x' in globals()", "restart": True}), repl_store=repl
    ).run("go", deps="ab")
    assert answers(again) == ["1", "False"]
    other = await agent_of(Script({"code": "'x' in globals()"}), repl_store=repl).run("go", deps="c")
    assert answers(other) == ["False"]


async def test_tools_that_are_not_chosen_stay_tools() -> None:
    """Code calls the tools that `tools` names; the model calls the others."""
    script = Script(ToolCallPart("shout", {"text": "a"}), {"code": "tools.shout(text='b')"})
    shouted, unknown = answers(await agent_of(script, tools=["price"]).run("go", deps="ab"))
    assert shouted == "A"
    assert "there is no tool 'shout'" in unknown
    assert sorted(tool.name for tool in script.tools) == ["run_code", "shout"]


async def test_arguments_are_checked() -> None:
    """A tool's arguments are validated before it runs; what does not fit is an error of the code."""
    script = Script({"code": "tools.shout(text=3)"}, {"code": "tools.shout(words='a')"})
    wrong, unknown = answers(await agent_of(script).run("go", deps="ab"))
    assert "Input should be a valid string" in wrong
    assert "has no parameter 'words'" in unknown


async def test_tools_are_closed_with_the_run(tmp_path: Path) -> None:
    """Servers of a directory of tools go on when code begins anew, and end with the run."""
    script = Script({"code": PROCESS}, {"code": PROCESS, "restart": True})
    agent = agent_of(script, arguments={"tools": define_server(tmp_path / "tools")})
    first, second = answers(await agent.run("go", deps="ab"))
    assert first == second
    assert not is_there(int(first))


async def test_call_that_needs_a_decision() -> None:
    """What a middleware of the session's registry wants a decision about raises PermissionError in the code."""

    class Approves:
        def before(self, call: planaria.ToolCall) -> None:
            raise planaria.Suspend(f"may it {call.tool}?")

    arguments = {"tools": planaria.ToolRegistry(middleware=[Approves()])}
    both = "import asyncio\nawait asyncio.gather(*(tools.shout.call_async(text=one) for one in 'ab'))"
    script = Script({"code": "await tools.shout(text='a')"}, {"code": both}, {"code": "1 + 1"})
    single, several, after = answers(await agent_of(script, arguments=arguments).run("go", deps="ab"))
    for refused in (single, several):
        assert "PermissionError: this needs a decision: may it shout?" in refused
    assert after == "2"
