"""A session of a notebook, with the cells that led to its present state."""

from __future__ import annotations

from dataclasses import dataclass, field

from planaria.errors import SessionError
from planaria.session._async.session import AsyncSession

__all__ = ["Branch"]


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell of the notebook that has executed something, and how many executions there were before and after
    it. Messages of widgets are executions between cells.
    """

    number: int
    before: int
    after: int


@dataclass(slots=True)
class Branch:
    """A session, and its cells, the oldest first."""

    session: AsyncSession
    cells: list[_Cell] = field(default_factory=list)
    undone: list[tuple[_Cell, int]] = field(default_factory=list)
    """For `redo`, the next one last: cells, and how many executions there were when the next one began."""
    labels: dict[str, list[_Cell]] = field(default_factory=dict)
    """The cells that led to the checkpoints."""
    _is_attached: bool = False

    async def fork(self) -> Branch:
        """A running copy."""
        (session,) = await self.session.fork()
        return self.around(session)

    def around(self, session: AsyncSession) -> Branch:
        """The same cells with another session, which is a fork of this one."""
        return Branch(session, list(self.cells), [], dict(self.labels), self._is_attached)

    async def attach(self) -> None:
        """Have the code know, once, that a front end shows what it does."""
        if not self._is_attached:
            await self.session._ask(lambda engine: engine.ask("configure", {"front_end": True}))
            self._is_attached = True

    def add(self, number: int, before: int) -> None:
        """The cell of that number has ended, before which there were so many executions."""
        after = self.session.execution_count
        if after > before:
            self.cells.append(_Cell(number, before, after))
            self.undone.clear()

    def numbers(self) -> dict[int, int]:
        """The numbers of the cells, by how many executions there were after them."""
        return {cell.after: cell.number for cell in self.cells}

    async def undo(self, count: int) -> None:
        """Take back the last cells, and what widgets have done since. Raises SessionError."""
        if count > len(self.cells):
            raise SessionError(f"%undo {count}: there are {len(self.cells)} cells to take back")
        first, present = len(self.cells) - count, self.session.execution_count
        await self.session.undo(present - self.cells[first].before)
        undone = self.cells[first:]
        ends = [*(cell.before for cell in undone[1:]), present]
        self.undone += reversed(list(zip(undone, ends, strict=True)))
        del self.cells[first:]

    async def redo(self) -> None:
        """Bring back the first of the cells that were taken back. Raises SessionError."""
        if not self.undone:
            raise SessionError("there is nothing to redo")
        while self.session.execution_count < self.undone[-1][1]:
            await self.session.redo()
        # Where states were not kept, several come back at once.
        while self.undone and self.undone[-1][1] <= self.session.execution_count:
            self.cells.append(self.undone.pop()[0])

    async def checkpoint(self, label: str) -> None:
        """Keep the present state under a label."""
        await self.session.checkpoint(label)
        self.labels[label] = list(self.cells)

    async def rewind(self, place: str) -> None:
        """Go back to a checkpoint by its label, or to the state after a cell by its number.

        Raises SessionError.
        """
        if place.isdecimal():
            cells = [cell for cell in self.cells if cell.number <= int(place)]
            if not cells or cells[-1].number != int(place):
                raise SessionError(f"%rewind {place}: there is no cell {place} to go back to")
            await self.session.rewind(cells[-1].after)
        else:
            await self.session.rewind(place)
            cells = list(self.labels[place])
        self.cells = cells
        self.undone.clear()

    async def reset(self) -> None:
        """Start again."""
        await self.session.reset()
        self._is_attached = False
        self.cells.clear()
        self.undone.clear()
