"""A result as one JSON object, for other programs: `planaria run --json`, MCP clients."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from planaria.errors import PlanariaError
from planaria.network.policy import NetworkRequest
from planaria.session.result import Output, Result

__all__ = ["Report", "as_json"]

Report: TypeAlias = dict[str, Any]


def as_json(result: Result, exit_code: int) -> Report:
    """The fields of a result; `value` is null when JSON cannot say it exactly, which `repr` then shows."""
    return {
        "ok": result.is_ok,
        "exit_code": exit_code,
        "value": _exact(result.value),
        "repr": result.repr,
        "stdout": result.stdout,
        "stderr": result.stderr,
        "error": None if result.error is None else _error(result.error),
        "outputs": [_output(output) for output in result.outputs],
        "requests": [_request(request) for request in result.requests],
        "duration_ms": round(result.duration_ms, 3),
        "execution_count": result.execution_count,
        "callback_invocations": result.callback_invocations,
        "peak_memory_bytes": result.peak_memory_bytes,
        "stdout_truncated": result.stdout_truncated,
        "stderr_truncated": result.stderr_truncated,
    }


def _exact(value: Any) -> Any:
    """The value, if reading its JSON gives the same value again."""
    try:
        same = json.loads(json.dumps(value, allow_nan=False))
        return same if type(same) is type(value) and same == value else None
    except (TypeError, ValueError, RecursionError):
        return None


def _error(error: PlanariaError) -> dict[str, Any]:
    return {
        "type": error.type,
        "message": error.message,
        "traceback": error.traceback,
        "lineno": error.lineno,
    }


def _request(request: NetworkRequest) -> dict[str, Any]:
    return {
        "method": request.method,
        "url": request.url,
        "status": request.status,
        "bytes_sent": request.bytes_sent,
        "bytes_received": request.bytes_received,
        "duration_ms": round(request.duration_ms, 3),
        "allowed": request.allowed,
        "reason": request.reason,
    }


def _output(output: Output) -> dict[str, Any]:
    data, metadata = output._repr_mimebundle_()  # bytes as base64, as in notebooks
    return {"data": data, "metadata": metadata, "is_value": output.is_value}
