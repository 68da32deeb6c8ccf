"""`Limits(fuel=...)`: WebAssembly instructions are counted and limited, the same on any machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import planaria

#: They need the metered runtime, whose compile takes as long as that of the core one: one process waits for it.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("metered")]


def test_fuel_is_counted_exactly_and_limited(new_session: Callable[..., Any]) -> None:
    """With as much fuel as an execution takes it ends; with too little it is undone."""
    code = "n = sum(range(1000))"
    fixed = planaria.Deterministic()
    needed = new_session(deterministic=fixed, limits=planaria.Limits(fuel=10**12)).run(code).fuel
    assert needed > 1000
    enough = new_session(deterministic=fixed, limits=planaria.Limits(fuel=needed)).run(code)
    assert (enough.error, enough.fuel) == (None, needed)
    session = new_session(deterministic=fixed, limits=planaria.Limits(fuel=needed - 10_000))
    error = session.run(code).error
    assert isinstance(error, planaria.LimitError)
    assert (error.limit, error.state) == ("fuel", "rewound")
    assert f"fuel={needed - 10_000}" in str(error)
    assert session.run("n").error is not None


def test_each_execution_has_all_of_the_fuel(new_session: Callable[..., Any]) -> None:
    """What one execution used up is not missing in the next, and the state before it is kept."""
    session = new_session(limits=planaria.Limits(fuel=20_000_000))
    session.execute("n = 1")
    result = session.run("n = 2\nwhile True: pass")
    assert result.fuel == 20_000_000
    assert isinstance(result.error, planaria.LimitError)
    assert session.execute("n").value == 1
    (copy,) = session.fork()
    assert copy.run("while True: pass").error.limit == "fuel"
    copy.close()


def test_a_metered_session_is_interrupted_like_any_other(new_session: Callable[..., Any]) -> None:
    """A time limit stops metered code at a line, and the session goes on."""
    session = new_session(limits=planaria.Limits(fuel=10**15, timeout=0.3))
    session.execute("n = 0")
    error = session.run("while True: n += 1").error
    assert (type(error), error.state) == (planaria.TimeoutError, "kept")
    assert session.execute("n > 0").value is True


def test_without_a_limit_nothing_is_counted(session: Any) -> None:
    """`Result.fuel` is None in other sessions, and other executors refuse the limit."""
    assert session.run("1").fuel is None
    with pytest.raises(planaria.CapabilityError):
        planaria.Session(limits=planaria.Limits(fuel=1), executor=planaria.InProcessExecutor())
    with pytest.raises(ValueError, match="fuel=0"):
        planaria.Limits(fuel=0)
