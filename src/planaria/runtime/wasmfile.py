"""Reading and rewriting a WebAssembly binary: just what the guest's module needs before it is compiled.

The format is that of https://webassembly.github.io/spec/core/binary/modules.html, and of its appendix for
the name section. Nothing here executes code; a file that is not well formed raises `ValueError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

__all__ = [
    "Export",
    "ExternKind",
    "ModuleSection",
    "WasmFile",
    "decode_uleb",
    "encode_padded",
    "encode_sleb",
    "encode_uleb",
    "end_of_locals",
]

_MAGIC: Final = b"\0asm\x01\0\0\0"
_STUB: Final = b"\x03\x00\x00\x0b"  # a body of three bytes: no locals, `unreachable`, `end`


class _SectionId(IntEnum):
    CUSTOM = 0
    IMPORT = 2
    GLOBAL = 6
    EXPORT = 7
    ELEMENT = 9
    CODE = 10
    DATA = 11


class ExternKind(IntEnum):
    """What an import or export refers to."""

    FUNCTION = 0
    TABLE = 1
    MEMORY = 2
    GLOBAL = 3
    TAG = 4


@dataclass(frozen=True, slots=True)
class ModuleSection:
    """One section: its id and where its contents lie in the file, in bytes."""

    id: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Export:
    """An item to append to the export section."""

    name: str
    kind: ExternKind
    index: int


def decode_uleb(data: bytes, position: int) -> tuple[int, int]:
    """Read an unsigned LEB128 number; returns it and the position after it."""
    value = shift = 0
    try:
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, position
            shift += 7
            if shift > 63:
                raise ValueError(f"number at byte {position} is longer than 64 bits")
    except IndexError:
        raise ValueError("the file ends within a number") from None


def end_of_locals(body: bytes) -> int:
    """Where a function's instructions begin, after the declarations of its locals."""
    groups, position = decode_uleb(body, 0)
    for _ in range(groups):
        position = decode_uleb(body, position)[1] + 1
    return position


def _decode_sleb(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value - (1 << shift) if byte & 0x40 else value), position


