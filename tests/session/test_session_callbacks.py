"""Host functions that the code calls."""

from __future__ import annotations

import asyncio
import builtins
import functools
import keyword
import queue
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import pytest

import planaria
from planaria import Callback, CallbackRegistry


def add(a: int, b: int = 1, *rest: int, scale: float = 1, **more: Any) -> Any:
    """Add numbers."""
    return (a + b + sum(rest)) * scale, more


async def later(value: Any = None, seconds: float = 0.01) -> Any:
    await asyncio.sleep(seconds)
    return value


def fail(kind: str, *arguments: Any) -> None:
    import builtins

    raise getattr(builtins, kind)(*arguments)


class Custom(LookupError):
    pass


def test_ways_to_declare(new_session: Callable[..., Any]) -> None:
    """Functions, dicts, Callbacks, partials, methods, callable objects and a registry all work."""

    class Thing:
        def method(self, x: int) -> int:
            return x + 1

        def __call__(self, x: int) -> int:
            return x + 2

    registry = CallbackRegistry([add])

    @registry.callback
    def plain(x: int) -> int:
        """Gives it back."""
        return x

    @registry.callback(name="tools.math.double", description="Doubles", schema={"type": "object"})
    async def double(x: int) -> int:
        return 2 * x

    registry.add(Callback("method", Thing().method))
    registry.add({"name": "thing", "fn": Thing()})
    registry.add({"name": "part", "fn": functools.partial(add, 1), "description": None})
    registry.add({"name": "lazy", "fn": lambda: later("lazily")})
    assert (plain(1), len(registry)) == (1, 7)
    session = new_session(callbacks=registry)
    assert session.execute("await add(1)").value == (2, {})
    assert session.execute("await plain(x=3), await tools.math.double(4)").value == (3, 8)
    assert session.execute("await method(1), await thing(1), await part(5)").value == (2, 3, (6, {}))
    assert session.execute("await lazy(), lazy.call()").value == ("lazily", "lazily")
    assert session.execute("await invoke('tools.math.double', x=1)").value == 2
    listed = session.execute("list_callbacks()").value
    plain_listed = next(one for one in listed if one["name"] == "plain")
    assert (plain_listed["description"], plain_listed["signature"]) == ("Gives it back.", "(x: int)")
    double_told = next(one for one in listed if one["name"] == "tools.math.double")
    assert double_told["description"] == "Doubles"
    assert double_told["schema"] == {"type": "object"}
    assert "x" in double_told["signature"]


def test_arguments(new_session: Callable[..., Any]) -> None:
    """Positional and keyword arguments arrive as they were given; nothing is dropped."""
    session = new_session(callbacks=[add])
    assert session.execute("await add(1, 2, 3, scale=2, other=[1])").value == (12, {"other": [1]})
    assert session.execute("add.call(1, b=5)").value == (6, {})


@pytest.mark.parametrize("call", ["await narrow({})", "narrow.call({})", "await invoke('narrow', {})"])
@pytest.mark.parametrize("arguments", ["", "1, 2, 3", "1, nonsense=2", "b=1", "1, a=2"])
def test_wrong_arguments(new_session: Callable[..., Any], call: str, arguments: str) -> None:
    """Arguments that do not fit are refused with the signature, before anything is called."""
    called: list[Any] = []

    def narrow(a: int, b: int = 2) -> None:
        called.append(a)

    session = new_session(callbacks=[narrow])
    error = session.run(call.format(arguments).replace(", )", ")")).error
    assert error.type == "TypeError"
    assert "narrow(a: int, b: int = 2)" in error.message
    assert not called


def test_unknown_name(new_session: Callable[..., Any]) -> None:
    """`invoke` of an unknown name lists the known ones."""
    session = new_session(callbacks=[add])
    error = session.run("await invoke('ad')").error
    assert (error.type, "add" in error.message) == ("NameError", True)


