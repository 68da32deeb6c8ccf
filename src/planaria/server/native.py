"""The routes of the native API, `/v1`."""

from __future__ import annotations

from typing import Final

from starlette.responses import JSONResponse, Response

from planaria.server import executions, files, models, states
from planaria.server.executions import EVENTS
from planaria.server.files import BYTES, TAR
from planaria.server.routes import Call, Parameter, Route

__all__ = ["ROUTES"]

_SESSION: Final = "/v1/sessions/{session}"
_PATH: Final = Parameter(
    "path", {"type": "string", "minLength": 1}, "Absolute, or below /home/user", required=True
)
_RECURSIVE: Final = Parameter("recursive", {"type": "boolean"}, "With all that is in a directory")
_FOLLOW: Final = Parameter("follow", {"type": "boolean"}, "Look at what a link leads to")
_KEY: Final = Parameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    "A request that is made again with the same key gets the first one's result",
    place="header",
)
_PAGE: Final = (
    Parameter("offset", {"type": "integer", "minimum": 0, "maximum": 10**9 - 1}),
    Parameter("limit", {"type": "integer", "minimum": 0, "maximum": 1000}),
)


async def _document(call: Call) -> Response:
    return JSONResponse(call.server.document())


ROUTES: Final = (
    Route("GET", "/health", states.health, "Whether the server runs", gives=models.HealthReport, public=True),
    Route("GET", "/v1/openapi.json", _document, "This document", gives="application/json", public=True),
    Route("GET", "/v1/metrics", states.metrics, "Counters, for Prometheus", gives="text/plain"),
    # Sessions.
    Route(
        "POST",
        "/v1/sessions",
        states.create,
        "Create a session",
        takes=models.CreateSession,
        gives=models.SessionInfo,
        status=201,
        errors=(404,),
    ),
    Route(
        "GET",
        "/v1/sessions",
        states.list_sessions,
        "List sessions, the newest first",
        gives=models.SessionList,
        parameters=_PAGE,
    ),
    Route("GET", _SESSION, states.get, "Look at a session", gives=models.SessionInfo),
    Route(
        "PATCH",
        _SESSION,
        states.change,
        "Change a session's callbacks, variables or metadata",
        takes=models.ChangeSession,
        gives=models.SessionInfo,
    ),
    Route("DELETE", _SESSION, states.delete, "Delete a session", status=204),
    # Executing.
    Route(
        "POST",
        f"{_SESSION}/run",
        executions.run,
        "Execute Python",
        takes=models.RunRequest,
        gives=models.Execution,
        also=(EVENTS,),
        parameters=(_KEY,),
    ),
    Route(
        "POST",
        f"{_SESSION}/bash",
        executions.bash,
        "Run a script",
        takes=models.BashRequest,
        gives=models.Execution,
        also=(EVENTS,),
        parameters=(_KEY,),
    ),
    Route(
        "POST",
        f"{_SESSION}/resume",
        executions.resume,
        "Take an execution that waits further",
        takes=models.ResumeRequest,
        gives=models.Execution,
        also=(EVENTS,),
        parameters=(_KEY,),
    ),
    Route(
        "POST",
        f"{_SESSION}/query",
        states.query,
        "Ask the kernel something for which no code is executed",
        takes=models.Query,
        gives=models.QueryAnswer,
    ),
    Route("POST", f"{_SESSION}/interrupt", executions.interrupt, "Stop what runs", status=204),
    Route("GET", f"{_SESSION}/calls", executions.calls, "List calls that wait", gives=models.PendingCalls),
    Route(
        "POST",
        f"{_SESSION}/calls/{{call}}",
        executions.answer,
        "Answer a call",
        takes=models.Answer,
        gives=models.Execution,
        also=(EVENTS,),
        parameters=(_KEY,),
        responses={202: models.Answered},
    ),
    # States.
    Route(
        "POST",
        f"{_SESSION}/fork",
        states.fork,
        "Copy a session",
        takes=models.ForkRequest,
        gives=models.SessionList,
        status=201,
    ),
    Route(
        "POST",
        f"{_SESSION}/checkpoint",
        states.checkpoint,
        "Keep the state under a label",
        takes=models.CheckpointRequest,
        status=204,
    ),
    Route(
        "POST",
        f"{_SESSION}/rewind",
        states.rewind,
        "Go back to a label, or to the state after so many executions",
        takes=models.RewindRequest,
        gives=models.SessionInfo,
    ),
    Route(
        "POST",
        f"{_SESSION}/undo",
        states.undo,
        "Take back executions",
        takes=models.UndoRequest,
        gives=models.SessionInfo,
    ),
    Route("POST", f"{_SESSION}/redo", states.redo, "Take back an undo", gives=models.SessionInfo),
    Route("POST", f"{_SESSION}/clear", states.clear, "Forget all variables", gives=models.SessionInfo),
    Route("POST", f"{_SESSION}/reset", states.reset, "Start again; files stay", gives=models.SessionInfo),
    Route(
        "POST",
        f"{_SESSION}/restore",
        states.restore,
        "Become what a snapshot is",
        takes=models.RestoreRequest,
        gives=models.SessionInfo,
    ),
    Route("GET", f"{_SESSION}/history", states.history, "List executions", gives=models.History),
    Route("GET", f"{_SESSION}/tree", states.tree, "List states and forks", gives=models.Tree),
    Route(
        "POST",
        f"{_SESSION}/snapshot",
        states.snapshot,
        "Take a snapshot: its bytes, or kept under a name",
        takes=models.SnapshotRequest,
        gives=models.SnapshotInfo,
        also=(BYTES,),
    ),
    Route("GET", "/v1/snapshots", states.list_snapshots, "List snapshots by name", gives=models.SnapshotList),
    Route("DELETE", "/v1/snapshots/{snapshot}", states.delete_snapshot, "Delete a snapshot", status=204),
    Route(
        "GET",
        f"{_SESSION}/workspace",
        states.workspace,
        "List tools, workflows and artifacts",
        gives=models.WorkspaceInfo,
    ),
    # Files.
    Route("GET", f"{_SESSION}/files", files.get, "Read a file", gives=BYTES, parameters=(_PATH,)),
    Route(
        "PUT",
        f"{_SESSION}/files",
        files.put,
        "Write a file",
        takes=BYTES,
        gives=models.FileEntry,
        parameters=(_PATH,),
    ),
    Route(
        "DELETE",
        f"{_SESSION}/files",
        files.delete,
        "Remove a file or directory",
        status=204,
        parameters=(_PATH, _RECURSIVE),
    ),
    Route(
        "GET",
        f"{_SESSION}/files/stat",
        files.stat,
        "Look at a file",
        gives=models.FileEntry,
        parameters=(_PATH, _FOLLOW),
    ),
    Route(
        "POST",
        f"{_SESSION}/files/directory",
        files.make_directory,
        "Create a directory",
        takes=models.DirectoryRequest,
        gives=models.FileEntry,
        status=201,
        parameters=(_PATH,),
    ),
    Route(
        "POST",
        f"{_SESSION}/files/link",
        files.make_link,
        "Create a symbolic link",
        takes=models.LinkRequest,
        gives=models.FileEntry,
        status=201,
        parameters=(_PATH,),
    ),
    Route(
        "POST",
        f"{_SESSION}/files/rename",
        files.rename,
        "Move a file or directory",
        takes=models.RenameRequest,
        gives=models.FileEntry,
        parameters=(_PATH,),
    ),
    Route(
        "GET",
        f"{_SESSION}/files/list",
        files.list_files,
        "List a directory",
        gives=models.FileList,
        parameters=(_PATH,),
    ),
    Route("GET", f"{_SESSION}/files/tar", files.get_tar, "Read a directory", gives=TAR, parameters=(_PATH,)),
    Route(
        "PUT",
        f"{_SESSION}/files/tar",
        files.put_tar,
        "Write a directory",
        takes=TAR,
        gives=models.FileEntry,
        parameters=(_PATH,),
    ),
)
