"""What was executed, for front ends that ask for it."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["ExecutedCells"]

#: Cells that are kept.
_MOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Cell:
    session: int
    number: int
    source: str
    output: str | None


class ExecutedCells:
    """The cells of this kernel, the oldest first; a kernel that was reset begins another session."""

    def __init__(self) -> None:
        self._cells: list[_Cell] = []
        self.session = 1

    def add(self, number: int, source: str, output: str | None) -> None:
        """Keep a cell and the text of its value."""
        self._cells.append(_Cell(self.session, number, source, output))
        del self._cells[:-_MOST]

    def answer(self, request: dict[str, Any]) -> list[Any]:
        """What a `history_request` asks for: (session, number, source or (source, output))."""
        kind = request.get("hist_access_type")
        if kind == "range":
            found = self._range(request)
        elif kind == "search":
            found = self._search(request)
        else:
            found = self._cells
        most = request.get("n")
        if kind != "range" and isinstance(most, int):
            found = found[-most:] if most > 0 else []
        if request.get("output"):
            return [(cell.session, cell.number, (cell.source, cell.output)) for cell in found]
        return [(cell.session, cell.number, cell.source) for cell in found]

    def _range(self, request: dict[str, Any]) -> list[_Cell]:
        session = request.get("session") or 0
        if session <= 0:
            session += self.session
        start, stop = request.get("start") or 0, request.get("stop")
        return [
            cell
            for cell in self._cells
            if cell.session == session and start <= cell.number and (stop is None or cell.number < stop)
        ]

    def _search(self, request: dict[str, Any]) -> list[_Cell]:
        pattern = request.get("pattern") or "*"
        found = [cell for cell in self._cells if fnmatch.fnmatchcase(cell.source, pattern)]
        if request.get("unique"):
            found = list({cell.source: cell for cell in found}.values())
        return found
