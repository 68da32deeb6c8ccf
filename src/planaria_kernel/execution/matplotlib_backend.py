"""The backend of matplotlib that `MPLBACKEND` names: Agg, with a `plt.show()` that shows figures as rich
output.

Matplotlib imports this itself when the user's code first needs a backend.
"""

from __future__ import annotations

from typing import Any

from matplotlib.backend_bases import FigureManagerBase  # type: ignore[import-not-found,unused-ignore]
from matplotlib.backends.backend_agg import FigureCanvasAgg  # type: ignore[import-not-found,unused-ignore]

from planaria_kernel.execution import figures

__all__ = ["FigureCanvas", "FigureManager"]


class FigureManager(FigureManagerBase):  # type: ignore[misc,unused-ignore]
    """There is no window: showing a figure sends it to the host."""

    def show(self) -> None:
        figures.show([self.canvas.figure])

    @classmethod
    def pyplot_show(cls, *, block: Any = None) -> None:
        """plt.show(): everything that is open, oldest first."""
        figures.show(figures.open_figures())


class FigureCanvas(FigureCanvasAgg):  # type: ignore[misc,unused-ignore]
    manager_class = FigureManager
