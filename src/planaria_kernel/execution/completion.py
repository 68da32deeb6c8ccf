"""Completion from the live session: names, attributes, keys, modules and keyword arguments.

Nothing of the user's is run for it: attributes are looked up without calling properties or `__getattr__`,
and an expression before the cursor is followed only through names, attributes and constant keys of dicts
and lists.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import re
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any, Final

__all__ = ["MISSING", "complete", "value_of"]

MAX_MATCHES: Final = 1000

_NAME_AT_END = re.compile(r"\w*$")
_PATH_BEFORE_DOT = re.compile(
    r"""(?:[^\W\d]\w*)(?:\s*\.\s*[^\W\d]\w*|\[(?:-?\d+|"[^"\\\n]*"|'[^'\\\n]*')\])*\s*$"""
)
_LITERAL_BEFORE_DOT = re.compile(r"""(?:"[^"\\\n]*"|'[^'\\\n]*'|\]|\}|\))$""")
_IMPORT = re.compile(r"^\s*import\s+(?:[\w.]+(?:\s+as\s+\w+)?\s*,\s*)*([\w.]*)$")
_FROM = re.compile(r"^\s*from\s+([\w.]*)$")
_FROM_IMPORT = re.compile(r"^\s*from\s+([\w.]+)\s+import\s+\(?\s*(?:\w+(?:\s+as\s+\w+)?\s*,\s*)*(\w*)$")
_KEY = re.compile(r"""\[\s*(?:(["'])([^"'\\\n]*)|(-?\w*))$""")
MISSING: Final = object()

Space = dict[str, Any]


def complete(text: str, cursor: int, space: Space) -> dict[str, Any]:
    """What can stand at `cursor` in `text`: `matches` replace the characters from `start` to `end`."""
    cursor = max(0, min(cursor, len(text)))
    before = text[:cursor]
    line = before[before.rfind("\n") + 1 :]
    matches, typed = _matches(before, line, space)
    prefix = typed.lower()
    # What begins exactly as typed first, then without regard to case; private names only when asked for.
    found = sorted(
        {match for match in matches if match.lower().startswith(prefix)},
        key=lambda match: (not match.startswith(typed), match.startswith("_"), match),
    )
    if not typed.startswith("_"):
        public = [match for match in found if not match.startswith("_")]
        found = public or found
    return {"matches": found[:MAX_MATCHES], "start": cursor - len(typed), "end": cursor}


def _matches(before: str, line: str, space: Space) -> tuple[Iterable[str], str]:
    """The candidates, and how much of one is typed already."""
    if match := _FROM_IMPORT.match(line):
        return _module_members(match[1]), match[2]
    if match := _IMPORT.match(line) or _FROM.match(line):
        return _module_names(match[1]), match[1]
    if match := _KEY.search(line):
        owner = value_of(line[: match.start()], space)
        if owner is not MISSING:
            quote, inside, bare = match[1], match[2], match[3]
            keys = _keys(owner)
            if quote:
                return [f"{key}" for key in keys if isinstance(key, str)], inside
            texts = [repr(key) for key in keys if isinstance(key, (str, int, float, bytes, tuple))]
            names = () if bare == "" else _names(space)
            return [*texts, *names], bare
    if _inside_string(before):
        return (), ""
    typed = _NAME_AT_END.search(line)[0]  # type: ignore[index]
    head = line[: len(line) - len(typed)].rstrip()
    if head.endswith("."):
        owner = value_of(head[:-1], space)
        return (() if owner is MISSING else _attributes(owner)), typed
    return [*_names(space), *_keyword_arguments(before[: len(before) - len(typed)], space)], typed


def _inside_string(before: str) -> bool:
    """Whether the cursor stands in a string or a comment of its line (roughly: of this line only)."""
    quote = ""
    escaped = False
    for character in before[before.rfind("\n") + 1 :]:
        if escaped:
            escaped = False
        elif character == "\\" and quote:
            escaped = True
        elif quote:
            if character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif character == "#":
            return True
    return bool(quote)


# -- names -------------------------------------------------------------------------------------------


def _names(space: Space) -> list[str]:
    names = [name for name in space if isinstance(name, str) and not name.startswith("__")]
    return [
        *names,
        *(name for name in dir(builtins) if not name.startswith("__")),
        *keyword.kwlist,
        *keyword.softkwlist,
    ]


def value_of(expression: str, space: Space) -> Any:
    """The object that a path of names, attributes and constant keys at the end of the text leads to."""
    match = _PATH_BEFORE_DOT.search(expression)
    if match is None:
        return _literal(expression)
    start = match.start()
    before = expression[:start].rstrip()
    if before.endswith(".") or (start and expression[start - 1].isalnum()):
        return MISSING
    try:
        return _value(ast.parse(match[0].strip(), mode="eval").body, space)
    except SyntaxError:
        return MISSING


def _literal(expression: str) -> Any:
    """A string literal that ends the text; other expressions would have to be run."""
    match = _LITERAL_BEFORE_DOT.search(expression)
    return "" if match is not None and match[0][0] in "\"'" else MISSING


def _value(node: ast.expr, space: Space) -> Any:
    if isinstance(node, ast.Name):
        value = space.get(node.id, MISSING)
        return getattr(builtins, node.id, MISSING) if value is MISSING else value
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, space)
        return MISSING if owner is MISSING else _attribute(owner, node.attr)
    if isinstance(node, ast.Subscript):
        owner = _value(node.value, space)
        key = ast.literal_eval(node.slice)
        if type(owner) in (dict, list, tuple):
            try:
                return owner[key]
            except (LookupError, TypeError):
                return MISSING
    return MISSING


