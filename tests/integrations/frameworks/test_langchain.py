"""Agents of LangChain with Python in a session."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from mcp_tool_directory import PROCESS, define_server, is_there

import planaria
from planaria.integrations.langchain import PlanariaMiddleware

THREAD = {"configurable": {"thread_id": "t1"}}


class ScriptedModel(FakeMessagesListChatModel):
    """Says one message after the other; knows what tools it was given."""

    def bind_tools(self, tools: Any, **settings: Any) -> ScriptedModel:
        return self


numbers = itertools.count()


def runs(*programs: str) -> AIMessage:
    """A message of a model that runs programs."""
    calls = [
        {"name": "eval_python", "args": {"code": one}, "id": f"call_{next(numbers)}"} for one in programs
    ]
    return AIMessage(content="", tool_calls=calls)


@tool
def price(item: str) -> float:
    """What an item costs."""
    return {"tea": 2.5, "bread": 4.0}[item]


@tool
async def stock(item: str) -> int:
    """How many there are of an item."""
    await asyncio.sleep(0)
    return len(item)


asked: list[str] = []


@tool
def pay(to: str, amount: float) -> str:
    """Pay an amount."""
    asked.append(to)
    return f"{interrupt(f'{amount} to {to}?')} {interrupt('really?')} {to}"


@pytest.fixture
def middleware() -> Iterator[PlanariaMiddleware]:
    middleware = PlanariaMiddleware(ptc=[price, stock, pay])
    yield middleware
    middleware.close()


def agent(middleware: PlanariaMiddleware, *messages: AIMessage, saver: Any = None) -> Any:
    return create_agent(
        ScriptedModel(responses=[*messages, AIMessage("done")]),
        middleware=[middleware],
        checkpointer=saver or InMemorySaver(),
    )


def results(state: dict[str, Any]) -> list[Any]:
    return [message.content for message in state["messages"] if message.type == "tool"]


TASK = (
    "prices = [tools.price(item=one) for one in ('tea', 'salt')]",
    "prices = {one: await tools.price(item=one) for one in ('tea', 'bread')}\nprices",
    "import matplotlib.pyplot as plt\nplt.bar(list(prices), list(prices.values()))\nawait tools.stock(item='tea')",
)


def check_task(state: dict[str, Any]) -> None:
    failed, repaired, drawn = results(state)
    assert failed.endswith("KeyError: 'salt'")
    assert repaired == "{'tea': 2.5, 'bread': 4.0}"
    assert [block["type"] for block in drawn] == ["text", "image"]
    assert drawn[0]["text"].endswith("3")
    assert [message.status for message in state["messages"] if message.type == "tool"] == [
        "error",
        "success",
        "success",
    ]


def test_whole_task(middleware: PlanariaMiddleware) -> None:
    """State, calls of tools, a failure and its repair, a figure, by an agent that runs without a loop."""
    check_task(agent(middleware, *map(runs, TASK)).invoke({"messages": "go"}, THREAD))


async def test_whole_task_awaited(middleware: PlanariaMiddleware) -> None:
    """The same, awaited: asynchronous tools run on the agent's loop."""
    check_task(await agent(middleware, *map(runs, TASK)).ainvoke({"messages": "go"}, THREAD))


def test_model_sees_the_functions(middleware: PlanariaMiddleware) -> None:
    """The tools that code can call are in the description of eval_python, as Python."""
    [eval_python] = middleware.tools
    assert "def price(*, item: str) -> Any:" in eval_python.description
    assert list(eval_python.args) == ["code"]


def test_threads_have_their_own_state_and_earlier_checkpoints_too(middleware: PlanariaMiddleware) -> None:
    """A thread has its variables; a run that goes on from an earlier checkpoint has those of then, also when
    another process restores them.
    """
    saver = InMemorySaver()
    first = agent(middleware, runs("x = 1"), runs("x += 1\nx"), saver=saver)
    assert results(first.invoke({"messages": "go"}, THREAD))[-1] == "2"
    other = agent(middleware, runs("x"), saver=saver)
    assert "NameError" in results(other.invoke({"messages": "go"}, {"configurable": {"thread_id": "t2"}}))[0]
    history = list(first.get_state_history(THREAD))
    [then] = [one for one in history if results(one.values) == ["(no output)"] and one.next == ("model",)]
    elsewhere = PlanariaMiddleware(ptc=[price])
    for one in (middleware, elsewhere):
        again = agent(one, runs("x += 10\nx"), saver=saver)
        assert results(again.invoke(None, then.config))[-1] == "11"
    elsewhere.close()


def test_calls_of_one_step_follow_each_other(middleware: PlanariaMiddleware) -> None:
    """Several calls in one message use one session, and what each did is there in the next step."""
    state = agent(middleware, runs("a = 1", "b = 2"), runs("a + b")).invoke({"messages": "go"}, THREAD)
    assert results(state)[-1] == "3"


