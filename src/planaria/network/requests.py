"""Requests on their way to the server: which headers are passed on, and where the values of secrets go in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import h11

from planaria.network.secrets import Secret, substitute_bytes, substitute_header, substitute_query

__all__ = ["Body", "forwarded", "wants_upgrade"]

#: Headers that are for one connection only (RFC 9110, section 7.6.1).
_HOP_BY_HOP: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"upgrade",
    }
)
#: The longest body in which placeholders are looked for.
_MOST_BODY: Final = 8 << 20

_Headers = Sequence[tuple[bytes, bytes]]
_Values = Sequence[tuple[str, str]]


def wants_upgrade(event: h11.Request) -> bool:
    """Whether a request asks to go on as WebSocket (RFC 6455)."""
    return any(name == b"upgrade" and value.lower() == b"websocket" for name, value in event.headers)


def forwarded(event: h11.Request, headers: _Headers, secrets: Sequence[tuple[Secret, str]]) -> h11.Request:
    """The request as the server gets it, with the values of the secrets that are for it."""
    values = [(secret.name, value) for secret, value in secrets]
    added = {
        secret.header.partition(":")[0].strip().lower().encode(): secret.header.partition(":")[2]
        .strip()
        .format(value)
        .encode("latin-1")
        for secret, value in secrets
        if secret.header is not None
    }
    named = {
        name.strip().lower()
        for header, value in event.headers
        if header == b"connection"
        for name in value.split(b",")
    }
    dropped = (_HOP_BY_HOP | named | added.keys()) - {b"host", b"content-length", b"transfer-encoding"}
    if wants_upgrade(event):
        dropped -= {b"connection", b"upgrade"}
    sent = [(name, substitute_header(value, values)) for name, value in headers if name not in dropped]
    sent += added.items()
    if secrets:
        # Values are looked for in the answer, which has to be readable for that.
        sent = [(name, value) for name, value in sent if name != b"accept-encoding"]
        sent.append((b"accept-encoding", b"identity"))
    return h11.Request(method=event.method, target=substitute_query(event.target, values), headers=sent)


class Body:
    """The body of a request: passed on as it comes, or collected to exchange placeholders in it."""

    def __init__(self, head: h11.Request | None, values: _Values) -> None:
        self._head = head
        self._values = values
        self._collected = bytearray()

    def begin(self) -> Iterator[h11.Event]:
        """What is sent before the body."""
        if not self._values and self._head is not None:
            yield self._head

    def add(self, event: h11.Data | h11.EndOfMessage) -> Iterator[h11.Event]:
        """What is sent after a part of the body. Raises PermissionError for one too long to be collected."""
        if not self._values:
            yield event
        elif isinstance(event, h11.Data):
            self._collected += event.data
            if len(self._collected) > _MOST_BODY:
                names = ", ".join(name for name, _ in self._values)
                raise PermissionError(
                    f"the body is longer than {_MOST_BODY >> 20} MiB, the limit for placeholders of {names}"
                )
        else:
            yield from self._exchanged(event)

    def _exchanged(self, end: h11.EndOfMessage) -> Iterator[h11.Event]:
        head = self._head
        assert head is not None
        body = substitute_bytes(bytes(self._collected), self._values)
        framing = (b"content-length", b"transfer-encoding")
        has_body = any(name in framing for name, _ in head.headers)
        headers = [(name, value) for name, value in head.headers if name not in framing]
        if has_body:
            headers.append((b"content-length", str(len(body)).encode()))
        yield h11.Request(method=head.method, target=head.target, headers=headers)
        if body:
            yield h11.Data(data=body)
        yield end
