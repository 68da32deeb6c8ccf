"""`planaria store`: moving, listing and comparing workspaces."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from planaria.cli.printable import printable
from planaria.workspace.storage import transfer
from planaria.workspace.storage.storage import Storage
from planaria.workspace.storage.transfer import Change

__all__ = ["bring", "list_workspace", "show_difference"]

_SIGNS = {"added": "+", "removed": "-", "changed": "~", "kept": "="}


@contextlib.contextmanager
def _opened(place: str, *, must_exist: bool) -> Iterator[Storage]:
    storage = transfer.open_storage(place, must_exist=must_exist)
    try:
        yield storage
    finally:
        storage.close()


def bring(
    how: Callable[..., Sequence[Change]], source: str, target: str, *, as_json: bool, **options: Any
) -> None:
    """Move a workspace by `bootstrap` or `pull`, and say what came of it."""
    with _opened(source, must_exist=True) as here, _opened(target, must_exist=False) as there:
        changes = how(here, there, **options)
    _show(changes, as_json=as_json)
    kept = sum(change.action == "kept" for change in changes)
    if kept and not as_json:
        print(f"{kept} that differ were kept as they are in {target}; --overwrite replaces them")


def show_difference(first: str, second: str, *, as_json: bool, snapshots: bool) -> int:
    """What differs between two workspaces; the exit status is 1 when something does."""
    with _opened(first, must_exist=True) as here, _opened(second, must_exist=True) as there:
        changes = transfer.diff(here, there, snapshots=snapshots)
    _show(changes, as_json=as_json)
    return 1 if changes else 0


def _show(changes: Sequence[Change], *, as_json: bool) -> None:
    if as_json:
        reported = [{"action": one.action, "kind": one.kind, "name": one.name} for one in changes]
        print(json.dumps(reported, indent=2))
        return
    for one in changes:
        print(f"{_SIGNS[one.action]} {one.kind} {printable(one.name)}")


def list_workspace(place: str, *, as_json: bool, snapshots: bool) -> None:
    with _opened(place, must_exist=True) as storage:
        found = transfer.items(storage, snapshots=snapshots)
        descriptions: dict[tuple[str, str], str] = {}
        for workflow in storage.get_workflow_library().list():
            descriptions["workflow", workflow.name] = workflow.error or workflow.description
        for artifact in storage.get_artifact_store().list():
            descriptions["artifact", artifact.name] = artifact.description
    if as_json:
        reported = [
            {"kind": one.kind, "name": one.name, "description": descriptions.get((one.kind, one.name), "")}
            for one in found
        ]
        print(json.dumps(reported, indent=2))
        return
    console = Console(highlight=False)
    if not found:
        console.print("this workspace is empty")
        return
    table = Table("KIND", "NAME", "DESCRIPTION", box=None, pad_edge=False)
    for one in found:
        first, *_ = descriptions.get((one.kind, one.name), "").splitlines() or [""]
        table.add_row(one.kind, escape(printable(one.name)), escape(printable(first)))
    console.print(table)
