"""The settings of a session, as one value that is checked in one place."""

from __future__ import annotations

import io
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Final, TypeVar

from planaria.executors.executor import Executor
from planaria.files.quota import Quota
from planaria.files.storage import Mount, VfsStorage
from planaria.images.image import Image
from planaria.limits import NOT_GIVEN, Limits, NotGiven, ShellLimits
from planaria.machine.wasi.clock import Clock
from planaria.parameters import check_strings
from planaria.session.callbacks import Callback, CallbackRegistry, Callbacks
from planaria.session.collector import Listeners
from planaria.session.deterministic import Deterministic
from planaria.session.result import Output
from planaria.session.shell_commands import as_commands

if TYPE_CHECKING:
    from planaria.network.policy import Network
    from planaria.workspace.artifact_quota import ArtifactQuota
    from planaria.workspace.storage.storage import Storage
    from planaria.workspace.tools.registry import ToolRegistry
    from planaria.workspace.tools.variables import ToolEnvironment

__all__ = ["SessionSettings", "bytes_of_stdin", "checked_time", "ended"]

#: The methods of a `Clock`.
_CLOCK: Final = ("realtime", "monotonic", "cpu", "slept", "state", "restore")
#: What a session has that was given none.
_LIMITS: Final = Limits()
_SHELL_LIMITS: Final = ShellLimits()


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionSettings:
    """What a session is created with; the fields are the arguments of `planaria.Session`, explained there.

    The constructors of sessions, shells and sandboxes list these fields as their parameters; the lists are
    written by tools/generate_sync.py. Raises TypeError, ValueError or CallbackError, with the name of the
    argument, for the first that is not usable.
    """

    callbacks: Callbacks = ()
    limits: Limits | None = None
    shell_limits: ShellLimits | None = None
    execution_timeout_ms: float | NotGiven | None = NOT_GIVEN
    vfs: VfsStorage | None = None
    vfs_mount_path: str = "/data"
    mounts: Sequence[Mount] = ()
    quota: Quota | None = None
    network: Network | None = None
    commands: Mapping[str, Callable[..., object]] | None = None
    env: Mapping[str, str] | None = None
    stdin: str | Callable[[str], str | None] | None = None
    clock: Clock | None = None
    seed: int | None = None
    deterministic: Deterministic | None = None
    record: bool = False
    on_stdout: Callable[[str], object] | None = None
    on_stderr: Callable[[str], object] | None = None
    on_output: Callable[[str, str | Output], object] | None = None
    on_bytes: Callable[[int, bytes], object] | None = None
    argv: Sequence[str] = ("",)
    image: str | Image | None = None
    executor: Executor | None = None
    storage: Storage | None = None
    tools: ToolRegistry | Iterable[object] | str | PathLike[str] | None = None
    tool_environment: ToolEnvironment | None = None
    extra_deps: Sequence[str] = ()
    allow_runtime_deps: bool = True
    sync_deps_on_start: bool = False
    artifact_quota: ArtifactQuota | None = None

    # -- what follows from them ------------------------------------------------------------------------------

    registry: CallbackRegistry = field(init=False, repr=False, compare=False)
    """The callbacks, by name."""
    bounds: Limits = field(init=False, repr=False, compare=False)
    """The limits that apply."""
    shell_bounds: ShellLimits = field(init=False, repr=False, compare=False)
    shell_commands: Mapping[str, Callback] = field(init=False, repr=False, compare=False)
    listeners: Listeners = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_types(self)
        _check_environment(self.env)
        if self.deterministic is not None:
            if self.clock is not None or self.seed is not None:
                raise TypeError("clock= and seed= are part of deterministic=: give them to Deterministic()")
            self._set("seed", self.deterministic.seed)
        self._set("mounts", _checked_mounts(self.mounts))
        self._set("registry", CallbackRegistry.of(self.callbacks))
        self.registry.warn_of_builtins()
        bounds = self.limits or _usual_limits(self.executor)
        if not isinstance(self.execution_timeout_ms, NotGiven):
            timeout = _seconds_of(self.execution_timeout_ms)
            if self.limits is not None and self.limits.timeout not in (_LIMITS.timeout, timeout):
                raise TypeError(
                    "execution_timeout_ms= and Limits(timeout=) are the same limit: give one of them"
                )
            bounds = replace(bounds, timeout=timeout)
        self._set("bounds", bounds)
        if bounds.fuel is not None and self.executor is not None:
            self.executor.require("fuel_limit")
        self._set("shell_bounds", self.shell_limits or _SHELL_LIMITS)
        self._set("shell_commands", as_commands(self.commands))
        self._set("listeners", Listeners(self.on_stdout, self.on_stderr, self.on_output, self.on_bytes))
        if self.executor is not None and not self.executor.is_sandbox:
            _check_beside(self, self.executor)
        if not self.has_workspace:
            _check_no_workspace(self)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def has_workspace(self) -> bool:
        """Whether the session has tools or a storage."""
        options = None if self.executor is None else self.executor.workspace_options
        return (
            self.storage is not None
            or self.tools is not None
            or (options is not None and options.tools_path is not None)
        )

    def line_reader(self) -> Callable[[str], str | None] | None:
        """`stdin` as a function of the prompt that gives lines with their newline, which the last one may be
        without; None at the end.
        """
        read = self.stdin
        if isinstance(read, str):
            lines = iter(io.StringIO(read, newline=None))
            return lambda _prompt: next(lines, None)
        if read is None or getattr(read, "keeps_ends", False):
            return read
        return lambda prompt: ended(read(prompt))


