"""Rich output: display(), mime bundles, and matplotlib figures."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from planaria_kernel.execution import figures
from planaria_kernel.execution.names import short_repr

__all__ = ["Display", "mime_bundle"]

#: Bytes or characters of one representation; a larger one is left out and the text says so.
MAX_REPRESENTATION: Final = 32 * 1024 * 1024

#: The methods that give one representation, by its type; the order is that of IPython's formatters.
_METHODS: Final = (
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("image/svg+xml", "_repr_svg_"),
    ("image/png", "_repr_png_"),
    ("application/pdf", "_repr_pdf_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("text/latex", "_repr_latex_"),
    ("application/json", "_repr_json_"),
    ("application/javascript", "_repr_javascript_"),
)
_PLAIN: Final = frozenset(
    {int, float, bool, str, bytes, complex, type(None), list, tuple, dict, set, frozenset}
)

Bundle = dict[str, Any]
_Send = Callable[[str, Bundle, dict[str, Any]], None]


def mime_bundle(value: Any, include: Any = None, exclude: Any = None) -> tuple[Bundle, dict[str, Any]]:
    """Every representation that `value` has, by type, and their metadata.

    `_repr_mimebundle_` wins over the methods for single types, which fill in what it leaves out;
    `text/plain` is always there. A method that raises or returns None gives nothing, as in IPython, but
    what it raised is said on standard error.
    """
    data: Bundle = {}
    metadata: dict[str, Any] = {}
    kind = type(value)
    if kind not in _PLAIN and not isinstance(value, type):
        made = _ask(value, "_repr_mimebundle_", include=include, exclude=exclude)
        if made is not None:
            data, metadata = (dict(made[0]), dict(made[1])) if isinstance(made, tuple) else (dict(made), {})
        for mime, method in _METHODS:
            if mime in data:
                continue
            made = _ask(value, method)
            if made is None:
                continue
            if isinstance(made, tuple):
                made, metadata[mime] = made
            data[mime] = made
        if "image/png" not in data and _is_figure(value) and not figures.is_empty(value):
            data["image/png"] = figures.png(value)
    if "text/plain" not in data:
        data["text/plain"] = short_repr(value)
    if include:
        data = {mime: made for mime, made in data.items() if mime in include}
    if exclude:
        data = {mime: made for mime, made in data.items() if mime not in exclude}
    for mime, made in list(data.items()):
        if isinstance(made, (str, bytes)) and len(made) > MAX_REPRESENTATION:
            del data[mime]
            sys.stderr.write(f"display: {mime} left out, it is larger than {MAX_REPRESENTATION} bytes\n")
    return data, metadata


def _ask(value: Any, method: str, **options: Any) -> Any:
    # Looked up on the class first: objects that answer to any name (mocks, proxies) have no representation.
    if getattr(type(value), method, None) is None:
        return None
    try:
        return getattr(value, method)(**options)
    except NotImplementedError:
        return None
    except Exception as error:
        sys.stderr.write(f"display: {type(value).__name__}.{method} raised {type(error).__name__}: {error}\n")
        return None


def _is_figure(value: Any) -> bool:
    matplotlib = sys.modules.get("matplotlib.figure")
    return matplotlib is not None and isinstance(value, matplotlib.Figure)


def _is_empty_figure(value: Any) -> bool:
    return _is_figure(value) and figures.is_empty(value)


class Display:
    """What shows things: `send` takes a kind ("display", "result" or "clear"), a bundle and its metadata."""

    def __init__(self, send: _Send) -> None:
        self._send = send
        #: Figures that belong to other code, by their ids.
        self._others: frozenset[int] = frozenset()

    def show(
        self, *objects: Any, include: Any = None, exclude: Any = None, metadata: Any = None, raw: bool = False
    ) -> None:
        """Show objects with every representation they have; with `raw`, each is a mime bundle itself."""
        for value in objects:
            if not raw and _is_empty_figure(value):
                self._forget(value)
                continue
            data, known = (dict(value), {}) if raw else mime_bundle(value, include, exclude)
            self._send("display", data, {**known, **(metadata or {})})
            self._forget(value)

    def result(self, value: Any) -> None:
        """Show the value of a cell, when there is more to it than a text."""
        if type(value) in _PLAIN:
            return
        data, metadata = mime_bundle(value)
        if len(data) > 1:
            self._send("result", data, metadata)
        self._forget(value)

    def clear(self, wait: bool = False) -> None:
        """Forget what was shown so far; with `wait`, once something new is shown."""
        self._send("clear", {}, {"wait": bool(wait)})

    def _forget(self, value: Any) -> None:
        if _is_figure(value):
            figures.close(value)

    def leave_open(self) -> None:
        """Figures that are open now are not the cells' to show and close."""
        self._others = frozenset(map(id, figures.open_figures()))

    def pending(self) -> bool:
        """Whether figures wait to be shown at the end of the cell."""
        pyplot = sys.modules.get("matplotlib._pylab_helpers")
        return pyplot is not None and bool(pyplot.Gcf.figs)

    def flush(self) -> None:
        """Show the figures that are open, and close them."""
        for figure in figures.open_figures():
            if id(figure) not in self._others:
                self.show(figure)
