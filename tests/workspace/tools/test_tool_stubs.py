"""Stubs of tools: Python source for a model's prompt."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planaria import Tool, ToolCallable, ToolParameter, ToolRegistry

pytestmark = pytest.mark.slow


class Described(Tool):
    """A tool with any texts."""

    def __init__(self, name: str, description: str, callables: tuple[ToolCallable, ...]) -> None:
        super().__init__(name, description)
        self._callables = callables

    @property
    def callables(self) -> tuple[ToolCallable, ...]:
        return self._callables

    def call(self, callable: str | None, arguments: Any) -> Any: ...  # noqa: A002


URL = ToolParameter("url", "str", required=True, description="Where to")
CURL = Described(
    "curl",
    "Make HTTP requests\nand more",
    (
        ToolCallable("curl", "Everything", (ToolParameter("silent", "bool"), URL), "str"),
        ToolCallable("get", "A GET request.", (URL, ToolParameter("retries", "int", default=3)), "str"),
    ),
)
ADD = Described("add", "Add.", (ToolCallable("add", "", (ToolParameter("a", "int", required=True),), "int"),))


def test_names_are_one_line_for_each_function() -> None:
    """At the level of names there is a line for each function below the tool's description."""
    assert ToolRegistry([CURL, ADD]).stubs("names") == (
        "# Add.\ntools.add(...)\n# Make HTTP requests\ntools.curl(...)\ntools.curl.get(...)\n"
    )


def test_signatures_have_types_and_defaults() -> None:
    """At the level of signatures each function has its parameters, required ones first, types and defaults."""
    assert ToolRegistry([CURL, ADD]).stubs() == (
        "class tools:\n"
        "    # Add.\n"
        "    def add(*, a: int) -> int: ...\n"
        "    # Make HTTP requests\n"
        "    class curl:\n"
        "        def __call__(*, url: str, silent: bool | None = None) -> str: ...\n"
        "        def get(*, url: str, retries: int = 3) -> str: ...\n"
    )


def test_docstrings_describe_functions_and_parameters() -> None:
    """At the level of docstrings every description can be read from the parsed source."""
    tree = ast.parse(ToolRegistry([CURL, ADD]).stubs("docstrings"))
    [tools] = tree.body
    assert isinstance(tools, ast.ClassDef)
    add, curl = tools.body
    assert isinstance(add, ast.FunctionDef)
    assert isinstance(curl, ast.ClassDef)
    assert ast.get_docstring(add) == "Add."
    assert ast.get_docstring(curl) == "Make HTTP requests\nand more"
    get = curl.body[-1]
    assert isinstance(get, ast.FunctionDef)
    assert ast.get_docstring(get) == "A GET request.\n\nArgs:\n    url: Where to"


def test_long_signatures_are_broken_into_lines() -> None:
    """A signature longer than 100 characters has a line for each parameter."""
    parameters = tuple(ToolParameter(f"a_long_name_{number}", "str", required=True) for number in range(6))
    stubs = ToolRegistry([Described("many", "", (ToolCallable("many", "", parameters),))]).stubs()
    assert "\n        a_long_name_0: str,\n" in stubs
    ast.parse(stubs)


def test_no_tools_are_a_class_without_body() -> None:
    """A registry without tools has stubs that parse, too."""
    for detail in ("names", "signatures", "docstrings"):
        ast.parse(ToolRegistry().stubs(detail))  # type: ignore[arg-type]


def test_unknown_detail_is_refused() -> None:
    """A level of detail that does not exist is reported with those that do."""
    with pytest.raises(ValueError, match="expected one of 'names', 'signatures', 'docstrings'"):
        ToolRegistry().stubs("full")  # type: ignore[arg-type]


nasty = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ['"""', "\\", 'x"', '"', "\\N{x}", "'''", "\r\n# x", "\0", "\ud800", "\u2028x", "  a\n\tb\n", "\x85#"]
    ),
).flatmap(lambda text: st.just(text) | st.just(f'say "{text}"\n{text}'))


@given(nasty, nasty, nasty, st.sampled_from(["names", "signatures", "docstrings"]), st.data())
def test_stubs_parse_whatever_the_descriptions_are(a: str, b: str, c: str, detail: Any, data: Any) -> None:
    """Descriptions, annotations and defaults of any kind give source that parses into the same functions."""
    default = data.draw(st.none() | st.floats() | st.text() | st.lists(st.integers()) | st.builds(object))
    parameter = ToolParameter("parameter", c, False, default, b)
    tool = Described("tool", a, (ToolCallable("tool", b, (parameter,), c), ToolCallable("other", c, ())))
    tree = ast.parse(ToolRegistry([tool]).stubs(detail))
    functions = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert functions == ([] if detail == "names" else ["__call__", "other"])
    if detail != "names":
        [tools] = tree.body
        assert isinstance(tools, ast.ClassDef)
        assert len(tools.body) == 1
