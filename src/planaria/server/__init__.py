"""planaria as a server (`planaria serve`); needs the extra `server`."""

from __future__ import annotations

from planaria.server.application import create_app as create_app
from planaria.server.settings import ServerSettings as ServerSettings
from planaria.server.settings import Token as Token
from planaria.server.settings import read_tokens as read_tokens

__all__ = ["ServerSettings", "Token", "create_app", "read_tokens"]