@pytest.mark.parametrize(
    ("source", "kind", "message"),
    [
        ("'ValueError', 'bad'", "ValueError", "bad"),
        ("'KeyError', 'k'", "KeyError", "'k'"),
        ("'FileNotFoundError', 2, 'No such file', '/secret/place'", "FileNotFoundError", "No such file"),
        ("'UnicodeDecodeError', 'utf-8', b'x', 0, 1, 'why'", "UnicodeDecodeError", "why"),
        ("'StopIteration', 5", "RuntimeError", "StopIteration"),
        ("'TimeoutError', 'late'", "TimeoutError", "late"),
        ("'ZeroDivisionError'", "ZeroDivisionError", ""),
        ("'ExceptionGroup', 'many', [ValueError(1)]", "RuntimeError", "ExceptionGroup: many"),
    ],
)
@pytest.mark.parametrize("call", ["await fail({})", "fail.call({})"])
def test_exceptions(new_session: Callable[..., Any], call: str, source: str, kind: str, message: str) -> None:
    """A host exception arrives as the same builtin type with its message, without host paths or traceback."""
    session = new_session(callbacks=[{"name": "fail", "fn": lambda: fail(*eval(f"({source},)"))}])
    error = session.run(call.format("")).error
    assert isinstance(error, planaria.ExecutionError)
    assert error.type == kind
    assert message in error.message
    assert "/secret" not in error.traceback
    assert __file__ not in error.traceback


@pytest.mark.parametrize(
    "error",
    [
        KeyError(999),
        KeyError((1, "a")),
        KeyError(),
        KeyError(None),
        ValueError("x", 2),
        IndexError(1.5, b"y"),
        ZeroDivisionError(),
        UnicodeDecodeError("utf-8", b"x", 0, 1, "why"),
    ],
)
@pytest.mark.parametrize("call", ["await fail()", "fail.call()"])
def test_arguments_of_exceptions(new_session: Callable[..., Any], call: str, error: Exception) -> None:
    """The arguments of a builtin exception arrive as they are, when they are plain values."""

    def fail() -> None:
        raise error

    session = new_session(callbacks=[fail])
    caught = session.execute(f"try: {call}\nexcept Exception as e: x = repr(e), e.args\nx").value
    assert caught == (repr(error), error.args)


def test_derived_exceptions(new_session: Callable[..., Any]) -> None:
    """An exception of the host's own class arrives as its nearest builtin ancestor."""

    def custom() -> None:
        raise Custom("mine")

    async def custom_later() -> None:
        raise Custom("mine")

    session = new_session(callbacks=[custom, custom_later])
    for name in ("custom", "custom_later"):
        assert session.execute(f"try: await {name}()\nexcept LookupError as e: x = str(e)\nx").value == "mine"


def test_concurrent_awaits(new_session: Callable[..., Any]) -> None:
    """Calls awaited together run together, in both kinds of session: each waits for the others."""

    def meeting(many: int) -> Any:
        waiting: list[asyncio.Future[None]] = []

        async def meet(x: int) -> int:
            future = asyncio.get_running_loop().create_future()
            waiting.append(future)
            if len(waiting) == many:
                for one in waiting:
                    one.set_result(None)
            await future
            return x

        return meet

    source = "import asyncio\nawait asyncio.gather(*(meet(i) for i in range(20)))"
    assert new_session(callbacks=[meeting(20)]).execute(source, timeout=60).value == list(range(20))

    async def main() -> Any:
        async with planaria.AsyncSession(callbacks=[meeting(20)]) as session:
            return (await session.execute(source, timeout=60)).value

    assert asyncio.run(main()) == list(range(20))


def test_plain_functions_meet_in_async_sessions() -> None:
    """Plain callbacks of an asynchronous session run on threads, together when they are awaited together."""
    barrier = threading.Barrier(5)

    def meet() -> int:
        return barrier.wait(60)

    async def main() -> Any:
        async with planaria.AsyncSession(callbacks=[meet]) as session:
            result = await session.execute(
                "import asyncio\nsorted(await asyncio.gather(*(meet() for _ in range(5))))"
            )
            return result.value

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]


def test_async_callbacks_run_on_the_callers_loop() -> None:
    """In an asynchronous session a coroutine function runs on the loop that awaits the execution."""
    loops: list[Any] = []

    async def where() -> None:
        loops.append(asyncio.get_running_loop())

    async def main() -> None:
        async with planaria.AsyncSession(callbacks=[where]) as session:
            await session.execute("await where(); where.call()")
        assert loops == [asyncio.get_running_loop()] * 2

    asyncio.run(main())


