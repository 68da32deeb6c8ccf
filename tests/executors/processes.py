"""Sessions in child processes, and the processes themselves."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from planaria import (
    Session,
    SubprocessConfig,
    SubprocessExecutor,
)


def new(config: SubprocessConfig | None = None, **arguments: Any) -> Session:
    return Session(executor=SubprocessExecutor(config), **arguments)


def process_of(session: Session) -> int:
    return int(session.execute("import os\nos.getpid()").value)


def is_alive(process: int) -> bool:
    try:
        text = Path(f"/proc/{process}/stat").read_text("ascii", "replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in ("Z", "X")


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "it did not come about within 20 s"
        time.sleep(0.01)
