"""Which requests are served: Host and Origin, tokens, rates, the size of bodies; and the audit log."""

from __future__ import annotations

import json
import logging
import math
import time
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from planaria.server.problems import Problem
from planaria.server.settings import ServerSettings, Token, is_loopback

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["Audit", "Guard", "bearer", "read_body"]

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
#: The share of a minute's requests that may come at once.
_BURST: Final = 6


class Guard:
    """Checks requests before anything is done for them."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._hosts = _LOOPBACK | {host.lower() for host in settings.hosts}
        #: For each name space: how many requests it may make now, and when that was so.
        self._allowances: dict[str, tuple[float, float]] = {}

    def check_host(self, request: Request) -> None:
        """Refuse names that are not this server's (DNS rebinding), and pages of other origins (CSRF).

        Raises Problem.
        """
        given = request.headers.get("host", "")
        try:
            name = (urlsplit(f"//{given}").hostname or "").lower()
        except ValueError:
            name = ""
        if name not in self._hosts and not (is_loopback(name) and name):
            raise Problem(
                421,
                f"{given[:100]!r} is not a name of this server; --allow-host adds names",
                code="host",
            )
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != given.lower():
            raise Problem(403, f"requests of the origin {origin!r} are refused", code="origin")

    def token(self, secret: str | None) -> Token:
        """The token of a request, whose rate is counted. Raises Problem."""
        token = self._settings.token(secret)
        if token is None:
            detail = (
                "a token is needed: Authorization: Bearer TOKEN" if secret is None else "the token is wrong"
            )
            raise Problem(401, detail, headers={"WWW-Authenticate": "Bearer"})
        most = max(1.0, token.requests_per_minute / _BURST)
        now = time.monotonic()
        left, since = self._allowances.get(token.space, (most, now))
        left = min(most, left + (now - since) * token.requests_per_minute / 60)
        if left < 1:
            self._allowances[token.space] = left, now
            seconds = math.ceil((1 - left) * 60 / token.requests_per_minute)
            raise Problem(
                429,
                f"this token may make {token.requests_per_minute} requests a minute; wait {seconds} s",
                headers={"Retry-After": str(seconds)},
            )
        self._allowances[token.space] = left - 1, now
        return token


def bearer(request: Request) -> str | None:
    """The token in the header Authorization."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" and secret.strip() else None


async def read_body(request: Request, most: int) -> bytes:
    """The body of a request. Raises Problem when it has more than `most` bytes."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > most:
            raise Problem(413, f"the body has more than {most} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


class Audit:
    """Writes a line of JSON for each request, without bodies and tokens, to a file and to the log
    `planaria.server.audit`.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._log: Final = logging.getLogger("planaria.server.audit")
        self._handler: logging.Handler | None = None
        if settings.audit is not None:
            self._handler = logging.FileHandler(settings.audit, encoding="utf-8")
            self._handler.setFormatter(logging.Formatter("%(message)s"))
            self._log.addHandler(self._handler)
            self._log.setLevel(logging.INFO)

    def write(self, request: Request, route: str, status: int, seconds: float, token: Token | None) -> None:
        """Write the line of one request."""
        if not self._log.isEnabledFor(logging.INFO):
            return
        line = {
            "time": round(time.time(), 3),
            "token": None if token is None else token.space,
            "client": request.client.host if request.client else None,
            "method": request.method,
            "path": request.url.path,
            "route": route,
            "status": status,
            "ms": round(seconds * 1e3, 2),
        }
        self._log.info(json.dumps(line))

    def close(self) -> None:
        """Close the file."""
        if self._handler is not None:
            self._log.removeHandler(self._handler)
            self._log.setLevel(logging.NOTSET)
            self._handler.close()
