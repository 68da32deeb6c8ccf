"""Adapters that use an open session, or one that they create of the arguments they are given."""

from __future__ import annotations

from planaria.integrations.command_backend import CommandBackend
from planaria.session._sync.session import Session
from planaria.session.options import SessionArguments

__all__ = ["check_choice", "open_backend"]


def check_choice(session: Session | None, arguments: SessionArguments) -> None:
    """Raises TypeError when both are given."""
    if session is not None and arguments:
        raise TypeError("give a session or the arguments for one, not both")


def open_backend(session: Session | None, arguments: SessionArguments) -> CommandBackend:
    """Commands and files of a session, which stays open when the backend closes; None creates one of the
    arguments, which the backend closes. Raises TypeError when both are given.
    """
    check_choice(session, arguments)
    return CommandBackend(session or Session(**arguments), closes_session=session is None)
