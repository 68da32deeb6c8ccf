"""The states of a session at a server: what its client asks for, and takes over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypedDict

from planaria.executors.server import ServerExecutor
from planaria.executors.server_connection import decoded, encoded
from planaria.limits import Limits
from planaria.session.callbacks import Callbacks
from planaria.session.engine import SessionEngine
from planaria.session.execution_state import ExecutionState
from planaria.session.history import HistoryEntry, Point
from planaria.session.recordings import explained
from planaria.session.result import Output
from planaria.snapshot.recording import Recording
from planaria.snapshot.snapshot import Snapshot
from planaria.snapshot.state import WaitingRun
from planaria_kernel.protocol import decode, encode

__all__ = [
    "ServerEngine",
    "ServerOptions",
    "change",
    "executor_of",
    "explain",
    "fork",
    "history",
    "look",
    "restore",
    "state_digest",
    "take_recording",
    "take_snapshot",
    "use_workspace",
]


class ServerOptions(TypedDict, total=False):
    """The arguments of a session at a server."""

    token: str | None
    session: str | None
    image: str | None
    snapshot: Snapshot | bytes | str | None
    record: bool
    metadata: Mapping[str, str] | None
    callbacks: Callbacks
    limits: Limits | None
    env: Mapping[str, str] | None
    stdin: str | Callable[[str], str | None] | None
    seed: int | None
    on_stdout: Callable[[str], object] | None
    on_stderr: Callable[[str], object] | None
    on_output: Callable[[str, str | Output], object] | None
    on_bytes: Callable[[int, bytes], object] | None


class ServerEngine(SessionEngine):
    """The engine of a session at a server, which knows more of its state than this process."""

    def start(self) -> None:
        super().start()
        look(self)

    def recover(self, most: int) -> Point | None:
        super().recover(most)
        look(self)
        return None


def executor_of(engine: SessionEngine) -> ServerExecutor:
    """The executor of a session at a server."""
    assert isinstance(engine.executor, ServerExecutor)
    return engine.executor


def look(engine: SessionEngine) -> None:
    """Take over how far the session at the server is, and what waits there."""
    executor = executor_of(engine)
    count = executor.ask("GET")["executions"]
    calls, waiting = executor.waiting()
    engine.host_calls.drop_answers()
    engine.count = count
    engine.pending = {call.id: call for call in calls}
    engine.execution = None
    if waiting is not None:
        run = WaitingRun(
            waiting["code"],
            waiting["count"],
            tuple(calls),
            {call.id: "" for call in calls},
            waiting["next_timer"],
            waiting["stdout"].encode(),
            waiting["stderr"].encode(),
        )
        engine.execution = ExecutionState.restored(
            run,
            executor.tier,
            engine.settings.bounds,
            alarm=engine.host_calls.alarm,
            listeners=engine.settings.listeners,
        )


def change(engine: SessionEngine, action: str, body: Mapping[str, object] | None) -> None:
    """Have the server change the state, and take that over."""
    executor_of(engine).ask("POST", action, {} if body is None else dict(body))
    look(engine)


def fork(engine: SessionEngine, n: int) -> list[ServerEngine]:
    """Engines of `n` copies."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise ValueError(f"fork(n={n!r}): n must be a non-negative integer")
    if not n:
        return []
    executor = executor_of(engine)
    copies: list[ServerEngine] = []
    for one in executor.ask("POST", "/fork", {"n": n})["sessions"]:
        other = ServerExecutor(executor.config)
        other.attach(one["id"], executor)
        copy = ServerEngine(replace(engine.settings, executor=other))
        copy.start()
        copies.append(copy)
    return copies


def history(engine: SessionEngine) -> list[HistoryEntry]:
    """What was executed so far."""
    engine.check_open()
    engine.ensure_started()
    return [HistoryEntry(**one) for one in executor_of(engine).ask("GET", "/history")["entries"]]


def state_digest(engine: SessionEngine) -> str:
    """What names the present state."""
    return str(executor_of(engine).ask("GET", "/digest")["digest"])


def use_workspace(engine: SessionEngine, part: str, method: str, *arguments: object) -> Any:
    """What a method of the workspace at the server returns."""
    engine.check_open()
    engine.ensure_started()
    body = {"part": part, "method": method, "arguments_base64": encoded(encode(arguments))}
    return decode(decoded(executor_of(engine).ask("POST", "/workspace", body)["answer_base64"]))


def take_recording(engine: SessionEngine) -> Recording:
    """What was executed and came from outside."""
    executor = executor_of(engine)
    return Recording.from_bytes(
        executor.connection.send("GET", f"{executor.path}/recording", None, "application/json")
    )


def explain(engine: SessionEngine, name: str) -> HistoryEntry | None:
    """The execution that last changed a variable; its recording is done again in this process."""
    return explained(take_recording(engine), history(engine), name)


def take_snapshot(engine: SessionEngine) -> Snapshot:
    """The present state."""
    executor = executor_of(engine)
    return Snapshot(executor.connection.send("POST", f"{executor.path}/snapshot", b"{}", "application/json"))


def restore(engine: SessionEngine, snapshot: Snapshot | bytes) -> None:
    """Become a snapshot."""
    change(engine, "/restore", {"snapshot_base64": encoded(bytes(snapshot))})
