"""Shells of sessions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import planaria


@pytest.fixture
def bash() -> Iterator[planaria.Bash]:
    with planaria.Bash() as shell:
        yield shell


@pytest.fixture(scope="module")
def lasting() -> Iterator[planaria.Bash]:
    """A shell for tests that do not mind what was run before."""
    with planaria.Bash() as shell:
        yield shell
