"""The host's end of a connection with a kernel, whatever the other end does."""

from __future__ import annotations

import os
import socket
import threading
import time

import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from planaria.errors import ProtocolError, RuntimeSetupError
from planaria.executors.messages import (
    Answer,
    Answered,
    Done,
    EndOfInput,
    Failed,
    Ok,
    Refused,
    RunCode,
    TierMissing,
    Waiting,
)
from planaria.executors.pipe import MAX_FRAME, FrameReader, Pipe
from planaria.executors.process import Process, ProcessExecutor
from planaria.limits import Guard, Limits, Stopped
from planaria_kernel.protocol import decode, encode

pytestmark = pytest.mark.slow


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "little") + data


@given(st.lists(st.binary(min_size=1, max_size=300)), st.lists(st.integers(1, 50)))
def test_frames_are_the_same_however_the_bytes_are_cut(frames: list[bytes], cuts: list[int]) -> None:
    """Whatever pieces the bytes of frames arrive in, the same frames come out."""
    data = b"".join(map(framed, frames))
    reader = FrameReader()
    found = []
    start = 0
    for size in [*cuts, len(data)]:
        reader.feed(data[start : start + size])
        start += size
        while (frame := reader.next()) is not None:
            found.append(frame)
    assert found == frames


@pytest.mark.parametrize("size", [0, MAX_FRAME + 1, 0xFFFFFFFF])
def test_a_frame_that_claims_an_impossible_size_is_refused_before_it_is_there(size: int) -> None:
    """A header with the size 0 or one above the bound is a ProtocolError that names the size."""
    reader = FrameReader()
    reader.feed(size.to_bytes(4, "little"))
    with pytest.raises(ProtocolError, match=f"a frame of {size} bytes"):
        reader.next()


def test_a_frame_that_never_arrives_takes_no_memory() -> None:
    """For a frame that is announced as large nothing is allocated before its bytes arrive."""
    import tracemalloc

    reader = FrameReader()
    tracemalloc.start()
    try:
        reader.feed(MAX_FRAME.to_bytes(4, "little") + b"x" * 1000)
        assert reader.next() is None
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_what_does_not_fit_the_socket_is_sent_while_waiting() -> None:
    """A frame larger than what the other side takes at once arrives whole, and others may come meanwhile."""
    ours, theirs = socket.socketpair()
    pipe = Pipe(ours)
    frame = os.urandom(5_000_000)
    pipe.send(frame)
    pipe.send(b"another")
    received = bytearray()
    theirs.sendall(framed(b"hello"))

    def read() -> None:
        while len(received) < len(frame) + 4 + 11:
            received.extend(theirs.recv(1 << 20))

    reader = threading.Thread(target=read)
    reader.start()
    while reader.is_alive():
        pipe.wait(0.01)
    assert bytes(received) == framed(frame) + framed(b"another")
    assert pipe.next_frame() == b"hello"
    pipe.close()
    theirs.close()


def test_waiting_ends_when_another_thread_wakes_it() -> None:
    """`wake` from another thread ends a wait that has no bound."""
    ours, theirs = socket.socketpair()
    pipe = Pipe(ours)
    threading.Timer(0.05, pipe.wake).start()
    pipe.wait(None)
    assert pipe.next_frame() is None
    pipe.close()
    theirs.close()


class _Nobody:
    """A host that is never called."""

    def output(self, descriptor: int, data: bytes) -> None:
        assert descriptor in (1, 2)

    def display(self, kind: str, data: object, metadata: object) -> None: ...

    def call(self, name: str, arguments: object, keywords: object) -> Answer:
        return Ok(None)

    def input(self, prompt: str) -> Answer:
        return EndOfInput()


class _Scripted(Process):
    """Another end that sends given bytes, after a proper greeting unless asked not to, and closes."""

    def __init__(self, data: bytes, *, greets: bool = True) -> None:
        ours, theirs = socket.socketpair()
        self.pipe = Pipe(ours)
        threading.Thread(target=self._live, args=(theirs, data, greets), daemon=True).start()

    def _live(self, connection: socket.socket, data: bytes, greets: bool) -> None:
        with connection:
            if greets:
                size = int.from_bytes(connection.recv(4), "little")
                reported = decode(connection.recv(size, socket.MSG_WAITALL))
                connection.sendall(framed(b"A" + encode((reported["token"], (3, 11, 0), 1))))
            connection.sendall(data)

    def interrupt(self) -> None: ...

    def end(self, seconds: float) -> None:
        self.pipe.close()

    def forget(self) -> None: ...

    def ending(self) -> tuple[str, int | None]:
        return "it is gone", None


class _ScriptedExecutor(ProcessExecutor):
    name = "scripted"
    capabilities = frozenset[str]()

    def __init__(self, data: bytes, **options: bool) -> None:
        super().__init__()
        self._patience = 5.0
        self._given = data, options

    def _launch(self) -> Process:
        return _Scripted(self._given[0], **self._given[1])


_REQUESTS = st.one_of(
    st.binary(max_size=60),
    st.builds(
        lambda kind, value: framed(kind + encode(value)),
        st.sampled_from([b"N", b"R", b"D", b"C", b"I", b"K", b"O", b"S", b"A", b"?"]),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=9) | st.binary(max_size=9),
            lambda inner: st.lists(inner, max_size=3) | st.builds(tuple, st.lists(inner, max_size=3)),
            max_leaves=5,
        ),
    ),
)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(_REQUESTS, max_size=8))
def test_whatever_bytes_a_kernel_sends_the_host_knows_what_to_make_of_it(pieces: list[bytes]) -> None:
    """Any bytes from the other end give a report, or Stopped or ProtocolError, and nothing else."""
    executor = _ScriptedExecutor(b"".join(pieces))
    executor.start(_Nobody(), Limits())  # type: ignore[arg-type]
    try:
        entered = executor.enter(RunCode("1", 1), Guard(deadline=time.monotonic() + 5))
        assert isinstance(entered.report, (Done, Failed, Waiting, TierMissing, Answered, Refused))
    except (Stopped, ProtocolError):
        pass
    executor.close()


@settings(max_examples=examples(60), deadline=None)
@given(st.binary(max_size=80))
def test_who_does_not_greet_with_the_token_is_not_the_kernel(data: bytes) -> None:
    """A process that sends anything but the host's token back is refused with RuntimeSetupError."""
    executor = _ScriptedExecutor(data, greets=False)
    with pytest.raises(RuntimeSetupError, match=r"did not start|is not the kernel"):
        executor.start(_Nobody(), Limits())  # type: ignore[arg-type]
    executor.close()
