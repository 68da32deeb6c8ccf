"""Which request curl makes for a URL: its method, headers and body, also after redirects."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import quote, urljoin

from planaria_shell.commands.network.cookies import Cookies
from planaria_shell.commands.network.curl.bodies import form, given_data, option_file, query_data
from planaria_shell.commands.network.curl.options import Given
from planaria_shell.commands.network.exchange import SCHEME, Answer, Body, Place, encoded, parse_place
from planaria_shell.toolkit.invocation import Invocation
from planaria_shell.toolkit.streams import decode, encode

__all__ = ["REDIRECTS", "VERSION", "Request", "first_request", "redirect_url", "redirected"]

#: What it says it is; options and messages are those of this version.
VERSION: Final = "8.14.1"
REDIRECTS: Final = frozenset([301, 302, 303, 307, 308])


@dataclass(frozen=True, slots=True)
class Request:
    """A request that curl makes."""

    place: Place
    method: str
    custom: str | None
    """What `-X` says."""
    body: Body | None = None
    kind: list[tuple[str, str]] = field(default_factory=list)
    """Headers of the body and of `--json`."""
    given: list[tuple[str, str | None]] = field(default_factory=list)
    """Headers of `-H`; None takes one away."""
    user: str | None = None
    is_trusted: bool = True
    """Whether credentials and cookies that were given may be sent: not to another host."""
    referer: str | None = None

    @property
    def verb(self) -> str:
        """The method as it is sent."""
        return self.custom or self.method

    def headers(self, options: Given, cookies: Cookies, fixed_cookies: list[str]) -> list[tuple[str, str]]:
        """The headers, but for Host where none is given."""
        found: list[tuple[str, str]] = []
        user = self.user if self.is_trusted and self.user is not None else self.place.user
        bearer = options.value("oauth2-bearer")
        if user is not None:
            token = base64.b64encode(encode(user if ":" in user else f"{user}:")).decode()
            found.append(("Authorization", f"Basic {token}"))
        elif bearer is not None and self.is_trusted:
            found.append(("Authorization", f"Bearer {bearer}"))
        if options.value("range") is not None:
            found.append(("Range", f"bytes={options.value('range')}"))
        agent = options.value("user-agent")
        if agent != "":
            found.append(("User-Agent", f"curl/{VERSION}" if agent is None else agent))
        found.append(("Accept", "*/*"))
        if options.has("compressed"):
            found.append(("Accept-Encoding", "deflate, gzip"))
        if self.referer:
            found.append(("Referer", self.referer))
        pairs = [*cookies.header(self.place), *(fixed_cookies if self.is_trusted else [])]
        if pairs:
            found.append(("Cookie", "; ".join(pairs)))
        found += self.kind
        if self.body is not None:
            length = self.body.length
            found.append(
                ("Transfer-Encoding", "chunked") if length is None else ("Content-Length", str(length))
            )
        private = ("authorization", "cookie")
        given = [one for one in self.given if self.is_trusted or one[0].lower() not in private]
        names = {name.lower() for name, _ in given}
        found = [one for one in found if one[0].lower() not in names]
        return found + [(name, value) for name, value in given if value is not None]


def first_request(call: Invocation, options: Given, url: str, upload: str | None) -> Request:
    """The request for a URL, to which `-T` sends a file.

    Raises ValueError and LookupError as `parse_place`, CannotRead, CannotReadOption, OSError.
    """
    place = parse_place(url, as_is=options.has("path-as-is"))
    data, sent = given_data(call, options), form(call, options)
    query = [one for one in (query_data(call, options),) if one]
    body, method, kind = None, "GET", list[tuple[str, str]]()
    if data is not None and options.has("get"):
        query.append(data.decode("utf-8", "surrogateescape"))
    elif data is not None:
        body, method = Body(data), "POST"
        json = options.value("json") is not None
        kind.append(("Content-Type", "application/json" if json else "application/x-www-form-urlencoded"))
        if json:
            kind.append(("Accept", "application/json"))
    elif sent is not None:
        body, method = sent[0], "POST"
        kind.append(("Content-Type", f"multipart/form-data; boundary={sent[1]}"))
    elif upload is not None:
        method = "PUT"
        if upload in ("-", "."):
            body = Body(stream=call.stdin.chunks())
        else:
            path = Path(call.path(upload))
            body = Body(path)
            if place.target.endswith("/"):
                place = replace(place, target=place.target + quote(path.name))
    if options.has("head"):
        method = "HEAD"
    if query:
        mark = "&" if "?" in place.target else "?"
        target = place.target + mark + "&".join(query)
        place = replace(place, target=encoded(target))
    referer = options.value("referer")
    return Request(
        place,
        method,
        options.value("request"),
        body,
        kind,
        _given_headers(call, options),
        options.value("user"),
        referer=None if referer is None else referer.removesuffix(";auto"),
    )


def _given_headers(call: Invocation, options: Given) -> list[tuple[str, str | None]]:
    """`Name: value`, `Name:` to take it away, `Name;` for an empty one, `@file` with one a line."""
    lines: list[str] = []
    for option in options.options:
        if option.name != "header":
            continue
        if option.value.startswith("@"):
            lines += decode(option_file(call, option, option.value[1:])).splitlines()
        else:
            lines.append(option.value)
    found: list[tuple[str, str | None]] = []
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            found.append((name.strip(), value.strip() or None))
        elif line.rstrip().endswith(";"):
            found.append((line.rstrip()[:-1], ""))
    return found


def redirect_url(request: Request, answer: Answer) -> str:
    """The URL that an answer leads to."""
    location = (answer.get("Location") or "").replace(" ", "%20")
    if found := SCHEME.match(location):
        location = found[0].lower() + location[found.end() :]
    return urljoin(request.place.url, location)


def redirected(request: Request, answer: Answer, options: Given) -> Request:
    """The request that an answer leads to. Raises ValueError and LookupError as `parse_place`."""
    place = parse_place(redirect_url(request, answer))
    method, body, kind = request.method, request.body, request.kind
    becomes_get = (
        method == "POST" and answer.status in (301, 302) and not options.has(f"post{answer.status}")
    ) or (answer.status == 303 and method not in ("GET", "HEAD") and not options.has("post303"))
    if becomes_get:
        method, body = "GET", None
        kind = [one for one in kind if one[0] != "Content-Type"]
    same = (place.scheme, place.host, place.port) == (
        request.place.scheme,
        request.place.host,
        request.place.port,
    )
    automatic = (options.value("referer") or "").endswith(";auto")
    return replace(
        request,
        place=place,
        method=method,
        body=body,
        kind=kind,
        is_trusted=options.has("location-trusted") or (request.is_trusted and same),
        referer=request.place.url if automatic else request.referer,
    )