@pytest.mark.parametrize("call", ["await leave()", "leave.call()"])
def test_exit_of_an_asynchronous_callback(call: str) -> None:
    """An asynchronous callback that exits ends the host's call as a plain one does, and later ones work on."""

    async def leave() -> None:
        sys.exit(3)

    with planaria.Session(callbacks=[leave, later], limits=planaria.Limits(timeout=20)) as session:
        with pytest.raises(SystemExit) as caught:
            session.run(call)
        assert caught.value.code == 3
        assert session.execute("await later(5)").value == 5


def test_reentrance(new_session: Callable[..., Any]) -> None:
    """A callback that wants to use its own session is refused at once, and may use another."""
    other = new_session()

    def inside(what: str) -> Any:
        if what == "other":
            return other.execute("21 * 2").value
        return {
            "run": lambda: session.run("1"),
            "execute": lambda: session.execute("1"),
            "reset": session.reset,
            "clear": session.clear_state,
            "close": session.close,
            "fork": session.fork,
            "undo": session.undo,
            "rewind": lambda: session.rewind(0),
            "checkpoint": lambda: session.checkpoint("x"),
            "start": lambda: session.start("1"),
        }[what]()

    async def inside_later(what: str) -> Any:
        return inside(what)

    session = new_session(callbacks=[inside, inside_later])
    for name in ("await inside", "inside.call", "await inside_later", "inside_later.call"):
        assert session.execute(f"{name}('other')").value == 42
        for what in (
            "run",
            "execute",
            "reset",
            "clear",
            "close",
            "fork",
            "undo",
            "rewind",
            "checkpoint",
            "start",
        ):
            error = session.run(f"{name}('{what}')").error
            assert isinstance(error, planaria.ExecutionError)
            assert "callback" in error.message
    assert session.execute("1").value == 1


def test_reentrance_of_async_sessions() -> None:
    """An asynchronous callback that wants to use its own session is refused at once."""

    async def main() -> None:
        async def inside() -> Any:
            return (await session.run("1")).value

        session = planaria.AsyncSession(callbacks=[inside])
        error = (await session.run("await inside()")).error
        assert error is not None
        assert "callback" in str(error)
        await session.close()

    asyncio.run(main())


def test_listeners_may_not_use_the_session(new_session: Callable[..., Any]) -> None:
    """A function that gets output is refused as well; what it raises is raised on the host."""
    session: planaria.Session = new_session(on_stdout=lambda text: session.clear_state())
    with pytest.raises(planaria.SessionBusy):
        session.execute("print(1)")
    assert session.run("2").value == 2


@pytest.mark.parametrize(
    "call", ["await block()", "block.call()", "import asyncio\nawait asyncio.gather(block())"]
)
def test_blocking_does_not_hold_up_the_time_limit(new_session: Callable[..., Any], call: str) -> None:
    """A plain callback that blocks is left alone at the deadline; its late answer is discarded."""
    release, done = threading.Event(), threading.Event()

    def block() -> str:
        release.wait(600)
        done.set()
        return "late"

    session = new_session(callbacks=[block])
    error = session.run(call, timeout=0.3).error
    assert isinstance(error, planaria.TimeoutError)
    assert error.state == "kept"
    assert not done.is_set()
    release.set()
    assert done.wait(60)
    assert session.execute("await block()").value == "late"


def test_plain_functions_meet(new_session: Callable[..., Any]) -> None:
    """Plain callbacks that are awaited together run side by side, also in a session without `await`."""
    barrier = threading.Barrier(5)

    def meet() -> int:
        return barrier.wait(60)

    gathered = "import asyncio\nsorted(await asyncio.gather(*(meet() for _ in range(5))))"
    assert new_session(callbacks=[meet]).execute(gathered).value == [0, 1, 2, 3, 4]


