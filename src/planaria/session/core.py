"""A session: what it is made of, what it is told, and what its kernel may ask for."""

from __future__ import annotations

import contextvars
import inspect
import os
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Self

from planaria.errors import CrashError, ProtocolError, SessionBusy, SessionClosed, SessionError
from planaria.executors.executor import Entered, Executor
from planaria.executors.wasm import WasmExecutor
from planaria.files.quota import Quota
from planaria.files.storage import Mount, VfsStorage
from planaria.files.view import Files
from planaria.images.image import Image
from planaria.limits import NOT_GIVEN, Guard, Limits, NotGiven, ShellLimits, Stopped
from planaria.machine.wasi.clock import Clock
from planaria.session.analysis import ScriptAnalysis
from planaria.session.arguments import (
    check_arguments,
    check_keywords,
    line_reader,
    refuse_beside,
    seconds_of,
    usual_limits,
)
from planaria.session.callbacks import Callback, CallbackRegistry, describe_exception
from planaria.session.collector import Collector, Listeners
from planaria.session.commands import as_commands
from planaria.session.flight import Flight
from planaria.session.host import SessionHost
from planaria.session.origin import origin_of
from planaria.session.outcome import what_is_left
from planaria.session.result import Completions
from planaria.session.run import HostCall
from planaria.session.timeline import Budget, Timeline
from planaria.snapshot.record import Declaration
from planaria_kernel.protocol import MAX_BYTES

if TYPE_CHECKING:
    from planaria.session.workspace_link import WorkspaceLink
    from planaria.workspace.artifact_quota import ArtifactQuota
    from planaria.workspace.storage.storage import Storage
    from planaria.workspace.tools.environment import ToolEnvironment
    from planaria.workspace.tools.registry import ToolRegistry

__all__ = ["Answer", "SessionCore", "calling_back", "keywords_of_sessions"]

#: The sessions that are alive, for a child of a fork to mend.
_sessions: Final[weakref.WeakSet[SessionCore]] = weakref.WeakSet()


def _after_fork() -> None:
    for session in list(_sessions):
        session._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

#: The sessions inside whose callbacks the present code runs; a session refuses to be entered again from
#: there.
calling_back: Final[contextvars.ContextVar[frozenset[int]]] = contextvars.ContextVar(
    "planaria_calling_back", default=frozenset()
)

_HOME: Final = "/home/user"

Answer = tuple[Any, ...]


