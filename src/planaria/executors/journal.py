"""What a kernel gets from outside, as a journal: kept while a session runs, or given again from a recording.

A kernel is a function of its memory, of the commands with which it is entered, and of what it is answered
meanwhile. So an entry (one command with all its answers, in order) can be made again without the outside, and
ends in the same memory. Everything that these do not determine goes through `Journal.outcome`: readings of
clocks, random bytes, answers of host functions, files of the host. What the journal cannot see (the host has
written files, a state was restored, an execution was stopped somewhere) makes the state itself an item.
"""

from __future__ import annotations

import errno
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from planaria.errors import ReplayError
from planaria.executors.wasm_state import WasmState
from planaria.machine.imports import current
from planaria.machine.machine import Machine
from planaria.machine.wasi.abi import errno_of

__all__ = ["Entry", "Journal", "Keyframe", "Player", "Recorder", "outcome_inside", "report_digest"]

Value = TypeVar("Value")

_ELSEWHERE: Final = "the code went another way than in the recording"
#: What an item takes beside its contents, in bytes.
_COST: Final = 64
#: A state is put between the items whenever those since the last one take this share of the limit.
_SHARE: Final = 4


@dataclass(slots=True)
class Entry:
    """One entry into the kernel."""

    command: bytes
    """As the kernel reads it."""
    slept: float
    """The seconds that passed on a clock that does not run by itself, since the entry before."""
    captured: bool = False
    """Whether the state was captured just before, which clears old frames of the stack."""
    outcomes: list[tuple[str, Any]] = field(default_factory=list)
    """What was asked of the outside, and what it gave; ("errno", number) for a failure."""
    report: bytes = b""
    """The digest of what the kernel reported; empty when it was stopped, and cannot be repeated."""


@dataclass(frozen=True, eq=False)
class Keyframe:
    """The state of the kernel before the next item."""

    state: WasmState
    tier: str


def _parts(state: WasmState) -> dict[int, int]:
    """What a state is made of, by identity, and how many bytes each of it has."""
    return dict(state.memory.parts()) | {id(data): len(data) for data in state.pages.values()}


def report_digest(report: bytes) -> bytes:
    """What two entries are compared by."""
    return hashlib.blake2b(report, digest_size=16).digest()


#: The journals of the kernels that are entered now, by their machines.
_entered: Final[dict[object, Journal]] = {}


def outcome_inside(kind: str, ask: Callable[[], Value]) -> Value:
    """`Journal.outcome` of the kernel that runs on this thread, for what sessions and their copies share.

    Without a journal that is what `ask` gives.
    """
    journal = _entered.get(current.machine)
    return ask() if journal is None else journal.outcome(kind, ask)


class Journal(ABC):
    """The one way by which a kernel gets what its memory and its commands do not determine."""

    def __init__(self) -> None:
        self._guest: Machine | None = None

    @property
    def is_inside(self) -> bool:
        """Whether the kernel of this journal runs on this thread: what others ask for is not its business."""
        return self._guest is not None and current.machine is self._guest

    def _enter(self, guest: Machine) -> None:
        self._guest = guest
        _entered[guest] = self

    def _leave(self) -> None:
        assert self._guest is not None
        del _entered[self._guest]
        self._guest = None

    @abstractmethod
    def outcome(self, kind: str, ask: Callable[[], Value]) -> Value:
        """What `ask` returns or raises as OSError: asked and kept, or given from the recording."""

    @abstractmethod
    def begin(self, guest: Machine, command: bytes, capture: Callable[[], Keyframe]) -> None:
        """The kernel is about to be entered; `capture` gives its state."""

    @abstractmethod
    def end(self, report: bytes | None) -> None:
        """The entry is over; without a report it was stopped. Raises ReplayError."""

    def jump(self) -> None:
        """The state changes in a way that the journal does not see."""
        return

    def slept(self, seconds: float) -> None:
        """Time passes on a clock that does not run by itself, before the next entry."""
        return

    def captured(self) -> None:
        """The state is captured before the next entry."""
        return


