"""The functions that sessions of these tests have as tools, and how code is executed."""

from __future__ import annotations

import asyncio
from typing import Any

from planaria import Session


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


async def slowly(text: str) -> str:
    """Say it in a moment."""
    await asyncio.sleep(0.01)
    return text


def raising(kind: str) -> None:
    """Raise a builtin exception."""
    raise getattr(__import__("builtins"), kind)("on purpose")


TOOLS = (add, slowly, raising)


def value(session: Session, code: str) -> Any:
    return session.execute(code, timeout=300).value
