"""What is worked out from the status of a file."""

from __future__ import annotations

import os

__all__ = ["blocks_of", "device_parts"]


def blocks_of(status: os.stat_result) -> int:
    """Blocks of 512 bytes that a file takes; where the system does not say, whole pages of its size."""
    blocks = getattr(status, "st_blocks", None)
    if blocks is None or not hasattr(os, "geteuid"):
        return -(-status.st_size // 4096) * 8
    return int(blocks)


def device_parts(number: int) -> tuple[int, int]:
    """Major and minor of a device number, as Linux packs them (the guest has no os.major)."""
    major = (number >> 8 & 0xFFF) | (number >> 32 & ~0xFFF)
    return major, (number & 0xFF) | (number >> 12 & ~0xFF) & 0xFFFFFFFF