def _attribute(owner: Any, name: str) -> Any:
    """An attribute without running anything: no properties, no `__getattr__`."""
    if isinstance(owner, ModuleType):
        return owner.__dict__.get(name, MISSING)
    found = inspect.getattr_static(owner, name, MISSING)
    if inspect.isfunction(found) and not isinstance(owner, type):
        return found.__get__(owner)
    if isinstance(found, (staticmethod, classmethod)):
        return found.__func__
    if isinstance(found, property) or (hasattr(type(found), "__get__") and not callable(found)):
        return MISSING
    return found


def _attributes(owner: Any) -> Iterable[str]:
    """The names of attributes: `dir()` unless the class has its own, which would be the user's code."""
    if getattr(type(owner), "__dir__", None) is object.__dir__ or isinstance(owner, (ModuleType, type)):
        if isinstance(owner, ModuleType) and "__dir__" in owner.__dict__:
            return [name for name in owner.__dict__ if isinstance(name, str)]
        return dir(owner)
    names = [name for name in getattr(owner, "__dict__", {}) if isinstance(name, str)]
    names.extend(dir(type(owner)))
    return [*names, *_frame_columns(owner)]


def _frame_columns(owner: Any) -> list[str]:
    return (
        [key for key in _keys(owner) if isinstance(key, str) and key.isidentifier()]
        if _is_frame(owner)
        else []
    )


def _is_frame(owner: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(owner, pandas.DataFrame)


def _keys(owner: Any) -> list[Any]:
    if isinstance(owner, dict):
        return list(dict.keys(owner))[:MAX_MATCHES]
    if _is_frame(owner):
        return list(owner.columns)[:MAX_MATCHES]
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(owner, numpy.ndarray) and owner.dtype.names:
        return list(owner.dtype.names)
    return []


# -- modules -----------------------------------------------------------------------------------------


def _module_names(typed: str) -> list[str]:
    """Modules that can be imported: top-level ones, or those of the package before the last dot."""
    package, dot, _ = typed.rpartition(".")
    if not dot:
        return [*sys.stdlib_module_names, *_top_level()]
    return [f"{package}.{name}" for name in _submodules(package)]


def _module_members(name: str) -> list[str]:
    module = sys.modules.get(name)
    members = [] if module is None else [member for member in module.__dict__ if isinstance(member, str)]
    return [*members, *_submodules(name)]


def _top_level() -> list[str]:
    import pkgutil

    return [module.name for module in pkgutil.iter_modules()] + [
        name for name in sys.modules if "." not in name
    ]


def _submodules(package: str) -> list[str]:
    import pkgutil

    module = sys.modules.get(package)
    if module is None:
        try:
            # Finding the spec of a top-level package runs none of its code.
            from importlib.util import find_spec

            spec = find_spec(package) if "." not in package else None
        except (ImportError, ValueError):
            spec = None
        places = list(spec.submodule_search_locations or ()) if spec is not None else []
    else:
        places = list(getattr(module, "__path__", ()))
    return [found.name for found in pkgutil.iter_modules(places)]


# -- keyword arguments -------------------------------------------------------------------------------


def _keyword_arguments(before: str, space: Space) -> list[str]:
    """`name=` for the parameters of the call whose parentheses the cursor stands in."""
    depth = 0
    for place in range(len(before) - 1, -1, -1):
        character = before[place]
        if character in ")]}":
            depth += 1
        elif character in "([{":
            if depth:
                depth -= 1
            elif character == "(":
                function = value_of(before[:place], space)
                return [] if function is MISSING else _parameters(function)
            else:
                return []
        elif character == "\n" and depth == 0 and before[:place].count("(") == before[:place].count(")"):
            return []
    return []


def _parameters(function: Any) -> list[str]:
    if not callable(function):
        return []
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [f"{name}=" for name, parameter in signature.parameters.items() if parameter.kind in named]
