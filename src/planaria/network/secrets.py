"""Secrets: values that stay on the host. The code has a placeholder, which is exchanged on the way out.

A placeholder follows from the name alone, so it means the same after a snapshot, a fork, or on another
machine. It is not a secret itself: it only works in sessions that were given the secret.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, quote_plus

from planaria.network.rules import Rule, parse_rule

__all__ = ["Scrubber", "Secret", "Value", "placeholder", "substitute_bytes", "substitute_header"]

Value = str | Callable[[], str]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BASIC: Final = re.compile(rb"(?i)basic +([A-Za-z0-9+/=]+)")


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A value that code in a session may use and never sees.

    Without `header` the environment variable `name` holds a placeholder; where a request carries that in a
    header or in its query, the value is put in its place. With `header`, such as
    `"Authorization: Bearer {}"`, the code needs nothing: the header is added to every request to the hosts.

    Args:
        name: a name, which is also that of the environment variable.
        value: a str, or a function that returns one and is called for each request (tokens that change).
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

    def current(self) -> str:
        """The value now. Raises TypeError or ValueError, without it."""
        return _checked_value(self.name, self.value() if callable(self.value) else self.value)

    def is_for(self, scheme: str, host: str, port: int) -> bool:
        """Whether a request to this place may carry it."""
        if scheme not in ("https", "wss") and not self.insecure:
            return False
        return any(rule.covers(host, port) for rule in self.rules)

    def __repr__(self) -> str:
        return f"Secret({self.name!r}, hosts={list(self.hosts)!r})"


def _checked_value(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"Secret {name!r}: the value is a str, not a {type(value).__name__}")
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


class Scrubber:
    """Replaces values of secrets in a stream by asterisks of the same length, wherever the stream is cut.

    Also where a value is percent-encoded, or encoded in base64 at any of the three alignments.
    """

    def __init__(self, values: Iterable[str]) -> None:
        self._forms = sorted({form for value in values for form in _forms(value)}, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, self._forms))) if self._forms else None
        self._longest = max(map(len, self._forms), default=0)
        self._held = b""

    @property
    def is_needed(self) -> bool:
        """Whether there are values to look for."""
        return self._pattern is not None

    def feed(self, data: bytes) -> bytes:
        """What can be passed on by now: a possible beginning of a value is held back."""
        if self._pattern is None:
            return data
        data = self.scrubbed(self._held + data)
        kept = self._unfinished(data)
        self._held = data[len(data) - kept :]
        return data[: len(data) - kept]

    def finish(self) -> bytes:
        """What was held back."""
        held, self._held = self._held, b""
        return held

    def scrubbed(self, data: bytes) -> bytes:
        """The data without the values."""
        if self._pattern is None:
            return data
        return self._pattern.sub(lambda found: b"*" * len(found[0]), data)

    def _unfinished(self, data: bytes) -> int:
        """How many bytes at the end may be the beginning of a value."""
        for length in range(min(self._longest - 1, len(data)), 0, -1):
            end = data[-length:]
            if any(form.startswith(end) for form in self._forms if len(form) > length):
                return length
        return 0


def _forms(value: str) -> Iterator[bytes]:
    """How a value may come back."""
    raw = value.encode()
    yield raw
    yield quote(value, safe="").encode()
    yield quote_plus(value).encode()
    yield quote(value, safe="").lower().encode()
    yield raw[::-1]
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for shift in range(3):
            # Without the characters that the neighbours have a part in.
            encoded = encode(b"\0" * shift + raw)
            start = 0 if shift == 0 else shift + 1
            end = (shift + len(raw)) * 8 // 6
            if end - start >= 4:
                yield encoded[start:end]
