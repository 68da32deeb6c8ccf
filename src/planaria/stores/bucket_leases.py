"""Leases in an object store: objects `lease/@NAME` with the holder, replaced by conditional puts.

No clock is trusted: who wants a name that another holds takes it when the object has not changed for
as long as a lease lasts.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from functools import partial

from planaria.errors import ProtocolError, StorageError
from planaria.storage.paths import escaped
from planaria.stores.bucket import Bucket, Changed, Tag
from planaria.stores.leases import DURATION, ExpiringLeases
from planaria_kernel.protocol import decode, encode

__all__ = ["BucketLeases"]


class BucketLeases(ExpiringLeases):
    """Leases as objects of a bucket."""

    def __init__(self, bucket: Bucket, duration: float = DURATION) -> None:
        super().__init__(duration)
        self._bucket = bucket
        #: Since when an object that another holds has a tag.
        self._seen: dict[str, tuple[Tag, float]] = {}
        #: The tags of objects that are held here.
        self._own: dict[str, Tag] = {}

    def _take(self, name: str, holder: str) -> Callable[[], None] | None:
        place = _place(name)
        found = self._bucket.get(place)
        if found is not None:
            has = _read(place, found[0])
            if has not in ("", holder):
                tag, since = self._seen.get(name, (None, 0.0))
                if tag != found[1]:
                    self._seen[name] = found[1], time.monotonic()
                    return None
                if time.monotonic() - since < self._duration:
                    return None
        self._seen.pop(name, None)
        if not self._replace(name, holder, None if found is None else found[1]):
            return None
        return partial(self._give_up, name)

    def _replace(self, name: str, holder: str, expected: Tag | None) -> bool:
        """Whether the object is the holder's now; the tag changes each time."""
        place, data = _place(name), encode((holder, uuid.uuid4().hex))
        try:
            self._own[name] = self._bucket.put_if(place, data, expected)
        except (Changed, StorageError) as error:
            # A put that was sent again, or whose answer was lost, may have been carried out.
            found = self._bucket.get(place)
            if found is None or found[0] != data:
                if isinstance(error, StorageError):
                    raise
                return False
            self._own[name] = found[1]
            return True
        return True

    def _renew(self, name: str, holder: str) -> bool:
        own = self._own.get(name)
        return own is not None and self._replace(name, holder, own)

    def _give_up(self, name: str) -> None:
        own = self._own.pop(name, None)
        if own is not None:
            try:
                self._bucket.put_if(_place(name), encode(("", "")), own)
            except Changed:
                pass  # it is another's meanwhile

    def is_held(self, name: str) -> bool:
        found = self._bucket.get(_place(name))
        return found is not None and _read(_place(name), found[0]) != ""


def _place(name: str) -> str:
    return f"lease/@{escaped(name)}"


def _read(place: str, data: bytes) -> str:
    """The holder; an empty string for a lease that was released."""
    try:
        value = decode(data)
    except ProtocolError:
        value = None
    match value:
        case (str(holder), str()):
            return holder
    raise StorageError(f"the object {place!r} of this store is damaged; remove it while no pool is in use")
