"""`deps`: packages that the code can import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from planaria_kernel.namespaces.operations import Host, Steps, operation

__all__ = ["Deps"]


class Deps:
    """The packages of this session: `deps.add("attrs>=24")`, then `import attrs`.

    They are kept with the workspace, for later sessions to install. All of these may be called plainly or
    with `await`.
    """

    def __init__(self, host: Host, look_in: Callable[[Sequence[str]], None]) -> None:
        self._host = host
        self._look_in = look_in

    @operation
    def add(self, package: str) -> Steps[Any]:
        """Install a package and all that it needs; reports what was installed, already_present, failed."""
        return (yield from self._change("@deps.add", package))

    @operation
    def remove(self, package: str) -> Steps[Any]:
        """Remove a package; reports what was removed, not_found, failed, removed_from_config."""
        return (yield from self._change("@deps.remove", package))

    @operation
    def sync(self) -> Steps[Any]:
        """Install all that is configured; reports what was installed, already_present, failed."""
        return (yield from self._change("@deps.sync"))

    @operation
    def list(self) -> Steps[Any]:
        """The configured packages, as requirements."""
        return (yield "@deps.list", ())

    def _change(self, name: str, *arguments: str) -> Steps[Any]:
        outcome, paths = yield name, arguments
        self._look_in(paths)
        return outcome

    def __repr__(self) -> str:
        return "<packages of this session; see deps.list()>"
