"""A kernel in a container of Docker or Podman."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planaria.errors import RuntimeSetupError
from planaria.executors import container_engine
from planaria.executors.executor import Installed, Packages, ProxyPlace, Uninstalled, WorkspaceOptions
from planaria.executors.pipe import Pipe
from planaria.executors.process import PROGRAM, Process, ProcessExecutor
from planaria.limits import NOT_GIVEN, NotGiven
from planaria.parameters import check_string_dict, check_strings, suggest_field_names

if TYPE_CHECKING:
    import docker

__all__ = ["ContainerConfig", "ContainerExecutor"]

_MIB: Final = 1 << 20
#: Where what is installed later goes, in the container.
_PACKAGES: Final = "/packages"
_WORK: Final = "/work"
#: Where the directory of a session's proxy is in the container, and the port at which it is reached there.
_PROXY: Final = "/run/planaria"
_PROXY_PORT: Final = 3128
#: A figure of the engine's is asked for again after so many seconds.
_FRESH: Final = 0.2
#: Seconds in which the engine reports how a container ended.
_END_PATIENCE: Final = 10.0
#: Characters of an installer's message that are passed on.
_MESSAGE: Final = 2000


@suggest_field_names
@dataclass(frozen=True, kw_only=True)
class ContainerConfig:
    """How a `ContainerExecutor` is set up. Times in seconds, sizes in bytes; None means no limit."""

    image: str | None = None
    """An image with a `python3` of version 3.11 or newer; that of `python_version` unless given. What the
    kernel needs is added to it once, as an image of its own."""
    python_version: str = "3.12"
    """Which of the official images of Python to start from when no `image` is given."""
    engine: str | None = None
    """The address of the engine's interface, as "unix:///run/podman/podman.sock"; that of the environment
    (DOCKER_HOST), Docker's or Podman's usual one unless given."""
    network: bool = False
    """Whether the code has the engine's network, without rules; `Session(network=…)` is for a container that
    has not. Nothing can be installed while it runs unless this is true."""
    memory: int | NotGiven | None = NOT_GIVEN
    """Memory of the container, without swap; `Limits.memory` unless given."""
    cpus: float | None = None
    """Processors that it may keep busy, as 1.5."""
    pids_limit: int | None = 256
    """Processes and threads in the container."""
    read_only: bool = True
    """Whether the image's files cannot be changed."""
    tmpfs: Mapping[str, int] = field(default_factory=lambda: {_WORK: 256 * _MIB, "/tmp": 256 * _MIB})
    """Directories in memory, with their sizes; the code begins in /work."""
    mounts: Sequence[tuple[Path | str, str, bool]] = ()
    """Directories of the engine's machine: (directory, place in the container, whether it can be written)."""
    user: str = "65534:65534"
    """The user and group that the code runs as."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables; nothing comes from the host's."""
    tools_path: Path | str | None = None
    """A directory of tool definitions, beside those of the storage."""
    deps: Sequence[str] = ()
    """Requirements (PEP 508) that are installed into the image, which is kept."""
    allow_runtime_deps: bool = True
    """Whether code may change the dependencies."""
    default_timeout: float | None = 60.0
    """Time of an execution unless the session says otherwise."""
    start_timeout: float = 60.0
    """Time that the kernel may take to be ready."""
    install_timeout: float = 600.0
    """Time that one installation, or making the image, may take."""
    snapshots: bool = False
    """Whether `cloudpickle` is installed, for `Session.pickle_variables`."""

    def __post_init__(self) -> None:
        for name in ("cpus", "memory", "pids_limit", "default_timeout", "start_timeout", "install_timeout"):
            value = getattr(self, name)
            if value is None or isinstance(value, NotGiven):
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
                raise ValueError(f"ContainerConfig({name}={value!r}): must be greater than 0")
        for mount in self.mounts:
            if not (isinstance(mount, tuple) and len(mount) == 3):
                raise TypeError(
                    "ContainerConfig(mounts=…): expected tuples (directory, path in the container, writable)"
                )
        check_strings("deps", self.deps)
        check_string_dict("env", self.env)


