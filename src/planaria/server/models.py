"""What requests and responses of the native API hold."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

__all__ = [
    "Answer",
    "Answered",
    "BashRequest",
    "CallbackDeclaration",
    "CheckpointRequest",
    "CreateSession",
    "ErrorReport",
    "Execution",
    "FileEntry",
    "FileList",
    "ForkRequest",
    "HealthReport",
    "History",
    "HistoryItem",
    "Parent",
    "PendingCall",
    "PendingCalls",
    "RewindRequest",
    "RunRequest",
    "SessionInfo",
    "SessionList",
    "SnapshotInfo",
    "SnapshotList",
    "SnapshotRequest",
    "Tree",
    "TreeNode",
    "UndoRequest",
    "WorkspaceInfo",
]

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
Text = Annotated[str, StringConstraints(max_length=4096)]
Seconds = Annotated[float, Field(gt=0, le=86400)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class CallbackDeclaration(_Request):
    """A function of the client's that code may call; its calls wait for an answer."""

    name: Annotated[str, StringConstraints(max_length=200)]
    description: Text = ""
    parameters: dict[str, Any] | None = Field(default=None, description="A JSON schema of the arguments")


class CreateSession(_Request):
    """A session to create."""

    id: Name | None = Field(default=None, description="Its name; without one it gets a random one")
    image: Text | None = Field(default=None, description="One of the server's images")
    snapshot: Name | None = Field(default=None, description="The name of a snapshot to continue from")
    snapshot_base64: str | None = Field(default=None, description="The bytes of a snapshot to continue from")
    env: dict[str, str] = Field(default_factory=dict, max_length=100)
    metadata: dict[str, str] = Field(default_factory=dict, max_length=100)
    callbacks: list[CallbackDeclaration] = Field(default_factory=list, max_length=100)
    input: bool = Field(
        default=False, description="Whether `input()` waits for a line, as a call named input"
    )
    seed: int | None = None


class RunRequest(_Request):
    """Code to execute."""

    code: str
    timeout: Seconds | None = Field(default=None, description="Seconds; the server's limit applies beside it")
    name: Text | None = Field(default=None, description="What tracebacks call the source")
    exact: bool = Field(default=False, description="Also send the value in planaria's encoding, as base64")


class BashRequest(_Request):
    """A script for the session's shell."""

    script: str
    stdin: str = ""
    timeout: Seconds | None = None


class ForkRequest(_Request):
    """Copies to make."""

    n: int = Field(default=1, ge=1, le=100)
    ids: list[Name] | None = Field(
        default=None, description="Their names; random ones without", max_length=100
    )


class CheckpointRequest(_Request):
    label: Annotated[str, StringConstraints(min_length=1, max_length=200)]


class RewindRequest(_Request):
    to: Annotated[str, StringConstraints(max_length=200)] | Annotated[int, Field(ge=0)] = Field(
        description="A label, or a number of executions"
    )


class UndoRequest(_Request):
    n: int = Field(default=1, ge=1, le=10_000)


class SnapshotRequest(_Request):
    name: Name | None = Field(
        default=None, description="Keep it under this name, rather than return its bytes"
    )


class Answer(_Request):
    """The answer to a call: a value, or an error that the call raises."""

    value: Any = None
    value_base64: str | None = Field(default=None, description="The value in planaria's encoding")
    error: Text | None = Field(default=None, description="The message of the exception")
    error_type: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")] = "RuntimeError"
    exact: bool = False


class Parent(BaseModel):
    """Where a fork comes from."""

    session: str
    executions: int


class SessionInfo(BaseModel):
    id: str
    live: bool = Field(description="Whether it is in memory, rather than only saved")
    created_at: float = Field(description="Seconds since 1970")
    executions: int
    image: str | None = None
    metadata: dict[str, str] = Field(default_factory=dict)
    parent: Parent | None = None
    callbacks: list[str] = Field(default_factory=list)
    saved_at: float | None = Field(default=None, description="Seconds since 1970; null without a store")
    size: int | None = Field(default=None, description="Bytes of the latest snapshot")


class SessionList(BaseModel):
    sessions: list[SessionInfo]
    total: int


class ErrorReport(BaseModel):
    """What an execution raised."""

    type: str
    message: str
    traceback: str = ""
    lineno: int | None = None


class PendingCall(BaseModel):
    """A call of the code's that waits for an answer."""

    id: str
    name: str
    args: list[Any] = Field(
        default_factory=list, description="As JSON, or as repr() shows what it cannot say"
    )
    kwargs: dict[str, Any] = Field(default_factory=dict)
    reason: str = ""
    blocking: bool = Field(default=False, description="Whether the execution runs on once this is answered")
    arguments_base64: str | None = None


class PendingCalls(BaseModel):
    calls: list[PendingCall]


class Execution(BaseModel):
    """The result of an execution, or where it waits."""

    session: str
    status: Literal["done", "waiting"]
    ok: bool
    exit_code: int
    value: Any = Field(
        default=None, description="The value of the last expression if JSON has it exactly, else null"
    )
    value_base64: str | None = None
    repr: str | None = None
    stdout: str = ""
    stderr: str = ""
    error: ErrorReport | None = None
    outputs: list[dict[str, Any]] = Field(default_factory=list)
    requests: list[dict[str, Any]] = Field(default_factory=list)
    calls: list[PendingCall] = Field(default_factory=list)
    duration_ms: float = 0.0
    execution_count: int = 0
    callback_invocations: int = 0
    peak_memory_bytes: int = 0
    stdout_truncated: bool = False
    stderr_truncated: bool = False


class Answered(BaseModel):
    """A blocking call was answered: its execution, which another request waits for, goes on."""

    answered: str


class HistoryItem(BaseModel):
    count: int
    code: str
    duration_ms: float
    error: str | None = None
    checkpoint: str | int | None = Field(
        default=None, description="What `rewind` takes to go back to just before it"
    )


class History(BaseModel):
    entries: list[HistoryItem]


class TreeNode(BaseModel):
    """A state, with what was executed to come to it."""

    id: int
    parent: int | None
    execution: int = 0
    code: str = ""
    error: str | None = None
    labels: list[str] = Field(default_factory=list)
    kept: bool = Field(default=False, description="Whether `rewind` can go there")
    current: bool = False


class Tree(BaseModel):
    nodes: list[TreeNode]
    forks: list[SessionInfo]


class SnapshotInfo(BaseModel):
    name: str
    digest: str
    size: int
    saved_at: float


class SnapshotList(BaseModel):
    snapshots: list[SnapshotInfo]


class FileEntry(BaseModel):
    name: str
    path: str
    type: Literal["file", "directory", "link", "other"]
    size: int
    mode: int
    modified_at: float


class FileList(BaseModel):
    path: str
    entries: list[FileEntry]


class WorkspaceInfo(BaseModel):
    tools: list[dict[str, Any]]
    workflows: list[dict[str, Any]]
    artifacts: list[dict[str, Any]]


class HealthReport(BaseModel):
    status: Literal["ok"] = "ok"
    version: str
    sessions: int = Field(description="How many are live")
