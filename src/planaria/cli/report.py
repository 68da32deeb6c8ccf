"""What is reported of a result: its pictures as files, and all of it as JSON for `planaria run --json`."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any, Final

from planaria.errors import PlanariaError
from planaria.session.result import Output, Result

__all__ = ["as_json", "save", "shows_picture"]

#: The types that are worth a file, the best one first.
_SUFFIXES: Final = {
    "image/png": ".png",
    "image/svg+xml": ".svg",
    "image/jpeg": ".jpg",
    "application/pdf": ".pdf",
}


def as_json(result: Result, exit_code: int) -> dict[str, Any]:
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
        "type": getattr(error, "type", type(error).__name__),
        "message": getattr(error, "message", str(error)),
        "traceback": getattr(error, "traceback", ""),
        "lineno": getattr(error, "lineno", None),
    }


def _output(output: Output) -> dict[str, Any]:
    data, metadata = output._repr_mimebundle_()  # bytes as base64, as in notebooks
    return {"data": data, "metadata": metadata, "is_value": output.is_value}


def shows_picture(output: Output) -> bool:
    """Whether an output is best shown as a picture."""
    return any(mime in output.data for mime in _SUFFIXES)


def save(output: Output, directory: Path) -> Path:
    """Save a picture as the next free figure-N in `directory`, created if needed; nothing is overwritten."""
    mime = next(mime for mime in _SUFFIXES if mime in output.data)
    content = output.data[mime]
    data = content if isinstance(content, bytes) else str(content).encode()
    directory.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        path = directory / f"figure-{number}{_SUFFIXES[mime]}"
        try:
            with path.open("xb") as file:
                file.write(data)
        except FileExistsError:
            continue
        return path
    raise AssertionError("count() does not end")
