"""What is saved beside a state: which steps have led to it, and with which results.

So a step that is sent again, since its answer was lost, is recognised also when others have followed it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Final

from planaria.errors import ProtocolError
from planaria.pool.errors import OutcomeUnknown
from planaria.pool.steps import Reply, Step
from planaria.stores.versions import Version
from planaria_kernel.protocol import decode, encode

__all__ = ["SavedStep", "SavedSteps"]

#: Steps that are recognised, with the last one.
_MOST: Final = 8
#: The results of earlier steps are kept up to so many bytes.
_LARGEST: Final = 1 << 10
#: Seconds by which the clocks of two machines may differ.
_SKEW: Final = 60.0


@dataclass(frozen=True)
class SavedStep:
    """A step that has led to a state."""

    identifier: str
    saved_at: float
    """In seconds since 1970."""
    result: bytes | None
    """None where it is too large to be kept beside later states."""

    @functools.cached_property
    def encoded(self) -> bytes:
        """Its bytes in a list: each is written beside several states."""
        return encode((self.identifier, self.saved_at, self.result))

    @property
    def as_earlier(self) -> SavedStep:
        """What is kept of it when others have followed."""
        is_small = self.result is None or len(self.result) <= _LARGEST
        return self if is_small else replace(self, result=None)


@dataclass(frozen=True, slots=True)
class SavedSteps:
    """The latest steps of a name, the last one first."""

    steps: tuple[SavedStep, ...] = ()

    @classmethod
    def of(cls, version: Version | None) -> SavedSteps:
        """Those beside a version; none where something else was saved beside it."""
        if version is None or not version.note:
            return cls()
        try:
            value = decode(version.note)
        except ProtocolError:
            return cls()
        match value:
            case list(steps) if all(_is_step(one) for one in steps):
                return cls(tuple(SavedStep(*one) for one in steps))
        return cls()

    def followed_by(self, step: Step, result: bytes, saved_at: float) -> SavedSteps:
        """Those beside the state that a step leads to from the one of these steps."""
        earlier = [one.as_earlier for one in self.steps[: _MOST - 1]]
        return SavedSteps((SavedStep(step.identifier, saved_at, result), *earlier))

    def encoded(self) -> bytes:
        """What `of` reads again: the bytes of a list of tuples."""
        return b"".join([_head_of_list(len(self.steps)), *[one.encoded for one in self.steps]])

    def reply(self, step: Step, version: Version | None, worker: int) -> Reply | None:
        """The reply of a step that is among these; None where it was not executed.

        Raises OutcomeUnknown when that is unknown, or the result is not kept.
        """
        for one in self.steps:
            if one.identifier == step.identifier:
                if one.result is None:
                    raise OutcomeUnknown(
                        f"this step of {step.name!r} was executed once, but others have followed it, and its "
                        "result is not kept any more"
                    )
                assert version is not None
                return Reply(one.result, version.without_note, worker, was_live=False)
        is_full = len(self.steps) == _MOST
        if step.attempt > 1 and is_full and self.steps[-1].saved_at > step.submitted_at - _SKEW:
            raise OutcomeUnknown(
                f"a worker was lost with a step of {step.name!r}, and so many others have followed that it "
                "is unknown whether it was executed: look at the session"
            )
        return None


def _is_step(value: object) -> bool:
    match value:
        case (str(), float(), bytes() | None):
            return True
    return False


@functools.cache
def _head_of_list(count: int) -> bytes:
    """How the bytes of a list of so many items begin."""
    return encode([None] * count).removesuffix(encode(None) * count)
