"""A widget for notebooks of the host that shows the checkpoints and forks of sessions as a tree.

It needs the extra `planaria[widget]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planaria.session._sync.session import Session

if TYPE_CHECKING:
    from planaria.integrations.widget.view import SessionTreeWidget

__all__ = ["widget"]


def widget(session: Session, *forks: Session) -> SessionTreeWidget:
    """A widget that shows the states of `session`, and of its `forks`, as a tree.

    In a notebook a click on a state goes back to it, and two states that are marked are compared. The
    widget's `sessions` are those that it shows, with the forks that are made by its button. It follows what
    cells of the notebook do; elsewhere `refresh()` shows what has happened. Raises ModuleNotFoundError
    without the extra, and TypeError for what is not a `planaria.Session`.
    """
    for one in (session, *forks):
        if not isinstance(one, Session):
            raise TypeError(f"widget() takes planaria.Session, not {type(one).__name__}")
    try:
        from planaria.integrations.widget.view import SessionTreeWidget
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("planaria"):
            raise
        raise ModuleNotFoundError(
            f"planaria.widget needs the package {error.name}: pip install 'planaria[widget]'", name=error.name
        ) from None
    return SessionTreeWidget([session, *forks])
