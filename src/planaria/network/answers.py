"""Answers on their way to the code: parsed, cleaned of what is for one connection only, and scrubbed."""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Iterable, Sequence
from typing import Final, cast

import h11

from planaria.network.passing import body_length, note_passed
from planaria.network.policy import NetworkRequest
from planaria.network.secrets import Scrubber

__all__ = ["AnswerReader", "failure_response"]

_DROPPED: Final = frozenset(
    {b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-connection", b"upgrade"}
)
#: The longest result of decompressing what was received at once.
_MOST_PLAIN: Final = 16 << 20
_WINDOW: Final = {b"gzip": 31, b"x-gzip": 31, b"deflate": 15}


#: What cannot be in the reason phrase of a status line (RFC 9112, section 4).
_NOT_PHRASE: Final = re.compile(r"[^\t -~]")


def failure_response(guest: h11.Connection, status: int, reason: str, *, has_body: bool) -> bytes:
    """An answer of the proxy's own: the reason is in the status line, which errors of most clients show, in
    the body, and in a header for programs (Proxy-Status, RFC 9209). The connection ends after it.
    """
    phrase = _NOT_PHRASE.sub("?", reason)
    kind = "http_request_denied" if status == 403 else "destination_unavailable"
    details = phrase.replace("\\", "\\\\").replace('"', '\\"')
    body = f"{reason}\n".encode()
    headers = [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Length", str(len(body))),
        ("Proxy-Status", f'planaria; error={kind}; details="{details}"'),
        ("Connection", "close"),
    ]
    head = guest.send(h11.Response(status_code=status, headers=headers, reason=phrase.encode())) or b""
    return head + (guest.send(h11.Data(data=body)) or b"") if has_body else head


class AnswerReader:
    """Reads the answer to one request and writes it for the code."""

    def __init__(
        self,
        guest: h11.Connection,
        server: h11.Connection,
        request: NetworkRequest,
        scrubber: Scrubber,
        started: float,
    ) -> None:
        self._guest = guest
        self._server = server
        self._request = request
        self._scrubber = scrubber
        #: When the request was made, by the monotonic clock.
        self._started = started
        self._inflate: zlib._Decompress | None = None
        self._window = 0
        self._has_body = False
        #: How many bytes of the body are still to come, where they are passed on as they are.
        self._to_pass: int | None = None
        #: How many were passed on.
        self._passed = 0
        #: The length of such a body, and whether the server keeps the connection after it.
        self._length: int | None = None
        self._is_kept = False
        self.is_reusable = False
        """Whether the server answers another request on its connection, once this answer is done."""
        self.is_done = False
        self.is_closed = False
        """Whether no further request can use the connection."""
        self.is_upgraded = False

    @property
    def passable(self) -> int:
        """How many bytes come next that are passed on as they are."""
        return self._to_pass or 0

    def begin_next(self) -> bool:
        """Be through with the request on both sides; False while its body is still being sent."""
        is_done = self._guest.our_state is self._guest.their_state is h11.DONE
        # Of a body that is passed on, only what sends it knows the end.
        if not is_done or self._server.our_state is h11.SEND_BODY:
            return False
        self._guest.start_next_cycle()
        return True

    def feed(self, data: bytes | memoryview) -> Sequence[bytes | bytearray | memoryview]:
        """What the code gets, in parts, for what the server sent; no data is its end. Raises
        h11.RemoteProtocolError.

        An answer that ends too early ends so for the code too, whose library says what is missing.
        """
        left = self._to_pass
        if left is None:
            parts = self._parsed(data)
        elif not data:
            parts = self._cut_off()
        else:
            body = data if len(data) <= left else data[:left]
            parts = [body]
            self.pass_on(len(body))
            # What comes after the end would be read as the next answer.
            self.is_reusable = self.is_reusable and len(body) == len(data)
        self._note_end()
        return parts

    def pass_on(self, count: int) -> None:
        """The code gets so many bytes, `passable` at most, as the server sent them."""
        assert self._to_pass is not None
        self._to_pass -= count
        self._passed += count
        self._request.bytes_received += count
        if self._to_pass:
            return
        note_passed(self._guest, self._passed)
        self._end()
        self.is_reusable = self._is_kept
        self._note_end()

    def _note_end(self) -> None:
        if self.is_done:
            self._request.duration_ms = (time.monotonic() - self._started) * 1e3

    def _parsed(self, data: bytes | memoryview) -> Sequence[bytes | bytearray | memoryview]:
        before, waiting = self._server.their_state, self._server.trailing_data[0]
        try:
            return self._events(data)
        except h11.RemoteProtocolError:
            is_head_whole = before is h11.SEND_BODY or not waiting
            if data or not is_head_whole or self._server.their_state is not h11.ERROR:
                raise
        return self._cut_off()

    def _cut_off(self) -> Sequence[bytes | bytearray | memoryview]:
        self._request.reason = "the server closed the connection before the end of its answer"
        self.is_done = self.is_closed = True
        return []  # what is held back may be a part of a value

    def _end(self) -> Sequence[bytes | bytearray | memoryview]:
        out = self._sent(h11.EndOfMessage())
        self.is_done = True
        self.is_closed = h11.MUST_CLOSE in (self._guest.our_state, self._guest.their_state)
        return out

    def _events(self, data: bytes | memoryview) -> Sequence[bytes | bytearray | memoryview]:
        """What the code gets for what h11 makes of the data."""
        self._server.receive_data(bytes(data))
        out: list[bytes | bytearray | memoryview] = []
        while not self.is_done:
            event = self._server.next_event()
            match event:
                case h11.InformationalResponse():
                    out += self._sent(self._interim(event))
                    if event.status_code == 101:
                        self._request.status = 101
                        out.append(self._server.trailing_data[0])
                        self.is_done = self.is_upgraded = True
                case h11.Response():
                    self._request.status = event.status_code
                    out += self._sent(self._head(event))
                case h11.Data(data=body):
                    self._request.bytes_received += len(body)
                    out += self._data(self._plain(body))
                case h11.EndOfMessage():
                    if self._inflate is not None and not self._inflate.eof and self._has_body:
                        raise h11.RemoteProtocolError("the compressed body is not whole")
                    out += self._data(self._scrubber.finish())
                    out += self._end()
                    # What is there already would be read as the next answer.
                    is_silent = not self._server.trailing_data[0]
                    self.is_reusable = self._server.their_state is h11.DONE and is_silent
                case h11.ConnectionClosed():
                    self.is_done = self.is_closed = True
                case _:
                    break
        if self._length is not None and not self.is_done:
            self._to_pass = self._length - self._request.bytes_received
        return out

    def _interim(self, event: h11.InformationalResponse) -> h11.InformationalResponse:
        """An answer before the answer (1xx); that to an upgrade keeps what belongs to it."""
        dropped = _DROPPED if event.status_code != 101 else frozenset()
        return h11.InformationalResponse(
            status_code=event.status_code,
            headers=self._clean(event.headers.raw_items(), dropped),
            reason=self._scrubber.scrubbed(bytes(event.reason)),
        )

    def _clean(
        self, headers: Iterable[tuple[bytes, bytes]], dropped: frozenset[bytes]
    ) -> list[tuple[bytes, bytes]]:
        return [
            (self._scrubber.scrubbed_name(name), self._scrubber.scrubbed(value))
            for name, value in headers
            if name.lower() not in dropped
        ]

    def _head(self, event: h11.Response) -> h11.Response:
        headers = self._clean(event.headers.raw_items(), _DROPPED)
        codings = b",".join(value for name, value in headers if name.lower() == b"content-encoding").lower()
        coding = codings.strip() or b"identity"
        if self._scrubber.is_needed and coding != b"identity":
            # Asked for without compression, and compressed all the same.
            if coding not in _WINDOW:
                raise h11.RemoteProtocolError(
                    f"Content-Encoding {coding.decode('latin-1')!r} was not asked for"
                )
            self._window = _WINDOW[coding]
            self._inflate = zlib.decompressobj(self._window)
            dropped = (b"content-encoding", b"content-length")
            headers = [(name, value) for name, value in headers if name.lower() not in dropped]
        if not self._scrubber.is_needed:
            self._length, self._is_kept = _plain_length(event)
        return h11.Response(
            status_code=event.status_code,
            headers=headers,
            reason=self._scrubber.scrubbed(bytes(event.reason)),
        )

    def _plain(self, body: bytes | bytearray) -> bytes | bytearray:
        try:
            if not self._scrubber.is_needed:
                return body
            if self._inflate is not None:
                body = self._inflated(self._inflate, bytes(body))
            return self._scrubber.feed(bytes(body))
        except zlib.error as error:
            raise h11.RemoteProtocolError(f"the compressed body is damaged: {error}") from None

    def _inflated(self, inflate: zlib._Decompress, body: bytes) -> bytes:
        plain = b""
        while body:
            self._has_body = True
            if inflate.eof:  # another member (RFC 1952, section 2.2)
                self._inflate = inflate = zlib.decompressobj(self._window)
            plain += inflate.decompress(body, _MOST_PLAIN - len(plain) + 1)
            if inflate.unconsumed_tail or len(plain) > _MOST_PLAIN:
                raise h11.RemoteProtocolError(
                    f"64 KiB of the body expand to more than {_MOST_PLAIN >> 20} MiB"
                )
            body = inflate.unused_data
        return plain

    def _data(self, body: bytes | bytearray | memoryview) -> Sequence[bytes | bytearray | memoryview]:
        return self._sent(h11.Data(data=cast(bytes, body))) if body else []

    def _sent(self, event: h11.Event) -> Sequence[bytes | bytearray | memoryview]:
        return self._guest.send_with_data_passthrough(event) or []


def _plain_length(event: h11.Response) -> tuple[int | None, bool]:
    """The length of a body that is framed by nothing else, and whether the connection is kept after it."""
    length = body_length(event)
    if length is None:
        return None, False
    options = b",".join(value.lower() for name, value in event.headers if name == b"connection").split(b",")
    is_kept = event.http_version == b"1.1" and b"close" not in (option.strip() for option in options)
    return length, is_kept
