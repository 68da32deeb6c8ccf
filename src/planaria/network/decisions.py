"""What the user's function `on_request` says of a request."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from planaria.errors import Suspend
from planaria.network.functions import called
from planaria.network.policy import Decision, NetworkRequest
from planaria.network.secrets import Scrubber

__all__ = ["decided"]

_LOG: Final = logging.getLogger("planaria.network")


async def decided(
    decide: Callable[[NetworkRequest], object],
    request: NetworkRequest,
    written: Sequence[tuple[str, str]],
    scrubber: Scrubber,
) -> Decision:
    """The decision of a function on a request, which shows asterisks where `written`, the headers as the code
    wrote them, has values of secrets.

    Raises Suspend when the function does, and PermissionError when it fails: the code learns no more than
    that, since the function and its errors are the host's.
    """
    try:
        decision = await called(decide, request)
        if decision is None or isinstance(decision, (bool, str)):
            return decision
        if isinstance(decision, Mapping):
            return _restored(decision, request.headers, written)
        raise TypeError(f"it returned {decision!r}, not None, a bool, a str or headers")
    except Suspend:
        raise
    except Exception as error:
        request.reason = scrubber.scrubbed_text(f"on_request failed: {type(error).__name__}: {error}")
        details = scrubber.scrubbed_text("".join(traceback.format_exception(error)))
        _LOG.error("on_request failed for %s %s\n%s", request.method, request.url, details)
    raise PermissionError(
        f"{request.method} {request.url} was refused: the function that decides on it failed"
    )


def _restored(
    headers: Mapping[str, str], shown: Sequence[tuple[str, str]], written: Sequence[tuple[str, str]]
) -> Mapping[str, str]:
    """The headers to send, with what the code wrote where `on_request` was shown asterisks and kept them."""
    hidden = {before: after for before, after in zip(shown, written, strict=True) if before != after}
    return dict(hidden.get(one, one) for one in headers.items())
