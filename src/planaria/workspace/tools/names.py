"""The names of tools, callables and parameters, as Python code writes them."""

from __future__ import annotations

import difflib
import keyword
import re
from collections.abc import Iterable

__all__ = ["identifier", "suggestion"]

_SEPARATORS = re.compile(r"[-. /:]+")


def identifier(name: str) -> str:
    """The name as an identifier: `my-tool` is `my_tool`, `from` is `from_`.

    Raises ValueError when there is none, or when it begins with two underscores.
    """
    found = _SEPARATORS.sub("_", name.strip())
    if found[:1].isdecimal():
        found = "_" + found
    if keyword.iskeyword(found):
        found += "_"
    if not found.isidentifier() or found.startswith("__"):
        raise ValueError(f"{name!r} cannot be a name in Python code: letters, digits, '-' and '_' are wanted")
    return found


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or what there is instead; to be put after a message about an unknown name."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; there is {', '.join(map(repr, names))}" if names else ""