def test_many_plain_functions(new_session: Callable[..., Any]) -> None:
    """More calls than may run at once are all answered, each with its own value."""
    session = new_session(callbacks=[{"name": "double", "fn": lambda x: 2 * x}])
    gathered = "import asyncio\nawait asyncio.gather(*(double(i) for i in range(500)))"
    assert session.execute(gathered).value == [2 * i for i in range(500)]


def test_functions_of_the_callers_thread(new_session: Callable[..., Any]) -> None:
    """A callback declared for the caller's thread may use what belongs to that thread."""
    database = sqlite3.connect(":memory:")

    def query() -> Any:
        return database.execute("select 7").fetchone()

    session = new_session(callbacks=[Callback("query", query, on_caller_thread=True)])
    assert session.execute("await query(), query.call()").value == ((7,), (7,))
    database.close()


@pytest.mark.parametrize("way", ["future", "join", "queue", "event"])
@pytest.mark.parametrize("call", ["await inside()", "inside.call()"])
def test_reentrance_from_another_thread(new_session: Callable[..., Any], call: str, way: str) -> None:
    """A thread that a callback waits for is refused its session, without any time limit."""
    refused: list[str] = []
    messages: queue.Queue[None] = queue.Queue()
    over = threading.Event()

    def use() -> None:
        try:
            session.execute("1")
        except planaria.SessionBusy as error:
            refused.append(str(error))

    def use_and_report() -> None:
        use()
        messages.put(None)
        over.set()

    def inside() -> None:
        with ThreadPoolExecutor(1) as pool:
            if way == "future":
                pool.submit(use).result()
            elif way == "join":
                (thread := threading.Thread(target=use)).start()
                thread.join()
            else:
                threading.Thread(target=use_and_report).start()
                messages.get() if way == "queue" else over.wait()

    session = new_session(callbacks=[inside], limits=planaria.Limits(timeout=None))
    assert session.run(call).is_ok
    assert [("waits for this thread" in one) for one in refused] == [True]


@pytest.mark.parametrize("call", ["await inside()", "inside.call()"])
@pytest.mark.parametrize("is_pooled", [False, True], ids=["same thread", "another thread"])
def test_refusal_in_the_code(new_session: Callable[..., Any], call: str, is_pooled: bool) -> None:
    """What refuses a callback its own session is a SessionBusy in the code, too."""

    def inside() -> Any:
        with ThreadPoolExecutor(1) as pool:
            use = partial(session.execute, "1")
            return pool.submit(use).result().value if is_pooled else use().value

    session = new_session(callbacks=[inside], limits=planaria.Limits(timeout=None))
    assert session.run(call).error.type == "SessionBusy"
    caught = f"import planaria_kernel.errors\ntry: {call}\nexcept planaria_kernel.errors.SessionError as e: x = e\nrepr(x)"
    assert session.execute(caught).value.startswith("SessionBusy(")


def test_session_errors_in_the_code(new_session: Callable[..., Any]) -> None:
    """A SessionError of any class arrives as the nearest one that planaria has."""

    class Own(planaria.SessionClosed):
        """An exception of the host's own."""

    given = [Own("a"), planaria.CapabilityError("fork", "none"), planaria.ToolNotFound("b", tool="t")]

    def inside(number: int) -> None:
        raise given[number]

    session = new_session(callbacks=[inside])
    kinds = [session.run(f"await inside({number})").error.type for number in range(len(given))]
    assert kinds == ["SessionClosed", "SessionError", "ToolNotFound"]


@pytest.mark.parametrize("call", ["await inside()", "inside.call()"])
def test_another_event_loop(call: str) -> None:
    """A session that is in use under one event loop is refused to others, also for closing, without any time
    limit.
    """

    async def main() -> None:
        def inside() -> None:
            with ThreadPoolExecutor(1) as pool:
                with pytest.raises(planaria.SessionBusy, match="another event loop"):
                    pool.submit(lambda: asyncio.run(session.close())).result()
                pool.submit(lambda: asyncio.run(session.run("1"))).result()

        async with planaria.AsyncSession(callbacks=[inside], limits=planaria.Limits(timeout=None)) as session:
            error = (await session.run(call)).error
            assert error is not None
            assert error.type == "SessionBusy"
            assert (await session.run("2")).value == 2

    asyncio.run(main())


