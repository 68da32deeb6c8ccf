"""Values in other formats than YAML and JSON: properties, separated values, assignments of a shell."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

from planaria_shell.commands.data.yq.writer import scalar
from planaria_shell.toolkit.quoting import shell_quote

__all__ = ["assignments", "properties", "rows"]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else scalar(value)


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every scalar with the names above it."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _leaves(item, (*path, str(place)))
    else:
        yield path, value


def properties(value: Any) -> Iterator[str]:
    """Lines `a.b.0 = text`."""
    for path, item in _leaves(value, ()):
        yield f"{'.'.join(path)} = {_text(item)}"


def assignments(value: Any) -> Iterator[str]:
    """Lines `a_b_0=text` that a shell can read."""
    for path, item in _leaves(value, ()):
        name = re.sub(r"\W", "_", "_".join(path), flags=re.ASCII)
        yield f"{name}={shell_quote('' if item is None else _text(item))}"


def rows(value: Any, separator: str) -> Iterator[str]:
    """Lines of separated values: of a list of lists, of one list, or of mappings, whose keys come first.

    Raises ValueError for what is nested deeper.
    """
    items = value if isinstance(value, list) else [value]
    if items and all(isinstance(item, dict) for item in items):
        keys = list(dict.fromkeys(key for item in items for key in item))
        items = [keys, *([item.get(key) for key in keys] for item in items)]
    elif not any(isinstance(item, list) for item in items):
        items = [items]
    for item in items:
        line = io.StringIO()
        cells = item if isinstance(item, list) else [item]
        if any(isinstance(cell, (dict, list)) for cell in cells):
            raise ValueError("separated values hold only scalars: a list, a list of lists or of mappings")
        csv.writer(line, delimiter=separator, lineterminator="").writerow(
            ["" if cell is None else _text(cell) for cell in cells]
        )
        yield line.getvalue()
