"""What requests and responses of the native API hold."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

__all__ = [
    "RULES",
    "Answer",
    "Answered",
    "BashRequest",
    "CallbackDeclaration",
    "CallbackParameter",
    "ChangeSession",
    "CheckpointRequest",
    "CreateSession",
    "DirectoryRequest",
    "ErrorReport",
    "Execution",
    "FileEntry",
    "FileList",
    "ForkRequest",
    "HealthReport",
    "History",
    "HistoryItem",
    "LinkRequest",
    "Model",
    "Parent",
    "PendingCall",
    "PendingCalls",
    "Query",
    "QueryAnswer",
    "RenameRequest",
    "RequestModel",
    "RestoreRequest",
    "ResumeAnswer",
    "ResumeRequest",
    "RewindRequest",
    "RunRequest",
    "SessionInfo",
    "SessionList",
    "SnapshotInfo",
    "SnapshotList",
    "SnapshotRequest",
    "Stopped",
    "Tree",
    "TreeNode",
    "UndoRequest",
    "WaitingExecution",
    "WorkspaceInfo",
]

_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
_VARIABLE: Final = r"^[^=\x00]+$"
_VALUE: Final = r"^[^\x00]*$"
_CELL_NAME: Final = r"^[A-Za-z0-9_-]{1,64}$"
_ERROR: Final = r"^[A-Za-z_][A-Za-z0-9_]{0,99}$"

#: What texts must be that have to match a pattern, to say it in errors.
RULES: Final = {
    _NAME: "must be 1 to 64 ASCII letters, digits, '_' and '-', the first a letter or a digit",
    _VARIABLE: "must be a name of an environment variable, without '=' and null characters",
    _VALUE: "must not have a null character",
    _CELL_NAME: "must be 1 to 64 ASCII letters, digits, '_' and '-'",
    _ERROR: "must be the name of an exception, of at most 100 ASCII letters, digits and '_'",
}

Name = Annotated[str, StringConstraints(pattern=_NAME)]
Text = Annotated[str, StringConstraints(max_length=4096)]
Seconds = Annotated[float, Field(gt=0, le=86400)]


def _integral(value: Any) -> Any:
    """JSON has one kind of numbers: 2.0 is an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Seed = Annotated[int, Field(ge=-(1 << 53), lt=1 << 53), BeforeValidator(_integral)]
Copies = Annotated[int, Field(ge=1, le=100), BeforeValidator(_integral)]
Steps = Annotated[int, Field(ge=1, le=10_000), BeforeValidator(_integral)]
Count = Annotated[int, Field(ge=0, lt=1 << 53), BeforeValidator(_integral)]


class Model(BaseModel):
    """What all of them have: a schema that is made at the first use. All of them take 0.2 s of a start."""

    model_config = ConfigDict(defer_build=True)


class RequestModel(Model):
    """What is in a request: nothing else is taken, and no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class CallbackParameter(RequestModel):
    """A parameter of a function, as Python's `inspect.Parameter` describes it."""

    name: Annotated[str, StringConstraints(max_length=200)]
    kind: Literal[
        "POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD"
    ] = "POSITIONAL_OR_KEYWORD"
    annotation: Text | None = None
    default: Text | None = Field(default=None, description="As repr() shows it")


class CallbackDeclaration(RequestModel):
    """A function of the client's that code may call; its calls wait for an answer."""

    name: Annotated[str, StringConstraints(max_length=200)]
    description: Text = ""
    parameters: dict[str, Any] | None = Field(default=None, description="A JSON schema of the arguments")
    signature: Annotated[list[CallbackParameter], Field(max_length=100)] | None = Field(
        default=None, description="Its parameters; without them it takes any"
    )


#: Names and values of environment variables, as POSIX has them.
Variable = Annotated[str, StringConstraints(min_length=1, max_length=4096, pattern=_VARIABLE)]
Value = Annotated[str, StringConstraints(max_length=1 << 17, pattern=_VALUE)]
Environment = Annotated[dict[Variable, Value], Field(max_length=100)]


class CreateSession(RequestModel):
    """A session to create."""

    id: Name | None = Field(default=None, description="Its name; without one it gets a random one")
    image: Text | None = Field(default=None, description="One of the server's images")
    snapshot: Name | None = Field(default=None, description="The name of a snapshot to continue from")
    snapshot_base64: str | None = Field(default=None, description="The bytes of a snapshot to continue from")
    env: Environment = Field(default_factory=dict)
    metadata: dict[str, str] = Field(default_factory=dict, max_length=100)
    callbacks: list[CallbackDeclaration] = Field(default_factory=list, max_length=100)
    input: bool = Field(
        default=False, description="Whether `input()` waits for a line, as a call named input"
    )
    seed: Seed | None = None
    record: bool = Field(
        default=False, description="Whether what comes from outside is kept, for its recording"
    )


