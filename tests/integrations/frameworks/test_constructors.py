"""The arguments of sessions that adapters take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from constructors import check_constructor

from planaria.integrations import (
    ag2,
    agent_framework,
    deepagents,
    dspy,
    fastmcp,
    langchain,
    openai_sandbox,
    smolagents,
)

ADAPTERS: list[tuple[Callable[..., Any], set[str]]] = [
    (ag2.PlanariaEnvironment, set()),
    (ag2.PlanariaSandbox, set()),
    (agent_framework.PlanariaCodeActProvider, {"tools"}),
    (deepagents.PlanariaBackend, set()),
    (dspy.PlanariaInterpreter, {"tools"}),
    (fastmcp.PlanariaSandboxProvider, set()),
    (langchain.PlanariaMiddleware, set()),
    (openai_sandbox.PlanariaSandboxClient, set()),
    (smolagents.PlanariaExecutor, set()),
]


@pytest.mark.parametrize(("adapter", "own"), ADAPTERS)
def test_arguments_of_sessions(adapter: Callable[..., Any], own: set[str]) -> None:
    """An adapter shows every argument of sessions, and refuses others with a suggestion."""
    check_constructor(adapter, own)
