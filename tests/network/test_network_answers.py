"""How bytes of answers get from the server to the code."""

from __future__ import annotations

from itertools import pairwise

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planaria import Secret
from planaria.network.answers import AnswerReader
from planaria.network.byte_queue import ByteQueue
from planaria.network.policy import NetworkRequest
from planaria.network.secrets import IssuedValues


@given(st.lists(st.binary(max_size=20)), st.lists(st.integers(0, 30)))
def test_queue(chunks: list[bytes], sizes: list[int]) -> None:
    """What is taken from a queue is what was put into it, in parts of the sizes that were asked for."""
    queue = ByteQueue()
    queue.extend(chunks)
    whole = b"".join(chunks)
    assert len(queue) == len(whole)
    for size in sizes:
        assert queue.take(size) == whole[:size]
        whole = whole[size:]
    assert queue.take(len(whole) + 1) == whole
    assert not queue


def read(
    answer: bytes, cuts: list[int], secrets: list[Secret], method: str = "GET"
) -> tuple[bytes, AnswerReader]:
    """What the code gets of an answer that comes cut at these places, and its reader."""
    guest, server = h11.Connection(h11.SERVER), h11.Connection(h11.CLIENT)
    guest.receive_data(f"{method} / HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    events = [guest.next_event(), guest.next_event()]
    for event in events:
        assert isinstance(event, (h11.Request, h11.EndOfMessage))
        server.send(event)
    reader = AnswerReader(guest, server, NetworkRequest(method, "/"), IssuedValues(secrets).scrubber(), 0.0)
    out = b""
    places = [0, *sorted(cut % (len(answer) + 1) for cut in cuts), len(answer)]
    for start, end in pairwise(places):
        if start < end and not reader.is_done:
            out += b"".join(reader.feed(answer[start:end]))
    if not reader.is_done:
        out += b"".join(reader.feed(b""))
    return out, reader


BODY = bytes(range(256)) * 3
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 768\r\n"


@pytest.mark.parametrize(
    "secrets", [[], [Secret("KEY", "not in this answer", hosts=["a"])]], ids=["as it is", "scrubbed"]
)
@pytest.mark.parametrize(
    ("answer", "body", "is_reusable"),
    [
        (HEAD + b"\r\n" + BODY, BODY, True),
        (HEAD + b"Connection: close\r\n\r\n" + BODY, BODY, False),
        (HEAD + b"Connection: x, Close\r\n\r\n" + BODY, BODY, False),
        (HEAD.replace(b"1.1", b"1.0") + b"\r\n" + BODY, BODY, False),
        (HEAD + b"\r\n" + BODY + b"HTTP/1.1 200 OK\r\n", BODY, False),
        (HEAD + b"\r\n" + BODY[:700], BODY[:700], False),
        (HEAD + b"Content-Length: 768\r\n\r\n" + BODY, BODY, True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"", True),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", b"", True),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"\r\n" + BODY, BODY, True),
    ],
    ids=[
        "whole",
        "close",
        "close, listed",
        "HTTP/1.0",
        "more than asked for",
        "cut off",
        "twice",
        "empty",
        "204",
        "100",
    ],
)
@given(cuts=st.lists(st.integers(0, 2000), max_size=4))
def test_body(answer: bytes, body: bytes, is_reusable: bool, secrets: list[Secret], cuts: list[int]) -> None:
    """A body of known length arrives whole wherever it is cut, and its connection is used again only when
    the server keeps it and sent nothing besides.
    """
    out, reader = read(answer, cuts, secrets)
    received = out.rpartition(b"\r\n\r\n")[2]
    assert received == body[: len(received)]
    assert len(received) == len(body) or len(body) == 700
    if b"HTTP/1.1 200 OK\r\n" in answer[-20:] and reader.is_reusable:
        # What comes with the end of the body is seen; what comes later is, before the connection is used.
        assert any(len(answer) - 17 <= cut % (len(answer) + 1) <= len(answer) - 17 for cut in cuts)
    else:
        assert reader.is_reusable is is_reusable


def test_body_of_head() -> None:
    """The answer to HEAD has a length and no body."""
    out, reader = read(HEAD + b"\r\n", [], [], "HEAD")
    assert out.endswith(b"\r\n\r\n")
    assert reader.is_done
    assert reader.is_reusable