class Recorder(Journal):
    """Keeps everything, within about `limit` bytes; what is oldest is dropped then."""

    def __init__(self, limit: int | None) -> None:
        super().__init__()
        self.limit = limit
        #: Entries and states in order, and what the session puts between them (`mark`).
        self.items: list[object] = []
        #: How many items were dropped.
        self.dropped = 0
        self._has_jumped = True
        self._slept = 0.0
        self._captured = False
        self._sizes: list[int] = []
        self._since_keyframe = 0
        self._entry: Entry | None = None
        self._entry_size = 0
        #: The newest state among the items: the next one counts by what it does not share with it.
        self._last: Keyframe | None = None

    def fork(self) -> Recorder:
        """The journal of a copy of the kernel, which has what this one has so far."""
        other = Recorder(self.limit)
        other.items, other._sizes = list(self.items), list(self._sizes)
        other.dropped, other._last = self.dropped, self._last
        return other

    def jump(self) -> None:
        self._has_jumped = True

    def slept(self, seconds: float) -> None:
        self._slept += seconds

    def captured(self) -> None:
        self._captured = True

    def mark(self, item: object, size: int = 0) -> None:
        """Put something of the session's between the items."""
        self._add(item, _COST + size)

    @property
    def is_complete(self) -> bool:
        """Whether the items lead to the present state."""
        return not self._has_jumped

    def close_with(self, keyframe: Keyframe) -> None:
        """The present state, which the items do not lead to."""
        self._has_jumped = False
        self._since_keyframe = 0
        known = dict(keyframe.state.image.memory.parts())
        if self._last is not None:
            known |= _parts(self._last.state)
        size = sum(length for part, length in _parts(keyframe.state).items() if part not in known)
        self._last = keyframe
        self._add(keyframe, _COST + size)

    def begin(self, guest: Machine, command: bytes, capture: Callable[[], Keyframe]) -> None:
        if self.limit is not None and self._since_keyframe > self.limit // _SHARE:
            self._has_jumped = True
        if self._has_jumped:
            self.close_with(capture())
        self._enter(guest)
        self._entry = Entry(command, self._slept, self._captured)
        self._entry_size = _COST + len(command)
        self._slept, self._captured = 0.0, False

    def outcome(self, kind: str, ask: Callable[[], Value]) -> Value:
        entry = self._entry
        if entry is None or not self.is_inside:
            return ask()
        try:
            value = ask()
        except OSError as error:
            self._keep(entry, ("errno", errno_of(error) or errno.EIO), _COST)
            raise
        self._keep(entry, (kind, value), _COST + (len(value) if isinstance(value, (bytes, list)) else 0))
        return value

    def _keep(self, entry: Entry, outcome: tuple[str, Any], size: int) -> None:
        self._entry_size += size
        if self.limit is not None and self._entry_size > self.limit:
            # More than all that may be kept: this entry cannot be repeated.
            entry.outcomes.clear()
            self._has_jumped = True
        else:
            entry.outcomes.append(outcome)

    def end(self, report: bytes | None) -> None:
        self._leave()
        entry, self._entry = self._entry, None
        assert entry is not None
        if report is None or self._has_jumped:
            entry.outcomes.clear()
            self._entry_size = _COST
            self._has_jumped = True
        else:
            entry.report = report_digest(report)
        self._add(entry, self._entry_size)

    def _add(self, item: object, size: int) -> None:
        self.items.append(item)
        self._sizes.append(size)
        self._since_keyframe += size

    @property
    def size(self) -> int:
        """What the items take, in bytes."""
        return sum(self._sizes)

    def drop_oldest(self, can_begin: Callable[[list[object], int], bool]) -> None:
        """Drop items until the limit holds, up to one of those where a recording can begin."""
        left = self.size
        if self.limit is None or left <= self.limit:
            return
        first = 0
        for place in range(1, len(self.items)):
            left -= self._sizes[place - 1]
            if can_begin(self.items, place):
                first = place
                if left <= self.limit:
                    break
        del self.items[:first], self._sizes[:first]
        self.dropped += first


class Player(Journal):
    """Gives what was recorded of one entry after the other."""

    def __init__(self) -> None:
        super().__init__()
        self._entry: Entry | None = None
        self._next = 0
        self._failure: ReplayError | None = None

    def play(self, entry: Entry) -> None:
        """The entry that is made next."""
        self._entry, self._next, self._failure = entry, 0, None

    def begin(self, guest: Machine, command: bytes, capture: Callable[[], Keyframe]) -> None:
        self._enter(guest)

    def outcome(self, kind: str, ask: Callable[[], Value]) -> Value:
        entry = self._entry
        if entry is None or not self.is_inside:
            return ask()
        if self._next < len(entry.outcomes):
            found, value = entry.outcomes[self._next]
            self._next += 1
            if found == kind:
                return value  # type: ignore[no-any-return]
            if found == "errno":
                raise OSError(value, "as it was recorded")
            reason = f"it asked for {kind} where it had asked for {found}"
        else:
            reason = f"it asked for more ({kind}) than was recorded"
        self._failure = self._failure or ReplayError(f"{_ELSEWHERE}: {reason}")
        raise self._failure

    def end(self, report: bytes | None) -> None:
        self._leave()
        entry, self._entry = self._entry, None
        if entry is None:
            return
        if self._failure is None and report is not None and report_digest(report) != entry.report:
            self._failure = ReplayError(f"{_ELSEWHERE}: it reported another end")
        if self._failure is not None:
            raise self._failure
