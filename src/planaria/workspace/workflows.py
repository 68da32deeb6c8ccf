"""Workflows: Python files with a function `run`, kept with their versions.

Of a workflow's source the host reads what it says about itself and nothing more; it runs in a session only.
The file `workflows/NAME.py` is the current version, and counts as it stands: one that was edited by hand is a
version that is not yet recorded, which the next `add` does.
"""

from __future__ import annotations

import builtins
import hashlib
import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from planaria.errors import StorageError, WorkflowError
from planaria.storage.documents import Backend, Documents
from planaria.storage.mirror import Mirror
from planaria.storage.paths import why_not_a_segment
from planaria.workspace.embedding import Embedder
from planaria.workspace.search import SearchEntry, SearchIndex
from planaria.workspace.source import Outline, read_source, why_not_a_name
from planaria.workspace.timestamps import now, timestamp

__all__ = ["Workflow", "WorkflowLibrary"]

_FOLDER: Final = "workflows"
_INFO: Final = f"{_FOLDER}/.info"
_VERSIONS: Final = f"{_FOLDER}/.versions"
_ENDING: Final = ".py"
_INFO_ENDING: Final = ".json"


@dataclass(frozen=True, slots=True)
class Workflow:
    """One version of a workflow."""

    name: str
    description: str
    """As it was given, otherwise the docstring of `run` or of the file."""
    parameters: tuple[dict[str, Any], ...]
    """Of `run`: dicts with name, type and default (as they are written, or None) and required."""
    source: str
    version: int
    """Counts up from 1."""
    created_at: str
    """When this version was added or edited: ISO 8601, UTC."""
    digest: str
    """Of the source: SHA-256 in hexadecimal."""
    is_async: bool
    returns: str | None
    """The annotation of what `run` returns, as it is written."""
    error: str | None = None
    """Why it cannot run, for a file that was broken by hand."""

    def summary(self) -> dict[str, Any]:
        """What a list shows: all but the source."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": [dict(parameter) for parameter in self.parameters],
            "returns": self.returns,
            "is_async": self.is_async,
            "version": self.version,
            "created_at": self.created_at,
            "error": self.error,
        }

    def document(self) -> dict[str, Any]:
        """The summary and the source."""
        return {**self.summary(), "source": self.source}


@dataclass(frozen=True, slots=True)
class _Record:
    """What is kept of a version beside its source."""

    number: int
    digest: str
    created_at: str
    description: str

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "digest": self.digest,
            "created_at": self.created_at,
            "description": self.description,
        }


class WorkflowLibrary:
    """The workflows of a storage. May be used from many threads and processes."""

    def __init__(self, storage: Backend, embedder: Embedder | None = None) -> None:
        self._storage = storage
        self._lock = threading.Lock()
        self._sources = Mirror(_FOLDER, _ENDING)
        self._infos = Mirror(_INFO, _INFO_ENDING)
        self._workflows: dict[str, Workflow] = {}
        self._index = SearchIndex(embedder=embedder)

    def list(self) -> list[Workflow]:
        """All workflows in their current version, by name; broken files with their `error`.

        Files whose names begin with an underscore or a dot are not workflows.
        """
        with self._lock:
            self._refresh(is_exact=True)
            return [self._workflows[name] for name in sorted(self._workflows)]

    def search(self, query: str, limit: int = 5) -> builtins.list[tuple[Workflow, float]]:
        """The workflows that fit best, with their scores (see planaria.workspace.search)."""
        with self._lock:
            self._refresh(is_exact=False)
            return [(self._workflows[name], score) for name, score in self._index.search(query, limit)]

    def get(self, name: str, version: int | None = None) -> Workflow | None:
        """A workflow in its current version, or in an earlier one; None when there is none."""
        if not _is_name(name):
            return None

        def action(documents: Documents) -> Workflow | None:
            records = _records(documents.fetch(_info_path(name)), name)
            current = _current(documents, name, records)
            if current is None or version is None or version == current.version:
                return current
            return _recorded(documents, name, [one for one in records if one.number == version])

        return self._storage.read(action)

    def versions(self, name: str) -> builtins.list[Workflow]:
        """All versions of a workflow, the oldest first; none for an unknown name."""
        if not _is_name(name):
            return []

        def action(documents: Documents) -> builtins.list[Workflow]:
            records = _records(documents.fetch(_info_path(name)), name)
            current = _current(documents, name, records)
            if current is None:
                return []
            found = {current.version: current}
            for record in records:
                workflow = _recorded(documents, name, [record])
                if workflow is not None:
                    found.setdefault(record.number, workflow)
            return [found[number] for number in sorted(found)]

        return self._storage.read(action)

    def add(self, name: str, source: str, description: str | None = None) -> Workflow:
        """Keep a workflow, as a new version when there is one of that name.

        Without a description it keeps the one that it has, and otherwise shows its docstring. Adding what is
        there already changes nothing. Raises WorkflowError for a name that cannot be, a source that is no
        Python, and one without `run` at its top level.
        """
        if not isinstance(name, str) or not isinstance(source, str):
            raise TypeError("a workflow's name and source must be strings")
        if (reason := why_not_a_name(name)) is not None:
            raise WorkflowError(f"a workflow cannot be named {name[:80]!r}: {reason}")
        try:
            data = source.encode()
            (description or "").encode()
        except UnicodeEncodeError as error:
            raise WorkflowError(
                f"the workflow {name!r} has characters that cannot be encoded: {error}"
            ) from None
        outline = read_source(data)
        if outline.error is not None:
            raise WorkflowError(f"the workflow {name!r} cannot be added: {outline.error}")

        def action(documents: Documents) -> Workflow:
            records = _records(documents.fetch(_info_path(name)), name)
            known = len(records)
            current = _current(documents, name, records)
            given = records[-1].description if records else ""
            if current is not None:
                mine = _find(records, current.digest)
                if mine is None:  # edited by hand: kept as the version that it is
                    mine = _Record(current.version, current.digest, current.created_at, given)
                    records.append(mine)
                    documents.put(_version_path(name, mine.number), documents.fetch(_path(name)) or b"")
                given = mine.description
                if mine.digest == _digest(data) and description in (None, given):
                    if len(records) > known:
                        documents.put(_info_path(name), _info(records))
                    return current
            number = max((record.number for record in records), default=0) + 1
            record = _Record(number, _digest(data), now(), given if description is None else description)
            documents.put(_version_path(name, number), data)
            documents.put(_info_path(name), _info([*records, record]))
            documents.put(_path(name), data)
            return _workflow(name, data, outline, record)

        return self._storage.write(action)

    def remove(self, name: str) -> bool:
        """Remove a workflow with all its versions; False when there is none."""
        if not _is_name(name):
            return False

        def action(documents: Documents) -> bool:
            if documents.entry(_path(name)) is None:
                return False
            for path in self.paths(documents, name):
                documents.drop(path)
            return True

        return self._storage.write(action)

    def paths(self, documents: Documents, name: str) -> builtins.list[str]:
        """The documents of which a workflow consists."""
        return [
            _path(name),
            *([_info_path(name)] if documents.entry(_info_path(name)) is not None else []),
            *(f"{_VERSIONS}/{name}/{one}" for one in sorted(documents.entries(f"{_VERSIONS}/{name}"))),
        ]

    def _refresh(self, *, is_exact: bool) -> None:
        def action(documents: Documents) -> None:
            self._infos.refresh(documents, is_exact=is_exact)
            self._sources.refresh(documents, is_exact=is_exact)

        self._storage.read(action)
        for name in sorted(self._infos.changed | self._sources.changed):
            self._note(name)
            self._infos.changed.discard(name)
            self._sources.changed.discard(name)

    def _note(self, name: str) -> None:
        """Take over what the files of a workflow say now."""
        data = self._sources.contents.get(name)
        if data is None or not _is_name(name):
            self._workflows.pop(name, None)
            self._index.discard(name)
            return
        modified = self._sources.entries[name].modified
        try:
            records = _records(self._infos.contents.get(name), name)
        except StorageError as error:
            outline = Outline(error=str(error))
            workflow = _workflow(name, data, outline, _Record(1, _digest(data), timestamp(modified), ""))
        else:
            workflow = _standing(name, data, modified, records)
        self._workflows[name] = workflow
        parameters = [parameter["name"] for parameter in workflow.parameters]
        self._index.put(SearchEntry(name, name, workflow.description, parameters))


# -- from documents to workflows -----------------------------------------------------------------------------


def _is_name(name: str) -> bool:
    """Whether there can be a file of this name; a broken one can be got, too."""
    return isinstance(name, str) and not name.startswith("_") and why_not_a_segment(name) is None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _path(name: str) -> str:
    return f"{_FOLDER}/{name}{_ENDING}"


def _info_path(name: str) -> str:
    return f"{_INFO}/{name}{_INFO_ENDING}"


def _version_path(name: str, number: int) -> str:
    return f"{_VERSIONS}/{name}/{number}{_ENDING}"


def _info(records: Iterable[_Record]) -> bytes:
    text = json.dumps({"versions": [record.to_json() for record in records]}, indent=2, ensure_ascii=False)
    return f"{text}\n".encode()


def _records(data: bytes | None, name: str) -> list[_Record]:
    """The recorded versions, the oldest first. Raises StorageError for what is not well formed."""
    if data is None:
        return []
    try:
        records = [_Record(**record) for record in json.loads(data)["versions"]]
        if all(
            type(one.number) is int
            and all(isinstance(text, str) for text in (one.digest, one.created_at, one.description))
            for one in records
        ):
            return sorted(records, key=lambda one: one.number)
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise StorageError(
        f"{_info_path(name)} is damaged: repair it, or remove it to begin with version 1 again"
    )


def _find(records: Iterable[_Record], digest: str) -> _Record | None:
    """The newest record of a source."""
    found = None
    for record in records:
        if record.digest == digest:
            found = record
    return found


def _current(documents: Documents, name: str, records: list[_Record]) -> Workflow | None:
    data = documents.fetch(_path(name))
    entry = documents.entry(_path(name))
    return None if data is None or entry is None else _standing(name, data, entry.modified, records)


def _standing(name: str, data: bytes, modified: float, records: list[_Record]) -> Workflow:
    """The workflow as its file stands."""
    record = _find(records, _digest(data))
    if record is None:
        last = records[-1] if records else _Record(0, "", "", "")
        record = _Record(last.number + 1, _digest(data), timestamp(modified), last.description)
    outline = read_source(data)
    reason = why_not_a_name(name)
    if outline.error is None and reason is not None:
        outline = Outline(docstring=outline.docstring, error=f"a workflow cannot be named {name!r}: {reason}")
    return _workflow(name, data, outline, record)


def _recorded(documents: Documents, name: str, records: list[_Record]) -> Workflow | None:
    """An earlier version, of its only record."""
    for record in records:
        data = documents.fetch(_version_path(name, record.number))
        if data is not None:
            return _workflow(name, data, read_source(data), record)
    return None


def _workflow(name: str, data: bytes, outline: Outline, record: _Record) -> Workflow:
    return Workflow(
        name=name,
        description=record.description or outline.docstring,
        parameters=outline.parameters,
        source=data.decode("utf-8-sig", "replace"),
        version=record.number,
        created_at=record.created_at,
        digest=record.digest,
        is_async=outline.is_async,
        returns=outline.returns,
        error=outline.error,
    )
