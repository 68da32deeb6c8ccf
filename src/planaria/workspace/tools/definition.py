"""Tools as their YAML files define them: what all kinds have, and commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from planaria.workspace.tools.names import suggestion

if TYPE_CHECKING:
    from planaria.workspace.tools.environment import Environment
    from planaria.workspace.tools.tool import Tool

__all__ = ["Definition", "ToolDefinition"]


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
                        "this key is not known here{suggestion}",
                        {"key": key, "suggestion": suggestion(str(key), known)},
                    )
        return values


class ToolDefinition(Definition):
    """What the definitions of all kinds of tools have; each kind derives from it and sets `type`."""

    name: Annotated[str, Field(min_length=1)]
    type: str
    description: str = ""
    tags: tuple[str, ...] = ()
    timeout: Annotated[float, Field(gt=0)] | None = 60.0
    """Seconds that one call may take; None for no bound."""

    def make(self, environment: Environment, folder: Path | None = None) -> Tool:
        """The tool; nothing is started yet. `folder` is where the definition's file is, if it is in one."""
        raise NotImplementedError
