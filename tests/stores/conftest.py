"""One store of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from made_snapshots import address, open_store

from planaria.stores.store import Store


@pytest.fixture(params=["memory", "file", "sqlite", "redis", "objects"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """One of each kind, empty."""
    kind = request.param
    # Only where nothing else writes meanwhile need no collection wait for writers.
    grace = 2.0 if "threads" in request.node.name else 0.0
    opened = open_store(kind, address(kind, request, tmp_path), grace=grace)
    yield opened
    opened.close()