def test_another_thread_waits_its_turn(new_session: Callable[..., Any]) -> None:
    """A thread that the callback does not wait for gets its turn, though the callback waits for others."""
    entered, waiting = threading.Event(), threading.Event()

    def inside() -> str:
        entered.set()
        waiting.wait(60)
        return "over"

    session = new_session(callbacks=[inside])
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(session.execute, "await inside()")
        assert entered.wait(60)
        second = pool.submit(session.execute, "2")
        assert wait([second], 0.3).not_done
        waiting.set()
        assert (first.result().value, second.result().value) == ("over", 2)


def test_overrun(new_session: Callable[..., Any]) -> None:
    """A callback that takes longer than its time gives TimeoutError in the guest, and the session goes on."""
    release = threading.Event()

    def hang() -> None:
        release.wait(600)

    session = new_session(callbacks=[hang, later], limits=planaria.Limits(callback_timeout=0.1))
    source = "try: {}\nexcept TimeoutError as e: x = str(e)\nx"
    for call in ("await hang()", "hang.call()", "await later(1, 600)", "later.call(1, 600)"):
        assert "longer than 0.1 s" in session.execute(source.format(call)).value
    release.set()
    assert session.execute("await later(5, 0)").value == 5


@pytest.mark.parametrize("kind", ["plain", "asynchronous", "unbounded"])
def test_overrun_does_not_hang_the_exit(kind: str) -> None:
    """The interpreter ends although a callback hangs and the session was never closed."""
    source = f"""
import asyncio, planaria, threading
def hang(): threading.Event().wait()
async def hang_later(): await asyncio.sleep(1e6)
kind = {kind!r}
limits = planaria.Limits(callback_timeout=None if kind == "unbounded" else 0.1)
session = planaria.Session(callbacks=[hang, hang_later], limits=limits)
if kind == "plain":
    print(session.run("await hang()").error.type)
elif kind == "asynchronous":
    print(session.run("await hang_later()").error.type)
else:
    print(type(session.run("await hang_later()", timeout=0.2).error).__name__)
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode, done.stderr) == ("TimeoutError\n", 0, "")


def test_count_is_bounded(new_session: Callable[..., Any]) -> None:
    """More calls than `Limits.callbacks` end the execution with LimitError, whatever the code catches."""
    session = new_session(callbacks=[later], limits=planaria.Limits(callbacks=3))
    for call in ("await later(0, 0)", "later.call(0, 0)"):
        assert session.execute(f"for i in range(3): {call}").callback_invocations == 3
        result = session.run(f"print('x')\nfor i in range(9):\n    try: {call}\n    except Exception: pass")
        assert isinstance(result.error, planaria.LimitError)
        assert (result.error.limit, result.error.state, result.error.stdout) == ("callbacks", "kept", "x\n")
        assert session.execute("i").value >= 3


def test_blocking_call_after_a_timer(new_session: Callable[..., Any]) -> None:
    """A blocking call has its whole time, also after the code has waited for a timer."""
    session = new_session(callbacks=[later])
    assert session.execute("import asyncio\nawait asyncio.sleep(0.01)\nlater.call(3, 0.1)").value == 3


@pytest.mark.parametrize(
    ("callbacks", "message"),
    [
        ([5], "function"),
        ([{"name": "x"}], "'fn'"),
        ([{"fn": add}], "'name'"),
        ([{"name": "x", "fn": add, "descripton": ""}], "descripton"),
        ([{"name": "x", "fn": 5}], "must be a function"),
        ([{"name": "not a name", "fn": add}], "identifiers"),
        ([{"name": "a..b", "fn": add}], "identifiers"),
        ([{"name": "class", "fn": add}], "identifiers"),
        ([{"name": 5, "fn": add}], "identifiers"),
        ([add, add], "collides"),
        ([{"name": "a", "fn": add}, {"name": "a.b", "fn": add}], "collides"),
        (5, "callbacks"),
        ({"name": "x", "fn": add}, "a list"),
        ("add", "callbacks"),
        ([add, None], "function"),
    ],
)
def test_bad_declarations(callbacks: Any, message: str) -> None:
    """A callback that is declared wrongly is refused with what is wrong, before there is a session."""
    with pytest.raises(planaria.CallbackError, match=message):
        planaria.Session(callbacks=callbacks)


def test_huge_answers(new_session: Callable[..., Any]) -> None:
    """An answer that does not fit the guest's memory is an error there, and the session stays usable."""
    session = new_session(
        callbacks=[{"name": "give", "fn": lambda n: b"x" * n}], limits=planaria.Limits(memory=128 << 20)
    )
    assert session.execute("len(await give(1000))").value == 1000
    for call in ("await give(200_000_000)", "give.call(200_000_000)"):
        error = session.run(call).error
        assert error is not None
        assert error.type == "MemoryError"
    both = "import asyncio\nsmall, big = await asyncio.gather(give(5), give(200_000_000), return_exceptions=True)"
    assert session.execute(f"{both}\nsmall, type(big).__name__").value == (b"xxxxx", "MemoryError")
    with pytest.raises(planaria.ExecutionError, match="MemoryError"):
        session.execute(f"x = '{'x' * 200_000_000}'")
    assert session.execute("len(await give(1000))").value == 1000


