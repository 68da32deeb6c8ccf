"""What was measured last, as `results.json` beside this file: by program, by row, for each engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict

__all__ = ["RESULTS", "Measurement", "ProgramResults", "load", "save"]

RESULTS = Path(__file__).with_name("results.json")


class Measurement(TypedDict):
    """One row: medians in seconds or bytes, or a plain number, as `unit` says."""

    unit: str
    ours: float | None
    peer: float | None


class ProgramResults(TypedDict):
    """One run of one program."""

    circumstances: str
    peer: str
    rows: dict[str, Measurement]


def load() -> dict[str, ProgramResults]:
    """All results, by the name of the program."""
    results: dict[str, ProgramResults] = json.loads(RESULTS.read_text("utf-8"))
    return results


def save(program: str, results: ProgramResults) -> None:
    """Replace the results of one program."""
    every = load() if RESULTS.exists() else {}
    every[program] = results
    RESULTS.write_text(json.dumps(every, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
