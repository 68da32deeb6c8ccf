"""Limits of a filesystem in memory."""

from __future__ import annotations

from dataclasses import dataclass, fields

from planaria.parameters import suggest_field_names

__all__ = ["CHUNK_COST", "MAX_FILE_SIZE", "NAME_COST", "NODE_COST", "Quota"]

#: What a file, directory or link costs beside its contents, in bytes.
NODE_COST = 256
#: What a name in a directory costs beside its own length, in bytes.
NAME_COST = 64
#: What a piece of contents costs beside its own length, in bytes.
CHUNK_COST = 128
#: The largest file where the quota says nothing (the range of `off_t`).
MAX_FILE_SIZE = 2**63 - 1


@suggest_field_names
@dataclass(frozen=True, slots=True)
class Quota:
    """How large a filesystem may grow; None is without limit.

    An operation that would go beyond fails with the errno given here and changes nothing. Bytes are
    those that are stored (holes of sparse files are not), with a charge for each node, name and chunk,
    so that a million empty files are not free.

    Raises TypeError or ValueError for a limit that is not a number, or is negative.
    """

    bytes: int | None = None
    """All contents and metadata together, in bytes: ENOSPC."""
    file_size: int | None = None
    """The length of one file, in bytes: EFBIG."""
    nodes: int | None = None
    """Files, directories and links together: EDQUOT."""
    handles: int | None = None
    """Open files and directories: EMFILE."""
    path_length: int = 4095
    """The length of a path, in bytes: ENAMETOOLONG."""
    name_length: int = 255
    """The length of one name, in bytes: ENAMETOOLONG."""
    depth: int | None = 1000
    """How many directories deep the tree may be: ENAMETOOLONG."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.name not in ("path_length", "name_length"):
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"Quota({field.name}={value!r}): must be an integer or None")
            if value < 0:
                raise ValueError(f"Quota({field.name}={value}): must not be negative")
