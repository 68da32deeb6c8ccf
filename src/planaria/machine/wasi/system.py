"""`Wasi`: the system that a guest runs on, as a table of functions for the machine to bind.

Every function takes the raw parameters as non-negative ints (`abi.SIGNATURES` has their kinds; only the
offset of `fd_seek` is signed) and returns a WASI errno. Through `Wasi.functions` nothing is ever raised but
`ProcessExit`: errors become errnos, and what should not have happened is kept in `Wasi.failures`.
"""

from __future__ import annotations

import collections
import errno
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from planaria.errors import SnapshotError
from planaria.files.filesystem import FileSystem
from planaria.files.manifest import bytes_of, text_of
from planaria.machine.wasi.abi import OFFSET_LIMIT, SIGNATURES, Errno, errno_of
from planaria.machine.wasi.clock import Clock, SystemClock
from planaria.machine.wasi.descriptors import PREOPEN, DescriptorTable, standard_stream
from planaria.machine.wasi.files import FileCalls
from planaria.machine.wasi.held_output import HeldOutput, checked_state
from planaria.machine.wasi.locks import Locks
from planaria.machine.wasi.memory import GuestMemory
from planaria.machine.wasi.paths import PathCalls
from planaria.machine.wasi.polling import PollCalls
from planaria.machine.wasi.process import ProcessExit, environment_strings
from planaria.machine.wasi.random import RandomSource, SystemRandom
from planaria.machine.wasi.state import capture, rebuild

__all__ = ["Wasi"]

#: How many of the latest failures are kept for the host to look at.
_FAILURES_KEPT: Final = 32
#: The host's own waits overflow somewhere beyond this many seconds.
_LONGEST_SLEEP: Final = 1e9

_IO: Final = int(Errno.IO)
_INTR: Final = int(Errno.INTR)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= OFFSET_LIMIT


def _no_memory() -> GuestMemory:
    """Of no length: every address is EFAULT."""
    return GuestMemory(lambda: memoryview(bytearray()))


def _discard(stream: int, data: bytes) -> None:
    """Standard output and error lead nowhere."""


def _end_of_file(size: int) -> bytes:
    """Standard input is at its end."""
    return b""


def _sleep(seconds: float) -> bool:
    time.sleep(min(seconds, _LONGEST_SLEEP))
    return True


