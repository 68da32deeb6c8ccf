"""CPython and bash, sandboxed in WebAssembly inside your process: sessions that can be cut anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planaria import errors
from planaria.version import __version__ as __version__

if TYPE_CHECKING:
    from planaria.errors import ArtifactError as ArtifactError
    from planaria.errors import CallbackError as CallbackError
    from planaria.errors import CapabilityError as CapabilityError
    from planaria.errors import CrashError as CrashError
    from planaria.errors import DependencyError as DependencyError
    from planaria.errors import EncodeError as EncodeError
    from planaria.errors import ExecutionError as ExecutionError
    from planaria.errors import Exited as Exited
    from planaria.errors import FileSystemError as FileSystemError
    from planaria.errors import ImageError as ImageError
    from planaria.errors import Interrupted as Interrupted
    from planaria.errors import LimitError as LimitError
    from planaria.errors import PlanariaError as PlanariaError
    from planaria.errors import ProtocolError as ProtocolError
    from planaria.errors import ReplayError as ReplayError
    from planaria.errors import RuntimeSetupError as RuntimeSetupError
    from planaria.errors import ServerError as ServerError
    from planaria.errors import SessionBusy as SessionBusy
    from planaria.errors import SessionClosed as SessionClosed
    from planaria.errors import SessionError as SessionError
    from planaria.errors import SnapshotConflict as SnapshotConflict
    from planaria.errors import SnapshotCorrupt as SnapshotCorrupt
    from planaria.errors import SnapshotError as SnapshotError
    from planaria.errors import SnapshotKeyError as SnapshotKeyError
    from planaria.errors import SnapshotMismatch as SnapshotMismatch
    from planaria.errors import SnapshotNotFound as SnapshotNotFound
    from planaria.errors import SnapshotVersionError as SnapshotVersionError
    from planaria.errors import StorageError as StorageError
    from planaria.errors import Suspend as Suspend
    from planaria.errors import Suspended as Suspended
    from planaria.errors import TimeoutError as TimeoutError
    from planaria.errors import ToolArgumentError as ToolArgumentError
    from planaria.errors import ToolCallError as ToolCallError
    from planaria.errors import ToolDefinitionError as ToolDefinitionError
    from planaria.errors import ToolDenied as ToolDenied
    from planaria.errors import ToolNotFound as ToolNotFound
    from planaria.errors import ToolTimeout as ToolTimeout
    from planaria.errors import WorkflowError as WorkflowError
    from planaria.errors import WorkflowNotFound as WorkflowNotFound
    from planaria.executors.container import ContainerConfig as ContainerConfig
    from planaria.executors.container import ContainerExecutor as ContainerExecutor
    from planaria.executors.executor import Executor as Executor
    from planaria.executors.inprocess import InProcessConfig as InProcessConfig
    from planaria.executors.inprocess import InProcessExecutor as InProcessExecutor
    from planaria.executors.messages import HostCall as HostCall
    from planaria.executors.pickled_variables import Variables as Variables
    from planaria.executors.server import ServerConfig as ServerConfig
    from planaria.executors.server import ServerExecutor as ServerExecutor
    from planaria.executors.subprocess import SubprocessConfig as SubprocessConfig
    from planaria.executors.subprocess import SubprocessExecutor as SubprocessExecutor
    from planaria.executors.wasm import WasmExecutor as WasmExecutor
    from planaria.files.filesystem import FileSystemSnapshot as FileSystemSnapshot
    from planaria.files.quota import Quota as Quota
    from planaria.files.storage import Mount as Mount
    from planaria.files.storage import VfsStorage as VfsStorage
    from planaria.files.view import FileDifference as FileDifference
    from planaria.files.view import Files as Files
    from planaria.images.image import Image as Image
    from planaria.integrations.widget import widget as widget
    from planaria.limits import NOT_GIVEN as NOT_GIVEN
    from planaria.limits import Limits as Limits
    from planaria.limits import ShellLimits as ShellLimits
    from planaria.machine.wasi.clock import FrozenClock as FrozenClock
    from planaria.machine.wasi.clock import OffsetClock as OffsetClock
    from planaria.network.policy import Network as Network
    from planaria.network.policy import NetworkRequest as NetworkRequest
    from planaria.network.secrets import Secret as Secret
    from planaria.session._async.bash import AsyncBash as AsyncBash
    from planaria.session._async.remote import AsyncServerSession as AsyncServerSession
    from planaria.session._async.remote import connect_async as connect_async
    from planaria.session._async.sandbox import AsyncSandbox as AsyncSandbox
    from planaria.session._async.session import AsyncExecution as AsyncExecution
    from planaria.session._async.session import AsyncSession as AsyncSession
    from planaria.session._async.workspace import AsyncSessionWorkspace as AsyncSessionWorkspace
    from planaria.session._sync.bash import Bash as Bash
    from planaria.session._sync.remote import ServerSession as ServerSession
    from planaria.session._sync.remote import connect as connect
    from planaria.session._sync.replay import Replay as Replay
    from planaria.session._sync.replay import replay as replay
    from planaria.session._sync.sandbox import Sandbox as Sandbox
    from planaria.session._sync.session import Execution as Execution
    from planaria.session._sync.session import Session as Session
    from planaria.session._sync.workspace import SessionWorkspace as SessionWorkspace
    from planaria.session.analysis import ScriptAnalysis as ScriptAnalysis
    from planaria.session.callbacks import Callback as Callback
    from planaria.session.callbacks import CallbackRegistry as CallbackRegistry
    from planaria.session.deterministic import Deterministic as Deterministic
    from planaria.session.history import HistoryEntry as HistoryEntry
    from planaria.session.kernel_queries import Counters as Counters
    from planaria.session.kernel_queries import Prompt as Prompt
    from planaria.session.result import Completions as Completions
    from planaria.session.result import Output as Output
    from planaria.session.result import Result as Result
    from planaria.snapshot.difference import FileChanges as FileChanges
    from planaria.snapshot.difference import SnapshotDifference as SnapshotDifference
    from planaria.snapshot.difference import Variable as Variable
    from planaria.snapshot.recording import Recording as Recording
    from planaria.snapshot.snapshot import Snapshot as Snapshot
    from planaria.snapshot.snapshot import SnapshotInfo as SnapshotInfo
    from planaria.stores.file import FileStore as FileStore
    from planaria.stores.memory import MemoryStore as MemoryStore
    from planaria.stores.objects import ObjectStore as ObjectStore
    from planaria.stores.redis import RedisStore as RedisStore
    from planaria.stores.sqlite import SqliteStore as SqliteStore
    from planaria.stores.store import Store as Store
    from planaria.workspace.artifact_quota import ArtifactQuota as ArtifactQuota
    from planaria.workspace.artifacts import Artifact as Artifact
    from planaria.workspace.embedding import Embedder as Embedder
    from planaria.workspace.embedding import StaticEmbedder as StaticEmbedder
    from planaria.workspace.storage.file import FileStorage as FileStorage
    from planaria.workspace.storage.redis import RedisStorage as RedisStorage
    from planaria.workspace.storage.sqlite import SqliteStorage as SqliteStorage
    from planaria.workspace.storage.storage import Storage as Storage
    from planaria.workspace.tools.call import ToolCall as ToolCall
    from planaria.workspace.tools.middleware import ToolMiddleware as ToolMiddleware
    from planaria.workspace.tools.registry import ToolRegistry as ToolRegistry
    from planaria.workspace.tools.tool import Tool as Tool
    from planaria.workspace.tools.tool import ToolCallable as ToolCallable
    from planaria.workspace.tools.tool import ToolParameter as ToolParameter
    from planaria.workspace.tools.variables import ToolEnvironment as ToolEnvironment
    from planaria.workspace.workflows import Workflow as Workflow
    from planaria_kernel.protocol import ArrayValue as ArrayValue
    from planaria_kernel.protocol import EnumMember as EnumMember
    from planaria_kernel.protocol import FrameValue as FrameValue
    from planaria_kernel.protocol import Repr as Repr

#: The module of each public name; imported when it is first used, so that `import planaria` stays quick.
_MODULES = {
    **dict.fromkeys(errors.__all__, "planaria.errors"),
    "ArrayValue": "planaria_kernel.protocol",
    "Artifact": "planaria.workspace.artifacts",
    "ArtifactQuota": "planaria.workspace.artifact_quota",
    "AsyncBash": "planaria.session._async.bash",
    "AsyncExecution": "planaria.session._async.session",
    "AsyncSandbox": "planaria.session._async.sandbox",
    "AsyncServerSession": "planaria.session._async.remote",
    "AsyncSession": "planaria.session._async.session",
    "AsyncSessionWorkspace": "planaria.session._async.workspace",
    "Bash": "planaria.session._sync.bash",
    "Callback": "planaria.session.callbacks",
    "CallbackRegistry": "planaria.session.callbacks",
    "Completions": "planaria.session.result",
    "ContainerConfig": "planaria.executors.container",
    "ContainerExecutor": "planaria.executors.container",
    "Counters": "planaria.session.kernel_queries",
    "Deterministic": "planaria.session.deterministic",
    "Embedder": "planaria.workspace.embedding",
    "EnumMember": "planaria_kernel.protocol",
    "Execution": "planaria.session._sync.session",
    "Executor": "planaria.executors.executor",
    "FileChanges": "planaria.snapshot.difference",
    "FileDifference": "planaria.files.view",
    "FileStorage": "planaria.workspace.storage.file",
    "FileStore": "planaria.stores.file",
    "FileSystemSnapshot": "planaria.files.filesystem",
    "Files": "planaria.files.view",
    "FrameValue": "planaria_kernel.protocol",
    "FrozenClock": "planaria.machine.wasi.clock",
    "HistoryEntry": "planaria.session.history",
    "HostCall": "planaria.executors.messages",
    "Image": "planaria.images.image",
    "InProcessConfig": "planaria.executors.inprocess",
    "InProcessExecutor": "planaria.executors.inprocess",
    "Limits": "planaria.limits",
    "MemoryStore": "planaria.stores.memory",
    "Mount": "planaria.files.storage",
    "NOT_GIVEN": "planaria.limits",
    "ObjectStore": "planaria.stores.objects",
    "OffsetClock": "planaria.machine.wasi.clock",
    "Output": "planaria.session.result",
    "Prompt": "planaria.session.kernel_queries",
    "Network": "planaria.network.policy",
    "NetworkRequest": "planaria.network.policy",
    "Quota": "planaria.files.quota",
    "Secret": "planaria.network.secrets",
    "RedisStorage": "planaria.workspace.storage.redis",
    "RedisStore": "planaria.stores.redis",
    "Recording": "planaria.snapshot.recording",
    "Replay": "planaria.session._sync.replay",
    "connect": "planaria.session._sync.remote",
    "connect_async": "planaria.session._async.remote",
    "ServerConfig": "planaria.executors.server",
    "ServerExecutor": "planaria.executors.server",
    "ServerSession": "planaria.session._sync.remote",
    "replay": "planaria.session._sync.replay",
    "Repr": "planaria_kernel.protocol",
    "Result": "planaria.session.result",
    "Sandbox": "planaria.session._sync.sandbox",
    "ScriptAnalysis": "planaria.session.analysis",
    "Session": "planaria.session._sync.session",
    "SessionWorkspace": "planaria.session._sync.workspace",
    "ShellLimits": "planaria.limits",
    "Snapshot": "planaria.snapshot.snapshot",
    "SnapshotDifference": "planaria.snapshot.difference",
    "SnapshotInfo": "planaria.snapshot.snapshot",
    "SqliteStorage": "planaria.workspace.storage.sqlite",
    "SqliteStore": "planaria.stores.sqlite",
    "StaticEmbedder": "planaria.workspace.embedding",
    "Storage": "planaria.workspace.storage.storage",
    "Store": "planaria.stores.store",
    "SubprocessConfig": "planaria.executors.subprocess",
    "SubprocessExecutor": "planaria.executors.subprocess",
    "Tool": "planaria.workspace.tools.tool",
    "ToolCall": "planaria.workspace.tools.call",
    "ToolCallable": "planaria.workspace.tools.tool",
    "ToolEnvironment": "planaria.workspace.tools.variables",
    "ToolMiddleware": "planaria.workspace.tools.middleware",
    "ToolParameter": "planaria.workspace.tools.tool",
    "ToolRegistry": "planaria.workspace.tools.registry",
    "Variable": "planaria.snapshot.difference",
    "Variables": "planaria.executors.pickled_variables",
    "VfsStorage": "planaria.files.storage",
    "WasmExecutor": "planaria.executors.wasm",
    "Workflow": "planaria.workspace.workflows",
    "widget": "planaria.integrations.widget",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'planaria' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_MODULES, "__version__", "errors"])
