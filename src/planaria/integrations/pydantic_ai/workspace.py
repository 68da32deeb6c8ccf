"""Sessions as the workspaces of agents."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, TypeVar

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import UserError
from pydantic_ai.tools import AgentDepsT, RunContext
from pydantic_ai.workspaces import (
    CommandResult,
    FileEntry,
    WorkspaceBackend,
    WorkspaceOutputLimitError,
    WorkspaceRef,
    WorkspaceTimeoutError,
    WorkspaceUnavailableError,
)

from planaria.integrations.awaited import in_thread, run_command
from planaria.integrations.backend_files import BackendFiles, Entry
from planaria.integrations.command_backend import (
    BackendClosed,
    CommandCancelled,
    CommandOutputLimit,
    CommandTimeout,
)
from planaria.integrations.environments import Environment, Environments
from planaria.session.options import SessionArguments
from planaria.stores.store import Store

__all__ = ["PlanariaSandbox", "PlanariaWorkspace"]

T = TypeVar("T")

#: The provider that the references of these workspaces name.
_PROVIDER: Final = "planaria"


class PlanariaWorkspace:
    """A session as a `WorkspaceBackend`, with commands, files and real paths.

    The first operation creates the session, or finds the one that `ref` names. It stays when a run ends;
    `PlanariaSandbox.destroy` removes it. Works under asyncio and Trio.
    """

    def __init__(self, environments: Environments, ref: WorkspaceRef | None = None) -> None:
        self._environments = environments
        self._ref = ref
        self._environment: Environment | None = None
        self._opening = threading.Lock()

    @property
    def ref(self) -> WorkspaceRef | None:
        """The session's id, once there is one."""
        return self._ref

    async def working_dir(self) -> str:
        """The session's working directory."""
        with _errors():
            return (await in_thread(self._open)).backend.cwd

    async def run(
        self,
        command: str | Sequence[str],
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> CommandResult:
        """Run a program, or with `shell` a script in bash."""
        if isinstance(command, str) != shell:
            raise TypeError("a command is a list of arguments, or with shell=True a string")
        if timeout is not None and not 0 < timeout < float("inf"):
            raise ValueError(f"timeout={timeout!r}: must be a positive finite number of seconds or None")
        with _errors():
            environment = await in_thread(self._open)
            try:
                done = await run_command(environment.backend, command, env=env, timeout=timeout)
            finally:
                if not environment.backend.is_closed:
                    await in_thread(environment.save)
        return CommandResult(exit_code=done.exit_code, stdout=done.stdout, stderr=done.stderr)

    async def read_bytes(self, path: str) -> bytes:
        """The contents of a file."""
        return await self._ask(lambda files: files.read(path))

    async def write_bytes(self, path: str, data: bytes) -> None:
        """Write a file, creating the directories above it."""
        await self._change(lambda files: files.write(path, data))

    async def stat(self, path: str) -> FileEntry:
        """What a path leads to."""
        return await self._ask(lambda files: _entry(files.stat(path)))

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        """What is in a directory."""
        return await self._ask(lambda files: [_entry(one) for one in files.list(path)])

    async def make_dir(self, path: str) -> None:
        """Create a directory and those above it."""
        await self._change(lambda files: files.make_dir(path))

    async def remove(self, path: str) -> None:
        """Remove a file, or a directory with all that is in it."""
        await self._change(lambda files: files.remove(path))

    async def exists(self, path: str) -> bool:
        """Whether there is something at the path."""
        return await self._ask(lambda files: files.exists(path))

    async def realpath(self, path: str) -> str:
        """The path without links and dots."""
        return await self._ask(lambda files: files.real_path(path))

    def _open(self) -> Environment:
        with self._opening:
            if self._environment is None:
                if self._ref is None:
                    self._environment = self._environments.create()
                    self._ref = WorkspaceRef(provider=_PROVIDER, id=self._environment.identity)
                else:
                    self._environment = self._environments.attach(self._ref.id)
            return self._environment

    async def _ask(self, operation: Callable[[BackendFiles], T]) -> T:
        with _errors():
            return await in_thread(lambda: operation(self._open().backend.files))

    async def _change(self, operation: Callable[[BackendFiles], None]) -> None:
        def change() -> None:
            environment = self._open()
            operation(environment.backend.files)
            environment.save()

        with _errors():
            await in_thread(change)


@dataclass(kw_only=True)
class PlanariaSandbox(AbstractCapability[AgentDepsT]):
    """Gives each run of an agent a session as its workspace.

    Compose it with tools and capabilities that use the workspace. A run without a reference begins a new
    session at its first operation. The reference of an earlier run continues that run's session: in the same
    process, or with a store in any process.
    """

    store: Store | None = None
    """Where sessions are saved after each command and each change of a file; `planaria.FileStore` and so on.
    Only one process at a time may use a session."""

    arguments: SessionArguments = field(default_factory=SessionArguments, repr=False)
    """Those of `planaria.Session` for new and restored sessions: `limits`, `mounts`, `network` and so on."""

    def __post_init__(self) -> None:
        if self.defer_loading:
            raise UserError(
                "PlanariaSandbox does not support defer_loading=True: the workspace is chosen before "
                "deferred capabilities are loaded"
            )
        self._environments = Environments(self.store, self.arguments)

    def backend(self, ref: WorkspaceRef | None = None) -> PlanariaWorkspace:
        """The workspace of a reference, or a new one; nothing happens before its first operation."""
        if ref is not None and ref.provider != _PROVIDER:
            raise ValueError(f"this reference is of {ref.provider!r}, not of {_PROVIDER!r}")
        return PlanariaWorkspace(self._environments, ref)

    async def destroy(self, ref: WorkspaceRef) -> None:
        """Stop the session of a reference and delete what was saved of it."""
        await in_thread(self._environments.destroy, ref.id)

    def get_workspace(
        self, ctx: RunContext[AgentDepsT], *, ref: WorkspaceRef | None
    ) -> WorkspaceBackend | None:
        """The workspace of a run."""
        del ctx
        return None if ref is not None and ref.provider != _PROVIDER else self.backend(ref)


def _entry(entry: Entry) -> FileEntry:
    return FileEntry(
        name=entry.name, path=entry.path, is_dir=entry.is_dir, size=None if entry.is_dir else entry.size
    )


@contextmanager
def _errors() -> Iterator[None]:
    """The backend's errors as those of workspaces."""
    try:
        yield
    except (BackendClosed, CommandCancelled) as error:
        raise WorkspaceUnavailableError(str(error)) from error
    except CommandTimeout as error:
        output = error.output
        raise WorkspaceTimeoutError(str(error), stdout=output.stdout, stderr=output.stderr) from error
    except CommandOutputLimit as error:
        output = error.output
        raise WorkspaceOutputLimitError(
            str(error),
            limit=len(output.stdout_bytes) + len(output.stderr_bytes),
            stdout=output.stdout,
            stderr=output.stderr,
        ) from error
