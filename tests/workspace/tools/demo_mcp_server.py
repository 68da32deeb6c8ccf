"""A server written with the SDK, for the tests: `python demo_mcp_server.py [stdio|http|sse [PORT]]`."""

import asyncio
import base64
import os
import subprocess
import sys
import time
from typing import Any

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel, Field

server = MCPServer("demo", log_level="ERROR")
PNG = bytes.fromhex("89504e470d0a1a0a") + b"\x00picture"


class Weather(BaseModel):
    city: str
    degrees: float
    days: list[int] = []


@server.tool()
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def weather(city: str = Field(description="Where")) -> Weather:
    """The weather of a city."""
    return Weather(city=city, degrees=21.5, days=[1, 2])


@server.tool()
def names() -> list[str]:
    return ["a", "b"]


@server.tool(structured_output=False)
def greet(name: str) -> str:
    return f"Hello, {name}!"


@server.tool()
def picture() -> Image:
    return Image(data=PNG, format="png")


@server.tool(structured_output=False)
def mixed() -> list[Any]:
    return ["text", Image(data=PNG, format="png")]


@server.tool()
def resources() -> CallToolResult:
    return CallToolResult(
        content=[
            EmbeddedResource(
                resource=TextResourceContents(uri="demo://note", mime_type="text/plain", text="note")
            ),
            EmbeddedResource(
                resource=BlobResourceContents(uri="demo://data", blob=base64.b64encode(b"\x00\xff").decode())
            ),
            ResourceLink(uri="demo://link", name="link", description="Elsewhere"),
        ]
    )


@server.tool()
def both() -> CallToolResult:
    picture = ImageContent(data=base64.b64encode(PNG).decode(), mime_type="image/png")
    return CallToolResult(content=[TextContent(text="size 1"), picture], structured_content={"size": 1})


@server.tool()
def nothing() -> None:
    pass


@server.tool()
def fail(secret: str = "") -> str:
    raise ToolError(f"it went wrong {os.environ.get(secret, '')}")


@server.tool(name="odd-name.x")
def odd_name(where: str) -> str:
    return f"odd {where}"


met: list[asyncio.Event] = []


@server.tool()
async def meet(count: int) -> str:
    """Wait until that many calls are here at the same time."""
    if not met:
        met.append(asyncio.Event())
    waiting.append(1)
    if len(waiting) == count:
        met[0].set()
    await met[0].wait()
    return "met"


waiting: list[int] = []


@server.tool()
async def wait(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "waited"


@server.tool()
def big(size: int) -> str:
    return "x" * size


@server.tool()
def process() -> int:
    return os.getpid()


@server.tool()
def child() -> int:
    """Start a process that ignores everything but SIGKILL."""
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL).pid


@server.tool()
def crash() -> None:
    print("the last words", file=sys.stderr, flush=True)
    os._exit(3)


@server.tool()
def environment(name: str, spaced: bool = False) -> str | None:
    """A variable; with spaces between its characters, no one recognises it."""
    value = os.environ.get(name)
    return value if value is None or not spaced else " ".join(value)


@server.tool()
def header(name: str, context: Context, spaced: bool = False) -> str | None:
    """A header; with spaces between its characters, no one recognises it."""
    value = (context.headers or {}).get(name)
    return value if value is None or not spaced else " ".join(value)


@server.tool()
def hang() -> None:
    time.sleep(600)


@server.tool()
def grow() -> str:
    """Add another tool."""
    server.add_tool(lambda: "grown", name="grown", description="A new one")
    return "done"


if __name__ == "__main__":
    transport = sys.argv[1] if len(sys.argv) > 1 else "stdio"
    if transport == "stdio":
        server.run()
    elif transport == "http":
        server.run("streamable-http", port=int(sys.argv[2]))
    else:
        server.run("sse", port=int(sys.argv[2]))
