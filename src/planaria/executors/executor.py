"""What runs a session's kernel, as the session sees it.

One kernel runs user code everywhere; an executor only carries commands to it and reports back, says what it
supports, and stops it. What only some executors support they offer as parts (`snapshots`, `packages`,
`files`), which are None elsewhere.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

from planaria.errors import CapabilityError, SessionError
from planaria.executors.messages import Answer, Begun, Command, Configure, HostCall, Ok, Raised, Report
from planaria.limits import NOT_GIVEN, Guard, Limits, NotGiven, StopReason

if TYPE_CHECKING:  # only the sandbox needs them
    from os import PathLike

    from planaria.executors.journal import Journal
    from planaria.executors.wasm_state import LoggedState, WasmState
    from planaria.files.filesystem import FileSystem
    from planaria.machine.image import Image
    from planaria.machine.memory import MemoryFile
    from planaria.machine.wasi.clock import Clock
    from planaria.machine.wasi.random import RandomSource

__all__ = [
    "Entered",
    "Executor",
    "Host",
    "Installed",
    "Packages",
    "ProxyPlace",
    "SandboxSetup",
    "Snapshots",
    "TierNeeded",
    "Uninstalled",
    "Unreachable",
    "WorkspaceOptions",
]


class Host(Protocol):
    """What a kernel can ask for while it runs. Called on the thread that is inside `Executor.enter`.

    `call`, `begin_call` and `input` may raise KeyboardInterrupt: that is then the answer.
    """

    def output(self, descriptor: int, data: bytes) -> None:
        """The code wrote to descriptor 1 (standard output) or 2 (standard error)."""

    def display(self, kind: str, data: dict[str, object], metadata: dict[str, object]) -> None:
        """A rich output."""

    def call(self, name: str, arguments: tuple[object, ...], keywords: dict[str, object]) -> Answer:
        """A host call for which the code blocks."""

    def begin_call(self, call: HostCall) -> Ok | Raised | Begun | None:
        """Begin a host call that the code awaits with nothing else to do; its answer if that comes in a
        moment. None when it is not begun: the code is to park first.
        """

    def input(self, prompt: str) -> Answer:
        """A line of standard input, with its newline unless the end of the input cuts it off."""

    def receive(self, descriptor: int, buffer: memoryview) -> int:
        """Put what a connection has received into a buffer; its length, 0 for nothing yet. Raises OSError."""

    def send(self, descriptor: int, buffer: memoryview) -> int:
        """Take from a buffer what a connection sends; its length, 0 for nothing yet. Raises OSError."""


class Entered(NamedTuple):
    """What one entry into the kernel ended with."""

    report: Report
    reason: StopReason | None = None
    """Why an interrupt was raised meanwhile, if one was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSetup:
    """What a sandboxed kernel starts from; other executors use the machine as it is."""

    image: Image
    files: FileSystem
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of the system interface, beside those of the image."""
    clock: Clock | None = None
    random: RandomSource | None = None
    repeatable: bool = False
    """Whether the kernel starts on the tier that its image needs, whichever tiers are compiled here."""
    journal: Journal | None = None
    """Through what it gets what comes from outside."""


class WorkspaceOptions(Protocol):
    """What an executor's configuration says about the workspace of its session."""

    @property
    def tools_path(self) -> PathLike[str] | str | None:
        """A directory of tool definitions, beside those of the storage."""

    @property
    def deps(self) -> Sequence[str]:
        """Requirements beside those of the storage."""

    @property
    def allow_runtime_deps(self) -> bool:
        """Whether code may change the dependencies."""


@dataclass(frozen=True, slots=True)
class _UnchangedWorkspace:
    """The options of an executor whose configuration does not mention workspaces."""

    tools_path: None = None
    deps: tuple[str, ...] = ()
    allow_runtime_deps: bool = True


