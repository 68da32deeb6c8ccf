"""Rich output: display(), mime bundles, and matplotlib figures."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from planaria_kernel.execution import figures, structured
from planaria_kernel.execution.names import short_repr, type_label

__all__ = ["DISPLAY_ID", "Display", "DisplayHandle", "Formatter", "mime_bundle"]

#: The key of the metadata under which the host finds the identifier of an output that may be updated.
DISPLAY_ID: Final = "planaria.display_id"

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
_PLAIN: Final = (str, int, float, bool, list, dict, tuple, bytes, complex, type(None), set, frozenset)

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
    if not _is_plain(value) and not issubclass(kind, type):
        made = _ask(value, "_repr_mimebundle_", include=include, exclude=exclude)
        if made is not None:
            try:
                data, metadata = map(dict, made if isinstance(made, tuple) else (made, {}))
            except (TypeError, ValueError):
                reported = "_repr_mimebundle_ returned neither a dict nor two"
                sys.stderr.write(f"display: {type_label(value)}.{reported}\n")
        for mime, method in _METHODS:
            if mime in data:
                continue
            made = _ask(value, method)
            if made is None:
                continue
            if isinstance(made, tuple) and len(made) == 2:
                made, metadata[mime] = made
            data[mime] = made
        if "image/png" not in data and _is_figure(value) and not figures.is_empty(value):
            data["image/png"] = figures.png(value)
        data |= structured.descriptions(value)
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
    return _text_keys(data, value), _text_keys(metadata, value)


def _ask(value: Any, method: str, **options: Any) -> Any:
    """What a method for a representation returns; None without one, or when it raised."""
    return _asked(value, method, options)[1]


def _has_shown_itself(value: Any) -> bool:
    """Have a value show itself, if it can; whether it did."""
    return _asked(value, "_ipython_display_", {})[0]


def _asked(value: Any, method: str, options: dict[str, Any]) -> tuple[bool, Any]:
    """Whether a value has a method, which did not raise, and what that returned."""
    # Looked up on the class first: objects that answer to any name (mocks, proxies) have no representation.
    if getattr(type(value), method, None) is None:
        return False, None
    try:
        return True, getattr(value, method)(**options)
    except NotImplementedError:
        return False, None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # as what `repr` raises: a value never decides how its cell ends
        reported = f"{method} raised {type(error).__name__}: {short_repr(error, 200)}"
        sys.stderr.write(f"display: {type_label(value)}.{reported}\n")
        return False, None


def _text_keys(made: dict[Any, Any], value: Any) -> Bundle:
    """Representations or metadata without the entries whose key is not a string."""
    if all(isinstance(key, str) for key in made):
        return made
    sys.stderr.write(
        f"display: a {type_label(value)} has representations whose type is not a string; left out\n"
    )
    return {key: one for key, one in made.items() if isinstance(key, str)}


def _is_plain(value: Any) -> bool:
    kind = type(value)
    return any(kind is one for one in _PLAIN)  # a metaclass may define `__hash__` and `__eq__`


def _is_figure(value: Any) -> bool:
    matplotlib = sys.modules.get("matplotlib.figure")
    # Of its type: `isinstance` asks the value for its `__class__` as well.
    return matplotlib is not None and issubclass(type(value), matplotlib.Figure)


def _is_empty_figure(value: Any) -> bool:
    return _is_figure(value) and figures.is_empty(value)


class DisplayHandle:
    """An output that can be replaced later: what `display(..., display_id=True)` returns."""

    def __init__(self, display: Display, display_id: str) -> None:
        self._display = display
        self.display_id = display_id

    def display(self, value: Any, **options: Any) -> None:
        """Show `value` as one more output of this identifier."""
        self._display.show(value, display_id=self.display_id, **options)

    def update(self, value: Any, **options: Any) -> None:
        """Show `value` in place of what the outputs of this identifier show."""
        self._display.update(value, display_id=self.display_id, **options)

    def __repr__(self) -> str:
        return f"<DisplayHandle display_id={self.display_id}>"


class Formatter:
    """`get_ipython().display_formatter`."""

    def format(self, value: Any, include: Any = None, exclude: Any = None) -> tuple[Bundle, dict[str, Any]]:
        """Every representation that `value` has, by type, and their metadata."""
        return mime_bundle(value, include, exclude)


class Display:
    """What shows things: `send` takes a kind, a bundle and its metadata.

    The kinds are "display", "update", "result", "clear", "page" (text about something, for a pager) and those
    of comms.
    """

    def __init__(self, send: _Send) -> None:
        self._send = send
        self.formatter = Formatter()
        #: Figures that belong to other code, by their ids.
        self._others: frozenset[int] = frozenset()

    def show(
        self,
        *objects: Any,
        include: Any = None,
        exclude: Any = None,
        metadata: Any = None,
        raw: bool = False,
        display_id: str | bool | None = None,
        clear: bool = False,
        transient: Any = None,
    ) -> DisplayHandle | None:
        """Show objects with every representation they have; with `raw`, each is a mime bundle itself.

        With `display_id` (True makes one) they can be replaced later, by the handle that is returned then or
        by `update_display`. `clear` forgets what was shown before. `transient` is there for IPython's sake.
        """
        if clear:
            self.clear(wait=True)
        identifier = os.urandom(16).hex() if display_id is True else display_id or None
        for value in objects:
            self._show("display", value, include, exclude, metadata, raw, identifier)
        return None if identifier is None else DisplayHandle(self, str(identifier))

    def show_figure(self, figure: Any) -> None:
        """Show a figure of matplotlib."""
        self.show(figure)

    def update(
        self,
        value: Any,
        *,
        display_id: str,
        include: Any = None,
        exclude: Any = None,
        metadata: Any = None,
        raw: bool = False,
    ) -> None:
        """Show `value` in place of what was shown as `display_id`."""
        self._show("update", value, include, exclude, metadata, raw, display_id)

    def _show(
        self, kind: str, value: Any, include: Any, exclude: Any, metadata: Any, raw: bool, display_id: Any
    ) -> None:
        if not raw and _is_empty_figure(value):
            self._forget(value)
            return
        if not raw and _has_shown_itself(value):
            return
        data, known = (_text_keys(dict(value), value), {}) if raw else mime_bundle(value, include, exclude)
        identified = {} if display_id is None else {DISPLAY_ID: str(display_id)}
        self._send(kind, data, {**known, **(metadata or {}), **identified})
        self._forget(value)

    @contextlib.contextmanager
    def captured(self) -> Iterator[list[tuple[str, Bundle, dict[str, Any]]]]:
        """Within this, what is shown goes into the list instead."""
        outputs: list[tuple[str, Bundle, dict[str, Any]]] = []
        send, self._send = self._send, lambda *sent: outputs.append(sent)
        try:
            yield outputs
        finally:
            self._send = send

    def page(self, text: str) -> None:
        """Show a text about something, which is not output of the code."""
        self._send("page", {"text/plain": text}, {})

    def send(self, kind: str, data: Bundle, metadata: dict[str, Any]) -> None:
        """Send what is not an output: a message of a comm."""
        self._send(kind, data, metadata)

    def result(self, value: Any) -> None:
        """Show the value of a cell, when there is more to it than a text."""
        if _is_plain(value):
            return
        if self._is_result_that_shows_itself(value):
            return
        data, metadata = mime_bundle(value)
        if len(data) > 1:
            self._send("result", data, metadata)
        self._forget(value)

    def _is_result_that_shows_itself(self, value: Any) -> bool:
        """Have a value show itself, if it can; whether it did.

        The last thing that it shows is the value of the cell.
        """
        outputs: list[tuple[str, Bundle, dict[str, Any]]] = []
        try:
            with self.captured() as outputs:
                return _has_shown_itself(value)
        finally:
            shown = [index for index, (kind, _, _) in enumerate(outputs) if kind == "display"]
            for index, (kind, data, metadata) in enumerate(outputs):
                self._send("result" if index in shown[-1:] else kind, data, metadata)

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
