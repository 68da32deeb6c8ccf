"""The fixture that runs a test for every kind of filesystem."""

from __future__ import annotations

from pathlib import Path

import pytest
from filesystem_kinds import KINDS, make

from planaria.files import FileSystem


@pytest.fixture(params=KINDS)
def filesystem(request: pytest.FixtureRequest, tmp_path: Path) -> FileSystem:
    """An empty filesystem of each kind."""
    return make(request.param, tmp_path)
