"""What stands between code and the tools it calls: it may deny, rewrite, and ask for approval."""

from __future__ import annotations

from typing import Any, Final

from planaria.errors import Suspend, ToolDenied
from planaria.workspace.tools.call import ToolCall

__all__ = ["ToolMiddleware", "approval", "asks_approval", "denied", "question"]

_APPROVAL: Final = "approval: "


class ToolMiddleware:
    """Sees every call of a tool, before and after. Derive from it, or give any object with these methods.

    Both may be `async`. Several stand around each other: the first one's `before` is called first and its
    `after` last.

    A call needs approval when `before` raises `planaria.Suspend(reason)`. The execution parks, as with any
    callback that has no answer yet, also into a snapshot, and so the code must have awaited the call. The
    answer that comes later is the decision: True lets the call begin again, from the first `before` on, now
    with `call.approved`, and each Suspend that a `before` raises then is passed over; anything else raises
    ToolDenied in the code, with the answer as its reason when that is a str.
    """

    def before(self, call: ToolCall) -> Any:
        """Called before the tool. Assign to `call.arguments` to rewrite them; raise ToolDenied to refuse."""

    def after(self, call: ToolCall, result: Any) -> Any:
        """Called with what the tool returned; returns what the code shall get."""
        return result


def approval(suspend: Suspend) -> Suspend:
    """What a middleware raised, marked as a question, so that its answer is taken as a decision."""
    return Suspend(_APPROVAL + suspend.reason)


def asks_approval(reason: str) -> bool:
    """Whether a call that was suspended for this reason waits for a decision, and not for its result."""
    return reason.startswith(_APPROVAL)


def question(reason: str) -> str:
    """The reason of a call that was suspended, as who raised Suspend gave it."""
    return reason.removeprefix(_APPROVAL)


def denied(call: ToolCall, decision: object) -> ToolDenied:
    """The refusal of a call that was not approved."""
    why = f": {decision}" if isinstance(decision, str) and decision else ""
    return ToolDenied(f"{call.name}() was not approved{why}", tool=call.tool, callable=call.callable)
