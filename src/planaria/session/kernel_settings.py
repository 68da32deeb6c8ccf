"""The settings that a fresh kernel gets of its session; see docs/internals/boundary.md, "configure"."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING

from planaria.limits import ShellLimits
from planaria.session.settings import SessionSettings
from planaria_kernel.protocol import MAX_BYTES

if TYPE_CHECKING:
    from planaria.session.network_link import NetworkLink
    from planaria.session.workspace_link import WorkspaceLink

__all__ = ["kernel_settings", "shell_settings"]


def kernel_settings(
    given: SessionSettings,
    *,
    has_shell: bool,
    workspace: WorkspaceLink | None,
    network: NetworkLink | None,
) -> dict[str, object]:
    """The settings of the kernel of a session with the settings `given`."""
    bounds = given.bounds
    settings: dict[str, object] = {
        "callbacks": [callback.declaration() for callback in given.registry],
        "recursion_limit": bounds.recursion,
        "value_limit": MAX_BYTES if bounds.value is None else bounds.value,
        "argv": list(given.argv),
    }
    if has_shell:
        settings |= shell_settings(given)
    if workspace is not None:
        settings |= workspace.settings()
    if given.env:
        settings["environ"] = dict(given.env)
    if network is not None:
        settings |= network.settings(settings.get("environ"))
    return settings


def shell_settings(given: SessionSettings) -> dict[str, object]:
    """The settings of the kernel's shell."""
    return {
        "commands": list(given.shell_commands),
        "shell_limits": _as_settings(given.shell_bounds),
    }


@cache
def _as_settings(limits: ShellLimits) -> dict[str, object]:
    """As the kernel takes them; not to be changed."""
    return asdict(limits)
