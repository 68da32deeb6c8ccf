"""Processors that native code is made for ahead of time, other than the one of this computer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["TARGETS", "Target"]


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of processor, under Linux."""

    triple: str
    """As compilers name it."""
    machine: str
    """As uname(2) names it."""
    features: Mapping[str, str]
    """What it has beyond the least of its kind: the flags of proc_cpuinfo(5), and Cranelift's for each."""


#: The levels of the x86-64 psABI
_LEVEL_2: Final = {
    "cx16": "has_cmpxchg16b",
    "pni": "has_sse3",
    "popcnt": "has_popcnt",
    "sse4_1": "has_sse41",
    "sse4_2": "has_sse42",
    "ssse3": "has_ssse3",
}
_LEVEL_3: Final = {
    **_LEVEL_2,
    "abm": "has_lzcnt",
    "avx": "has_avx",
    "avx2": "has_avx2",
    "bmi1": "has_bmi1",
    "bmi2": "has_bmi2",
    "fma": "has_fma",
}

#: By name, as an argument of tools/build_native.py.
TARGETS: Final = {
    "x86-64-v2": Target("x86_64-unknown-linux-gnu", "x86_64", _LEVEL_2),
    "x86-64-v3": Target("x86_64-unknown-linux-gnu", "x86_64", _LEVEL_3),
    "aarch64": Target("aarch64-unknown-linux-gnu", "aarch64", {}),
}
