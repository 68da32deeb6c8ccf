"""Awaiting a call in a test without an event loop."""

from __future__ import annotations

import asyncio
from typing import Any


def wait(value: Any) -> Any:
    """What an awaitable gives."""

    async def waiting() -> Any:
        return await value

    return asyncio.run(waiting())
