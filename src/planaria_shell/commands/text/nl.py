"""`nl`: write each FILE to standard output, with line numbers added."""

from __future__ import annotations

import itertools
from collections.abc import Generator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.lines import batches
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.regex.posix import Pattern, compile_basic
from planaria_shell.toolkit.streams import decode

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


@command(
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