#: A label, or a number of executions.
Place = Annotated[str, StringConstraints(max_length=200)] | Count
CellName = Annotated[str, StringConstraints(pattern=_CELL_NAME)]

#: What `cell` means.
_CELL: Final = "The cell of the session's notebook that shows it, where the server has a page"
#: What `step` means.
_STEP: Final = (
    "Return also when only a timer could continue the code, with `next_timer`; `resume` takes it further"
)


class ChangeSession(RequestModel):
    """What is to be different in a session; what is left out stays."""

    callbacks: Annotated[list[CallbackDeclaration], Field(max_length=100)] | None = None
    env: Environment | None = Field(default=None, description="Variables to set, beside those there are")
    input: bool | None = None
    metadata: Annotated[dict[str, str], Field(max_length=100)] | None = None
    seed: Seed | None = Field(default=None, description="Start the random numbers from here")


class RunRequest(RequestModel):
    """Code to execute."""

    code: str
    timeout: Seconds | None = Field(default=None, description="Seconds; the server's limit applies beside it")
    name: Text | None = Field(default=None, description="What tracebacks call the source")
    exact: bool = Field(default=False, description="Also send the value in planaria's encoding, as base64")
    step: bool = Field(default=False, description=_STEP)
    cell: CellName | None = Field(default=None, description=_CELL)


class BashRequest(RequestModel):
    """A script for the session's shell."""

    script: str
    stdin: str = ""
    stdin_base64: str | None = Field(default=None, description="Standard input that is not text")
    timeout: Seconds | None = None
    program: bool = Field(
        default=False, description="Run it as a program of its own, which leaves nothing in the shell"
    )
    exact: bool = False
    step: bool = Field(default=False, description=_STEP)
    cell: CellName | None = Field(default=None, description=_CELL)


class ForkRequest(RequestModel):
    """Copies to make."""

    n: Copies = 1
    at: Place | None = Field(
        default=None, description="The state to copy, as `rewind` takes it; the present one without"
    )
    ids: list[Name] | None = Field(
        default=None, description="Their names; random ones without", max_length=100
    )


class CheckpointRequest(RequestModel):
    label: Annotated[str, StringConstraints(min_length=1, max_length=200)]


class RewindRequest(RequestModel):
    to: Place = Field(description="A label, or a number of executions")


class UndoRequest(RequestModel):
    n: Steps = 1


class SnapshotRequest(RequestModel):
    name: Name | None = Field(
        default=None, description="Keep it under this name, rather than return its bytes"
    )


class Answer(RequestModel):
    """The answer to a call: a value, or an error that the call raises."""

    value: Any = None
    value_base64: str | None = Field(default=None, description="The value in planaria's encoding")
    error: Text | None = Field(default=None, description="The message of the exception")
    error_type: Annotated[str, StringConstraints(pattern=_ERROR)] = "RuntimeError"
    answer_base64: str | None = Field(
        default=None, description="All of the answer in planaria's encoding, as ('ok', value)"
    )
    exact: bool = False
    step: bool = Field(default=False, description=_STEP)


class ResumeAnswer(Answer):
    """The answer to one of several calls."""

    call: Count


class ResumeRequest(RequestModel):
    """How an execution that waits goes on: with answers, for a timer that is due, or cancelled."""

    answers: list[ResumeAnswer] = Field(default_factory=list, max_length=10_000)
    cancel: bool = Field(default=False, description="Raise KeyboardInterrupt where the code waits")
    exact: bool = False
    step: bool = Field(default=False, description=_STEP)


class RestoreRequest(RequestModel):
    """A snapshot to become: one of the store by name, or bytes."""

    snapshot: Name | None = None
    snapshot_base64: str | None = None


class Query(RequestModel):
    """A question to the session's kernel, for which none of the user's code is executed."""

    name: Literal[
        "bash_analyze",
        "bash_complete",
        "assign",
        "bash_is_complete",
        "bash_jobs",
        "bash_prompts",
        "bash_state",
        "bash_restore",
        "bash_forget_functions",
        "clear",
        "complete",
        "evaluate",
        "inspect",
        "is_complete",
        "mime_bundle",
        "names",
        "sizes",
    ]
    arguments: list[Any] = Field(default_factory=list, max_length=10)
    arguments_base64: str | None = Field(default=None, description="The arguments in planaria's encoding")


