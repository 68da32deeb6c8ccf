"""Kinds of files that begin with bytes of their own."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from datetime import datetime

from planaria_shell.toolkit.dates.zones import UTC

Kind = tuple[str, str]


def _png(data: bytes) -> Kind:
    if len(data) < 29:
        return "PNG image data", "image/png"
    width, height, depth, color, _, _, interlace = struct.unpack(">IIBBBBB", data[16:29])
    colors = {0: "grayscale", 2: "/color RGB", 3: " colormap", 4: " gray+alpha", 6: "/color RGBA"}
    name = f"{depth}-bit grayscale" if color == 0 else f"{depth}-bit{colors.get(color, '')}"
    return f"PNG image data, {width} x {height}, {name}, {'' if interlace else 'non-'}interlaced", "image/png"


def _gif(data: bytes) -> Kind:
    text = f"GIF image data, version {data[3:6].decode('latin-1')}"
    if len(data) >= 10:
        width, height = struct.unpack("<HH", data[6:10])
        text += f", {width} x {height}"
    return text, "image/gif"


def _jpeg(data: bytes) -> Kind:
    text = "JPEG image data"
    if data[6:10] == b"JFIF" and len(data) >= 18:
        units = {0: "aspect ratio", 1: "resolution (DPI)", 2: "resolution (DPCM)"}.get(data[13], "")
        x, y = struct.unpack(">HH", data[14:18])
        text += f", JFIF standard {data[11]}.{data[12]:02d}, {units}, density {x}x{y}"
        text += f", segment length {struct.unpack('>H', data[4:6])[0]}"
    elif data[6:10] == b"Exif":
        text += ", Exif standard"
    place = 2
    while place + 9 < len(data) and data[place] == 0xFF:
        marker, length = data[place + 1], struct.unpack(">H", data[place + 2 : place + 4])[0]
        if marker in (0xC0, 0xC1, 0xC2):
            precision, height, width, components = struct.unpack(">BHHB", data[place + 4 : place + 10])
            kind = {0xC0: "baseline", 0xC1: "extended sequential", 0xC2: "progressive"}[marker]
            text += f", {kind}, precision {precision}, {width}x{height}, components {components}"
            break
        place += 2 + length
    return text, "image/jpeg"


def _gzip(data: bytes) -> Kind:
    text = "gzip compressed data"
    flags = data[3] if len(data) > 3 else 0
    place = 10
    if flags & 4 and len(data) > 12:
        place += 2 + struct.unpack("<H", data[10:12])[0]
    if flags & 8:
        text += f', was "{data[place : data.find(bytes(1), place)].decode("latin-1")}"'
    seconds = struct.unpack("<I", data[4:8])[0] if len(data) >= 8 else 0
    if seconds:
        moment = datetime.fromtimestamp(seconds, UTC)
        text += f", last modified: {moment:%a %b} {moment.day:2d} {moment:%H:%M:%S %Y}"
    if len(data) > 9:
        text += {2: ", max compression", 4: ", max speed"}.get(data[8], "")
        text += {
            0: ", from FAT filesystem (MS-DOS, OS/2, NT)",
            3: ", from Unix",
            11: ", from NTFS filesystem (NT)",
        }.get(data[9], "")
    text += f", original size modulo 2^32 {struct.unpack('<I', data[-4:])[0]}" if len(data) >= 18 else ""
    return text, "application/gzip"


def _zip(data: bytes) -> Kind:
    if data[30:38] == b"mimetype" and data[38:].startswith(b"application/vnd.oasis.opendocument.text"):
        return "OpenDocument Text", "application/vnd.oasis.opendocument.text"
    if data[30:38] == b"mimetype" and data[38:].startswith(b"application/epub+zip"):
        return "EPUB document", "application/epub+zip"
    if data[30:49] == b"[Content_Types].xml":
        office = "application/vnd.openxmlformats-officedocument."
        if b"word/" in data:
            return "Microsoft Word 2007+", office + "wordprocessingml.document"
        if b"xl/" in data:
            return "Microsoft Excel 2007+", office + "spreadsheetml.sheet"
        return "Microsoft OOXML", "application/octet-stream"
    version = data[4] if len(data) > 4 else 0
    method = struct.unpack("<H", data[8:10])[0] if len(data) >= 10 else 0
    methods = {0: "store", 8: "deflate", 12: "bzip2", 14: "lzma"}
    text = f"Zip archive data, at least v{version // 10}.{version % 10} to extract"
    return text + f", compression method={methods.get(method, hex(method))}", "application/zip"


def _elf(data: bytes) -> Kind:
    bits, order = data[4], data[5]
    endian = "<" if order == 1 else ">"
    text = f"ELF {'64' if bits == 2 else '32'}-bit {'LSB' if order == 1 else 'MSB'}"
    kind, machine = struct.unpack(endian + "HH", data[16:20])
    kinds = {1: "relocatable", 2: "executable", 3: "shared object", 4: "core file"}
    machines = {3: "Intel 80386", 40: "ARM, EABI5", 62: "x86-64", 183: "ARM aarch64", 243: "UCB RISC-V"}
    position_independent = kind == 3 and b"/lib" in data[:4096] and b"ld-" in data[:4096]
    name = "pie executable" if position_independent else kinds.get(kind, "unknown type")
    system = {0: "SYSV", 3: "GNU/Linux", 9: "FreeBSD"}.get(data[7], "SYSV")
    text += f" {name}, {machines.get(machine, f'*unknown arch {machine:#x}*')}, version 1 ({system})"
    mime = {1: "object", 2: "executable", 3: "sharedlib", 4: "coredump"}.get(kind, "object")
    return text, f"application/x-{'pie-executable' if position_independent else mime}"


def _sqlite(data: bytes) -> Kind:
    text = "SQLite 3.x database"
    if len(data) >= 100:
        application, version = struct.unpack(">I", data[68:72])[0], struct.unpack(">I", data[96:100])[0]
        text += f", last written using SQLite version {version}"
        pages, counter, schema = (struct.unpack(">I", data[at : at + 4])[0] for at in (28, 24, 40))
        size = struct.unpack(">H", data[16:18])[0]
        if size not in (0, 4096):
            text += f", page size {65536 if size == 1 else size}"
        text += f", file counter {counter}, database pages {pages}, cookie {schema:#x}"
        text += f", schema {struct.unpack('>I', data[44:48])[0]}"
        encoding = struct.unpack(">I", data[56:60])[0]
        text += {1: ", UTF-8", 2: ", UTF-16 little endian", 3: ", UTF-16 big endian"}.get(encoding, "")
        text += f", version-valid-for {struct.unpack('>I', data[92:96])[0]}"
        text += f", application id {application}" if application else ""
    return text, "application/vnd.sqlite3"


def _tar(data: bytes) -> Kind:
    gnu = data[257:265] == b"ustar  \0"
    return f"POSIX tar archive{' (GNU)' if gnu else ''}", "application/x-tar"


def _pdf(data: bytes) -> Kind:
    text = f"PDF document, version {data[5:8].decode('latin-1')}"
    pages = re.search(rb"/Type\s*/Pages\b[^>]*/Count (\d+)", data)
    if pages:
        text += f", {int(pages.group(1))} page(s)"
    return text, "application/pdf"


def _riff(data: bytes) -> Kind:
    form = data[8:12]
    if form == b"WAVE":
        return "RIFF (little-endian) data, WAVE audio", "audio/x-wav"
    if form == b"WEBP":
        return "RIFF (little-endian) data, Web/P image", "image/webp"
    if form == b"AVI ":
        return "RIFF (little-endian) data, AVI", "video/x-msvideo"
    return "RIFF (little-endian) data", "application/octet-stream"


def _bitmap(data: bytes) -> Kind:
    text = "PC bitmap"
    if len(data) >= 34 and struct.unpack("<I", data[14:18])[0] == 40:
        width, height, _, bits = struct.unpack("<iiHH", data[18:30])
        text += f", Windows 3.x format, {width} x {height} x {bits}"
    return text, "image/bmp"


def _wasm(data: bytes) -> Kind:
    return (
        f"WebAssembly (wasm) binary module version {struct.unpack('<I', data[4:8])[0]:#x} (MVP)",
        "application/wasm",
    )


def _fixed(text: str, mime: str) -> Callable[[bytes], Kind]:
    return lambda data: (text, mime)


#: Offset, the bytes that stand there, and what they mean.
MAGIC: list[tuple[int, bytes, Callable[[bytes], Kind]]] = [
    (0, b"\x7fELF", _elf),
    (0, b"\x89PNG\r\n\x1a\n", _png),
    (0, b"\xff\xd8\xff", _jpeg),
    (0, b"GIF8", _gif),
    (0, b"\x1f\x8b", _gzip),
    (
        0,
        b"BZh",
        lambda data: (
            f"bzip2 compressed data, block size = {data[3:4].decode('latin-1')}00k",
            "application/x-bzip2",
        ),
    ),
    (0, b"\xfd7zXZ\0", _fixed("XZ compressed data, checksum CRC64", "application/x-xz")),
    (0, b"(\xb5/\xfd", _fixed("Zstandard compressed data (v0.8+), Dictionary ID: None", "application/zstd")),
    (0, b"7z\xbc\xaf\x27\x1c", _fixed("7-zip archive data, version 0.4", "application/x-7z-compressed")),
    (0, b"Rar!\x1a\x07", _fixed("RAR archive data", "application/x-rar")),
    (0, b"PK\x03\x04", _zip),
    (0, b"PK\x05\x06", _fixed("Zip archive data (empty)", "application/zip")),
    (0, b"%PDF-", _pdf),
    (0, b"%!PS", _fixed("PostScript document text", "application/postscript")),
    (0, b"SQLite format 3\0", _sqlite),
    (0, b"RIFF", _riff),
    (0, b"OggS", _fixed("Ogg data", "audio/ogg")),
    (0, b"ID3", _fixed("Audio file with ID3 version 2.3.0", "audio/mpeg")),
    (0, b"fLaC", _fixed("FLAC audio bitstream data", "audio/flac")),
    (0, b"BM", _bitmap),
    (0, b"II*\0", _fixed("TIFF image data, little-endian", "image/tiff")),
    (0, b"MM\0*", _fixed("TIFF image data, big-endian", "image/tiff")),
    (0, b"\0asm", _wasm),
    (0, b"MZ", _fixed("MS-DOS executable", "application/x-dosexec")),
    (0, b"!<arch>\n", _fixed("current ar archive", "application/x-archive")),
    (0, b"\xca\xfe\xba\xbe", _fixed("compiled Java class data", "application/x-java-applet")),
    (0, b"wOFF", _fixed("Web Open Font Format", "font/woff")),
    (0, b"PAR1", _fixed("Apache Parquet", "application/octet-stream")),
    (4, b"ftyp", _fixed("ISO Media", "video/mp4")),
    (257, b"ustar", _tar),
]
