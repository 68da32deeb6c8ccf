"""The options of curl, read as curl reads them (https://curl.se/docs/manpage.html)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

__all__ = ["CurlUsageError", "Given", "Option", "parse"]

#: Long options, with the short one after `=`, and `:` where an argument follows.
_LONG: Final = """
    anyauth append=a basic cacert: capath: cert=E: ciphers: compressed compressed-ssh config=K:
    connect-timeout: connect-to: continue-at=C: cookie=b: cookie-jar=c: create-dirs create-file-mode:
    crlf curves: data=d: data-ascii=d: data-binary: data-raw: data-urlencode: digest disable=q
    dns-servers: doh-url: dump-header=D: etag-compare: etag-save: expect100-timeout: fail=f fail-early
    fail-with-body form=F: form-string: get=G globoff=g happy-eyeballs-timeout-ms: haproxy-protocol
    head=I header=H: help=h http0.9 http1.0=0 http1.1 http2 http2-prior-knowledge http3 http3-only
    include=i insecure=k interface: ipv4=4 ipv6=6 json: keepalive keepalive-time: key: limit-rate:
    location=L location-trusted manual=M max-filesize: max-redirs: max-time=m: negotiate netrc=n
    netrc-file: netrc-optional next=: no-alpn no-buffer=N no-clobber no-keepalive no-progress-meter
    no-sessionid noproxy: ntlm oauth2-bearer: output=o: output-dir: parallel=Z parallel-immediate
    parallel-max: path-as-is post301 post302 post303 preproxy: progress-bar=# progress-meter proto:
    proto-default: proto-redir: proxy=x: proxy-header: proxy-insecure proxy-user=U: proxytunnel=p quiet
    range=r: rate: raw referer=e: remote-header-name=J remote-name=O remote-name-all remote-time=R
    remove-on-error request=X: request-target: resolve: retry: retry-all-errors retry-connrefused
    retry-delay: retry-max-time: show-error=S silent=s socks5: socks5-hostname: speed-limit=Y:
    speed-time=y: ssl ssl-reqd stderr: styled-output suppress-connect-headers tcp-fastopen tcp-nodelay
    time-cond=z: tls-max: tlsv1=1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 tr-encoding trace: trace-ascii:
    trace-time unix-socket: upload-file=T: url: url-query: use-ascii=B user=u: user-agent=A: verbose=v
    version=V write-out=w: xattr
"""
_NUMBERS: Final = frozenset(
    ["max-redirs", "retry", "max-filesize", "connect-timeout", "max-time", "retry-delay", "retry-max-time"]
)
_FAILS: Final = frozenset(["fail", "fail-with-body"])
_DECIMALS: Final = frozenset(["connect-timeout", "max-time"])
#: What the host of a session decides, or what there is no way for.
_ABSENT: Final = """
    proxy preproxy socks5 socks5-hostname proxy-user proxytunnel connect-to resolve interface
    unix-socket cert key config http2-prior-knowledge http3 http3-only negotiate ntlm digest dns-servers
    doh-url stderr trace trace-ascii time-cond etag-compare etag-save netrc netrc-file next
    request-target rate
