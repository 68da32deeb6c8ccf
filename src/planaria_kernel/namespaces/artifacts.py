"""`artifacts`: data that outlives the session. It is encoded here; the host keeps bytes and their kind."""

from __future__ import annotations

from typing import Any, Final

from planaria_kernel.errors import ArtifactError, ProtocolError
from planaria_kernel.namespaces.operations import Host, Steps, operation
from planaria_kernel.protocol.artifacts import decode_artifact, encode_artifact

__all__ = ["Artifacts"]

#: Bytes that cross at a time.
PIECE: Final = 4 << 20


class Artifacts:
    """What is kept between sessions: `artifacts.save(name, data)`, `artifacts.load(name)`.

    JSON values, text, bytes, arrays and frames come back as what they were; figures and images are kept as
    PNG. All of these may be called plainly or with `await`.
    """

    def __init__(self, host: Host) -> None:
        self._host = host

    @operation
    def save(
        self, name: str, data: Any, description: str = "", metadata: dict[str, Any] | None = None
    ) -> Steps[Any]:
        """Keep `data` under a name, in place of what was there; returns what `get` does."""
        try:
            kind, encoded = encode_artifact(data)
        except ProtocolError as error:
            raise ArtifactError(f"{name!r} cannot be kept as an artifact: {error}") from None
        if len(encoded) <= PIECE:
            return (yield "@artifacts.save", (name, kind, encoded, description, metadata))
        number = yield "@artifacts.begin", (name, kind, description, metadata)
        with memoryview(encoded) as view:
            for start in range(0, len(view), PIECE):
                yield "@artifacts.write", (number, bytes(view[start : start + PIECE]))
        return (yield "@artifacts.commit", (number,))

    @operation
    def load(self, name: str) -> Steps[Any]:
        """The data of an artifact, as what it was saved."""
        kind, piece, number = yield "@artifacts.open", (name, PIECE)
        data = piece
        if number is not None:
            pieces = [piece]
            while piece:
                piece = yield "@artifacts.read", (number, PIECE)
                pieces.append(piece)
            data = b"".join(pieces)
        try:
            return decode_artifact(kind, data)
        except ValueError as error:
            raise ArtifactError(f"the artifact {name!r} is not a valid {kind}: {error}") from None

    @operation
    def get(self, name: str) -> Steps[Any]:
        """What is known of an artifact: name, path, description, metadata, created_at; None without one."""
        return (yield "@artifacts.get", (name,))

    @operation
    def list(self) -> Steps[Any]:
        """What is known of all artifacts."""
        return (yield "@artifacts.list", ())

    @operation
    def exists(self, name: str) -> Steps[Any]:
        """Whether there is an artifact of that name."""
        return (yield "@artifacts.get", (name,)) is not None

    @operation
    def delete(self, name: str) -> Steps[Any]:
        """Remove an artifact; False when there is none of that name."""
        return (yield "@artifacts.delete", (name,))

    def __repr__(self) -> str:
        return "<artifacts of this session; see artifacts.list()>"