@pytest.mark.parametrize(
    "source",
    ["rate('USD') * 2", "x = rate('USD')\nx * 2", "rate('USD').upper()", "await bank.fee() + bank.fee()"],
)
def test_forgotten_await_is_explained(new_session: Callable[..., Any], source: str) -> None:
    """An error that comes of a callback's call without `await` names the call, also in the traceback."""
    session = new_session(
        callbacks=[{"name": "rate", "fn": lambda code: 1.5}, {"name": "bank.fee", "fn": lambda: 2}]
    )
    error = session.run(source).error
    name = "bank.fee" if "fee" in source else "rate"
    assert f"write await {name}(...)" in error.message
    assert error.traceback.endswith(f"write await {name}(...)\n")
    other = session.run("async def own(): pass\nown() * 2").error
    assert "write await" not in str(other)


def _named(*names: str) -> list[dict[str, object]]:
    return [{"name": name, "fn": lambda: "mine"} for name in names]


@pytest.mark.parametrize("names", [("print",), ("open.file",), ("len", "add", "input")])
def test_a_callback_with_the_name_of_a_builtin_is_warned_of(names: tuple[str, ...]) -> None:
    """The constructor warns, at the caller's line, of callbacks that code gets instead of a builtin."""
    with pytest.warns(UserWarning, match="instead of Python's builtin") as caught:
        planaria.Session(callbacks=_named(*names)).close()
    [warning] = caught
    assert warning.filename == __file__
    assert [repr(name) in str(warning.message) for name in ("print", "open", "len", "input", "add")] == [
        "print" in names, "open.file" in names, "len" in names, "input" in names, False
    ]  # fmt: skip


def test_only_cells_get_a_callback_with_the_name_of_a_builtin() -> None:
    """Whatever builtins callbacks are named like, the kernel, the shell and modules keep Python's own."""
    functions = [
        name for name in dir(builtins) if name.isidentifier() and not name.startswith("_") and name != "None"
    ]
    taken = [name for name in functions if not keyword.iskeyword(name)]
    with pytest.warns(UserWarning, match="instead of Python's builtin"):
        session = planaria.Session(callbacks=_named(*taken))
    with session:
        assert session.bash("x=$(printf '%s\\n' b a | sort | wc -l); echo $((x + 1)) ${#x}").stdout == "3 1\n"
        assert session.bash("nosuch").exit_code == 127
        assert session.execute("import fractions, statistics\nmine = await len()\nmine").value == "mine"
        assert session.execute("statistics.mean([fractions.Fraction(1, 2), 1.5])").value == 1.0
        assert session.execute("del len\nlen('abc')").value == 3


def test_a_callback_cannot_have_a_name_of_pythons_own() -> None:
    """Names with two underscores at both ends, such as __import__, are refused."""
    for name in ("__import__", "__build_class__", "__name__.x"):
        with pytest.raises(planaria.CallbackError, match="Python's own"):
            planaria.Session(callbacks=_named(name))
