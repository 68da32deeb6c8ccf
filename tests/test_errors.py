"""The exceptions as users import them."""

from __future__ import annotations

import pickle

import pytest

import planaria
import planaria.errors


@pytest.mark.parametrize("name", planaria.errors.__all__)
def test_names_in_tracebacks(name: str) -> None:
    """Tracebacks and pickles name an exception as it is imported."""
    kind = getattr(planaria, name)
    assert f"{kind.__module__}.{kind.__qualname__}" == f"planaria.{name}"
    assert pickle.loads(pickle.dumps(kind)) is kind
