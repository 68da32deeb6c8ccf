"""Secrets: values that stay on the host. The code has a placeholder, which is exchanged on the way out.

A placeholder follows from the name alone, so it means the same after a snapshot, a fork, or on another
machine. It is not a secret itself: it only works in sessions that were given the secret.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, quote_plus

from planaria.network.functions import called
from planaria.network.rules import Rule, parse_rule
from planaria.parameters import suggest_field_names

__all__ = [
    "IssuedValues",
    "Scrubber",
    "Secret",
    "Value",
    "placeholder",
    "substitute_bytes",
    "substitute_header",
]

Value = str | Callable[[], str | Awaitable[str]]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PERCENT: Final = re.compile("%[0-9A-F]{2}")
#: How many values of a function are looked for in answers.
_MOST_ISSUED: Final = 32
#: The characters of values, in all of their forms.
_PRINTABLE: Final = bytes(range(0x20, 0x7F))
_NOT_ASCII: Final = bytes(range(0x80, 0x100))
_BASIC: Final = re.compile(rb"(?i)basic +([A-Za-z0-9+/=]+)")


@suggest_field_names
@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A value that code in a session may use and never sees.

    Without `header` the environment variable `name` holds a placeholder; where a request carries that in a
    header or in its query, the value is put in its place. With `header`, such as
    `"Authorization: Bearer {}"`, the code needs nothing: the header is added to every request to the hosts.

    Args:
        name: a name, which is also that of the environment variable.
        value: a str, or a function that returns one and is called for each request (tokens that change). It
            may be asynchronous; a plain one is called on a thread.
        hosts: the hosts that may receive it, written as in the rules of a `Network`.
        header: the name and value of a header to add; `{}` stands for the secret.
        in_body: whether placeholders in the bodies of requests are exchanged too; such bodies are collected
            up to 8 MiB.
        insecure: whether it may be sent without TLS.

    Raises TypeError or ValueError, which never show the value.
    """

    name: str
    value: Value
    hosts: Sequence[str]
    header: str | None = None
    in_body: bool = False
    insecure: bool = False
    rules: tuple[Rule, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ValueError(f"Secret: {self.name!r} is not a name of letters, digits and '_'")
        if not callable(self.value):
            _checked_value(self.name, self.value)
        if isinstance(self.hosts, str) or not self.hosts:
            raise TypeError(f"Secret {self.name!r}: hosts= is a list of hosts, such as ['api.example.com']")
        object.__setattr__(self, "rules", tuple(parse_rule(host) for host in self.hosts))
        if self.header is not None:
            name, colon, value = self.header.partition(":")
            if not colon or "{}" not in value or not re.fullmatch(r"[A-Za-z0-9-]+", name):
                raise ValueError(f"Secret {self.name!r}: header= is 'Name: value' with {{}} in the value")

    async def current(self) -> str:
        """The value now; one that is constant is not waited for. Raises PermissionError without the message
        of the function's own error, which may have a value in it.
        """
        try:
            value = await called(self.value) if callable(self.value) else self.value
            return _checked_value(self.name, value)
        except Exception as error:
            raise PermissionError(
                f"the function of secret {self.name!r} gave no value: {type(error).__name__}"
            ) from None

    def is_for(self, scheme: str, host: str, port: int, method: str, path: str) -> bool:
        """Whether a request may carry it; host and path in canonical form."""
        if scheme not in ("https", "wss") and not self.insecure:
            return False
        # A host without a scheme is meant for WebSockets too, which begin as a request.
        schemes = {scheme, {"ws": "http", "wss": "https"}.get(scheme, scheme)}
        return any(rule.matches(one, host, port, method, path) for rule in self.rules for one in schemes)

    def is_of(self, host: str) -> bool:
        """Whether requests to a host, in canonical form, may carry it."""
        return any(rule.is_host(host) for rule in self.rules)

    def __repr__(self) -> str:
        return f"Secret({self.name!r}, hosts={list(self.hosts)!r})"


def _checked_value(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"Secret {name!r}: the value is a str, not {type(value).__name__}")
    if len(value) < 4 or any(not " " <= character <= "~" for character in value):
        raise ValueError(f"Secret {name!r}: the value is not at least four characters of printable ASCII")
    return value


def placeholder(name: str) -> str:
    """What the code has in the place of a secret."""
    return f"planaria-secret-{name}-placeholder"


def substitute_bytes(data: bytes, values: Iterable[tuple[str, str]]) -> bytes:
    """Put the values in the place of their placeholders."""
    for name, value in values:
        data = data.replace(placeholder(name).encode(), value.encode())
    return data


def substitute_query(target: bytes, values: Iterable[tuple[str, str]]) -> bytes:
    """Put the values, percent-encoded, into the query of a request's target, whose path stays as it is."""
    path, mark, query = target.partition(b"?")
    if not mark:
        return target
    return path + mark + substitute_bytes(query, [(name, quote(value, safe="")) for name, value in values])


def substitute_header(value: bytes, values: Sequence[tuple[str, str]]) -> bytes:
    """Put the values into a header, also into the credentials of HTTP's basic authentication (RFC 7617)."""
    basic = _BASIC.fullmatch(value.strip())
    if basic is not None:
        try:
            credentials = base64.b64decode(basic[1], validate=True)
        except ValueError:
            return value
        changed = substitute_bytes(credentials, values)
        return value if changed == credentials else b"Basic " + base64.b64encode(changed)
    return substitute_bytes(value, values)


class IssuedValues:
    """The values that a session's requests were given: no answer may have one in it, from whatever server."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        self._values = {
            one.name: deque([] if callable(one.value) else [one.value], maxlen=_MOST_ISSUED)
            for one in secrets
        }
        #: For the values of now; working out their forms takes as long as a short request.
        self._scrubber: Scrubber | None = None

    def add(self, name: str, value: str) -> None:
        """A request carries this value."""
        values = self._values.setdefault(name, deque(maxlen=_MOST_ISSUED))
        if value not in values:
            values.append(value)
            self._scrubber = None

    def scrubber(self) -> Scrubber:
        """What removes them from one answer."""
        scrubber = self._scrubber
        if scrubber is None:
            values = [value for values in self._values.values() for value in values]
            scrubber = self._scrubber = Scrubber(values)
        return scrubber.fresh()


class Scrubber:
    """Replaces values of secrets in a stream by asterisks of the same length, wherever the stream is cut.

    Also where a value is percent-encoded, escaped as in JSON, HTML or Python, in hexadecimal, backwards, or
    in base64 at any of the three alignments.
    """

    def __init__(self, values: Iterable[str]) -> None:
        self._forms = sorted({form for value in values for form in _forms(value)}, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, self._forms))) if self._forms else None
        self._lower = re.compile(b"|".join(re.escape(form.lower()) for form in self._forms) or rb"(?!)")
        self._longest = max(map(len, self._forms), default=0)
        #: What values are made of: that of a tool may have letters beside those of ASCII.
        self._characters = _PRINTABLE if all(map(bytes.isascii, self._forms)) else _PRINTABLE + _NOT_ASCII
        self._held = b""

    def fresh(self) -> Scrubber:
        """One for the same values and another stream."""
        other = copy(self)
        other._held = b""
        return other

    @property
    def is_needed(self) -> bool:
        """Whether there are values to look for."""
        return self._pattern is not None

    def feed(self, data: bytes) -> bytes:
        """What can be passed on by now: what may be a part of a value is held back."""
        if self._pattern is None:
            return data
        data = self._held + data
        clean = bytearray(data)
        cut = len(data) - self._unfinished(data)
        for found in self._pattern.finditer(data):
            if found.end() > cut:  # it may be the beginning of a longer one
                cut = min(cut, found.start())
                break
            clean[found.start() : found.end()] = b"*" * len(found[0])
        self._held = data[cut:]
        return bytes(clean[:cut])

    def finish(self) -> bytes:
        """What was held back."""
        held, self._held = self._held, b""
        return self.scrubbed(held)

    def scrubbed(self, data: bytes) -> bytes:
        """The data without the values."""
        if self._pattern is None:
            return data
        return self._pattern.sub(lambda found: b"*" * len(found[0]), data)

    def scrubbed_text(self, text: str) -> str:
        """A text without the values."""
        if self._pattern is None:
            return text
        return self.scrubbed(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def scrubbed_name(self, name: bytes) -> bytes:
        """The name of a header, whose case means nothing, without the values."""
        if self._pattern is None or not self._lower.search(name.lower()):
            return name
        return self._lower.sub(lambda found: b"*" * len(found[0]), name.lower())

    def _unfinished(self, data: bytes) -> int:
        """How many bytes at the end may be a part of a value, which ends with a line at the latest.

        That is the same whatever the values are: by what is held back of its guesses, code could find out a
        value character by character.
        """
        end = data[max(0, len(data) - self._longest + 1) :]
        return len(end) - len(end.rstrip(self._characters))


def _forms(value: str) -> Iterator[bytes]:
    """How a value may come back."""
    raw = value.encode()
    yield raw
    yield quote(value, safe="").encode()
    yield quote(quote(value, safe=""), safe="").encode()
    yield quote_plus(value).encode()
    yield quote(value).encode()  # a slash stays
    yield _PERCENT.sub(lambda found: found[0].lower(), quote(value, safe="")).encode()
    for case in (bytes.lower, bytes.upper):
        hexadecimal = case(raw.hex().encode())
        pairs = [hexadecimal[at : at + 2] for at in range(0, len(hexadecimal), 2)]
        yield hexadecimal
        yield from (mark + mark.join(pairs) for mark in (b"%", rb"\x", rb"\u00"))
    yield raw[::-1]
    quoted = json.dumps(value)[1:-1]
    yield quoted.encode()
    yield quoted.replace("/", "\\/").encode()
    yield repr(value)[1:-1].encode()
    yield repr(f"'{value}\"")[3:-2].encode()
    for apostrophe in ("&#x27;", "&#39;", "&apos;"):
        yield html.escape(value).replace("&#x27;", apostrophe).encode()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for shift in range(3):
            # Without the characters that the neighbours have a part in.
            encoded = encode(b"\0" * shift + raw)
            start = 0 if shift == 0 else shift + 1
            end = (shift + len(raw)) * 8 // 6
            if end - start >= 4:
                yield encoded[start:end]
