"""A kernel in a child process, with a virtual environment of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from planaria.errors import RuntimeSetupError
from planaria.executors.executor import Installed, Packages, ProxyPlace, Uninstalled, WorkspaceOptions
from planaria.executors.messages import Query
from planaria.executors.pipe import Pipe
from planaria.executors.process import PROGRAM, Process, ProcessExecutor
from planaria.executors.virtualenv import Environment, guest_directory, prepare
from planaria.limits import NOT_GIVEN, NotGiven
from planaria.parameters import check_string_dict, check_strings, suggest_field_names
from planaria.process_groups import kill_group

__all__ = ["INHERITED", "SubprocessConfig", "SubprocessExecutor"]

#: The variables of the host's environment that a kernel gets.
INHERITED: Final = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NUMERIC",
    "LC_TIME",
    "TZ",
    "TMPDIR",
)


@suggest_field_names
@dataclass(frozen=True, kw_only=True)
class SubprocessConfig:
    """How a `SubprocessExecutor` is set up. Times in seconds, sizes in bytes; None means no limit.

    Raises ValueError for a bound that is not positive.
    """

    tools_path: Path | str | None = None
    """A directory of tool definitions, beside those of the storage."""
    python_version: str | None = None
    """The version of Python to run, as "3.12"; that of this process unless given."""
    base_path: Path | str | None = None
    """The directory of the workspace; the working directory of the code, unless one is given."""
    working_directory: Path | str | None = None
    """Where the code begins; the directory of this process unless one is given."""
    venv_path: Path | str | None = None
    """A virtual environment to use and to change; it is made when there is none. Without one, a session has a
    small one of its own over a shared one that is never changed."""
    cache_venv: bool = True
    """Whether the environment with `deps` is kept for the next session with the same ones."""
    deps: Sequence[str] = ()
    """Requirements (PEP 508) to be installed before the kernel starts."""
    allow_runtime_deps: bool = True
    """Whether code may change the dependencies."""
    default_timeout: float | None = 60.0
    """Time of an execution unless the session says otherwise."""
    start_timeout: float = 60.0
    """Time that the process may take to be ready."""
    install_timeout: float = 600.0
    """Time that one installation may take."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables beside those that are passed on (see `inherit`)."""
    inherit: Sequence[str] = INHERITED
    """Names of the host's environment variables that the code gets; no others are passed on."""
    memory: int | NotGiven | None = NOT_GIVEN
    """Address space of the process (RLIMIT_AS); `Limits.memory` unless given."""
    cpu_seconds: int | None = None
    """Processor time of the process in all (RLIMIT_CPU); for one execution see `Limits.cpu_time`."""
    processes: int | None = None
    """Processes and threads of this user, those outside of the session included (RLIMIT_NPROC). The system
    does not hold the superuser to it."""
    open_files: int | None = 1024
    """Open descriptors of a process (RLIMIT_NOFILE)."""
    file_size: int | None = None
    """Size of a file that the code writes (RLIMIT_FSIZE)."""
    snapshots: bool = False
    """Whether `cloudpickle` is installed, for `Session.pickle_variables`."""

    def __post_init__(self) -> None:
        for name in (
            "default_timeout",
            "start_timeout",
            "install_timeout",
            "memory",
            "cpu_seconds",
            "processes",
            "open_files",
            "file_size",
        ):
            value = getattr(self, name)
            if value is None and name in ("start_timeout", "install_timeout"):
                raise ValueError(
                    f"SubprocessConfig({name}=None): must be a number; this limit cannot be disabled"
                )
            if value is None or isinstance(value, NotGiven):
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
                raise ValueError(f"SubprocessConfig({name}={value!r}): must be greater than 0")
        check_strings("deps", self.deps)
        check_strings("inherit", self.inherit)
        check_string_dict("env", self.env)


class SubprocessExecutor(ProcessExecutor):
    """A kernel in a child process with an interpreter and a virtual environment of its own.

    The process is not a sandbox: the code has the rights of the user who runs it, sees the files and the
    network. A policy (`network=`) holds for programs that respond to the variables of a proxy, and no others.
    The code does not have the host's memory, descriptors and environment; and the host outlives whatever it
    does.
    """

    name = "subprocess"
    capabilities = frozenset(
        {"timeout", "process_isolation", "memory_limit", "cpu_limit", "reset", "suspend", "deps_install"}
    )

    network_proxy = "tcp"

    def __init__(self, config: SubprocessConfig | None = None) -> None:
        super().__init__()
        self.config = config or SubprocessConfig()
        self._patience = self.config.start_timeout
        self.default_timeout = self.config.default_timeout
        self._environment: Environment | None = None
        if self.config.snapshots:
            self.capabilities = self.capabilities | {"snapshot_pickle"}

    @property
    def workspace_options(self) -> WorkspaceOptions:
        return self.config

    @property
    def packages(self) -> Packages:
        return self

    @property
    def packages_path(self) -> None:
        return None

    def use_proxy(self, place: ProxyPlace) -> ProxyPlace:
        return place

    def _launch(self) -> Process:
        config = self.config
        environment = self._prepared()
        directory = config.working_directory or config.base_path or os.getcwd()
        variables = {name: os.environ[name] for name in config.inherit if name in os.environ}
        variables["PATH"] = os.pathsep.join([*environment.programs, variables.get("PATH", os.defpath)])
        variables["VIRTUAL_ENV"] = str(environment.directory)
        variables.update(config.env)
        return ChildProcess(environment.python, variables, Path(directory).expanduser())

    def _prepared(self) -> Environment:
        if self._environment is None:
            config = self.config
            deps = [*config.deps, *(["cloudpickle"] if config.snapshots else [])]
            self._environment = prepare(
                config.python_version,
                deps,
                venv_path=config.venv_path,
                cached=config.cache_venv,
                timeout=config.install_timeout,
            )
        return self._environment

    def _resources(self) -> dict[str, int]:
        config = self.config
        memory = self._limits.memory if isinstance(config.memory, NotGiven) else config.memory
        bounds = {
            "RLIMIT_AS": memory,
            "RLIMIT_CPU": config.cpu_seconds,
            "RLIMIT_NPROC": config.processes,
            "RLIMIT_NOFILE": config.open_files,
            "RLIMIT_FSIZE": config.file_size,
        }
        return super()._resources() | {name: bound for name, bound in bounds.items() if bound is not None}

    def abandon(self) -> None:
        super().abandon()
        self._environment = None  # the parent's

    def close(self) -> None:
        super().close()
        environment, self._environment = self._environment, None
        if environment is not None:
            environment.close()

    # -- packages ------------------------------------------------------------------------------------------

    def install(self, requirements: Sequence[str]) -> Installed:
        return self._prepared().install(requirements)

    def uninstall(self, names: Sequence[str]) -> Uninstalled:
        environment = self._prepared()
        outcome, left = environment.uninstall(names)
        if left is not None:
            self._deferred.append(Query("leave_path", (str(left),)))
        return outcome


