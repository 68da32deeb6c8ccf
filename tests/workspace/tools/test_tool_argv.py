"""The law of commands: no value becomes an option, whatever it is."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from waiting import wait

from planaria import ToolArgumentError, ToolRegistry
from planaria.workspace.tools.argv import build_argv
from planaria.workspace.tools.command import CommandTool
from planaria.workspace.tools.definition import CommandDefinition

pytestmark = pytest.mark.slow

SCHEMA: dict[str, Any] = {
    "options": {
        "long": {},
        "short": {"short": "s"},
        "number": {"type": "integer"},
        "many": {"type": "array", "short": "m"},
        "flag": {"type": "boolean", "short": "f"},
    },
    "positional": [{"name": "rest", "type": "array"}],
}

texts = st.one_of(
    st.sampled_from(
        ["--evil", "-f", "--", "-", "", "-s", "--long=x", "-m", "-1", "---", "--evil=1", "-sf", " -f"]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
)
values = st.fixed_dictionaries(
    {},
    optional={
        "long": texts,
        "short": texts,
        "number": st.integers(-(10**20), 10**20),
        "many": st.lists(texts, min_size=1, max_size=3),
        "flag": st.booleans(),
        "rest": st.lists(texts, max_size=3),
    },
)


@settings(max_examples=examples(50), deadline=None)
@given(values)
def test_values_arrive_as_they_are(arguments: dict[str, Any]) -> None:
    """Two real parsers of options find in the arguments of a process exactly the values that were given."""
    script = Path(__file__).with_name("print_arguments.py")
    command = (sys.executable, "-I", "-S", str(script))
    tool = CommandTool(CommandDefinition(name="print", command=command, schema=SCHEMA))  # type: ignore[arg-type]
    wanted = {
        "long": arguments.get("long"),
        "short": arguments.get("short"),
        "number": str(arguments["number"]) if "number" in arguments else None,
        "many": arguments.get("many"),
        "flag": arguments.get("flag", False),
        "evil": False,
        "rest": arguments.get("rest", []),
    }
    argparsed, gotten = json.loads(wait(ToolRegistry([tool]).call("print", None, arguments)))
    assert gotten == wanted
    items = [one for value in arguments.values() if isinstance(value, list) for one in value]
    if "--" not in (*items, *arguments.values()):  # older versions of argparse lose such values
        assert argparsed == wanted


@given(
    values,
    st.sampled_from(["auto", "always", "never"]),
    st.sampled_from(["auto", "separate", "joined"]),
    st.sampled_from(["-", "-+", "-/@"]),
)
def test_what_looks_like_an_option_is_one(
    arguments: dict[str, Any], dash: Any, form: str, prefixes: str
) -> None:
    """Before `--`, what begins like an option of the command is an option of the schema; or the call is refused."""
    options = {name: {**option, "form": form} for name, option in SCHEMA["options"].items()}
    definition = CommandDefinition(
        name="any",
        schema={**SCHEMA, "options": options},  # type: ignore[arg-type]
        double_dash=dash,
        option_prefixes=prefixes,
    )
    tool = CommandTool(definition)
    try:
        tool.call(None, arguments).close()
    except ToolArgumentError:
        texts = [
            one for value in arguments.values() for one in (value if isinstance(value, list) else [value])
        ]
        assert any(str(one).startswith(tuple(prefixes)) for one in texts)
        return
    argv = build_argv("any", definition, arguments)
    head = argv[: argv.index("--")] if "--" in argv else argv
    assert dash != "never" or "--" not in argv
    for argument in head:
        if argument.startswith(tuple(prefixes)):
            assert argument.startswith(("--long", "-s", "--number", "-m", "-f"))
