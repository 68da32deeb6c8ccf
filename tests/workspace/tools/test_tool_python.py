"""Python functions and objects as tools."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from waiting import wait

from planaria import ToolArgumentError, ToolDefinitionError, ToolRegistry

if TYPE_CHECKING:
    from nowhere import Unknown


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Person(BaseModel):
    name: str
    age: int = 0


def described(
    text: str,
    count: Annotated[int, "How often"],
    ratio: Annotated[float, Field(gt=0, description="How much")] = 0.5,
    *,
    color: Color = Color.RED,
    mode: Literal["a", "b"] | None = None,
    points: Sequence[Point] = (),
    person: Person | None = None,
    path: Path = Path("."),
    when: datetime.date | None = None,
    extra: Mapping[str, int] | None = None,
    anything=None,  # type: ignore[no-untyped-def]
) -> dict[str, list[int]]:
    """Describe a text.

    In two paragraphs.

    Args:
        text: The text,
            which may be long.
        ratio: Not this one.
        color (Color): The color.

    Returns:
        Nothing of use.
    """
    return {"args": [text, count, ratio, color, mode, points, person, path, when, extra, anything]}  # type: ignore[list-item]


def call(function: Any, /, **arguments: Any) -> Any:
    registry = ToolRegistry()
    tool = registry.add(function, name="tool")
    return registry.call(tool.name, None, arguments)


def test_signature_and_docstring_become_the_schema() -> None:
    """Types, defaults and descriptions of parameters come from the signature, annotations and docstring."""
    [tool] = ToolRegistry([described]).list()
    assert tool["description"] == "Describe a text.\n\nIn two paragraphs."
    [function] = tool["callables"]
    assert function["returns"] == "dict[str, list[int]]"
    shown = [(one["name"], one["type"], one["required"], one["default"]) for one in function["parameters"]]
    assert shown == [
        ("text", "str", True, None),
        ("count", "int", True, None),
        ("ratio", "float", False, 0.5),
        ("color", "Literal['red', 'blue']", False, None),
        ("mode", "Literal['a', 'b'] | None", False, None),
        ("points", "list[dict[str, Any]]", False, ()),
        ("person", "dict[str, Any] | None", False, None),
        ("path", "str", False, None),
        ("when", "datetime.date | None", False, None),
        ("extra", "dict[str, int] | None", False, None),
        ("anything", "Any", False, None),
    ]
    texts = {one["name"]: one["description"] for one in function["parameters"] if one["description"]}
    assert texts == {
        "text": "The text, which may be long.",
        "count": "How often",
        "ratio": "How much",
        "color": "The color.",
    }


def test_arguments_become_what_the_annotations_say() -> None:
    """Dicts become dataclasses and models, texts become paths, dates and members of enumerations."""
    arguments = {
        "color": "blue",
        "points": [{"x": 1}, {"x": "2", "y": 3}],
        "person": {"name": "Ann"},
        "path": "/tmp/x",
        "when": "2026-01-02",
        "count": 3.0,
    }
    given = call(described, text="t", **arguments)["args"]
    assert given == [
        *("t", 3, 0.5, Color.BLUE, None, [Point(1), Point(2, 3)], Person(name="Ann"), Path("/tmp/x")),
        *(datetime.date(2026, 1, 2), None, None),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 1}, "tool() needs text"),
        ({"text": 1, "count": 1}, "tool(): text: Input should be a valid string"),
        ({"text": "", "count": 1, "ratio": -1}, "tool(): ratio: Input should be greater than 0"),
        ({"text": "", "count": 1, "points": [{"y": 1}]}, "tool(): points.0.x: Field required"),
        ({"text": "", "count": 1, "color": "green"}, "tool(): color: Input should be 'red' or 'blue'"),
        (
            {"text": "", "count": 1, "colour": "red"},
            "tool() has no parameter 'colour'; did you mean 'color'?",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, Any], message: str) -> None:
    """A missing, unknown or misfitting argument is refused with its place in the value, and nothing is called."""
    with pytest.raises(ToolArgumentError) as raised:
        call(described, **arguments)
    assert str(raised.value) == message


def test_none_stands_for_a_default_that_cannot_be_shown() -> None:
    """Where the default is an object of the host, None gives it."""
    assert call(described, text="", count=1, color=None, path=None)["args"][3] is Color.RED


def test_annotations_that_cannot_be_resolved_take_anything() -> None:
    """A parameter whose annotation names what is not there takes any value; the others are checked."""

    def function(one: Unknown, two: int) -> Unknown:
        return (one, two)

    marker = object()
    assert call(function, one=marker, two="2") == (marker, 2)
    [parameter, _] = ToolRegistry([function]).list()[0]["callables"][0]["parameters"]
    assert parameter["type"] == "Unknown"


def test_classes_that_pydantic_does_not_know_are_checked_by_instance() -> None:
    """A parameter of a class of the host takes instances of it and nothing else."""

    class Handle:
        pass

    def function(handle) -> Any:  # type: ignore[no-untyped-def]
        return handle

    function.__annotations__["handle"] = Handle
    handle = Handle()
    assert call(function, handle=handle) is handle
    with pytest.raises(ToolArgumentError, match="should be an instance of"):
        call(function, handle="x")


def test_all_kinds_of_parameters() -> None:
    """Positional-only parameters can be given by name, `**` takes what has no parameter, `*` a list."""

    def function(a: int, b: int = 2, /, *rest: int, c: int = 3, **more: Any) -> Any:
        return (a, b, rest, c, more)

    assert call(function, a=1) == (1, 2, (), 3, {})
    assert call(function, b=5, a=1, c=6, d=7) == (1, 5, (), 6, {"d": 7})
    names = [one["name"] for one in ToolRegistry([function]).list()[0]["callables"][0]["parameters"]]
    assert names == ["a", "b", "*rest", "c", "**more"]
    assert call(function, a=1, b=2, **{"*rest": ["3", 4]}) == (1, 2, (3, 4), 3, {})
    for arguments, message in (
        ({"a": 1, "*rest": [3]}, r"needs b before \*rest"),
        ({"a": 1, "b": 2, "*rest": ["x"]}, r"\*rest: Input should be a valid integer"),
        ({"a": 1, "b": 2, "*rest": 3}, r"\*rest is a list, not int"),
    ):
        with pytest.raises(ToolArgumentError, match=message):
            call(function, **arguments)


def test_builtins_partials_and_lambdas() -> None:
    """Functions written in C, partial ones and lambdas are tools; those without a name need one."""
    registry = ToolRegistry({"log": math.log2, "two": functools.partial(pow, 2), "twice": lambda x: 2 * x})
    assert wait_all(registry, ("two", {"exp": 10}), ("twice", {"x": 4})) == [1024, 8]
    assert registry.call("log", None, {"x": 8}) == 3
    for target in (functools.partial(pow, 2), lambda x: x):
        with pytest.raises(ToolDefinitionError, match=r"needs a name: add\(\.\.\., name='\.\.\.'\)"):
            registry.add(target)


def wait_all(registry: ToolRegistry, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    return [registry.call(name, None, arguments) for name, arguments in calls]


class Base:
    def inherited(self) -> str:
        return "inherited"


class WebSearch(Base):
    """Search the web."""

    def __init__(self) -> None:
        self.hook = lambda: "hook"
        self.not_a_method = 3

    def find(self, query: str) -> str:
        """Find pages.

        :param query: What to look for,
            in words
        :returns: pages
        """
        return f"found {query}"

    async def fetch(self, url: str) -> str:
        """Fetch a page.

        Parameters
        ----------
        url : str
            Where it is.

        Returns
        -------
        str
            The page.
        """
        return f"page {url}"

    @staticmethod
    def fixed() -> str:
        return "fixed"

    @classmethod
    def named(cls) -> str:
        return cls.__name__

    @property
    def exploding(self) -> str:
        raise RuntimeError("looked at")

    def _private(self) -> None: ...


def test_public_methods_of_an_object_become_callables() -> None:
    """An object's tool is named after its class and has its public methods; properties are not looked at."""
    registry = ToolRegistry([WebSearch()])
    [tool] = registry.list()
    assert (tool["name"], tool["description"]) == ("web_search", "Search the web.")
    assert [one["name"] for one in tool["callables"]] == [
        "inherited",
        "find",
        "fetch",
        "fixed",
        "named",
        "hook",
    ]
    assert registry.call("web_search", "find", {"query": "x"}) == "found x"
    assert wait(registry.call("web_search", "fetch", {"url": "x"})) == "page x"
    assert registry.call("web_search", "named", {}) == "WebSearch"
    described = {one["name"]: [p["description"] for p in one["parameters"]] for one in tool["callables"]}
    assert (described["find"], described["fetch"]) == (["What to look for, in words"], ["Where it is."])


