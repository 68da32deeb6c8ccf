"""Moving and comparing workspaces, whatever they are kept in.

What is moved are items: a workflow with its versions, an artifact with what is known about it, a file of
tools, the requirements, a snapshot's name with its versions. Each arrives as a whole, with its dates.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from planaria.errors import StorageError
from planaria.storage.documents import Documents, Upload
from planaria.storage.paths import check_workspace_id, folder_of
from planaria.workspace.storage.file import FileStorage
from planaria.workspace.storage.storage import Storage

__all__ = ["Action", "Change", "Item", "bootstrap", "diff", "items", "open_storage", "pull"]

Kind = Literal["tool", "workflow", "artifact", "requirements", "snapshot"]
Action = Literal["added", "changed", "removed", "kept"]

_REQUIREMENTS: Final = "requirements.txt"


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """Something in a workspace that is moved as a whole."""

    kind: Kind
    name: str
    paths: tuple[str, ...] = ()
    """Its documents; none for a snapshot."""


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to an item, or would make the first workspace like the second."""

    action: Action
    """added, changed, removed; or kept, where it differs and was left alone."""
    kind: Kind
    name: str


def open_storage(place: str, *, must_exist: bool = False) -> Storage:
    """The storage at a path or URL.

    `./directory`, `sqlite:///relative.db` (`sqlite:////absolute.db`), `redis://host/0?prefix=planaria:` (also
    `rediss:` and `unix:`), and `file:///absolute/directory`; URLs take `workspace=ID` for that of a tenant.
    Raises StorageError for another one, and when it `must_exist` and does not.
    """
    scheme, separator, _ = place.partition("://")
    if not separator:
        return _existing(FileStorage(place), Path(place).expanduser(), must_exist)
    url = urlsplit(place)
    query = dict(parse_qsl(url.query))
    workspace_id = query.pop("workspace", None)
    try:
        check_workspace_id(workspace_id)
    except ValueError as error:
        raise StorageError(f"{place}: {error}") from None
    if scheme in ("redis", "rediss", "unix"):
        from planaria.workspace.storage.redis import RedisStorage

        prefix = query.pop("prefix", "planaria:")
        address = url._replace(query=urlencode(query)).geturl()
        try:
            return RedisStorage(address, prefix=prefix, workspace_id=workspace_id)
        except (ImportError, ValueError) as error:
            raise StorageError(str(error)) from None
    if query:
        raise StorageError(f"{place}: unknown parameters: {', '.join(query)}; there is workspace=ID")
    path = unquote(url.path)
    if scheme == "file":
        return _existing(FileStorage(path, workspace_id=workspace_id), Path(path), must_exist)
    if scheme == "sqlite":
        from planaria.workspace.storage.sqlite import SqliteStorage

        path = path.removeprefix("/")
        if url.netloc or not path:
            raise StorageError(f"{place}: write sqlite:///relative.db or sqlite:////absolute.db")
        if must_exist and not os.path.exists(path):
            raise StorageError(f"there is no workspace at {path}")
        return SqliteStorage(path, workspace_id=workspace_id)
    raise StorageError(f"{place}: a workspace is at a path, or at sqlite:///…, redis://… or file:///…")


def _existing(storage: Storage, path: Path, must_exist: bool) -> Storage:
    if must_exist and not path.is_dir():
        raise StorageError(f"there is no workspace at {path}")
    return storage


def items(storage: Storage, *, snapshots: bool = True) -> list[Item]:
    """What is in a workspace, by kind and name."""
    workflows, artifacts = storage.get_workflow_library(), storage.get_artifact_store()
    found = [Item("artifact", one.name, tuple(artifacts.paths(one))) for one in artifacts.list()]
    names = [one.name for one in workflows.list()]

    def action(documents: Documents) -> Iterator[Item]:
        if documents.entry(_REQUIREMENTS) is not None:
            yield Item("requirements", _REQUIREMENTS, (_REQUIREMENTS,))
        for folder in documents.folders("tools"):
            for name in documents.entries(folder):
                path = f"{folder}/{name}"
                yield Item("tool", path.removeprefix("tools/"), (path,))
        for name in names:
            yield Item("workflow", name, tuple(workflows.paths(documents, name)))

    found += storage.read(lambda documents: list(action(documents)))
    if snapshots:
        found += [Item("snapshot", name) for name in storage.list_snapshots()]
    return sorted(found)


def diff(source: Storage, target: Storage, *, snapshots: bool = True) -> list[Change]:
    """What would make `source` like `target`: what is added, removed and changed there."""
    ours, theirs = _by_name(source, snapshots), _by_name(target, snapshots)
    changes: list[Change] = []
    for key in sorted({*ours, *theirs}):
        if key not in theirs:
            changes.append(Change("removed", *key))
        elif key not in ours:
            changes.append(Change("added", *key))
        elif _digest(source, ours[key]) != _digest(target, theirs[key]):
            changes.append(Change("changed", *key))
    return changes


