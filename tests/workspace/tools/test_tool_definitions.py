"""Tools as YAML files define them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planaria import ToolDefinitionError, ToolRegistry

CURL = """
    name: curl
    description: Make HTTP requests
    command: curl
    timeout: 60
    tags: [http, network]

    schema:
      options:
        silent:
          type: boolean
          short: s
          description: Silent mode
        header:
          type: array
          short: H
        data:
          type: string
          short: d
      positional:
        - name: url
          type: string
          required: true
          description: Target URL

    recipes:
      get:
        description: Simple GET request
        preset:
          silent: true
        params:
          url: {}
      post:
        preset: {silent: true, header: ["Accept: application/json"]}
        params:
          url:
          data: {default: "{}", description: The body}
"""


def problems(registry_load: Any, **texts: str) -> list[str]:
    """What is wrong with files, without the directory they are in."""
    with pytest.raises(ToolDefinitionError) as raised:
        registry_load(**texts)
    return [problem.rpartition("/")[2] for problem in raised.value.problems]


def test_definition_lists_recipes_with_parameters_of_the_schema(load: Any) -> None:
    """A recipe's parameters have the types, requirements and descriptions of the schema where it says nothing."""
    [curl] = load(curl=CURL).list()
    assert (curl["name"], curl["description"], curl["tags"]) == (
        "curl",
        "Make HTTP requests",
        ["http", "network"],
    )
    assert [one["name"] for one in curl["callables"]] == ["curl", "get", "post"]
    direct, get, post = (one["parameters"] for one in curl["callables"])
    assert [(one["name"], one["type"], one["required"]) for one in direct] == [
        ("url", "str", True),
        ("silent", "bool", False),
        ("header", "list[str]", False),
        ("data", "str", False),
    ]
    assert get == [
        {"name": "url", "type": "str", "required": True, "default": None, "description": "Target URL"}
    ]
    assert (post[1]["default"], post[1]["description"]) == ("{}", "The body")


def test_recipe_without_params_takes_all_that_is_not_preset(load: Any) -> None:
    """A recipe without params takes every argument of the schema except those that it presets."""
    registry = load(
        tool="""
        name: tool
        schema:
          options: {one: {}, two: {}}
          positional: [{name: three}]
        recipes:
          some: {preset: {one: x}}
        """
    )
    [_, some] = registry.list()[0]["callables"]
    assert [one["name"] for one in some["parameters"]] == ["three", "two"]


def test_python_names_of_types_are_known(load: Any) -> None:
    """`str`, `int`, `float`, `bool` and `list` stand for the types of JSON schemas."""
    registry = load(
        tool="""
        name: tool
        schema:
          options: {s: {type: str}, i: {type: int}, f: {type: float}, b: {type: bool}, l: {type: list, items: int}}
        """
    )
    parameters = registry.list()[0]["callables"][0]["parameters"]
    assert [one["type"] for one in parameters] == ["str", "int", "float", "bool", "list[int]"]


def test_keys_that_yaml_takes_for_other_values_are_names(load: Any) -> None:
    """An option may be called `no`, `on` or `1`, which YAML 1.1 would read as a boolean or a number."""
    registry = load(
        tool="""
        name: tool
        schema:
          options: {no: {type: boolean}, on: {type: boolean}, 1: {type: boolean}}
        """
    )
    parameters = registry.list()[0]["callables"][0]["parameters"]
    assert [one["name"] for one in parameters] == ["no", "on", "_1"]


