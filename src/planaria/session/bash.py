"""A shell of its own: a session whose language is bash."""

from __future__ import annotations

import json
from hashlib import sha256
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from planaria.errors import CrashError, SessionError, SnapshotCorrupt, SnapshotError
from planaria.files.filesystem import FileSystemSnapshot
from planaria.files.view import Files
from planaria.limits import NOT_GIVEN, NotGiven
from planaria.session.analysis import ScriptAnalysis
from planaria.session.async_session import AsyncSession
from planaria.session.base import BaseSession
from planaria.session.result import Completions, Result
from planaria.session.session import Session
from planaria.snapshot.compatibility import Missing
from planaria.snapshot.snapshot import Snapshot

__all__ = ["AsyncBash", "Bash", "Counters", "Prompt"]

#: How a snapshot of the shell's state alone begins. Then come a checksum of the rest, a newline, and JSON.
_STATE_MAGIC: Final = b"planaria-bash-state\n"


class Counters(NamedTuple):
    """What a shell has run; it only grows."""

    commands: int
    """Commands, those in loops and functions each time."""
    executions: int
    """Calls of `execute`."""


class Prompt(NamedTuple):
    """What an interactive shell shows when it waits for a command."""

    first: str
    """PS1, expanded."""
    more: str
    """PS2, expanded: before further lines of one command."""
    has_exited: bool
    """Whether the last script called `exit`."""


def _counters(state: dict[str, Any]) -> Counters:
    commands, executions = state["counters"]
    return Counters(commands, executions)


def _state(session: BaseSession) -> dict[str, Any]:
    state: dict[str, Any] = json.loads(session._tell(("bash_state",)))
    return state


def _state_alone(state: dict[str, Any], exclude_functions: bool) -> bytes:
    if exclude_functions:
        state["functions"], state["readonly_functions"] = {}, []
    document = json.dumps(state, sort_keys=True).encode()
    return _STATE_MAGIC + sha256(document).hexdigest().encode() + b"\n" + document


def _state_in(data: bytes | Snapshot) -> dict[str, Any] | None:
    """The state in a snapshot of the shell alone; None when it is a snapshot of everything."""
    if isinstance(data, Snapshot):
        return None
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"a snapshot is bytes, as `snapshot()` gives them, not a {type(data).__name__}")
    data = bytes(data)
    if not data.startswith(_STATE_MAGIC):
        return None
    checksum, _, document = data.removeprefix(_STATE_MAGIC).partition(b"\n")
    if checksum != sha256(document).hexdigest().encode():
        raise SnapshotCorrupt("the checksum is wrong: this snapshot of a shell was cut off or altered")
    return _document(document)


def _document(state: dict[str, Any] | str | bytes) -> dict[str, Any]:
    try:
        document = json.loads(state) if isinstance(state, (str, bytes)) else state
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"this is not the state of a shell, it is damaged: {error}") from None
    if not isinstance(document, dict):
        raise SnapshotError("this is not the state of a shell: it is no JSON object")
    return document


def _restore(session: BaseSession, state: dict[str, Any]) -> None:
    session._changed = True
    try:
        session._tell(("bash_restore", json.dumps(state)))
    except CrashError:
        raise
    except (SessionError, TypeError, ValueError) as error:
        raise SnapshotError(f"this is not the state of a shell: {error}") from error


def _forget_functions(copy: BaseSession) -> None:
    copy._changed = True
    copy._tell(("bash_forget_functions",))


def _prompt(session: BaseSession) -> Prompt:
    told = session._tell(("bash_prompts",))
    return Prompt(told["PS1"], told["PS2"], told["exited"])


def _is_complete(session: BaseSession, text: str) -> bool:
    return bool(session._tell(("bash_is_complete", text)))


