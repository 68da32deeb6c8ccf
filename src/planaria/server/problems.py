"""Errors as problem documents (RFC 9457), and the status codes that they have."""

from __future__ import annotations

import base64
import errno
from typing import Any, Final

from planaria.errors import (
    CapabilityError,
    CrashError,
    FileSystemError,
    ImageError,
    PlanariaError,
    ProtocolError,
    SessionBusy,
    SessionClosed,
    SessionError,
    SnapshotConflict,
    SnapshotError,
    SnapshotNotFound,
    StorageError,
)
from planaria_kernel.protocol import decode

__all__ = ["PROBLEM", "Problem", "arguments_of", "bytes_of_base64", "problem_of", "value_of_base64"]

#: The media type of a problem document.
PROBLEM: Final = "application/problem+json"

_TITLES: Final = {
    400: "Bad request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    413: "Too large",
    415: "Unsupported media type",
    421: "Misdirected request",
    422: "Not processable",
    429: "Too many requests",
    500: "Internal error",
    501: "Not implemented",
    502: "Not reachable",
    503: "Not available",
    507: "No room",
}

#: The status of each kind of error; the first that fits counts.
_STATUSES: Final[tuple[tuple[type[BaseException], int], ...]] = (
    (SnapshotNotFound, 404),
    (SnapshotConflict, 409),
    (SnapshotError, 422),
    (ImageError, 422),
    (StorageError, 503),
    (SessionBusy, 409),
    (SessionClosed, 409),
    (CapabilityError, 501),
    (CrashError, 409),
    (SessionError, 409),
    (PlanariaError, 422),
)

#: The status of each error of a file that is not 409.
_FILE_STATUSES: Final = {
    errno.ENOENT: 404,
    errno.ENOTDIR: 404,
    errno.EACCES: 403,
    errno.EPERM: 403,
    errno.EROFS: 403,
    errno.EINVAL: 422,
    errno.EILSEQ: 422,
    errno.ENAMETOOLONG: 422,
    errno.ENOSPC: 507,
    errno.EDQUOT: 507,
    errno.EFBIG: 507,
}


class Problem(Exception):
    """Something that is answered with a problem document.

    Args:
        status: the status code.
        detail: what happened, and what to do.
        code: a short name of the problem for programs.
        headers: headers of the response.
        fields: members of the document beside the usual ones.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        code: str = "",
        headers: dict[str, str] | None = None,
        **fields: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.code = code or _TITLES[status].lower().replace(" ", "-")
        self.headers = headers or {}
        self.fields = fields

    def document(self) -> dict[str, Any]:
        """The problem document."""
        return {
            "type": "about:blank",
            "title": _TITLES[self.status],
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            **self.fields,
        }


def problem_of(error: Exception) -> Problem | None:
    """The problem that an error is; None for one that is a fault of the server."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, FileSystemError):
        return Problem(
            _FILE_STATUSES.get(error.errno or 0, 409),
            str(error),
            error=type(error).__name__,
            errno=error.errno,
            filename=error.filename,
        )
    for kind, status in _STATUSES:
        if isinstance(error, kind):
            return Problem(status, str(error), error=type(error).__name__)
    return None


def bytes_of_base64(field: str, text: str) -> bytes:
    """The bytes of a field of a request. Raises Problem."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise Problem(422, f"{field}: {error}") from None


def value_of_base64(field: str, text: str) -> object:
    """The value of a field in planaria's encoding. Raises Problem."""
    try:
        return decode(bytes_of_base64(field, text))
    except ProtocolError as error:
        raise Problem(422, f"{field}: {error}") from None


def arguments_of(plain: list[Any], given: str | None) -> tuple[Any, ...]:
    """The arguments of a request: those in planaria's encoding if there are some. Raises Problem."""
    if given is None:
        return tuple(plain)
    arguments = value_of_base64("arguments_base64", given)
    if not isinstance(arguments, tuple):
        raise Problem(422, "arguments_base64 must be a tuple")
    return arguments
