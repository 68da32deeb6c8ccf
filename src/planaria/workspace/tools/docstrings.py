"""What docstrings say of parameters."""

from __future__ import annotations

import docstring_parser

__all__ = ["read_docstring"]


def read_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """The description without its sections, and what is said of each parameter.

    Understands the styles of docstring-parser: Google, NumPy, reStructuredText and Epydoc.
    """
    parsed = docstring_parser.parse(text or "")
    return (parsed.description or "").strip(), {
        name.strip().lstrip("*"): " ".join((parameter.description or "").split())
        for parameter in parsed.params
        for name in parameter.arg_name.split(",")
    }
