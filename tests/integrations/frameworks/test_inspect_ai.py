"""Inspect's own checks of sandboxes, and an evaluation in sessions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from inspect_ai.util._sandbox.self_check import *  # noqa: F403

from planaria.integrations.inspect_ai import PlanariaSandboxEnvironment

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def environment() -> Iterator[PlanariaSandboxEnvironment]:
    environment = PlanariaSandboxEnvironment()
    yield environment
    environment.close()


@pytest.fixture
def sandbox_env(
    environment: PlanariaSandboxEnvironment, request: pytest.FixtureRequest
) -> PlanariaSandboxEnvironment:
    if request.node.originalname == "test_exec_as_user":
        request.node.add_marker(pytest.mark.xfail(strict=True, reason="a sandbox has one user"))
    return environment
