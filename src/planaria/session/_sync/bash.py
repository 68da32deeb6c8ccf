# Generated from ../_async/bash.py by tools/generate_sync.py; change that one.
"""A shell of its own: a session whose language is bash."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Self

from planaria.executors.executor import Executor
from planaria.files.filesystem import FileSystemSnapshot
from planaria.files.quota import Quota
from planaria.files.storage import Mount, VfsStorage
from planaria.files.view import Files
from planaria.images.image import Image
from planaria.limits import NOT_GIVEN, Limits, NotGiven, ShellLimits
from planaria.machine.wasi.clock import Clock
from planaria.session import kernel_queries
from planaria.session._sync.session import Session
from planaria.session.analysis import ScriptAnalysis
from planaria.session.callbacks import Callbacks
from planaria.session.deterministic import Deterministic
from planaria.session.kernel_queries import Counters, Document, Prompt
from planaria.session.parameters import suggest_names
from planaria.session.result import Completions, Output, Result
from planaria.snapshot.compatibility import Missing
from planaria.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from planaria.network.policy import Network
    from planaria.workspace.artifact_quota import ArtifactQuota
    from planaria.workspace.storage.storage import Storage
    from planaria.workspace.tools.registry import ToolRegistry
    from planaria.workspace.tools.variables import ToolEnvironment

__all__ = ["Bash"]


class Bash:
    """A bash that keeps its state between calls, in a sandbox with files and Python of its own.

    Takes the arguments of `Session`. `session` is the session that it belongs to: Python on the same
    files, forks, checkpoints, undo.
    """

    @suggest_names
    def __init__(
        self,
        *,
        # settings: begin
        callbacks: Callbacks = (),
        limits: Limits | None = None,
        shell_limits: ShellLimits | None = None,
        execution_timeout_ms: float | NotGiven | None = NOT_GIVEN,
        vfs: VfsStorage | None = None,
        vfs_mount_path: str = "/data",
        mounts: Sequence[Mount] = (),
        quota: Quota | None = None,
        network: Network | None = None,
        commands: Mapping[str, Callable[..., object]] | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | Callable[[str], str | None] | None = None,
        clock: Clock | None = None,
        seed: int | None = None,
        deterministic: Deterministic | None = None,
        record: bool = False,
        on_stdout: Callable[[str], object] | None = None,
        on_stderr: Callable[[str], object] | None = None,
        on_output: Callable[[str, str | Output], object] | None = None,
        on_bytes: Callable[[int, bytes], object] | None = None,
        argv: Sequence[str] = ("",),
        image: str | Image | None = None,
        executor: Executor | None = None,
        storage: Storage | None = None,
        tools: ToolRegistry | Iterable[object] | str | PathLike[str] | None = None,
        tool_environment: ToolEnvironment | None = None,
        extra_deps: Sequence[str] = (),
        allow_runtime_deps: bool = True,
        sync_deps_on_start: bool = False,
        artifact_quota: ArtifactQuota | None = None,
        # settings: end
    ) -> None:
        self.session = Session(
            # given: begin
            callbacks=callbacks,
            limits=limits,
            shell_limits=shell_limits,
            execution_timeout_ms=execution_timeout_ms,
            vfs=vfs,
            vfs_mount_path=vfs_mount_path,
            mounts=mounts,
            quota=quota,
            network=network,
            commands=commands,
            env=env,
            stdin=stdin,
            clock=clock,
            seed=seed,
            deterministic=deterministic,
            record=record,
            on_stdout=on_stdout,
            on_stderr=on_stderr,
            on_output=on_output,
            on_bytes=on_bytes,
            argv=argv,
            image=image,
            executor=executor,
            storage=storage,
            tools=tools,
            tool_environment=tool_environment,
            extra_deps=extra_deps,
            allow_runtime_deps=allow_runtime_deps,
            sync_deps_on_start=sync_deps_on_start,
            artifact_quota=artifact_quota,
            # given: end
        )

    @classmethod
    @suggest_names
    def from_snapshot(
        cls,
        data: bytes | Snapshot,
        *,
        missing: Missing = "error",
        # settings: begin
        callbacks: Callbacks = (),
        limits: Limits | None = None,
        shell_limits: ShellLimits | None = None,
        execution_timeout_ms: float | NotGiven | None = NOT_GIVEN,
        vfs: VfsStorage | None = None,
        vfs_mount_path: str = "/data",
        mounts: Sequence[Mount] = (),
        quota: Quota | None = None,
        network: Network | None = None,
        commands: Mapping[str, Callable[..., object]] | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | Callable[[str], str | None] | None = None,
        clock: Clock | None = None,
        seed: int | None = None,
        deterministic: Deterministic | None = None,
        record: bool = False,
        on_stdout: Callable[[str], object] | None = None,
        on_stderr: Callable[[str], object] | None = None,
        on_output: Callable[[str, str | Output], object] | None = None,
        on_bytes: Callable[[int, bytes], object] | None = None,
        argv: Sequence[str] = ("",),
        image: str | Image | None = None,
        executor: Executor | None = None,
        storage: Storage | None = None,
        tools: ToolRegistry | Iterable[object] | str | PathLike[str] | None = None,
        tool_environment: ToolEnvironment | None = None,
        extra_deps: Sequence[str] = (),
        allow_runtime_deps: bool = True,
        sync_deps_on_start: bool = False,
        artifact_quota: ArtifactQuota | None = None,
        # settings: end
    ) -> Self:
        """A new shell that continues from a snapshot; for `missing` see `restore_snapshot`, the other
        arguments are the constructor's.
        """
        shell = cls(
            # given: begin
            callbacks=callbacks,
            limits=limits,
            shell_limits=shell_limits,
            execution_timeout_ms=execution_timeout_ms,
            vfs=vfs,
            vfs_mount_path=vfs_mount_path,
            mounts=mounts,
            quota=quota,
            network=network,
            commands=commands,
            env=env,
            stdin=stdin,
            clock=clock,
            seed=seed,
            deterministic=deterministic,
            record=record,
            on_stdout=on_stdout,
            on_stderr=on_stderr,
            on_output=on_output,
            on_bytes=on_bytes,
            argv=argv,
            image=image,
            executor=executor,
            storage=storage,
            tools=tools,
            tool_environment=tool_environment,
            extra_deps=extra_deps,
            allow_runtime_deps=allow_runtime_deps,
            sync_deps_on_start=sync_deps_on_start,
            artifact_quota=artifact_quota,
            # given: end
        )
        try:
            shell.restore_snapshot(data, missing=missing)
        except BaseException:
            shell.close()
            raise
        return shell

    @classmethod
    @suggest_names
    def from_state(
        cls,
        state: Document | str,
        *,
        # settings: begin
        callbacks: Callbacks = (),
        limits: Limits | None = None,
        shell_limits: ShellLimits | None = None,
        execution_timeout_ms: float | NotGiven | None = NOT_GIVEN,
        vfs: VfsStorage | None = None,
        vfs_mount_path: str = "/data",
        mounts: Sequence[Mount] = (),
        quota: Quota | None = None,
        network: Network | None = None,
        commands: Mapping[str, Callable[..., object]] | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | Callable[[str], str | None] | None = None,
        clock: Clock | None = None,
        seed: int | None = None,
        deterministic: Deterministic | None = None,
        record: bool = False,
        on_stdout: Callable[[str], object] | None = None,
        on_stderr: Callable[[str], object] | None = None,
        on_output: Callable[[str, str | Output], object] | None = None,
        on_bytes: Callable[[int, bytes], object] | None = None,
        argv: Sequence[str] = ("",),
        image: str | Image | None = None,
        executor: Executor | None = None,
        storage: Storage | None = None,
        tools: ToolRegistry | Iterable[object] | str | PathLike[str] | None = None,
        tool_environment: ToolEnvironment | None = None,
        extra_deps: Sequence[str] = (),
        allow_runtime_deps: bool = True,
        sync_deps_on_start: bool = False,
        artifact_quota: ArtifactQuota | None = None,
        # settings: end
    ) -> Self:
        """A new shell with a state as `state()` returned it (or its JSON), which is checked before it is
        used; the other arguments are the constructor's.
        """
        document = kernel_queries.document(state)
        shell = cls(
            # given: begin
            callbacks=callbacks,
            limits=limits,
            shell_limits=shell_limits,
            execution_timeout_ms=execution_timeout_ms,
            vfs=vfs,
            vfs_mount_path=vfs_mount_path,
            mounts=mounts,
            quota=quota,
            network=network,
            commands=commands,
            env=env,
            stdin=stdin,
            clock=clock,
            seed=seed,
            deterministic=deterministic,
            record=record,
            on_stdout=on_stdout,
            on_stderr=on_stderr,
            on_output=on_output,
            on_bytes=on_bytes,
            argv=argv,
            image=image,
            executor=executor,
            storage=storage,
            tools=tools,
            tool_environment=tool_environment,
            extra_deps=extra_deps,
            allow_runtime_deps=allow_runtime_deps,
            sync_deps_on_start=sync_deps_on_start,
            artifact_quota=artifact_quota,
            # given: end
        )
        try:
            shell.session._ask(lambda engine: kernel_queries.restore_state(engine, document))
        except BaseException:
            shell.close()
            raise
        return shell

    def execute(
        self, script: str, timeout: float | NotGiven | None = NOT_GIVEN, *, stdin: str | bytes = b""
    ) -> Result:
        """Run a script; see `Session.bash`."""
        return self.session.bash(script, timeout, stdin=stdin)

    def run(
        self, script: str, timeout: float | NotGiven | None = NOT_GIVEN, *, stdin: str | bytes = b""
    ) -> Result:
        """Run a script as `execute` does; the error of one that was stopped is in the result's `error`."""
        return self.session._run_script(script, timeout, stdin)

    @property
    def files(self) -> Files:
        """The shell's files, from the host."""
        return self.session.files

    def analyze(self, script: str) -> ScriptAnalysis:
        """The commands, files and variables that a script names, without running it."""
        return self.session.analyze(script)

    # -- for a prompt -----------------------------------------------------------------------------------

    def prompt(self) -> Prompt:
        """What to show before the next command, and whether the last script called `exit`.

        From the first call on, every script is followed by what PROMPT_COMMAND holds.
        """
        return self.session._ask(kernel_queries.prompt)

    def is_complete(self, text: str) -> bool:
        """Whether `text` is a whole command, rather than one that continues in the next line."""
        return self.session._ask(lambda engine: kernel_queries.is_complete(engine, text))

    def complete(self, text: str, cursor: int | None = None) -> Completions:
        """What can stand before `cursor` (by default the end) in `text`: commands, variables, files."""
        return self.session._ask(lambda engine: kernel_queries.complete_command(engine, text, cursor))

    # -- state ----------------------------------------------------------------------------------------

    def snapshot(self, *, exclude_filesystem: bool = False, exclude_functions: bool = False) -> bytes:
        """Everything there is (shell, Python, files) as bytes for `restore_snapshot`.

        With `exclude_filesystem`, only what the shell itself holds: variables, functions, options and so on;
        restoring that leaves files and Python as they are. With `exclude_functions`, without functions.
        """
        if exclude_filesystem:
            return kernel_queries.state_alone(self.state(), exclude_functions)
        if not exclude_functions:
            return bytes(self.session.snapshot_state())
        [copy] = self.session.fork(reseed=False)
        with copy:
            copy._ask(kernel_queries.forget_functions)
            return bytes(copy.snapshot_state())

    def restore_snapshot(self, data: bytes | Snapshot, *, missing: Missing = "error") -> None:
        """Become what was captured.

        `missing` is that of `Session.restore_state`: what happens when this shell lacks callbacks or mounts.
        Raises SnapshotError, and changes nothing, when `data` is not a snapshot.
        """
        state = kernel_queries.document_in(data)
        if state is None:
            self.session.restore_state(data, missing=missing)
        else:
            self.session._ask(lambda engine: kernel_queries.restore_state(engine, state))

    def state(self) -> Document:
        """The shell's state as a readable JSON document: variables, functions, options, cwd and so on."""
        return self.session._ask(kernel_queries.state)

    def vfs_snapshot(self) -> FileSystemSnapshot:
        """The files alone, as a value for `vfs_restore`."""
        return self.session._ask(lambda engine: engine.files.filesystem.snapshot())

    def vfs_restore(self, snapshot: FileSystemSnapshot) -> None:
        """Take the files back to a captured state; files that are open become stale."""
        self.session._ask(lambda engine: engine.files.filesystem.restore(snapshot))

    def reset(self) -> None:
        """A fresh shell; files stay."""
        self.session.reset()

    def close(self) -> None:
        """Release the sandbox; closing twice is harmless."""
        self.session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def counters(self) -> Counters:
        """What has been run in this shell since it was created; a part of every snapshot."""
        return kernel_queries.counters(self.state())
