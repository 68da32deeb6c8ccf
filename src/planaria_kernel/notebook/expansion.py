"""Python's values in the lines of magics and of the shell: `{expression}` and `$name`."""

from __future__ import annotations

import re
from typing import Any, Final

__all__ = ["expanded"]

_PLACE: Final = re.compile(r"\{\{|\}\}|\{([^{}]+)\}|\$\$|\$([^\W\d]\w*)|\$\{")


def expanded(line: str, space: dict[str, Any]) -> str:
    """The line with its expressions replaced by their values; what has none stays as it is.

    `{{` and `}}` stand for single braces and `$$` for `$`, in a line that has an expression.
    """
    has_value = False

    def value(match: re.Match[str]) -> str:
        nonlocal has_value
        if match[1] is not None and not (match.start() and line[match.start() - 1] == "$"):
            try:
                found = str(eval(match[1].strip(), space))
            except Exception:  # it is the shell's: a brace expansion, a program of awk
                return match[0]
            has_value = True
            return found
        if match[2] is not None and match[2] in space:
            has_value = True
            return str(space[match[2]])
        return match[0]

    text = _PLACE.sub(value, line)
    return text.replace("{{", "{").replace("}}", "}").replace("$$", "$") if has_value else text
