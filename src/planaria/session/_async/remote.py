"""Sessions at a server: the server has their states, this process their functions and listeners."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from typing import Self, Unpack

from planaria.errors import CapabilityError
from planaria.executors.pickled_variables import Variables
from planaria.executors.server import ServerConfig, ServerExecutor
from planaria.images.image import Image
from planaria.limits import Limits
from planaria.parameters import suggest_names, suggest_option_names
from planaria.session import remote_state
from planaria.session._async.remote_workspace import AsyncServerWorkspace
from planaria.session._async.session import AsyncSession
from planaria.session.callbacks import Callbacks
from planaria.session.history import HistoryEntry
from planaria.session.remote_state import ServerOptions
from planaria.session.result import Output
from planaria.session.settings import SessionSettings
from planaria.snapshot.compatibility import Missing
from planaria.snapshot.recording import Recording
from planaria.snapshot.snapshot import Snapshot

__all__ = ["AsyncServerSession", "connect_async"]

#: What a server does beside its kernel.
_CAPABILITIES = frozenset({"snapshot", "fork", "rewind"})


class AsyncServerSession(AsyncSession):
    """A session at a server (`planaria serve`), with the methods of an `AsyncSession`.

    What is not there raises CapabilityError: saving images (`save_snapshot` keeps a state at the server, for
    new sessions to begin from), packages, the objects behind a workspace, pickled variables, and keys and
    parents of snapshots. Other clients of the same session take turns with this one; after they
    have used it, `refresh` has this one look at its state again.
    """

    @suggest_names
    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        session: str | None = None,
        image: str | None = None,
        snapshot: Snapshot | bytes | str | None = None,
        record: bool = False,
        metadata: Mapping[str, str] | None = None,
        callbacks: Callbacks = (),
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | Callable[[str], str | None] | None = None,
        seed: int | None = None,
        on_stdout: Callable[[str], object] | None = None,
        on_stderr: Callable[[str], object] | None = None,
        on_output: Callable[[str, str | Output], object] | None = None,
        on_bytes: Callable[[int, bytes], object] | None = None,
    ) -> None:
        """Connect with a session when it is first used.

        `url` is where the server is, as "http://127.0.0.1:7700", and `token` what it was started with, if it
        has one. `session` is the name of a session there: it is created if there is none, and stays when this
        one is closed. Without a name there is a new one, which is deleted when it is closed.

        A new session begins from `image`, one of the server's, or continues from `snapshot`: a snapshot, or
        the name that `save_snapshot` gave to one. With `record` it keeps what comes from outside, for
        `recording()`. `metadata` are strings to find it by. The other arguments are those of `Session`:
        `callbacks` and listeners are called in this process; `limits` apply beside the server's.
        """
        config = ServerConfig(
            url=url,
            token=token,
            session=session,
            image=image,
            snapshot=bytes(snapshot) if isinstance(snapshot, (Snapshot, bytes)) else snapshot,
            record=record,
            metadata=metadata or {},
        )
        settings = SessionSettings(
            callbacks=callbacks,
            limits=limits,
            env=env,
            stdin=stdin,
            seed=seed,
            on_stdout=on_stdout,
            on_stderr=on_stderr,
            on_output=on_output,
            on_bytes=on_bytes,
            executor=ServerExecutor(config),
        )
        self._open(remote_state.ServerEngine(settings))

    @property
    def name(self) -> str:
        """The name of the session at the server. Raises SessionError before it was started."""
        return remote_state.executor_of(self._engine).path.rpartition("/")[2]

    async def refresh(self) -> None:
        """Look at the state of the session again, which another client may have changed."""
        await self._ask(remote_state.look)

    # -- state ----------------------------------------------------------------------------------------

    async def fork(self, n: int = 1, *, reseed: bool = True) -> list[Self]:
        """`n` copies of this session at the server, each of which ends when it is closed.

        With `reseed` False it raises CapabilityError: the server reseeds its forks.
        """
        if not reseed:
            raise CapabilityError("fork(reseed=False)", "server")
        engines = await self._ask(lambda engine: remote_state.fork(engine, n))
        return [self._around(engine) for engine in engines]

    async def checkpoint(self, label: str) -> None:
        """Keep the present state under `label`, for `rewind`; an older one of that label is replaced."""
        if not isinstance(label, str) or not label:
            raise TypeError("the label of a checkpoint must be a non-empty str")
        await self._do("/checkpoint", {"label": label})

    async def rewind(self, place: str | int) -> None:
        """Go back to a checkpoint by its label, or to the state after so many executions."""
        if isinstance(place, bool) or not isinstance(place, (str, int)):
            raise TypeError(f"a checkpoint is a label or a number of executions, not {place!r}")
        await self._do("/rewind", {"to": place})

    async def undo(self, n: int = 1) -> None:
        """Take back the last `n` executions; `redo` takes that back."""
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ValueError(f"undo(n={n!r}): n must be a positive integer")
        await self._do("/undo", {"n": n})

    async def redo(self) -> None:
        """Take back an `undo`, as long as nothing was executed since."""
        await self._do("/redo")

    async def _do(self, action: str, body: Mapping[str, object] | None = None) -> None:
        await self._ask(lambda engine: remote_state.change(engine, action, body))

    @property
    def history(self) -> list[HistoryEntry]:
        """The executions so far, the oldest first, as the server has them: this is a request."""
        return remote_state.history(self._engine)

    async def state_digest(self) -> str:
        """What names the present state, as the server computes it; see `AsyncSession.state_digest`."""
        return await self._ask(remote_state.state_digest)

    async def recording(self) -> Recording:
        """What was executed so far and came from outside, for `planaria.replay` in this process.

        It begins when the session was created, or when it last came back from the server's store. Raises
        SessionError without `record=True`.
        """
        return await self._ask(remote_state.take_recording)

    async def explain(self, name: str) -> HistoryEntry | None:
        """The execution that last changed the variable `name`; None if none did.

        The recording is done again for that, in a sandbox of this process. Raises SessionError without
        `record=True`.
        """
        return await self._ask(lambda engine: remote_state.explain(engine, name))

    # -- snapshots -------------------------------------------------------------------------------------

    async def snapshot_state(
        self, *, parent: Snapshot | None = None, key: bytes | str | None = None
    ) -> Snapshot:
        """The whole present state as a value, which any session can be restored from, at a server or not."""
        if parent is not None or key is not None:
            raise CapabilityError("snapshot_state(parent=..., key=...)", "server")
        return await self._ask(remote_state.take_snapshot)

    async def restore_state(
        self,
        snapshot: Snapshot | bytes,
        *,
        key: bytes | str | None = None,
        missing: Missing = "error",
        reseed: bool = True,
    ) -> None:
        """Become what a snapshot is, in place of the present state; checkpoints and history restart."""
        if key is not None or missing != "error" or not reseed:
            raise CapabilityError("restore_state(key=..., missing=..., reseed=...)", "server")
        await self._ask(lambda engine: remote_state.restore(engine, snapshot))

    async def save_snapshot(self, name: str) -> None:
        """Keep the present state in the server's store, under a name that new sessions may begin from."""
        await self._ask(
            lambda engine: remote_state.executor_of(engine).ask("POST", "/snapshot", {"name": name})
        )

    async def pickle_variables(self) -> Variables:
        raise CapabilityError("snapshot_pickle", "server")

    async def unpickle_variables(self, variables: Variables | bytes) -> None:
        raise CapabilityError("snapshot_pickle", "server")

    async def save_as_image(self, name: str) -> Image:
        """The server's images are chosen at its start: raises CapabilityError; see `save_snapshot`."""
        raise CapabilityError("save_as_image", "server")

    # -- the workspace -----------------------------------------------------------------------------------

    @property
    def workspace(self) -> AsyncServerWorkspace:
        """The workspace at the server, with its tools, workflows and artifacts."""
        return AsyncServerWorkspace(self)

    # -- what it is made of ------------------------------------------------------------------------------

    def supports(self, capability: str) -> bool:
        """Whether this session has a capability; see `supported_capabilities`."""
        return capability in self.supported_capabilities()

    def supported_capabilities(self) -> builtins.set[str]:
        """What sessions at a server support, by name; see `planaria.Executor.capabilities`."""
        return super().supported_capabilities() | _CAPABILITIES


@suggest_option_names(ServerOptions.__annotations__)
async def connect_async(url: str, **options: Unpack[ServerOptions]) -> AsyncServerSession:
    """A session at the server at `url`, ready to be used; the arguments are those of `AsyncServerSession`.

    Raises ServerError when the server cannot be reached or refuses the token.
    """
    session = AsyncServerSession(url, **options)
    try:
        await session.start()
    except BaseException:
        await session.close()
        raise
    return session
