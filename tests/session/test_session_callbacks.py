"""Callbacks: how they are declared, called, and what they return and raise."""

from __future__ import annotations

import asyncio
import builtins
import functools
import keyword
import sys
from collections.abc import Callable
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
    double_listed = next(one for one in listed if one["name"] == "tools.math.double")
    assert double_listed["description"] == "Doubles"
    assert double_listed["schema"] == {"type": "object"}
    assert "x" in double_listed["signature"]


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


def leave(status: int) -> None:
    sys.exit(status)


async def leave_later(status: int) -> None:
    await asyncio.sleep(0)
    leave(status)


@pytest.mark.parametrize(
    "call", ["await leave(3)", "leave.call(3)", "await leave_later(3)", "leave_later.call(3)"]
)
def test_exits(new_session: Callable[..., Any], call: str) -> None:
    """A callback that exits ends neither the host's program nor the code, which gets a RuntimeError."""
    session = new_session(callbacks=[leave, leave_later])
    session.execute(f"x = 1\ntry: {call}\nexcept RuntimeError as error: caught = str(error)")
    assert session.execute("x, caught").value == (1, "the host's function raised SystemExit(3)")


def test_exits_of_standard_input(new_session: Callable[..., Any]) -> None:
    """The same goes for the function that gives standard input."""
    session = new_session(stdin=lambda prompt: sys.exit(prompt))
    assert session.run("input('why')").error.type == "RuntimeError"
    assert session.run("open(0).read()").error.type == "OSError"


def test_exits_under_an_event_loop() -> None:
    """An event loop on which a callback exits goes on."""

    async def main() -> Any:
        async with planaria.AsyncSession(callbacks=[leave, leave_later]) as session:
            errors = [(await session.run(f"await {name}(1)")).error for name in ("leave", "leave_later")]
            return [error.type for error in errors if error is not None]

    assert asyncio.run(main()) == ["RuntimeError", "RuntimeError"]


def test_derived_exceptions(new_session: Callable[..., Any]) -> None:
    """An exception of the host's own class arrives as its nearest builtin ancestor."""

    def custom() -> None:
        raise Custom("mine")

    async def custom_later() -> None:
        raise Custom("mine")

    session = new_session(callbacks=[custom, custom_later])
    for name in ("custom", "custom_later"):
        assert session.execute(f"try: await {name}()\nexcept LookupError as e: x = str(e)\nx").value == "mine"


def test_count_is_bounded(new_session: Callable[..., Any]) -> None:
    """More calls than `Limits.callbacks` end the execution with LimitError, whatever the code catches."""
    session = new_session(callbacks=[later], limits=planaria.Limits(callbacks=3))
    for call in ("await later(0, 0)", "later.call(0, 0)"):
        assert session.execute(f"for i in range(3): {call}").callback_invocations == 3
        result = session.run(f"print('x')\nfor i in range(9):\n    try: {call}\n    except Exception: pass")
        assert isinstance(result.error, planaria.LimitError)
        assert (result.error.limit, result.error.state, result.error.stdout) == ("callbacks", "kept", "x\n")
        assert session.execute("i").value >= 3


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


@pytest.mark.parametrize(
    "value",
    [
        "(one := []).append(one) or one",
        "(one := {}).update(a=one) or one",
        "setattr(E.A, '_value_', E.A) or E.A",
        "setattr(E.A, '_value_', [E.A]) or {1: E.A}",
    ],
)
@pytest.mark.parametrize("call", ["await later({})", "later.call({})"])
def test_arguments_that_contain_themselves(new_session: Callable[..., Any], value: str, call: str) -> None:
    """An argument that contains itself is a TypeError in the code, and the session goes on."""
    session = new_session(callbacks=[later])
    session.execute("import enum\nclass E(enum.Enum):\n    A = 1\nkept = 1")
    source = f"try: {call.format(value)}\nexcept TypeError as error: said = str(error)\nsaid"
    assert "contains itself" in session.execute(source).value
    assert session.execute("kept").value == 1


def test_calls_that_are_not_awaited(new_session: Callable[..., Any]) -> None:
    """What a call without await gives is named after the callback, in its repr and in the warning."""
    session = new_session(callbacks=[Callback("bank.rate", add)])
    result = session.run("f'{bank.rate(1)}'")
    assert result.value.startswith("<coroutine object bank.rate at ")
    assert "coroutine 'bank.rate' was never awaited" in result.stderr


def test_callbacks_with_names_of_ours(new_session: Callable[..., Any]) -> None:
    """The constructor warns of callbacks that code gets instead of a function of planaria, or does not get."""
    for name in ("invoke", "list_callbacks.all"):
        with pytest.warns(UserWarning, match="cells get that instead of the function of planaria"):
            session = new_session(callbacks=[{"name": name, "fn": lambda: "mine"}])
        assert session.execute(f"await {name}()").value == "mine"
    with pytest.warns(UserWarning, match="'display': cells get instead the function of planaria"):
        session = new_session(callbacks=[{"name": "display", "fn": lambda: "mine"}])
    assert session.execute("display(1)").value is None
    assert session.execute("await invoke('display')").value == "mine"


def test_a_call_that_is_a_value(new_session: Callable[..., Any]) -> None:
    """Where the value of a cell is a call that was not awaited, the output says so, once; it can be awaited
    later.
    """

    def rate(currency: str) -> float:
        return 1.5

    session = new_session(callbacks=[rate])
    said = "RuntimeWarning: the value is the coroutine 'rate', which was not awaited: write await before the call\n"
    assert session.execute("rate('USD')").stderr == said
    assert session.execute("await _").value == 1.5
    assert session.execute("kept = rate('USD'); kept").stderr == said
    assert session.execute("1").stderr == ""
    assert session.execute("await kept").value == 1.5
    assert session.execute("rate('USD')").stderr == said
    assert session.execute("2").stderr == ""
    assert session.execute("async def own(): pass\nown()").stderr.count("'own'") == 1
    assert session.execute("3").stderr == ""
