"""planaria as an MCP server (`planaria mcp`); needs the extra `mcp`."""

from __future__ import annotations

from planaria.integrations.mcp.server import create_server as create_server
from planaria.integrations.mcp.server import listen as listen
from planaria.integrations.named_sessions import NamedSessions as NamedSessions

__all__ = ["NamedSessions", "create_server", "listen"]