def test_object_that_can_be_called_is_a_function_besides() -> None:
    """An object with `__call__` can be called itself and by its methods."""

    class Counter:
        def __init__(self) -> None:
            self.value = 0

        def __call__(self, step: int = 1) -> int:
            self.value += step
            return self.value

        def reset(self) -> None:
            self.value = 0

    registry = ToolRegistry([Counter()])
    assert [registry.call("counter", None, {}), registry.call("counter", None, {"step": "4"})] == [1, 5]
    registry.call("counter", "reset", {})
    assert registry.call("counter", None, {}) == 1


def test_module_gives_its_public_functions() -> None:
    """A module's tool has the functions that it exports, and not those that it imports."""
    import textwrap

    [tool] = ToolRegistry([textwrap]).list()
    assert (tool["name"], [one["name"] for one in tool["callables"]]) == (
        "textwrap",
        ["wrap", "fill", "shorten", "dedent", "indent"],
    )


@pytest.mark.parametrize("target", [3, "text", None, object(), WebSearch])
def test_what_no_tool_can_be_made_of_is_refused(target: object) -> None:
    """A class, a plain value, and an object without public methods are refused with what is wanted."""
    with pytest.raises(ToolDefinitionError, match="a tool is a function"):
        ToolRegistry().add(target)


def test_what_a_function_raises_comes_as_it_is() -> None:
    """An exception of a tool is not wrapped."""

    def function() -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        call(function)
