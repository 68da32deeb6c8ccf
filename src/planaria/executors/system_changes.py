"""What the guest asks of its system beyond WASI: permission bits, other numbers for descriptors, the usage of
filesystems, a timer, and limits of files.
"""

from __future__ import annotations

import errno
import os

from planaria.errors import ProtocolError
from planaria.files.filesystem import FileSystem
from planaria.files.mount import MountFileSystem
from planaria.machine.machine import Machine
from planaria.machine.wasi.abi import Errno, errno_of

__all__ = ["changed"]


def changed(
    machine: Machine, files: FileSystem, request: tuple[object, ...], *, may_interrupt: bool
) -> tuple[object, ...]:
    """The answer to a request: `("ok", value)`, or `("errno", number)` where the system refuses it.

    Raises ProtocolError for one that is not well formed.
    """
    wasi = machine.wasi
    value: object = None
    try:
        match request:
            case "chmod", bytes(path), int(mode), bool(follow):
                wasi.chmod(path, mode, follow=follow)
            case "fchmod", int(descriptor), int(mode):
                wasi.fchmod(descriptor, mode)
            case "dup", int(descriptor), (int() | None) as to:
                value = wasi.dup(descriptor, to)
            case "usage", int(device):
                value = _usage(files, device)
            case "timer", *setting:
                if not may_interrupt:
                    raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
                value = _timer(machine, *setting)
            case "umask", int(mask):
                wasi.umask = mask & 0o777
            case "bounds", (int() | None) as size, (int() | None) as more:
                if (size or 0) < 0 or (more or 0) < 0:
                    raise ProtocolError("the guest asked for negative limits")
                wasi.bound_files(size, more)
            case _:
                raise ProtocolError(f"the guest asked for an unknown change of files: {request[:1]!r}")
    except OSError as error:
        return ("errno", errno_of(error) or int(Errno.IO))
    return ("ok", value)


def _timer(machine: Machine, seconds: object = None, interval: object = None) -> tuple[float, float]:
    """What is left of the timer of the guest, and its interval; with arguments it is set."""
    before = machine.timer()
    if isinstance(seconds, float) and isinstance(interval, float):
        machine.set_timer(seconds, interval)
    elif seconds is not None:
        raise ProtocolError(f"the guest set its timer to {seconds!r}")
    return before


def _usage(files: FileSystem, device: int) -> tuple[int | None, ...]:
    """Bytes used and at most, nodes used and at most, of the filesystem with this device number."""
    mount = files.mount_of(device) if isinstance(files, MountFileSystem) else None
    if mount is None:
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
    usage = mount.filesystem.usage()
    return (usage.bytes_used, usage.bytes_limit, usage.nodes_used, usage.nodes_limit)
