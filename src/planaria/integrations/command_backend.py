"""Commands and files of a session, as agent frameworks ask for them: the backend of their adapters."""

from __future__ import annotations

import re
import shlex
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planaria.errors import CrashError, Interrupted, PlanariaError, SessionClosed, TimeoutError
from planaria.integrations.backend_files import BackendFiles
from planaria.limits import NOT_GIVEN, NotGiven
from planaria.session import kernel_queries
from planaria.session.collector import Listeners

if TYPE_CHECKING:
    from planaria.session._sync.session import Session
    from planaria.session.result import Result

__all__ = [
    "BackendClosed",
    "Cancellation",
    "CommandBackend",
    "CommandCancelled",
    "CommandError",
    "CommandOutputLimit",
    "CommandTimeout",
    "Completed",
]

#: Who runs commands in the sandbox, by name and number.
_USERS: Final = frozenset(["user", "1000"])
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
#: The exit status of a command that a limit of the session has ended, as of one that SIGKILL has.
_KILLED: Final = 137
#: Seconds between two turns of background jobs that want to go on at once.
_SHORTEST_PAUSE: Final = 0.01
#: Seconds between two attempts to stop a command that has been cancelled.
_CANCEL_AGAIN: Final = 0.05


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that has ended: its exit status and all that it wrote."""

    exit_code: int
    stdout_bytes: bytes
    stderr_bytes: bytes

    @property
    def stdout(self) -> str:
        """Standard output as text; undecodable bytes are U+FFFD."""
        return self.stdout_bytes.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        """Standard error as text; undecodable bytes are U+FFFD."""
        return self.stderr_bytes.decode("utf-8", "replace")


class CommandError(Exception):
    """A command did not run to its end; `output` is what it wrote until then."""

    def __init__(self, message: str, output: Completed) -> None:
        super().__init__(message)
        self.output = output


class CommandTimeout(CommandError):
    """A command was stopped because its time was over."""


class CommandCancelled(CommandError):
    """A command was cancelled, or never begun since it was cancelled before its turn."""


class CommandOutputLimit(CommandError):
    """A command wrote more than is kept of its output."""


class BackendClosed(Exception):
    """The session is closed, before or during the operation."""


class Cancellation:
    """Cancels the command or execution that it was given to, from any thread."""

    def __init__(self) -> None:
        self.requested = False
        self.ended = threading.Event()
        """Set when the command has ended, for whatever reason."""
        self._stop: Callable[[], None] | None = None

    @contextmanager
    def stops_with(self, stop: Callable[[], None]) -> Iterator[None]:
        """While the block runs, `cancel()` calls `stop`; afterwards it has ended."""
        self._stop = stop
        try:
            yield
        finally:
            self._stop = None
            self.ended.set()

    def cancel(self) -> None:
        """Stop the command, and wait until it has ended."""
        self.requested = True
        while not self.ended.is_set():
            stop = self._stop
            if stop is not None:
                stop()
            self.ended.wait(_CANCEL_AGAIN)


class CommandBackend:
    """Runs programs in the shell of a session, one at a time, and gives access to its files.

    Each program starts in a process of its own: nothing of it stays in the session's shell, and what it
    leaves in the background goes on between the commands, on a thread of this object. For any thread.

    Args:
        session: the session that it uses.
        cwd: where programs start, by default the session's working directory.
        closes_session: whether `close()` closes the session too.
    """

    def __init__(self, session: Session, *, cwd: str | None = None, closes_session: bool = True) -> None:
        self.session = session
        self._closes_session = closes_session
        self.is_closed = False
        #: Guards what follows; notified when a command ends.
        self._changed = threading.Condition()
        self._is_busy = False
        self._keeper: threading.Thread | None = None
        self.cwd = self.run(["pwd", "-P"], cwd=cwd or ".").stdout.removesuffix("\n")
        """The working directory: absolute, without links."""
        self.files = BackendFiles(session.files, self.cwd, self.check_open, self._is_pipe)
        """The files: reading, writing, listing, with the errors of Python's own functions."""

    # -- commands ------------------------------------------------------------------------------------------

    def run(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        user: str | None = None,
        timeout: float | None = None,
        merge_streams: bool = False,
        on_output: Callable[[int, bytes], object] | None = None,
        cancellation: Cancellation | None = None,
    ) -> Completed:
        """Run a program to its end.

        Args:
            command: its arguments, or a script for bash.
            cwd: its working directory, by default that of the backend, at which relative ones start.
            env: environment variables beside those of the session.
            stdin: its standard input.
            user: None, or the sandbox's only user, "user" (1000).
            timeout: seconds it may take; None for what the session allows.
            merge_streams: whether standard error goes where standard output goes, in the order of writing.
            on_output: called with the descriptor, 1 or 2, and each chunk of output as it comes.
            cancellation: cancels it from elsewhere.

        An exit status other than 0 is a result; that of a missing program is 127, as in a shell. Raises
        CommandTimeout, CommandCancelled, CommandOutputLimit (see `Limits.output`), BackendClosed, and
        ValueError for arguments that cannot be.
        """
        given = cancellation or Cancellation()
        try:
            script = self._script(command, cwd, env, user, after=" 2>&1" if merge_streams else "")
            self._take_turn(given)
            try:
                result = self._run(script, stdin, timeout, on_output)
                self._keep_jobs()
            finally:
                self._end_turn()
        finally:
            given._stop = None
            given.ended.set()
        return self._completed(result, given)

    def start(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        output: str = "/dev/null",
        user: str | None = None,
    ) -> int:
        """Start a program in the background and return its process number. It goes on whatever else runs, and
        writes to the file `output`. Raises what `run` does.
        """
        to = f" > {shlex.quote(output)} 2>&1 < /dev/null &"
        script = self._script(command, cwd, env, user, before="", after=to)
        done = self.run(["bash", "-c", f"{script}\necho $!"])
        if done.exit_code:
            raise ValueError(f"the program was not started: {done.stderr.strip()}")
        return int(done.stdout)

    def is_running(self, process: int) -> bool:
        """Whether a program of `start` has not ended yet."""
        return self.run(["bash", "-c", f"kill -0 {process} 2>/dev/null"]).exit_code == 0

    def kill(self, process: int, signal: int = 15) -> bool:
        """Send a signal to a program of `start`; False when it has ended before."""
        return self.run(["bash", "-c", f"kill -{signal} {process} 2>/dev/null"]).exit_code == 0

    @property
    def is_busy(self) -> bool:
        """Whether a command runs now."""
        return self._is_busy

    def check_open(self) -> None:
        """Raises BackendClosed."""
        if self.is_closed or self.session.is_closed:
            raise BackendClosed("this session is closed")

    def close(self) -> None:
        """Stop what runs, and close the session if it is this object's."""
        with self._changed:
            self.is_closed = True
            self._changed.notify_all()
        with suppress(PlanariaError):
            self.session.interrupt()
        if self._closes_session:
            self.session.close()

    # -- how a command runs --------------------------------------------------------------------------------

    def _script(
        self,
        command: str | Sequence[str],
        cwd: str | None,
        env: Mapping[str, str] | None,
        user: str | None,
        *,
        before: str = "exec ",
        after: str = "",
    ) -> str:
        """The script that becomes the program; `before` and `after` stand around its arguments."""
        argv = ["bash", "-c", command] if isinstance(command, str) else list(command)
        if not argv:
            raise ValueError("a command needs at least the name of a program")
        if user is not None and user not in _USERS:
            raise ValueError(f"user={user!r}: programs in the sandbox run as 'user' (1000) only")
        lines = [] if not hasattr(self, "cwd") else [f"cd -- {shlex.quote(self.cwd)} || exit"]
        if cwd is not None:
            lines.append(f"cd -- {shlex.quote(cwd)} || exit")
        for name, value in (env or {}).items():
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} is not a name for an environment variable")
            lines.append(f"export {name}={shlex.quote(value)}")
        if any("\0" in word for word in (*argv, *lines)):
            raise ValueError("a command must not contain null characters")
        words = " ".join(map(shlex.quote, argv))
        return "\n".join([*lines, f"{before}{words}{after}"])

    def _run(
        self,
        script: str,
        stdin: bytes,
        timeout: float | None,
        on_output: Callable[[int, bytes], object] | None,
    ) -> Result:
        seconds: float | NotGiven = NOT_GIVEN if timeout is None else timeout
        try:
            return self.session._run_script(script, seconds, stdin, Listeners(on_bytes=on_output))
        except SessionClosed as error:
            raise BackendClosed(str(error)) from error

    def _completed(self, result: Result, cancellation: Cancellation) -> Completed:
        """What a command has given, or the error for one that did not come to its end."""
        done = Completed(result.exit_code, result.stdout_bytes, result.stderr_bytes)
        error = result.error
        if self.is_closed or isinstance(error, SessionClosed):
            raise BackendClosed("the session was closed while the command ran") from error
        if isinstance(error, TimeoutError):
            raise CommandTimeout(str(error), done) from error
        if isinstance(error, Interrupted):
            if cancellation.requested:
                raise CommandCancelled("the command was cancelled", done)
        elif isinstance(error, CrashError):
            raise BackendClosed(str(error)) from error
        if error is not None:
            message = b"" if not done.stderr_bytes or done.stderr_bytes.endswith(b"\n") else b"\n"
            return Completed(_KILLED, done.stdout_bytes, done.stderr_bytes + message + f"{error}\n".encode())
        if result.stdout_truncated or result.stderr_truncated:
            raise CommandOutputLimit(
                f"the command wrote more than {self.session.limits.output} bytes; see Limits.output", done
            )
        return done

    def _is_pipe(self, path: str) -> bool:
        """Whether a file is a named pipe; not looked at while a command runs, which may last."""
        return not self._is_busy and self.run(["test", "-p", path]).exit_code == 0

    # -- one after the other -------------------------------------------------------------------------------

    def _take_turn(self, cancellation: Cancellation) -> None:
        with self._changed:
            cancellation._stop = self._wake
            self._changed.wait_for(lambda: not self._is_busy or cancellation.requested or self.is_closed)
            self.check_open()
            if cancellation.requested:
                raise CommandCancelled("the command was cancelled before its turn", Completed(130, b"", b""))
            self._is_busy = True
            cancellation._stop = self.session.interrupt

    def _end_turn(self) -> None:
        with self._changed:
            self._is_busy = False
            self._changed.notify_all()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    # -- what goes on in the background --------------------------------------------------------------------

    def _jobs(self) -> list[float]:
        try:
            return self.session._ask(kernel_queries.program_jobs)
        except SessionClosed as error:
            raise BackendClosed(str(error)) from error

    def _keep_jobs(self) -> None:
        """Have a thread run the jobs that programs have left behind, if there are any."""
        if self._keeper is None and self._jobs():
            self._keeper = threading.Thread(target=self._keep, name="planaria background jobs", daemon=True)
            self._keeper.start()

    def _keep(self) -> None:
        """Give the jobs their turns until none is left."""
        try:
            pause = 0.0
            while True:
                with self._changed:
                    if self._changed.wait_for(lambda: self.is_closed, timeout=max(pause, _SHORTEST_PAUSE)):
                        return
                    self._changed.wait_for(lambda: not self._is_busy or self.is_closed)
                    if self.is_closed:
                        return
                    self._is_busy = True
                try:
                    self._run("", b"", None, None)
                    jobs = self._jobs()
                    if not jobs:
                        self._keeper = None
                        return
                finally:
                    self._end_turn()
                pause = min(jobs)
        except (BackendClosed, PlanariaError):
            # The session is gone, and the jobs with it.
            self._keeper = None
