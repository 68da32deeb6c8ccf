"""Requests on their way to the server: which headers are passed on, and where the values of secrets go in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

import h11

from planaria.network.secrets import Secret, substitute_bytes, substitute_header, substitute_query

__all__ = ["Body", "Overrides", "by_proxy", "forwarded", "overriding", "wants_upgrade"]

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
#: Headers by which frameworks take a request for one of another method, or proxies for another resource.
_METHOD_OVERRIDES: Final = frozenset({b"x-http-method-override", b"x-http-method", b"x-method-override"})
_TARGET_OVERRIDES: Final = frozenset(
    {
        b"x-envoy-original-path",
        b"x-forwarded-path",
        b"x-forwarded-uri",
        b"x-http-destinationurl",
        b"x-http-path-override",
        b"x-original-path",
        b"x-original-uri",
        b"x-original-url",
        b"x-override-url",
        b"x-replaced-path",
        b"x-rewrite-uri",
        b"x-rewrite-url",
    }
)
#: Headers that name a second resource, by its path or URL: of WebDAV (RFC 4918) and of stores of objects.
_SECOND_TARGETS: Final = frozenset(
    {b"destination", b"x-amz-copy-source", b"x-copy-from", b"x-goog-copy-source", b"x-ms-copy-source"}
)
#: Headers by which frameworks and proxies take a request for one to another host.
_HOST_OVERRIDES: Final = frozenset(
    {
        b"x-envoy-original-dst-host",
        b"x-forwarded-host",
        b"x-forwarded-server",
        b"x-host",
        b"x-http-host-override",
        b"x-original-host",
    }
)
#: The host in the header Forwarded (RFC 7239).
_FORWARDED_HOST: Final = re.compile(r"(?:^|[;,])\s*host\s*=\s*\"?([^\";,]*)", re.IGNORECASE)
#: By which a part of an answer is asked for; Apache and Azure have the second and the last.
_PARTS: Final = frozenset({b"if-range", b"range", b"request-range", b"x-ms-range"})
#: The longest body in which placeholders are looked for.
_MOST_BODY: Final = 8 << 20

_Headers = Sequence[tuple[bytes, bytes]]
_Values = Sequence[tuple[str, str]]


def wants_upgrade(event: h11.Request) -> bool:
    """Whether a request asks to go on as WebSocket (RFC 6455)."""
    return any(name == b"upgrade" and value.lower() == b"websocket" for name, value in event.headers)


@dataclass(frozen=True, slots=True)
class Overrides:
    """What some servers take a request for instead."""

    methods: list[str]
    targets: list[str]
    hosts: list[str]
    """With the ports that are written."""


def overriding(event: h11.Request) -> Overrides:
    """The other methods, targets and hosts that some servers take a request for, or that it names besides."""
    # Servers that have headers as variables take `-` and `_` for the same (RFC 3875, section 4.1.18).
    headers = [(name.replace(b"_", b"-"), value.decode("latin-1").strip()) for name, value in event.headers]
    methods = [value for name, value in headers if name in _METHOD_OVERRIDES]
    # Some servers separate by semicolons.
    query = event.target.partition(b"?")[2].decode("latin-1").replace(";", "&")
    methods += [value.strip() for key, value in parse_qsl(query) if key == "_method"]
    targets = [value for name, value in headers if name in _TARGET_OVERRIDES]
    hosts = [one.strip() for name, value in headers if name in _HOST_OVERRIDES for one in value.split(",")]
    for name, value in headers:
        if name in _SECOND_TARGETS:
            scheme, mark, place = value.partition("://")
            host, _, path = place.partition("/") if mark else ("", "", scheme.removeprefix("/"))
            hosts += [host] if mark else []
            targets.append(f"/{path}")
        elif name == b"forwarded":
            hosts += [one.strip() for one in _FORWARDED_HOST.findall(value)]
    return Overrides([one.upper() for one in methods], targets, hosts)


def forwarded(
    event: h11.Request,
    headers: _Headers,
    secrets: Sequence[tuple[Secret, str]],
    host: bytes,
    *,
    is_scrubbed: bool,
    is_whole: bool,
) -> h11.Request:
    """The request as the server gets it, with the values of the secrets that are for it, and the host in its
    usual form; `is_whole` has it ask for whole answers alone.

    Raises h11.LocalProtocolError, whose message may have a value in it.
    """
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
    dropped = (_HOP_BY_HOP | named | added.keys()) - {b"content-length", b"transfer-encoding"}
    if wants_upgrade(event):
        dropped -= {b"connection", b"upgrade"}
    if is_whole:
        dropped |= _PARTS
    dropped |= {b"host"}
    if is_scrubbed:
        # Values are looked for in the answer, which has to be readable for that.
        added[b"accept-encoding"] = b"identity"
        dropped |= {b"accept-charset", b"accept-encoding"}
    sent = [(b"Host", host)]
    sent += [
        (name, substitute_header(value, values))
        for name, value in headers
        if name.lower() not in dropped and name.lower().replace(b"_", b"-") not in dropped
    ]
    sent += added.items()
    return h11.Request(method=event.method, target=substitute_query(event.target, values), headers=sent)


def by_proxy(head: h11.Request, place: str, authorization: bytes | None) -> h11.Request:
    """A request to the server at a place, as a proxy gets it: with its URL (RFC 9112, section 3.2.2)."""
    headers = head.headers.raw_items()
    if authorization is not None:
        headers.append((b"proxy-authorization", authorization))
    return h11.Request(method=head.method, target=b"http://" + place.encode() + head.target, headers=headers)


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
        headers = [(name, value) for name, value in head.headers.raw_items() if name.lower() not in framing]
        if has_body:
            headers.append((b"content-length", str(len(body)).encode()))
        yield h11.Request(method=head.method, target=head.target, headers=headers)
        if body:
            yield h11.Data(data=body)
        yield end
