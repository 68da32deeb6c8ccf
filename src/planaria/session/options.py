"""The arguments of `Session`, for what passes them on: pools and the adapters for frameworks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypedDict

from planaria.executors.executor import Executor
from planaria.files.quota import Quota
from planaria.files.storage import Mount, VfsStorage
from planaria.images.image import Image
from planaria.limits import Limits, NotGiven, ShellLimits
from planaria.machine.wasi.clock import Clock
from planaria.session.callbacks import Callbacks
from planaria.session.deterministic import Deterministic
from planaria.session.result import Output

if TYPE_CHECKING:
    from planaria.network.policy import Network
    from planaria.workspace.artifact_quota import ArtifactQuota
    from planaria.workspace.storage.storage import Storage
    from planaria.workspace.tools.registry import ToolRegistry
    from planaria.workspace.tools.variables import ToolEnvironment

__all__ = ["SessionArguments", "SessionArgumentsBesideTools", "SessionOptions"]


class _CommonArguments(TypedDict, total=False):
    """What all of these have."""

    # options: begin without callbacks executor tools
    limits: Limits | None
    shell_limits: ShellLimits | None
    execution_timeout_ms: float | NotGiven | None
    vfs: VfsStorage | None
    vfs_mount_path: str
    mounts: Sequence[Mount]
    quota: Quota | None
    network: Network | None
    commands: Mapping[str, Callable[..., object]] | None
    env: Mapping[str, str] | None
    stdin: str | Callable[[str], str | None] | None
    clock: Clock | None
    seed: int | None
    deterministic: Deterministic | None
    record: bool
    on_stdout: Callable[[str], object] | None
    on_stderr: Callable[[str], object] | None
    on_output: Callable[[str, str | Output], object] | None
    on_bytes: Callable[[int, bytes], object] | None
    argv: Sequence[str]
    image: str | Image | None
    storage: Storage | None
    tool_environment: ToolEnvironment | None
    extra_deps: Sequence[str]
    allow_runtime_deps: bool
    sync_deps_on_start: bool
    artifact_quota: ArtifactQuota | None
    # options: end


class SessionOptions(_CommonArguments, total=False):
    """Those that a pool takes as they are; it sends them to its workers, so they are pickled."""

    tools: ToolRegistry | Iterable[object] | str | PathLike[str] | None


class SessionArgumentsBesideTools(_CommonArguments, total=False):
    """Those of an adapter whose own `tools` are of its framework."""

    callbacks: Callbacks
    executor: Executor | None


class SessionArguments(SessionOptions, SessionArgumentsBesideTools, total=False):
    """All arguments of `planaria.Session`."""
