"""Commands and answers as the host writes them for a kernel.

Small ones of plain data, which most are, are written as `marshal` does: C code reads that in a tenth of the
time, and each execution and each call of the host takes one. Only a kernel reads them so. The host gives to
`marshal` neither what a kernel has written nor what comes from a file.
"""

from __future__ import annotations

from marshal import dumps, loads
from struct import Struct, pack
from typing import Any, Final

from planaria_kernel.errors import ProtocolError
from planaria_kernel.protocol.decoding import decode
from planaria_kernel.protocol.encoding import encode

__all__ = ["decode_from_host", "encode_answer", "encode_answers", "encode_cell", "outline"]

Frame = tuple[Any, ...]

#: The first byte of what `marshal` has written: a command to run a cell, maybe with settings; answers to
#: calls that are awaited; the answer to one call. No frame of the codec begins with them.
_CELL: Final = b"c"
_ANSWERS: Final = b"m"
_ANSWER: Final = b"a"
_MARSHALLED: Final = (_CELL, _ANSWERS, _ANSWER)
#: The newest version that writes no references, by which an object would arrive that is in two places.
_VERSION: Final = 2
#: Values that are marshalled together: fewer than what may be nested.
_MOST_VALUES: Final = 100
#: Characters or bytes that each of them may have.
_LONGEST: Final = 1 << 16


def encode_cell(source: str, count: int, tier: str, settings: Any = None) -> bytes:
    """The command to run a cell, before which the kernel takes `settings`. Raises what `encode` raises."""
    frame: Frame = ("run", source, count, tier)
    is_short = type(source) is str and len(source) <= _LONGEST
    if settings is not None:
        frame = ("begin", settings, frame)
        is_short = is_short and _are_small_and_plain([settings])
    return _CELL + dumps(frame, _VERSION) if is_short else encode(frame)


def encode_answers(answers: list[tuple[int, bool, Any]]) -> bytes:
    """The command to go on with these answers. Raises what `encode` raises."""
    frame = ("resume", answers)
    count = len(answers)
    if count >= _MOST_VALUES or not _are_small_and_plain([value for _, _, value in answers]):
        return encode(frame)
    # `marshal` ignores what follows.
    return _ANSWERS + dumps(frame, _VERSION) + pack(f"<{count}qB", *[call for call, _, _ in answers], count)


def encode_answer(frame: Frame) -> bytes:
    """The answer to a call for which the kernel blocks. Raises what `encode` raises."""
    return _ANSWER + dumps(frame, _VERSION) if _are_small_and_plain([frame]) else encode(frame)


def _are_small_and_plain(values: list[Any]) -> bool:
    """Whether all these values have exactly the types that `marshal` writes as what they are; what they hold
    is added to the list.

    It would write whatever has a buffer, such as an array, as bytes.
    """
    for value in values:
        kind = type(value)
        if kind is str or kind is bytes:
            if len(value) > _LONGEST:
                return False
        elif kind is int:
            if not -0x8000000000000000 <= value < 0x8000000000000000:
                return False
        elif kind is dict:
            values += value
            values += value.values()
        elif kind is tuple or kind is list:
            values += value
        elif value is not None and kind is not bool and kind is not float:
            return False
        if len(values) > _MOST_VALUES:
            return False
    return True


def decode_from_host(data: bytes, *, shares: bool = False) -> Any:
    """A command or an answer, in a kernel; for `shares` see `decode`."""
    if data.startswith(_MARSHALLED):
        return loads(data[1:])
    return decode(data, shares=shares)


def outline(command: bytes) -> Frame | None:
    """What the host itself may read of a command that `marshal` has written: its name, and the calls that it
    answers: ("resume", [(call,), …]). None for other commands, which `decode` reads. Raises ProtocolError.
    """
    if command.startswith(_CELL):
        return ("run",)
    if not command.startswith(_ANSWERS):
        return None
    calls = Struct(f"<{command[-1]}q")
    start = len(command) - 1 - calls.size
    if start < len(_ANSWERS):
        raise ProtocolError("a command ends before it is complete")
    return ("resume", [(call,) for call in calls.unpack_from(command, start)])
