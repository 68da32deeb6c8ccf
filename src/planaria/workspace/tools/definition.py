"""Tools as their YAML files define them: what all kinds have, and commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from planaria.errors import ToolDefinitionError
from planaria.workspace.tools.names import suggestion

__all__ = [
    "CommandDefinition",
    "Definition",
    "Misfit",
    "OptionDefinition",
    "ParameterDefinition",
    "PositionalDefinition",
    "RecipeDefinition",
    "RecipeParameter",
    "SchemaDefinition",
    "StdinDefinition",
    "ToolDefinition",
    "ValueType",
]


class Definition(BaseModel):
    """A piece of a definition. A key that it does not know is refused, with a suggestion."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def _know_all_keys(cls, values: Any) -> Any:
        if isinstance(values, dict):
            known = [field.alias or name for name, field in cls.model_fields.items()]
            for key in values:
                if key not in known:
                    raise PydanticCustomError(
                        "unknown_key",
                        "unknown key{suggestion}",
                        {"key": key, "suggestion": suggestion(str(key), known)},
                    )
        return values


class Misfit(ToolDefinitionError):
    """Pieces of a definition that do not fit together, each with its place in the document."""

    def __init__(self, found: list[tuple[tuple[int | str, ...], str]]) -> None:
        super().__init__([f"{'.'.join(map(str, place))}: {message}" for place, message in found])
        self.found = found


class ToolDefinition(Definition):
    """What the definitions of all kinds of tools have; each kind derives from it and sets `type`."""

    name: Annotated[str, StringConstraints(min_length=1)]
    type: str
    description: str = ""
    tags: tuple[str, ...] = ()
    timeout: Annotated[float, Field(gt=0)] | None = 60.0
    """Seconds that one call may take; None for no limit."""


def _type_name(name: Any) -> Any:
    """Python's names of types stand for those of JSON."""
    python = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array"}
    return python.get(name, name) if isinstance(name, str) else name


def _nothing(value: Any) -> Any:
    """`url:` is `url: {}`."""
    return {} if value is None else value


def _no_entries(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _nothing(entry) for key, entry in value.items()}
    return _nothing(value)


ValueType = Annotated[Literal["string", "integer", "number", "boolean", "array"], BeforeValidator(_type_name)]


class ParameterDefinition(Definition):
    """A value that a command takes."""

    type: ValueType = "string"
    items: Annotated[Literal["string", "integer", "number"], BeforeValidator(_type_name)] = "string"
    """What an array holds."""
    required: bool = False
    default: Any = None
    """None for none."""
    enum: tuple[Any, ...] | None = None
    """All the values there are; those of its items, for an array."""
    pattern: str | None = None
    """A regular expression that the whole of a string must match; that of each item, for an array."""
    description: str = ""


class OptionDefinition(ParameterDefinition):
    """An option of a command: a flag when its type is boolean, given again for each item of an array."""

    short: Annotated[str, StringConstraints(min_length=1, max_length=1)] | None = None
    """Its letter. The option is then given as `-s`, otherwise as `--name`."""
    flag: str | None = None
    """How the option is given when that is neither, like `-name` or `+short`."""
    form: Literal["auto", "separate", "joined"] = "auto"
    """Whether a value is an argument of its own or joined to the option, `--name=value` and `-svalue`; "auto"
    joins those that could be taken for options."""


class PositionalDefinition(ParameterDefinition):
    """An argument of a command that is known by its place; as many as there are items, for an array."""

    name: Annotated[str, StringConstraints(min_length=1)]


class StdinDefinition(Definition):
    """The parameter for what the command reads from its standard input, a str or bytes."""

    name: str = "stdin"
    required: bool = False
    default: str | None = None
    description: str = "What the command reads from its standard input"


class SchemaDefinition(Definition):
    """The arguments that a command takes."""

    options: Annotated[dict[str, OptionDefinition], BeforeValidator(_no_entries)] = {}
    positional: tuple[PositionalDefinition, ...] = ()


class RecipeParameter(Definition):
    """A parameter of a recipe; what it does not say is as the schema says."""

    type: ValueType | None = None
    required: bool | None = None
    default: Any = None
    enum: tuple[Any, ...] | None = None
    pattern: str | None = None
    description: str | None = None


class RecipeDefinition(Definition):
    """A way to call a command that has a name of its own."""

    description: str = ""
    preset: Annotated[dict[str, Any], BeforeValidator(_nothing)] = {}
    """Arguments that are always given; a parameter of the same name may override one."""
    params: Annotated[dict[str, RecipeParameter], BeforeValidator(_no_entries)] = {}
    """What a caller may give; all that is not preset when this is empty."""


class CommandDefinition(ToolDefinition):
    """A command of the host. `${NAME}` in `command`, `cwd` and `env` is replaced at each call.

    Besides the variables of the environment there are `${TOOL_DIR}`, the directory of the definition's file,
    and `${PYTHON}`, the interpreter that runs planaria.
    """

    type: Literal["cli"] = "cli"
    command: str | Annotated[tuple[str, ...], Field(min_length=1)] = ""
    """The program, or a list of it and its first arguments; the tool's name when it is not said."""
    arguments: Annotated[SchemaDefinition, BeforeValidator(_nothing)] = Field(
        SchemaDefinition(), alias="schema"
    )
    recipes: Annotated[dict[str, RecipeDefinition], BeforeValidator(_no_entries)] = {}
    direct: bool = True
    """Whether the tool itself can be called, with all arguments of the schema, and not only its recipes."""
    stdin: StdinDefinition | None = None
    """`true` for a parameter named `stdin`."""
    cwd: str | None = None
    env: dict[str, str] = {}
    double_dash: Literal["auto", "always", "never"] = "auto"
    """Whether `--` stands before the positional arguments; "auto" when one of them could be taken for an
    option. "never" is for commands that do not know it: such arguments are then refused."""
    option_prefixes: Annotated[str, StringConstraints(min_length=1)] = "-"
    """The characters with which options of this command begin."""
    max_bytes: Annotated[int, Field(gt=0)] = 8 << 20
    """What the command may write to standard output, and to standard error."""

    @model_validator(mode="before")
    @classmethod
    def _stdin_flag(cls, values: Any) -> Any:
        if isinstance(values, Mapping) and isinstance(values.get("stdin"), bool):
            return {**values, "stdin": {} if values["stdin"] else None}
        return values
