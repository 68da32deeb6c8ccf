# Generated from ../_async/sandbox.py by tools/generate_sync.py; change that one.
"""Executions that know nothing of each other: each starts from a fresh session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING

from planaria.errors import SessionError
from planaria.executors.executor import Executor
from planaria.files.quota import Quota
from planaria.files.storage import Mount, VfsStorage
from planaria.images.image import Image
from planaria.limits import NOT_GIVEN, Limits, NotGiven, ShellLimits
from planaria.machine.wasi.clock import Clock
from planaria.session._sync.session import Session
from planaria.session.callbacks import Callbacks
from planaria.session.deterministic import Deterministic
from planaria.session.engine import SessionEngine
from planaria.session.error_mapping import with_traceback
from planaria.session.parameters import suggest_names
from planaria.session.result import Output, Result
from planaria.session.settings import SessionSettings

if TYPE_CHECKING:
    from planaria.network.policy import Network
    from planaria.workspace.artifact_quota import ArtifactQuota
    from planaria.workspace.storage.storage import Storage
    from planaria.workspace.tools.registry import ToolRegistry
    from planaria.workspace.tools.variables import ToolEnvironment

__all__ = ["Sandbox"]


class Sandbox:
    """Python in a sandbox that is stateless: `execute` and `run` are those of `Session`, each in a fresh
    one.

    May be used from several threads at once; the executions run in parallel.
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
        """Takes what `Session` takes.

        A storage given as `vfs=` and `mounts` are shared by all executions; everything else, the session's
        own files included, starts fresh with each.
        """
        self._settings = SessionSettings(
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
        self._count = 0
        SessionEngine(self._settings).close()  # what is wrong with the arguments is reported now

    @property
    def execution_count(self) -> int:
        """How many executions there have been."""
        return self._count

    def run(self, code: str, timeout: float | NotGiven | None = NOT_GIVEN) -> Result:
        """Execute `code`; what it raises is in the result's `error`. See `Session.run`.

        Host calls of tasks that the code leaves running are made; then asynchronous ones are cancelled.
        """
        engine = SessionEngine(self._settings)
        with Session._around(engine) as session:
            result = session.run(code, timeout)
            if result.callback_invocations:
                bound = self._settings.bounds.timeout if isinstance(timeout, NotGiven) else timeout
                left = None if bound is None else max(0.0, bound - result.duration_ms / 1e3)
                session._turns.call(lambda: engine.host_calls.let_begin(left))
        self._count += 1
        result.execution_count = self._count
        if result.suspended:
            raise SessionError(
                "a callback raised Suspend, but a sandbox keeps no execution that waits; use a Session"
            )
        return result

    def execute(self, code: str, *, timeout: float | NotGiven | None = NOT_GIVEN) -> Result:
        """Execute `code` as `run` does, and raise its error."""
        result = self.run(code, timeout)
        if result.error is not None:
            raise with_traceback(result.error)
        return result
