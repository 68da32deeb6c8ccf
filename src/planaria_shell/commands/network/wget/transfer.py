"""One transfer of wget: requests until there is no further redirect, and the file that the answer goes to."""

from __future__ import annotations

import base64
import os
import re
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from email.utils import formatdate, parsedate_to_datetime
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urljoin

from planaria_shell.commands.network.cookies import Cookies
from planaria_shell.commands.network.exchange import Answer, Body, Failure, Kind, Place, exchange, parse_place
from planaria_shell.commands.network.wget.log import Dots, Log, now, rate, short_size
from planaria_shell.commands.processes.durations import pause
from planaria_shell.toolkit.invocation import Invocation
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.streams import Target, reason

__all__ = ["Settings", "Stop", "Transfer"]

_FAILED: Final = 4
_REDIRECTS: Final = frozenset([301, 302, 303, 307, 308])
_VERSION: Final = "1.21.3"


class Stop(Exception):
    """A transfer has failed with a status of wget; its message was shown."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class _Again(Exception):
    """A try has failed that another one may follow."""


@dataclass(slots=True)
class Settings:
    """What the transfers of one call have in common."""

    call: Invocation
    log: Log
    cookies: Cookies
    headers: list[str]
    method: str
    body: Body | None
    tries: int
    """0 for no limit."""
    timeout: float | None
    connecting: float | None
    longest_wait: float
    most_redirects: int
    document: Target | None
    """The file of `-O`."""
    document_name: str | None
    credentials: str | None
    flags: frozenset[str]
    """Options without an argument, and the letters of `-n…` each with an `n` before."""
    prefix: str = ""
    agent: str | None = None
    referer: str | None = None
    downloads: list[int] = field(default_factory=list)
    """Bytes of each file that was saved."""
    seconds: float = 0.0


class Transfer:
    """One URL."""

    def __init__(self, settings: Settings, url: str) -> None:
        self._settings = settings
        self._log = settings.log
        self._call = settings.call
        self._url = url
        self._place = self._parsed(url)
        self._named_by = self._place
        self._method, self._body = settings.method, settings.body
        self._spider = "spider" in settings.flags
        self._credentials = self._place.user
        self._is_authenticated = "auth-no-challenge" in settings.flags
        self._start = 0
        """Where the next try goes on in the file."""
        self._name: str | None = None

    def _parsed(self, url: str) -> Place:
        scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", url)
        if scheme is not None and scheme[1].lower() not in ("http", "https"):
            self._log.note(f"{url}: Unsupported scheme {quote(scheme[1])}.\n")
            raise Stop(1)
        try:
            return parse_place(url.replace(" ", "%20"))
        except ValueError as error:
            why = "Bad port number" if str(error).startswith("Port") else "Invalid host name"
            self._log.note(f"{url}: {why}.\n")
            raise Stop(1) from None

    def run(self) -> Generator[None, None, None]:
        """Transfer it. Raises Stop, and OSError for the file."""
        flags = self._settings.flags
        if self._settings.document is None and not self._spider:
            name = self._local_name(self._place)
            if "nc" in flags and os.path.exists(self._call.path(name)):
                self._log.verbose(f"File {quote(name)} already there; not retrieving.\n\n")
                return
        if "c" in flags:
            self._start = self._size_of_file()
        if self._spider:
            self._log.verbose("Spider mode enabled. Check if remote file exists.\n")
        count = 0
        while True:
            count += 1
            try:
                yield from self._attempt(count)
                return
            except _Again:
                if self._settings.tries and count >= self._settings.tries:
                    self._log.verbose("Giving up.\n\n")
                    raise Stop(_FAILED) from None
                self._log.verbose("Retrying.\n\n")
                yield from pause(self._call, min(count, self._settings.longest_wait))

    # -- names ----------------------------------------------------------------------------------------------

    def _local_name(self, place: Place) -> str:
        path, mark, query = place.target.partition("?")
        name = unquote(path.rpartition("/")[2]).replace("/", "%2F") or "index.html"
        if mark:
            name += "?" + unquote(query).replace("/", "%2F")
        flags = self._settings.flags
        if "x" in flags and "nd" not in flags:
            parts = [unquote(part) for part in path.split("/")[:-1] if part not in ("", ".", "..")]
            host = [] if "nH" in flags else [place.netloc]
            name = os.path.join(*host, *parts, name)
        return os.path.join(self._settings.prefix, name) if self._settings.prefix else name

    def _size_of_file(self) -> int:
        name = self._settings.document_name or self._local_name(self._place)
        try:
            return 0 if name == "-" else os.path.getsize(self._call.path(name))
        except OSError:
            return 0

    def _free_name(self, name: str) -> str:
        """The name, with a number after it when there is such a file."""
        if self._settings.flags & {"c", "N", "x", "nc"}:
            return name
        found, number = name, 0
        while os.path.lexists(self._call.path(found)):
            number += 1
            found = f"{name}.{number}"
        return found

    # -- one try --------------------------------------------------------------------------------------------

    def _attempt(self, count: int) -> Generator[None, None, None]:
        redirects = 0
        tried = f"  (try:{count:2d})" if count > 1 else ""
        while True:
            self._log.verbose(f"--{now()}--{tried}  {self._place.url}\n")
            answer = self._asked()
            try:
                location = answer.get("Location")
                if answer.status not in _REDIRECTS or not location:
                    if self._needs_credentials(answer):
                        continue
                    yield from self._received(answer)
                    return
            finally:
                answer.close()
            self._log.verbose(f"Location: {location} [following]\n")
            if redirects >= self._settings.most_redirects:
                self._log.note(f"{self._settings.most_redirects} redirections exceeded.\n")
                raise Stop(8)
            redirects += 1
            self._follow(answer.status, location)

    def _follow(self, status: int, location: str) -> None:
        before = self._place
        self._place = self._parsed(urljoin(before.url, location))
        if self._method != "GET" and (status == 303 or (status in (301, 302) and self._method == "POST")):
            self._method, self._body = "GET", None
        if "trust-server-names" in self._settings.flags:
            self._named_by = self._place

    def _needs_credentials(self, answer: Answer) -> bool:
        """Whether the server asks for the credentials that there are."""
        challenge = answer.get("WWW-Authenticate") or ""
        user = self._credentials or self._settings.credentials
        if answer.status != 401 or self._is_authenticated or user is None:
            return False
        if not challenge.lower().startswith("basic"):
            return False
        self._log.verbose(f"Authentication selected: {challenge}\n")
        self._is_authenticated = True
        return True

    def _request_headers(self) -> list[tuple[str, str]]:
        settings, flags = self._settings, self._settings.flags
        found: list[tuple[str, str]] = []
        if settings.referer is not None:
            found.append(("Referer", settings.referer))
        if self._start:
            found.append(("Range", f"bytes={self._start}-"))
        path = self._call.path(self._local_name(self._named_by))
        if "N" in flags and settings.document is None and os.path.exists(path):
            found.append(("If-Modified-Since", formatdate(os.path.getmtime(path), usegmt=True)))
        if settings.agent != "":
            found.append(("User-Agent", settings.agent or f"Wget/{_VERSION}"))
        coding = "gzip" if "compression" in flags else "identity"
        found += [("Accept", "*/*"), ("Accept-Encoding", coding)]
        user = self._credentials or settings.credentials
        if self._is_authenticated and user is not None:
            found.append(("Authorization", "Basic " + base64.b64encode(user.encode()).decode()))
        found.append(("Connection", "Keep-Alive"))
        if self._body is not None:
            found.append(("Content-Type", "application/x-www-form-urlencoded"))
            found.append(("Content-Length", str(self._body.length)))
        if cookies := settings.cookies.header(self._place):
            found.append(("Cookie", "; ".join(cookies)))
        given = [
            (name.strip(), value.strip()) for name, _, value in (h.partition(":") for h in settings.headers)
        ]
        names = {name.lower() for name, _ in given}
        return [one for one in found if one[0].lower() not in names] + given

    def _asked(self) -> Answer:
        """Send the request and read the head of its answer."""
        place, settings = self._place, self._settings
        self._log.verbose(f"Connecting to {place.host}:{place.port}... ")
        try:
            answer = exchange(
                place,
                "HEAD" if self._spider and self._method == "GET" else self._method,
                self._request_headers(),
                self._body,
                connecting=settings.connecting,
                idle=settings.timeout,
                verify="no-check-certificate" not in settings.flags,
            )
        except Failure as failure:
            self._fail(failure)
            raise AssertionError from None
        self._log.verbose("connected.\nHTTP request sent, awaiting response... ")
        self._settings.cookies.store(place, answer.get_all("Set-Cookie"))
        if "S" in settings.flags:
            self._log.verbose("\n")
            self._log.always("".join(f"  {line}\n" for line in answer.lines))
        else:
            self._log.verbose(f"{answer.status} {answer.reason}\n")
        return answer

    def _fail(self, failure: Failure) -> None:
        """Say what failed before there was an answer. Raises Stop or _Again."""
        log, why = self._log, failure.why
        match failure.kind:
            case Kind.RESOLVE:
                log.verbose(f"failed: {why or 'Name or service not known'}.\n")
                log.note(f"wget: unable to resolve host address {quote(self._place.host)}\n")
                raise Stop(_FAILED)
            case Kind.CONNECT:
                log.note(f"failed: {why}.\n")
                raise Stop(_FAILED)
            case Kind.TIMEOUT if why:
                log.note("failed: Connection timed out.\n")
                raise _Again
            case Kind.CERTIFICATE | Kind.TLS:
                log.verbose("connected.\n")
                log.note(f"ERROR: cannot verify {self._place.host}'s certificate: {why}\n")
                if "no-check-certificate" in self._settings.flags:
                    log.note(
                        "--no-check-certificate is refused: the host of this sandbox verifies servers.\n"
                    )
                raise Stop(5)
        log.verbose("connected.\nHTTP request sent, awaiting response... ")
        match failure.kind:
            case Kind.SEND:
                log.note(f"Failed writing HTTP request: {why}.\n")
                raise Stop(_FAILED)
            case Kind.EMPTY:
                log.note("No data received.\n")
            case Kind.TIMEOUT:
                log.note("Read error (Connection timed out) in headers.\n")
            case _:
                log.note(f"Read error ({why}) in headers.\n")
        raise _Again

    # -- the answer -----------------------------------------------------------------------------------------

    def _received(self, answer: Answer) -> Generator[None, None, None]:
        log, flags, status = self._log, self._settings.flags, answer.status
        if status == 401:
            log.verbose("\n")
            log.note("Username/Password Authentication Failed.\n")
            raise Stop(6)
        if status == 304:
            name = self._local_name(self._named_by)
            log.verbose(f"File {quote(name)} not modified on server. Omitting download.\n\n")
            return
        if status == 416 and self._start:
            log.verbose("\n    The file is already fully retrieved; nothing to do.\n\n")
            return
        if status >= 400 and "content-on-error" not in flags:
            log.brief(f"{self._place.url}:\n")
            if self._spider:
                log.note("Remote file does not exist -- broken link!!!\n")
            else:
                log.note(f"{now()} ERROR {status}: {answer.reason}.\n")
            log.verbose("\n")
            raise Stop(8)
        if status != 204:
            self._show_length(answer)
        if self._spider:
            html = (answer.get("Content-Type") or "text/html").startswith("text/html")
            log.verbose(
                "Remote file exists and could contain further links,\n"
                "but recursion is disabled -- not retrieving.\n\n"
                if html
                else "Remote file exists.\n\n"
            )
            log.brief(f"{now()} URL: {self._place.url} {status} {answer.reason}\n")
            return
        yield from self._save(answer)
        if status >= 400:
            raise Stop(8)

    def _show_length(self, answer: Answer) -> None:
        kind = (answer.get("Content-Type") or "").partition(";")[0].strip()
        shown = f" [{kind}]" if kind else ""
        length = answer.get("Content-Length")
        if length is None or not length.isdigit():
            self._log.verbose(f"Length: unspecified{shown}\n")
            return
        left = int(length)
        total = left + (self._start if answer.status == 206 else 0)
        text = str(total) if total < 1024 else f"{total} ({short_size(total)})"
        if total != left:
            text += f", {left} remaining" if left < 1024 else f", {left} ({short_size(left)}) remaining"
        self._log.verbose(f"Length: {text}{shown}\n")

    def _save(self, answer: Answer) -> Generator[None, None, None]:
        """Write the body to its file."""
        log, settings = self._log, self._settings
        if answer.status == 204:
            name = settings.document_name or self._local_name(self._named_by)
            log.verbose(f"{now()} ({rate(0, 0)}) - {quote(name)} saved [0]\n\n")
            log.brief(f'{now()} URL:{self._place.url} [0] -> "{name}" [1]\n')
            return
        target, name = self._target(answer)
        start = self._start if answer.status == 206 else 0
        shown = "STDOUT" if name == "-" else name
        log.verbose(f"Saving to: {quote(shown)}\n")
        length = answer.length
        dots = Dots(log, start, None if length is None else start + length)
        received, failure = 0, None
        try:
            for chunk in self._decoded(answer):
                received += len(chunk)
                dots.add(len(chunk))
                target.write(chunk)
                if self._call.stdout.full:
                    yield
        except Failure as error:
            failure = error
        finally:
            if target is not settings.document:
                target.close()
        seconds = dots.finish()
        settings.seconds += seconds
        speed = rate(received, seconds)
        if failure is not None:
            self._start = start + received
            why = "Connection closed" if failure.kind is Kind.PARTIAL else f"Read error ({failure.why})"
            if failure.kind is Kind.TIMEOUT:
                why = "Read error (Connection timed out)"
            log.verbose(f"{now()} ({speed}) - {why} at byte {self._start}. ")
            raise _Again
        size = start + received
        of = f"/{size}" if length is not None else ""
        settings.downloads.append(received)
        saved = "written to stdout" if name == "-" else f"{quote(name)} saved"
        log.verbose(f"{now()} ({speed}) - {saved} [{size}{of}]\n\n")
        log.brief(f'{now()} URL:{self._place.url} [{size}{of}] -> "{name}" [1]\n')
        when = answer.get("Last-Modified")
        if when is not None and name != "-" and settings.document is None:
            moment = parsedate_to_datetime(when).timestamp()
            os.utime(self._call.path(name), (moment, moment))

    def _target(self, answer: Answer) -> tuple[Target, str]:
        """Where the body goes, and what that is called."""
        settings = self._settings
        continues = answer.status == 206
        if settings.document is not None:
            return settings.document, settings.document_name or "-"
        if self._name is None:
            name = self._local_name(self._named_by)
            header = answer.get("Content-Disposition") or ""
            found = re.search(r'filename="?([^";]+)', header)
            if found is not None and "content-disposition" in settings.flags:
                name = os.path.join(settings.prefix, os.path.basename(found[1].strip()))
            self._name = name if continues else self._free_name(name)
        path = self._call.path(self._name)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        try:
            return self._call.create(path, "ab" if continues else "wb"), self._name
        except OSError as error:
            self._log.note(
                f"{self._name}: {reason(error)}\n\nCannot write to {quote(self._name)} (Success).\n"
            )
            raise Stop(3) from None

    def _decoded(self, answer: Answer) -> Iterator[bytes]:
        coding = (answer.get("Content-Encoding") or "").lower()
        if "compression" not in self._settings.flags or coding not in ("gzip", "x-gzip"):
            yield from answer.chunks()
            return
        inflate = zlib.decompressobj(31)
        try:
            for chunk in answer.chunks():
                yield inflate.decompress(chunk)
            yield inflate.flush()
        except zlib.error as error:
            raise Failure(Kind.RECEIVE, str(error)) from None
