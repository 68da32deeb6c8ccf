"""dd: copy and convert a file in blocks."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Generator

from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, utility
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote_always
from planaria_shell.toolkit.sizes import human_size
from planaria_shell.toolkit.streams import FileInput, FileOutput, Sink, Source, reason

__all__: list[str] = []

_CONVERSIONS = (
    "ascii", "ebcdic", "ibm", "block", "unblock", "lcase", "ucase", "sparse", "swab", "sync",
    "excl", "nocreat", "notrunc", "noerror", "fdatasync", "fsync",
)  # fmt: skip
_UNITS = {"": 1, "c": 1, "w": 2, "b": 512, "k": 1024}
_LOWER = bytes(range(256)).lower()
_UPPER = bytes(range(256)).upper()


def _number(text: str) -> int:
    """`1`, `2K`, `3MB`, `2x512`."""
    total = 1
    for part in text.split("x") if not text.lower().startswith("0x") else [text]:
        match = re.fullmatch(r"(\d+)(?:([cwbk])|([KMGTPEZY])(i?B)?)?", part)
        if match is None:
            raise UsageError(f"invalid number: {quote(text)}", hint=False)
        if match[3]:
            base = 1000 if match[4] == "B" else 1024
            total *= int(match[1]) * base ** ("KMGTPEZY".index(match[3]) + 1)
        else:
            total *= int(match[1]) * _UNITS[match[2] or ""]
    return total


class _Settings:
    def __init__(self, words: list[str]) -> None:
        self.source: str | None = None
        self.target: str | None = None
        self.input_block = self.output_block = 512
        self.count: int | None = None
        self.skip = self.seek = 0
        self.conversions: set[str] = set()
        self.input_flags: set[str] = set()
        self.output_flags: set[str] = set()
        self.status = ""
        self.line = 0
        for word in words:
            name, equals, value = word.partition("=")
            if not equals:
                raise UsageError(f"unrecognized operand {quote(word)}")
            self._set(name, value, word)

    def _set(self, name: str, value: str, word: str) -> None:
        if name == "if":
            self.source = value
        elif name == "of":
            self.target = value
        elif name in ("bs", "ibs", "obs", "cbs"):
            size = _number(value)
            if not size:
                raise UsageError(f"invalid number: {quote(value)}", hint=False)
            if name in ("bs", "ibs"):
                self.input_block = size
            if name in ("bs", "obs"):
                self.output_block = size
            if name == "cbs":
                self.line = size
        elif name == "count":
            self._bytes(value, "count_bytes", self.input_flags)
            self.count = _number(value.removesuffix("B"))
        elif name in ("skip", "iseek"):
            self._bytes(value, "skip_bytes", self.input_flags)
            self.skip = _number(value.removesuffix("B"))
        elif name in ("seek", "oseek"):
            self._bytes(value, "seek_bytes", self.output_flags)
            self.seek = _number(value.removesuffix("B"))
        elif name == "conv":
            for part in value.split(","):
                if part not in _CONVERSIONS:
                    raise UsageError(f"invalid conversion: {quote(part)}")
                if part in ("ascii", "ebcdic", "ibm"):
                    raise UsageError(f"the conversion {quote(part)} is not supported", hint=False)
                self.conversions.add(part)
        elif name == "iflag":
            self.input_flags |= set(value.split(","))
        elif name == "oflag":
            self.output_flags |= set(value.split(","))
        elif name == "status":
            if value not in ("none", "noxfer", "progress"):
                raise UsageError(f"invalid status level: {quote(value)}")
            self.status = value
        else:
            raise UsageError(f"unrecognized operand {quote(word)}")

    @staticmethod
    def _bytes(value: str, flag: str, flags: set[str]) -> None:
        if re.fullmatch(r"\d+B", value):
            flags.add(flag)


@utility("dd", usage="[OPERAND]...")
def dd(call: Invocation) -> Generator[None, None, Status]:
    """Copy a file, converting and formatting according to the operands."""
    settings = _Settings(call.operands)
    started = time.monotonic()
    try:
        source = call.open(settings.source or "-")
    except OSError as error:
        raise CommandError(
            f"failed to open {shell_quote_always(settings.source or '-')}: {reason(error)}"
        ) from None
    with source:
        target, close = _target(call, settings)
        counts = [0, 0, 0, 0]  # whole and partial blocks in and out
        try:
            skipped = _skip(source, settings)
            if not skipped and settings.status != "none":
                call.error(
                    f"{shell_quote_always(settings.source or 'standard input')}: cannot skip to "
                    f"specified offset"
                )
            total = 0
            lines = _Lines(settings)
            pending = bytearray()
            same = settings.input_block == settings.output_block and not lines.busy
            left = settings.count
            in_bytes = "count_bytes" in settings.input_flags
            while left is None or left > 0:
                wanted = (
                    settings.input_block if left is None or not in_bytes else min(settings.input_block, left)
                )
                block = _read(source, wanted)
                if not block:
                    break
                counts[0 if len(block) == settings.input_block else 1] += 1
                if left is not None:
                    left -= len(block) if in_bytes else 1
                block = lines.convert(_convert(block, settings))
                total += len(block)
                if same:
                    counts[2 if len(block) == settings.output_block else 3] += 1
                    target.write(block)
                else:
                    pending += block
                    while len(pending) >= settings.output_block:
                        target.write(bytes(pending[: settings.output_block]))
                        del pending[: settings.output_block]
                        counts[2] += 1
                if target.full:
                    yield
            if rest := lines.end():
                total += len(rest)
                pending += rest
            if pending:
                target.write(bytes(pending))
                counts[3] += 1
        finally:
            close()
    if settings.status != "none" and lines.truncated:
        counts.append(lines.truncated)
    if settings.status != "none":
        _report(call, settings, counts, total, time.monotonic() - started)
    return call.status


def _target(call: Invocation, settings: _Settings) -> tuple[Sink, Callable[[], None]]:
    """Where the blocks go, and how to close it."""
    offset = settings.seek * (1 if "seek_bytes" in settings.output_flags else settings.output_block)
    name = settings.target
    if name is None or name in ("/dev/stdout", "/dev/stderr", "/dev/null"):
        target = call.create(name or "/dev/stdout")
        return target, target.close
    flags = os.O_WRONLY
    if "nocreat" not in settings.conversions:
        flags |= os.O_CREAT
    if "excl" in settings.conversions:
        flags |= os.O_EXCL
    appending = "append" in settings.output_flags
    if not offset and not appending and "notrunc" not in settings.conversions:
        flags |= os.O_TRUNC
    try:
        descriptor = os.open(call.path(name), flags, 0o666 & ~call.umask)
    except OSError as error:
        raise CommandError(f"failed to open {shell_quote_always(name)}: {reason(error)}") from None
    file = os.fdopen(descriptor, "wb")
    if appending:
        file.seek(0, os.SEEK_END)
    elif offset:
        if "notrunc" not in settings.conversions:
            os.ftruncate(descriptor, offset)
        file.seek(offset)
    output = FileOutput(file)
    return output, output.close


def _skip(source: Source, settings: _Settings) -> bool:
    size = settings.skip * (1 if "skip_bytes" in settings.input_flags else settings.input_block)
    if not size:
        return True
    if isinstance(source, FileInput) and source.file.seekable():
        length = source.file.seek(0, os.SEEK_END)
        source.file.seek(min(size, length))
        return size <= length
    while size:
        block = source.read(min(size, 1 << 16))
        if not block:
            return False
        size -= len(block)
    return True


def _read(source: Source, size: int) -> bytes:
    """A whole block where the input has it."""
    block = source.read(size)
    if len(block) == size or not block:
        return block
    parts = [block]
    have = len(block)
    while have < size and (block := source.read(size - have)):
        parts.append(block)
        have += len(block)
    return b"".join(parts)


def _convert(block: bytes, settings: _Settings) -> bytes:
    conversions = settings.conversions
    if "swab" in conversions:
        even = len(block) & ~1
        swapped = bytearray(block)
        swapped[0:even:2], swapped[1:even:2] = block[1:even:2], block[0:even:2]
        block = bytes(swapped)
    if "lcase" in conversions:
        block = block.translate(_LOWER)
    elif "ucase" in conversions:
        block = block.translate(_UPPER)
    if "sync" in conversions and len(block) < settings.input_block:
        filler = b" " if conversions & {"block", "unblock"} else b"\0"
        block = block.ljust(settings.input_block, filler)
    return block


class _Lines:
    """Lines made records of `cbs` bytes (conv=block), or records made lines (conv=unblock)."""

    def __init__(self, settings: _Settings) -> None:
        self.size = settings.line
        self.blocks = "block" in settings.conversions and self.size > 0
        self.unblocks = "unblock" in settings.conversions and self.size > 0
        self.busy = self.blocks or self.unblocks
        self.pending = b""
        self.truncated = 0

    def convert(self, data: bytes) -> bytes:
        if not self.busy:
            return data
        data = self.pending + data
        if self.blocks:
            *lines, self.pending = data.split(b"\n")
            return b"".join([self._record(line) for line in lines])
        whole = len(data) - len(data) % self.size
        self.pending = data[whole:]
        return b"".join([self._line(data[at : at + self.size]) for at in range(0, whole, self.size)])

    def end(self) -> bytes:
        """What an unfinished line or record still gives."""
        rest, self.pending = self.pending, b""
        if not rest:
            return b""
        return self._record(rest) if self.blocks else self._line(rest)

    def _record(self, line: bytes) -> bytes:
        self.truncated += len(line) > self.size
        return line[: self.size].ljust(self.size)

    @staticmethod
    def _line(record: bytes) -> bytes:
        return record.rstrip(b" ") + b"\n"


def _report(call: Invocation, settings: _Settings, counts: list[int], total: int, seconds: float) -> None:
    call.warn(f"{counts[0]}+{counts[1]} records in")
    call.warn(f"{counts[2]}+{counts[3]} records out")
    if len(counts) > 4:
        call.warn(f"{counts[4]} truncated record{'s' if counts[4] > 1 else ''}")
    if settings.status == "noxfer":
        return
    sizes = [text for text in (human_size(total, 1000), human_size(total, 1024)) if not text.isdigit()]
    shown = [f"{_spaced(text)}{'i' if index and len(sizes) > 1 else ''}B" for index, text in enumerate(sizes)]
    detail = f" ({', '.join(shown)})" if shown else ""
    rate = human_size(int(total / seconds), 1000) if seconds > 0 else "0"
    word = "byte" if total == 1 else "bytes"
    call.warn(f"{total} {word}{detail} copied, {seconds:g} s, {_spaced(rate)}B/s")


def _spaced(text: str) -> str:
    return f"{text[:-1]} {text[-1]}" if text[-1:].isalpha() else text + " "