@dataclass(frozen=True, slots=True)
class ProxyPlace:
    """Where a session's proxy is."""

    address: str
    """A host and a port; empty for a proxy at a Unix socket."""
    directory: str
    """The directory with its certificate authority, and the socket if there is one."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What became of packages that were to be installed: requirements as they were given."""

    installed: list[str] = field(default_factory=list)
    already_present: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """With the reason of each."""


@dataclass(frozen=True, slots=True)
class Uninstalled:
    """What became of packages that were to be removed: names as they were given."""

    removed: list[str] = field(default_factory=list)
    not_found: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """With the reason of each."""


class TierNeeded(Exception):
    """While it executes, the code imports modules that only the full tier has."""

    def __init__(self, modules: list[str]) -> None:
        super().__init__(", ".join(modules))
        self.modules = modules


class Unreachable(SessionError):
    """The commands that lead to a captured state gave another one, or none, when they were repeated."""


class Executor(ABC):
    """One kernel for one session. One thread at a time may use it; `interrupt` may come from any."""

    name: ClassVar[str]
    """What messages call this kind of executor."""
    capabilities: frozenset[str]
    """What this executor supports, by name:

    timeout, reset, deps_install; process_isolation (code runs in another process), container_isolation,
    network_isolation, filesystem_isolation (it sees none of the host's files that it was not given);
    memory_limit, cpu_limit, fuel_limit (`Limits.fuel`); snapshot, fork, rewind, suspend;
    snapshot_pickle (`session.pickle_variables`);
    shell (`session.bash`), files (`session.files`).
    """
    is_sandbox: ClassVar[bool] = False
    """Whether `start` needs a `SandboxSetup`, and takes milliseconds."""
    is_copied_by_fork: ClassVar[bool] = True
    """Whether a kernel at rest exists in a child of a fork of this process too."""
    refuses: ClassVar[frozenset[str]] = frozenset()
    """Arguments of a session that this executor does not support."""
    sends_text: ClassVar[bool] = False
    """Whether it sends code as Unicode text, which has no lone surrogates."""
    network_proxy: ClassVar[Literal["tcp", "unix"] | None] = None
    """How its code reaches a session's network, where it has sockets of its own: by a proxy at a TCP port of
    this machine, or at a Unix socket."""
    default_timeout: float | NotGiven | None = NOT_GIVEN
    """Seconds of an execution in a session that is given no limits, if not the usual ones."""
    tier: str = "full"
    """What the kernel can import, "core" or "full"; see docs/internals/engine.md."""
    fuel_used: int = 0
    """The WebAssembly instructions of the last entry, where they are counted."""
    waited: float = 0.0
    """The seconds of the last entry in which the kernel waited for a processor."""
    python_version: str | None = None
    """The version of the kernel's Python, as "3.12", where variables can be pickled."""

    @property
    def starts_at_once(self) -> bool:
        """Whether `start` would take no more than a few milliseconds."""
        return False

    # -- parts that only some executors have ---------------------------------------------------------------

    @property
    def files(self) -> FileSystem | None:
        """The files that the code sees, as a virtual filesystem. Capability: files."""
        return None

    @property
    def snapshots(self) -> Snapshots | None:
        """What captures and restores the kernel. Capabilities: snapshot, fork, rewind."""
        return None

    @property
    def packages(self) -> Packages | None:
        """What installs packages. Capability: deps_install."""
        return None

    @property
    def workspace_options(self) -> WorkspaceOptions:
        """What its configuration says about the session's workspace."""
        return _UnchangedWorkspace()

    def require(self, capability: str) -> None:
        """Raises CapabilityError, which names an executor that has it, unless this one has the capability."""
        if capability not in self.capabilities:
            raise CapabilityError(capability, self.name)

    def missing(self, capability: str) -> CapabilityError:
        """The error for a part that is None."""
        return CapabilityError(capability, self.name)

    def use_proxy(self, place: ProxyPlace) -> ProxyPlace:
        """Before the kernel is started: have its code reach the proxy; where that is for the code.

        Raises CapabilityError where `network_proxy` is None, and RuntimeSetupError.
        """
        raise CapabilityError("network", self.name)

    # -- the kernel ----------------------------------------------------------------------------------------

    @abstractmethod
    def start(self, host: Host, limits: Limits, setup: SandboxSetup | None = None) -> None:
        """Start the kernel, for `host`; called once.

        Raises SessionError when it runs already, and RuntimeSetupError when it cannot be started.
        """

    @property
    @abstractmethod
    def memory_bytes(self) -> int:
        """How much memory the kernel takes, as far as that is known."""

    @abstractmethod
    def enter(self, command: Command, guard: Guard) -> Entered:
        """Hand the kernel a command and run it until it reports.

        Raises EncodeError when the command cannot be sent, and nothing was entered; TierNeeded;
        `planaria.limits.Stopped` when the kernel did not return: it is `reset` before it is entered again.
        """

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings that a fresh kernel has; see docs/internals/boundary.md, "configure"."""
        return {}

    def configure(self, settings: Mapping[str, object]) -> Entered:
        """Enter a fresh kernel to change its settings."""
        return self.enter(Configure(settings), Guard())

    def configure_later(self, settings: Mapping[str, object]) -> None:
        """Have the kernel take settings that it cannot refuse before its next command."""
        self.configure(settings)

    def slept(self, seconds: float) -> None:
        """The code waited so long for a timer, outside of the kernel: a clock that stands otherwise moves."""
        return  # the time of other executors goes by on its own

    @abstractmethod
    def interrupt(self, reason: StopReason = "interrupt") -> None:
        """Raise KeyboardInterrupt in the code that runs now, from any thread."""

    @abstractmethod
    def reset(self) -> None:
        """Start again, as after `start`; files stay."""

    def recover(self) -> None:
        """After it was stopped hard: be ready to be entered again, with what `left` says of the state."""
        self.reset()

    @property
    def left(self) -> Literal["kept", "rewound", "lost"]:
        """What `recover` leaves of the state: the one reached, an earlier one, or none."""
        return "lost"

    @abstractmethod
    def close(self) -> None:
        """Release everything; closing twice is harmless."""

    @abstractmethod
    def abandon(self) -> None:
        """In a forked child: forget what only the parent has; `reset` creates it again."""

    def cpu_seconds(self) -> float:
        """Processor time that the kernel has used, since any fixed time. Asked on the thread that enters."""
        return time.thread_time()


class Snapshots(Protocol):
    """The part of an executor that captures and restores its kernel, which must be at rest."""

    def capture(
        self,
        known: WasmState | None = None,
        *,
        complete: bool = False,
        shared: bool = False,
    ) -> WasmState:
        """The present state. For the options see `WasmExecutor.capture`."""

    def logged(self) -> LoggedState | None:
        """The present state by the commands that lead to it from an earlier one, which costs nothing; None
        where it has to be captured.
        """

    def restore(self, state: WasmState, *, files: bool = True) -> None:
        """Become a captured state.

        On failure nothing has changed, except after Unreachable: the kernel is gone then, until another state
        is restored.
        """

    def spawn(
        self, host: Host, state: WasmState, files: FileSystem, journal: Journal | None = None
    ) -> Executor:
        """Another executor with the same settings that continues from `state`, over `files`.

        What comes from outside comes through `journal`.
        """

    @property
    def copies_left(self) -> int:
        """How many more executors this process can have, at the most."""

    def settle(self) -> tuple[MemoryFile, dict[str, Any]]:
        """Make the kernel ready to be an image: its memory, and the tables of its system."""

    def move_up(self) -> None:
        """Switch to the full tier."""


class Packages(Protocol):
    """The part of an executor that installs packages."""

    @property
    def packages_path(self) -> str | None:
        """Where packages are installed, if the kernel has to be given that directory."""

    def install(self, requirements: Sequence[str]) -> Installed:
        """Make packages importable, given as PEP 508 requirements."""

    def uninstall(self, names: Sequence[str]) -> Uninstalled:
        """Remove packages by name."""
