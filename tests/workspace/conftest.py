"""One storage of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from storage_kinds import KINDS, address, open_storage

from planaria.workspace.storage.storage import Storage


@pytest.fixture(params=KINDS)
def storage_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(storage_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a storage of each kind can be opened by any process."""
    return address(storage_kind, request, tmp_path)


@pytest.fixture
def storage(storage_kind: str, place: str) -> Iterator[Storage]:
    """One of each kind, empty."""
    opened = open_storage(storage_kind, place)
    yield opened
    opened.close()
