"""planaria as a server (`planaria serve`); needs the extra `server`."""

from __future__ import annotations

try:
    from planaria.server.application import create_app as create_app
    from planaria.server.settings import ServerSettings as ServerSettings
    from planaria.server.settings import Token as Token
    from planaria.server.settings import read_tokens as read_tokens
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] == "planaria":
        raise
    raise ModuleNotFoundError(
        f"planaria.server needs the package {error.name}: pip install 'planaria[server]'", name=error.name
    ) from None

__all__ = ["ServerSettings", "Token", "create_app", "read_tokens"]
