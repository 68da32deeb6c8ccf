"""The namespaces of a workspace put together, as the kernel publishes them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from planaria_kernel.errors import ToolCallError
from planaria_kernel.namespaces.artifacts import Artifacts
from planaria_kernel.namespaces.deps import Deps
from planaria_kernel.namespaces.operations import Awaited, Blocking, Host
from planaria_kernel.namespaces.tools import Tools
from planaria_kernel.namespaces.workflows import Runner, Workflows

__all__ = ["namespaces"]


def namespaces(
    settings: dict[str, Any],
    *,
    blocking: Blocking,
    awaited: Awaited,
    drive: Callable[[Coroutine[Any, Any, Any]], Any],
    check: Callable[[str], None],
    look_in: Callable[[Sequence[str]], None],
) -> dict[str, Any]:
    """The names by which code reaches a workspace.

    `settings` are what the host says of it, {"tools": {name: description}}; `blocking` and `awaited` call the
    host, `drive` runs a coroutine to its end, `check` sees the source of a workflow before it is compiled,
    and `look_in` has modules found in more directories, also ones that were not there a moment ago.
    """
    host = Host(blocking, awaited)
    names: dict[str, Any] = {
        "tools": Tools(host, settings.get("tools", {})),
        "artifacts": Artifacts(host),
        "deps": Deps(host, look_in),
        "ToolCallError": ToolCallError,
    }
    names["workflows"] = Workflows(host, Runner(names, drive, check))
    return names