@pytest.mark.parametrize("where", ["same process", "other process", "awaited"])
def test_interrupted_program_goes_on_where_it_waited(where: str, tmp_path: Path) -> None:
    """What a program did before a tool interrupted it is not repeated; each answer goes to who asked."""
    asked.clear()
    store = planaria.FileStore(tmp_path)
    saver = InMemorySaver()
    program = (
        "print('begun')\n"
        "first = await tools.pay(to='Ann', amount=3.0)\n"
        "import asyncio\n"
        "both = tools.price.call_async(item='tea'), tools.pay.call_async(to='Bob', amount=4.0)\n"
        "[*map(print, await asyncio.gather(*both))]\n"
        "first"
    )
    answers: list[Any] = [{"messages": "go"}, *(Command(resume=word) for word in "abcd")]
    interrupts: list[str] = []
    middleware = PlanariaMiddleware(ptc=[price, pay], store=store)
    runner = agent(middleware, runs(program), saver=saver)
    for answer in answers:
        state = (
            asyncio.run(runner.ainvoke(answer, THREAD))
            if where == "awaited"
            else runner.invoke(answer, THREAD)
        )
        interrupts += [one.value for one in state.get("__interrupt__", ())]
        if where == "other process":
            middleware.close()
            middleware = PlanariaMiddleware(ptc=[price, pay], store=store)
            runner = agent(middleware, saver=saver)
    middleware.close()
    assert interrupts == ["3.0 to Ann?", "really?", "4.0 to Bob?", "really?"]
    assert results(state) == ["begun\n2.5\nc d Bob\n'a b Ann'"]
    assert asked == ["Ann"] * 3 + ["Bob"] * 3
    assert store.list() == ["t1"]


def test_callback_that_suspends_interrupts() -> None:
    """A callback's Suspend is an interrupt with its call and reason; the answer is its value."""

    def approve(amount: int) -> bool:
        raise planaria.Suspend("someone has to decide")

    middleware = PlanariaMiddleware(callbacks=[approve])
    runner = agent(middleware, runs("await approve(5)"))
    [question] = runner.invoke({"messages": "go"}, THREAD)["__interrupt__"]
    assert question.value["reason"] == "someone has to decide"
    assert "approve" in question.value["call"]
    assert results(runner.invoke(Command(resume=True), THREAD)) == ["True"]
    middleware.close()


def test_new_message_gives_up_a_program_that_waits(middleware: PlanariaMiddleware) -> None:
    """Who does not answer but goes on has the state before the program that waited."""
    runner = agent(middleware, runs("x = 1"), runs("x = 2\nawait tools.pay(to='Ann', amount=1.0)"), runs("x"))
    runner.invoke({"messages": "go"}, THREAD)
    state = runner.invoke({"messages": "never mind"}, THREAD)
    assert results(state)[-1] == "1"


@pytest.mark.parametrize("answer", [True, "too much"])
def test_approval_by_a_middleware_interrupts(answer: object) -> None:
    """A middleware of a session's registry stands before the tools of `ptc`: nothing runs that is not approved."""
    asked.clear()

    class Approves:
        def before(self, call: planaria.ToolCall) -> None:
            if call.tool == "pay":
                raise planaria.Suspend(f"pay {call.arguments['to']}?")

    middleware = PlanariaMiddleware(ptc=[pay], tools=planaria.ToolRegistry(middleware=[Approves()]))
    runner = agent(middleware, runs("await tools.pay(to='Ann', amount=3.0)"))
    [question] = runner.invoke({"messages": "go"}, THREAD)["__interrupt__"]
    assert question.value["reason"] == "pay Ann?"
    assert asked == []
    state = runner.invoke(Command(resume=answer), THREAD)
    if answer is True:
        for word in "ab":
            [question] = state["__interrupt__"]
            state = runner.invoke(Command(resume=word), THREAD)
        assert results(state) == ["'a b Ann'"]
    else:
        assert "pay() was not approved: too much" in results(state)[0]
        assert asked == []
    middleware.close()


def test_tools_are_closed_with_the_middleware(tmp_path: Path) -> None:
    """Servers of a directory of tools serve all threads, and end when the middleware is closed."""
    middleware = PlanariaMiddleware(tools=define_server(tmp_path / "tools"))
    processes = [
        results(agent(middleware, runs(PROCESS)).invoke({"messages": "go"}, thread))[0]
        for thread in (THREAD, {"configurable": {"thread_id": "t2"}})
    ]
    assert processes[0] == processes[1]
    assert is_there(int(processes[0]))
    middleware.close()
    assert not is_there(int(processes[0]))
