"""Counters of a server, in the text format of Prometheus."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

__all__ = ["Metrics"]

_HELP: Final = {
    "planaria_requests_total": ("counter", "Requests, by route and status."),
    "planaria_request_seconds_total": ("counter", "Time that requests took, by route."),
    "planaria_executions_total": ("counter", "Executions, by language and outcome."),
    "planaria_execution_seconds_total": ("counter", "Time that executions took, by language."),
    "planaria_sessions_created_total": ("counter", "Sessions that were created."),
    "planaria_sessions_parked_total": ("counter", "Idle sessions that were closed, to be opened again."),
    "planaria_conflicts_total": (
        "counter",
        "States that another server was quicker to save.",
    ),
    "planaria_sessions_live": ("gauge", "Sessions in memory."),
}


class Metrics:
    """Values by name and labels."""

    def __init__(self) -> None:
        self._values: defaultdict[tuple[str, tuple[tuple[str, str], ...]], float] = defaultdict(float)

    def add(self, name: str, amount: float = 1, /, **labels: str) -> None:
        """Add to a counter."""
        self._values[name, tuple(sorted(labels.items()))] += amount

    def text(self, **gauges: float) -> str:
        """All of them, with gauges by name (without "planaria_")."""
        found: dict[str, list[str]] = {name: [] for name in _HELP}
        for (name, labels), value in sorted(self._values.items()):
            shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
            found[name].append(f"{name}{{{shown}}} {value:g}" if shown else f"{name} {value:g}")
        for name, value in gauges.items():
            found[f"planaria_{name}"].append(f"planaria_{name} {value:g}")
        lines = []
        for name, samples in found.items():
            kind, text = _HELP[name]
            lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}", *samples]
        return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
