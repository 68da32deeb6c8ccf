"""A kernel at a server of sessions (`planaria serve`), which keeps its state."""

from __future__ import annotations

import contextlib
import queue
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal

from planaria.errors import (
    CapabilityError,
    EncodeError,
    PlanariaError,
    ProtocolError,
    ServerError,
    SessionBusy,
    SessionError,
)
from planaria.executors.executor import Entered, Executor, Host, SandboxSetup
from planaria.executors.host_endpoint import answer_frame, call_name, report_of
from planaria.executors.messages import (
    Answer,
    Answered,
    Cancel,
    Command,
    Configure,
    Done,
    HostCall,
    Query,
    Raised,
    Report,
    Resume,
    RunCode,
    RunScript,
    Suspended,
    Waiting,
)
from planaria.executors.server_connection import ServerConnection, decoded, encoded
from planaria.executors.server_entry import Entry, Event
from planaria.executors.server_files import ServerFileSystem
from planaria.executors.signals import Interrupts
from planaria.fork import in_forked_child
from planaria.limits import Guard, Limits, Stopped, StopReason
from planaria.parameters import suggest_field_names
from planaria_kernel.protocol import MAX_BYTES, Budget, decode, encode

__all__ = ["ServerConfig", "ServerExecutor"]

#: How often the time and `Guard.interrupted` are looked at, in seconds.
_TICK: Final = 0.05
#: Seconds beyond the grace period in which the server ends code that does not respond.
_PATIENCE: Final = 15.0
#: Settings that every kernel of a server has, and that its sessions cannot change.
_FIXED: Final[Mapping[str, object]] = {
    "recursion_limit": Limits().recursion,
    "value_limit": MAX_BYTES if Limits().value is None else Limits().value,
    "argv": [""],
    "commands": [],
}
_CHANGED: Final = frozenset({"callbacks", "environ", "seed"})

#: Executors that exist, for a child of a fork to leave their connections to its parent.
_living: Final[weakref.WeakSet[ServerExecutor]] = weakref.WeakSet()


@in_forked_child("executors")
def _after_fork() -> None:
    for executor in list(_living):
        executor.abandon()


