"""The order of version numbers in names: `sort -V`, `ls -v` (GNU filevercmp)."""

from __future__ import annotations

import re

__all__ = ["version_key"]

_SUFFIX = re.compile(rb"(?:\.[A-Za-z~][A-Za-z0-9~]*)*\Z")
_RUN = re.compile(rb"([^0-9]*)([0-9]*)")

#: `~` comes before the end, the end before a digit, a digit before letters, letters before the rest.
_TILDE, _END, _DIGIT = -2, -1, 0
_ORDER = [_TILDE if byte == 0x7E else byte if bytes([byte]).isalpha() else byte + 256 for byte in range(256)]


def _runs(text: bytes) -> tuple[int, ...]:
    key: list[int] = []
    for other, digits in _RUN.findall(text):
        key += [_ORDER[byte] for byte in other]
        if digits:
            key.append(_DIGIT)
            key.append(int(digits))
    key.append(_END)
    return tuple(key)


def version_key(name: bytes) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """A key that sorts names by the version numbers in them; hidden names come first."""
    if not name:
        return (0, (), ())
    if name == b".":
        return (1, (), ())
    if name == b"..":
        return (2, (), ())
    match = _SUFFIX.search(name, 1)
    cut = match.start() if match else len(name)
    return (3 if name[0] == 0x2E else 4, _runs(name[:cut]), _runs(name))
