"""A shell of its own: a session whose language is bash."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any, Self

from planaria.errors import SnapshotError
from planaria.files.filesystem import FileSystemSnapshot
from planaria.files.view import Files
from planaria.limits import NOT_GIVEN, NotGiven
from planaria.session.async_session import AsyncSession
from planaria.session.result import Result
from planaria.session.session import Session
from planaria.snapshot.snapshot import Snapshot

__all__ = ["AsyncBash", "Bash"]

#: How a snapshot of the shell's state alone begins.
_STATE_MAGIC = b"planaria-bash-state\n"


class Bash:
    """A bash that lasts from one call to the next, in a sandbox with files and Python of its own.

    Takes the arguments of `Session`. `session` is the session that it lives in: Python on the same files,
    forks, checkpoints, undo.
    """

    def __init__(self, **arguments: Any) -> None:
        self.session = Session(**arguments)

    def execute(
        self, script: str, timeout: float | NotGiven | None = NOT_GIVEN, *, stdin: str | bytes = b""
    ) -> Result:
        """Run a script; see `Session.bash`."""
        return self.session.bash(script, timeout, stdin=stdin)

    @property
    def files(self) -> Files:
        """The shell's files, from the host."""
        return self.session.files

    # -- state ----------------------------------------------------------------------------------------

    def snapshot(self, *, exclude_filesystem: bool = False, exclude_functions: bool = False) -> bytes:
        """Everything there is (shell, Python, files) as bytes for `restore_snapshot`.

        With `exclude_filesystem`, only what the shell itself holds: variables, functions, options and so on;
        restoring that leaves files and Python as they are. With `exclude_functions`, without functions.
        """
        if exclude_filesystem:
            state = self.state()
            if exclude_functions:
                state["functions"] = {}
            return _STATE_MAGIC + json.dumps(state, sort_keys=True).encode()
        if not exclude_functions:
            return bytes(self.session.snapshot_state())
        [copy] = self.session.fork(reseed=False)
        with copy:
            state = json.loads(copy._tell(("bash_state",)))
            copy._tell(("bash_restore", json.dumps({**state, "functions": {}})))
            return bytes(copy.snapshot_state())

    def restore_snapshot(self, data: bytes | Snapshot) -> None:
        """Become what was captured. Raises SnapshotError, and changes nothing, when `data` is no such thing."""
        if isinstance(data, bytes) and data.startswith(_STATE_MAGIC):
            try:
                state = json.loads(data[len(_STATE_MAGIC) :])
            except ValueError as error:
                raise SnapshotError(f"the state of the shell in this snapshot is damaged: {error}") from None
            self._take_state(state)
        else:
            self.session.restore_state(data)

    @classmethod
    def from_snapshot(cls, data: bytes | Snapshot, **arguments: Any) -> Self:
        """A new shell that goes on from a snapshot; `arguments` are the constructor's."""
        shell = cls(**arguments)
        try:
            shell.restore_snapshot(data)
        except BaseException:
            shell.close()
            raise
        return shell

    def state(self) -> dict[str, Any]:
        """The shell's state as a readable JSON document: variables, functions, options, cwd and so on."""
        with self.session._turn():
            state: dict[str, Any] = json.loads(self.session._tell(("bash_state",)))
            return state

    @classmethod
    def from_state(cls, state: dict[str, Any] | str, **arguments: Any) -> Self:
        """A new shell with a state as `state()` gave it (or its JSON text); checked before it is used."""
        shell = cls(**arguments)
        try:
            shell._take_state(json.loads(state) if isinstance(state, str) else state)
        except BaseException:
            shell.close()
            raise
        return shell

    def _take_state(self, state: dict[str, Any]) -> None:
        with self.session._turn():
            try:
                self.session._tell(("bash_restore", json.dumps(state)))
            except Exception as error:
                raise SnapshotError(f"this is not the state of a shell: {error}") from error

    def vfs_snapshot(self) -> FileSystemSnapshot:
        """The files alone, as a value for `vfs_restore`."""
        with self.session._turn():
            return self.session.files.filesystem.snapshot()

    def vfs_restore(self, snapshot: FileSystemSnapshot) -> None:
        """Take the files back to a captured state; files that are open become stale."""
        with self.session._turn():
            self.session.files.filesystem.restore(snapshot)

    def reset(self) -> None:
        """A fresh shell; files stay."""
        self.session.reset()

    def close(self) -> None:
        """Give the sandbox back; closing twice is harmless."""
        self.session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncBash:
    """`Bash` for use under asyncio."""

    def __init__(self, **arguments: Any) -> None:
        self.session = AsyncSession(**arguments)

    async def execute(
        self, script: str, timeout: float | NotGiven | None = NOT_GIVEN, *, stdin: str | bytes = b""
    ) -> Result:
        """Run a script; see `Session.bash`."""
        return await self.session.bash(script, timeout, stdin=stdin)

    @property
    def files(self) -> Files:
        """The shell's files, from the host."""
        return self.session.files

    async def snapshot(self) -> bytes:
        """Everything there is (shell, Python, files) as bytes for `restore_snapshot`."""
        return bytes(await self.session.snapshot_state())

    async def restore_snapshot(self, data: bytes | Snapshot) -> None:
        """Become what was captured."""
        await self.session.restore_state(data)

    async def close(self) -> None:
        """Give the sandbox back; closing twice is harmless."""
        await self.session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
