"""Calls on large stacks, by switching or by a thread."""

from __future__ import annotations

import contextvars
import sys
import threading
from typing import Any

import pytest

import planaria
from planaria.machine import stack
from planaria.machine.stack import call_on_large_stack


@pytest.fixture(params=["switching", "thread"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "switching" and not stack.switches_stacks():
        pytest.skip("this Python does not let stacks be switched")
    monkeypatch.setattr(stack, "switches_stacks", lambda: request.param == "switching")
    return str(request.param)


def fail(*_: Any) -> None:
    raise LookupError("mine")


def test_results_and_exceptions(way: str) -> None:
    """The function's result and exception come back, on the same thread where stacks are switched."""
    assert call_on_large_stack(lambda: 5, fail) == 5
    same = call_on_large_stack(threading.get_ident, fail) == threading.get_ident()
    assert same is (way == "switching")
    with pytest.raises(LookupError, match="mine"):
        call_on_large_stack(fail, fail)
    with pytest.raises(KeyboardInterrupt):
        call_on_large_stack(lambda: (_ for _ in ()).throw(KeyboardInterrupt), lambda: None)


def test_nesting(way: str) -> None:
    """Calls nest, each on a stack of its own, deeper than stacks are kept."""

    def nested(depth: int) -> int:
        return depth if depth == 0 else 1 + call_on_large_stack(lambda: nested(depth - 1), fail)

    assert call_on_large_stack(lambda: nested(20), fail) == 20

    def failing(depth: int) -> None:
        if depth == 0:
            fail()
        call_on_large_stack(lambda: failing(depth - 1), fail)

    with pytest.raises(LookupError):
        failing(12)


def test_threads(way: str) -> None:
    """Many threads may call at once."""
    results: list[int] = []

    def work(number: int) -> None:
        for _ in range(50):
            results.append(call_on_large_stack(lambda: number, fail) - number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [0] * 400


def test_no_references_are_kept(way: str) -> None:
    """A stack that is kept for the next call keeps nothing of the last one alive."""
    import gc
    import weakref

    class Thing:
        pass

    things = [Thing()]
    reference = weakref.ref(things[0])
    call_on_large_stack(lambda thing=things[0]: thing, fail)  # type: ignore[misc]
    with pytest.raises(LookupError):
        call_on_large_stack(lambda thing=things[0]: fail(thing), fail)  # type: ignore[misc]
    things.clear()
    gc.collect()
    assert reference() is None


def test_deep_recursion_in_sessions(way: str) -> None:
    """Deep recursion, in the guest and in a callback of the host, ends in RecursionError on both sides."""

    def deep() -> int:
        def down(depth: int) -> int:
            return depth and down(depth - 1)

        try:
            down(sys.getrecursionlimit())
        except RecursionError:
            return 1
        return 0

    with planaria.Session(callbacks=[deep]) as session:
        assert (
            session.execute("def f(): return f()\ntry: f()\nexcept RecursionError: x = await deep()\nx").value
            == 1
        )
        assert session.execute("deep.call()").value == 1
        assert session.run("import json; json.loads('[' * 100_000)").error.type == "RecursionError"
        assert isinstance(session.run("while True: pass", timeout=0.2).error, planaria.TimeoutError)
        assert session.execute("1").value == 1


def test_stacks_under_greenlet() -> None:
    """Where greenlets may copy stacks about, or Python checks them, threads are used."""
    assert stack.switches_stacks() is (stack._LIBRARY is not None and "greenlet" not in sys.modules)
    assert sys.version_info < (3, 14) or stack._LIBRARY is None


def test_context_variables(way: str) -> None:
    """What is called finds the context variables of its caller."""
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)
    variable.set(7)
    assert call_on_large_stack(variable.get, fail) == 7