@suggest_field_names
@dataclass(frozen=True, kw_only=True, slots=True)
class ServerConfig:
    """The server, and the session there.

    Args:
        url: where the server is, as "http://127.0.0.1:7700".
        token: the server's token, if it has one.
        session: the name of the session: it is created if there is none, and stays at the server. Without
            a name there is a new one, which is deleted when it is closed.
        image: the image that a new session begins from, one of the server's.
        snapshot: what a new session continues from: the bytes of a snapshot, or the name of one in the
            server's store.
        record: whether a new session keeps what comes from outside, for its recording.
        metadata: strings to find a new session by.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    session: str | None = None
    image: str | None = None
    snapshot: bytes | str | None = field(default=None, repr=False)
    record: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)


class ServerExecutor(Executor):
    """Runs the code of a session at a server; see `planaria.connect`.

    The server keeps the state: it outlives this process, lost connections, and the server itself if that has
    a store. Functions of the host run in this process.
    """

    name: ClassVar[str] = "server"
    capabilities = frozenset(
        {
            "timeout",
            "reset",
            "shell",
            "files",
            "process_isolation",
            "network_isolation",
            "filesystem_isolation",
            "suspend",
        }
    )
    refuses: ClassVar[frozenset[str]] = frozenset({"argv"})
    sends_text: ClassVar[bool] = True
    is_copied_by_fork: ClassVar[bool] = False

    def __init__(self, config: ServerConfig | str) -> None:
        self.config = ServerConfig(url=config) if isinstance(config, str) else config
        self.connection = ServerConnection(self.config.url, self.config.token)
        #: The name of the session at the server, once it is there.
        self.session: str | None = None
        #: Whether it ends with this executor.
        self.is_owned = self.config.session is None
        self._interrupts = Interrupts(self._look_up)
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        #: What the server knows of the functions that this session has.
        self._declared: object = None
        #: Settings that it does not have yet.
        self._unsent: dict[str, object] = {}
        #: The calls of this kernel's that tasks wait for.
        self._pending: set[int] = set()
        self._left: Literal["kept", "rewound", "lost"] = "kept"
        self._peak = 0
        #: How many bytes of each stream the present execution has printed.
        self._printed = {"stdout": 0, "stderr": 0}
        self._files: ServerFileSystem | None = None
        self._end: Callable[[], object] = lambda: None

    # -- the session at the server -------------------------------------------------------------------------

    def start(self, host: Host, limits: Limits, setup: SandboxSetup | None = None) -> None:
        if hasattr(self, "_host"):
            raise SessionError("this executor has a session already; create another one")
        self._host = host
        self._limits = limits
        if self.session is None:
            self._create()
        _living.add(self)
        if self.is_owned:
            assert self.session is not None
            self._end = weakref.finalize(self, _delete, self.connection, self.session)

    def _create(self) -> None:
        config = self.config
        given: dict[str, object] = {"input": True, "metadata": dict(config.metadata)}
        if config.image is not None:
            given["image"] = config.image
        if config.record:
            given["record"] = True
        if isinstance(config.snapshot, str):
            given["snapshot"] = config.snapshot
        elif config.snapshot is not None:
            given["snapshot_base64"] = encoded(config.snapshot)
        if config.session is not None:
            given["id"] = config.session
        try:
            created = self.connection.request("POST", "/v1/sessions", given)
        except ServerError as error:
            if error.code != "exists" or config.session is None:
                raise
            self.session = config.session
            self.ask("PATCH", "", {"input": True})
        else:
            self.session = created["id"]

    def attach(self, session: str, other: ServerExecutor) -> None:
        """Before `start`: use a fork of the session of `other`, which ends with this executor."""
        self.session, self.is_owned = session, True
        self._declared, self._pending = other._declared, set(other._pending)

    def waiting(self) -> tuple[list[HostCall], Any]:
        """The calls that wait for an answer, and the execution that waits, if one does, as the server has
        it.
        """
        found = self.ask("GET", "/calls")
        calls = [_host_call(one) for one in found["calls"]]
        self._pending = {call.id for call in calls}
        return calls, found["execution"]

    @property
    def path(self) -> str:
        """The session's place at the server. Raises SessionError before `start`."""
        if self.session is None:
            raise SessionError("this session has not been started; call start() first")
        return f"/v1/sessions/{self.session}"

    def ask(self, method: str, action: str = "", body: object = None) -> Any:
        """A request about the session; see `ServerConnection.request`."""
        return self.connection.request(method, f"{self.path}{action}", body)

    def close(self) -> None:
        self._end()
        self.connection.close()

    def abandon(self) -> None:
        self.connection.abandon()
        if isinstance(self._end, weakref.finalize):
            self._end.detach()
        self._end = lambda: None
        self._events = queue.SimpleQueue()

    def reset(self) -> None:
        self._pending.clear()
        self.ask("POST", "/reset")
        self._left = "lost"

    def recover(self) -> None:
        # The server has recovered its session itself.
        self._pending.clear()
        self.connection.close()

    @property
    def left(self) -> Literal["kept", "rewound", "lost"]:
        return self._left

    @property
    def memory_bytes(self) -> int:
        return self._peak

    @property
    def files(self) -> ServerFileSystem:
        if self._files is None:
            self._files = ServerFileSystem(lambda: (self.connection, self.path))
        return self._files

    # -- settings ------------------------------------------------------------------------------------------

    @property
    def settings(self) -> Mapping[str, object]:
        return _FIXED

    def configure_later(self, settings: Mapping[str, object]) -> None:
        if settings.keys() - {"reseed"}:
            self.configure(settings)

    def configure(self, settings: Mapping[str, object]) -> Entered:
        change: dict[str, object] = {}
        for name, value in settings.items():
            if name == "callbacks" and value != self._declared:
                assert isinstance(value, list)
                change["callbacks"] = [_declaration(one) for one in value]
            elif name == "environ":
                change["env"] = value
            elif name == "seed":
                change["seed"] = value
            elif name not in _CHANGED and name not in ("reseed", "shell_limits"):
                raise CapabilityError(name, self.name)
        if change.get("callbacks") or set(change) - {"callbacks"} or self._declared is not None:
            self._unsent.update(change)
            self._send_settings()
        self._declared = settings.get("callbacks", self._declared)
        return Entered(Done())

    def _send_settings(self) -> None:
        """Send the settings; a session in which an execution waits gets them before its next one."""
        with contextlib.suppress(SessionBusy):
            self.ask("PATCH", "", self._unsent)
            self._unsent = {}

    # -- entering ------------------------------------------------------------------------------------------

    def enter(self, command: Command, guard: Guard) -> Entered:
        match command:
            case Configure(settings):
                return self.configure(settings)
            case Query(name, arguments):
                body = {"name": name, "arguments_base64": encoded(encode(arguments))}
                answer = self.ask("POST", "/query", body)["answer_base64"]
                return Entered(Answered(decode(decoded(answer))))
            case RunCode(source, _, _, name):
                if self._unsent:
                    self._send_settings()
                self._printed = dict.fromkeys(self._printed, 0)
                body = {"code": source} if name is None else {"code": source, "name": name}
                return self._execute("/run", body, guard)
            case RunScript(source, stdin, is_program):
                if self._unsent:
                    self._send_settings()
                self._printed = dict.fromkeys(self._printed, 0)
                script: dict[str, object] = {
                    "script": source,
                    "stdin_base64": encoded(stdin),
                    "program": is_program,
                }
                return self._execute("/bash", script, guard)
            case Resume(answers):
                given = []
                for one in answers:
                    self._pending.discard(one.id)
                    given.append({"call": one.id, "answer_base64": _encoded_answer(one.answer)})
                return self._execute("/resume", {"answers": given}, guard)
            case Cancel():
                return self._execute("/resume", {"cancel": True}, guard)

    def _execute(self, action: str, body: Mapping[str, object], guard: Guard) -> Entered:
        whole = {**body, "exact": True, "step": True}
        entry = Entry(self.connection, f"{self.path}{action}", whole, self._printed)
        self._events = entry.events
        with self._interrupts.watching(guard):
            entry.begin()
            result = self._attend(entry, guard)
            return Entered(self._report(result), self._interrupts.reason or result["stopped_by"])

    def _attend(self, entry: Entry, guard: Guard) -> Any:
        """Take events until the result is there; interrupt the code when that is due."""
        interrupts = self._interrupts
        asked_at: float | None = None
        while True:
            if interrupts.due():
                interrupts.delivered = True
                asked_at = time.monotonic()
                self.ask("POST", "/interrupt")
            if asked_at is not None and time.monotonic() > asked_at + guard.grace + _PATIENCE:
                self._left = "kept"
                raise Stopped(
                    "the server did not end it after it was interrupted", interrupts.reason, goes_on=True
                )
            try:
                name, data = entry.events.get(timeout=_TICK if guard.interrupted else self._seconds(guard))
            except queue.Empty:
                continue
            if name in ("stdout", "stderr"):
                self._host.output(1 if name == "stdout" else 2, data)
            elif name == "display":
                self._host.display(*data)
            elif name == "call":
                self._answer(data)
            elif name == "failed":
                raise data
            elif name == "result":
                return data

    def _seconds(self, guard: Guard) -> float:
        """How long to wait for an event before the time is looked at."""
        if guard.deadline is None or self._interrupts.reason is not None:
            return _TICK
        # No wait is long: a signal just before it does not end it.
        return min(_TICK, max(0.0, guard.deadline - time.monotonic()))

    def _report(self, result: Any) -> Report:
        """The result of the server's as a kernel's report. Raises Stopped when its kernel did not return."""
        pending = set(result["pending"])
        abandoned = tuple(sorted(self._pending - pending))
        new = tuple(_host_call(one) for one in result["calls"] if int(one["id"]) not in self._pending)
        self._pending = pending
        self._peak = result["peak_memory_bytes"]
        stopped = result["stopped"]
        result["stopped_by"] = None
        if stopped is not None:
            result["stopped_by"] = stopped["reason"]
            if stopped["crash"] is not None:
                self._left = stopped["state"]
                raise Stopped(
                    stopped["crash"], self._interrupts.reason or stopped["reason"], stopped["exit_code"]
                )
        if result["status"] == "waiting":
            return Waiting(new, result["next_timer"], abandoned)
        report = report_of(decode(decoded(result["report_base64"]), Budget(None, self._limits.decoded())))
        if isinstance(report, Done):
            return Done(report.value, report.repr, report.exit_code, abandoned)
        return report

    def _answer(self, call: Any) -> None:
        """Call a function for which the code blocks, and send its answer."""
        name = call["name"]
        arguments, keywords = decode(decoded(call["arguments_base64"]))
        interrupts = self._interrupts
        try:
            if name == "input":
                answer = interrupts.call_outside(lambda: self._host.input(str(arguments[0])))
            else:
                answer = interrupts.call_outside(lambda: self._host.call(name, arguments, keywords))
        except KeyboardInterrupt:
            # The server ends its wait for the answer as it interrupts the code.
            self.ask("POST", "/interrupt")
            return
        if interrupts.due():
            interrupts.delivered = True
            self.ask("POST", "/interrupt")
            return
        try:
            given = _encoded_answer(answer)
        except EncodeError as error:
            called = call_name(name, arguments)
            given = _encoded_answer(
                Raised("TypeError", f"{called}() returned a value that cannot be serialised: {error}")
            )
        self.ask("POST", f"/calls/{call['id']}", {"answer_base64": given})

    def interrupt(self, reason: StopReason = "interrupt") -> None:
        self._interrupts.ask(reason)

    def _look_up(self) -> None:
        self._events.put(("wake", None))


def _delete(connection: ServerConnection, session: str) -> None:
    """End a session that no other client knows."""
    try:
        connection.request("DELETE", f"/v1/sessions/{session}")
    except PlanariaError:
        pass  # the server is gone, or has deleted it
    connection.close()


def _encoded_answer(answer: Answer) -> str:
    assert not isinstance(answer, Suspended)
    return encoded(encode(answer_frame(answer)))


def _declaration(callback: Mapping[str, object]) -> dict[str, object]:
    """A callback as the server takes it."""
    signature = callback.get("signature")
    return {
        "signature": None
        if not isinstance(signature, list)
        else [
            {"name": name, "kind": kind, "annotation": annotation, "default": rest[0] if rest else None}
            for name, kind, annotation, *rest in signature
        ],
        "name": callback["name"],
        "description": str(callback.get("description") or "")[:4096],
        "parameters": callback.get("schema"),
    }


def _host_call(call: Any) -> HostCall:
    match decode(decoded(call["arguments_base64"])):
        case (tuple(arguments), dict(keywords)):
            return HostCall(int(call["id"]), call["name"], arguments, keywords)
    raise ProtocolError(f"the server sent an unknown call: {str(call)[:200]}")
