"""Matplotlib without set-up: figures are shown as PNG by plt.show() and at the end of a cell.

Nothing here imports matplotlib before the user's code does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import BytesIO
from typing import Any, Final

__all__ = ["BACKEND", "close", "connect", "is_empty", "open_figures", "png", "show"]

#: The value of MPLBACKEND.
BACKEND: Final = "module://planaria_kernel.execution.matplotlib_backend"

_shows: list[Callable[[Any], None]] = []


def connect(display: Callable[[Any], None]) -> None:
    """Say what shows a figure when plt.show() is called; there is one kernel in a process."""
    _shows[:] = [display]


def show(figures: list[Any]) -> None:
    """Show figures now."""
    for figure in figures:
        for display in _shows:
            display(figure)


def is_empty(figure: Any) -> bool:
    """Whether nothing was drawn on a figure."""
    drawn = (figure.axes, figure.lines, figure.images, figure.texts, figure.patches, figure.artists)
    return not any(drawn)


def png(figure: Any) -> bytes:
    """The figure as it would be saved, cropped to what is drawn."""
    file = BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    return file.getvalue()


def open_figures() -> list[Any]:
    """The figures that pyplot manages, oldest first."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None:
        return []
    return [manager.canvas.figure for manager in helpers.Gcf.get_all_fig_managers()]


def close(figure: Any) -> None:
    """Take a figure that has been shown from pyplot's list, so that it is not shown again."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is not None:
        helpers.Gcf.destroy_fig(figure)
