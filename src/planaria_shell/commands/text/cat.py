"""cat, tac, nl, rev: whole files, as they are, backwards or numbered."""

from __future__ import annotations

import itertools
import re
from collections.abc import Generator

from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import Invocation, utility
from planaria_shell.toolkit.lines import batches, whole_lines
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote, shell_quote_always
from planaria_shell.toolkit.regex.posix import Pattern, compile_basic
from planaria_shell.toolkit.streams import decode, encode

__all__: list[str] = []


@utility(
    "cat",
    short="AbeEnstTuv",
    long="show-all=A number-nonblank=b show-ends=E number=n squeeze-blank=s show-tabs=T show-nonprinting=v",
)
def cat(call: Invocation) -> Generator[None, None, Status]:
    """Concatenate FILE(s) to standard output."""
    arguments = call.arguments
    out = call.stdout
    if not arguments.has("A", "b", "e", "E", "n", "s", "t", "T", "v"):
        for source in call.inputs():
            for chunk in source.chunks():
                out.write(chunk)
                out.pass_on()
                if out.full:
                    yield
        return call.status
    if not arguments.has("A", "b", "e", "E", "s", "t", "T", "v"):
        return (yield from _numbered(call))
    visible = arguments.has("A", "e", "t", "v")
    tabs = arguments.has("A", "t", "T")
    ends = arguments.has("A", "e", "E")
    skip_blank = arguments.has("b")
    number = arguments.has("n", "b")
    squeeze = arguments.has("s")
    table = [_visible(byte) if visible else bytes([byte]) for byte in range(256)]
    table[9] = b"^I" if tabs else b"\t"
    translate = visible or tabs
    count = 0
    blanks = 0
    middle = False
    for source in call.inputs():
        for line in source:
            body = line[:-1] if line.endswith(b"\n") else line
            ended = len(body) < len(line)
            if not body and not middle:
                blanks += 1
                if squeeze and blanks > 1:
                    continue
            else:
                blanks = 0
            prefix = b""
            if number and not middle and (body or not skip_blank):
                count += 1
                prefix = b"%6d\t" % count
            if translate:
                body = b"".join([table[byte] for byte in body])
            if ends and ended:
                body = body[:-1] + b"^M$" if body.endswith(b"\r") else body + b"$"
            out.write(prefix + body + b"\n" if ended else prefix + body)
            middle = not ended
            if out.full:
                yield
    return call.status


def _numbered(call: Invocation) -> Generator[None, None, Status]:
    """`cat -n` and nothing else."""
    count = 1
    middle = False
    for source in call.inputs():
        for block in whole_lines(source.chunks(), b"\n"):
            lines = block.removesuffix(b"\n").split(b"\n")
            # A line that an earlier file began has its number.
            parts = [lines.pop(0)] if middle else []
            parts += [b"%6d\t%b" % pair for pair in enumerate(lines, count)]
            count += len(lines)
            middle = not block.endswith(b"\n")
            call.stdout.write(b"\n".join(parts) + (b"" if middle else b"\n"))
            if call.stdout.full:
                yield
    return call.status


def _visible(byte: int) -> bytes:
    """A byte in the notation of `cat -v`."""
    if byte in (9, 10):
        return bytes([byte])
    prefix = b""
    if byte >= 128:
        prefix = b"M-"
        byte -= 128
    if byte < 32:
        return prefix + b"^" + bytes([byte + 64])
    if byte == 127:
        return prefix + b"^?"
    return prefix + bytes([byte])


@utility("tac", short="brs:", long="before=b regex=r separator=s:")
def tac(call: Invocation) -> Generator[None, None, Status]:
    """Write each FILE to standard output, last line first."""
    arguments = call.arguments
    text = arguments.value("s")
    separator = b"\n" if text is None else text.encode("utf-8", "surrogateescape")
    before = arguments.has("b")
    if arguments.has("r"):
        if not separator:
            raise UsageError("separator cannot be empty", hint=False)
        pattern = re.compile(separator)
    else:
        pattern = re.compile(re.escape(separator or b"\0"))
    for name in call.operands or ["-"]:
        try:
            source = call.open(name)
        except IsADirectoryError as error:
            call.complain(f"{shell_quote(name)}: read error", error)
            continue
        except OSError as error:
            call.complain(f"failed to open {shell_quote_always(name)} for reading", error)
            continue
        with source:
            data = source.read()
        if text is None and not before and not arguments.has("r"):
            # The usual case; a last line without a newline is followed by the line before it.
            if data:
                pieces = data.split(b"\n")
                rest = pieces.pop()
                pieces.reverse()
                call.stdout.write(rest + b"\n".join(pieces) + b"\n" if pieces else rest)
            if call.stdout.full:
                yield
            continue
        ends = [match.start() if before else match.end() for match in pattern.finditer(data)]
        if before and (not ends or ends[0] != 0):
            ends.insert(0, 0)
        if not before:
            ends.insert(0, 0)
        if ends[-1] != len(data):
            ends.append(len(data))
        for start, end in zip(reversed(ends[:-1]), reversed(ends[1:]), strict=True):
            call.stdout.write(data[start:end])
            if call.stdout.full:
                yield
    return call.status


