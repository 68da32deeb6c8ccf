"""Functions of yq that jq's language cannot express: `dialect.py` uses them by names with a `_`."""

from __future__ import annotations

import fnmatch
import random
import re
from collections.abc import Mapping
from typing import Any

from planaria_shell.commands.data.jq.tables import native
from planaria_shell.commands.data.jq.values import JqError
from planaria_shell.commands.data.yq import formats, writer
from planaria_shell.commands.data.yq.reader import YamlError, read_documents

__all__: list[str] = []

_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?:(:?[-?])([^}]*))?\}|([A-Za-z_]\w*))", re.ASCII)


@native("_to_yaml")
def _to_yaml(value: Any) -> str:
    return writer.write(value, 2, None, (), None) + "\n"


@native("_from_yaml")
def _from_yaml(value: Any) -> Any:
    if not isinstance(value, str):
        raise JqError("only text can be read as YAML")
    try:
        documents = read_documents(value)
    except YamlError as problem:
        raise JqError(f"bad YAML: {problem}") from None
    return documents[0] if documents else None


@native("_separated", 1)
def _separated(value: Any, separator: Any) -> str:
    try:
        return "\n".join(formats.rows(value, separator)) + "\n"
    except ValueError as problem:
        raise JqError(str(problem)) from None


@native("_properties")
def _properties(value: Any) -> str:
    return "\n".join(formats.properties(value)) + "\n"


@native("_matches", 1)
def _matches(value: Any, pattern: Any) -> bool:
    """Whether a scalar is a text with the wildcards `*` and `?`."""
    return isinstance(value, str) and fnmatch.fnmatchcase(value, pattern.replace("[", "[[]"))


@native("_shuffled")
def _shuffled(value: Any) -> Any:
    if not isinstance(value, list):
        raise JqError("only a list can be shuffled")
    return random.sample(value, len(value))


@native("_envsubst", 1)
def _envsubst(value: Any, environment: Any) -> Any:
    """A text with `$NAME`, `${NAME}`, `${NAME-default}` and `${NAME:-default}` replaced."""
    if not isinstance(value, str):
        raise JqError("only text holds variables")
    known: Mapping[str, str] = environment

    def replace(found: re.Match[str]) -> str:
        name = found[1] or found[4]
        text = known.get(name)
        how, default = found[2] or "", found[3] or ""
        missing = text is None or (how.startswith(":") and not text)
        if missing and how.endswith("?"):
            raise JqError(f"variable ${{{name}}} {default or 'not set'}")
        if missing and how:
            return default
        return text or ""

    return _VARIABLE.sub(replace, value)
