"""`co_lnotab` of code objects, which CPython 3.15 no longer has and packages for earlier versions read."""

from __future__ import annotations

import gc
import warnings
from types import CodeType

__all__ = ["install", "line_number_table"]


def line_number_table(code: CodeType) -> bytes:
    """The line numbers of a code object as CPython up to 3.14 gives them: pairs of a number of bytes of
    bytecode and a number of lines (Objects/lnotab_notes.txt of CPython 3.9).
    """
    table = bytearray()
    address, line = 0, code.co_firstlineno
    for start, _end, current in code.co_lines():
        if current is None or current == line:
            continue
        bytes_on, lines_on = start - address, current - line
        address, line = start, current
        while bytes_on > 255:
            table += b"\xff\x00"
            bytes_on -= 255
        while not -128 <= lines_on <= 127:
            step = 127 if lines_on > 0 else -128
            table += bytes((bytes_on, step & 255))
            bytes_on, lines_on = 0, lines_on - step
        table += bytes((bytes_on, lines_on & 255))
    return bytes(table)


def _deprecated(code: CodeType) -> bytes:
    warnings.warn("co_lnotab is deprecated, use co_lines instead.", DeprecationWarning, stacklevel=2)
    return line_number_table(code)


def install() -> None:
    """Give code objects the attribute where they have none."""
    # Not hasattr(): CPython remembers that it has found nothing.
    if "co_lnotab" in vars(CodeType):
        return
    # The dictionary behind the proxy: attributes of a built-in type cannot be assigned.
    attributes = next(one for one in gc.get_referents(CodeType.__dict__) if isinstance(one, dict))
    attributes["co_lnotab"] = property(_deprecated)
