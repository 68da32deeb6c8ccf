"""What a server is started with: tokens, limits, and the arguments of its sessions."""

from __future__ import annotations

import hashlib
import hmac
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from planaria.stores.store import Store
    from planaria.workspace.tools.registry import ToolRegistry

__all__ = ["ServerSettings", "Token", "is_loopback", "read_tokens"]

#: Names of name spaces; the dot separates them from the names of sessions.
_SPACE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_FIELDS: Final = frozenset({"token", "sessions", "requests_per_minute", "body"})


@dataclass(frozen=True, slots=True)
class Token:
    """A client's credential, its name space and its quotas.

    Raises ValueError for a name that cannot be, and for quotas below 1.
    """

    space: str
    """The name space: sessions and snapshots of another one are not visible."""
    secret: str = field(repr=False, default="")
    """Empty where the server asks for no token."""
    sessions: int = 1000
    """How many sessions it may have."""
    requests_per_minute: int = 60_000
    """How many requests it may make in a minute, and in bursts of a sixth of them."""
    body: int = 64 << 20
    """The largest body of a request, in bytes."""

    def __post_init__(self) -> None:
        if not _SPACE.fullmatch(self.space):
            raise ValueError(
                f"{self.space!r} is not a name for a token: up to 32 letters, digits, '_' and '-', "
                "beginning with a letter or digit"
            )
        for name in ("sessions", "requests_per_minute", "body"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}={value!r} of the token {self.space!r}: must be a number above 0")


def read_tokens(path: Path) -> list[Token]:
    """The tokens in a TOML file: a table `[NAME]` for each, with `token` and quotas (see `Token`).

    Raises ValueError for a file that has something else, OSError when it cannot be read.
    """
    try:
        found: Mapping[str, Any] = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {error}") from None
    tokens = []
    for name, fields in found.items():
        if not isinstance(fields, dict) or not isinstance(fields.get("token"), str) or not fields["token"]:
            raise ValueError(f"{path}: [{name}] must be a table with a token")
        unknown = sorted(fields.keys() - _FIELDS)
        if unknown:
            raise ValueError(f"{path}: [{name}] has {', '.join(unknown)}; there are {', '.join(_FIELDS)}")
        quotas = {key: value for key, value in fields.items() if key != "token"}
        tokens.append(Token(name, fields["token"], **quotas))
    if not tokens:
        raise ValueError(f"{path}: there is no token in it")
    return tokens


def is_loopback(host: str) -> bool:
    """Whether an address to listen at can be reached from this computer only."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerSettings:
    """What a server is started with.

    Raises ValueError for tokens that are the same, or of one name.
    """

    tokens: Sequence[Token] = ()
    """None where every client that can connect may use it, as name space "default"."""
    store: Store | None = None
    """Where sessions are saved before each answer; without it they end with the server."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of each `AsyncSession`: limits, mounts, network, storage, tools."""
    registry: ToolRegistry | None = None
    images: Sequence[str] = ()
    """The images that sessions may begin from; without a name they begin from the first one."""
    timeout: float | None = 60.0
    """The most seconds that one execution may take."""
    max_sessions: int = 256
    """How many sessions may be live at once."""
    idle: float = 300.0
    """After so many seconds without a request a session is parked in the store."""
    hosts: Sequence[str] = ()
    """Names by which clients may address the server, beside those of this computer's loopback."""
    audit: Path | None = None
    """A file to which each request is written, as a line of JSON."""
    page: bool = False
    """Whether there is a page at "/" to watch and steer the sessions, and each has a notebook for it."""

    def __post_init__(self) -> None:
        for kind, values in (
            ("name", [token.space for token in self.tokens]),
            ("token", [token.secret for token in self.tokens]),
        ):
            if len(set(values)) < len(values):
                raise ValueError(f"two tokens have the same {kind}")

    def token(self, secret: str | None) -> Token | None:
        """The token of a request, compared in constant time; None when it is not one of this server's."""
        if not self.tokens:
            return Token("default")
        given = hashlib.sha256((secret or "").encode("utf-8", "surrogatepass")).digest()
        found = None
        for token in self.tokens:
            if hmac.compare_digest(hashlib.sha256(token.secret.encode()).digest(), given):
                found = token
        return found
