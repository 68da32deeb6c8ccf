"""Anthropic: Claude's own tools on a session. Needs `planaria[anthropic]`."""

from planaria.integrations.anthropic.client_tools import async_tools, tools
from planaria.integrations.anthropic.toolset import agent_toolset

__all__ = ["agent_toolset", "async_tools", "tools"]
