"""Artifacts: data that is kept by name, with a description and metadata.

The data is a file `artifacts/NAME.EXT` that other programs can use, what is known about it another beside. A
file that was put there or edited by hand counts as it stands.
"""

from __future__ import annotations

import builtins
import io
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, BinaryIO, Final, cast

from planaria.errors import ArtifactError, StorageError
from planaria.storage.documents import CHUNK, Backend, Documents, Entry, Upload
from planaria.storage.mirror import Mirror
from planaria.storage.paths import check_segments, folder_of
from planaria.workspace.artifact_data import (
    ENDINGS,
    KINDS,
    decode_data,
    encode_data,
    file_name,
    is_json,
    kind_of_file,
)
from planaria.workspace.embedding import Embedder
from planaria.workspace.search import SearchEntry, SearchIndex
from planaria.workspace.timestamps import now, timestamp

__all__ = ["Artifact", "ArtifactStore", "ArtifactWriter"]

_FOLDER: Final = "artifacts"
_INFO: Final = f"{_FOLDER}/.info"
_INFO_ENDING: Final = ".json"
#: Bytes of metadata as JSON: all of it is read for a search.
_MAX_METADATA: Final = 64 * 1024
#: Bytes of the names of files.
_MAX_INFO_NAME: Final = 230
_MAX_FILE: Final = 240


@dataclass(frozen=True, slots=True)
class Artifact:
    """What is known of an artifact; `ArtifactStore.load` gives its data."""

    name: str
    kind: str
    """json, text, bytes, png or value: see planaria.workspace.artifact_data."""
    path: str
    """Where its data is in the storage, as "artifacts/analysis.json"."""
    description: str
    metadata: dict[str, Any]
    created_at: str
    """When it was saved: ISO 8601, UTC."""
    size: int
    """Of its data, in bytes."""

    def info(self) -> dict[str, Any]:
        """What a list shows."""
        return {
            "name": self.name,
            "path": self.path,
            "description": self.description,
            "metadata": dict(self.metadata),
            "created_at": self.created_at,
        }


@dataclass(frozen=True, slots=True)
class _Record:
    """What is kept beside the data."""

    name: str
    kind: str
    file: str
    """Its path below `artifacts/`."""
    description: str
    metadata: dict[str, Any]
    created_at: str

    def artifact(self, entry: Entry) -> Artifact:
        return Artifact(
            self.name,
            self.kind,
            f"{_FOLDER}/{self.file}",
            self.description,
            self.metadata,
            self.created_at,
            entry.size,
        )

    def to_bytes(self) -> bytes:
        fields = {
            "name": self.name,
            "kind": self.kind,
            "file": self.file,
            "description": self.description,
            "metadata": self.metadata,
            "created_at": self.created_at,
        }
        return (json.dumps(fields, indent=2, ensure_ascii=False) + "\n").encode()


