"""Values of every type across the boundary: to callbacks, from callbacks, and as the last value."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest

import planaria
from planaria_kernel.protocol import FrameValue

IMPORTS = (
    "from datetime import *; from decimal import Decimal; from fractions import Fraction; "
    "from uuid import UUID; from pathlib import PurePosixPath; from math import inf, nan"
)

VALUES = [
    None,
    True,
    False,
    0,
    -1,
    63,
    64,
    2**63,
    -(2**63) - 1,
    10**400,
    0.0,
    -0.0,
    1.5,
    math.inf,
    -math.inf,
    "",
    "naïve 🐛",
    "\ud800 alone",
    "\x00",
    b"",
    b"\xff\x00",
    [],
    [1, [2, [3]]],
    (),
    (1, "a", (None,)),
    {},
    {1: "one", (2, 3): "pair", None: [], b"k": {"deep": True}, 1.5: 0},
    set(),
    {1, "a"},
    frozenset({1, (2,)}),
    date(2024, 2, 29),
    time(1, 2, 3, 4),
    datetime(2024, 1, 2, 3, 4, 5, 6),
    datetime(2024, 1, 2, tzinfo=UTC),
    datetime(2024, 1, 2, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    timedelta(days=-1, microseconds=1),
    Decimal("1.10"),
    Decimal("-Infinity"),
    Fraction(-1, 3),
    UUID(int=5),
    1 + 2j,
    PurePosixPath("a/b"),
]


@pytest.fixture(scope="module")
def echoing() -> Any:
    """A session with a function that gives back its argument and keeps it."""
    kept: list[Any] = []

    def echo(value: Any) -> Any:
        kept.append(value)
        return value

    with planaria.Session(callbacks=[echo]) as session:
        session.execute(IMPORTS)
        session.execute("def same(a, b): return type(a) is type(b) and repr(a) == repr(b) or a == b")
        yield session, kept


def source_of(value: Any) -> str:
    text = repr(value)
    return (
        text.replace("datetime.timezone", "timezone").replace("datetime.utc", "utc").replace("datetime.", "")
    )


# By number: the repr of a set differs from process to process.
@pytest.mark.parametrize(
    "value", VALUES, ids=[f"{type(value).__name__} {number}" for number, value in enumerate(VALUES)]
)
def test_values_arrive(echoing: Any, value: Any) -> None:
    """A value arrives equal and of the same type as an argument, as an answer, and as the last value."""
    session, kept = echoing
    source = source_of(value)
    result = session.execute(
        f"v = {source}\nback = await echo(v)\nassert type(back) is type(v) and back == v, back\nv"
    )
    assert type(kept[-1]) is type(value)
    assert kept[-1] == value
    assert type(result.value) is type(value)
    assert (
        repr(result.value) == repr(value)
        if not isinstance(value, (set, frozenset))
        else result.value == value
    )
    assert session.execute(f"assert echo.call(v) == v\n{source}").value == value


def test_nan_arrives(echoing: Any) -> None:
    """Not-a-number arrives as that."""
    session, kept = echoing
    value = session.execute("await echo(nan); x = await echo(nan); assert x != x; {'nan': nan}").value
    assert math.isnan(kept[-1])
    assert math.isnan(value["nan"])


def test_classes_arrive(echoing: Any) -> None:
    """Dataclass instances arrive as dicts, enum members as such, both ways."""
    session, kept = echoing

    class Colour(enum.Enum):
        RED = "r"

    @dataclass
    class Point:
        x: int
        y: list[int]

    session.execute(
        "import enum, dataclasses\nclass Colour(enum.Enum):\n    RED = 'r'\n"
        "@dataclasses.dataclass\nclass Point:\n    x: int\n    y: list"
    )
    assert session.execute("Point(1, [2])").value == {"x": 1, "y": [2]}
    member = session.execute("Colour.RED").value
    assert (member.name, member.value) == ("RED", "r")
    session.execute("await echo(Colour.RED)")
    assert kept[-1].value == "r"

    give = planaria.Session(callbacks=[{"name": "give", "fn": lambda: [Point(1, [2]), Colour.RED]}])
    assert give.execute("p, c = await give(); [p['y'], c.name, c.value]").value == [[2], "RED", "r"]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("object()", "object"),
        ("len", "builtin_function_or_method"),
        ("lambda: 1", "function"),
        ("(i for i in [])", "generator"),
        ("import sys; sys", "module"),
        ("class A:\n    x = 1\nA()", "A"),
        ("open('/tmp/f', 'w')", "_io.TextIOWrapper"),
    ],
)
def test_stand_ins(session: Any, source: str, name: str) -> None:
    """What is not serialisable arrives as a Repr that names its type, also inside containers; never as a
    look-alike.
    """
    value = session.execute(source).value
    assert isinstance(value, planaria.Repr)
    assert name in value.type
    inside = session.execute(source.rsplit("\n", 1)[0] + "\n0" if "\n" in source else "0").value
    assert inside == 0
    last = source.rsplit("\n", 1)[-1].rsplit("; ", 1)[-1]
    wrapped = session.execute(
        f"{source};\n[1, {{'k': {last}}}]" if "\n" not in source else f"[1, {{'k': {last}}}]"
    )
    assert wrapped.value[0] == 1
    assert isinstance(wrapped.value[1]["k"], planaria.Repr)


def test_cycles(echoing: Any) -> None:
    """A value that contains itself arrives as a bounded Repr; as an argument it is refused with the
    reason.
    """
    session, _ = echoing
    value = session.execute("loop = []; loop.append(loop); loop").value
    assert isinstance(value, planaria.Repr)
    assert "[...]" in value.text
    with pytest.raises(planaria.ExecutionError, match=r"deep|itself"):
        session.execute("await echo(loop)")
    with pytest.raises(planaria.ExecutionError, match=r"deep|itself"):
        session.execute("echo.call(loop)")
    assert session.execute("1").value == 1


def test_host_cycles(new_session: Callable[..., Any]) -> None:
    """A callback's result that contains itself is an error in the guest, and the session stays usable."""
    loop: list[Any] = []
    loop.append(loop)
    session = new_session(callbacks=[{"name": "give", "fn": lambda: loop}])
    for source in ("await give()", "give.call()"):
        error = session.run(source).error
        assert error.type == "TypeError"
        assert "cannot be serialised" in str(error)
    both = session.run(
        "import asyncio\nawait asyncio.gather(give(), asyncio.sleep(0, 5), give(), return_exceptions=True)"
    )
    assert both.value is not None
    assert both.value[1] == 5


