"""wc: count lines, words, characters, bytes; the longest line."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterable

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote, shell_quote_always
from planaria_shell.toolkit.streams import FileInput, Source, open_small
from planaria_shell.toolkit.width import display_width

__all__ = ["file_size"]

#: Bytes of small files that are read before any of them is counted.
_MOST_AT_ONCE = 1 << 20
_COUNTED = {"l": "lines", "w": "words", "m": "characters", "c": "bytes", "L": "longest"}
_UNPRINTABLE = bytes([*range(9), *range(14, 32), 127])
_LINE_ENDS = str.maketrans({"\r": "\n", "\f": "\n"})
_SPACES = frozenset(b" \t\n\v\f\r")


class _Counts:
    __slots__ = ("bytes", "characters", "lines", "longest", "words")

    def __init__(self) -> None:
        self.lines = self.words = self.characters = self.bytes = self.longest = 0

    def add(self, other: _Counts) -> None:
        self.lines += other.lines
        self.words += other.words
        self.characters += other.characters
        self.bytes += other.bytes
        self.longest = max(self.longest, other.longest)


def file_size(source: Source) -> int | None:
    """The size of the regular file behind a source, None when there is none (a pipe)."""
    if not isinstance(source, FileInput):
        return None
    try:
        status = os.fstat(source.file.fileno())
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _counts_of(call: Invocation, name: str, wanted: str) -> _Counts:
    """What is wanted of a file; raises OSError when it cannot be opened or read."""
    if name and name != "-" and not name.startswith(("/dev/", "/proc/")):
        source: Source | None
        source, data = open_small(call.path(name))
        if source is None:
            return _count([data], wanted)
    else:
        source = call.open(name or "-")
    with source:
        if wanted == "c" and (size := file_size(source)):
            counts = _Counts()
            counts.bytes = size
            return counts
        return _count(source.chunks(), wanted)


def _count(chunks: Iterable[bytes], wanted: str) -> _Counts:
    counts = _Counts()
    decoder = codecs.getincrementaldecoder("utf-8")("ignore") if "m" in wanted or "L" in wanted else None
    in_word = False
    columns = 0
    for chunk in chunks:
        counts.bytes += len(chunk)
        if "l" in wanted:
            counts.lines += chunk.count(b"\n")
        if "w" in wanted:
            shown = chunk.translate(None, _UNPRINTABLE)
            if shown:
                counts.words += len(shown.split()) - (in_word and shown[0] not in _SPACES)
                in_word = shown[-1] not in _SPACES
        if decoder is not None:
            text = decoder.decode(chunk)
            counts.characters += len(text)
            if "L" in wanted:
                columns = _longest(text, columns, counts)
    return counts


def _longest(text: str, columns: int, counts: _Counts) -> int:
    """Note the longest line; returns the columns of the line that is not over yet."""
    for index, line in enumerate(text.translate(_LINE_ENDS).split("\n")):
        if index:
            columns = 0
        pieces = line.split("\t")
        for piece in pieces[:-1]:
            columns += display_width(piece)
            columns += 8 - columns % 8
        columns += display_width(pieces[-1])
        counts.longest = max(counts.longest, columns)
    return columns


@command(
    "wc",
    short="clLmw",
    long="bytes=c chars=m lines=l words=w max-line-length=L files0-from: total:",
)
def wc(call: Invocation) -> Status:
    """Print newline, word, and byte counts for each FILE, and a total line for several."""
    arguments = call.arguments
    wanted = "".join(key for key in "lwmcL" if arguments.has(key)) or "lwc"
    names = call.operands
    total_when = arguments.value("total") or "auto"
    if total_when not in ("auto", "always", "never", "only"):
        raise UsageError(f"invalid argument {quote(total_when)} for {quote('--total')}")
    if (listing := arguments.value("files0-from")) is not None:
        if names:
            raise extra_operand(shell_quote_always(names[0]))
        names = names_from(call, listing)
        several = len(names) + bool(call.status) > 1
    else:
        names = names or [""]
        several = len(names) > 1
    contents = _small_files(call, names)
    width = _width(call, names, contents, wanted)
    total = _Counts()
    for name, data in zip(names, contents, strict=True):
        counts = _Counts()
        try:
            counts = _counts_of(call, name, wanted) if data is None else _count([data], wanted)
        except IsADirectoryError as error:
            call.complain(shell_quote(name), error)
        except OSError as error:
            call.complain(shell_quote(name), error)
            continue
        total.add(counts)
        if total_when != "only":
            _show(call, counts, wanted, width, name)
    if total_when in ("always", "only") or (total_when == "auto" and several):
        _show(
            call, total, wanted, 1 if total_when == "only" else width, "" if total_when == "only" else "total"
        )
    return call.status


def _small_files(call: Invocation, names: list[str]) -> list[bytes | None]:
    """The contents of the first files, as long as they are small; None for others and what is not a file."""
    contents: list[bytes | None] = []
    left = _MOST_AT_ONCE
    for name in names:
        data: bytes | None = None
        if left > 0 and name and name != "-" and not name.startswith(("/dev/", "/proc/")):
            try:
                source, data = open_small(call.path(name))
            except OSError:
                source = None
            if source is not None:
                source.close()
                data = None
            left -= len(data or b"")
        contents.append(data)
    return contents


def extra_operand(shown: str) -> UsageError:
    """Names on the command line do not go with `--files0-from`."""
    return UsageError(f"extra operand {shown}\nfile operands cannot be combined with --files0-from")


def names_from(call: Invocation, listing: str) -> list[str]:
    """The names in a file where each ends with a zero byte (`--files0-from=FILE`); the bad are reported."""
    try:
        with call.open(listing) as source:
            data = source.read()
    except OSError as error:
        raise UsageError(
            f"cannot open {shell_quote_always(listing)} for reading: {error.strerror}", hint=False
        ) from None
    names: list[str] = []
    for number, listed in enumerate(data.removesuffix(b"\0").split(b"\0") if data else [], 1):
        name = os.fsdecode(listed)
        if not name:
            call.complain(f"{shell_quote(listing, '')}:{number}: invalid zero-length file name")
        elif name == "-" and listing == "-":
            call.complain("when reading file names from stdin, no file name of '-' allowed")
        else:
            names.append(name)
    return names


def _width(call: Invocation, names: list[str], contents: list[bytes | None], wanted: str) -> int:
    """Columns of a number: enough for the sum of all sizes; seven where a size is not known."""
    if len(names) == 1 and len(wanted) == 1:
        return 1
    least = 1
    size = 0
    for name, data in zip(names, contents, strict=True):
        if data is not None:
            size += len(data)
            continue
        if name in ("", "-"):
            known = _standard_input_size(call)
            if known is None:
                least = 7
            else:
                size += known
            continue
        try:
            status = os.stat(call.path(name))
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            size += status.st_size
        else:
            least = 7
    return max(least, len(str(size)))


def _standard_input_size(call: Invocation) -> int | None:
    """The size of the file that standard input is redirected from, where the shell knows it."""
    number = getattr(call.process.stdin, "fileno", None)
    try:
        status = os.fstat(number()) if number else None
    except (OSError, ValueError):
        return None
    return status.st_size if status and stat.S_ISREG(status.st_mode) else None


def _show(call: Invocation, counts: _Counts, wanted: str, width: int, name: str) -> None:
    fields = [f"{getattr(counts, _COUNTED[key]):{width}}" for key in wanted]
    if name:
        fields.append(shell_quote(name, "") if "\n" in name else name)
    call.print(" ".join(fields))
