"""Names that documents and workspaces can have: none of them leads elsewhere, on any system."""

from __future__ import annotations

import functools
import unicodedata
from typing import Final

__all__ = [
    "MAX_PATH",
    "check_segments",
    "check_workspace_id",
    "escaped",
    "folder_of",
    "why_not_a_segment",
]

#: Bytes of a name that a caller gives, and of one file or folder, which may have an ending beside.
MAX_PATH: Final = 180
_MAX_SEGMENT: Final = 255
_MAX_SEGMENTS: Final = 16
#: What some system gives a meaning in names of files.
_SPECIAL: Final = frozenset('\\/:*?"<>|')
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
_DEVICES: Final = frozenset(
    ("con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10)))
)


@functools.lru_cache(maxsize=1 << 16)
def why_not_a_segment(text: str) -> str | None:
    """Why `text` cannot be the name of one file or folder; None when it can."""
    if not text or not text.isprintable():
        return "it is empty or has characters that cannot be printed"
    if text[0] in ". " or text[-1] in ". ":
        return "it begins or ends with a dot or a space"
    if special := sorted(_SPECIAL & set(text)):
        return f"it has {special[0]!r}"
    if text.split(".")[0].casefold() in _DEVICES:
        return "it is the name of a device on some systems"
    if not unicodedata.is_normalized("NFC", text):
        return "its accents are written apart (normalize it to NFC)"
    if len(text.encode()) > _MAX_SEGMENT:
        return f"it is longer than {_MAX_SEGMENT} bytes"
    return None


def check_segments(name: str, what: str, *, max_bytes: int = MAX_PATH) -> None:
    """Raises ValueError unless `name` is one or several plain segments with "/" between them."""
    if not isinstance(name, str):
        raise TypeError(f"the name of {what} must be a str, not {type(name).__name__}")
    reason = None
    for segment in name.split("/"):
        reason = reason or why_not_a_segment(segment)
    if reason is None and (len(name.encode()) > max_bytes or name.count("/") >= _MAX_SEGMENTS):
        reason = f"it has more than {max_bytes} bytes or {_MAX_SEGMENTS} parts"
    if reason is not None:
        raise ValueError(
            f"{name[:80]!r} cannot name {what}: {reason}; names are plain words, "
            "with / between them for folders"
        )


def check_workspace_id(workspace_id: str | None) -> None:
    """Raises ValueError for the id of a tenant that cannot be one."""
    if workspace_id is None:
        return
    check_segments(workspace_id, "a workspace")
    if "/" in workspace_id:
        raise ValueError(f"{workspace_id!r} cannot name a workspace: it has '/'")


def folder_of(path: str) -> tuple[str, str]:
    """A path as folder ("" for the top) and name."""
    folder, _, name = path.rpartition("/")
    return folder, name


def escaped(name: str) -> str:
    """A name as one that any filesystem takes, also one that ignores case: only a-z, 0-9, "-", "_" and
    percent-encoded bytes.
    """
    return "".join(
        letter if letter in _PLAIN else "".join(f"%{byte:02X}" for byte in letter.encode()) for letter in name
    )