class DirectoryRequest(RequestModel):
    parents: bool = Field(default=False, description="Create those above it too; it may exist already")


class RenameRequest(RequestModel):
    to: Annotated[str, StringConstraints(min_length=1, max_length=4095)]


class LinkRequest(RequestModel):
    target: Annotated[str, StringConstraints(min_length=1, max_length=4095)]


class Parent(Model):
    """Where a fork comes from."""

    session: str
    executions: int


class SessionInfo(Model):
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


class SessionList(Model):
    sessions: list[SessionInfo]
    total: int


class ErrorReport(Model):
    """What an execution raised."""

    type: str
    message: str
    traceback: str = ""
    lineno: int | None = None


class PendingCall(Model):
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


class WaitingExecution(Model):
    """The execution that waits."""

    code: str
    count: int
    next_timer: float | None = Field(default=None, description="Seconds until it can go on by itself")
    stdout: str = ""
    stderr: str = ""


class PendingCalls(Model):
    calls: list[PendingCall]
    execution: WaitingExecution | None = None


class Stopped(Model):
    """Why an execution was stopped, and what that left of the session."""

    reason: str | None = Field(default=None, description="timeout, cpu, fuel or interrupt")
    crash: str | None = Field(default=None, description="How the kernel ended, if it had to be started again")
    exit_code: int | None = None
    state: Literal["kept", "rewound", "lost"]
    message: str | None = Field(default=None, description="The error, if it was stopped for a limit")


class Execution(Model):
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
    pending: list[int] = Field(
        default_factory=list, description="The ids of all calls that any task of the session still waits for"
    )
    next_timer: float | None = Field(
        default=None, description="Seconds until an execution that waits can go on by itself"
    )
    stopped: Stopped | None = None
    report_base64: str | None = Field(default=None, description="With `exact`: what the kernel reported")
    duration_ms: float = 0.0
    execution_count: int = 0
    callback_invocations: int = 0
    peak_memory_bytes: int = 0
    stdout_truncated: bool = False
    stderr_truncated: bool = False


class Answered(Model):
    """A blocking call was answered: its execution, which another request waits for, goes on."""

    answered: str


class HistoryItem(Model):
    count: int
    code: str
    duration_ms: float
    error: str | None = None
    checkpoint: str | int | None = Field(
        default=None, description="What `rewind` takes to go back to just before it"
    )


class History(Model):
    entries: list[HistoryItem]


class TreeNode(Model):
    """A state, with what was executed to come to it."""

    id: int
    parent: int | None
    execution: int = 0
    code: str = ""
    error: str | None = None
    labels: list[str] = Field(default_factory=list)
    kept: bool = Field(default=False, description="Whether `rewind` can go there")
    current: bool = False


class Tree(Model):
    nodes: list[TreeNode]
    forks: list[SessionInfo]


class SnapshotInfo(Model):
    name: str
    digest: str
    size: int
    saved_at: float


class SnapshotList(Model):
    snapshots: list[SnapshotInfo]


class QueryAnswer(Model):
    answer: Any = Field(default=None, description="As JSON, or as repr() shows what JSON cannot say")
    answer_base64: str | None = None


class FileEntry(Model):
    name: str
    path: str
    type: Literal["file", "directory", "link", "other"]
    size: int
    mode: int
    modified_at: float
    target: str | None = Field(default=None, description="What a link leads to")


class FileList(Model):
    path: str
    entries: list[FileEntry]


class WorkspaceInfo(Model):
    tools: list[dict[str, Any]]
    workflows: list[dict[str, Any]]
    artifacts: list[dict[str, Any]]


class HealthReport(Model):
    status: Literal["ok"] = "ok"
    version: str
    sessions: int = Field(description="How many are live")


class WorkspaceRequest(RequestModel):
    """A method of a part of the workspace, as a session has it."""

    part: Literal["tools", "workflows", "artifacts"]
    method: Literal["list", "search", "stubs", "get", "add", "remove", "save", "load", "delete"]
    arguments: list[Any] = Field(default_factory=list, max_length=4)
    arguments_base64: str | None = Field(default=None, description="The arguments in planaria's encoding")


class StateDigest(Model):
    digest: str = Field(description="BLAKE2b-256, in hexadecimal")
