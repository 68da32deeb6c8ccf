"""Adapters that take a session or create one."""

from __future__ import annotations

import pytest

import planaria
from planaria.integrations.session_choice import open_backend


def test_session_that_is_given_stays_open() -> None:
    """A backend closes the session that it has created, and no other."""
    with planaria.Session() as session:
        backend = open_backend(session, {})
        assert backend.session is session
        backend.close()
        assert not session.is_closed
    backend = open_backend(None, {"env": {"WHERE": "here"}})
    assert backend.run("printf $WHERE").stdout == "here"
    backend.close()
    assert backend.session.is_closed


def test_both_are_refused() -> None:
    """A session and arguments for one are an error."""
    with (
        planaria.Session() as session,
        pytest.raises(TypeError, match="give a session or the arguments for one, not both"),
    ):
        open_backend(session, {"seed": 1})