def test_huge_values(new_session: Callable[..., Any]) -> None:
    """A value beyond the bound arrives as a Repr that is short; one below it arrives whole."""
    session = new_session(limits=planaria.Limits(value=20_000_000))
    assert len(session.execute("b'x' * 10_000_000").value) == 10_000_000
    huge = session.execute("b'x' * 30_000_000").value
    assert isinstance(huge, planaria.Repr)
    assert len(huge.text) < 10_000
    assert session.execute("'alive'").value == "alive"


def test_limit_of_values(new_session: Callable[..., Any]) -> None:
    """`Limits.value` bounds the last value and arguments of callbacks."""
    session = new_session(limits=planaria.Limits(value=1000), callbacks=[{"name": "f", "fn": len}])
    assert session.execute("'x' * 900").value == "x" * 900
    assert isinstance(session.execute("'x' * 1100").value, planaria.Repr)
    assert session.execute("await f('x' * 900)").value == 900
    for source in ("await f('x' * 1100)", "f.call('x' * 1100)"):
        error = session.run(source).error
        assert isinstance(error, planaria.ExecutionError)
        assert "1000 bytes" in error.message
    assert session.execute("1").value == 1


@pytest.mark.full
def test_arrays_and_frames(echoing: Any) -> None:
    """Arrays and frames arrive with shape, dtype and data, also where the host has no numpy."""
    session, _ = echoing
    array = session.execute("import numpy as np\na = np.arange(6, dtype='i4').reshape(2, 3)\na").value
    assert tuple(array.shape) == (2, 3)
    assert str(array.dtype) in ("int32", "<i4")
    assert session.execute("bool((await echo(a) == a).all())").value is True
    assert session.execute("(await echo(a)).dtype == a.dtype").value is True
    frame = session.execute("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', None]})").value
    names = list(frame.columns) if not isinstance(frame, FrameValue) else [name for name, _ in frame.columns]
    assert names == ["a", "b"]
    assert session.execute("np.float64(1.5)").value == 1.5


def test_meaning_of_the_last_expression(session: Any) -> None:
    """The value is the last expression's; statements and a semicolon give None; `_` keeps the last value."""
    assert session.execute("1; 2").value == 2
    assert session.execute("x = 1").value is None
    assert session.execute("x;").value is None
    assert session.execute("if x: x").value is None
    assert session.execute("x + 1  # comment").value == 2
    assert session.execute("_").value == 2
    assert session.execute("None").value is None
    assert session.execute("").value is None
    assert session.execute("# nothing").value is None


@pytest.mark.full
@pytest.mark.parametrize("source", ["pd.DataFrame({'a': [1]}).to_parquet('x')", "pd.read_parquet('x')"])
def test_parquet(new_session: Callable[..., Any], source: str) -> None:
    """Without a package for parquet, pandas says where to read and write such files."""
    error = new_session().run(f"import pandas as pd\n{source}").error
    assert error.type == "ImportError"
    assert "pip install pyarrow" in error.message
