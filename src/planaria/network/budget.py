"""What the network has cost one execution so far, within the limits of its policy."""

from __future__ import annotations

import logging
import sys
import threading
from typing import Final, Protocol

from planaria.network.policy import Network, NetworkRequest

__all__ = ["Account", "Budget"]

_LOG = logging.getLogger("planaria.network")


#: How many bytes the records of one execution may take, and about how many one takes besides its strings.
_MOST_RECORDED: Final = 128 << 20
_COST: Final = 1000


class Account(Protocol):
    """Where requests are recorded and their bytes counted. Its methods raise PermissionError at a limit."""

    def record(self, request: NetworkRequest) -> None:
        """Note a request, before it is known what becomes of it."""

    def count_request(self, request: NetworkRequest) -> None:
        """A request is sent now."""

    def sent(self, count: int) -> None:
        """So many bytes are sent; fewer than none take back what was not sent after all."""

    def received(self, count: int) -> None:
        """So many bytes were received."""

    def receivable(self) -> int:
        """How many bytes more may be received."""


class Budget:
    """The account of a session: counts requests and bytes, and keeps the records."""

    def __init__(self, policy: Network) -> None:
        self._policy = policy
        self.records: list[NetworkRequest] = []
        self._requests = self._sent = self._received = self._recorded = 0
        #: Connections are used by event loops and by the thread that the code runs on.
        self._lock = threading.Lock()

    def take_records(self) -> list[NetworkRequest]:
        """The requests of the execution that ends now; the next one begins anew."""
        records, self.records = self.records, []
        self._requests = self._sent = self._received = self._recorded = 0
        return records

    def record(self, request: NetworkRequest) -> None:
        """Note a request, before it is known what becomes of it."""
        cost = _COST + len(request.url) + sum(len(name) + len(value) for name, value in request.headers)
        with self._lock:
            self._recorded += cost
        if self._recorded > _MOST_RECORDED:
            raise PermissionError(
                f"the records of one execution's requests take more than {_MOST_RECORDED >> 20} MiB"
            )
        self.records.append(request)

    def count_request(self, request: NetworkRequest) -> None:
        """A request is sent now; one that waited for a decision was recorded in an earlier result alone."""
        with self._lock:
            self._requests += 1
        if not any(request is one for one in self.records):
            self.records.append(request)
        _LOG.info("%s %s", request.method, request.url)
        self._check("max_requests", self._requests)

    def sent(self, count: int) -> None:
        with self._lock:
            self._sent += count
        self._check("max_sent", self._sent)

    def received(self, count: int) -> None:
        with self._lock:
            self._received += count
        self._check("max_received", self._received)

    def receivable(self) -> int:
        """How many bytes more may be received."""
        limit = self._policy.max_received
        return sys.maxsize if limit is None else max(0, limit - self._received)

    def _check(self, name: str, count: int) -> None:
        limit = getattr(self._policy, name)
        if limit is not None and count > limit:
            raise PermissionError(f"the limit {name}={limit} of one execution is reached")
