"""Sizes with units, read and written as GNU coreutils do."""

from __future__ import annotations

import re

__all__ = ["block_size", "human_size", "parse_count", "parse_size"]

_POWERS = "KMGTPEZYRQ"
_NUMBER = re.compile(r"(\d*)([A-Za-z]*)")


def _multiplier(suffix: str) -> int:
    """What `K`, `kB`, `MiB`, `b` … stand for; raises ValueError."""
    if not suffix:
        return 1
    if suffix == "b":
        return 512
    if suffix in ("c", "w"):
        return 1 if suffix == "c" else 2
    power = _POWERS.find(suffix[0].upper()) + 1
    rest = suffix[1:]
    if not power or rest not in ("", "B", "iB") or (suffix[0] in "mgtpezyrq" and suffix[0] not in "mgt"):
        raise ValueError(suffix)
    return int((1000 if rest == "B" else 1024) ** power)


def parse_size(text: str, allowed: str = "bEGKkMmPTYZ0") -> int:
    """The number of bytes that `10`, `1K`, `2kB`, `3MiB` or `4b` means.

    `allowed` are the first letters of suffixes that the command knows. Raises ValueError.
    """
    match = _NUMBER.fullmatch(text)
    if match is None or not text:
        raise ValueError(text)
    digits, suffix = match.groups()
    if suffix and suffix[0] not in allowed:
        raise ValueError(text)
    if not digits and not suffix:
        raise ValueError(text)
    return int(digits or "1") * _multiplier(suffix)


def parse_count(text: str) -> int:
    """A plain decimal number without a sign; raises ValueError."""
    if not text.isascii() or not text.isdigit():
        raise ValueError(text)
    return int(text)


def human_size(size: int, base: int = 1024, unit: int = 1) -> str:
    """`1.5K`, `23M`: rounded up, one decimal below ten; `size` counts units of `unit` bytes."""
    number = size * unit
    if number < base:
        return str(number)
    power = 0
    scale = 1
    while number >= scale * base and power < len(_POWERS):
        scale *= base
        power += 1
    tenths = -(-number * 10 // scale)
    if tenths >= 100:
        whole = -(-number // scale)
        if whole >= base and power < len(_POWERS):
            return "1.0" + _letter(power + 1, base)
        return f"{whole}{_letter(power, base)}"
    return f"{tenths // 10}.{tenths % 10}{_letter(power, base)}"


def _letter(power: int, base: int) -> str:
    return "k" if power == 1 and base == 1000 else _POWERS[power - 1]


def block_size(text: str) -> tuple[int, str, int]:
    """What `--block-size=TEXT` means: size of a block, suffix to print, base when human (else 0).

    Raises ValueError.
    """
    if text == "human-readable":
        return 1, "", 1024
    if text == "si":
        return 1, "", 1000
    size = parse_size(text)
    if not size:
        raise ValueError(text)
    suffix = "" if text[0].isdigit() else text
    return size, suffix, 0
