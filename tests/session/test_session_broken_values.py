"""Values whose own methods are broken, wherever a session looks at a value."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import planaria

#: What a broken method does instead of its work.
_BODIES = (
    "raise ValueError('broken')",
    "raise SystemExit(3)",
    "raise GeneratorExit",
    "raise MemoryError",
    "return 5",
    "return None",
    "return -1",
    "return 'x' * 100_000",
    "return self",
    "return itertools.count()",
    "return list",
    "shared.clear(); return 'cleared'",
)
_NAMES = """
    __repr__ __str__ __hash__ __eq__ __len__ __iter__ __getitem__ __getattr__ __getattribute__ __reduce__
    __reduce_ex__ __getstate__ __bool__ __int__ __index__ __float__ __format__ __contains__ __array__ __next__
    items keys tolist tobytes _repr_html_ _repr_mimebundle_ _repr_png_ __dataclass_fields__
"""
_METHODS = _NAMES.split()
_PROPERTY_NAMES = "__class__ real shape dtype year days numerator columns index values name value"
_PROPERTIES = _PROPERTY_NAMES.split()
_BASES = {
    "object": "",
    "list": "[1]",
    "dict": "{'a': 1}",
    "set": "[1]",
    "str": "'abc'",
    "int": "7",
    "float": "1.5",
    "bytes": "b'abc'",
    "tuple": "(1, 2)",
    "complex": "1",
    "Exception": "'text'",
    "decimal.Decimal": "'1.5'",
    "fractions.Fraction": "1, 3",
    "datetime.datetime": "2026, 1, 2",
    "datetime.timedelta": "1",
    "pathlib.PurePosixPath": "'a/b'",
    "uuid.UUID": "int=1",
    "collections.OrderedDict": "a=1",
    "collections.deque": "[1]",
    "collections.UserDict": "a=1",
    "np.ndarray": "2",
    "np.float64": "2",
    "pd.DataFrame": "{'a': [1, 2]}",
    "pd.Series": "[1, 2]",
    "pd.Timestamp": "'2026-01-01'",
}
_META = ("", "__hash__", "__eq__", "__repr__", "__instancecheck__", "__getattribute__", "__mro__", "__len__")


@st.composite
def classes(draw: st.DrawFn) -> str:
    """The source of a class `A`, some of whose methods are broken, and of a value `v` of it."""
    base = draw(st.sampled_from(sorted(_BASES)))
    body = st.sampled_from(_BODIES)
    methods = draw(st.dictionaries(st.sampled_from(_METHODS), body, max_size=4))
    properties = draw(st.dictionaries(st.sampled_from(_PROPERTIES), body, max_size=2))
    meta = draw(st.sampled_from(_META))
    lines = ["class Meta(type):", "    pass"]
    if meta:
        lines[1:] = [f"    def {meta}(self, *more):", f"        {draw(body)}"]
    lines += [f"class A({base}, metaclass=type('M', (Meta, type({base})), {{}})):", "    pass"]
    for name, source in methods.items():
        lines += [f"    def {name}(self, *more, **named):", f"        {source}"]
    for name, source in properties.items():
        lines += ["    @property", f"    def {name}(self):", f"        {source}"]
    lines += ["shared = [1, 2, 3]"]
    lines += ["try:", f"    v = A({_BASES[base]})", "except BaseException:"]
    lines += ["    v = type.__new__(type, 'B', (), {})()"]
    lines += ["shared[:] = [v, 2, v]", "del A, Meta"]
    return "\n".join(lines)


_PLACES = (
    "v",
    "[v, {'key': v}]",
    "shared",
    "(v,) * 40",
    "await send(v)",
    "send.call([v], name=v)",
    "display(v)",
    "raise ValueError(v)",
    "raise KeyError(v, [v])",
    "e = ValueError('a'); e.__notes__ = [v]; raise e",
    "e = ValueError('a'); e.__notes__ = v; raise e",
    "raise SystemExit(v)",
    "if isinstance(v, BaseException): raise v",
)


@pytest.fixture(scope="module")
def receiving() -> Iterator[planaria.Session]:
    """A session with a function that takes anything."""

    def send(value: object, name: object = None) -> str:
        return "sent"

    with planaria.Session(callbacks=[send]) as session:
        session.execute("import collections, datetime, decimal, fractions, itertools, pathlib, uuid")
        session.execute("import numpy as np, pandas as pd\nkept = 1")
        yield session


@pytest.mark.full
@settings(max_examples=examples(60), deadline=None)
@given(source=classes(), places=st.lists(st.sampled_from(_PLACES), min_size=1, max_size=5))
def test_no_value_ends_the_kernel(receiving: planaria.Session, source: str, places: list[str]) -> None:
    """Whatever a value's methods do, the kernel and the session's state survive wherever the value goes."""
    receiving.run(source)
    for place in places:
        error = receiving.run(place, timeout=10).error
        if isinstance(error, planaria.TimeoutError):  # a method that never ends is stopped, as in any code
            assert error.state == "kept", (source, place, error)
        else:
            assert error is None or isinstance(error, planaria.ExecutionError), (source, place, error)
    with contextlib.suppress(planaria.SessionError):
        receiving.get("v")
    assert receiving.get("kept") == 1


def test_representations_without_a_type(receiving: planaria.Session) -> None:
    """A representation whose type is not a string is left out, and standard error says so."""
    result = receiving.run(
        "class A:\n    def _repr_mimebundle_(self, **named): return {5: 1, 'text/html': '<b>'}\nA()"
    )
    assert result.error is None
    assert result.outputs[0].data["text/html"] == "<b>"
    assert "type is not a string" in result.stderr
    assert receiving.run("display({5: 1}, raw=True)").error is None


def test_an_exit_status_of_another_class(receiving: planaria.Session) -> None:
    """A status that is an int of a subclass, whose methods are broken, is taken by its number."""
    result = receiving.run(
        "class Meta(type):\n    def __getattribute__(self, *more): return None\n"
        "class A(int, metaclass=Meta):\n    def __int__(self): raise ValueError\n"
        "raise SystemExit(A(7))"
    )
    assert isinstance(result.error, planaria.Exited)
    assert result.error.exit_code == 7
    claims = "class B:\n    __class__ = int\nraise SystemExit(B())"
    error = receiving.run(claims).error
    assert isinstance(error, planaria.Exited)
    assert error.exit_code == 1


def test_items_that_change_their_list(receiving: planaria.Session) -> None:
    """A list that the `repr` of an item empties arrives as it was."""
    receiving.execute(
        "class A:\n    def __repr__(self):\n        some.clear()\n        return 'a'\nsome = [A(), 2, 3]"
    )
    value = receiving.execute("some").value
    assert [type(item) for item in value] == [planaria.Repr, int, int]


def test_notes_without_end(receiving: planaria.Session) -> None:
    """An exception whose notes have no end is reported with the first of them."""
    error = receiving.run("e = ValueError('text')\ne.__notes__ = range(10**30)\nraise e", timeout=60).error
    assert isinstance(error, planaria.ExecutionError)
    assert (error.type, str(error)) == ("ValueError", "ValueError: text")
    assert error.traceback.endswith("999\n(further notes are left out)\n")
    assert len(error.traceback) < 10_000


def test_one_variable_hides_no_other(receiving: planaria.Session) -> None:
    """A variable whose class cannot be asked for its name does not keep others from being read."""
    receiving.execute(
        "class M(type):\n    def __getattribute__(self, name): raise SystemExit\nclass A(metaclass=M): pass"
    )
    receiving.execute("bad = A(); good = 2")
    assert receiving.get("good") == 2
