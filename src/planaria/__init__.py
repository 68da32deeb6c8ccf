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
    from planaria.errors import RuntimeSetupError as RuntimeSetupError
    from planaria.errors import SessionBusy as SessionBusy
    from planaria.errors import SessionClosed as SessionClosed
    from planaria.errors import SessionError as SessionError
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
    from planaria.executors.subprocess import SubprocessConfig as SubprocessConfig
    from planaria.executors.subprocess import SubprocessExecutor as SubprocessExecutor
    from planaria.executors.variables import Variables as Variables
    from planaria.executors.wasm import WasmExecutor as WasmExecutor
    from planaria.files.quota import Quota as Quota
    from planaria.files.storage import Mount as Mount
    from planaria.files.storage import VfsStorage as VfsStorage
    from planaria.images.image import Image as Image
    from planaria.limits import NOT_GIVEN as NOT_GIVEN
    from planaria.limits import Limits as Limits
    from planaria.limits import ShellLimits as ShellLimits
    from planaria.machine.wasi.clock import FrozenClock as FrozenClock
    from planaria.machine.wasi.clock import OffsetClock as OffsetClock
    from planaria.session.analysis import ScriptAnalysis as ScriptAnalysis
    from planaria.session.async_session import AsyncSession as AsyncSession
    from planaria.session.bash import AsyncBash as AsyncBash
    from planaria.session.bash import Bash as Bash
    from planaria.session.callbacks import Callback as Callback
    from planaria.session.callbacks import CallbackRegistry as CallbackRegistry
    from planaria.session.result import Completions as Completions
    from planaria.session.result import Output as Output
    from planaria.session.result import Result as Result
    from planaria.session.run import HostCall as HostCall
    from planaria.session.sandbox import AsyncSandbox as AsyncSandbox
    from planaria.session.sandbox import Sandbox as Sandbox
    from planaria.session.session import Session as Session
    from planaria.snapshot.snapshot import Snapshot as Snapshot
    from planaria.stores.file import FileStore as FileStore
    from planaria.stores.memory import MemoryStore as MemoryStore
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
    from planaria.workspace.tools.environment import ToolEnvironment as ToolEnvironment
    from planaria.workspace.tools.middleware import ToolMiddleware as ToolMiddleware
    from planaria.workspace.tools.registry import ToolRegistry as ToolRegistry
    from planaria.workspace.tools.tool import Tool as Tool
    from planaria.workspace.tools.tool import ToolCallable as ToolCallable
    from planaria.workspace.tools.tool import ToolParameter as ToolParameter
    from planaria.workspace.workflows import Workflow as Workflow
    from planaria_kernel.protocol import Repr as Repr

#: Where each public name lives; imported when it is first used, so that `import planaria` stays quick.
_HOMES = {
    **dict.fromkeys(errors.__all__, "planaria.errors"),
    "Artifact": "planaria.workspace.artifacts",
    "ArtifactQuota": "planaria.workspace.artifact_quota",
    "AsyncBash": "planaria.session.bash",
    "AsyncSandbox": "planaria.session.sandbox",
    "AsyncSession": "planaria.session.async_session",
    "Bash": "planaria.session.bash",
    "Callback": "planaria.session.callbacks",
    "CallbackRegistry": "planaria.session.callbacks",
    "Completions": "planaria.session.result",
    "ContainerConfig": "planaria.executors.container",
    "ContainerExecutor": "planaria.executors.container",
    "Embedder": "planaria.workspace.embedding",
    "Executor": "planaria.executors.executor",
    "FileStorage": "planaria.workspace.storage.file",
    "FileStore": "planaria.stores.file",
    "FrozenClock": "planaria.machine.wasi.clock",
    "HostCall": "planaria.session.run",
    "Image": "planaria.images.image",
    "InProcessConfig": "planaria.executors.inprocess",
    "InProcessExecutor": "planaria.executors.inprocess",
    "Limits": "planaria.limits",
    "MemoryStore": "planaria.stores.memory",
    "Mount": "planaria.files.storage",
    "NOT_GIVEN": "planaria.limits",
    "OffsetClock": "planaria.machine.wasi.clock",
    "Output": "planaria.session.result",
    "Quota": "planaria.files.quota",
    "RedisStorage": "planaria.workspace.storage.redis",
    "RedisStore": "planaria.stores.redis",
    "Repr": "planaria_kernel.protocol",
    "Result": "planaria.session.result",
    "Sandbox": "planaria.session.sandbox",
    "ScriptAnalysis": "planaria.session.analysis",
    "Session": "planaria.session.session",
    "ShellLimits": "planaria.limits",
    "Snapshot": "planaria.snapshot.snapshot",
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
    "ToolEnvironment": "planaria.workspace.tools.environment",
    "ToolMiddleware": "planaria.workspace.tools.middleware",
    "ToolParameter": "planaria.workspace.tools.tool",
    "ToolRegistry": "planaria.workspace.tools.registry",
    "Variables": "planaria.executors.variables",
    "VfsStorage": "planaria.files.storage",
    "WasmExecutor": "planaria.executors.wasm",
    "Workflow": "planaria.workspace.workflows",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'planaria' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