class ChildProcess(Process):
    """A child of this process that is the leader of a session of the system's, and so of a group."""

    def __init__(self, python: Path, variables: Mapping[str, str], directory: Path) -> None:
        ours, theirs = socket.socketpair()
        lifeline, self._lifeline = os.pipe()
        sources, sinks = zip(os.pipe(), os.pipe(), strict=True)
        given = (theirs.fileno(), lifeline)
        command = [python, "-I", "-c", PROGRAM, guest_directory(), given[0], given[0], given[1]]
        self._owner = os.getpid()
        self._started = time.monotonic()
        try:
            self._popen = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=sinks[0],
                stderr=sinks[1],
                pass_fds=given,
                cwd=directory,
                env=dict(variables),
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            for descriptor in (self._lifeline, *sources):
                os.close(descriptor)
            raise RuntimeSetupError(
                f"the kernel's process cannot be started: {error.strerror}: {error.filename}"
            ) from error
        finally:
            theirs.close()
            for descriptor in (lifeline, *sinks):
                os.close(descriptor)
        self.pipe = Pipe(ours, {1: sources[0], 2: sources[1]})

    def interrupt(self) -> None:
        os.kill(self._popen.pid, signal.SIGINT)  # not reaped before `end`, so the number is its own

    def end(self, seconds: float) -> None:
        if self.pipe.closed or os.getpid() != self._owner:
            return
        # A kernel at rest ends when the connection does, as any Python does: with atexit and finalisers.
        self.pipe.hang_up()
        if seconds:
            self._has_ended(seconds)
        self._kill()
        self._popen.wait()
        os.close(self._lifeline)

    def _status(self) -> tuple[int, int] | None:
        """How it ended (CLD_EXITED …) with which status or signal; None while it runs. Reaps nothing."""
        if not hasattr(os, "waitid"):  # macOS, before Python 3.13: it is reaped
            code = self._popen.poll()
            return None if code is None else (os.CLD_EXITED if code >= 0 else os.CLD_KILLED, abs(code))
        try:
            found = os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # where SIGCHLD is ignored, that is not known
            return os.CLD_KILLED, signal.SIGKILL
        return None if found is None else (found.si_code, found.si_status)

    def _has_ended(self, seconds: float) -> bool:
        """Wait at most so long for the process to end, and leave it to be reaped."""
        end = time.monotonic() + seconds
        pause = 0.001
        while self._status() is None:
            left = end - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(left, pause))
            pause = min(pause * 2, 0.02)
        return True

    def _kill(self) -> None:
        """Kill all that it has started and that is still in its group or session; it is not reaped yet, so
        its number is no one else's."""
        kill_group(self._popen.pid)
        for process in _of_session(self._popen.pid):
            try:
                os.kill(process, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass

    def forget(self) -> None:
        self.pipe.close()
        os.close(self._lifeline)
        self._popen.returncode = 0  # not a child of this process

    def ending(self) -> tuple[str, int | None]:
        if not self._has_ended(0.5):
            return "it closed its connection to the host, and was killed", None
        how, status = self._status() or (0, 0)
        if how == os.CLD_EXITED:
            return f"the code ended its process with status {status}", status
        try:
            name = signal.Signals(status).name
        except ValueError:
            name = f"signal {status}"
        hint = {"SIGKILL": ", perhaps for lack of memory", "SIGXCPU": ": its cpu_seconds are used up"}
        return f"its process was killed by {name}{hint.get(name, '')}", None

    def cpu_seconds(self) -> float | None:
        try:
            # The clock of another process, as clock_getcpuclockid(3) of Linux numbers it.
            return time.clock_gettime((~self._popen.pid << 3) | 2)
        except OSError:
            return None

    def memory_bytes(self) -> int:
        try:
            with open(f"/proc/{self._popen.pid}/statm", "rb") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            return 0


def _of_session(session: int) -> list[int]:
    """The processes of an operating system's session, as /proc lists them; a shell puts its jobs into groups
    of their own."""
    found = []
    try:
        entries = os.listdir("/proc")
    except OSError:
        return []
    for entry in entries:
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session:
                found.append(int(entry))
    return found
