"""Tests of what a memory releases where a process has many."""

from __future__ import annotations

import pytest

import planaria
from planaria.machine import linear_memory
from planaria.machine.changes import dirty_spans, memory_at
from planaria.machine.memory import PAGE_BYTES


def unchanged(session: planaria.Session) -> int:
    """How many pages of a session's memory are its own although they are as they were when it began."""
    linear = session._engine.executor._machine.linear  # type: ignore[attr-defined]
    memory, image = memory_at(linear.base), linear.image
    with image.view() as original:
        return sum(
            bytes(memory[at : at + PAGE_BYTES]) == bytes(original[at : at + PAGE_BYTES])
            for start, end in dirty_spans(linear.base, image.size, image)
            for at in range(start, end, PAGE_BYTES)
        )


def test_pages_that_are_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among many memories a copy has, after its first execution, no pages of its own but those that differ."""
    code = "words = sorted('{} {}'.format(n, n * n) for n in range(50))"
    with planaria.Session() as session:
        session.execute("numbers = list(range(1000)); import json, re, decimal")
        (usual,) = session.fork()
        usual.execute(code)
        assert unchanged(usual) > 0
        monkeypatch.setattr(linear_memory, "_MANY_MEMORIES", 0)
        (copy,) = session.fork()
        copy.execute(code)
        assert unchanged(copy) == 0
        copy.execute("numbers.append(decimal.Decimal(1))")
        assert copy.execute("words[0], len(numbers), sum(numbers)").value == ("0 0", 1001, 499501)
        copy.undo(2)
        assert copy.execute("words[-1], len(numbers)").value == ("9 81", 1000)
        assert session.execute("len(numbers)").value == 1000
        usual.close()
        copy.close()