def bootstrap(
    source: Storage, target: Storage, *, overwrite: bool = False, snapshots: bool = True
) -> list[Change]:
    """Bring into `target` what it lacks of `source`; what differs there is kept, unless `overwrite`."""
    return _bring(source, target, overwrite=overwrite, delete=False, snapshots=snapshots)


def pull(source: Storage, target: Storage, *, delete: bool = False, snapshots: bool = True) -> list[Change]:
    """Make `target` have all of `source` as it is there, and with `delete` nothing else."""
    return _bring(source, target, overwrite=True, delete=delete, snapshots=snapshots)


def _bring(
    source: Storage, target: Storage, *, overwrite: bool, delete: bool, snapshots: bool
) -> list[Change]:
    ours, theirs = _by_name(source, snapshots), _by_name(target, snapshots)
    changes: list[Change] = []
    for change in diff(target, source, snapshots=snapshots):
        key = (change.kind, change.name)
        if change.action == "removed":
            if delete:
                _remove(target, theirs[key])
                changes.append(change)
        elif change.action == "changed" and not overwrite:
            changes.append(Change("kept", *key))
        else:
            _copy(source, target, ours[key], theirs.get(key))
            changes.append(change)
    return changes


def _by_name(storage: Storage, snapshots: bool) -> dict[tuple[Kind, str], Item]:
    return {(one.kind, one.name): one for one in items(storage, snapshots=snapshots)}


def _digest(storage: Storage, item: Item) -> object:
    """The same for the same item."""
    if item.kind == "snapshot":
        return [version.kept_digest for version in storage.get_snapshot_store().history(item.name)]
    digests: dict[str, str] = {}
    for path, pieces in _open(storage, item):
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece)
        digests[path] = digest.hexdigest()
    return digests


def _open(storage: Storage, item: Item) -> list[tuple[str, Iterator[bytes]]]:
    """The documents of an item, as they are at one time."""

    def action(documents: Documents) -> list[tuple[str, Iterator[bytes]]]:
        found = [(path, documents.chunks(path)) for path in item.paths]
        return [(path, pieces) for path, pieces in found if pieces is not None]

    return storage.read(action)


def _left_behind(target: Storage, documents: Documents, item: Item) -> frozenset[str]:
    """What `target` has still of an item whose file was removed there by hand: its notes, its versions."""
    paths = item.paths
    if item.kind == "workflow":
        paths = (*paths, *target.get_workflow_library().paths(documents, item.name))
    return frozenset(path for path in paths if "/." in path)


def _copy(source: Storage, target: Storage, item: Item, earlier: Item | None) -> None:
    if item.kind == "snapshot":
        _copy_snapshots(source, target, item.name)
        return
    uploads: dict[str, Upload] = {}

    def action(documents: Documents) -> None:
        owned = _left_behind(target, documents, item) if earlier is None else frozenset(earlier.paths)
        for path in uploads:
            if path not in owned and documents.entry(path) is not None:
                raise StorageError(
                    f"{item.kind} {item.name} cannot be copied: {path} is something else there"
                )
            folder = folder_of(path)[0]
            while folder:
                if documents.entry(folder) is not None:
                    raise StorageError(
                        f"{item.kind} {item.name} cannot be copied: {folder} is not a folder there"
                    )
                folder = folder_of(folder)[0]
        for path in owned - uploads.keys():
            documents.drop(path)
        for path, upload in uploads.items():
            documents.adopt(path, upload)

    try:
        for path, pieces in _open(source, item):
            uploads[path] = target.upload()
            for piece in pieces:
                uploads[path].write(piece)
        target.write(action)
    except BaseException:
        for upload in uploads.values():
            upload.discard()
        raise


def _copy_snapshots(source: Storage, target: Storage, name: str) -> None:
    """Make the versions of a name the same there; numbers may differ."""
    ours, theirs = source.get_snapshot_store(), target.get_snapshot_store()
    wanted = [version.kept_digest for version in ours.history(name)]
    known = [version.kept_digest for version in theirs.history(name)] if name in theirs.list() else []
    if known != wanted[: len(known)]:
        theirs.delete(name)
        known = []
    for version in ours.history(name)[len(known) :]:
        theirs.save(name, ours.load(name, version.number))


def _remove(storage: Storage, item: Item) -> None:
    if item.kind == "snapshot":
        storage.get_snapshot_store().delete(item.name)
        return

    def action(documents: Documents) -> None:
        for path in item.paths:
            documents.drop(path)

    storage.write(action)
