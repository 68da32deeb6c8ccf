"""Open examples/workspace in a sandbox, whose code calls a command, an MCP server and an HTTP interface.

The interface runs on this machine and wants a token. The code in the sandbox has no network and no token: it
calls tools, and the host does what they stand for. What it saves goes into a copy of the workspace.
"""

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

from planaria import AsyncSession, ToolEnvironment

HERE = Path(__file__).parent / "workspace"
sys.path.insert(0, str(HERE))

from prices_api import TOKEN, serving  # noqa: E402 - it is part of the workspace

SEARCH = """
for product in tools.prices.search(at_most=50):
    print(product, tools.prices.product(name=product)["price"], "€")
"""

SAVE = '''
workflows.create(
    "cheapest",
    """async def run(country: str, pieces: int = 1) -> str:
    quotes = [
        await workflows.quote(product=name, country=country, pieces=pieces)
        for name in await tools.prices.search()
    ]
    return min(quotes, key=lambda quote: quote["total"])["product"]
""",
    description="Which product costs least, delivery included",
)
await workflows.cheapest(country="FR", pieces=3)
'''


async def main() -> None:
    with serving() as address, tempfile.TemporaryDirectory() as place:
        base = shutil.copytree(HERE, Path(place) / "workspace")
        tools_see = ToolEnvironment(values={"PRICES_URL": address, "PRICES_TOKEN": TOKEN})
        async with AsyncSession.from_base(base, tool_environment=tools_see) as session:
            for tool in await session.list_tools():
                names = ", ".join(one["name"] for one in tool["callables"])
                print(f"{tool['name']} ({names}): {tool['description']}")

            print((await session.run(SEARCH)).stdout, end="")

            result = await session.run('await workflows.quote(product="Grinder", country="NO", pieces=2)')
            print(result.value if result.is_ok else result.error)
            for call in result.tool_calls:
                print(f"  {call.name}: {call.outcome}")

            result = await session.run(SAVE)
            print("cheapest to France:", result.value if result.is_ok else result.error)

            result = await session.run('tools.delivery.cost(country="XX", kilograms=1)')
            print(result.error)


if __name__ == "__main__":
    asyncio.run(main())
