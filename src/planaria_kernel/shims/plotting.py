"""Matplotlib's import without the tables of properties in its docstrings.

Making them, two hundred tables from seven thousand docstrings, takes a third of the import, in every session
that draws. `matplotlib.artist.getp` and `ArtistInspector` still list the properties of an artist.
"""

from __future__ import annotations

from typing import Any

from planaria_kernel.shims.importing import when_imported

__all__ = ["install"]


def _no_table(artist: Any) -> str:
    """Inspect an artist class, and return information about its settable properties."""
    return "    see matplotlib.artist.getp\n"


def _without_tables(module: Any) -> None:
    module.kwdoc = _no_table


def install() -> None:
    """Leave the tables out when matplotlib is imported."""
    when_imported("matplotlib.artist", _without_tables)
