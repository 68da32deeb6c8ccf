"""The widget itself, by anywidget (https://anywidget.dev/en/afm/); its page is `tree.js`."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anywidget
import traitlets
from IPython import get_ipython  # type: ignore[import-not-found,unused-ignore]

from planaria.errors import PlanariaError, SessionError
from planaria.integrations.widget.tree import Tree
from planaria.session._sync.session import Session

__all__ = ["SessionTreeWidget"]

_HERE = Path(__file__).parent


class SessionTreeWidget(anywidget.AnyWidget):  # type: ignore[misc,unused-ignore]
    """Shows the states of sessions, and does what is clicked."""

    _esm = _HERE / "tree.js"
    _css = _HERE / "tree.css"
    nodes = traitlets.List(traitlets.Dict()).tag(sync=True)
    comparison = traitlets.Unicode("").tag(sync=True)
    message = traitlets.Unicode("").tag(sync=True)

    def __init__(self, sessions: Sequence[Session]) -> None:
        super().__init__()
        self._tree = Tree(sessions)
        self.on_msg(lambda _widget, content, _buffers: self._take(content))
        self.refresh()
        shell = get_ipython()
        if shell is not None:
            _follow(self, shell.events)

    @property
    def sessions(self) -> list[Session]:
        """The sessions that are shown; in the order of their numbers, forks last."""
        return self._tree.sessions

    def refresh(self) -> None:
        """Show the states as they are now. Raises SessionClosed."""
        self.nodes = [asdict(node) for node in self._tree.nodes()]

    def _take(self, content: Any) -> None:
        """Do what the page asks for; what cannot be done is said there."""
        self.message = self.comparison = ""
        try:
            chosen = [self._tree.find(identifier) for identifier in content["nodes"]]
            match content["action"], chosen:
                case "rewind", [node]:
                    self._tree.rewind(node, int(content["session"]))
                case "fork", [node]:
                    self.sessions.append(self._tree.fork(node))
                case "compare", [before, after]:
                    self.comparison = self._tree.compare(before, after) or "no difference"
                case "refresh", []:
                    pass
                case action, _:
                    raise SessionError(f"there is no action {action!r} of {len(chosen)} states")
        except PlanariaError as error:
            self.message = f"{type(error).__name__}: {error}"
        self.refresh()


def _follow(widget: SessionTreeWidget, events: Any) -> None:
    """Refresh the widget after each cell, as long as it is in use."""
    reference = weakref.ref(widget)

    def refresh(*_: Any) -> None:
        here = reference()
        if here is None or here.comm is None or any(session.is_closed for session in here.sessions):
            events.unregister("post_run_cell", refresh)
        else:
            here.refresh()

    events.register("post_run_cell", refresh)
