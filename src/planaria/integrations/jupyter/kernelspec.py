"""Telling Jupyter of the kernel."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["install", "kernelspec"]


def kernelspec(display_name: str, options: Sequence[str] = (), *, shared: bool = False) -> dict[str, Any]:
    """The contents of `kernel.json`. `options` are given to the kernel; with `shared`, kernels run in the
    process that starts them.
    """
    spec: dict[str, Any] = {
        "argv": [
            sys.executable,
            *("-m", "planaria", "jupyter", "kernel", *options, "-f", "{connection_file}"),
        ],
        "display_name": display_name,
        "language": "python",
        "interrupt_mode": "message",
        "metadata": {"debugger": False},
    }
    if shared:
        spec["metadata"]["kernel_provisioner"] = {"provisioner_name": "planaria-shared-provisioner"}
    return spec


def install(spec: dict[str, Any], name: str, *, user: bool = False, prefix: str | None = None) -> Path:
    """Write a kernelspec where Jupyter finds it, in place of one of that name; returns the directory.

    Raises OSError, and ValueError for a name that Jupyter does not take.
    """
    from jupyter_client.kernelspec import KernelSpecManager

    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "kernel.json").write_text(json.dumps(spec, indent=1), "utf-8")
        Path(directory).chmod(0o755)
        return Path(KernelSpecManager().install_kernel_spec(directory, name, user=user, prefix=prefix))
