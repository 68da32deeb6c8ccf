"""Registries and tools made of YAML as users write it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from demo_http_server import HttpServer, serving
from tool_calls import Define, Text

from planaria import ToolEnvironment, ToolRegistry
from planaria.workspace.tools.loading import load_tools
from planaria.workspace.tools.tool import Tool

HERE = Path(__file__).parent


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., ToolRegistry]:
    """A function that writes texts to `NAME.yaml` in a directory and loads it."""

    def make(environment: ToolEnvironment | None = None, **texts: str) -> ToolRegistry:
        for name, text in texts.items():
            (tmp_path / f"{name}.yaml").write_text(textwrap.dedent(text).lstrip("\n"), "utf-8")
        registry = ToolRegistry()
        registry.load(tmp_path, environment)
        return registry

    return make


@pytest.fixture(scope="module")
def module_server() -> Iterator[HttpServer]:
    with serving() as server:
        yield server


@pytest.fixture
def server(module_server: HttpServer) -> HttpServer:
    module_server.requests.clear()
    return module_server


@pytest.fixture
def define_http(server: HttpServer) -> Iterator[Define]:
    """A function that makes a tool of endpoints in YAML; `top` goes before them."""
    made: list[Tool] = []

    def make(
        endpoints: str, top: str = "", environment: ToolEnvironment | None = None, base: str = server.url
    ) -> Tool:
        text = f"name: api\ntype: http\nbase_url: {base}/api\n{top}\nendpoints:\n{endpoints}"
        made.extend(load_tools([Text("api.yaml", text)], environment))
        return made[-1]

    yield make
    for tool in made:
        tool.close()


@pytest.fixture
def define_mcp() -> Iterator[Define]:
    """A function that makes a tool of a definition's rest, beside the servers of the tests."""
    made: list[Tool] = []

    def make(rest: str, environment: ToolEnvironment | None = None) -> Tool:
        text = f"name: demo\ntype: mcp\n{textwrap.dedent(rest)}"
        made.extend(load_tools([Text("demo.yaml", text)], environment, HERE))
        return made[-1]

    yield make
    for tool in made:
        tool.close()
