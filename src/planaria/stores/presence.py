"""Who works with a store: each worker keeps `worker/@ID/state` there, and reads `worker/@ID/orders`."""

from __future__ import annotations

from typing import Final

from planaria.storage.documents import Backend, Documents
from planaria.storage.paths import folder_of

__all__ = ["Presence"]

_FOLDER: Final = "worker"
_STATE: Final = "state"
_ORDERS: Final = "orders"


class Presence:
    """The workers of a store, each with some bytes. The identifiers that they choose have letters and digits.

    The methods raise StorageError.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def write(self, worker: str, state: bytes) -> None:
        """Say that a worker is there."""
        self._backend.write(lambda documents: documents.put(_place(worker, _STATE), state))

    def remove(self, worker: str) -> None:
        """Say that a worker is not there any more."""

        def action(documents: Documents) -> None:
            for name in (_STATE, _ORDERS):
                if documents.entry(_place(worker, name)) is not None:
                    documents.drop(_place(worker, name))

        self._backend.write(action)

    def all(self) -> dict[str, bytes]:
        """What the workers have said, by their identifiers."""

        def action(documents: Documents) -> dict[str, bytes]:
            found = {}
            for folder in documents.folders(_FOLDER):
                state = documents.fetch(f"{folder}/{_STATE}")
                if state is not None:
                    found[folder_of(folder)[1].removeprefix("@")] = state
            return found

        return self._backend.read(action)

    def order(self, worker: str, orders: bytes) -> None:
        """Leave a message for a worker."""
        self._backend.write(lambda documents: documents.put(_place(worker, _ORDERS), orders))

    def orders(self, worker: str) -> bytes | None:
        """The message for a worker, if there is one."""
        return self._backend.read(lambda documents: documents.fetch(_place(worker, _ORDERS)))


def _place(worker: str, name: str) -> str:
    return f"{_FOLDER}/@{worker}/{name}"