class Wasi(FileCalls, PathCalls, PollCalls):
    """WASI preview 1 over a `FileSystem`, for one guest.

    `on_output(stream, data)` takes what the guest writes to standard output (1) and error (2);
    `on_input(size)` gives at most `size` bytes of standard input, none at its end. Both may raise `OSError`,
    which the guest sees as its errno. `sleep(seconds)` waits and returns False when it was interrupted: the
    guest's sleep is over then, and the interrupting side makes the guest notice. `limit` is the greatest
    number of open descriptors. `receive(descriptor, buffer)` puts into a buffer what a connection of the
    host's has received for the guest; its length, 0 for nothing yet. `send(descriptor, buffer)` takes from a
    buffer what such a connection sends; its length. Set `memory` before the guest runs.
    """

    def __init__(
        self,
        files: FileSystem,
        *,
        memory: GuestMemory | None = None,
        arguments: Sequence[bytes] = (b"python",),
        environment: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        random: RandomSource | None = None,
        on_output: Callable[[int, bytes], None] = _discard,
        on_input: Callable[[int], bytes] = _end_of_file,
        sleep: Callable[[float], bool] = _sleep,
        receive: Callable[[int, memoryview], int] | None = None,
        send: Callable[[int, memoryview], int] | None = None,
        limit: int = 1024,
    ) -> None:
        self.memory = memory or _no_memory()
        self.files = files
        self.table = DescriptorTable(files, limit)
        self.arguments = tuple(arguments)
        self.environment = environment_strings(environment or {})
        self.clock = clock or SystemClock()
        self.random = random or SystemRandom()
        self.on_output = on_output
        self.on_input = on_input
        #: What the guest's standard streams hold back.
        self.held = HeldOutput()
        self.sleep = sleep
        self.receive = receive
        self.send = send
        #: Permission bits that new files and directories do not get; preview 1 cannot tell it.
        self.umask = 0o022
        self.largest_file = OFFSET_LIMIT
        self._most_descriptors = limit
        self.locks = Locks(files)
        #: What went wrong on the host's side while a function ran, the latest last: not for the guest.
        self.failures: collections.deque[BaseException] = collections.deque(maxlen=_FAILURES_KEPT)

    @cached_property
    def functions(self) -> dict[str, Callable[..., int]]:
        """By name, never raising. (A machine calls the methods themselves, and `answer` when they raise.)"""
        return {name: self._guarded(getattr(self, name)) for name in SIGNATURES}

    def _guarded(self, function: Callable[..., int]) -> Callable[..., int]:
        def call(*parameters: int) -> int:
            try:
                return function(*parameters)
            except BaseException as error:
                return self.answer(error)

        return call

    def answer(self, error: BaseException) -> int:
        """The errno that the guest gets when a function raised `error`; ProcessExit is raised again.

        Not even KeyboardInterrupt may pass through the frames of the guest below a function.
        """
        if isinstance(error, OSError):
            number = errno_of(error)
            if number is not None:
                return number
        elif isinstance(error, ProcessExit):
            raise error
        self.failures.append(error)
        return _INTR if isinstance(error, KeyboardInterrupt) else _IO

    def chmod(self, path: bytes, mode: int, *, follow: bool = True) -> None:
        """Change permission bits, which preview 1 has no function for; raises `OSError`."""
        self.files.chmod(path, mode & 0o7777, follow=follow)

    def fchmod(self, descriptor: int, mode: int) -> None:
        """As `chmod`, of what a descriptor has open."""
        self._file(descriptor).handle.chmod(mode & 0o7777)

    def dup(self, descriptor: int, to: int | None = None) -> int:
        """Another number for an open descriptor, `to` if given, as dup2(2) does; raises `OSError`."""
        table = self.table
        if descriptor not in table.open or (to is not None and to not in table.open and to != descriptor):
            raise OSError(errno.EBADF, f"descriptor {descriptor} or {to} is not open")
        if PREOPEN in (descriptor, to):
            raise OSError(errno.ENOTSUP, "the root directory keeps its number")
        if to == descriptor:
            return descriptor
        if to is None:
            if len(table) >= table.limit:
                raise OSError(errno.EMFILE, f"{table.limit} descriptors are open")
            return table.duplicate(descriptor)
        self.take_held_output()
        shared = table.open[descriptor]
        shared.shared += 1
        table.open[to].close()
        table.open[to] = shared
        return to

    def reopen_input(self) -> None:
        """Open descriptor 0 again, which `open(0).read()` leaves closed."""
        self.table.add(standard_stream(0))

    def bound_files(self, size: int | None, more: int | None) -> None:
        """Bound the bytes of a file, and how many more files may be opened; None: as ever."""
        self.largest_file = OFFSET_LIMIT if size is None else min(size, OFFSET_LIMIT)
        most = self._most_descriptors
        self.table.limit = most if more is None else min(len(self.table) + more, most)

    # -- as a value --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything of the guest's system but its files, as plain values; for `restore`."""
        return {**self.tables(), **self.running()}

    def tables(self) -> dict[str, Any]:
        """What of it only calls of the guest change."""
        return {
            "descriptors": capture(self.table),
            "umask": self.umask,
            "locks": [text_of(path) for path in self.locks.paths()],
            "held": self.held.state(),
        }

    def running(self) -> dict[str, Any]:
        """What of it changes without a call."""
        return {"clock": self.clock.state(), "random": self.random.state()}

    def restore(self, state: Mapping[str, Any], *, predecessor: Wasi | None = None) -> None:
        """Go on from a captured state over the present files, which must be those of that moment.

        The files come first: fork or restore them, then call this. A file that is not found, or whose lock
        is lost (see `locks`), gives ESTALE to the guest when it uses the descriptor. The `predecessor` is the
        system that the state was taken from, if nothing was done since: its locks are taken over. Raises
        `SnapshotError`, and changes nothing, for a state that `state` cannot have made: it may come from
        anyone.
        """
        umask, clock, random = state.get("umask"), state.get("clock"), state.get("random")
        if type(umask) is not int or not 0 <= umask <= 0o777:
            raise SnapshotError(f"the captured umask is {umask!r}")
        if not isinstance(clock, Mapping) or not all(
            _is_count(clock.get(key)) for key in ("monotonic", "cpu", *clock)
        ):
            raise SnapshotError(f"the captured clock is {clock!r}")
        if random is not None and not _is_count(random):
            raise SnapshotError(f"the captured state of the random bytes is {random!r}")
        descriptors = state.get("descriptors")
        if not isinstance(descriptors, list) or not all(isinstance(value, Mapping) for value in descriptors):
            raise SnapshotError("the captured descriptors are not a list of mappings")
        locks = state.get("locks", [])
        if not isinstance(locks, list) or not all(
            type(path) is str and path.startswith("/") and path.endswith(".lock") for path in locks
        ):
            raise SnapshotError("the captured locks are not a list of paths of locks")
        positions = checked_state(state.get("held", {}))
        taken = {bytes_of(path) for path in locks}
        held = None if predecessor is None else predecessor.locks
        rebuild(self.table, descriptors, lambda: self.locks.go_back(taken, held))
        self.held.restore(positions)
        self.umask = umask
        self.bound_files(None, None)  # bounds are those of a script that runs
        self.clock.restore(clock)
        self.random.restore(random)

    def close(self) -> None:
        """Close every descriptor, release the locks, and let go of the memory, which must still be there
        until then.
        """
        self.table.clear()
        self.locks.release()
        self.memory = _no_memory()
