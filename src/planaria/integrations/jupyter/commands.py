"""Cells that are for the kernel rather than its code: `%undo`, `%checkpoint`, `%fork`, `%%parallel` …

Only the command and its arguments are read here. What the code is, the sandbox finds out.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from planaria.errors import ExecutionError, PlanariaError, SessionError
from planaria.integrations.jupyter.branch import Branch
from planaria.integrations.jupyter.outputs import Outputs
from planaria.session._async.session import AsyncSession
from planaria.session.result import Result

__all__ = ["Command", "Commands", "Shown"]

_LINE: Final = re.compile(r"\s*%(\w+)([^\n]*)\s*")
_CELL: Final = re.compile(r"\s*%%parallel\b([^\n]*)\n(.*)", re.DOTALL)
#: Forks that a `%%parallel` cell may have.
_MOST_FORKS: Final = 64


@dataclass(frozen=True, slots=True)
class Command:
    """What a cell says to the kernel."""

    name: str
    arguments: tuple[str, ...]
    body: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a command prints."""

    text: str


class Commands:
    """The sessions of a kernel: the one that cells run in, and the copies that were kept of it."""

    def __init__(self, session: AsyncSession, outputs: Outputs) -> None:
        self._branch = Branch(session)
        self._outputs = outputs
        #: The number of the present cell, and how many executions there were before it.
        self._cell = 0, 0
        self._name = "main"
        self._kept: dict[str, Branch] = {}
        #: The forks of the last `%%parallel`, until one is chosen.
        self._forks: list[AsyncSession] = []
        self._usage: dict[str, tuple[str, Callable[..., Awaitable[Shown | None]]]] = {
            "undo": ("%undo [N]", self._undo),
            "redo": ("%redo", self._redo),
            "checkpoint": ("%checkpoint LABEL", self._checkpoint),
            "rewind": ("%rewind LABEL|N", self._rewind),
            "history": ("%history", self._history),
            "fork": ("%fork NAME", self._fork),
            "switch": ("%switch NAME", self._switch),
            "forks": ("%forks", self._list_forks),
            "choose": ("%choose K", self._choose),
            "reset_session": ("%reset_session", self._reset),
        }

    @property
    def session(self) -> AsyncSession:
        """The session that cells run in now."""
        return self._branch.session

    async def attach(self) -> None:
        """See `Branch.attach`."""
        await self._branch.attach()

    def begin_cell(self, number: int) -> None:
        """A cell of the notebook begins, with its number."""
        self._cell = number, self.session.execution_count

    def end_cell(self) -> None:
        """A cell that is code has ended: it can be taken back."""
        self._branch.add(*self._cell)

    def parse(self, code: str) -> Command | None:
        """What a cell says to the kernel; None when it is code."""
        cell = _CELL.fullmatch(code)
        if cell is not None:
            return Command("parallel", tuple(cell[1].split()), cell[2])
        line = _LINE.fullmatch(code)
        if line is None or line[1] not in self._usage:
            return None
        try:
            return Command(line[1], tuple(shlex.split(line[2])))
        except ValueError as error:
            raise SessionError(f"%{line[1]}: {error}") from None

    async def obey(self, command: Command) -> Shown | None:
        """Do what a command says. Raises SessionError when it was not understood or cannot be done."""
        if command.name == "parallel":
            return await self._parallel(command.arguments, command.body)
        usage, act = self._usage[command.name]
        parameters = usage.split()[1:]
        least = sum(not parameter.startswith("[") for parameter in parameters)
        if not least <= len(command.arguments) <= len(parameters):
            raise SessionError(f"usage: {usage}")
        return await act(*command.arguments)

    def interrupt(self) -> None:
        """Stop whatever runs."""
        for session in (self.session, *self._forks):
            session.interrupt()

    async def close(self) -> None:
        """Close all sessions."""
        for session in (self.session, *(branch.session for branch in self._kept.values()), *self._forks):
            await session.close()

    # -- going back ----------------------------------------------------------------------------------

    async def _undo(self, count: str = "1") -> Shown:
        number = _number(count, "%undo")
        await self._branch.undo(number)
        return Shown(f"took back {number} cell{'s' if number != 1 else ''}; %redo brings them back\n")

    async def _redo(self) -> Shown:
        await self._branch.redo()
        return Shown("took back an undo\n")

    async def _checkpoint(self, label: str) -> Shown:
        await self._branch.checkpoint(label)
        return Shown(f"%rewind {shlex.quote(label)} comes back here\n")

    async def _rewind(self, place: str) -> Shown:
        await self._branch.rewind(place)
        return Shown(f"back {f'to the state after cell {place}' if place.isdecimal() else f'at {place}'}\n")

    async def _history(self) -> Shown:
        numbers = self._branch.numbers()
        lines = []
        for entry in self.session.history:
            if entry.count in numbers:
                first, *more = entry.code.strip().split("\n")
                failed = f"  # {entry.error}" if entry.error else ""
                lines.append(f"[{numbers[entry.count]}] {first}{' ...' if more else ''}{failed}\n")
        return Shown("".join(lines))

    async def _reset(self) -> Shown:
        await self._branch.reset()
        return Shown("a fresh session; files are still there\n")

    # -- copies --------------------------------------------------------------------------------------

    async def _fork(self, name: str) -> Shown:
        if name == self._name or name in self._kept:
            raise SessionError(f"%fork {name}: there is a session of that name; %forks lists them")
        self._kept[name] = await self._branch.fork()
        return Shown(f"%switch {shlex.quote(name)} goes on from here\n")

    async def _switch(self, name: str) -> Shown:
        if name == self._name:
            return Shown(f"cells run in {name} already\n")
        if name not in self._kept:
            raise SessionError(f"%switch {name}: there is no session of that name; %forks lists them")
        self._kept[self._name], self._branch = self._branch, self._kept.pop(name)
        self._name = name
        return Shown(f"cells run in {name} now\n")

    async def _list_forks(self) -> Shown:
        return Shown("".join(f"{name}\n" for name in [f"{self._name} (cells run here)", *sorted(self._kept)]))

    async def _parallel(self, arguments: tuple[str, ...], body: str) -> Shown | None:
        if len(arguments) != 1:
            raise SessionError("usage: %%parallel N, and the code below it")
        number = _number(arguments[0], "%%parallel")
        if number > _MOST_FORKS:
            raise SessionError(f"%%parallel {number}: there can be {_MOST_FORKS} forks")
        await self._forget_forks()
        self._forks = await self.session.fork(number)
        with _Muted(self._outputs, self.session):
            results = await asyncio.gather(
                *(_run_fork(one, place, body) for place, one in enumerate(self._forks))
            )
        for place, result in enumerate(results):
            self._show(place, result)
        return Shown("%choose K goes on from fork K; until then nothing has changed\n")

    def _show(self, place: int, result: Result) -> None:
        self._outputs.write(1, f"--- fork {place} ---\n".encode())
        if result.stdout:
            self._outputs.write(1, result.stdout_bytes)
        for output in result.outputs:
            self._outputs.add("display", dict(output.data), dict(output.metadata), None)
        if result.repr is not None and not any(output.is_value for output in result.outputs):
            self._outputs.write(1, f"{result.repr}\n".encode("utf-8", "replace"))
        if result.stderr:
            self._outputs.write(2, result.stderr_bytes)
        if result.error is not None:
            self._outputs.write(2, _text_of(result.error).encode("utf-8", "replace"))

    async def _choose(self, place: str) -> Shown:
        if not place.isdecimal() or int(place) >= len(self._forks):
            raise SessionError(f"%choose {place}: there are {len(self._forks)} forks, numbered from 0")
        chosen = self._forks.pop(int(place))
        old, self._branch = self.session, self._branch.around(chosen)
        self.end_cell()
        await old.close()
        await self._forget_forks()
        return Shown(f"cells go on from fork {place}\n")

    async def _forget_forks(self) -> None:
        forks, self._forks = self._forks, []
        for session in forks:
            await session.close()


class _Muted:
    """Within this, output of a session and its forks is not published: it comes with their results."""

    def __init__(self, outputs: Outputs, session: AsyncSession) -> None:
        self._listeners = session._engine.settings.listeners
        self._outputs = outputs

    def __enter__(self) -> None:
        self._bytes, self._events = self._listeners.bytes, self._listeners.events
        self._listeners.bytes = self._listeners.events = None

    def __exit__(self, *_: object) -> None:
        self._listeners.bytes, self._listeners.events = self._bytes, self._events


async def _run_fork(session: AsyncSession, place: int, body: str) -> Result:
    await session.run(f"FORK = {place}")
    return await session.run(body)


def _number(text: str, command: str) -> int:
    if not text.isdecimal() or not int(text):
        raise SessionError(f"{command}: {text!r} is not a number greater than 0")
    return int(text)


def _text_of(error: PlanariaError) -> str:
    traceback: Any = error.traceback if isinstance(error, ExecutionError) else ""
    return str(traceback or f"{type(error).__name__}: {error}\n")