def test_numbers_written_for_texts_are_texts(load: Any) -> None:
    """A preset, default or enum of a string that looks like a number in YAML is its text."""
    registry = load(
        tool="""
        name: tool
        schema:
          options: {port: {type: string, enum: [80, 443], default: 80}}
        """
    )
    [port] = registry.list()[0]["callables"][0]["parameters"]
    assert (port["type"], port["default"]) == ("Literal['80', '443']", "80")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name: x\ncomand: ls", "t.yaml:2: comand: unknown key; did you mean 'command'?"),
        ("command: ls", "t.yaml:1: name: is missing"),
        ("name: x\ntype: clii", "t.yaml:2: type: 'clii' is not a type of tool; did you mean 'cli'?"),
        ("name: 'x y!'", "t.yaml: a tool's name: 'x y!' cannot be a name in Python code*"),
        ("name: x\ntimeout: 0", "t.yaml:2: timeout: Input should be greater than 0"),
        ("name: x\nname: y", "t.yaml:2: 'name' is there already"),
        ("name: x\n  bad: [", "t.yaml:2: not YAML: *"),
        ("- name: x", "t.yaml:1: expected a mapping with 'name' and the rest"),
        ("", "t.yaml:1: expected a mapping with 'name' and the rest"),
        ("name: x\n---\nname: y", "t.yaml:2: not YAML: but found another document"),
        (
            "name: x\nschema:\n  options:\n    a:\n      type: bolean",
            "t.yaml:5: schema.options.a.type: Input should be 'string', *",
        ),
        (
            "name: x\nschema:\n  positional:\n  - name: a\n  - {name: b, defult: 1}",
            "t.yaml:5: schema.positional.1.defult: unknown key; did you mean 'default'?",
        ),
        (
            "name: x\nschema:\n  options:\n    a: {type: integer, default: no}",
            "t.yaml:4: schema.options.a: expected int, not bool (False)",
        ),
        (
            "name: x\nschema:\n  options: {a-b: {}, a_b: {}}",
            "t.yaml:3: schema.options.a_b: 'a_b' has the same name in code as 'a-b'",
        ),
        (
            "name: x\nschema:\n  options: {a: {pattern: '('}}",
            "t.yaml:3: schema.options.a: pattern '(' is invalid: *",
        ),
        (
            "name: x\nschema: {options: {url: {}}}\nrecipes:\n  get:\n    params:\n      ulr: {}",
            "t.yaml:6: recipes.get.params.ulr: the schema has no such argument; did you mean 'url'?",
        ),
        (
            "name: x\nschema: {options: {n: {type: integer}}}\nrecipes:\n  get:\n    preset:\n      n: many",
            "t.yaml:6: recipes.get.preset.n: expected int, not str ('many')",
        ),
        (
            "name: x\nschema: {options: {n: {required: true}, m: {}}}\nrecipes:\n  get:\n    params: {m: {}}",
            "t.yaml:4: recipes.get: 'n' is required, and neither preset nor a parameter",
        ),
    ],
)
def test_problem_names_file_line_and_place(load: Any, text: str, problem: str) -> None:
    """What is wrong in a file is reported with the file, the line, the place in the document and what is wanted."""
    [reported] = problems(load, t=text)
    assert reported == problem or (problem.endswith("*") and reported.startswith(problem[:-1]))


def test_one_broken_file_hides_no_other(load: Any, tmp_path: Path) -> None:
    """All problems of all files are reported at once, and nothing is added to the registry."""
    (tmp_path / "d.yml").write_bytes(b"name: \xff")
    (tmp_path / ".hidden.yaml").write_text("broken: [")
    registry = ToolRegistry()
    reported = problems(
        lambda **texts: [load(**texts), registry.load(tmp_path)],
        a="name: one",
        b="name: two\ntimeout: x\ntags: 3",
        c="nam: three",
    )
    assert [problem.partition(" ")[0] for problem in reported] == [
        "d.yml:",
        "b.yaml:2:",
        "b.yaml:3:",
        "c.yaml:1:",
    ]
    with pytest.raises(ToolDefinitionError):
        registry.load(tmp_path)
    assert len(registry) == 0


def test_same_name_in_two_files_is_refused(load: Any) -> None:
    """Two files that define tools of the same name in code are reported by name."""
    [problem] = problems(load, a="name: my-tool", b="name: my_tool")
    assert problem.endswith("a.yaml")


def test_names_that_the_registry_refuses_are_reported_with_the_file(load: Any, tmp_path: Path) -> None:
    """A tool of a file whose name is reserved, or taken in the registry, is reported with the file."""
    [problem] = problems(load, t="name: search")
    assert problem == "t.yaml: name: a tool cannot be called 'search': tools.search() is taken"
    (tmp_path / "t.yaml").write_text("name: once")
    registry = ToolRegistry()
    registry.load(tmp_path)
    with pytest.raises(ToolDefinitionError, match=r"t\.yaml: name: there is a tool 'once' already$"):
        registry.load(tmp_path)


def test_text_of_a_few_lines_for_billions_of_values_is_refused(load: Any) -> None:
    """A document whose aliases stand for more values than any definition has is refused before it is used."""
    levels = "\n".join(f"  l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 12))
    [problem] = problems(load, t=f"name: x\nenv:\n  l0: &l0 x\n{levels}")
    assert problem == "t.yaml: not usable YAML: it expands to more than 200000 values"


def test_texts_of_a_storage_are_loaded_as_files_are() -> None:
    """Texts with an origin are loaded as files are, and their problems begin with the origin."""
    registry = ToolRegistry()
    registry.load(
        [SimpleNamespace(origin="tools/a.yaml", text="name: a"), SimpleNamespace(origin="b", text="name: b")]
    )
    assert [tool.name for tool in registry] == ["a", "b"]
    with pytest.raises(ToolDefinitionError, match=r"^tools/c\.yaml:1: name: is missing$"):
        registry.load([SimpleNamespace(origin="tools/c.yaml", text="{}")])


def test_single_file_and_missing_directory(tmp_path: Path) -> None:
    """A path of one file is loaded; one that does not exist is reported."""
    (tmp_path / "one.yaml").write_text("name: one")
    registry = ToolRegistry()
    assert [tool.name for tool in registry.load(tmp_path / "one.yaml")] == ["one"]
    with pytest.raises(ToolDefinitionError, match="no such directory or file"):
        registry.load(tmp_path / "two")