class ContainerExecutor(ProcessExecutor):
    """A kernel in a container of its own: no network unless asked for, a file system that cannot be written
    but for directories in memory, no capabilities, no new privileges, a user who is not root, bounds on
    memory, processors and processes.

    Needs the extra `container`, and an engine that this user may use. The container goes with the session,
    and with the host.
    """

    name = "container"
    network_proxy = "unix"
    capabilities = frozenset(
        {
            "timeout",
            "process_isolation",
            "container_isolation",
            "filesystem_isolation",
            "memory_limit",
            "cpu_limit",
            "reset",
            "suspend",
        }
    )
    _output_by_frames = True

    def __init__(self, config: ContainerConfig | None = None) -> None:
        super().__init__()
        self.config = config or ContainerConfig()
        self._patience = self.config.start_timeout
        self.default_timeout = self.config.default_timeout
        self._client: docker.APIClient | None = None
        self._image: str | None = None
        self._proxy: str | None = None
        capabilities = set(self.capabilities)
        capabilities.add("deps_install" if self.config.network else "network_isolation")
        if self.config.snapshots:
            capabilities.add("snapshot_pickle")
        self.capabilities = frozenset(capabilities)

    @property
    def workspace_options(self) -> WorkspaceOptions:
        return self.config

    @property
    def packages(self) -> Packages | None:
        return self if self.config.network else None

    @property
    def packages_path(self) -> None:
        return None

    def use_proxy(self, place: ProxyPlace) -> ProxyPlace:
        if self.config.network:
            raise TypeError("network= is for a container without one: omit ContainerConfig(network=True)")
        self._proxy = place.directory
        return ProxyPlace(f"127.0.0.1:{_PROXY_PORT}", _PROXY)

    def _settings(self) -> dict[str, object]:
        settings = {"path": [_PACKAGES] if self.config.network else [], "watches": True}
        return settings if self._proxy is None else settings | {"forward": (f"{_PROXY}/socket", _PROXY_PORT)}

    def _launch(self) -> Process:
        if self._client is None:
            self._client = container_engine.connect(self.config.engine)
            container_engine.sweep(self._client)
        if self._image is None:
            config = self.config
            deps = [*config.deps, *(["cloudpickle"] if config.snapshots else [])]
            base = config.image or f"python:{config.python_version}-slim"
            self._image = container_engine.image_for_kernels(self._client, base, deps, config.install_timeout)
        return Container(self._client, self._description())

    def _description(self) -> dict[str, object]:
        """What the engine is asked for."""
        assert self._client is not None
        config = self.config
        memory = self._limits.memory if isinstance(config.memory, NotGiven) else config.memory
        tmpfs = dict(config.tmpfs)
        if config.network:
            tmpfs[_PACKAGES] = memory or 1024 * _MIB
        binds = {
            str(Path(source).expanduser().absolute()): {"bind": target, "mode": "rw" if writes else "ro"}
            for source, target, writes in config.mounts
        }
        if self._proxy is not None:
            binds[self._proxy] = {"bind": _PROXY, "mode": "ro"}
        limits = {} if memory is None else {"mem_limit": memory, "memswap_limit": memory}
        if config.cpus is not None:
            limits["nano_cpus"] = int(config.cpus * 1e9)
        if config.pids_limit is not None:
            limits["pids_limit"] = config.pids_limit
        return {
            "image": self._image,
            "command": ["python3", "-I", "-c", PROGRAM, container_engine.GUEST, "0", "1", "0"],
            "entrypoint": [],
            "stdin_open": True,
            "user": config.user,
            "working_dir": _WORK if _WORK in tmpfs else "/",
            "environment": {"HOME": "/tmp", "LANG": "C.UTF-8", **config.env},
            "labels": container_engine.labels(),
            "volumes": [bind["bind"] for bind in binds.values()],
            "host_config": self._client.create_host_config(
                auto_remove=True,
                binds=binds,
                cap_drop=["ALL"],
                init=True,
                network_mode="bridge" if config.network else "none",
                read_only=config.read_only,
                security_opt=["no-new-privileges"],
                tmpfs={path: f"{self._tmpfs_options()},size={size}" for path, size in tmpfs.items()},
                **limits,
            ),
        }

    def _tmpfs_options(self) -> str:
        options = "rw,exec,nosuid,nodev,mode=1777"  # libraries with code in C are loaded from there too
        user, _, group = self.config.user.partition(":")
        # A place that the image has keeps its mode: the code's user has to own it.
        if user.isdigit():
            options += f",uid={user}"
        return f"{options},gid={group}" if group.isdigit() else options

    def close(self) -> None:
        super().close()
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def abandon(self) -> None:
        super().abandon()
        self._client = None  # its connections are the parent's

    # -- packages ------------------------------------------------------------------------------------------

    def install(self, requirements: Sequence[str]) -> Installed:
        outcome = Installed()
        for requirement in requirements:
            status, said = self._pip("install", "--dry-run", "--no-deps", "--no-index", "--", requirement)
            if not status and "Would install" not in said:
                outcome.already_present.append(requirement)
                continue
            status, said = self._pip("install", "--upgrade", "--target", _PACKAGES, "--", requirement)
            if status:
                outcome.failed[requirement] = said[-_MESSAGE:]
            else:
                outcome.installed.append(requirement)
        return outcome

    def uninstall(self, names: Sequence[str]) -> Uninstalled:
        outcome = Uninstalled()
        for name in names:
            status, said = self._pip("uninstall", "--yes", "--", name)
            if status:
                outcome.failed[name] = said[-_MESSAGE:]  # what is in the image stays there
            elif "as it is not installed" in said:
                outcome.not_found.append(name)
            else:
                outcome.removed.append(name)
        return outcome

    def _pip(self, *arguments: str) -> tuple[int, str]:
        """Run pip in the container; it sees what was installed before."""
        process = self._process
        if not isinstance(process, Container):
            raise RuntimeSetupError("the kernel's container is gone")
        command = ["python3", "-P", "-m", "pip", "--disable-pip-version-check", *arguments]
        # An image's Python may belong to a distribution; the container belongs to the session.
        return process.execute(command, {"PYTHONPATH": _PACKAGES, "PIP_BREAK_SYSTEM_PACKAGES": "1"})


