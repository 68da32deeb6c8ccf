"""`planaria mcp`: what happens while a call runs, as clients of the SDK see it."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from mcp.client.client import Client
from mcp_clients import MODES, named_sessions, run, stdio_client, text, with_client
from mcp_types import ElicitResult

import planaria

pytestmark = pytest.mark.slow


def test_a_timeout_keeps_the_session() -> None:
    """An execution is stopped after the seconds it asked for, at most the server's, and state stays."""

    async def main(client: Client) -> None:
        for seconds in (0.3, 1000):
            code = "n = 1\nwhile True: pass"
            result = await client.call_tool("run_python", {"code": code, "timeout": seconds})
            assert result.is_error
            assert result.structured_content["error"]["type"] == "TimeoutError"
        assert (await client.call_tool("run_python", {"code": "n"})).structured_content["value"] == 1

    with_client(main, named_sessions(), timeout=0.5)


@pytest.mark.parametrize("mode", MODES)
def test_cancelling_a_call_interrupts_the_code(mode: str) -> None:
    """A call that the client cancels stops in the sandbox, and the session goes on with its state."""

    async def main() -> None:
        async with stdio_client("--timeout", "100", mode=mode) as client:
            await client.call_tool("run_python", {"code": "n = 0"})
            with anyio.move_on_after(0.5) as scope:
                await client.call_tool("run_python", {"code": "while True: n += 1"})
            assert scope.cancelled_caught
            with anyio.fail_after(30):
                result = await client.call_tool("run_python", {"code": "n > 0"})
            assert result.structured_content["value"] is True

    run(main)


def test_a_session_is_interrupted() -> None:
    """The action `interrupt` stops what runs in a session, which that call reports."""

    async def main(client: Client) -> None:
        results = []

        async def loop() -> None:
            code = "print('looping')\nwhile True: pass"
            results.append(await client.call_tool("run_python", {"code": code}))

        async with anyio.create_task_group() as group:
            group.start_soon(loop)
            while not results:
                with anyio.move_on_after(0.2):
                    await anyio.sleep(0.2)
                await client.call_tool("sessions", {"action": "interrupt"})
        assert results[0].structured_content["error"]["type"] == "Interrupted"

    async def with_session(client: Client) -> None:
        await client.call_tool("sessions", {"action": "new"})
        await main(client)

    with_client(with_session, named_sessions())


@pytest.mark.parametrize("mode", MODES)
def test_long_executions_report_progress(mode: str) -> None:
    """While code runs, the client hears how long it has, and the end of what it printed."""
    heard: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def main() -> None:
        async with stdio_client(mode=mode) as client:
            code = "import time\nprint('half of it', flush=True)\ntime.sleep(2.5)"
            await client.call_tool("run_python", {"code": code, "timeout": 20}, progress_callback=note)

    run(main)
    assert heard
    assert heard[-1][0] > 0.9
    assert heard[-1][1:] == (20, "half of it\n")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("action", "content", "printed"),
    [
        ("accept", {"approve": True}, "paid 900"),
        ("accept", {"approve": False}, "PermissionError: the user of this client declined"),
        ("decline", None, "PermissionError: the user of this client declined"),
    ],
)
def test_the_user_approves_calls(mode: str, action: Any, content: Any, printed: str) -> None:
    """A tool that a middleware wants approved asks the client's user, and goes on as the user decides."""

    def pay(amount: int) -> str:
        """Pay an amount."""
        return f"paid {amount}"

    class Approvals(planaria.ToolMiddleware):
        def before(self, call: planaria.ToolCall) -> None:
            raise planaria.Suspend(f"pay {call.arguments['amount']}?")

    asked = []

    async def elicit(_context: Any, params: Any) -> ElicitResult:
        asked.append((params.message, sorted(params.requested_schema["properties"])))
        return ElicitResult(action=action, content=content)

    async def main(client: Client) -> None:
        code = """
try:
    print(await tools.pay(amount=900))
except PermissionError as error:
    print(f"PermissionError: {error}")
"""
        result = await client.call_tool("run_python", {"code": code})
        assert text(result) == printed
        assert asked == [("pay 900?", ["approve"])]

    registry = planaria.ToolRegistry([pay])
    registry.middleware.append(Approvals())
    with_client(main, named_sessions(tools=registry), mode, elicitation=elicit)


@pytest.mark.parametrize("mode", MODES)
def test_the_user_answers_calls(mode: str) -> None:
    """A callback that suspends itself gets the text that the user gives as its result, call after call."""

    def ask(question: str) -> str:
        raise planaria.Suspend("a question")

    async def elicit(_context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"answer": params.message[-5:]})

    async def main(client: Client) -> None:
        code = "first = await ask(question='a')\n[first, await ask(question='b')]"
        result = await client.call_tool("run_python", {"code": code})
        assert result.structured_content["value"] == ["='a')", "='b')"]

    with_client(main, named_sessions(callbacks=[ask]), mode, elicitation=elicit)


def test_a_client_that_cannot_ask_refuses() -> None:
    """Where the client has no elicitation, a call that waits for a decision raises PermissionError."""

    def ask() -> str:
        raise planaria.Suspend("a question")

    async def main(client: Client) -> None:
        result = await client.call_tool("run_python", {"code": "await ask()"})
        assert text(result).endswith("PermissionError: this client cannot ask its user for a decision")

    with_client(main, named_sessions(callbacks=[ask]))
