"""What is saved beside a state: which steps have led to it, and with which results.

So a step that is sent again, since its answer was lost, is recognised also when others have followed it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from planaria.errors import ProtocolError
from planaria.pool.errors import OutcomeUnknown
from planaria.pool.steps import Reply, Step
from planaria.stores.versions import Version
from planaria_kernel.protocol import decode, encode

__all__ = ["SavedSteps"]

#: Steps that are recognised, with the last one.
_MOST: Final = 8
#: The results of earlier steps are kept up to so many bytes.
_LARGEST: Final = 1 << 10
#: Seconds by which the clocks of two machines may differ.
_SKEW: Final = 60.0


@dataclass(frozen=True, slots=True)
class SavedSteps:
    """The latest steps of a name, the last one first: identifier, when it was saved, result.

    The result of an earlier one is None where it is too large to be kept.
    """

    steps: tuple[tuple[str, float, bytes | None], ...] = ()

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
                return cls(tuple(steps))
        return cls()

    def followed_by(self, step: Step, result: bytes, saved_at: float) -> SavedSteps:
        """Those beside the state that a step leads to from the one of these steps."""
        earlier = [
            (identifier, time, data if data is not None and len(data) <= _LARGEST else None)
            for identifier, time, data in self.steps[: _MOST - 1]
        ]
        return SavedSteps(((step.identifier, saved_at, result), *earlier))

    def encoded(self) -> bytes:
        """What `of` reads again."""
        return encode(list(self.steps))

    def reply(self, step: Step, version: Version | None, worker: int) -> Reply | None:
        """The reply of a step that is among these; None where it was not executed.

        Raises OutcomeUnknown when that is unknown, or the result is not kept.
        """
        for identifier, _, result in self.steps:
            if identifier == step.identifier:
                if result is None:
                    raise OutcomeUnknown(
                        f"this step of {step.name!r} was executed once, but others have followed it, and its "
                        "result is not kept any more"
                    )
                assert version is not None
                return Reply(result, version, worker, was_live=False)
        is_full = len(self.steps) == _MOST
        if step.attempt > 1 and is_full and self.steps[-1][1] > step.submitted_at - _SKEW:
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
