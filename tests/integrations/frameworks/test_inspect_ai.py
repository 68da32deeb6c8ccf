"""Inspect's own checks of sandboxes, and an evaluation in sessions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from inspect_ai.util import SandboxEnvironmentSpec
from inspect_ai.util._sandbox.self_check import *  # noqa: F403

from planaria.integrations.inspect_ai import PlanariaSandboxConfig, PlanariaSandboxEnvironment

#: What a sandbox cannot do.
KNOWN = {
    "test_exec_as_user": "a sandbox has one user",
    "test_cwd_custom": "the commands of the shell are not files in /usr/bin",
}

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
    reason = KNOWN.get(request.node.originalname)
    if reason is not None:
        request.node.add_marker(pytest.mark.xfail(strict=True, reason=reason))
    return environment


async def test_configuration_of_a_task() -> None:
    """A configuration goes into a log and back, and its variables are those of programs."""
    spec = SandboxEnvironmentSpec("planaria", PlanariaSandboxConfig(environment={"STAGE": "test"}))
    assert isinstance(spec.config, PlanariaSandboxConfig)
    config = PlanariaSandboxEnvironment.config_deserialize(spec.config.model_dump())
    environments = await PlanariaSandboxEnvironment.sample_init("task", config, {})
    try:
        done = await environments["default"].exec(["sh", "-c", "echo $STAGE"])
        assert (done.success, done.stdout) == (True, "test\n")
    finally:
        await PlanariaSandboxEnvironment.sample_cleanup("task", config, environments, False)
    with pytest.raises(TypeError, match="PlanariaSandboxConfig"):
        await PlanariaSandboxEnvironment.sample_init("task", "compose.yaml", {})
