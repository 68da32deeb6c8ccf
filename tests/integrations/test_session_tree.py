"""The tree that `planaria.widget` shows: which states there are, going back to them, comparing them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import planaria
from planaria.integrations.widget.tree import Tree


def by_code(tree: Tree) -> dict[str, Any]:
    return {node.code: node for node in tree.nodes()}


def test_branches(new_session: Callable[..., Any]) -> None:
    """States are below those that they came of; what was left is there as long as a label or a fork keeps it."""
    session = new_session()
    session.run("x = 1\nignored = 0")
    session.run("x = '<b>'")
    session.checkpoint("left <i>")
    session.rewind(1)
    (fork,) = session.fork()
    session.run("1 / 0")
    fork.run("x = 3")
    tree = Tree([session, fork])
    nodes = by_code(tree)
    assert list(nodes) == ["", "x = 1", "x = '<b>'", "1 / 0", "x = 3"]
    assert nodes["x = 1"].parent == nodes[""].identifier
    assert {nodes[code].parent for code in ("x = '<b>'", "1 / 0", "x = 3")} == {nodes["x = 1"].identifier}
    assert nodes["x = '<b>'"].labels == ["left <i>"]
    assert nodes["1 / 0"].error == "ZeroDivisionError: division by zero"
    assert [nodes[code].present for code in ("x = 1", "1 / 0", "x = 3")] == [[], [0], [1]]
    fork.close()


def test_going_back(session: Any) -> None:
    """A session goes back to a state that it keeps, by its label or number, and the state is its present one then."""
    for code in ("x = 1", "x = 2", "x = 3"):
        session.run(code)
    session.checkpoint("end")
    tree = Tree([session])
    tree.rewind(by_code(tree)["x = 1"], 0)
    assert session.execute("x").value == 1
    tree.rewind(by_code(tree)["x = 3"], 0)
    assert session.execute("x").value == 3
    with pytest.raises(planaria.SessionError, match="does not keep"):
        tree.rewind(by_code(tree)["x = 3"], 1)


def test_identifiers(session: Any) -> None:
    """A state has one identifier, and one that is no longer kept is not found by it, whatever comes later."""
    session.run("x = 1")
    tree = Tree([session])
    kept = by_code(tree)["x = 1"].identifier
    session.run("x = 2")
    gone = by_code(tree)["x = 2"].identifier
    assert by_code(tree)["x = 1"].identifier == kept
    session.rewind(1)
    for number in range(10):
        session.run(f"y = {number}")
    assert gone not in {node.identifier for node in tree.nodes()}
    with pytest.raises(planaria.SessionError, match="no longer kept"):
        tree.find(gone)


def test_comparing(session: Any) -> None:
    """Two states are compared by their variables and files, and no session changes by it."""
    session.run("x, kept = 1, 2")
    session.run("x, y = 5, 'new'\nopen('made.txt', 'w').close()")
    tree = Tree([session])
    nodes = by_code(tree)
    difference = tree.compare(nodes["x, kept = 1, 2"], nodes["x, y = 5, 'new'"])
    assert difference.splitlines() == [
        "+ y: str = 'new'",
        "~ x: int = 1 -> int = 5",
        "+ /home/user/made.txt",
    ]
    assert session.execution_count == 2
    assert tree.compare(nodes["x, kept = 1, 2"], nodes["x, kept = 1, 2"]) == ""


def test_forks(session: Any) -> None:
    """A fork goes on from any state, and the session stays where it is."""
    session.run("x = 1")
    session.run("x = 2")
    tree = Tree([session])
    with tree.fork(by_code(tree)["x = 1"]) as copy:
        tree.sessions.append(copy)
        assert (copy.execute("x").value, session.execute("x").value) == (1, 2)


def test_what_is_not_a_session(session: Any) -> None:
    """widget() refuses what is not a session that blocks."""
    with pytest.raises(TypeError, match=r"takes planaria\.Session, not AsyncSession"):
        planaria.widget(planaria.AsyncSession())  # type: ignore[arg-type]
