"""Leases in Redis: keys `{prefix}lease:NAME` with the holder, which expire."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from planaria.storage.failures import redis_failures
from planaria.stores.leases import DURATION, ExpiringLeases

__all__ = ["RedisLeases"]

#: Hold a key that no other holder has.
_TAKE: Final = """
local holder = redis.call('get', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
return 1
"""
#: Give up a key that is the holder's own.
_RELEASE: Final = "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end"


class RedisLeases(ExpiringLeases):
    """Leases under keys that begin with `prefix`. The client is the store's."""

    def __init__(self, client: Any, prefix: str, duration: float = DURATION) -> None:
        super().__init__(duration)
        self._client = client
        self._prefix = prefix

    def _key(self, name: str) -> str:
        return f"{self._prefix}lease:{name}"

    def _take(self, name: str, holder: str) -> Callable[[], None] | None:
        return partial(self._give_up, name, holder) if self._renew(name, holder) else None

    def _renew(self, name: str, holder: str) -> bool:
        with redis_failures(self._prefix):
            return bool(self._client.eval(_TAKE, 1, self._key(name), holder, int(1000 * self._duration)))

    def _give_up(self, name: str, holder: str) -> None:
        with redis_failures(self._prefix):
            self._client.eval(_RELEASE, 1, self._key(name), holder)

    def is_held(self, name: str) -> bool:
        with redis_failures(self._prefix):
            return bool(self._client.exists(self._key(name)))
