"""Every limit: what it stops, what is reported, and that the session stays usable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import planaria
from planaria import NOT_GIVEN, Limits
from planaria.session.history import History

pytestmark = pytest.mark.slow


def test_timeout_keeps_the_state(new_session: Callable[..., Any]) -> None:
    """Code that can be interrupted at a line keeps what it had reached, and the error says so."""
    session = new_session(limits=Limits(timeout=0.3))
    result = session.run("n = 0\nprint('begun')\nwhile True:\n    n += 1")
    error = result.error
    assert isinstance(error, planaria.TimeoutError)
    assert isinstance(error, TimeoutError)
    assert (error.state, error.stdout, error.lineno in (3, 4)) == ("kept", "begun\n", True)
    assert "0.3 s" in str(error)
    assert "<cell 1>" in error.traceback
    assert result.exit_code == 124
    assert session.execute("n > 0").value is True


@pytest.mark.parametrize(
    "source",
    ["sum(range(10**11))", "while True:\n    try:\n        while True: pass\n    except BaseException: pass"],
)
def test_timeout_goes_back(new_session: Callable[..., Any], source: str) -> None:
    """Code that ignores the interrupt is stopped hard; the session is as before the execution."""
    session = new_session(limits=Limits(timeout=0.2, grace=0.3))
    session.execute("n = 1")
    session.checkpoint("here")  # by itself it makes one when that costs little
    with pytest.raises(planaria.TimeoutError, match="went back") as raised:
        session.execute(f"n = 2\n{source}")
    assert raised.value.state == "rewound"
    assert session.execute("n").value == 1
    assert session.execution_count == 3


@pytest.mark.parametrize(
    "source",
    [
        "import time; time.sleep(600)",
        "import asyncio; await asyncio.sleep(600)",
        "import asyncio; asyncio.run(asyncio.sleep(600))",
        "def f(): import asyncio; asyncio.run(asyncio.sleep(600))\nf()",
        "import threading; threading.Event().wait(600)",
        "await hang()",
        "hang.call()",
        "import select; select.select([], [], [], 600)",
    ],
)
def test_timeout_of_waiting(new_session: Callable[..., Any], source: str) -> None:
    """Whatever the code waits in, its time ends the wait and the state is kept."""

    async def hang() -> None:
        import asyncio

        await asyncio.sleep(600)

    session = new_session(callbacks=[hang])
    result = session.run(f"x = 1\n{source}", timeout=0.3)
    assert isinstance(result.error, planaria.TimeoutError)
    assert result.error.state == "kept"
    assert session.execute("x").value == 1


def test_what_was_lost_is_reported(new_session: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a checkpoint just before, a hard stop goes back to an older one and says to which."""
    session = new_session()
    session.execute("n = 1")
    session.checkpoint("one")
    for way in ("checkpoint", "add_logged"):
        monkeypatch.setattr(History, way, lambda _history, _capture, **_options: None)
    session.execute("n = 2")
    error = session.run("n = 3; import os; os.abort()").error
    assert isinstance(error, planaria.CrashError)
    assert error.state == "rewound"
    assert "rewound to 1" in str(error)
    assert "backtrace" not in str(error)
    assert session.execute("n").value == 1


def test_timeout_that_is_caught(new_session: Callable[..., Any]) -> None:
    """Code may clean up within the time of grace when it is interrupted; it has run out of time all the same."""
    session = new_session(limits=Limits(timeout=0.2, grace=5.0))
    result = session.run(
        "try:\n    while True: pass\nexcept KeyboardInterrupt:\n    for i in range(200_000): x = i\n'cleaned'"
    )
    assert result.value == "cleaned"
    assert isinstance(result.error, planaria.TimeoutError)
    assert result.error.state == "kept"
    assert session.execute("x").value == 199_999
    result = session.run(
        "import asyncio\ntry:\n    await asyncio.sleep(600)\nfinally:\n    await asyncio.sleep(0.05)\n    y = 1"
    )
    assert isinstance(result.error, planaria.TimeoutError)
    assert session.execute("y").value == 1


def test_not_given_and_none(new_session: Callable[..., Any]) -> None:
    """`timeout=` not given is the session's limit; None means no limit; a number is that many seconds."""
    session = new_session(limits=Limits(timeout=0.2))
    loop = "import time\nend = time.monotonic() + 0.5\nwhile time.monotonic() < end: pass"
    assert isinstance(session.run(loop).error, planaria.TimeoutError)
    assert isinstance(session.run(loop, timeout=NOT_GIVEN).error, planaria.TimeoutError)
    assert session.run(loop, timeout=None).error is None
    assert session.run(loop, timeout=60).error is None
    assert session.execute("1", timeout=60).value == 1
    assert repr(NOT_GIVEN) == "NOT_GIVEN"


