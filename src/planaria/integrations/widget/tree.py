"""The states that sessions can go back to, as a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from planaria.errors import SessionError
from planaria.representation import encodable
from planaria.session._sync.session import Session
from planaria.session.engine import SessionEngine
from planaria.session.history import Past, Point

__all__ = ["Node", "Tree"]

#: Characters of a cell that are shown.
_MOST_CODE = 80


@dataclass(slots=True)
class Node:
    """A state that sessions have or have had."""

    identifier: str
    parent: str | None
    """The identifier of the newest state before it that is kept."""
    count: int
    """The executions that led to it."""
    code: str
    """The first line of the last of them."""
    error: str | None
    labels: list[str] = field(default_factory=list)
    places: dict[int, str | int] = field(default_factory=dict)
    """How `rewind` finds it, by the numbers of the sessions that keep it."""
    present: list[int] = field(default_factory=list)
    """The numbers of the sessions whose present state it is."""


class Tree:
    """The states of sessions, each of which has an identifier that no other one gets later."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        self.sessions = list(sessions)
        self._numbers = count(1)
        #: What led to each state; None for that before anything was executed.
        self._identifiers: dict[Past | None, str] = {}

    def nodes(self) -> list[Node]:
        """The states, each before those that came of it. Forks share the states before them."""
        found: dict[Past | None, Node] = {}
        for number, session in enumerate(self.sessions):
            points, past = session._ask(_states)
            for point in points:
                node = self._node(point.past, found)
                if point.label is None:
                    node.places.setdefault(number, point.state.count)
                else:
                    node.places[number] = point.label
                    if point.label not in node.labels:
                        node.labels.append(encodable(point.label))
            self._node(past, found).present.append(number)
        self._identifiers = {past: node.identifier for past, node in found.items()}
        for past, node in found.items():
            before = past
            while before is not None:
                before = before.before
                if before in found:
                    node.parent = found[before].identifier
                    break
        return sorted(found.values(), key=lambda node: node.count)

    def _node(self, past: Past | None, found: dict[Past | None, Node]) -> Node:
        if past not in found:
            identifier = self._identifiers.get(past) or str(next(self._numbers))
            if past is None:
                found[past] = Node(identifier, None, 0, "", None)
            else:
                entry = past.entry
                first = (entry.code.strip().splitlines() or [""])[0]
                shown = first if len(first) <= _MOST_CODE else first[: _MOST_CODE - 1] + "…"
                found[past] = Node(
                    identifier, None, entry.count, encodable(shown), entry.error and encodable(entry.error)
                )
        return found[past]

    def find(self, identifier: str) -> Node:
        """A state by its identifier. Raises SessionError when it is no longer kept."""
        for node in self.nodes():
            if node.identifier == identifier:
                return node
        raise SessionError("this state is no longer kept")

    def rewind(self, node: Node, number: int) -> None:
        """Have a session go back to a state. Raises SessionError when it does not keep that."""
        if number in node.present:
            return
        if number not in node.places:
            raise SessionError(f"session {number} does not keep this state")
        self.sessions[number].rewind(node.places[number])

    def fork(self, node: Node) -> Session:
        """A new session that goes on from a state, whichever session keeps it."""
        number = next(iter([*node.present, *node.places]))
        (copy,) = self.sessions[number].fork()
        try:
            if number not in node.present:
                copy.rewind(node.places[number])
        except BaseException:
            copy.close()
            raise
        return copy

    def compare(self, before: Node, after: Node) -> str:
        """What differs between two states: a line for each variable and file, empty when nothing does."""
        with self.fork(before) as old, self.fork(after) as new:
            return encodable(str(old.snapshot_state().diff(new.snapshot_state())))


def _states(engine: SessionEngine) -> tuple[list[Point], Past | None]:
    return list(engine.history.points), engine.history.past