class ArtifactStore:
    """The artifacts of a storage. May be used from many threads and processes.

    Names are words with "/" between them for folders, as "reports/2024"; ArtifactError is raised for others.
    """

    def __init__(self, storage: Backend, embedder: Embedder | None = None) -> None:
        self._storage = storage
        self._lock = threading.Lock()
        self._infos = Mirror(_INFO, _INFO_ENDING)
        #: What the documents in `_infos` say.
        self._records: dict[str, _Record] = {}
        #: What the index knows.
        self._indexed: dict[str, Artifact] = {}
        self._index = SearchIndex(embedder=embedder)

    # -- saving and loading --------------------------------------------------------------------------------

    def save(
        self, name: str, data: Any, description: str = "", metadata: dict[str, Any] | None = None
    ) -> Artifact:
        """Keep `data`, in place of what has that name. `load` gives it back with the types that it has.

        `metadata` is a dict of JSON. Raises ArtifactError for data that has no form outside of its process.
        """
        kind, content = encode_data(data)
        if len(content) > CHUNK:
            with self.writer(name, kind, description, metadata) as out:
                out.write(content)
                return out.commit()
        return self._save(_checked(name, kind, description, metadata), content)

    def writer(
        self, name: str, kind: str, description: str = "", metadata: dict[str, Any] | None = None
    ) -> ArtifactWriter:
        """Bring the bytes of an artifact in pieces, within bounded memory; they are not looked at.

        It is there when the `with` block ends without an exception, and otherwise nothing has happened.
        """
        record = _checked(name, kind, description, metadata)
        return ArtifactWriter(self, record, self._storage.upload())

    def load(self, name: str) -> Any:
        """The data of an artifact. Raises ArtifactError when there is none, or it is not of its kind."""
        artifact, data = self._read(name, lambda documents, path: documents.fetch(path))
        return decode_data(artifact.kind, data, name)

    def open(self, name: str) -> tuple[Artifact, BinaryIO]:
        """What is known of an artifact, and `reader` of that same one."""
        artifact, pieces = self._read(name, lambda documents, path: documents.chunks(path))
        return artifact, cast(BinaryIO, io.BufferedReader(_Pieces(pieces)))

    def reader(self, name: str) -> BinaryIO:
        """The bytes of an artifact as a file, read within bounded memory. Raises ArtifactError without it."""
        return self.open(name)[1]

    def _read(self, name: str, take: Any) -> tuple[Artifact, Any]:
        def action(documents: Documents) -> tuple[Artifact, Any] | None:
            artifact = _find(documents, name)
            return None if artifact is None else (artifact, take(documents, artifact.path))

        check_name(name)
        found = self._storage.read(action)
        if found is None:
            raise ArtifactError(f"there is no artifact {name!r}")
        return found

    def _save(self, record: _Record, content: bytes | Upload) -> Artifact:
        def action(documents: Documents) -> Artifact:
            name = record.name
            file = _free_file(documents, name, record.kind)
            path = f"{_FOLDER}/{file}"
            earlier = _record(documents.fetch(_info_path(name)), name)
            if earlier is not None and earlier.file != file:
                documents.drop(f"{_FOLDER}/{earlier.file}")
            kept = _Record(name, record.kind, file, record.description, record.metadata, now())
            if isinstance(content, Upload):
                documents.adopt(path, content)
                size = content.size
            else:
                documents.put(path, content)
                size = len(content)
            documents.put(_info_path(name), kept.to_bytes())
            return kept.artifact(Entry(None, size, 0.0))

        return self._storage.write(action)

    # -- what there is -------------------------------------------------------------------------------------

    def get(self, name: str) -> Artifact | None:
        """What is known of an artifact; None when there is none."""
        check_name(name)
        return self._storage.read(lambda documents: _find(documents, name))

    def exists(self, name: str) -> bool:
        """Whether there is an artifact of that name."""
        return self.get(name) is not None

    def delete(self, name: str) -> bool:
        """Remove an artifact; False when there is none."""

        def action(documents: Documents) -> bool:
            artifact = _find(documents, name)
            if artifact is None:
                return False
            for path in self.paths(artifact):
                documents.drop(path)
            return True

        check_name(name)
        return self._storage.write(action)

    def list(self, metadata: dict[str, Any] | None = None) -> list[Artifact]:
        """All artifacts by name; with `metadata`, those whose own has these keys with these values."""
        with self._lock:
            found = self._storage.read(self._all)
        return [found[name] for name in sorted(found) if _fits(found[name], metadata)]

    def search(
        self, query: str, limit: int = 10, metadata: dict[str, Any] | None = None
    ) -> builtins.list[tuple[Artifact, float]]:
        """The artifacts whose names, descriptions and metadata fit best, with their scores.

        See planaria.workspace.search; with `metadata`, of those that `list(metadata)` gives.
        """
        with self._lock:
            found = self._storage.read(self._all)
            for name in self._indexed.keys() - found.keys():
                self._index.discard(name)
            for name, artifact in found.items():
                if self._indexed.get(name) != artifact:
                    self._index.put(_search_entry(artifact))
            self._indexed = found
            ranked = self._index.search(query, limit if metadata is None else len(found))
        fitting = [(found[name], score) for name, score in ranked if _fits(found[name], metadata)]
        return fitting[: max(limit, 0)]

    def usage(self) -> tuple[int, int]:
        """Bytes of all data, and how many artifacts there are."""

        def action(documents: Documents) -> tuple[int, int]:
            sizes = [
                entry.size
                for folder in documents.folders(_FOLDER)
                for entry in documents.entries(folder).values()
            ]
            return sum(sizes), len(sizes)

        return self._storage.read(action)

    def paths(self, artifact: Artifact) -> builtins.list[str]:
        """The documents of which an artifact consists."""
        return [artifact.path, _info_path(artifact.name)]

    def _all(self, documents: Documents) -> dict[str, Artifact]:
        self._infos.refresh(documents, is_exact=True)
        for stem in sorted(self._infos.changed):
            record = _record(self._infos.contents.get(stem), stem.replace("%2F", "/").replace("%25", "%"))
            if record is None:
                self._records.pop(stem, None)
            else:
                self._records[stem] = record
            self._infos.changed.discard(stem)
        files: dict[str, Entry] = {}
        for folder in documents.folders(_FOLDER):
            below = f"{folder}/".removeprefix(f"{_FOLDER}/")
            files.update((below + name, entry) for name, entry in documents.entries(folder).items())
        found: dict[str, Artifact] = {}
        owned: set[str] = set()
        for record in self._records.values():
            if record.file in files:
                found[record.name] = record.artifact(files[record.file])
                owned.add(record.file)
        for file in files.keys() - owned:
            found.setdefault(file, _placed_by_hand(file, files[file]))
        return found


