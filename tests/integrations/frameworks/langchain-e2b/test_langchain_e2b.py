"""LangChain's backends for sandboxes of E2B, on a server of ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from deepagents import create_deep_agent
from deepagents.backends.protocol import SandboxBackendProtocol
from e2b_code_interpreter import Sandbox
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_e2b import E2BSandbox
from langchain_tests.integration_tests import SandboxIntegrationTests
from session_server import served_to_e2b


@pytest.fixture(scope="module")
def backend() -> Iterator[SandboxBackendProtocol]:
    """A backend over a sandbox of the SDK, which knows our server by its environment variables only."""
    with served_to_e2b(), Sandbox.create(timeout=24 * 3600) as sandbox:
        yield E2BSandbox(sandbox=sandbox)


class TestSandbox(SandboxIntegrationTests):
    @pytest.fixture(scope="class")
    def sandbox(self, backend: SandboxBackendProtocol) -> SandboxBackendProtocol:
        return backend


class ScriptedModel(GenericFakeChatModel):
    """Says what is in a list."""

    def bind_tools(self, tools: object, **settings: object) -> ScriptedModel:
        return self


def test_an_agent_on_e2b(backend: SandboxBackendProtocol) -> None:
    """An agent runs commands and writes files, reads of a failure, and repairs it."""
    calls = [
        ("execute", {"command": "wc -l < /home/user/sales.csv"}),
        ("write_file", {"file_path": "/home/user/sales.csv", "content": "north,3\nsouth,5\n"}),
        ("execute", {"command": "awk -F, '{n += $2} END {print n}' sales.csv"}),
    ]
    turns = [
        AIMessage("", tool_calls=[{"name": name, "args": given, "id": str(number)}])
        for number, (name, given) in enumerate(calls)
    ]
    model = ScriptedModel(messages=iter([*turns, AIMessage("8 units were sold.")]))
    agent = create_deep_agent(model, backend=backend)
    result = agent.invoke({"messages": [("user", "How many units were sold?")]})
    reported = [message.text for message in result["messages"] if message.type == "tool"]
    assert "No such file or directory" in reported[0]
    assert reported[2].startswith("8\n")
    assert result["messages"][-1].text == "8 units were sold."
