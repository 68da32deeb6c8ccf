"""What docstrings say of parameters."""

from __future__ import annotations

__all__ = ["read_docstring"]


def read_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """The description without its sections, and what is said of each parameter.

    Understands the styles of docstring-parser: Google, NumPy, reStructuredText and Epydoc.
    """
    import docstring_parser  # comes with the extra `tools`

    parsed = docstring_parser.parse(text or "")
    return (parsed.description or "").strip(), {
        name.strip().lstrip("*"): " ".join((parameter.description or "").split())
        for parameter in parsed.params
        for name in parameter.arg_name.split(",")
    }
