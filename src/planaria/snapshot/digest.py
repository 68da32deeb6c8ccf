"""The digest of a session's state: equal states have the same one, whenever and wherever they came about."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Final

from planaria.errors import EncodeError, SnapshotError
from planaria.snapshot.envelope import canonical_json
from planaria.snapshot.pages import changed_pages
from planaria.snapshot.record import Record
from planaria.snapshot.state import SessionState
from planaria_kernel.protocol import encode

__all__ = ["digest_of"]

_BYTES: Final = 32


def digest_of(state: SessionState) -> str:
    """BLAKE2b-256, in hexadecimal. Raises SnapshotError when a waiting call has arguments without a form."""
    kernel, run = state.kernel, state.run
    system = dict(kernel.system)
    if "realtime" in system["clock"]:
        del system["clock"]  # the host's time is not state
    if run is not None:
        run = replace(run, wake_in=None)  # the kernel knows
    try:
        tables = Record(system, state.pending, run, ()).encode()
    except EncodeError as error:
        raise SnapshotError(f"a call that waits has arguments that cannot be written: {error}") from error
    digest = hashlib.blake2b(digest_size=_BYTES)
    for part in (
        encode((kernel.image.digest, kernel.size, state.count, kernel.deferred)),
        tables,
        canonical_json(kernel.files.manifest()),
    ):
        digest.update(encode(len(part)))
        digest.update(part)
    pages = changed_pages(kernel.image.memory, kernel.memory, kernel.pages, kernel.size)
    # By how many pages really differ: how many the state has beyond the image depends on its past.
    for number in sorted(pages.keys() - kernel.free_pages(len(pages))):
        digest.update(number.to_bytes(4, "little"))
        digest.update(pages[number])
    return digest.hexdigest()