def test_cpu_time(new_session: Callable[..., Any]) -> None:
    """Processor time is bounded by itself: waiting does not count."""
    session = new_session(limits=Limits(cpu_time=0.3))
    assert session.execute("import time; time.sleep(0.5); 1").value == 1
    assert session.execute("import asyncio; await asyncio.sleep(0.5); 1").value == 1
    with pytest.raises(planaria.LimitError, match=r"cpu_time of 0\.3 s") as raised:
        session.execute("n = 1\nwhile True: pass")
    assert (raised.value.limit, raised.value.state) == ("cpu_time", "kept")
    assert session.execute("n").value == 1
    with pytest.raises(planaria.LimitError):
        session.execute(
            "import asyncio\nwhile True:\n    for i in range(1000): pass\n    await asyncio.sleep(0)"
        )


@pytest.mark.parametrize(
    "source",
    [
        "x = b'x' * (1 << 30)",
        "x = []\nwhile True: x.append('y' * 1_000_000)",
        "x = [0] * 10**9",
        "x = list(range(10**9))",
        "def f():\n    kept = [bytearray(1 << 20) for _ in range(1000)]\nf()",
    ],
)
def test_memory(new_session: Callable[..., Any], source: str) -> None:
    """Beyond the memory limit the guest gets MemoryError, and stays usable."""
    session = new_session(limits=Limits(memory=160 << 20))
    session.execute("kept = 1")
    assert session.run(source, timeout=300).error.type == "MemoryError"
    assert session.execute("x = None; kept").value == 1
    assert session.execute("len(b'x' * (20 << 20))").value == 20 << 20
    assert session.run("1").peak_memory_bytes <= 160 << 20


def test_values_that_memory_is_short_for(new_session: Callable[..., Any]) -> None:
    """A large value is got or refused while little memory is free, and the session stays as it was."""
    for size in range(10 << 20, 70 << 20, 2 << 20):
        session = new_session(limits=Limits(memory=160 << 20))
        session.execute(f"data = bytes({size})")
        session.execute("kept = 1")
        is_refused = False
        found = None
        try:
            found = session.get("data")
        except planaria.CrashError:
            raise
        except planaria.SessionError as error:
            is_refused = "MemoryError" in str(error) or "memory" in str(error)
        assert is_refused or isinstance(found, planaria.Repr) or found == bytes(size)
        assert session.execute("len(data), kept").value == (size, 1)
        session.close()


@pytest.mark.parametrize(
    "source",
    [
        "def f(): return f()\nf()",
        "class A:\n    def __repr__(self): return repr(self)\nrepr(A())",
        "class A:\n    def __getattr__(self, name): return getattr(self, name + 'x')\nA().x",
        "import json; json.loads('[' * 100_000)",
        "import json\nx = []\nfor _ in range(100_000): x = [x]\njson.dumps(x)",
        "x = []\nfor _ in range(100_000): x = [x]\nrepr(x)",
        "x = []\nfor _ in range(100_000): x = [x]\nx == [x]",
        "import copy\nx = []\nfor _ in range(100_000): x = [x]\ncopy.deepcopy(x)",
        "import pickle\nx = []\nfor _ in range(100_000): x = [x]\npickle.dumps(x)",
        "import ast; ast.literal_eval('-' * 50_000 + '1')",
        "eval('(' * 10_000 + ')' * 10_000)",
        "eval('[' * 100_000)",
        "compile('-' * 100_000 + '1', 'x', 'eval')",
        "import re; re.compile('(' * 5_000 + ')' * 5_000)",
        "import sys; sys.setrecursionlimit(50_000)\ndef f(n): return n and f(n - 1)\nf(49_000)",
        "import functools\nf = print\nfor _ in range(100_000): f = functools.partial(f)\nf()",
        "import sys\nsys.setrecursionlimit(20_000)\ndef f(n): return max([n], key=lambda x: f(n + 1))\nf(0)",
    ],
)
def test_depth(new_session: Callable[..., Any], source: str) -> None:
    """Deep recursion, source and data end in an error of the guest or go well; host and session stay usable."""
    session = new_session()
    session.execute("kept = 1")
    result = session.run(source, timeout=120)
    assert not isinstance(result.error, planaria.CrashError)
    assert session.execute("kept").value == 1


