"""The home that a kernel lives in, as the session sees it.

One kernel (`planaria_kernel.execution`) runs user code everywhere; an executor only carries frames to it and
back, says what it can do, and stops it.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from planaria.errors import CapabilityError
from planaria.limits import NOT_GIVEN, Guard, Limits, NotGiven, StopReason

if TYPE_CHECKING:  # homes other than the sandbox need none of it
    from planaria.files.filesystem import FileSystem
    from planaria.machine.image import Image
    from planaria.machine.wasi.clock import Clock
    from planaria.machine.wasi.random import RandomSource

__all__ = ["Entered", "Executor", "Host", "Installed", "Origin", "Uninstalled"]


class Host(Protocol):
    """What a kernel can ask for while it runs. Called on the thread that is inside `Executor.enter`."""

    def output(self, descriptor: int, data: bytes) -> None:
        """The code wrote to descriptor 1 (standard output) or 2 (standard error)."""

    def display(self, kind: str, data: dict[str, Any], metadata: dict[str, Any]) -> None:
        """A rich output."""

    def call(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """A host call for which the code blocks: ("ok", value) or ("error", type, message)."""

    def input(self, prompt: str) -> tuple[Any, ...]:
        """A line for `input()`: ("ok", line), ("eof",) at the end, or ("error", type, message)."""


@dataclass(frozen=True, slots=True)
class Entered:
    """What one entry into the kernel ended with."""

    report: tuple[Any, ...]
    """A report frame; see docs/internals/boundary.md."""
    reason: StopReason | None = None
    """Why an interrupt was raised meanwhile, if one was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a sandboxed kernel stands on; other homes stand on the machine as it is."""

    image: Image
    files: FileSystem
    environment: Mapping[str, str] = field(default_factory=dict)
    """What the system interface tells beside what the image was made with."""
    clock: Clock | None = None
    random: RandomSource | None = None


class Executor(ABC):
    """One kernel in its home, for one session. One thread at a time; `interrupt` from any."""

    name: ClassVar[str]
    """What messages call this kind of home."""
    capabilities: frozenset[str]
    """What this home offers, by name:

    timeout, reset, deps_install; process_isolation (code runs in another process), container_isolation,
    network_isolation, filesystem_isolation (it sees none of the host's files that it was not given);
    memory_limit, cpu_limit; snapshot, fork, rewind, suspend; snapshot_pickle (`session.pickle_variables`);
    shell (`session.bash`), files (`session.files`).
    """
    is_copied_by_fork: ClassVar[bool] = True
    """Whether a kernel at rest lives in a child of a fork of this process too."""
    packages_path: ClassVar[str | None] = None
    """Where `install` puts packages, if the kernel has to be told to look there."""
    refuses: ClassVar[frozenset[str]] = frozenset()
    """Arguments of a session that it cannot have in this home."""
    default_timeout: float | NotGiven | None = NOT_GIVEN
    """Seconds of an execution in a session that is given no limits, if not the usual ones."""
    tier: str = "full"
    """What the kernel can import, "core" or "full"; see docs/internals/engine.md."""

    @abstractmethod
    def start(self, host: Host, limits: Limits, origin: Origin | None = None) -> None:
        """Bring the kernel to life, for `host`; called once.

        Raises SessionError when it lives already, and RuntimeSetupError when it cannot be brought to life.
        """

    @property
    @abstractmethod
    def memory_bytes(self) -> int:
        """How much memory the kernel takes, as far as that is known."""

    @abstractmethod
    def enter(self, command: tuple[Any, ...], guard: Guard) -> Entered:
        """Hand the kernel a command frame and run it until it reports.

        Raises EncodeError when the command cannot be sent, and nothing was entered;
        `planaria.limits.Stopped` when the kernel did not come back: it is `reset` before it is entered again.
        """

    @property
    def settings(self) -> Mapping[str, Any]:
        """What a fresh kernel of this home has been told; see docs/internals/boundary.md, "configure"."""
        return {}

    def tell(self, settings: Mapping[str, Any]) -> Entered:
        """Enter a fresh kernel to tell it how to be."""
        return self.enter(("configure", dict(settings)), Guard())

    def tell_later(self, settings: Mapping[str, Any]) -> None:
        """Have the kernel take settings that it cannot refuse before it does its next command."""
        self.tell(settings)

    @abstractmethod
    def interrupt(self, reason: StopReason = "interrupt") -> None:
        """Raise KeyboardInterrupt in the code that runs now, from any thread."""

    @abstractmethod
    def reset(self) -> None:
        """Begin afresh, as after `start`; files stay."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back; closing twice is harmless."""

    @abstractmethod
    def abandon(self) -> None:
        """In a forked child: forget what only the parent has; `reset` makes it anew."""

    def cpu_seconds(self) -> float:
        """Processor time that the kernel has used, from whichever moment. Asked on the thread that enters."""
        return time.thread_time()

    def move_up(self) -> None:  # noqa: B027 - most homes have one tier
        """Go on on the full tier, where there are tiers."""

    # -- what only some homes can --------------------------------------------------------------------------

    def require(self, capability: str) -> None:
        """Raises CapabilityError, which says where it can be had, when this home has not got it."""
        if capability not in self.capabilities:
            raise CapabilityError(capability, self.name)

    @property
    def files(self) -> FileSystem:
        """The files that the code sees, as a virtual filesystem. Capability: files."""
        raise CapabilityError("files", self.name)

    def capture(self, known: Any = None, *, complete: bool = False, shared: bool = False) -> Any:
        """The present state of a kernel at rest. Capability: snapshot."""
        raise CapabilityError("snapshot", self.name)

    def restore(self, state: Any, *, files: bool = True) -> None:
        """Become a captured state; on failure nothing has changed. Capability: snapshot."""
        raise CapabilityError("snapshot", self.name)

    def spawn(self, host: Host, state: Any, files: FileSystem) -> Self:
        """Another executor with these settings that goes on from `state`. Capability: fork."""
        raise CapabilityError("fork", self.name)

    @property
    def python_version(self) -> str:
        """The version of the kernel's Python, as "3.12". Capability: snapshot_pickle."""
        raise CapabilityError("snapshot_pickle", self.name)

    def install(self, requirements: Sequence[str]) -> Installed:
        """Make packages importable, given as PEP 508 requirements. Capability: deps_install."""
        raise CapabilityError("deps_install", self.name)

    def uninstall(self, names: Sequence[str]) -> Uninstalled:
        """Remove packages by name. Capability: deps_install."""
        raise CapabilityError("deps_install", self.name)


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