class ArtifactWriter:
    """The bytes of an artifact on their way; made by `ArtifactStore.writer`."""

    def __init__(self, store: ArtifactStore, record: _Record, upload: Upload) -> None:
        self._store = store
        self._record = record
        self._upload = upload
        #: The artifact, once it is there.
        self.artifact: Artifact | None = None

    @property
    def name(self) -> str:
        """What the artifact will be called."""
        return self._record.name

    @property
    def size(self) -> int:
        """Bytes so far."""
        return self._upload.size

    def write(self, data: bytes) -> int:
        """Add bytes to the end, and return how many."""
        if self.artifact is not None:
            raise ArtifactError(f"the artifact {self._record.name!r} is complete: begin another writer")
        self._upload.write(data)
        return len(data)

    def commit(self) -> Artifact:
        """Make what was written the artifact, in place of what has that name; again, nothing happens."""
        if self.artifact is None:
            self.artifact = self._store._save(self._record, self._upload)
        return self.artifact

    def discard(self) -> None:
        """Forget what was written, unless it is there already."""
        if self.artifact is None:
            self._upload.discard()

    def __enter__(self) -> ArtifactWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.discard()
            return
        try:
            self.commit()
        except BaseException:
            self.discard()
            raise


class _Pieces(io.RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        if not self.closed and hasattr(self._pieces, "close"):
            self._pieces.close()
        super().close()


# -- names and files -----------------------------------------------------------------------------------------


def check_name(name: str) -> None:
    """Raises ArtifactError for what cannot be the name of an artifact."""
    try:
        check_segments(name, "an artifact")
    except ValueError as error:
        raise ArtifactError(str(error)) from None
    if len(_info_name(name).encode()) > _MAX_INFO_NAME:
        raise ArtifactError(f"{name[:80]!r} cannot name an artifact: it has too many of % and /")


def _checked(name: str, kind: str, description: str, metadata: dict[str, Any] | None) -> _Record:
    check_name(name)
    if kind not in KINDS:
        raise ArtifactError(f"{kind!r} is not a kind of artifact: {', '.join(sorted(KINDS))}")
    if not isinstance(description, str) or not is_json(description):
        raise ArtifactError(f"the description of the artifact {name!r} must be a string")
    metadata = {} if metadata is None else metadata
    if not isinstance(metadata, dict) or not is_json(metadata):
        raise ArtifactError(
            f"the metadata of the artifact {name!r} is not a JSON object: strings as keys; None, bools, "
            "numbers, strings, lists and dicts as values"
        )
    text = json.dumps(metadata)
    if len(text) > _MAX_METADATA:
        raise ArtifactError(
            f"the metadata of the artifact {name!r} takes {len(text)} bytes of {_MAX_METADATA}: "
            "keep it as an artifact of its own"
        )
    return _Record(name, kind, "", description, json.loads(text), "")


def _info_path(name: str) -> str:
    return f"{_INFO}/{_info_name(name)}{_INFO_ENDING}"


def _info_name(name: str) -> str:
    """A name of several segments as one."""
    return name.replace("%", "%25").replace("/", "%2F")


def _record(data: bytes | None, name: str) -> _Record | None:
    """What is kept beside the data. Raises StorageError for what is not well formed."""
    if data is None:
        return None
    try:
        record = _Record(**json.loads(data))
        check_segments(record.file, "a file", max_bytes=_MAX_FILE)
        texts = (record.name, record.kind, record.description, record.created_at)
        if (
            all(isinstance(text, str) for text in texts)
            and record.name == name
            and record.kind in KINDS
            and isinstance(record.metadata, dict)
        ):
            return record
    except (ValueError, TypeError, RecursionError):
        pass
    raise StorageError(f"{_info_path(name)} is damaged: repair it, or remove it and keep the data alone")


def _find(documents: Documents, name: str) -> Artifact | None:
    record = _record(documents.fetch(_info_path(name)), name)
    file = name if record is None else record.file
    entry = documents.entry(f"{_FOLDER}/{file}")
    if entry is None:
        return None
    if record is not None:
        return record.artifact(entry)
    return _placed_by_hand(file, entry) if _owner(documents, file) == name else None


def _placed_by_hand(file: str, entry: Entry) -> Artifact:
    created_at = timestamp(entry.modified)
    return Artifact(file, kind_of_file(file), f"{_FOLDER}/{file}", "", {}, created_at, entry.size)


def _owner(documents: Documents, file: str) -> str | None:
    """The name of the artifact whose data a file is; None when there is no such file."""
    if documents.entry(f"{_FOLDER}/{file}") is None:
        return None
    names = [file]
    while ending := next((one for one in ENDINGS.values() if names[-1].endswith(one)), ""):
        names.append(names[-1].removesuffix(ending))
    for name in names:
        record = _record(documents.fetch(_info_path(name)), name) if name else None
        if record is not None and record.file == file:
            return name
    return file


def _free_file(documents: Documents, name: str, kind: str) -> str:
    """The file for an artifact: none that is another's. Raises ArtifactError where a folder is in the way."""
    file = file_name(name, kind)
    while _owner(documents, file) not in (None, name):
        file += ENDINGS[kind]
    if documents.folders(f"{_FOLDER}/{file}"):
        raise ArtifactError(f"{name!r} cannot be saved: there is a folder {file!r} among the artifacts")
    folder = folder_of(file)[0]
    while folder:
        if documents.entry(f"{_FOLDER}/{folder}") is not None:
            raise ArtifactError(
                f"{name!r} cannot be saved: there is an artifact {folder!r}, which is not a folder"
            )
        folder = folder_of(folder)[0]
    return file


# -- searching -----------------------------------------------------------------------------------------------


def _fits(artifact: Artifact, metadata: dict[str, Any] | None) -> bool:
    return all(
        key in artifact.metadata and artifact.metadata[key] == value
        for key, value in (metadata or {}).items()
    )


def _search_entry(artifact: Artifact) -> SearchEntry:
    tags = artifact.metadata.get("tags")
    return SearchEntry(
        artifact.name,
        artifact.name,
        artifact.description,
        [f"{key} {value}" for key, value in artifact.metadata.items() if key != "tags"],
        [str(tag) for tag in tags] if isinstance(tags, list) else [str(tags)] if tags else [],
    )
