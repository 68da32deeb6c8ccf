"""Pydantic AI's own conformance suite, and agents on sessions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from pydantic_ai.workspaces import WorkspaceBackend, WorkspaceRef
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite

import planaria
from planaria.integrations.pydantic_ai import PlanariaSandbox


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> PlanariaSandbox[None]:
    return PlanariaSandbox(store=planaria.FileStore(tmp_path_factory.mktemp("store")))


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


class TestWorkspace(WorkspaceBackendSuite):
    @pytest.fixture
    def backend(self, sandbox: PlanariaSandbox[None]) -> WorkspaceBackend:
        return sandbox.backend()

    @pytest.fixture
    def fresh_backend(self, sandbox: PlanariaSandbox[None]) -> Callable[[], WorkspaceBackend]:
        return sandbox.backend

    @pytest.fixture
    def attach_backend(self, sandbox: PlanariaSandbox[None]) -> Callable[[WorkspaceRef], WorkspaceBackend]:
        return sandbox.backend

    @pytest.fixture
    def destroy_environment(
        self, sandbox: PlanariaSandbox[None]
    ) -> Callable[[WorkspaceBackend], Awaitable[None]]:
        async def destroy(backend: WorkspaceBackend) -> None:
            assert backend.ref is not None
            await sandbox.destroy(backend.ref)

        return destroy
