"""Distributions to install."""

from __future__ import annotations

import zipfile
from pathlib import Path

__all__ = ["make_wheel"]


def make_wheel(directory: Path, name: str, version: str, requires: str | None = None) -> None:
    """A distribution with a module that prints its version, and a program that does so too."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    if requires is not None:
        metadata += f"Requires-Dist: {requires}\n"
    files = {
        f"{name}.py": f"version = {version!r}\ndef main(): print({name!r}, version)\n",
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name}-program = {name}:main\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(directory / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
