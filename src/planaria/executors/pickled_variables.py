"""A session's variables as bytes, of executors whose kernels can be neither captured nor copied."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, Self

from planaria.errors import SnapshotCorrupt, SnapshotMismatch

__all__ = ["Variables"]

_MAGIC: Final = b"planaria-variables-1\n"
_MOST_HEADER: Final = 1000


@dataclass(frozen=True, slots=True)
class Variables:
    """What `Session.pickle_variables` gives: a pickle made and opened by the kernel only, never by the host.

    `bytes()` of it can be kept, and be given to `Session.unpickle_variables`.
    """

    executor: str
    """The kind of executor that it is from, and for."""
    python: str
    """The version of Python that it is from, and for: "3.12"."""
    pickle: bytes
    kept: tuple[str, ...] = ()
    """The names in it; not known of one that comes from bytes."""
    dropped: dict[str, str] | None = None
    """The names of what could not be written, and why; None of one that comes from bytes."""

    @classmethod
    def of_answer(cls, executor: str, python: str, answer: object) -> Self:
        """From what the kernel answered; raises ValueError when that is not well formed."""
        match answer:
            case {"data": bytes(data), "kept": list(kept), "dropped": dict(dropped)}:
                return cls(executor, python, data, tuple(kept), dropped)
        raise ValueError("the kernel's answer is not a pickle of variables")

    def __bytes__(self) -> bytes:
        header = json.dumps({"executor": self.executor, "python": self.python})
        return _MAGIC + header.encode() + b"\n" + self.pickle

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Raises SnapshotCorrupt when they are something else. The pickle in them is not looked at."""
        header, newline, _ = data[len(_MAGIC) : len(_MAGIC) + _MOST_HEADER].partition(b"\n")
        try:
            if not data.startswith(_MAGIC) or not newline:
                raise ValueError
            match json.loads(header):
                case {"executor": str(executor), "python": str(python)}:
                    return cls(executor, python, data[len(_MAGIC) + len(header) + 1 :])
            raise ValueError
        except (ValueError, RecursionError):
            raise SnapshotCorrupt("these bytes are not the variables of a session") from None

    def check(self, executor: str, python: str) -> None:
        """Raises SnapshotMismatch unless they are for that kind of executor and that version of Python."""
        if (self.executor, self.python) != (executor, python):
            raise SnapshotMismatch(
                f"these variables are from the {self.executor} executor with Python {self.python}; "
                f"this session has the {executor} executor with Python {python}"
            )
