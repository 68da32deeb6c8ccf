"""Handing values in and out of a session without running code."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import planaria
from planaria.runtime import tiers


def test_set_and_get(session: planaria.Session) -> None:
    """Values become variables of the code, and come back as values; neither counts as an execution."""
    day = datetime.date(2026, 1, 2)
    session.set(number=1 << 70, words=["a", "b"], day=day, price=Decimal("1.50"))
    assert session.execution_count == 0
    assert session.execute("number + 1, words[0], day.year, price * 2").value == (
        (1 << 70) + 1,
        "a",
        2026,
        Decimal("3.00"),
    )
    session.execute("words.append('c')\ndef f(): pass")
    assert session.get("words") == ["a", "b", "c"]
    assert isinstance(session.get("f"), planaria.Repr)
    assert session.execution_count == 2


def test_names(session: planaria.Session) -> None:
    """A name that cannot be a variable's is refused; one that is not there is a NameError, also of a builtin."""
    session.set(a=1)
    for wrong in ("a b", "1a", "", "class", "a.b", "a[0]"):
        with pytest.raises(ValueError, match="cannot be the name"):
            session.set(**{wrong: 1})
        with pytest.raises(ValueError, match="cannot be the name"):
            session.get(wrong)
    with pytest.raises(TypeError, match="must be a str, not int"):
        session.get(1)  # type: ignore[arg-type]
    for missing in ("b", "print"):
        with pytest.raises(NameError, match=f"name '{missing}' is not defined in this session") as raised:
            session.get(missing)
        assert raised.value.name == missing


def test_values_that_cannot_be_sent(session: planaria.Session) -> None:
    """One value that cannot be sent is named, and nothing is set."""
    session.execute("kept = 1")
    with pytest.raises(TypeError, match=r"set\(bad=\.\.\.\): the value cannot be sent"):
        session.set(good=1, bad=lambda: 1)
    assert session.execute("kept, 'good' in globals()").value == (1, False)


def test_values_that_are_too_large(new_session: Callable[..., Any]) -> None:
    """Values that do not fit into the sandbox's memory are a LimitError, and the session goes on."""
    session = new_session(limits=planaria.Limits(memory=128 << 20))
    session.execute("kept = 1")
    with pytest.raises(planaria.LimitError, match="does not fit into the memory") as caught:
        session.set(large=bytes(150 << 20))
    assert caught.value.limit == "memory"
    assert session.execute("kept, 'large' in globals()").value == (1, False)


def test_undo(session: planaria.Session) -> None:
    """What was set belongs to the state: undo of a later execution keeps it, undo of an earlier one does not."""
    session.execute("x = 1")
    session.set(y=2)
    session.execute("y += 1")
    (copy,) = session.fork()
    session.undo()
    assert session.get("y") == 2
    assert copy.get("y") == 3
    session.undo()
    assert "NameError" in str(session.run("y").error)
    copy.close()


def test_while_an_execution_waits(session: planaria.Session) -> None:
    """While an execution waits nothing is set or read."""
    run = session.start("import asyncio\nawait asyncio.sleep(1000)")
    with pytest.raises(planaria.SessionBusy):
        session.set(x=1)
    with pytest.raises(planaria.SessionBusy):
        session.get("asyncio")
    run.cancel()


def test_recording(new_session: Callable[..., Any]) -> None:
    """What was set is part of a recording."""
    session = new_session(record=True)
    session.set(a=20)
    session.execute("b = a + 1")
    replay = planaria.replay(session.recording())
    replay.run()
    assert [result.is_ok for result in replay.results] == [True]


def test_async_session() -> None:
    """An AsyncSession has the same."""

    async def main() -> None:
        async with planaria.AsyncSession() as session:
            await session.set(x=[1, 2])
            assert (await session.run("x.append(3); x")).value == [1, 2, 3]
            assert await session.get("x") == [1, 2, 3]

    asyncio.run(main())


@pytest.mark.full
def test_arrays_and_frames(new_session: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays and frames are the session's own, which moves up to the full tier for them and keeps its state."""
    with monkeypatch.context() as patch:
        patch.setattr(tiers, "is_compiled", lambda tier: False)
        session = new_session()
    assert session._engine.executor.tier == "core"
    session.execute("kept = [1]")
    frame = pd.DataFrame({"a": [1, 2, 3]})
    session.set(frame=frame, array=np.arange(5))
    session.execute("frame['b'] = frame.a * 2; array[0] = 7")
    assert session.get("array").tolist() == [7, 1, 2, 3, 4]
    assert session.get("frame").b.tolist() == [2, 4, 6]
    assert list(frame.columns) == ["a"]
    assert session.get("kept") == [1]
