"""What requests and responses on notebooks, states that are compared, and usage hold."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from planaria.server.models import (
    CellName,
    FileList,
    Model,
    Name,
    PendingCall,
    Place,
    RequestModel,
    SessionInfo,
    Tree,
)

__all__ = [
    "CellRequest",
    "CompareRequest",
    "NotebookCell",
    "NotebookDocument",
    "NotebookRequest",
    "Overview",
    "StateDifference",
    "Usage",
    "VariableInfo",
    "VariableReport",
]

Kind = Literal["code", "bash", "markdown"]


class StreamOutput(RequestModel):
    output_type: Literal["stream"]
    name: Literal["stdout", "stderr"]
    text: str


class RichOutput(RequestModel):
    output_type: Literal["display_data", "execute_result"]
    data: dict[str, Any] = Field(max_length=50)
    metadata: dict[str, Any] = Field(default_factory=dict, max_length=50)


class ErrorOutput(RequestModel):
    output_type: Literal["error"]
    ename: str
    evalue: str
    traceback: list[str]


class NotebookCell(RequestModel):
    """A cell with its outputs, which are as notebooks (nbformat 4) have them."""

    id: CellName
    kind: Kind = "code"
    source: str = ""
    outputs: list[StreamOutput | RichOutput | ErrorOutput] = Field(default_factory=list, max_length=1000)


class NotebookRequest(RequestModel):
    """The cells of a notebook, instead of those it has."""

    cells: Annotated[list[NotebookCell], Field(max_length=5000)]


class CellRequest(RequestModel):
    """A cell to write: a new one, or another text or place for one that is there."""

    kind: Kind = "code"
    source: str = ""
    after: CellName | Literal[""] | None = Field(
        default=None, description='The cell before it, "" for the first place; null where it is, or last'
    )
    client: Annotated[str, StringConstraints(max_length=64)] = Field(
        default="", description="Comes back with the event, by which a client knows its own"
    )


class NotebookDocument(Model):
    """A notebook: cells as in `NotebookCell`, with their states."""

    cells: list[dict[str, Any]]
    terminal: str = Field(description="The end of what the terminal shows")


class CompareRequest(RequestModel):
    """Two states to compare, as `rewind` takes them; null is the present one."""

    before: Place | None = None
    after: Place | None = None
    session: Name | None = Field(default=None, description="The session of the second one, if it is another")


class VariableReport(Model):
    type: str
    repr: str


class VariableInfo(VariableReport):
    size: int | None = Field(default=None, description="Bytes, as far as that is known")


class StateDifference(Model):
    """What the second state has more, less or otherwise than the first."""

    added: dict[str, VariableReport]
    removed: dict[str, VariableReport]
    changed: dict[str, list[VariableReport]] = Field(description="Before and after")
    files_added: list[str]
    files_removed: list[str]
    files_changed: list[str]
    memory_bytes: list[int] = Field(description="The memory of the sandbox, before and after")
    size: list[int] = Field(description="Bytes of a snapshot, before and after")


class Usage(Model):
    """What a session may use, and what it uses."""

    limits: dict[str, float | None] = Field(description="Seconds and bytes; null where there is none")
    memory_bytes: int
    file_bytes: int = Field(description="In the files below /home/user")
    files: int
    executions: int
    checkpoints: int
    network: list[str] = Field(description="What code may reach")


class Overview(Model):
    """What the page shows beside the cells, in one response."""

    session: SessionInfo
    tree: Tree
    variables: dict[str, VariableInfo] = Field(description="By name")
    files: FileList | None = Field(description="Of the directory that was asked for; null if there is none")
    usage: Usage
    calls: list[PendingCall]
