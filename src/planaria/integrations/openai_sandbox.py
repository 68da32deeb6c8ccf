"""OpenAI Agents SDK: sessions as the sandboxes of sandbox agents. Needs `planaria[openai-agents]`."""

from __future__ import annotations

import io
import shlex
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from agents.sandbox.errors import (
    ExecTimeoutError,
    ExecTransportError,
    WorkspaceArchiveReadError,
    WorkspaceArchiveWriteError,
    WorkspaceReadNotFoundError,
)
from agents.sandbox.manifest import Manifest
from agents.sandbox.session.base_sandbox_session import BaseSandboxSession
from agents.sandbox.session.sandbox_client import BaseSandboxClient, BaseSandboxClientOptions
from agents.sandbox.session.sandbox_session_state import SandboxSessionState
from agents.sandbox.session.tar_workspace import shell_tar_exclude_args
from agents.sandbox.snapshot import SnapshotBase, SnapshotSpec, resolve_snapshot
from agents.sandbox.types import ExecResult, User

from planaria.integrations.awaited import in_thread, run_command
from planaria.integrations.command_backend import BackendClosed, CommandOutputLimit, CommandTimeout
from planaria.integrations.environments import Environment, Environments
from planaria.session.options import SessionArguments
from planaria.session.parameters import suggest_session_options

if TYPE_CHECKING:
    from agents.sandbox.session.sandbox_session import SandboxSession

    from planaria.stores.store import Store

__all__ = ["PlanariaSandboxClient", "PlanariaSandboxClientOptions", "PlanariaSandboxSession"]


class PlanariaSandboxClientOptions(BaseSandboxClientOptions):
    """The options of a sandbox; it has none, the arguments of sessions are the client's."""

    type: Literal["planaria"] = "planaria"


class PlanariaSandboxState(SandboxSessionState):
    """What a sandbox is found again by."""

    type: Literal["planaria"] = "planaria"
    environment: str
    """Its id among the client's environments."""


class PlanariaSandboxSession(BaseSandboxSession):
    """A sandbox: commands run in a session of planaria, each in a process of its own."""

    state: PlanariaSandboxState

    def __init__(self, state: PlanariaSandboxState, environment: Environment) -> None:
        self.state = state
        self.environment = environment
        """The session and where it is saved; `environment.backend.session` is the session of planaria."""

    async def running(self) -> bool:
        """Whether the session is open."""
        return not self.environment.backend.is_closed

    async def read(self, path: Path, *, user: str | User | None = None) -> io.IOBase:
        """A file's contents. Raises WorkspaceReadNotFoundError when it does not exist."""
        place = await self._validate_path_access(path)
        try:
            return io.BytesIO(await in_thread(self.environment.backend.files.read, place.as_posix()))
        except FileNotFoundError as error:
            raise WorkspaceReadNotFoundError(path=place, cause=error) from error
        except (OSError, BackendClosed) as error:
            raise WorkspaceArchiveReadError(path=place, cause=error) from error

    async def write(self, path: Path, data: io.IOBase, *, user: str | User | None = None) -> None:
        """Write a file, creating the directories above it."""
        place = await self._validate_path_access(path, for_write=True)
        contents: Any = data.read()
        await self._write(place, contents.encode() if isinstance(contents, str) else bytes(contents))

    async def persist_workspace(self) -> io.IOBase:
        """The workspace as a tar archive."""
        root = Path(self.state.manifest.root)
        skipped = " ".join(shell_tar_exclude_args(self._persist_workspace_skip_relpaths()))
        archive = f"/tmp/{uuid.uuid4().hex}.tar"
        try:
            await self._checked(f"tar -cf {archive} {skipped} -C {shlex.quote(root.as_posix())} .")
            return io.BytesIO(await in_thread(self.environment.backend.files.read, archive))
        except (OSError, ValueError, BackendClosed) as error:
            raise WorkspaceArchiveReadError(path=root, cause=error) from error
        finally:
            await self._exec_internal("rm", "-f", archive)

    async def hydrate_workspace(self, data: io.IOBase) -> None:
        """Put a tar archive's files into the workspace."""
        root = Path(self.state.manifest.root)
        archive = Path(f"/tmp/{uuid.uuid4().hex}.tar")
        where = shlex.quote(root.as_posix())
        contents: Any = data.read()
        try:
            await self._write(archive, contents)
            await self._checked(f"mkdir -p {where} && tar -xf {archive} -C {where}")
        except (ValueError, BackendClosed) as error:
            raise WorkspaceArchiveWriteError(path=root, cause=error) from error
        finally:
            await self._exec_internal("rm", "-f", str(archive))

    async def _exec_internal(self, *command: str | Path, timeout: float | None = None) -> ExecResult:
        argv = [str(word) for word in command]
        backend = self.environment.backend
        root = self.state.manifest.root
        try:
            exists = await in_thread(backend.files.exists, root)
            env = await self.state.manifest.environment.resolve()
            done = await run_command(backend, argv, cwd=root if exists else "/", env=env, timeout=timeout)
        except CommandTimeout as error:
            raise ExecTimeoutError(command=argv, timeout_s=timeout, cause=error) from error
        except CommandOutputLimit as error:
            done = error.output
        except (BackendClosed, ValueError) as error:
            raise ExecTransportError(command=argv, cause=error) from error
        return ExecResult(stdout=done.stdout_bytes, stderr=done.stderr_bytes, exit_code=done.exit_code)

    async def _after_stop(self) -> None:
        await in_thread(self.environment.save)

    async def _write(self, path: Path, data: bytes) -> None:
        try:
            await in_thread(self.environment.backend.files.write, path.as_posix(), data)
        except (OSError, BackendClosed) as error:
            raise WorkspaceArchiveWriteError(path=path, cause=error) from error

    async def _checked(self, script: str) -> None:
        done = await self._exec_internal("bash", "-c", script)
        if not done.ok():
            raise ValueError(done.stderr.decode(errors="replace").strip())


