"""Registries made of YAML as users write it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from planaria import ToolEnvironment, ToolRegistry


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., ToolRegistry]:
    """A function that writes texts to `NAME.yaml` in a directory and loads it."""

    def make(environment: ToolEnvironment | None = None, **texts: str) -> ToolRegistry:
        for name, text in texts.items():
            (tmp_path / f"{name}.yaml").write_text(textwrap.dedent(text).lstrip("\n"), "utf-8")
        registry = ToolRegistry()
        registry.load(tmp_path, environment)
        return registry

    return make