def encode_uleb(value: int) -> bytes:
    """Write an unsigned LEB128 number in as few bytes as it takes."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_sleb(value: int) -> bytes:
    """Write a signed LEB128 number in as few bytes as it takes."""
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value & 0x7F)
    return bytes(out)


def encode_padded(value: int) -> bytes:
    """Write an unsigned number as the linker fills them in: LEB128 of five bytes, whatever its value."""
    return bytes([*((value >> shift & 0x7F | 0x80) for shift in (0, 7, 14, 21)), value >> 28])


class WasmFile:
    """A module in memory, with the indices of its parts; `rewrite` makes a changed copy."""

    def __init__(self, data: bytes) -> None:
        if data[:8] != _MAGIC:
            raise ValueError("not a WebAssembly module of version 1")
        self.data: Final = data
        self.sections: Final = tuple(self._sections())

    def _sections(self) -> Iterator[ModuleSection]:
        position = 8
        while position < len(self.data):
            identifier = self.data[position]
            size, start = decode_uleb(self.data, position + 1)
            position = start + size
            if position > len(self.data):
                raise ValueError(f"section {identifier} at byte {start} is longer than the file")
            yield ModuleSection(identifier, start, position)

    def _find(self, identifier: int) -> ModuleSection | None:
        return next((section for section in self.sections if section.id == identifier), None)

    def _name(self, position: int) -> tuple[str, int]:
        length, position = decode_uleb(self.data, position)
        return self.data[position : position + length].decode("utf-8"), position + length

    def _custom_name(self, section: ModuleSection) -> tuple[str, int]:
        return self._name(section.start) if section.id == _SectionId.CUSTOM else ("", section.start)

    # -- reading -----------------------------------------------------------------------------------

    def imports(self) -> list[tuple[str, str, ExternKind]]:
        """Module, name and kind of every import, in order."""
        section = self._find(_SectionId.IMPORT)
        if section is None:
            return []
        count, position = decode_uleb(self.data, section.start)
        found = []
        for _ in range(count):
            module, position = self._name(position)
            name, position = self._name(position)
            kind = ExternKind(self.data[position])
            position = self._skip_import_type(kind, position + 1)
            found.append((module, name, kind))
        return found

    def _skip_import_type(self, kind: ExternKind, position: int) -> int:
        if kind is ExternKind.FUNCTION:
            return decode_uleb(self.data, position)[1]
        if kind is ExternKind.GLOBAL:
            return position + 2
        if kind is ExternKind.TAG:
            return decode_uleb(self.data, position + 1)[1]
        if kind is ExternKind.TABLE:
            position += 1
        flags, position = decode_uleb(self.data, position)
        for _ in range(2 if flags & 1 else 1):
            position = decode_uleb(self.data, position)[1]
        return position

    def imported_functions(self) -> int:
        """How many functions are imported; the first function with a body has this index."""
        return sum(kind is ExternKind.FUNCTION for _, _, kind in self.imports())

    def exports(self) -> list[Export]:
        """What the module exports, in order."""
        section = self._find(_SectionId.EXPORT)
        if section is None:
            return []
        count, position = decode_uleb(self.data, section.start)
        found = []
        for _ in range(count):
            name, position = self._name(position)
            kind = ExternKind(self.data[position])
            index, position = decode_uleb(self.data, position + 1)
            found.append(Export(name, kind, index))
        return found

    def names(self, kind: ExternKind = ExternKind.FUNCTION) -> dict[str, int]:
        """Names to indices from the name section, of functions or globals; the first of equals wins."""
        return {name: index for index, name in reversed(self.named(kind))}

    def named(self, kind: ExternKind = ExternKind.FUNCTION) -> list[tuple[int, str]]:
        """Indices and names as the name section lists them; empty without one."""
        wanted = {ExternKind.FUNCTION: 1, ExternKind.GLOBAL: 7}[kind]
        data = self.data
        for section in self.sections:
            name, position = self._custom_name(section)
            if name != "name":
                continue
            while position < section.end:
                subsection = data[position]
                size, position = decode_uleb(data, position + 1)
                if subsection == wanted:
                    return self._name_map(position)
                position += size
        return []

    def _name_map(self, position: int) -> list[tuple[int, str]]:
        data = self.data
        count, position = decode_uleb(data, position)
        found = []
        for _ in range(count):
            index, position = decode_uleb(data, position)
            length, position = decode_uleb(data, position)
            found.append((index, data[position : position + length].decode("utf-8", "replace")))
            position += length
        return found

    def function_table(self) -> dict[int, int]:
        """Which function each slot of table 0 holds, from the active element segments of plain indices."""
        section = self._find(_SectionId.ELEMENT)
        if section is None:
            return {}
        table: dict[int, int] = {}
        count, position = decode_uleb(self.data, section.start)
        for _ in range(count):
            flags, position = decode_uleb(self.data, position)
            if flags != 0:
                raise ValueError(f"element segment of kind {flags} is not supported")
            slot, position = self._constant(position)
            length, position = decode_uleb(self.data, position)
            for offset in range(length):
                function, position = decode_uleb(self.data, position)
                table[slot + offset] = function
        return table

    def _constant(self, position: int) -> tuple[int, int]:
        if self.data[position] != 0x41:  # i32.const
            raise ValueError(f"offset at byte {position} is not a constant")
        value, position = _decode_sleb(self.data, position + 1)
        if self.data[position] != 0x0B:
            raise ValueError(f"offset at byte {position} is not a single constant")
        return value & 0xFFFFFFFF, position + 1

    def data_segments(self) -> list[tuple[int, memoryview]]:
        """Address in memory and contents of every active data segment of memory 0."""
        section = self._find(_SectionId.DATA)
        if section is None:
            return []
        view = memoryview(self.data)
        segments = []
        count, position = decode_uleb(self.data, section.start)
        for _ in range(count):
            flags, position = decode_uleb(self.data, position)
            address = 0
            if flags == 0:
                address, position = self._constant(position)
            elif flags == 2:
                raise ValueError("more than one memory is not supported")
            size, position = decode_uleb(self.data, position)
            if flags == 0:
                segments.append((address, view[position : position + size]))
            position += size
        return segments

    def functions(self) -> Iterator[tuple[int, int, int]]:
        """Index, start and end (with its length prefix) of every function's body."""
        section = self._find(_SectionId.CODE)
        if section is None:
            return
        data = self.data
        count, position = decode_uleb(data, section.start)
        for index in range(self.imported_functions(), self.imported_functions() + count):
            size, body = decode_uleb(data, position)
            yield index, position, body + size
            position = body + size

    def calls(self, start: int, end: int) -> list[int]:
        """What look like direct calls in the bytes of a body: every 0x10 (`call`) and the number after it."""
        found = []
        position = self.data.find(0x10, start, end)
        while position != -1:
            found.append(decode_uleb(self.data, position + 1)[0])
            position = self.data.find(0x10, position + 1, end)
        return found

    # -- writing -----------------------------------------------------------------------------------

    def rewrite(
        self,
        *,
        exports: Sequence[Export] = (),
        stub: Iterable[range] = (),
        bodies: Mapping[int, bytes] | None = None,
        drop_custom: Sequence[str] = (),
    ) -> bytes:
        """A copy with more exports, stubbed and changed functions, and without some custom sections.

        `stub` are ranges of function indices whose bodies become `unreachable` and whose slots in the table
        become empty. `bodies` are other bodies by function index, without their length prefix. All indices,
        slots and data stay as they are, so memory is interchangeable between the original and the copy.
        """
        ranges = list(stub)
        bodies = bodies or {}
        out = [_MAGIC]
        for section in self.sections:
            name, _ = self._custom_name(section)
            if section.id == _SectionId.CUSTOM and name in drop_custom:
                continue
            contents: Sequence[bytes | memoryview] = [memoryview(self.data)[section.start : section.end]]
            if section.id == _SectionId.EXPORT and exports:
                contents = self._more_exports(section, exports)
            elif section.id == _SectionId.CODE and (ranges or bodies):
                contents = self._replaced(section, ranges, bodies)
            elif section.id == _SectionId.ELEMENT and ranges:
                contents = [self._emptied_table(ranges)]
            out += [bytes([section.id]), encode_uleb(sum(map(len, contents))), *contents]  # type: ignore[list-item]
        return b"".join(out)

    def _more_exports(self, section: ModuleSection, exports: Sequence[Export]) -> list[bytes | memoryview]:
        count, position = decode_uleb(self.data, section.start)
        taken = {export.name for export in self.exports()}
        added = bytearray()
        for export in exports:
            if export.name in taken:
                raise ValueError(f"{export.name!r} is exported already")
            taken.add(export.name)
            name = export.name.encode()
            added += encode_uleb(len(name)) + name + bytes([export.kind]) + encode_uleb(export.index)
        return [
            encode_uleb(count + len(exports)),
            memoryview(self.data)[position : section.end],
            bytes(added),
        ]

    def _replaced(
        self, section: ModuleSection, ranges: Sequence[range], bodies: Mapping[int, bytes]
    ) -> list[bytes | memoryview]:
        view = memoryview(self.data)
        count, _ = decode_uleb(self.data, section.start)
        out: list[bytes | memoryview] = [encode_uleb(count)]
        for index, start, end in self.functions():
            if any(index in stubbed for stubbed in ranges):
                out.append(_STUB)
            elif index in bodies:
                out += [encode_uleb(len(bodies[index])), bodies[index]]
            else:
                out.append(view[start:end])
        return out

    def _emptied_table(self, ranges: Sequence[range]) -> bytes:
        """The element section without stubbed functions, one segment for each run of slots that stay.

        A function in the table may be called from anywhere, for which the compiler makes an entry of its own:
        leaving these out makes the compile shorter by a quarter. The slots keep their numbers.
        """
        runs: list[tuple[int, bytearray, int]] = []
        previous = -2
        for slot, function in sorted(self.function_table().items()):
            if any(function in stubbed for stubbed in ranges):
                continue
            if slot != previous + 1:
                runs.append((slot, bytearray(), 0))
            first, functions, length = runs[-1]
            functions += encode_uleb(function)
            runs[-1] = first, functions, length + 1
            previous = slot
        out = bytearray(encode_uleb(len(runs)))
        for first, functions, length in runs:
            out += b"\0\x41" + encode_sleb(first) + b"\x0b" + encode_uleb(length) + functions
        return bytes(out)
