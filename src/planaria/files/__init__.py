"""The virtual filesystem under everything that a guest does."""

import os

from planaria.files.devices import DeviceFileSystem, ProcFileSystem
from planaria.files.filesystem import (
    Difference,
    DirEntry,
    FileKind,
    FileSystem,
    FileSystemSnapshot,
    FileSystemUsage,
    Handle,
    OpenFlags,
    Stat,
)
from planaria.files.hostblob import HostBlob
from planaria.files.layout import standard_layout
from planaria.files.memory import MemoryFileSystem
from planaria.files.mount import MountFileSystem
from planaria.files.overlay import OverlayFileSystem
from planaria.files.quota import Quota
from planaria.files.storage import Mount, VfsStorage
from planaria.files.view import Files

if os.name == "posix":
    # It works by descriptors, which other systems do not have.
    from planaria.files.host import HostFileSystem

__all__ = [
    "DeviceFileSystem",
    "Difference",
    "DirEntry",
    "FileKind",
    "FileSystem",
    "FileSystemSnapshot",
    "FileSystemUsage",
    "Files",
    "Handle",
    "HostBlob",
    "HostFileSystem",
    "MemoryFileSystem",
    "Mount",
    "MountFileSystem",
    "OpenFlags",
    "OverlayFileSystem",
    "ProcFileSystem",
    "Quota",
    "Stat",
    "VfsStorage",
    "standard_layout",
]
