"""Arguments with types: what a caller gave, checked before anything is done with it."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

from planaria.errors import ToolArgumentError
from planaria.workspace.tools.definition import ParameterDefinition, RecipeParameter
from planaria.workspace.tools.names import identifier, shown, suggestion
from planaria.workspace.tools.tool import ToolParameter

__all__ = ["Argument", "bind"]

_PYTHON = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "data": "str | bytes"}
_PYTHON |= {"object": "dict[str, Any]", "any": "Any"}
#: Numbers with more digits than any command wants, which take long to write out.
_LARGEST_INTEGER = 10**100

_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = 60


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter of a callable and what may be given for it.

    Raises ValueError when its name, pattern or default is not usable.
    """

    key: str
    """The name as the definition writes it."""
    type: str = "string"
    """As in definitions; "data" is a str or bytes."""
    items: str = "string"
    required: bool = False
    default: Any = None
    enum: tuple[Any, ...] | None = None
    pattern: str | None = None
    description: str = ""
    name: str = field(init=False)
    """The name as an identifier."""
    _matcher: SchemaValidator | None = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", identifier(self.key))
        matcher = None
        if self.pattern is not None:
            # This matches in linear time, whatever a caller sends.
            try:
                matcher = SchemaValidator(core_schema.str_schema(pattern=rf"\A(?:{self.pattern})\z"))
            except SchemaError as error:
                raise ValueError(f"pattern {self.pattern!r} is invalid: {error}") from None
        object.__setattr__(self, "_matcher", matcher)
        if self.enum is not None:
            object.__setattr__(self, "enum", tuple(map(self._written_item, self.enum)))
        if self.default is not None:
            object.__setattr__(self, "default", self.written(self.default))

    @classmethod
    def of(cls, key: str, definition: ParameterDefinition) -> Argument:
        """The parameter of a definition."""
        return cls(
            key,
            definition.type,
            definition.items,
            definition.required,
            definition.default,
            definition.enum,
            definition.pattern,
            definition.description,
        )

    def narrowed(self, recipe: RecipeParameter, preset: Any = None) -> Argument:
        """The same as a recipe has it."""
        default = next((one for one in (recipe.default, preset, self.default) if one is not None), None)
        required = (self.required and default is None) if recipe.required is None else recipe.required
        return Argument(
            self.key,
            recipe.type or self.type,
            self.items,
            required,
            default,
            self.enum if recipe.enum is None else recipe.enum,
            self.pattern if recipe.pattern is None else recipe.pattern,
            self.description if recipe.description is None else recipe.description,
        )

    def written(self, value: Any) -> Any:
        """A value that the definition's author wrote; a number stands for its text where one is wanted."""
        if self.type == "array" and isinstance(value, (list, tuple)):
            return self.check([self._text_of(one, self.items) for one in value])
        return self.check(self._text_of(value, self.type))

    def _written_item(self, value: Any) -> Any:
        return self._text_of(value, self.items if self.type == "array" else self.type)

    @staticmethod
    def _text_of(value: Any, kind: str) -> Any:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return str(value) if kind == "string" and is_number else value

    def check(self, value: Any) -> Any:
        """The value, when it is valid. Raises ValueError saying what is expected instead."""
        if self.type != "array":
            return self._check_one(value, self.type)
        if not isinstance(value, (list, tuple)):
            given = f"{type(value).__name__} ({_repr.repr(value)})"
            raise ValueError(f"expected a list of {_PYTHON[self.items]}, not {given}")
        if self.required and not value:
            raise ValueError("expected at least one item")
        return [self._check_one(one, self.items) for one in value]

    def _check_one(self, value: Any, kind: str) -> Any:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        fits = {
            "string": isinstance(value, str),
            "integer": isinstance(value, int) and is_number,
            "number": is_number,
            "boolean": isinstance(value, bool),
            "data": isinstance(value, (str, bytes)),
            "object": isinstance(value, Mapping),
            "any": True,
        }[kind]
        if not fits:
            raise ValueError(f"expected {_PYTHON[kind]}, not {type(value).__name__} ({_repr.repr(value)})")
        if kind == "string" and "\0" in value:
            raise ValueError("expected a string without NUL characters")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"expected a finite number, not {value}")
        if is_number and not -_LARGEST_INTEGER < value < _LARGEST_INTEGER:
            raise ValueError("expected a number of at most 100 digits")
        if self.enum is not None and value not in self.enum:
            allowed = ", ".join(map(repr, self.enum))
            raise ValueError(f"expected one of {allowed}, not {_repr.repr(value)}")
        if self._matcher is not None and isinstance(value, str):
            try:
                self._matcher.validate_python(value)
            except ValidationError:
                raise ValueError(
                    f"expected a string that matches {self.pattern}, not {_repr.repr(value)}"
                ) from None
        return value

    @property
    def annotation(self) -> str:
        """The type as Python writes it."""
        kind = self.items if self.type == "array" else self.type
        one = f"Literal[{', '.join(map(repr, self.enum))}]" if self.enum else _PYTHON[kind]
        return f"list[{one}]" if self.type == "array" else one

    def parameter(self) -> ToolParameter:
        """It as the registry lists it."""
        return ToolParameter(self.name, self.annotation, self.required, self.default, self.description)


def bind(
    title: str, parameters: Iterable[Argument], arguments: Mapping[str, Any], hint: str = ""
) -> dict[str, Any]:
    """What was given for each parameter, by the name the definition has for it, with defaults; checked.

    None stands for "not given". `title` is the function's name for messages, `hint` an end of the message
    about parameters it does not have. Raises ToolArgumentError.
    """
    known: dict[str, Argument] = {}
    for parameter in parameters:
        known[parameter.name] = known[parameter.key] = parameter
    values: dict[str, Any] = {}
    for name, value in arguments.items():
        found = known.get(name)
        if found is None:
            names = {parameter.name for parameter in known.values()}
            what = suggestion(name, names) or "; it takes none"
            raise ToolArgumentError(f"{title}() has no parameter {shown(name)}{what}{hint}")
        if found.key in values:
            raise ToolArgumentError(f"{title}(): {found.name!r} is given twice")
        if value is None:
            continue
        try:
            values[found.key] = found.check(value)
        except ValueError as error:
            raise ToolArgumentError(f"{title}(): {found.name}: {error}") from None
    missing = []
    for parameter in dict.fromkeys(known.values()):
        if parameter.key in values:
            continue
        if parameter.required:
            missing.append(parameter.name)
        elif parameter.default is not None:
            values[parameter.key] = parameter.default
    if missing:
        raise ToolArgumentError(f"{title}() needs {', '.join(missing)}")
    return values
