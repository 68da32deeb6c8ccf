"""Bodies of known length that are passed on as they come, past h11, which would copy each part twice."""

from __future__ import annotations

from typing import Final, cast

import h11

from planaria.network.policy import NetworkRequest

__all__ = ["MOST_HEAD", "PassedBody", "body_length", "note_passed", "passed_length", "without_body"]

MOST_HEAD: Final = 1 << 18
"""The longest head of a request."""
#: From this length on the body of a request is passed on as it comes.
_LONG: Final = 1 << 16


class _Passed:
    """Data that went another way: any object with a length may be data (h11's manual, "Sendfile")."""

    __slots__ = ("_length",)

    def __init__(self, length: int) -> None:
        self._length = length

    def __len__(self) -> int:
        return self._length


def note_passed(sender: h11.Connection, length: int) -> None:
    """Let h11, which sends a body, know that so many bytes of it went another way."""
    sender.send_with_data_passthrough(h11.Data(data=cast(bytes, _Passed(length))))


def body_length(event: h11.Request | h11.Response) -> int | None:
    """The length of a body that is framed by nothing else; None where something else ends it."""
    lengths = [value for name, value in event.headers if name == b"content-length"]
    if len(lengths) != 1 or any(name == b"transfer-encoding" for name, _ in event.headers):
        return None
    return int(lengths[0])


def passed_length(received: h11.Request, sent: h11.Request) -> int | None:
    """The length of the body of a request, as received and as sent, if that is passed on as it comes."""
    length = body_length(received)
    return length if length is not None and length >= _LONG and length == body_length(sent) else None


class PassedBody:
    """The body of a request that is passed on as it comes."""

    def __init__(self, request: NetworkRequest, sender: h11.Connection, length: int) -> None:
        self._request = request
        self._sender = sender
        self._length = length
        self.left = length
        """How many bytes are still to come."""

    def count(self, count: int) -> None:
        """So many bytes were passed on."""
        self.left -= count
        self._request.bytes_sent += count
        if not self.left:
            note_passed(self._sender, self._length)
            self._sender.send(h11.EndOfMessage())


def without_body(event: h11.Request) -> h11.Connection:
    """The side of a server, in h11, that has received a request as if it had no body: that is passed on."""
    lines = [b"%s %s HTTP/%s" % (event.method, event.target, event.http_version)]
    lines += [
        b"%s: %s" % (name, value)
        for name, value in event.headers.raw_items()
        if name.lower() != b"content-length"
    ]
    guest = h11.Connection(h11.SERVER, max_incomplete_event_size=MOST_HEAD)
    guest.receive_data(b"\r\n".join([*lines, b"", b""]))
    received = guest.next_event(), guest.next_event()
    assert [type(one) for one in received] == [h11.Request, h11.EndOfMessage]
    return guest
