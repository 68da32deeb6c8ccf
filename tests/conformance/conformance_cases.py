"""Where the cases are."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["CASES", "case_file"]

_DIRECTORY = os.environ.get("PLANARIA_CONFORMANCE_CASES")
CASES = Path(_DIRECTORY).resolve() if _DIRECTORY else None


def case_file(name: str) -> Path:
    """A file below the directory of the cases; a directory without it is an error."""
    assert CASES is not None, "PLANARIA_CONFORMANCE_CASES is not set"
    path = CASES / name
    if not path.exists():
        raise FileNotFoundError(f"PLANARIA_CONFORMANCE_CASES={CASES} has no {name}")
    return path
