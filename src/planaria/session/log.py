"""The log of sessions, `planaria.session`."""

from __future__ import annotations

import logging
from typing import Final

from planaria.session.execution_state import Stop
from planaria.session.result import Result

__all__ = ["log", "log_end"]

log: Final = logging.getLogger("planaria.session")
log.addHandler(logging.NullHandler())


def log_end(session: int, result: Result, stop: Stop) -> None:
    """Log how an execution of a session ended: a stop or crash as a warning, other ends for debugging."""
    error = result.error
    is_stopped = stop.reason is not None or stop.crash is not None
    log.log(
        logging.WARNING if is_stopped else logging.DEBUG,
        "session %#x execution %d: %s in %.1f ms, %d callbacks, %d MiB",
        *(session, result.execution_count),
        # The text of an exception is the code's, and stays out of the log.
        str(error) if is_stopped else "ok" if error is None else error.type,
        *(result.duration_ms, result.callback_invocations, result.peak_memory_bytes >> 20),
        extra={
            "session": f"{session:#x}",
            "execution": result.execution_count,
            "outcome": "ok" if error is None else error.type,
            "duration_ms": result.duration_ms,
            "callbacks": result.callback_invocations,
            "memory": result.peak_memory_bytes,
        },
    )