def _check_types(settings: SessionSettings) -> None:
    """Raise TypeError for the first value that is not of its type."""
    kinds: list[tuple[str, object, type]] = [
        ("limits", settings.limits, Limits),
        ("shell_limits", settings.shell_limits, ShellLimits),
        ("vfs", settings.vfs, VfsStorage),
        ("quota", settings.quota, Quota),
        ("deterministic", settings.deterministic, Deterministic),
        ("executor", settings.executor, Executor),
    ]
    # What the others are is imported when one is given.
    if settings.network is not None:
        from planaria.network.policy import Network

        kinds.append(("network", settings.network, Network))
    if settings.storage is not None:
        from planaria.workspace.storage.storage import Storage

        kinds.append(("storage", settings.storage, Storage))
    if settings.tool_environment is not None:
        from planaria.workspace.tools.variables import ToolEnvironment

        kinds.append(("tool_environment", settings.tool_environment, ToolEnvironment))
    if settings.artifact_quota is not None:
        from planaria.workspace.artifact_quota import ArtifactQuota

        kinds.append(("artifact_quota", settings.artifact_quota, ArtifactQuota))
    for name, value, kind in kinds:
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"{name}= must be a planaria.{kind.__name__} or None, not {type(value).__name__}")
    seed: object = settings.seed
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise TypeError(f"seed= must be an int or None, not {type(seed).__name__}")
    for name, listener in (
        ("on_stdout", settings.on_stdout),
        ("on_stderr", settings.on_stderr),
        ("on_output", settings.on_output),
        ("on_bytes", settings.on_bytes),
    ):
        if listener is not None and not callable(listener):
            raise TypeError(f"{name}= must be a function, not {type(listener).__name__}")
    for name, value in (
        ("record", settings.record),
        ("allow_runtime_deps", settings.allow_runtime_deps),
        ("sync_deps_on_start", settings.sync_deps_on_start),
    ):
        if not isinstance(value, bool):
            raise TypeError(f"{name}= must be a bool, not {type(value).__name__}")
    stdin: object = settings.stdin
    if stdin is not None and not callable(stdin) and not isinstance(stdin, str):
        raise TypeError(f"stdin= must be a string or a function of the prompt, not {type(stdin).__name__}")
    check_strings("argv", settings.argv)
    check_strings("extra_deps", settings.extra_deps)
    if not isinstance(settings.vfs_mount_path, str):
        raise TypeError(f"vfs_mount_path= must be a str, not {type(settings.vfs_mount_path).__name__}")
    if settings.tools is not None and not isinstance(settings.tools, (Iterable, PathLike)):
        raise TypeError(
            "tools= must be a list of functions and objects, a directory or a planaria.ToolRegistry, "
            f"not {type(settings.tools).__name__}"
        )
    clock: object = settings.clock
    if clock is not None and (
        isinstance(clock, type) or not all(callable(getattr(clock, name, None)) for name in _CLOCK)
    ):
        raise TypeError(f"clock= must be a clock such as planaria.FrozenClock(), not {_named(clock)}")