def _complete(session: BaseSession, text: str, cursor: int | None) -> Completions:
    found = session._tell(("bash_complete", text, len(text) if cursor is None else cursor))
    return Completions(found["matches"], found["start"], found["end"])


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

    def analyze(self, script: str) -> ScriptAnalysis:
        """Tell the commands, files and variables that a script names, without running it."""
        return self.session.analyze(script)

    @property
    def counters(self) -> Counters:
        """What has been run in this shell since it was made; a part of every snapshot."""
        return _counters(self.state())

    # -- for a prompt -----------------------------------------------------------------------------------

    def prompt(self) -> Prompt:
        """What to show before the next command, and whether the last script called `exit`.

        From the first call on, every script is followed by what PROMPT_COMMAND holds.
        """
        with self.session._turn():
            return _prompt(self.session)

    def is_complete(self, text: str) -> bool:
        """Whether `text` is a whole command, rather than one that goes on in the next line."""
        with self.session._turn():
            return _is_complete(self.session, text)

    def complete(self, text: str, cursor: int | None = None) -> Completions:
        """What can stand before `cursor` (by default the end) in `text`: commands, variables, files."""
        with self.session._turn():
            return _complete(self.session, text, cursor)

    # -- state ----------------------------------------------------------------------------------------

    def snapshot(self, *, exclude_filesystem: bool = False, exclude_functions: bool = False) -> bytes:
        """Everything there is (shell, Python, files) as bytes for `restore_snapshot`.

        With `exclude_filesystem`, only what the shell itself holds: variables, functions, options and so on;
        restoring that leaves files and Python as they are. With `exclude_functions`, without functions.
        """
        if exclude_filesystem:
            return _state_alone(self.state(), exclude_functions)
        if not exclude_functions:
            return bytes(self.session.snapshot_state())
        [copy] = self.session.fork(reseed=False)
        with copy:
            _forget_functions(copy)
            return bytes(copy.snapshot_state())

    def restore_snapshot(self, data: bytes | Snapshot, *, missing: Missing = "error") -> None:
        """Become what was captured.

        `missing` is that of `Session.restore_state`: what happens when this shell lacks callbacks or mounts.
        Raises SnapshotError, and changes nothing, when `data` is no such thing.
        """
        state = _state_in(data)
        if state is not None:
            self._take_state(state)
        else:
            self.session.restore_state(data, missing=missing)

    @classmethod
    def from_snapshot(cls, data: bytes | Snapshot, *, missing: Missing = "error", **arguments: Any) -> Self:
        """A new shell that goes on from a snapshot; `arguments` are the constructor's, and for `missing` see
        `restore_snapshot`."""
        shell = cls(**arguments)
        try:
            shell.restore_snapshot(data, missing=missing)
        except BaseException:
            shell.close()
            raise
        return shell

    def state(self) -> dict[str, Any]:
        """The shell's state as a readable JSON document: variables, functions, options, cwd and so on."""
        with self.session._turn():
            return _state(self.session)

    @classmethod
    def from_state(cls, state: dict[str, Any] | str, **arguments: Any) -> Self:
        """A new shell with a state as `state()` gave it (or its JSON text); checked before it is used."""
        shell = cls(**arguments)
        try:
            shell._take_state(_document(state))
        except BaseException:
            shell.close()
            raise
        return shell

    def _take_state(self, state: dict[str, Any]) -> None:
        with self.session._turn():
            _restore(self.session, state)

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

    async def analyze(self, script: str) -> ScriptAnalysis:
        """Tell what a script names; see `Bash.analyze`."""
        return await self.session.analyze(script)

    async def counters(self) -> Counters:
        """What has been run in this shell since it was made."""
        return _counters(await self.state())

    # -- for a prompt -----------------------------------------------------------------------------------

    async def prompt(self) -> Prompt:
        """What to show before the next command; see `Bash.prompt`."""
        async with self.session._turn():
            return await self.session._in_thread(lambda: _prompt(self.session))

    async def is_complete(self, text: str) -> bool:
        """Whether `text` is a whole command; see `Bash.is_complete`."""
        async with self.session._turn():
            return await self.session._in_thread(lambda: _is_complete(self.session, text))

    async def complete(self, text: str, cursor: int | None = None) -> Completions:
        """What can stand before `cursor` in `text`; see `Bash.complete`."""
        async with self.session._turn():
            return await self.session._in_thread(lambda: _complete(self.session, text, cursor))

    # -- state ----------------------------------------------------------------------------------------

    async def snapshot(self, *, exclude_filesystem: bool = False, exclude_functions: bool = False) -> bytes:
        """Everything there is, or the shell alone, as bytes; see `Bash.snapshot`."""
        if exclude_filesystem:
            return _state_alone(await self.state(), exclude_functions)
        if not exclude_functions:
            return bytes(await self.session.snapshot_state())
        [copy] = await self.session.fork(reseed=False)
        async with copy:
            async with copy._turn():
                await copy._in_thread(lambda: _forget_functions(copy))
            return bytes(await copy.snapshot_state())

    async def restore_snapshot(self, data: bytes | Snapshot, *, missing: Missing = "error") -> None:
        """Become what was captured; see `Bash.restore_snapshot`."""
        state = _state_in(data)
        if state is not None:
            await self._take_state(state)
        else:
            await self.session.restore_state(data, missing=missing)

    @classmethod
    async def from_snapshot(
        cls, data: bytes | Snapshot, *, missing: Missing = "error", **arguments: Any
    ) -> Self:
        """A new shell that goes on from a snapshot; see `Bash.from_snapshot`."""
        shell = cls(**arguments)
        try:
            await shell.restore_snapshot(data, missing=missing)
        except BaseException:
            await shell.close()
            raise
        return shell

    async def state(self) -> dict[str, Any]:
        """The shell's state as a readable JSON document; see `Bash.state`."""
        async with self.session._turn():
            return await self.session._in_thread(lambda: _state(self.session))

    @classmethod
    async def from_state(cls, state: dict[str, Any] | str, **arguments: Any) -> Self:
        """A new shell with a state as `state()` gave it; see `Bash.from_state`."""
        shell = cls(**arguments)
        try:
            await shell._take_state(_document(state))
        except BaseException:
            await shell.close()
            raise
        return shell

    async def _take_state(self, state: dict[str, Any]) -> None:
        async with self.session._turn():
            await self.session._in_thread(lambda: _restore(self.session, state))

    async def vfs_snapshot(self) -> FileSystemSnapshot:
        """The files alone, as a value for `vfs_restore`."""
        async with self.session._turn():
            return self.session.files.filesystem.snapshot()

    async def vfs_restore(self, snapshot: FileSystemSnapshot) -> None:
        """Take the files back to a captured state; files that are open become stale."""
        async with self.session._turn():
            self.session.files.filesystem.restore(snapshot)

    async def reset(self) -> None:
        """A fresh shell; files stay."""
        await self.session.reset()

    async def close(self) -> None:
        """Give the sandbox back; closing twice is harmless."""
        await self.session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
