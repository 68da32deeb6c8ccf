"""Moving up from the core tier to the full one, at a rest or in the middle of an execution."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import planaria
from planaria.runtime import tiers

pytestmark = pytest.mark.full


@pytest.fixture
def on_core(new_session: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A function that makes sessions on the core tier, as they are before the full one is compiled."""

    def make(**arguments: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(tiers, "is_compiled", lambda tier: False)
            session = new_session(**arguments)
        assert session._engine.executor.tier == "core"
        return session

    return make


def test_foreseen(on_core: Callable[..., Any]) -> None:
    """An import that can be seen in the source moves the session up before anything is run; state is kept."""
    session = on_core()
    session.execute("x = [1]; open('f', 'w').write('kept')")
    assert session.execute("import numpy\nint(numpy.sum(x)), open('f').read()").value == (1, "kept")
    assert session._engine.executor.tier == "full"
    assert session.execution_count == 2


def test_unforeseen(on_core: Callable[..., Any]) -> None:
    """An import that could not be foreseen runs the execution again from its beginning, once and unseen."""
    session = on_core()
    session.execute("import importlib\nx = 1")
    result = session.execute(
        "x += 1\nprint(x)\nnumpy = importlib.import_module('num' + 'py')\nint(numpy.ones(3).sum())"
    )
    assert (result.value, result.stdout, session.execution_count) == (3, "2\n", 2)
    assert session.execute("x").value == 2
    session.undo(2)
    assert session.execute("x").value == 1


def test_unforeseen_in_a_loop(on_core: Callable[..., Any]) -> None:
    """On the core tier code that may import anything has a checkpoint before it, whatever that takes; where
    none was kept, the session goes back to the newest there is and says so.
    """
    session = on_core(limits=planaria.Limits(checkpoint_time=1e-9))
    session.execute(
        "import importlib\nclass Lazy:\n    def __neg__(self): return importlib.import_module('numpy')"
    )
    session._engine.history.budget._credit = 0.0
    for number in range(5):
        session.execute(f"x = {number}")
    assert session._engine.history.before(session.execution_count - 1) is None
    assert session.execute("x += 1; int(importlib.import_module('num' + 'py').ones(3).sum()) + x").value == 8
    session = on_core(limits=planaria.Limits(checkpoint_time=1e-9))
    session.execute(
        "import importlib\nclass Lazy:\n    def __neg__(self): return importlib.import_module('numpy')"
    )
    session.execute("lazy = Lazy()")
    session._engine.history.budget._credit = 0.0
    session.execute("x = 1")
    with pytest.raises(planaria.CrashError, match="import of numpy needs the full runtime"):
        session.execute("-lazy")
    assert session.execute("type(lazy).__name__").value == "Lazy"


def test_unforeseen_after_a_call(on_core: Callable[..., Any]) -> None:
    """When the host was called already the execution is not made again: the error says so, and the state
    is kept.
    """
    called: list[int] = []

    def callback() -> None:
        called.append(1)

    session = on_core(callbacks=[callback])
    session.execute("import importlib\nx = 1")
    source = "x += 1\nawait callback()\nint(importlib.import_module('num' + 'py').ones(3).sum())"
    with pytest.raises(planaria.SessionError, match="not run again"):
        session.execute(source)
    assert session.execute("x").value == 1
    assert session.execute(source).value == 3
    assert called == [1, 1]


def test_tasks_live_through_it(on_core: Callable[..., Any]) -> None:
    """Tasks that wait for the host go on after the session has moved up."""
    import asyncio

    async def slow() -> str:
        await asyncio.sleep(0.3)
        return "answer"

    session = on_core(callbacks=[slow])
    session.execute("import asyncio\ntask = asyncio.create_task(slow())\nawait asyncio.sleep(0.001)")
    assert session.execute("import numpy\nawait task").value == "answer"


def test_forks_on_core(on_core: Callable[..., Any]) -> None:
    """A copy of a session on the core tier moves up by itself."""
    session = on_core()
    session.execute("x = 1")
    copy = session.fork()[0]
    assert copy.execute("import numpy\nint(numpy.int64(x))").value == 1
    assert (session._engine.executor.tier, copy._engine.executor.tier) == ("core", "full")
    copy.close()


@pytest.mark.parametrize("last", ["import numpy", "__import__('num' + 'py')"], ids=["foreseen", "unforeseen"])
def test_open_files_of_the_host(last: str, on_core: Callable[..., Any], tmp_path: Path) -> None:
    """A mounted file stays open when the session moves up, wherever it was read to."""
    (tmp_path / "in.txt").write_text("one\ntwo\nthree\n")
    session = on_core(mounts=[planaria.Mount(tmp_path, "/m", "rw")])
    session.execute("file = open('/m/in.txt', 'rb', 0); first = file.readline(); out = open('/m/out', 'a')")
    session.execute(f"second = file.readline(); {last}")
    assert session._engine.executor.tier == "full"
    assert session.execute("first, second, file.readline()").value == (b"one\n", b"two\n", b"three\n")
    session.execute("out.write('written'); out.close(); file.close()")
    assert (tmp_path / "out").read_text() == "written"