def _named(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _checked_mounts(mounts: object) -> tuple[Mount, ...]:
    """The mounts, which may have been an iterator."""
    found = (
        tuple(mounts) if isinstance(mounts, Iterable) and not isinstance(mounts, (str, bytes)) else (mounts,)
    )
    for mount in found:
        if not isinstance(mount, Mount):
            raise TypeError(f"mounts= must be a list of planaria.Mount, not of {type(mount).__name__}")
    places = Counter(posixpath.normpath(mount.guest_path) for mount in found)
    for place, count in places.items():
        if count > 1:
            raise ValueError(f"mounts= has {count} mounts at {place!r}")
    return found


def _check_environment(env: object) -> None:
    if env is None:
        return
    if not isinstance(env, Mapping):
        raise TypeError(f"env= must be a dict of strings, not {type(env).__name__}")
    for name, value in env.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"env= must have str names and values, not {name!r}: {value!r}")
        if not name or "=" in name or "\0" in name + value:
            raise ValueError(f"env= has {name!r}: a name has no '=', and neither has a null character")


def _check_beside(settings: SessionSettings, executor: Executor) -> None:
    """Raise TypeError for arguments that only the sandbox takes, and for those that `executor` refuses."""
    refused: dict[str, object] = {
        "image": settings.image,
        "vfs": settings.vfs,
        "mounts": settings.mounts,
        "quota": settings.quota,
        "clock": settings.clock,
        "deterministic": settings.deterministic,
        "record": settings.record,
    }
    if executor.network_proxy is None:
        refused["network"] = settings.network
    others: dict[str, object] = {
        "env": settings.env,
        "seed": settings.seed,
        "argv": tuple(settings.argv) != ("",),
    }
    refused |= {name: others[name] for name in executor.refuses}
    for name, value in refused.items():
        if value is not None and value is not False and value != ():
            raise TypeError(
                f"{name}= is for the sandbox: omit executor=, or do without {name}= "
                f"with the {executor.name} executor"
            )
    if settings.commands:
        executor.require("shell")


def _check_no_workspace(settings: SessionSettings) -> None:
    if settings.artifact_quota is not None:
        raise TypeError("artifact_quota= is for sessions with storage=")
    if settings.sync_deps_on_start or settings.extra_deps:
        raise TypeError(
            "sync_deps_on_start= and extra_deps= are for sessions with a workspace: give storage= or tools= "
            "too, or create it with from_base()"
        )


def _usual_limits(executor: Executor | None) -> Limits:
    """The limits of a session that was given none; an executor may be set up with another timeout."""
    timeout = NOT_GIVEN if executor is None else executor.default_timeout
    return _LIMITS if isinstance(timeout, NotGiven) else Limits(timeout=timeout)


def _seconds_of(milliseconds: float | None) -> float | None:
    """`execution_timeout_ms` as `Limits.timeout` has it."""
    if milliseconds is None:
        return None
    return checked_time("execution_timeout_ms", milliseconds) / 1e3


def checked_time(name: str, value: object) -> float:
    """The argument `name` as a time limit. Raises TypeError and ValueError."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number or None, not {type(value).__name__}")
    if not value > 0:
        raise ValueError(f"{name}={value!r}: must be greater than 0; use None for no limit")
    return value


Line = TypeVar("Line")


def ended(line: Line) -> Line:
    """A line that was given without its newline, or with it, with it; anything but a text as it is."""
    return line.removesuffix("\n") + "\n" if isinstance(line, str) else line  # type: ignore[return-value]


def bytes_of_stdin(stdin: object) -> bytes:
    """What a script is given to read. Raises TypeError when it is neither a string nor bytes."""
    if isinstance(stdin, str):
        return stdin.encode("utf-8", "surrogateescape")
    if not isinstance(stdin, (bytes, bytearray, memoryview)):
        raise TypeError(f"stdin must be str or bytes, not {type(stdin).__name__}")
    return bytes(stdin)
