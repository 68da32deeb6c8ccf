"""The formats of `hexdump -e`: units of text and conversions, each repeated over so many bytes."""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass, field

from planaria_shell.toolkit.options import UsageError

_UNIT = re.compile(
    r'\s*(?:(?P<times>\d+)(?=[\s/])\s*)?(?:/\s*)?(?:(?P<size>\d+)(?=\s)\s*)?"(?P<text>[^"]*)"', re.ASCII
)
_CONVERSION = re.compile(r"%([-+ #0]*)(\d*)(?:\.(\d*))?(_A[dox]|_a[dox]|_[A-Za-z]?|.)", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_NAMES = re.findall(
    "...?",
    "nulsohstxetxeotenqackbelbs ht lf vt ff cr so si dledc1dc2dc3dc4naksynetbcanem subescfs gs rs us ",
)
_CHARACTERS = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}


@dataclass(slots=True)
class _Part:
    """A text, and after it at most one conversion of `size` bytes."""

    text: str
    kind: str = ""
    template: str = ""
    #: The template where there are no bytes left: blanks of the same width.
    blank: str = ""
    precision: int | None = None
    size: int = 0


@dataclass(slots=True)
class _Unit:
    parts: list[_Part]
    times: int
    fixed: bool
    #: How many bytes it is said to take.
    given: int | None = None

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts) if self.given is None else self.given


@dataclass(slots=True)
class Format:
    """One format string."""

    units: list[_Unit] = field(default_factory=list)

    @property
    def size(self) -> int:
        """How many bytes one round takes."""
        return sum(unit.size * unit.times for unit in self.units)


def parse_format(text: str) -> Format:
    """Read a format; raises UsageError."""
    result = Format()
    at = 0
    while text[at:].strip():
        found = _UNIT.match(text, at)
        if found is None:
            raise UsageError(f"bad format {{{text}}}", hint=False)
        at = found.end()
        size = int(found["size"]) if found["size"] else None
        plain = re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), found["text"])
        parts = _parts(plain, size)
        times = int(found["times"]) if found["times"] else 1
        result.units.append(_Unit(parts, times, found["times"] is not None, size))
    return result


def _parts(text: str, size: int | None) -> list[_Part]:
    parts: list[_Part] = []
    at = 0
    while at < len(text):
        start = text.find("%", at)
        if start < 0:
            parts.append(_Part(text[at:]))
            break
        found = _CONVERSION.match(text, start)
        if found is None:
            raise UsageError("bad conversion character %", hint=False)
        if size is not None and any(part.kind for part in parts):
            raise UsageError("byte count with multiple conversion characters", hint=False)
        parts.append(_part(text[at:start], found, size))
        at = found.end()
    return parts


def _part(before: str, found: re.Match[str], size: int | None) -> _Part:
    flags, width, precision, kind = found[1], found[2], found[3], found[4]
    digits = None if precision is None else int(precision or 0)
    default = 1
    allowed: tuple[int, ...] = (1,)
    if kind in "diouxX":
        default, allowed = 4, (1, 2, 4, 8)
    elif kind in "eEfgG":
        default, allowed = 8, (4, 8)
    elif kind == "s":
        if size is None and digits is None:
            raise UsageError("%s requires a precision or a byte count", hint=False)
        default = digits if size is None and digits is not None else size or 0
        allowed = (default, size or 0)
    elif kind[:2] in ("_a", "_A") and len(kind) == 3:
        default, size = 0, None
    elif kind not in ("c", "_c", "_p", "_u"):
        raise UsageError(f"bad conversion character %{kind}", hint=False)
    count = default if size is None else size
    if kind[:2] not in ("_a", "_A") and count not in allowed:
        raise UsageError(f"bad byte count for conversion character {kind}", hint=False)
    letter = kind[2] if len(kind) == 3 else "s" if kind[0] == "_" or kind in "cs" else kind
    point = "" if precision is None else f".{precision}"
    if letter == "s":
        # Only the minus means something for a text.
        flags = "-" if "-" in flags else ""
    template = f"%{flags}{width}{point}{letter}"
    return _Part(before, kind, template, f"%{width}s", digits, count)


class Dump:
    """Bytes written in several formats, block by block."""

    def __init__(self, formats: list[Format], address: int) -> None:
        self.formats = formats
        self.address = address
        self.size = max((form.size for form in formats), default=0)
        for form in formats:
            last = form.units[-1] if form.units else None
            if last is not None and last.size and not last.fixed and form.size < self.size:
                # What says no number of times is repeated until the block is used up.
                last.times += (self.size - form.size) // last.size

    def block(self, data: bytes) -> str:
        """What is written for a block, the last of which may be shorter."""
        out: list[str] = []
        padded = data + bytes(self.size - len(data))
        for form in self.formats:
            place = 0
            for unit in form.units:
                if any(part.kind.startswith("_A") for part in unit.parts):
                    break
                for left in range(unit.times, 0, -1):
                    place = self._unit(out, unit, left == 1, padded, len(data), place)
        self.address += len(data)
        return "".join(out)

    def leave_out(self, size: int) -> None:
        """Go on after bytes that are not written."""
        self.address += size

    def _unit(self, out: list[str], unit: _Unit, last: bool, data: bytes, size: int, place: int) -> int:
        for index, part in enumerate(unit.parts):
            text = part.text
            final = last and unit.times > 1 and index == len(unit.parts) - 1
            if final and not part.kind and text[-1:].isspace():
                # The blank that separates repetitions does not follow the last of them.
                text = text[:-1]
            out.append(text)
            if part.kind:
                there = place < size or part.kind.startswith("_a")
                out.append(self._shown(part, data, place) if there else part.blank % "")
                place += part.size
        return place

    def _shown(self, part: _Part, data: bytes, place: int) -> str:
        kind, piece = part.kind, data[place : place + part.size]
        if kind.startswith("_a"):
            return _number(part.template, self.address + place)
        if kind in "diouxX":
            value = int.from_bytes(piece, "little", signed=kind in "di")
            return _number(part.template, value)
        if kind in "eEfgG":
            real = struct.unpack("<f" if part.size == 4 else "<d", piece)[0]
            if real - real != 0.0:
                name = "nan" if real != real else "inf"
                sign = "-" if math.copysign(1.0, real) < 0 else ""
                return f"%{part.template[1:].partition('.')[0].rstrip('eEfgG').lstrip('0')}s" % (sign + name)
            return str(part.template % real)
        if kind == "s":
            return part.template % data[place:].partition(b"\0")[0].decode("latin-1")
        byte = piece[0]
        if kind == "c":
            return part.template % chr(byte)
        visible = 32 <= byte < 127
        if kind == "_p":
            return part.template % (chr(byte) if visible else ".")
        if kind == "_u":
            name = "del" if byte == 127 else _NAMES[byte].strip() if byte < 32 else f"{byte:02x}"
            return part.template % (chr(byte) if visible else name)
        return part.template % (chr(byte) if visible else _CHARACTERS.get(byte, f"{byte:03o}"))

    def end(self) -> str:
        """What is written after all bytes: the units with `%_A`."""
        if not self.address:
            return ""
        for form in reversed(self.formats):
            for unit in reversed(form.units):
                if any(part.kind.startswith("_A") for part in unit.parts):
                    return "".join(
                        part.text + (_number(part.template, self.address) if part.kind else "")
                        for part in unit.parts
                    )
        return ""


def _number(template: str, value: int) -> str:
    if "#" in template and template.endswith("o"):
        return template.replace("#", "")[:-1].join(("", "s")) % f"0{value:o}"
    return template % value