@pytest.mark.parametrize(
    "deep",
    [
        "(" * 10_000 + ")" * 10_000,
        "[" * 100_000,
        "-" * 50_000 + "1",
        "a" + ".a" * 50_000,
        "x" + "+x" * 20_000,
    ],
)
def test_deep_source(session: Any, deep: str) -> None:
    """Source that is nested too deeply is an error of that execution."""
    result = session.run(deep, timeout=120)
    assert isinstance(result.error, planaria.ExecutionError)
    assert result.error.type in ("SyntaxError", "MemoryError", "RecursionError", "NameError")
    assert session.execute("1").value == 1


def test_deep_values(session: Any) -> None:
    """A last value that is nested too deeply arrives as a Repr, or fits."""
    value = session.execute("x = []\nfor _ in range(100_000): x = [x]\nx").value
    assert isinstance(value, planaria.Repr)
    assert session.execute("1").value == 1


def test_recursion_limit(new_session: Callable[..., Any]) -> None:
    """`Limits.recursion` is the guest's recursion limit, which the guest may raise."""
    session = new_session(limits=Limits(recursion=200))
    assert session.execute("import sys; sys.getrecursionlimit()").value == 200
    assert session.run("def f(n): return n and f(n - 1)\nf(300)").error.type == "RecursionError"
    assert session.execute("sys.setrecursionlimit(10**6)\nf(100_000); sys.getrecursionlimit()").value == 10**6


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"timeout": 0}, ValueError, "timeout=0"),
        ({"timeout": -1}, ValueError, "timeout=-1"),
        ({"timeout": float("nan")}, ValueError, "timeout=nan"),
        ({"timeout": "5"}, TypeError, "timeout='5'"),
        ({"timeout": True}, TypeError, "timeout=True"),
        ({"grace": None}, ValueError, "grace=None"),
        ({"recursion": None}, ValueError, "recursion=None"),
        ({"recursion": 10}, ValueError, "50"),
        ({"recursion": 10**6}, ValueError, "20,000"),
        ({"memory": 1000}, ValueError, "64 MiB"),
        ({"memory": 1 << 40}, ValueError, "4096 MiB"),
        ({"memory": 100e6}, TypeError, "must be an integer"),
        ({"callbacks": 1.5}, TypeError, "must be an integer"),
        ({"output": -1}, ValueError, "output=-1"),
        ({"cpu_time": 0}, ValueError, "use None for no limit"),
        ({"tiemout": 5}, TypeError, "tiemout"),
    ],
)
def test_bad_limits(arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    """A bound that makes no sense is refused by name."""
    with pytest.raises(kind, match=message):
        Limits(**arguments)


def test_no_limits(new_session: Callable[..., Any]) -> None:
    """None means no limit, for every limit that can be disabled."""
    limits = Limits(
        timeout=None,
        cpu_time=None,
        callback_timeout=None,
        callbacks=None,
        memory=None,
        output=None,
        value=None,
    )
    assert new_session(limits=limits).execute("print(1); 2").value == 2


@pytest.mark.parametrize(
    ("quota", "names"),
    [
        ({"bytes": 1000}, "bytes=1000"),
        ({"nodes": 3}, "nodes=3"),
        ({"file_size": 0}, "file_size=0"),
        ({"handles": 0}, "handles=0"),
        ({"depth": 1}, "depth=1"),
        ({"name_length": 3}, "name_length=3"),
    ],
)
def test_a_quota_too_small_for_a_session_is_named(quota: dict[str, int], names: str) -> None:
    """A quota that not even the session's own files fit into is a ValueError which names the limit."""
    with pytest.raises(ValueError, match=f"quota=Quota\\(.*{names}.*\\) is too small"):
        planaria.Session(quota=planaria.Quota(**quota))


def test_a_quota_is_checked() -> None:
    """Limits of a quota are integers that are not negative, or None."""
    with pytest.raises(ValueError, match="bytes=-1"):
        planaria.Quota(bytes=-1)
    with pytest.raises(TypeError, match=r"nodes=1\.5"):
        planaria.Quota(nodes=1.5)  # type: ignore[arg-type]


def test_the_traceback_of_a_timeout_says_so(new_session: Callable[..., Any]) -> None:
    """The traceback of stopped code ends with the error of this side, not with what stopped the code."""
    error = new_session(limits=Limits(timeout=0.3)).run("while True: pass").error
    assert error.traceback.splitlines()[-1] == f"planaria.TimeoutError: {error.message}"
    assert "KeyboardInterrupt" not in error.traceback
    raised = new_session().run("raise KeyboardInterrupt").error
    assert raised.traceback.endswith("KeyboardInterrupt\n")
