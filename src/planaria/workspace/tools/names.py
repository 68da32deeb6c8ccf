"""The names of tools, callables and parameters, as Python code writes them."""

from __future__ import annotations

import difflib
import keyword
import re
import unicodedata
from collections.abc import Iterable
from typing import Final

__all__ = ["identifier", "shown", "suggestion"]

#: Longer names are not typing mistakes, and comparing them takes long.
_LONGEST: Final = 100
_SEPARATORS = re.compile(r"[-. /:]+")


def identifier(name: str) -> str:
    """The name as an identifier: `my-tool` is `my_tool`, `from` is `from_`.

    Raises ValueError when there is none, or when it begins with two underscores.
    """
    # As Python itself reads names.
    found = unicodedata.normalize("NFKC", _SEPARATORS.sub("_", name.strip()))
    if found[:1].isdecimal():
        found = "_" + found
    if keyword.iskeyword(found):
        found += "_"
    if not found.isidentifier() or found.startswith("__"):
        raise ValueError(f"{name!r} cannot be a name in Python code: use letters, digits, '-' and '_'")
    return found


def shown(name: str) -> str:
    """A name that came from code, for a message."""
    return repr(name if len(name) <= _LONGEST else name[:_LONGEST] + "…")


def suggestion(name: str, known: Iterable[str], otherwise: str | None = None) -> str:
    """`; did you mean 'x'?`, else `otherwise`, by default what there is: to end a message about a name with.

    A name that came from code is compared with what there is only when it is short: that takes its time.
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1) if len(name) <= _LONGEST else []
    if near:
        return f"; did you mean {near[0]!r}?"
    if otherwise is not None:
        return otherwise
    return f"; there is {', '.join(map(repr, names))}" if names else ""
