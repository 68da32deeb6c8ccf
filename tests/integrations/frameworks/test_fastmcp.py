"""FastMCP's code mode on sessions."""

from __future__ import annotations

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.experimental.transforms.code_mode import CodeMode

import planaria
from planaria.integrations.fastmcp import PlanariaSandboxProvider

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_value_of_a_program() -> None:
    """A program returns, or its last expression is its value; inputs are variables; lines of texts stay."""
    provider = PlanariaSandboxProvider()
    assert await provider.run("return x + 1", inputs={"x": 41}) == 42
    assert await provider.run("y = x * 2\n[y, '''a\n b''']", inputs={"x": 2}) == [4, "a\n b"]
    assert await provider.run("") is None


async def test_functions_are_awaited() -> None:
    """Functions of the host, plain or not, are awaited by the program."""

    async def slow(n: int) -> int:
        return n * n

    code = "import asyncio\nreturn await asyncio.gather(*(slow(n) for n in range(4)), fast())"
    given = {"slow": slow, "fast": lambda: "f"}
    assert await PlanariaSandboxProvider().run(code, external_functions=given) == [0, 1, 4, 9, "f"]


async def test_figures() -> None:
    """Figures come as images beside the value."""
    program = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nreturn {'points': 2}"
    done = await PlanariaSandboxProvider().run(program)
    assert done.structured_content == {"points": 2}
    assert [block.type for block in done.content] == ["text", "image"]
    drawn = await PlanariaSandboxProvider().run(f"{program[: program.index('return')]}return plt.gcf()")
    assert [block.type for block in drawn.content] == ["text", "image"]
    assert drawn.content[0].text == "<Figure size 640x480 with 1 Axes>"


async def test_programs_share_nothing() -> None:
    """Each program has a session of its own, and the limits that were given."""
    provider = PlanariaSandboxProvider(limits=planaria.Limits(timeout=1))
    await provider.run("global x\nx = 1")
    with pytest.raises(planaria.ExecutionError, match="NameError"):
        await provider.run("x")
    with pytest.raises(planaria.TimeoutError):
        await provider.run("while True: pass")


async def test_server_in_code_mode() -> None:
    """A client finds tools and calls several in one program, with numpy; an error says what failed."""
    server = FastMCP("prices", transforms=[CodeMode(sandbox_provider=PlanariaSandboxProvider())])

    @server.tool
    def price(item: str) -> float:
        """What an item costs."""
        return {"tea": 2.5, "bread": 4.0}[item]

    async with Client(server) as client:
        assert "execute" in {tool.name for tool in await client.list_tools()}
        code = (
            "import statistics\n"
            "prices = [(await call_tool('price', {'item': item}))['result'] for item in ('tea', 'bread')]\n"
            "return {'mean': statistics.mean(prices)}"
        )
        done = await client.call_tool("execute", {"code": code})
        assert "3.25" in str(done.data or done.content)
        with pytest.raises(ToolError, match="ZeroDivisionError"):
            await client.call_tool("execute", {"code": "return 1 / 0"})
