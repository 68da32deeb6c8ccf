"""The ways to create a session, each with all its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Self

from planaria.executors.executor import Executor
from planaria.files.quota import Quota
from planaria.files.storage import Mount, VfsStorage
from planaria.images.image import Image
from planaria.limits import NOT_GIVEN, Limits, NotGiven, ShellLimits
from planaria.machine.wasi.clock import Clock
from planaria.session import snapshots
from planaria.session._async.turns import AsyncTurns
from planaria.session.callbacks import Callbacks
from planaria.session.deterministic import Deterministic
from planaria.session.engine import SessionEngine
from planaria.session.parameters import suggest_names
from planaria.session.phases import Phase
from planaria.session.result import Output
from planaria.session.settings import SessionSettings
from planaria.snapshot.compatibility import Missing
from planaria.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from planaria.network.policy import Network
    from planaria.workspace.artifact_quota import ArtifactQuota
    from planaria.workspace.storage.storage import Storage
    from planaria.workspace.tools.registry import ToolRegistry
    from planaria.workspace.tools.variables import ToolEnvironment

__all__ = ["AsyncSessionConstructors"]

Place = str | PathLike[str]


class AsyncSessionConstructors:
    """How an `AsyncSession` comes to its engine, and to turns at it."""

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
        """Create a session; the runtime is compiled first when this user has none yet (15 s, once).

        `callbacks` are functions, dicts with name, fn, description and schema, or a `CallbackRegistry`.
        `limits` and `shell_limits` limit what code and scripts use; `execution_timeout_ms` is
        `limits.timeout` in milliseconds.

        `vfs` is a storage to share and keep, seen at `vfs_mount_path`; `mounts` are directories of the
        host; `quota` limits the session's own files (1 GiB and a million nodes unless given).

        `commands` are commands for the shell: functions of arguments (list of str), standard input (bytes)
        and environment that return a str or bytes to print, an exit status, or (status, output, errors).

        `env` are environment variables beside the usual ones; nothing comes from the host's. `stdin` feeds
        `input()`, `sys.stdin`, descriptor 0 and scripts: a string, or a function of the prompt that returns a
        line or None. `argv` is `sys.argv`, and `$0` and the positional parameters of the shell.
        `clock` replaces the time (see `planaria.FrozenClock`), `seed` makes every random number repeatable;
        `deterministic` (a `planaria.Deterministic`) is both and more, so that the same code and answers
        give the same `state_digest()` anywhere. With `record`, what comes from outside is kept, so that
        `recording()` can be done again, and `undo` goes back to any execution that it holds.

        `on_stdout(text)`, `on_stderr(text)` and `on_output(stream, text or Output)` are called as output
        arrives, `on_bytes(descriptor, bytes)` with exactly what is written to descriptor 1 or 2, also
        beyond `limits.output`.

        `image` is what the session begins from: a `planaria.Image`, or the name of one that was built or
        saved before.

        `executor` runs its kernel, a `WasmExecutor` unless given. What belongs to the sandbox alone (files,
        images, clock) is refused with another one.

        With `storage`, `tools` or both the session has a workspace: code finds `tools`, `workflows`,
        `artifacts` and `deps`. `storage` is where it is kept (see `planaria.FileStorage`). `tools` come
        beside those that the storage defines: a list of functions, objects and `planaria.Tool`s, or a
        directory of YAML files; or a `planaria.ToolRegistry`, which is taken as it is. `tool_environment` has
        what definitions may refer to as `${NAME}`. `extra_deps` are requirements of this session beside the
        configured ones; with `sync_deps_on_start` all of them are installed before anything is executed.
        Without `allow_runtime_deps` code cannot change the dependencies. `artifact_quota` limits what it
        keeps as artifacts (4 GiB and 100,000 of them unless given).
        """
        self._open(
            SessionEngine(
                SessionSettings(
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
            )
        )
        self._turns.prepare()

    def _open(self, engine: SessionEngine) -> None:
        self._engine = engine
        self._turns = AsyncTurns(engine)

    @classmethod
    def _around(cls, engine: SessionEngine) -> Self:
        """A session for an engine that exists."""
        session = cls.__new__(cls)
        session._open(engine)
        return session

    # -- other ways to create one ----------------------------------------------------------------------

    @classmethod
    @suggest_names
    def from_base(
        cls,
        base: Place,
        *,
        timeout: float | None = 30.0,
        extra_deps: Sequence[str] | None = None,
        allow_runtime_deps: bool = True,
        sync_deps_on_start: bool = False,
        # settings: begin without storage extra_deps allow_runtime_deps sync_deps_on_start
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
        tools: ToolRegistry | Iterable[object] | str | PathLike[str] | None = None,
        tool_environment: ToolEnvironment | None = None,
        artifact_quota: ArtifactQuota | None = None,
        # settings: end
    ) -> Self:
        """A sandboxed session with the workspace in the directory `base`, created when it is first written
        to.

        There, `tools/` has definitions of tools, `workflows/` and `artifacts/` what sessions keep, and
        `requirements.txt` the dependencies, to which `extra_deps` are added. `timeout` is what an execution
        may take, in seconds. Without `allow_runtime_deps`, code cannot change the dependencies; with
        `sync_deps_on_start` they are installed before anything is executed. The other arguments are those of
        the constructor.
        """
        from planaria.workspace.storage.file import FileStorage

        limits = replace(limits or Limits(), timeout=timeout)
        return cls(
            storage=FileStorage(base),
            extra_deps=extra_deps or (),
            allow_runtime_deps=allow_runtime_deps,
            sync_deps_on_start=sync_deps_on_start,
            # given: begin without storage extra_deps allow_runtime_deps sync_deps_on_start
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
            tools=tools,
            tool_environment=tool_environment,
            artifact_quota=artifact_quota,
            # given: end
        )

    @classmethod
    @suggest_names
    def inprocess(
        cls,
        base_path: Place,
        *,
        timeout: float | None = 30.0,
        extra_deps: Sequence[str] | None = None,
        allow_runtime_deps: bool = True,
        sync_deps_on_start: bool = False,
        # settings: begin outside-thread
        callbacks: Callbacks = (),
        limits: Limits | None = None,
        execution_timeout_ms: float | NotGiven | None = NOT_GIVEN,
        stdin: str | Callable[[str], str | None] | None = None,
        on_stdout: Callable[[str], object] | None = None,
        on_stderr: Callable[[str], object] | None = None,
        on_output: Callable[[str, str | Output], object] | None = None,
        on_bytes: Callable[[int, bytes], object] | None = None,
        tools: ToolRegistry | Iterable[object] | str | PathLike[str] | None = None,
        tool_environment: ToolEnvironment | None = None,
        artifact_quota: ArtifactQuota | None = None,
        # settings: end
    ) -> Self:
        """As `from_base`, with the kernel on a thread of this process: the quickest, without isolation."""
        from planaria.executors.inprocess import InProcessConfig, InProcessExecutor

        config = InProcessConfig(default_timeout=timeout, allow_runtime_deps=allow_runtime_deps)
        return cls.from_base(
            base_path,
            timeout=timeout,
            extra_deps=extra_deps,
            allow_runtime_deps=allow_runtime_deps,
            sync_deps_on_start=sync_deps_on_start,
            executor=InProcessExecutor(config),
            # given: begin outside-thread
            callbacks=callbacks,
            limits=limits,
            execution_timeout_ms=execution_timeout_ms,
            stdin=stdin,
            on_stdout=on_stdout,
            on_stderr=on_stderr,
            on_output=on_output,
            on_bytes=on_bytes,
            tools=tools,
            tool_environment=tool_environment,
            artifact_quota=artifact_quota,
            # given: end
        )

    @classmethod
    @suggest_names
    def subprocess(
        cls,
        base_path: Place,
        *,
        timeout: float | None = 60.0,
        extra_deps: Sequence[str] | None = None,
        allow_runtime_deps: bool = True,
        sync_deps_on_start: bool = False,
        python_version: str | None = None,
        cache_venv: bool = True,
        # settings: begin outside-process
        callbacks: Callbacks = (),
        limits: Limits | None = None,
        execution_timeout_ms: float | NotGiven | None = NOT_GIVEN,
        env: Mapping[str, str] | None = None,
        stdin: str | Callable[[str], str | None] | None = None,
        seed: int | None = None,
        on_stdout: Callable[[str], object] | None = None,
        on_stderr: Callable[[str], object] | None = None,
        on_output: Callable[[str, str | Output], object] | None = None,
        on_bytes: Callable[[int, bytes], object] | None = None,
        argv: Sequence[str] = ("",),
        tools: ToolRegistry | Iterable[object] | str | PathLike[str] | None = None,
        tool_environment: ToolEnvironment | None = None,
        artifact_quota: ArtifactQuota | None = None,
        # settings: end
    ) -> Self:
        """As `from_base`, with the kernel in a process of its own that has a virtual environment.

        The configured dependencies are in it from the beginning. `python_version` is the environment's, this
        one's unless given; with `cache_venv` it is kept for later sessions that want the same.
        """
        from planaria.executors.subprocess import SubprocessConfig, SubprocessExecutor

        config = SubprocessConfig(
            deps=_configured(base_path, extra_deps),
            default_timeout=timeout,
            allow_runtime_deps=allow_runtime_deps,
            python_version=python_version,
            cache_venv=cache_venv,
        )
        return cls.from_base(
            base_path,
            timeout=timeout,
            extra_deps=extra_deps,
            allow_runtime_deps=allow_runtime_deps,
            sync_deps_on_start=sync_deps_on_start,
            executor=SubprocessExecutor(config),
            # given: begin outside-process
            callbacks=callbacks,
            limits=limits,
            execution_timeout_ms=execution_timeout_ms,
            env=env,
            stdin=stdin,
            seed=seed,
            on_stdout=on_stdout,
            on_stderr=on_stderr,
            on_output=on_output,
            on_bytes=on_bytes,
            argv=argv,
            tools=tools,
            tool_environment=tool_environment,
            artifact_quota=artifact_quota,
            # given: end
        )

    @classmethod
    @suggest_names
    def container(
        cls,
        base_path: Place,
        *,
        timeout: float | None = 60.0,
        extra_deps: Sequence[str] | None = None,
        allow_runtime_deps: bool = True,
        sync_deps_on_start: bool = False,
        image: str | None = None,
        python_version: str | None = None,
        network: bool = False,
        # settings: begin outside-process
        callbacks: Callbacks = (),
        limits: Limits | None = None,
        execution_timeout_ms: float | NotGiven | None = NOT_GIVEN,
        env: Mapping[str, str] | None = None,
        stdin: str | Callable[[str], str | None] | None = None,
        seed: int | None = None,
        on_stdout: Callable[[str], object] | None = None,
        on_stderr: Callable[[str], object] | None = None,
        on_output: Callable[[str, str | Output], object] | None = None,
        on_bytes: Callable[[int, bytes], object] | None = None,
        argv: Sequence[str] = ("",),
        tools: ToolRegistry | Iterable[object] | str | PathLike[str] | None = None,
        tool_environment: ToolEnvironment | None = None,
        artifact_quota: ArtifactQuota | None = None,
        # settings: end
    ) -> Self:
        """As `from_base`, with the kernel in a container of Docker or Podman.

        The configured dependencies are in it from the beginning. `image` has a Python of 3.11 or newer; the
        official one of `python_version` unless given. Without `network` nothing can be installed later.
        """
        from planaria.executors.container import ContainerConfig, ContainerExecutor

        config = ContainerConfig(
            image=image,
            network=network,
            deps=_configured(base_path, extra_deps),
            default_timeout=timeout,
            allow_runtime_deps=allow_runtime_deps,
        )
        if python_version is not None:
            config = replace(config, python_version=python_version)
        return cls.from_base(
            base_path,
            timeout=timeout,
            extra_deps=extra_deps,
            allow_runtime_deps=allow_runtime_deps,
            sync_deps_on_start=sync_deps_on_start,
            executor=ContainerExecutor(config),
            # given: begin outside-process
            callbacks=callbacks,
            limits=limits,
            execution_timeout_ms=execution_timeout_ms,
            env=env,
            stdin=stdin,
            seed=seed,
            on_stdout=on_stdout,
            on_stderr=on_stderr,
            on_output=on_output,
            on_bytes=on_bytes,
            argv=argv,
            tools=tools,
            tool_environment=tool_environment,
            artifact_quota=artifact_quota,
            # given: end
        )

    @classmethod
    @suggest_names
    def from_snapshot(
        cls,
        snapshot: Snapshot | bytes,
        *,
        key: bytes | str | None = None,
        missing: Missing = "error",
        reseed: bool = True,
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
        """A new session that continues from a snapshot; it is restored on the calling thread.

        `key`, `missing` and `reseed` are those of `restore_state`, whose errors are raised; the other
        arguments are the constructor's.
        """
        session = cls(
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
        engine = session._engine
        try:
            if engine.phase is Phase.NEW:
                engine.start()
            snapshots.restore_snapshot(engine, snapshot, key, missing, reseed)
        except BaseException:
            engine.close()
            raise
        return session


def _configured(base: Place, extra_deps: Sequence[str] | None) -> tuple[str, ...]:
    """The requirements of the workspace in a directory, and others."""
    from planaria.workspace.dependencies import requirements_of
    from planaria.workspace.storage.file import FileStorage

    return (*FileStorage(base).get_dependency_list().list(), *requirements_of(extra_deps or ()))
