"""Input cut into lines: one at a time, or many at a time for work that the interpreter's own loops do."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["batches", "records", "whole_lines"]


def records(chunks: Iterator[bytes], end: bytes) -> Iterator[bytes]:
    """Pieces that end with the byte `end` (kept); the last one may lack it."""
    rest: list[bytes] = []
    for chunk in chunks:
        if end not in chunk:
            rest.append(chunk)
            continue
        pieces = chunk.split(end)
        rest.append(pieces[0])
        yield b"".join(rest) + end
        for piece in pieces[1:-1]:
            yield piece + end
        rest = [pieces[-1]] if pieces[-1] else []
    if rest:
        yield b"".join(rest)


def whole_lines(chunks: Iterator[bytes], end: bytes) -> Iterator[bytes]:
    """Blocks of whole lines; only the last line of all may lack its end."""
    rest: list[bytes] = []
    for chunk in chunks:
        cut = chunk.rfind(end) + 1
        if not cut:
            rest.append(chunk)
        elif cut == len(chunk):
            yield b"".join([*rest, chunk]) if rest else chunk
            rest = []
        else:
            rest.append(chunk[:cut])
            yield b"".join(rest)
            rest = [chunk[cut:]]
    if rest:
        yield b"".join(rest)


def batches(chunks: Iterator[bytes], end: bytes) -> Iterator[list[bytes]]:
    """Lines without their ends, many at a time."""
    for block in whole_lines(chunks, end):
        yield block.removesuffix(end).split(end)