class PlanariaSandboxClient(BaseSandboxClient[PlanariaSandboxClientOptions | None]):
    """Creates sandboxes for sandbox agents: `RunConfig(sandbox=SandboxRunConfig(client=…))`.

    Args:
        store: where sandboxes are saved when they stop, for other processes; None keeps them in this one.
        arguments: those of `planaria.Session`.
    """

    backend_id = "planaria"
    supports_default_options = True

    @suggest_session_options(SessionArguments.__annotations__)
    def __init__(self, store: Store | None = None, **arguments: Unpack[SessionArguments]) -> None:
        self._environments = Environments(store, arguments)

    async def create(
        self,
        *,
        snapshot: SnapshotSpec | SnapshotBase | None = None,
        manifest: Manifest | None = None,
        options: PlanariaSandboxClientOptions | None = None,
    ) -> SandboxSession:
        """A new sandbox."""
        manifest = self._validate_manifest_for_create(Manifest() if manifest is None else manifest)
        environment = await in_thread(self._environments.create)
        identity = uuid.uuid4()
        state = PlanariaSandboxState(
            session_id=identity,
            manifest=manifest,
            snapshot=resolve_snapshot(snapshot, str(identity)),
            environment=environment.identity,
        )
        return self._wrap_session(PlanariaSandboxSession(state, environment))

    async def delete(self, session: SandboxSession) -> SandboxSession:
        """Close a sandbox and delete what was saved of it."""
        inner = session._inner
        if not isinstance(inner, PlanariaSandboxSession):
            raise TypeError(f"this is not a sandbox of planaria: {inner!r}")
        await in_thread(self._environments.destroy, inner.state.environment)
        return session

    async def resume(self, state: SandboxSessionState) -> SandboxSession:
        """The sandbox of a state, live or from the store. One that is gone is replaced by a new one, which
        takes its workspace from the state's snapshot.
        """
        if not isinstance(state, PlanariaSandboxState):
            raise TypeError(f"this is not the state of a sandbox of planaria: {state!r}")
        state.assert_path_grants_rebound()
        try:
            environment = await in_thread(self._environments.attach, state.environment)
            is_found = True
        except BackendClosed:
            environment = await in_thread(self._environments.create)
            state.environment = environment.identity
            state.workspace_root_ready = is_found = False
        inner = PlanariaSandboxSession(state, environment)
        inner._set_start_state_preserved(is_found)
        return self._wrap_session(inner)

    def deserialize_session_state(self, payload: dict[str, object]) -> SandboxSessionState:
        """A state from what `serialize_session_state` returned."""
        return self._deserialize_session_state_payload(payload, PlanariaSandboxState)
