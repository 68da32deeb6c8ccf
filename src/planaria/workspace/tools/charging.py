"""Who pays for the requests of tools: the session whose code has called the tool.

Connections to servers outlive calls and sessions, so which call a request belongs to follows from the context
in which it is made.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from planaria.network.budget import Account
from planaria.network.policy import NetworkRequest

__all__ = ["CallersAccount", "charged_to", "uncharged"]

_LOG = logging.getLogger("planaria.network")


@dataclass(frozen=True, slots=True)
class _Charge:
    """A call, as far as its requests have to do with it."""

    account: Account
    tool: str


_current: ContextVar[_Charge | None] = ContextVar("planaria_charge", default=None)


@contextmanager
def charged_to(account: Account | None, tool: str) -> Iterator[None]:
    """Inside, requests are charged to an account, as those of a tool; to none if there is none."""
    token = _current.set(None if account is None else _Charge(account, tool))
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def uncharged() -> Iterator[None]:
    """Inside, requests belong to no call."""
    with charged_to(None, ""):
        yield


class CallersAccount:
    """The account of the call that a request belongs to. What belongs to no call is only logged."""

    def record(self, request: NetworkRequest) -> None:
        charge = _current.get()
        if charge is not None:
            request.tool = charge.tool
            charge.account.record(request)

    def count_request(self, request: NetworkRequest) -> None:
        charge = _current.get()
        if charge is not None:
            charge.account.count_request(request)
        else:
            _LOG.info("%s %s", request.method, request.url)

    def sent(self, count: int) -> None:
        charge = _current.get()
        if charge is not None:
            charge.account.sent(count)

    def received(self, count: int) -> None:
        charge = _current.get()
        if charge is not None:
            charge.account.received(count)

    def receivable(self) -> int:
        charge = _current.get()
        return sys.maxsize if charge is None else charge.account.receivable()