class _Unpacker:
    """Takes the streams apart that the engine sends as one: pieces with a header of eight bytes each."""

    def __init__(self) -> None:
        self._header = b""
        self._left = 0
        self._stream = 0
        #: The last of what was written to standard error, where an interpreter speaks when all else fails.
        self.said = bytearray()

    def __call__(self, data: bytes) -> bytes:
        frames = []
        place = 0
        while place < len(data):
            if not self._left:
                wanted = 8 - len(self._header)
                self._header += data[place : place + wanted]
                place += wanted
                if len(self._header) < 8:
                    break
                self._stream, self._left = self._header[0], int.from_bytes(self._header[4:], "big")
                self._header = b""
                continue
            piece = data[place : place + self._left]
            place += len(piece)
            self._left -= len(piece)
            if self._stream == 1:
                frames.append(piece)
            else:
                self.said = (self.said + piece)[-4096:]
        return b"".join(frames)


class Container(Process):
    """A container whose first process is the kernel."""

    def __init__(self, client: docker.APIClient, description: dict[str, object]) -> None:
        self._client = client
        self._owner = os.getpid()
        self._unpacker = _Unpacker()
        self._figures: tuple[float, float | None, int] = (0.0, None, 0)
        self._created = time.time()
        with container_engine.failures("the container cannot be started"):
            self._id: str = client.create_container(**description)["Id"]
            try:
                parameters = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
                self._attached = client.attach_socket(self._id, params=parameters)
                self.pipe = Pipe(container_engine.raw_socket(self._attached), unpack=self._unpacker)
                client.start(self._id)
            except BaseException:
                self._remove()
                raise

    def interrupt(self) -> None:
        with container_engine.gone():
            self._client.kill(self._id, signal.SIGINT)

    def end(self, seconds: float) -> None:
        if self.pipe.closed or os.getpid() != self._owner:
            return
        # Its standard input ends with the connection, and so does a kernel at rest.
        self.pipe.hang_up()
        self._attached.close()
        if seconds:
            self._wait(seconds)
        self._remove()

    def _remove(self) -> None:
        with container_engine.gone():
            self._client.remove_container(self._id, force=True, v=True)

    def _wait(self, seconds: float) -> int | None:
        """The status with which it ended; None when it still runs, or that is not known."""
        import requests

        with contextlib.suppress(requests.exceptions.RequestException), container_engine.gone():
            return int(self._client.wait(self._id, timeout=seconds)["StatusCode"])
        return None

    def forget(self) -> None:
        self.pipe.close()

    def _end_event(self) -> tuple[int | None, bool]:
        """The status with which it ended, and whether it ran out of memory.

        The engine's events say so also when it has removed the container already, or is slow to tell.
        """
        import requests

        status, out_of_memory = None, False
        chosen = {"container": self._id, "event": ["oom", "die"]}
        with contextlib.suppress(requests.exceptions.RequestException), container_engine.gone():
            until = time.time() + _END_PATIENCE
            for event in self._client.events(since=self._created, until=until, filters=chosen, decode=True):
                if event.get("status") == "oom":
                    out_of_memory = True
                elif event.get("status") == "die":
                    status = int(event["Actor"]["Attributes"]["exitCode"])
                    break
        return status, out_of_memory

    def ending(self) -> tuple[str, int | None]:
        status, out_of_memory = self._end_event()
        said = bytes(self._unpacker.said).decode("utf-8", "replace").strip()
        words = f"; it said:\n{said}" if said else ""
        if status is None:
            return f"its container is gone, or closed its connection to the host{words}", None
        if status > 128:
            try:
                name = signal.Signals(status - 128).name
            except ValueError:
                name = f"signal {status - 128}"
            if out_of_memory:
                hint = ": the container's memory limit is reached"
            else:
                hint = ", perhaps because of the memory limit" if name == "SIGKILL" else ""
            return f"its process was killed by {name}{hint}{words}", None
        return f"the code ended its process with status {status}{words}", status

    def execute(self, command: list[str], variables: dict[str, str]) -> tuple[int, str]:
        """Run another program in the container; its status and what it prints."""
        with container_engine.failures(f"{shlex.join(command)} cannot be run in the container"):
            started = self._client.exec_create(self._id, command, environment=variables)
            said = self._client.exec_start(started["Id"])
            status = self._client.exec_inspect(started["Id"])["ExitCode"]
        return int(status), bytes(said).decode("utf-8", "replace")

    def _measure(self) -> tuple[float, float | None, int]:
        if time.monotonic() - self._figures[0] > _FRESH:
            with container_engine.gone():
                found = self._client.stats(self._id, decode=None, stream=False, one_shot=True)
                used = found.get("cpu_stats", {}).get("cpu_usage", {}).get("total_usage")
                memory = found.get("memory_stats", {}).get("usage") or 0
                self._figures = time.monotonic(), None if used is None else used / 1e9, memory
        return self._figures

    def cpu_seconds(self) -> float | None:
        return self._measure()[1]

    def memory_bytes(self) -> int:
        """The last that is known: to ask the engine takes longer than most executions."""
        return self._figures[2]
