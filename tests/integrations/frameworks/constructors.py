"""What is asked of the adapters that pass arguments on to the sessions that they create."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any

import pytest

import planaria

__all__ = ["check_constructor"]


def check_constructor(adapter: Callable[..., Any], own: Collection[str] = ()) -> None:
    """Its signature has each argument of `planaria.Session` by its name and annotation, save those that are
    its framework's, and a misspelled one is refused at once, with the right name.
    """
    parameters = inspect.signature(adapter).parameters
    session = inspect.signature(planaria.Session).parameters
    assert session.keys() <= parameters.keys()
    for name in session.keys() - own:
        assert parameters[name].annotation == session[name].annotation
    assert not any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    with pytest.raises(TypeError, match=r"'mount'. Did you mean 'mounts'\?"):
        adapter(mount=[])
    with pytest.raises(TypeError, match=r"Did you mean limits=planaria.Limits\(memory=...\)\?"):
        adapter(memory=1)