"""
_REFUSED: Final = frozenset(_ABSENT.split())


def _table() -> tuple[dict[str, bool], dict[str, str]]:
    """Whether each long option takes an argument, and which one a letter stands for."""
    takes: dict[str, bool] = {}
    letters: dict[str, str] = {}
    for word in _LONG.split():
        name, _, letter = word.rstrip(":").partition("=")
        if name == "next":
            takes[name], letters[":"] = False, name
            continue
        takes[name] = word.endswith(":")
        if letter:
            letters.setdefault(letter, name)
    return takes, letters


_TAKES, _LETTERS = _table()
_SAME: Final = {"data-ascii": "data"}


class CurlUsageError(Exception):
    """Wrong usage; the message is a line before the hint, and `warning` one before that."""

    def __init__(self, message: str, warning: str = "") -> None:
        super().__init__(message)
        self.warning = warning


class Option(NamedTuple):
    """One use of an option."""

    name: str
    """Its long name."""
    value: str
    """Its argument; empty without one."""
    word: str
    """The word that it was given in."""


@dataclass(slots=True)
class Given:
    """What was given: options in their order, by long names, and URLs each with the place of its output."""

    options: list[Option] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    outputs: list[str | None] = field(default_factory=list)
    """What `-o` and `-O` (None) say, in order: one for each URL."""
    uploads: list[str] = field(default_factory=list)
    """What `-T` says, in order: one for each URL."""

    def has(self, name: str) -> bool:
        """Whether an option was given, and not taken back by `--no-…` later."""
        for option in reversed(self.options):
            if option.name == name:
                return True
            if option.name == f"no-{name}":
                return False
        return False

    def value(self, name: str) -> str | None:
        """The argument of an option's last use."""
        return next((option.value for option in reversed(self.options) if option.name == name), None)

    def values(self, *names: str) -> list[str]:
        """The arguments of all uses, in order."""
        return [option.value for option in self.options if option.name in names]

    def number(self, name: str) -> float | None:
        """The argument of an option's last use as a number."""
        value = self.value(name)
        return None if value is None else float(value)


def parse(words: Sequence[str]) -> Given:
    """Read the words after the command's name. Raises CurlUsageError."""
    given = Given()
    rest = iter(words)
    only_urls = False
    for word in rest:
        if not word:
            raise CurlUsageError("option : blank argument where content is expected")
        if only_urls or word == "-" or not word.startswith("-"):
            given.urls.append(word)
        elif word == "--":
            only_urls = True
        elif word.startswith("--"):
            name, off = _named(word)
            value = next(rest, None) if _TAKES[name] and not off else ""
            _note(given, word, f"no-{name}" if off else name, value)
        else:
            _letters(given, word, rest)
    return given


def _letters(given: Given, word: str, rest: object) -> None:
    position = 1
    while position < len(word):
        letter = word[position]
        position += 1
        name = _LETTERS.get(letter)
        if name is None:
            raise CurlUsageError(f"option {word}: is unknown")
        if _TAKES[name]:
            value = word[position:] or next(rest, None)  # type: ignore[call-overload]
            _note(given, word, name, value)
            return
        _note(given, word, name, "")


def _named(word: str) -> tuple[str, bool]:
    """The option that a word names, and whether it is switched off."""
    name = word[2:]
    if name in _TAKES:
        return name, False
    if name.startswith("no-") and name[3:] in _TAKES and not _TAKES[name[3:]]:
        return name[3:], True
    raise CurlUsageError(f"option {word}: is unknown")


def _note(given: Given, word: str, name: str, value: str | None) -> None:
    if value is None:
        raise CurlUsageError(f"option {word}: requires parameter")
    if name in _REFUSED:
        raise CurlUsageError(f"option {word}: is not available in this sandbox")
    if name in _NUMBERS:
        digits = value.replace(".", "", 1) if name in _DECIMALS else value.removeprefix("-")
        if not digits.isdigit():
            raise CurlUsageError(f"option {word}: expected a proper numerical parameter")
    if name == "continue-at" and value != "-" and not value.isdigit():
        raise CurlUsageError(f"option {word}: expected a proper numerical parameter")
    if name in _FAILS and any(given.has(other) for other in _FAILS - {name}):
        raise CurlUsageError(f"option {word}: is badly used here")
    if name in ("form", "form-string") and "=" not in value:
        raise CurlUsageError(f"option {word}: is badly used here", "Illegally formatted input field")
    if name == "url":
        given.urls.append(value)
    elif name == "output":
        given.outputs.append(value)
    elif name == "remote-name":
        given.outputs.append(None)
    elif name == "upload-file":
        given.uploads.append(value)
    else:
        given.options.append(Option(_SAME.get(name, name), value, word))
