"""The formats of gzip, bzip2, xz and zstd: streams that are compressed and read back piece by piece."""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from planaria_shell.commands.archives.zstandard.format import MAGIC, ZstdCompressor, ZstdDecompressor

__all__ = ["FORMATS", "CorruptDataError", "Format", "decompressed"]


class CorruptDataError(Exception):
    """The compressed data is damaged, cut short, or not of this format."""


class _Compressor(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _GzipCompressor:
    """A gzip member (RFC 1952): header, deflate data, checksum and size."""

    def __init__(self, level: int, name: str, modified: int) -> None:
        self._deflate = zlib.compressobj(level, zlib.DEFLATED, -15, 9)
        self._checksum = 0
        self._size = 0
        flags = 8 if name else 0
        extra = 2 if level == 9 else 4 if level == 1 else 0
        self._header = b"\x1f\x8b\x08" + struct.pack("<BLBB", flags, modified & 0xFFFFFFFF, extra, 3)
        if name:
            self._header += name.encode("utf-8", "surrogateescape") + b"\0"

    def compress(self, data: bytes) -> bytes:
        self._checksum = zlib.crc32(data, self._checksum)
        self._size += len(data)
        header, self._header = self._header, b""
        return header + self._deflate.compress(data)

    def flush(self) -> bytes:
        tail = struct.pack("<LL", self._checksum, self._size & 0xFFFFFFFF)
        return self._header + self._deflate.flush() + tail


class _GzipDecompressor:
    """zlib's own reading of a gzip member, with the attributes of the other decompressors."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(31)

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data

    def decompress(self, data: bytes) -> bytes:
        return self._inflate.decompress(data)


@dataclass(frozen=True)
class Format:
    """A compressed format: how it is recognised, made, read and named."""

    name: str
    magic: bytes
    suffix: str
    compressor: Callable[[int, str, int], _Compressor]
    decompressor: Callable[[], _Decompressor]
    suffixes: dict[str, str]
    default_level: int


FORMATS: dict[str, Format] = {
    "gzip": Format(
        "gzip",
        b"\x1f\x8b",
        ".gz",
        _GzipCompressor,
        _GzipDecompressor,
        {".gz": "", ".tgz": ".tar", ".taz": ".tar", "-gz": "", ".z": "", "-z": "", "_z": "", ".Z": ""},
        6,
    ),
    "bzip2": Format(
        "bzip2",
        b"BZh",
        ".bz2",
        lambda level, name, modified: bz2.BZ2Compressor(level or 9),
        bz2.BZ2Decompressor,
        {".bz2": "", ".bz": "", ".tbz2": ".tar", ".tbz": ".tar"},
        9,
    ),
    "xz": Format(
        "xz",
        b"\xfd7zXZ\x00",
        ".xz",
        lambda level, name, modified: lzma.LZMACompressor(
            lzma.FORMAT_XZ,
            lzma.CHECK_CRC64 if lzma.is_check_supported(lzma.CHECK_CRC64) else lzma.CHECK_CRC32,
            level,
        ),
        lzma.LZMADecompressor,
        {".xz": "", ".txz": ".tar", ".lzma": "", ".tlz": ".tar"},
        6,
    ),
    "zstd": Format(
        "zstd",
        MAGIC,
        ".zst",
        lambda level, name, modified: ZstdCompressor(),
        ZstdDecompressor,
        {".zst": "", ".tzst": ".tar"},
        3,
    ),
}


def decompressed(chunks: Iterator[bytes], kind: Format) -> Iterator[bytes]:
    """The contents of one or more concatenated members; raises CorruptDataError."""
    decompressor = kind.decompressor()
    started = False
    members = 0
    for chunk in chunks:
        data = chunk
        while data:
            if decompressor.eof:
                if not data.strip(b"\0"):
                    break
                decompressor = kind.decompressor()
                started = False
            started = True
            try:
                out = decompressor.decompress(data)
            except (zlib.error, OSError, lzma.LZMAError, ValueError) as error:
                if members and not data.startswith(kind.magic):
                    raise CorruptDataError("trailing garbage") from None
                raise CorruptDataError(
                    "not in format" if "header" in str(error).lower() else "damaged"
                ) from None
            yield out
            if not decompressor.eof:
                break
            members += 1
            data = decompressor.unused_data
    if started and not decompressor.eof:
        raise CorruptDataError("unexpected end")
