"""Pictures among the rich outputs, saved as files."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Final

from planaria.session.result import Output

__all__ = ["save", "shows_picture"]

#: The types that are worth a file, the best one first.
_SUFFIXES: Final = {
    "image/png": ".png",
    "image/svg+xml": ".svg",
    "image/jpeg": ".jpg",
    "application/pdf": ".pdf",
}


def shows_picture(output: Output) -> bool:
    """Whether an output is best shown as a picture."""
    return any(mime in output.data for mime in _SUFFIXES)


def save(output: Output, directory: Path) -> Path:
    """Save a picture as the next free figure-N in `directory`, which is made; nothing is overwritten."""
    mime = next(mime for mime in _SUFFIXES if mime in output.data)
    content = output.data[mime]
    data = content if isinstance(content, bytes) else str(content).encode()
    directory.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        path = directory / f"figure-{number}{_SUFFIXES[mime]}"
        try:
            with path.open("xb") as file:
                file.write(data)
        except FileExistsError:
            continue
        return path
    raise AssertionError("count() does not end")
