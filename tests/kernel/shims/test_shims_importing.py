"""Changing modules when they are imported."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from planaria_kernel.shims.importing import when_imported


def test_changes_only_the_named_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module is changed after its code has run, once, and its neighbours in the same archive are left
    alone.
    """
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("shim_first.py", "import shim_second\nvalue = 1\n")
        archive.writestr("shim_second.py", "value = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path / "a.zip"))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))

    def change(module: Any) -> None:
        module.value += 1

    when_imported("shim_first", change)
    import shim_first  # type: ignore[import-not-found]
    import shim_second  # type: ignore[import-not-found]

    assert (shim_first.value, shim_second.value) == (2, 1)
    assert type(shim_first.__loader__).__name__ == "zipimporter"
    when_imported("shim_second", change)
    assert shim_second.value == 2


def test_missing_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that does not exist is an ImportError, and is changed when it is there later."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    changed: list[Any] = []
    when_imported("shim_third", changed.append)
    with pytest.raises(ImportError):
        import shim_third  # type: ignore[import-not-found]
    (tmp_path / "shim_third.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    import shim_third

    assert changed == [shim_third]
