# Generated from ../_async/session.py by tools/generate_sync.py; change that one.
"""Sessions: what runs Python and shell scripts, and keeps their state between calls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, TypeVar, overload

from planaria.errors import SessionClosed, Suspended
from planaria.executors.executor import Executor
from planaria.executors.pickled_variables import Variables
from planaria.files.quota import Quota
from planaria.files.storage import Mount, VfsStorage
from planaria.files.view import Files
from planaria.images.image import Image
from planaria.limits import NOT_GIVEN, Limits, NotGiven, ShellLimits
from planaria.machine.wasi.clock import Clock
from planaria.session import kernel_queries, snapshots
from planaria.session._sync.execution import Execution
from planaria.session._sync.turns import Turns, interruption
from planaria.session._sync.workspace import SessionWorkspace
from planaria.session.analysis import ScriptAnalysis
from planaria.session.callbacks import Callbacks
from planaria.session.engine import Phase, SessionEngine, Step
from planaria.session.error_mapping import with_traceback
from planaria.session.execution_state import ExecutionState
from planaria.session.history import HistoryEntry
from planaria.session.parameters import suggest_names
from planaria.session.result import Completions, Output, Result
from planaria.session.settings import SessionSettings, bytes_of_stdin
from planaria.snapshot.compatibility import Missing
from planaria.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from planaria.network.policy import Network
    from planaria.workspace.artifact_quota import ArtifactQuota
    from planaria.workspace.storage.storage import Storage
    from planaria.workspace.tools.registry import ToolRegistry
    from planaria.workspace.tools.variables import ToolEnvironment

__all__ = ["Session"]

Place = str | PathLike[str]
T = TypeVar("T")

Detail = Literal["names", "signatures", "docstrings"]


class Session:
    """Python in a sandbox, stateful between calls, for any thread.

    One execution at a time, others wait for their turn. Plain callbacks run on threads (see
    `Callback.on_caller_thread`), asynchronous ones on one event loop that all sessions of the process share.
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
        `input()` and scripts: a string, or a function of the prompt that returns a line or None. `argv` is
        `sys.argv`, and `$0` and the positional parameters of the shell.
        `clock` replaces the time (see `planaria.FrozenClock`), `seed` makes every random number repeatable.

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
        self._turns = Turns(engine)

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
        """A new session that continues from a snapshot.

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

    # -- executing ------------------------------------------------------------------------------------

    def run(
        self, code: str, timeout: float | NotGiven | None = NOT_GIVEN, *, name: str | None = None
    ) -> Result:
        """Execute `code`; what it raises is in the result's `error`.

        `timeout` is in seconds, None for no limit; not given, the session's limit applies. `name` is what
        tracebacks call the source, `<cell N>` unless given. Raises only for misuse (SessionClosed,
        SessionBusy, TypeError, ValueError), KeyboardInterrupt after Ctrl-C (with an `Interrupted` as its
        cause), and what an `on_stdout` function of yours raised.
        """
        with self._turns.held():
            execution = self._engine.begin(code, timeout, name)
            return self._advance(execution, sleep=True)

    def execute(
        self, code: str, timeout: float | NotGiven | None = NOT_GIVEN, *, name: str | None = None
    ) -> Result:
        """Execute `code` as `run` does, and raise its error: ExecutionError, TimeoutError, LimitError …

        The traceback of the code is a note of the exception (`__notes__`), so that Python shows both.
        """
        result = self.run(code, timeout, name=name)
        if result.error is not None:
            raise with_traceback(result.error)
        if result.suspended:
            names = ", ".join(f"{call.name}()" for call in result.suspended)
            raise Suspended(f"the execution waits for {names}; see session.run_in_progress", result.suspended)
        return result

    def bash(
        self,
        script: str,
        timeout: float | NotGiven | None = NOT_GIVEN,
        *,
        stdin: str | bytes = b"",
    ) -> Result:
        """Run a script in the session's shell, which keeps its state from one call to the next.

        An exit status that is not 0 is not an error: it is the result's `exit_code`. Raises TimeoutError and
        the other errors of a stopped execution, TypeError when `stdin` is neither a string nor bytes.
        """
        result = self._run_script(script, timeout, stdin)
        if result.error is not None:
            raise result.error
        return result

    def _run_script(self, script: str, timeout: float | NotGiven | None, stdin: str | bytes) -> Result:
        with self._turns.held():
            self._engine.executor.require("shell")
            execution = self._engine.begin(script, timeout, stdin=bytes_of_stdin(stdin))
            return self._advance(execution, sleep=True)

    def analyze(self, script: str) -> ScriptAnalysis:
        """The commands, files and variables that a script for the shell names, without running it."""
        return self._ask(lambda engine: kernel_queries.analyze(engine, script))

    @overload
    def start(self) -> None: ...

    @overload
    def start(self, code: str, timeout: float | NotGiven | None = NOT_GIVEN) -> Execution: ...

    def start(
        self, code: str | None = None, timeout: float | NotGiven | None = NOT_GIVEN
    ) -> Execution | None:
        """Begin to execute `code` and return when it is over or waits.

        Without `code`, only make the session ready, which is done before the first execution anyway: its
        kernel is started, and with `sync_deps_on_start` its dependencies are installed.

        Callbacks are called as in `run`; one that raises `Suspend` leaves its call pending, for
        `Execution.resolve`. While the execution waits the session can be captured, forked and closed.
        """
        with self._turns.held():
            if code is None:
                return None
            execution = self._engine.begin(code, timeout)
            self._advance(execution, sleep=False)
            return Execution(self, execution)

    @property
    def run_in_progress(self) -> Execution | None:
        """The execution that waits in this session, if one does."""
        execution = self._engine.execution
        return None if execution is None else Execution(self, execution)

    def _advance(self, execution: ExecutionState, *, sleep: bool) -> Result:
        """Take an execution as far as it goes: to its end, or until only suspended calls could help; without
        `sleep` also until only a timer could. The result so far.
        """
        engine, turns = self._engine, self._turns
        try:
            while True:
                try:
                    step = engine.next_step(execution, sleep)
                    if step is Step.ENTER:
                        turns.enter(execution)
                    elif step is Step.WAIT:
                        turns.wait(execution)
                    else:
                        break
                except interruption() as error:
                    execution.interrupted_by(error)
        except BaseException as error:
            engine.abandon(execution, error)
            raise
        return engine.outcome(execution)

    def _resume(
        self, execution: ExecutionState, prepare: Callable[[SessionEngine], None], *, sleep: bool
    ) -> Result:
        """Prepare the execution that waits, then take it as far as it goes."""
        with self._turns.held():
            self._engine.check_in_flight(execution)
            prepare(self._engine)
            execution.go_on()
            return self._advance(execution, sleep=sleep)

    def _ask(self, function: Callable[[SessionEngine], T]) -> T:
        """Hold the session and call a function of its engine, which may block."""
        with self._turns.held():
            return self._turns.call(lambda: function(self._engine))

    def complete(self, text: str, cursor: int | None = None) -> Completions:
        """What can stand at `cursor` (by default the end) in `text`, from the state of the session.

        No code of the user's is run for it.
        """
        return self._ask(lambda engine: kernel_queries.complete_code(engine, text, cursor))

    def interrupt(self) -> None:
        """Stop the execution that runs now, from another thread: it ends with `Interrupted`."""
        self._engine.interrupt()

    # -- state ----------------------------------------------------------------------------------------

    def clear_state(self) -> None:
        """Forget all variables; modules, files and this instance stay."""
        self._ask(lambda engine: engine.clear())

    def reset(self) -> None:
        """Start again with a new instance; files stay."""
        self._ask(lambda engine: engine.reset())

    def fork(self, n: int = 1, *, reseed: bool = True) -> list[Self]:
        """`n` running copies of this session; memory and files are shared until they change.

        With `reseed`, `random`, numpy's global generator and temporary names do not repeat between copies.
        """
        with self._turns.held():
            return [self._around(engine) for engine in self._engine.fork(n, reseed)]

    def checkpoint(self, label: str) -> None:
        """Keep the present state under `label`, for `rewind`; an older one of that label is replaced."""
        with self._turns.held():
            self._engine.checkpoint(label)

    def rewind(self, place: str | int) -> None:
        """Go back to a checkpoint by its label, or to the state after so many executions.

        Raises SessionError, and changes nothing, when that state was not kept.
        """
        with self._turns.held():
            self._engine.rewind(place)

    def undo(self, n: int = 1) -> None:
        """Take back the last `n` executions; `redo` takes that back."""
        with self._turns.held():
            self._engine.undo(n)

    def redo(self) -> None:
        """Take back an `undo`, as long as nothing was executed since."""
        with self._turns.held():
            self._engine.redo()

    @property
    def history(self) -> list[HistoryEntry]:
        """The executions so far, the oldest first."""
        return self._engine.history.entries

    # -- snapshots -------------------------------------------------------------------------------------

    def snapshot_state(self, *, parent: Snapshot | None = None, key: bytes | str | None = None) -> Snapshot:
        """The whole present state as a value: variables, modules, files, open descriptors, an execution
        that waits.

        With `parent`, an earlier snapshot, only what changed since is in it; restoring it takes both. With
        `key` it is signed, and can be restored with that key only. Raises SnapshotError when a waiting call
        has arguments that cannot be written, SnapshotKeyError when the key is empty or not the parent's,
        SnapshotMismatch when the parent is of another image.
        """
        return self._ask(lambda engine: snapshots.take_snapshot(engine, parent, key))

    def restore_state(
        self,
        snapshot: Snapshot | bytes,
        *,
        key: bytes | str | None = None,
        missing: Missing = "error",
        reseed: bool = True,
    ) -> None:
        """Become what a snapshot is, in place of the present state; checkpoints and history restart.

        `missing` says what happens when the snapshot had callbacks or mounts that this session lacks or has
        differently: "error" refuses it, "warn" and "ignore" continue, and a missing callback raises when it
        is called. Unless this session has a seed, or `reseed` is False, random numbers and temporary names
        will differ from those in other sessions that are restored from it.

        Raises SnapshotError (SnapshotCorrupt, SnapshotVersionError, SnapshotKeyError, SnapshotMismatch);
        the session is then as it was.
        """
        self._ask(lambda engine: snapshots.restore_snapshot(engine, snapshot, key, missing, reseed))

    def pickle_variables(self) -> Variables:
        """The user's variables, as far as `cloudpickle` can write them, where the whole state cannot be had.

        What could not be written is in `dropped`. Capability: snapshot_pickle. Raises SnapshotError.
        """
        return self._ask(snapshots.pickle_variables)

    def unpickle_variables(self, variables: Variables | bytes) -> None:
        """Take variables in place of the present ones; only the kernel opens the pickle, which is as good as
        running code.

        Raises SnapshotMismatch when they are from another kind of executor or version of Python,
        SnapshotCorrupt, and SnapshotError when the kernel cannot open them.
        """
        self._ask(lambda engine: snapshots.unpickle_variables(engine, variables))

    def save_as_image(self, name: str) -> Image:
        """Make the present state an image that new sessions can begin from, registered as `name`.

        It has the variables, modules and files; not the callbacks, mounts, `vfs=` and history. Snapshots of
        sessions that begin from it can be restored only where the image is. Raises ImageError, and
        SessionBusy when an execution or a task waits.
        """
        return self._ask(lambda engine: snapshots.save_as_image(engine, name))

    # -- what it is made of ------------------------------------------------------------------------------

    @property
    def execution_count(self) -> int:
        """How many executions there have been."""
        return self._engine.count

    @property
    def limits(self) -> Limits:
        return self._engine.settings.bounds

    @property
    def files(self) -> Files:
        """The session's files, read and written from the host without running code.

        Names that are not absolute are below /home/user. Raises CapabilityError.
        """
        return self._engine.files

    def supports(self, capability: str) -> bool:
        """Whether this session's executor has a capability; see `supported_capabilities`."""
        return capability in self._engine.executor.capabilities

    def supported_capabilities(self) -> set[str]:
        """What the executor of this session supports, by name; see `planaria.Executor.capabilities`."""
        return set(self._engine.executor.capabilities)

    # -- the workspace -----------------------------------------------------------------------------------

    @property
    def workspace(self) -> SessionWorkspace:
        """The workspace, with its tools, workflows, artifacts, dependencies and storage.

        Raises SessionError when this session has none.
        """
        return SessionWorkspace(type(self).__name__, self._engine, self._turns)

    @property
    def storage(self) -> Storage:
        """Where the workspace is kept; see `workspace.storage`."""
        return self.workspace.storage

    @property
    def tools(self) -> ToolRegistry:
        """The tools of the workspace; see `workspace.tools.registry`."""
        return self.workspace.tools.registry

    def tool_stubs(self, detail: Detail = "docstrings") -> str:
        """The tools as Python signatures; see `workspace.tools.stubs`."""
        return self.workspace.tools.stubs(detail)

    def list_tools(self) -> list[dict[str, Any]]:
        """See `workspace.tools.list`."""
        return self.workspace.tools.list()

    def search_tools(self, query: str, limit: int = 10) -> list[dict[str, Any]]:
        """See `workspace.tools.search`."""
        return self.workspace.tools.search(query, limit)

    def list_workflows(self) -> list[dict[str, Any]]:
        """See `workspace.workflows.list`."""
        return self.workspace.workflows.list()

    def search_workflows(self, query: str, limit: int = 5) -> list[dict[str, Any]]:
        """See `workspace.workflows.search`."""
        return self.workspace.workflows.search(query, limit)

    def get_workflow(self, name: str, version: int | None = None) -> dict[str, Any] | None:
        """See `workspace.workflows.get`."""
        return self.workspace.workflows.get(name, version)

    def add_workflow(self, name: str, source: str, description: str = "") -> dict[str, Any]:
        """See `workspace.workflows.add`."""
        return self.workspace.workflows.add(name, source, description)

    def remove_workflow(self, name: str) -> bool:
        """See `workspace.workflows.remove`."""
        return self.workspace.workflows.remove(name)

    def list_artifacts(self) -> list[dict[str, Any]]:
        """See `workspace.artifacts.list`."""
        return self.workspace.artifacts.list()

    def save_artifact(
        self,
        name: str,
        data: object,
        description: str = "",
        metadata: Mapping[str, object] | None = None,
    ) -> dict[str, Any]:
        """See `workspace.artifacts.save`."""
        return self.workspace.artifacts.save(name, data, description, metadata)

    def load_artifact(self, name: str) -> Any:
        """See `workspace.artifacts.load`."""
        return self.workspace.artifacts.load(name)

    def delete_artifact(self, name: str) -> bool:
        """See `workspace.artifacts.delete`."""
        return self.workspace.artifacts.delete(name)

    def list_deps(self) -> list[str]:
        """See `workspace.deps.list`."""
        return self.workspace.deps.list()

    def add_dep(self, package: str) -> dict[str, Any]:
        """See `workspace.deps.add`."""
        return self.workspace.deps.add(package)

    def remove_dep(self, package: str) -> dict[str, Any]:
        """See `workspace.deps.remove`."""
        return self.workspace.deps.remove(package)

    def sync_deps(self) -> dict[str, Any]:
        """See `workspace.deps.sync`."""
        return self.workspace.deps.sync()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled; use snapshot_state(), whose bytes can be stored, "
            "and from_snapshot()"
        )

    def __repr__(self) -> str:
        engine = self._engine
        if engine.phase is Phase.CLOSED:
            return f"<{type(self).__name__} closed>"
        count = engine.count
        plural = "" if count == 1 else "s"
        return f"<{type(self).__name__} {engine.executor.name}, {count} execution{plural}>"

    # -- closing -----------------------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        return self._engine.phase is Phase.CLOSED

    def close(self) -> None:
        """Release the sandbox. Closing twice is harmless; anything else afterwards is SessionClosed."""
        with contextlib.suppress(SessionClosed), self._turns.closing():
            self._turns.call(self._engine.close)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _configured(base: Place, extra_deps: Sequence[str] | None) -> tuple[str, ...]:
    """The requirements of the workspace in a directory, and others."""
    from planaria.workspace.dependencies import requirements_of
    from planaria.workspace.storage.file import FileStorage

    return (*FileStorage(base).get_dependency_list().list(), *requirements_of(extra_deps or ()))