@utility("rev")
def rev(call: Invocation) -> Generator[None, None, Status]:
    """Reverse the characters of each line."""
    end = b"\n"
    for name in call.operands or ["-"]:
        try:
            source = call.open(name)
        except OSError as error:
            call.complain(f"cannot open {name}", error)
            continue
        for block in whole_lines(source.chunks(), end):
            call.stdout.write(_reversed(block, end))
            if call.stdout.full:
                yield
    return call.status


def _reversed(block: bytes, end: bytes) -> bytes:
    """Each line backwards: the whole block backwards, and its lines in order again."""
    body = block.removesuffix(end)
    backwards = body[::-1] if body.isascii() else encode(decode(body)[::-1])
    lines = backwards.split(end)
    lines.reverse()
    return end.join(lines) + block[len(body) :]


_FORMATS = {"ln": "%-*d", "rn": "%*d", "rz": "%0*d"}


class _Numbering:
    """Which lines of a section get a number."""

    def __init__(self, text: str, section: str) -> None:
        kind = text[:1]
        self.pattern: Pattern | None = None
        if kind == "p":
            self.pattern = compile_basic(text[1:])
        elif text not in ("a", "t", "n"):
            raise UsageError(f"invalid {section} numbering style: {quote(text)}")
        self.kind = kind

    def matches(self, body: bytes) -> bool:
        if self.kind == "a":
            return True
        if self.kind == "t":
            return bool(body)
        return self.pattern is not None and self.pattern.find(decode(body)) is not None


@utility(
    "nl",
    short="b:d:f:h:i:l:n:ps:v:w:",
    long="body-numbering=b: section-delimiter=d: footer-numbering=f: header-numbering=h: line-increment=i: "
    "join-blank-lines=l: number-format=n: no-renumber=p number-separator=s: starting-line-number=v: "
    "number-width=w:",
)
def nl(call: Invocation) -> Generator[None, None, Status]:
    """Write each FILE to standard output, with line numbers added."""
    arguments = call.arguments
    styles = {
        "header": _Numbering(arguments.value("h") or "n", "header"),
        "body": _Numbering(arguments.value("b") or "t", "body"),
        "footer": _Numbering(arguments.value("f") or "n", "footer"),
    }
    increment = _integer(arguments.value("i"), 1, "line number increment")
    start = _integer(arguments.value("v"), 1, "starting line number")
    width = _integer(arguments.value("w"), 6, "line number field width", lowest=1)
    blanks_joined = _integer(arguments.value("l"), 1, "line number of blank lines", lowest=1)
    form = arguments.value("n") or "rn"
    if form not in _FORMATS:
        raise UsageError(f"invalid line numbering format: {quote(form)}")
    separator = _bytes(arguments.value("s"), b"\t")
    delimiter = _bytes(arguments.value("d"), b"\\:")
    if len(delimiter) == 1:
        delimiter += b":"
    sections = {delimiter * 3: "header", delimiter * 2: "body", delimiter: "footer"} if delimiter else {}
    numbering = styles["body"]
    template = _FORMATS[form]
    empty = b" " * (width + len(separator))
    head = (template.replace("*", str(width), 1)).encode() + separator.replace(b"%", b"%%")
    number = start
    blanks = 0
    for source in call.inputs():
        for lines in batches(source.chunks(), b"\n"):
            if numbering.kind in ("a", "t") and blanks_joined == 1 and sections.keys().isdisjoint(lines):
                numbers = itertools.count(number, increment)
                every = numbering.kind == "a"
                heads = [head % next(numbers) if every or body else empty for body in lines]
                call.stdout.write(b"".join([b"%b%b\n" % pair for pair in zip(heads, lines, strict=True)]))
                number = next(numbers)
                if call.stdout.full:
                    yield
                continue
            for body in lines:
                section = sections.get(body)
                if section is not None:
                    numbering = styles[section]
                    if not arguments.has("p"):
                        number = start
                    call.stdout.write(b"\n")
                    blanks = 0
                    continue
                chosen = numbering.matches(body)
                if numbering.kind == "a" and blanks_joined > 1:
                    blanks = 0 if body else blanks + 1
                    chosen = bool(body) or blanks == blanks_joined
                    if blanks == blanks_joined:
                        blanks = 0
                if chosen:
                    call.stdout.write(head % number + body + b"\n")
                    number += increment
                else:
                    call.stdout.write(empty + body + b"\n")
            if call.stdout.full:
                yield
    return call.status


def _bytes(text: str | None, default: bytes) -> bytes:
    return default if text is None else text.encode("utf-8", "surrogateescape")


def _integer(text: str | None, default: int, what: str, lowest: int | None = None) -> int:
    if text is None:
        return default
    try:
        number = int(text)
    except ValueError:
        number = None
    if number is None:
        raise UsageError(f"invalid {what}: {quote(text)}", hint=False)
    if lowest is not None and number < lowest:
        raise UsageError(f"invalid {what}: {quote(text)}: Numerical result out of range", hint=False)
    return number
