"""What the namespaces in the kernel ask of the host.

Guest code can send anything, so nothing here relies on what the namespaces would send: arguments are checked,
and whatever is not for the code to do is refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import anyio
from anyio.lowlevel import RunVar

from planaria.errors import ArtifactError, WorkflowNotFound
from planaria.workspace.installing import Dependencies
from planaria.workspace.tools.charging import charged_to
from planaria.workspace.tools.names import shown, suggestion

if TYPE_CHECKING:
    from planaria.network.budget import Account
    from planaria.workspace.artifacts import ArtifactWriter
    from planaria.workspace.tools.call import ToolCall
    from planaria.workspace.workspace import Workspace

__all__ = ["OBSERVING", "GuestCalls"]

#: Bytes of an artifact that cross at a time.
_PIECE: Final = 4 << 20
#: Artifacts that an execution may write or read in pieces at once.
_MOST_STREAMS: Final = 16
#: Calls of tools that a session has on their way at once; more wait for their turn.
_MOST_CALLS: Final = 32
#: Calls by which nothing outside changes.
OBSERVING: Final = frozenset(
    {
        *("@tools.describe", "@tools.list", "@tools.search"),
        *("@workflows.find", "@workflows.list", "@workflows.search", "@workflows.get"),
        *("@artifacts.get", "@artifacts.list", "@artifacts.open", "@artifacts.read"),
        "@deps.list",
    }
)


class GuestCalls:
    """The calls of one session; `trace` gives the list of records of the execution that makes them, and
    requests of tools are charged to `account`.
    """

    def __init__(
        self,
        workspace: Workspace,
        dependencies: Dependencies,
        trace: Callable[[], list[ToolCall]],
        account: Account,
    ) -> None:
        self._workspace = workspace
        self._dependencies = dependencies
        self._trace = trace
        self._account = account
        self._next = 1
        #: For each loop on which tools are awaited.
        self._turns: RunVar[anyio.Semaphore] = RunVar("planaria_turns")
        #: Artifacts on their way in or out, by the number that the guest has of them.
        self._writers: dict[int, ArtifactWriter] = {}
        self._readers: dict[int, BinaryIO] = {}

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Every call by its name."""
        return {
            "@tools.call": self.call_tool,
            "@tools.describe": self.describe_tool,
            "@tools.list": self.list_tools,
            "@tools.search": self.search_tools,
            "@workflows.find": self.find_workflow,
            "@workflows.list": self.list_workflows,
            "@workflows.search": self.search_workflows,
            "@workflows.get": self.get_workflow,
            "@workflows.create": self.create_workflow,
            "@workflows.delete": self.delete_workflow,
            "@artifacts.save": self.save_artifact,
            "@artifacts.begin": self.begin_artifact,
            "@artifacts.write": self.write_artifact,
            "@artifacts.commit": self.commit_artifact,
            "@artifacts.open": self.open_artifact,
            "@artifacts.read": self.read_artifact,
            "@artifacts.get": self.get_artifact,
            "@artifacts.list": self.list_artifacts,
            "@artifacts.delete": self.delete_artifact,
            "@deps.add": self.add_dependency,
            "@deps.remove": self.remove_dependency,
            "@deps.sync": self.sync_dependencies,
            "@deps.list": self._dependencies.list,
        }

    def end_execution(self) -> None:
        """What an execution has left half written or half read is dropped."""
        writers, self._writers = self._writers, {}
        readers, self._readers = self._readers, {}
        for writer in writers.values():
            writer.discard()
        for reader in readers.values():
            reader.close()

    # -- tools -------------------------------------------------------------------------------------------

    def call_tool(self, name: str, callable: str | None, arguments: dict[str, Any]) -> Any:  # noqa: A002
        if (
            type(name) is not str
            or (callable is not None and type(callable) is not str)
            or type(arguments) is not dict
        ):
            raise TypeError("a tool is called by its name, that of its function or None, and a dict")
        tools = self._workspace.tools
        with charged_to(self._account, name):
            value = tools.call(name, callable, arguments, trace=self._trace(), turns=self._turn)
        return self._charged(name, value)

    def _charged(self, name: str, value: Any) -> Any:
        """The value, or what is awaited for it, whose requests are charged to the session too."""
        if not inspect.isawaitable(value):
            return value

        async def wait() -> Any:
            with charged_to(self._account, name):
                return await value

        return wait()

    def _turn(self) -> anyio.Semaphore:
        """What a call that is awaited holds meanwhile."""
        turns = self._turns.get(None)
        if turns is None:
            turns = anyio.Semaphore(_MOST_CALLS, fast_acquire=True)
            self._turns.set(turns)
        return turns

    def resume_tool(
        self,
        name: str,
        callable: str | None,  # noqa: A002
        arguments: dict[str, Any],
        *,
        decision: object,
    ) -> Any:
        """Go on with a call that waited for an approval; the host's, and never called by the guest."""
        tools = self._workspace.tools
        with charged_to(self._account, name):
            value = tools.resume(name, callable, arguments, decision, trace=self._trace(), turns=self._turn)
        return self._charged(name, value)

    def describe_tool(self, name: str) -> dict[str, Any]:
        return self._workspace.tools.get(_text(name, "the name of a tool")).document()

    def list_tools(self) -> list[dict[str, Any]]:
        return self._workspace.tools.list()

    def search_tools(self, query: str, limit: int) -> list[dict[str, Any]]:
        return self._workspace.tools.search(_text(query, "a query"), _count(limit))

    # -- workflows ---------------------------------------------------------------------------------------

    def find_workflow(self, name: str, known: str | None) -> dict[str, Any]:
        """What the kernel needs to run a workflow; without the source when its digest is `known`."""
        library = self._workspace.workflows
        found = library.get(_text(name, "the name of a workflow"))
        if found is None:
            names = [workflow.name for workflow in library.list()]
            hint = suggestion(name, names, "; see workflows.list() and workflows.search()")
            raise WorkflowNotFound(f"there is no workflow {shown(name)}{hint}")
        return {
            "name": found.name,
            "description": found.description,
            "parameters": [dict(parameter) for parameter in found.parameters],
            "version": found.version,
            "digest": found.digest,
            "error": found.error,
            "source": None if found.digest == known else found.source,
        }

    def list_workflows(self) -> list[dict[str, Any]]:
        return [workflow.summary() for workflow in self._workspace.workflows.list()]

    def search_workflows(self, query: str, limit: int) -> list[dict[str, Any]]:
        return self._workspace.search_workflows(_text(query, "a query"), _count(limit))

    def get_workflow(self, name: str, version: int | None) -> dict[str, Any] | None:
        return self._workspace.workflow(_text(name, "the name of a workflow"), version)

    def create_workflow(self, name: str, source: str, description: str) -> dict[str, Any]:
        return self._workspace.workflows.add(name, source, description).summary()

    def delete_workflow(self, name: str) -> bool:
        return self._workspace.workflows.remove(_text(name, "the name of a workflow"))

    # -- artifacts ---------------------------------------------------------------------------------------

    def save_artifact(
        self, name: str, kind: str, data: bytes, description: str, metadata: dict[str, Any] | None
    ) -> dict[str, Any]:
        artifacts = self._workspace.artifacts
        with artifacts.writer(name, kind, description, metadata) as writer:
            self._workspace.artifact_use.admit(artifacts, name, len(_bytes(data)))
            writer.write(data)
            return writer.commit().info()

    def begin_artifact(self, name: str, kind: str, description: str, metadata: dict[str, Any] | None) -> int:
        number = self._number()
        artifacts = self._workspace.artifacts
        writer = artifacts.writer(name, kind, description, metadata)
        try:
            self._workspace.artifact_use.admit(artifacts, name, 0)
        except BaseException:
            writer.discard()
            raise
        self._writers[number] = writer
        return number

    def write_artifact(self, number: int, data: bytes) -> None:
        writer = self._writer(number)
        workspace = self._workspace
        workspace.artifact_use.admit(
            workspace.artifacts,
            writer.name,
            len(_bytes(data)),
            new=False,
            on_their_way=sum(one.size for one in self._writers.values()),
        )
        writer.write(data)

    def commit_artifact(self, number: int) -> dict[str, Any]:
        writer = self._writer(number)
        del self._writers[number]
        with writer:
            return writer.commit().info()

    def open_artifact(self, name: str, piece: int) -> tuple[str, bytes, int | None]:
        """The kind, the first bytes, and the number by which to read on when there are more."""
        size = min(_count(piece), _PIECE)
        artifact, reader = self._workspace.artifacts.open(name)
        first = reader.read(size)
        if len(first) < size:
            reader.close()
            return artifact.kind, first, None
        number = self._number()
        self._readers[number] = reader
        return artifact.kind, first, number

    def read_artifact(self, number: int, piece: int) -> bytes:
        """More bytes; none at the end, and then it is over."""
        reader = self._readers.get(number)
        if reader is None:
            raise ArtifactError(f"no artifact is being read by the number {number!r}")
        data = reader.read(min(_count(piece), _PIECE))
        if not data:
            del self._readers[number]
            reader.close()
        return data

    def get_artifact(self, name: str) -> dict[str, Any] | None:
        found = self._workspace.artifacts.get(name)
        return None if found is None else found.info()

    def list_artifacts(self) -> list[dict[str, Any]]:
        return [artifact.info() for artifact in self._workspace.artifacts.list()]

    def delete_artifact(self, name: str) -> bool:
        return self._workspace.artifacts.delete(name)

    def _number(self) -> int:
        if len(self._writers) + len(self._readers) >= _MOST_STREAMS:
            raise ArtifactError(f"more than {_MOST_STREAMS} artifacts are being read or written at once")
        number = self._next
        self._next += 1
        return number

    def _writer(self, number: int) -> ArtifactWriter:
        writer = self._writers.get(number)
        if writer is None:
            raise ArtifactError(f"no artifact is being written by the number {number!r}")
        return writer

    # -- dependencies ------------------------------------------------------------------------------------

    def add_dependency(self, package: str) -> tuple[dict[str, Any], list[str]]:
        """What came of it, and where the kernel has to look for packages now."""
        self._dependencies.check_unlocked()
        self._dependencies.check_has_no_address(package)
        return self._dependencies.add(package), self._dependencies.paths

    def remove_dependency(self, package: str) -> tuple[dict[str, Any], list[str]]:
        self._dependencies.check_unlocked()
        return self._dependencies.remove(package), self._dependencies.paths

    def sync_dependencies(self) -> tuple[dict[str, Any], list[str]]:
        return self._dependencies.sync(), self._dependencies.paths


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, not {type(value).__name__}")
    return value


def _bytes(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(f"the data of an artifact must be bytes, not {type(value).__name__}")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"expected a number of at least 1, not {value!r}")
    return value
