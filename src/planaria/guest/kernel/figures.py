"""Matplotlib without set-up: figures are shown as PNG by plt.show() and at the end of a cell.

Nothing here imports matplotlib before the user's code does.
"""

from __future__ import annotations

import sys
from io import BytesIO
from typing import Any

__all__ = ["close", "open_figures", "png"]


def png(figure: Any) -> bytes | None:
    """The figure as it would be saved, cropped to what is drawn; None when nothing is."""
    if not (figure.axes or figure.lines or figure.images or figure.texts or figure.patches or figure.artists):
        return None
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