class SessionCore:
    """The executor of a session, its settings, and the host's side of its kernel."""

    def __new__(cls, *arguments: Any, **keywords: Any) -> Self:
        check_keywords(cls.__name__, arguments, keywords, keywords_of_sessions())
        return super().__new__(cls)

    def __init__(
        self,
        *,
        callbacks: Iterable[Callback | Mapping[str, Any] | Callable[..., Any]] | CallbackRegistry = (),
        limits: Limits | None = None,
        shell_limits: ShellLimits | None = None,
        execution_timeout_ms: float | NotGiven | None = NOT_GIVEN,
        vfs: VfsStorage | None = None,
        vfs_mount_path: str = "/data",
        mounts: Sequence[Mount] = (),
        quota: Quota | None = None,
        commands: Mapping[str, Callable[..., Any]] | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | Callable[[str], str | None] | None = None,
        clock: Clock | None = None,
        seed: int | None = None,
        on_stdout: Callable[[str], object] | None = None,
        on_stderr: Callable[[str], object] | None = None,
        on_output: Callable[[str, Any], object] | None = None,
        on_bytes: Callable[[int, bytes], object] | None = None,
        argv: Sequence[str] = ("",),
        image: str | Image | None = None,
        executor: Executor | None = None,
        storage: Storage | None = None,
        tools: ToolRegistry | Iterable[Any] | str | os.PathLike[str] | None = None,
        tool_environment: ToolEnvironment | None = None,
        extra_deps: Sequence[str] = (),
        allow_runtime_deps: bool = True,
        sync_deps_on_start: bool = False,
        artifact_quota: ArtifactQuota | None = None,
    ) -> None:
        """Make a session; the runtime is compiled first when this user has none yet (15 s, once).

        `callbacks` are functions, dicts with name, fn, description and schema, or a `CallbackRegistry`.
        `limits` and `shell_limits` bound what code and scripts use; `execution_timeout_ms` is
        `limits.timeout` in milliseconds.

        `vfs` is a storage to share and keep, seen at `vfs_mount_path`; `mounts` are directories of the
        host; `quota` bounds the session's own files (1 GiB and a million nodes unless given).

        `commands` are commands for the shell: functions of arguments (list of str), standard input (bytes)
        and environment that return text or bytes to print, an exit status, or (status, output, errors).

        `env` are environment variables beside the usual ones; nothing comes from the host's. `stdin` feeds
        `input()` and scripts: a text, or a function of the prompt that gives a line or None. `argv` is
        `sys.argv`, and `$0` and the positional parameters of the shell.
        `clock` replaces the time (see `planaria.FrozenClock`), `seed` makes every random number repeatable.

        `on_stdout(text)`, `on_stderr(text)` and `on_output(stream, text or Output)` are called as output
        arrives, `on_bytes(descriptor, bytes)` with exactly what is written to descriptor 1 or 2, also
        beyond `limits.output`.

        `image` is what the session begins from: a `planaria.Image`, or the name of one that was built or
        saved before.

        `executor` is the home of its kernel, a `WasmExecutor` unless given. What belongs to the sandbox alone
        (files, images, clock) is refused with another one.

        With `storage`, `tools` or both the session has a workspace: code finds `tools`, `workflows`,
        `artifacts` and `deps`. `storage` is where it is kept (see `planaria.FileStorage`). `tools` come
        beside those that the storage defines: a list of functions, objects and `planaria.Tool`s, or a
        directory of YAML files; or a `planaria.ToolRegistry`, which is taken as it is. `tool_environment` has
        what definitions may refer to as `${NAME}`. `extra_deps` are requirements of this session beside the
        configured ones; with `sync_deps_on_start` all of them are installed before anything is executed.
        Without `allow_runtime_deps` code cannot change the dependencies. `artifact_quota` bounds what it
        keeps as artifacts (4 GiB and 100,000 of them unless given).
        """
        listeners = {"on_stdout": on_stdout, "on_stderr": on_stderr, "on_output": on_output}
        mounts = check_arguments(limits, vfs, mounts, quota, env, seed, listeners)
        self._callbacks = CallbackRegistry.of(callbacks)
        self._limits = limits or usual_limits(executor)
        self._shell_limits = shell_limits or ShellLimits()
        if not isinstance(execution_timeout_ms, NotGiven):
            self._limits = replace(self._limits, timeout=seconds_of(execution_timeout_ms))
        self._commands = as_commands(commands)
        self._listeners = Listeners(on_stdout, on_stderr, on_output, on_bytes)
        self._stdin = line_reader(stdin)
        self._environment = dict(env or {})
        self._seed = seed
        self._argv = list(argv)
        self._clean_slate()
        self._prepare()
        self._closed = False
        self._executor: Executor = WasmExecutor() if executor is None else executor
        if isinstance(self._executor, WasmExecutor):
            origin = origin_of(image, vfs, vfs_mount_path, mounts, quota, clock, seed)
        else:
            sandbox_only = {"image": image, "vfs": vfs, "mounts": mounts, "quota": quota, "clock": clock}
            refuse_beside(self._executor, sandbox_only, {"env": env, "seed": seed, "argv": argv != ("",)})
            if commands:
                self._executor.require("shell")
            origin = None
        self._origin = origin
        #: Whether its kernel lives, and what has to be done before anything is executed.
        self._lives = False
        self._syncs = sync_deps_on_start
        self._workspace: WorkspaceLink | None = None
        config = getattr(self._executor, "config", None)
        tools_path = getattr(config, "tools_path", None)
        if storage is not None or tools is not None or tools_path is not None:
            from planaria.session.workspace_link import open_workspace
            from planaria.workspace.dependencies import requirements_of

            self._workspace = open_workspace(
                self,
                storage=storage,
                tools=tools,
                tools_path=tools_path,
                environment=tool_environment,
                extra_deps=(*getattr(config, "deps", ()), *requirements_of(extra_deps)),
                allow_runtime_deps=allow_runtime_deps and getattr(config, "allow_runtime_deps", True),
                artifact_quota=artifact_quota,
                callbacks=self._callbacks,
            )
        elif artifact_quota is not None:
            raise TypeError("artifact_quota= is for sessions with storage=")
        elif sync_deps_on_start or extra_deps:
            raise TypeError("sync_deps_on_start= and extra_deps= are for sessions with storage= or tools=")
        if self._starts_at_once():
            self._bring_to_life()
        self._register()

    def _starts_at_once(self) -> bool:
        """Whether the kernel is brought to life by the constructor, rather than when it is first needed."""
        return True

    def _bring_to_life(self) -> None:
        """May block for long where an executor has to make its home first."""
        self._executor.start(SessionHost(self), self._limits, self._origin)
        self._configure()
        self._lives = True

    @property
    def _is_ready(self) -> bool:
        return self._lives and not self._syncs

    def _get_ready(self) -> None:
        """With the session held: whatever comes before the first execution. May block for long."""
        if not self._lives:
            self._bring_to_life()
        if self._syncs:
            self._syncs = False
            assert self._workspace is not None
            self._workspace.sync()
            self._tell(("configure", {"paths": self._workspace.dependencies.paths}))
            self._changed = True

    def _register(self) -> None:
        _sessions.add(self)

    #: Answers on their way, by the id of their call.
    _answers: dict[int, Any]

    def _prepare(self) -> None:
        """What a kind of session needs to wait."""

    def _clean_slate(self) -> None:
        """Nothing has been executed yet."""
        self._count = 0
        self._is_broken = False
        self._flight: Flight | None = None
        #: Declarations of callbacks that a restored snapshot had and this session does not.
        self._missing: dict[str, Declaration] = {}
        #: Calls that tasks which outlived their execution still wait for.
        self._pending: dict[int, HostCall] = {}
        self._timeline = Timeline()
        self._budget = Budget()
        #: Whether anything may have changed since the newest point.
        self._changed = True

    # -- what a user sees --------------------------------------------------------------------------------

    @property
    def execution_count(self) -> int:
        """How many executions there have been."""
        return self._count

    @property
    def limits(self) -> Limits:
        return self._limits

    @property
    def files(self) -> Files:
        """The session's files, read and written from the host without running code.

        Names that are not absolute are below /home/user.
        """
        self._check_open()
        self._executor.require("files")
        self._changed = True
        return Files(self._executor.files, _HOME)

    def supports(self, capability: str) -> bool:
        """Whether this session's executor has a capability; see `supported_capabilities`."""
        return capability in self._executor.capabilities

    def supported_capabilities(self) -> set[str]:
        """What the home of this session's kernel offers, by name; see `planaria.Executor.capabilities`."""
        return set(self._executor.capabilities)

    @property
    def is_closed(self) -> bool:
        return self._closed

    def interrupt(self) -> None:
        """Stop the execution that runs now, from another thread: it ends with `Interrupted`."""
        flight = self._flight
        if flight is not None and flight.inside:
            self._stop(flight)

    # -- the host's side of the kernel (executors.executor.Host) -----------------------------------------

    def output(self, descriptor: int, data: bytes) -> None:
        flight = self._flight
        if flight is None:
            return
        try:
            flight.collector.output(descriptor, data)
        except BaseException as error:
            flight.raises = flight.raises or error
            self._stop(flight)

    def display(self, kind: str, data: dict[str, Any], metadata: dict[str, Any]) -> None:
        flight = self._flight
        if flight is None:
            return
        try:
            flight.collector.display(kind, data, metadata)
        except BaseException as error:
            flight.raises = flight.raises or error
            self._stop(flight)

    def call(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Answer:
        raise NotImplementedError

    def input(self, prompt: str) -> Answer:
        if self._stdin is None:
            return ("eof",)
        try:
            line = self._stdin(prompt)
        except Exception as error:
            return ("error", *describe_exception(error))
        if line is None:
            return ("eof",)
        if not isinstance(line, str):
            return ("error", "TypeError", f"stdin= gave a {type(line).__name__}, not a line of text or None")
        return ("ok", line.removesuffix("\n"))

    def _stop(self, flight: Flight) -> None:
        """Interrupt it, wherever it is."""
        flight.ask_to_stop()
        self._executor.interrupt()

    # -- being usable ------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closed:
            raise SessionClosed("this session is closed; make a new one")

    def _make_ready(self) -> None:
        """With the session held, before anything is done with it."""
        self._check_open()
        if self._is_broken:
            self._mend()

    def _check_not_calling_back(self) -> None:
        if id(self) in calling_back.get():
            raise SessionBusy(
                "this session waits for the very callback that wants to use it; "
                "return from the callback first, or use another session"
            )

    def _check_at_rest(self) -> None:
        if self._flight is not None:
            raise SessionBusy(
                "an execution waits in this session; resolve its pending calls or cancel it first"
            )

    def _close(self) -> None:
        if not self._closed:
            self._closed = True
            self._drop_answers()
            self._flight = None
            self._executor.close()
            if self._workspace is not None:
                self._workspace.release()

    def _after_fork(self) -> None:
        """Be usable in a child of this process, where only the forking thread exists."""
        raise NotImplementedError

    def _lose_flight(self) -> None:
        """In a forked child: what this session's kernel lives from does not exist here."""
        self._executor.abandon()
        self._flight = None
        self._is_broken = True

    def _mend(self) -> None:
        """Go back to the newest checkpoint before the session is used again: in a forked child, or when its
        kernel could not be brought back to life.
        """
        _, self._pending = self._recover(self._count)
        self._is_broken = False
        self._changed = True

    # -- telling the kernel ------------------------------------------------------------------------------

    def _configure(self) -> None:
        """Tell a fresh kernel what this session is like."""
        settings: dict[str, Any] = {
            "callbacks": [callback.declaration() for callback in self._callbacks],
            "recursion_limit": self._limits.recursion,
            "value_limit": MAX_BYTES if self._limits.value is None else self._limits.value,
            "argv": self._argv,
        }
        if "shell" in self._executor.capabilities:
            settings |= self._shell_settings()
        if self._workspace is not None:
            settings |= self._workspace.settings()
        if self._environment:
            settings["environ"] = self._environment
        told = self._executor.settings
        news = {name: value for name, value in settings.items() if name not in told or told[name] != value}
        seed = {"reseed": os.urandom(16)} if self._seed is None else {"seed": self._seed}
        if news:
            self._check_answer("configure", self._executor.tell({**news, **seed}))
        else:
            self._executor.tell_later(seed)

    def _shell_settings(self) -> dict[str, Any]:
        return {"commands": list(self._commands), "shell_limits": _told(self._shell_limits)}

    def _tell(self, command: tuple[Any, ...]) -> Any:
        """Give the kernel a command that runs no code of the user's; returns its answer."""
        guard = Guard(deadline=time.monotonic() + 60, grace=self._limits.grace)
        try:
            entered = self._executor.enter(command, guard)
        except (Stopped, ProtocolError) as stopped:
            state, self._pending = self._recover(self._count)
            reason = f"{command[0]}: the sandbox did not answer ({stopped}); {what_is_left(state)}"
            raise CrashError(reason, state=state.partition(" ")[0]) from None
        answer = self._check_answer(command[0], entered)
        if entered.reason == "interrupt":
            raise KeyboardInterrupt
        return answer

    @staticmethod
    def _check_answer(name: str, entered: Entered) -> Any:
        match entered.report:
            case ("done", _):
                return None
            case ("answer", value):
                return value
            case ("error", dict(details)):
                raise SessionError(f"{name}: {details.get('type')}: {details.get('message')}")
        raise ProtocolError(f"the kernel answered {name!r} with {entered.report[0]!r}")

    def _complete(self, text: str, cursor: int | None) -> Completions:
        found = self._tell(("complete", text, len(text) if cursor is None else cursor))
        return Completions(found["matches"], found["start"], found["end"])

    def _analyze(self, script: str) -> ScriptAnalysis:
        self._executor.require("shell")
        if not isinstance(script, str):
            raise TypeError(f"a script is a str, not a {type(script).__name__}")
        return ScriptAnalysis(**self._tell(("bash_analyze", script)))

    def _clear(self) -> None:
        self._check_at_rest()
        self._tell(("clear",))
        self._changed = True

    def _reset(self) -> None:
        self._drop_answers()
        self._executor.reset()
        self._clean_slate()
        self._configure()

    # -- after a hard stop, and between executions -------------------------------------------------------

    def _recover(self, most: int) -> tuple[str, dict[int, HostCall]]:
        """After a hard stop: go back to the newest checkpoint with at most `most` executions.

        Returns "rewound", or "lost" when there is none and the session begins afresh, and the pending calls.
        """
        self._drop_answers()
        newest = self._timeline.newest(most)
        if newest is None:
            self._executor.reset()
            self._configure()
            return "lost", {}
        self._executor.restore(newest.state.kernel)
        pending = {call.id: call for call in newest.state.pending}
        return ("rewound" if newest.state.count == most else f"rewound to {newest.state.count}"), pending

    def _drop_answers(self) -> None:
        """Nobody waits for the answers on their way any more."""
        for answer in self._answers.values():
            answer.cancel()
        self._answers.clear()

    def _new_collector(self) -> Collector:
        return Collector(self._limits.output, self._listeners)


@cache
def keywords_of_sessions() -> tuple[str, ...]:
    """What a session is made with, by name."""
    return tuple(inspect.signature(SessionCore.__init__).parameters)[1:]


@cache
def _told(limits: ShellLimits) -> dict[str, Any]:
    """As the kernel is told; not to be changed."""
    return asdict(limits)
