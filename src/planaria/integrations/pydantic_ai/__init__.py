"""Pydantic AI: sessions as workspaces, and code mode. Needs `planaria[pydantic-ai]`."""

from planaria.integrations.pydantic_ai.code_mode import PlanariaCodeMode, ReplStore
from planaria.integrations.pydantic_ai.workspace import PlanariaSandbox, PlanariaWorkspace

__all__ = ["PlanariaCodeMode", "PlanariaSandbox", "PlanariaWorkspace", "ReplStore"]
