"""What notebooks import and call that needs a front end, a terminal or an operating system."""

from __future__ import annotations

import sys
import types
from importlib.util import find_spec
from typing import Any, Final

from planaria_kernel.shims.importing import when_imported

__all__ = ["announce_widgets", "install"]

#: The module by which tqdm recognises a notebook in WebAssembly; it is there when a front end shows widgets.
_WIDGETS: Final = "IPython.utils._process_emscripten"


def _change_tqdm(module: Any) -> None:
    """Bars of a notebook are bars of a terminal where there are no widgets."""
    if _WIDGETS in sys.modules and module.IProgress is not None:
        return
    from tqdm import std  # type: ignore[import-untyped]

    module.tqdm = module.tqdm_notebook = std.tqdm
    module.trange = module.tnrange = std.trange


def _change_plotly(module: Any) -> None:
    """Figures are shown without nbformat, which is asked for and not used, and cannot be installed here."""
    if module.nbformat is None:
        module.nbformat = types.SimpleNamespace(__version__="5.0")


def _show_widgets(_module: Any) -> None:
    if find_spec("ipywidgets") is not None:
        sys.modules.setdefault(_WIDGETS, types.ModuleType(_WIDGETS))


def announce_widgets() -> None:
    """A notebook's front end is there: have libraries that are imported from now on use widgets, if those are
    installed.
    """
    # Only tqdm asks, and looking for a package that is not there takes longer than the rest of attaching.
    when_imported("tqdm", _show_widgets)


def install() -> None:
    """Put this in place, for modules when they are imported."""
    when_imported("tqdm.notebook", _change_tqdm)
    when_imported("plotly.io._renderers", _change_plotly)
