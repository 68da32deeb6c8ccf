"""`mv`: rename SOURCE to DEST, or move SOURCE(s) to DIRECTORY."""

from __future__ import annotations

import errno
import os
import stat

from planaria_shell.commands.files.copying import Copier, base_name
from planaria_shell.commands.files.destinations import places
from planaria_shell.commands.files.rm import Remover
from planaria_shell.state.command import Status
from planaria_shell.toolkit.backup import Backup
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import shell_quote_always as shown


@command(
    "mv",
    short="bfint:uvS:TZ",
    long="backup:: force=f interactive=i no-clobber=n no-target-directory=T strip-trailing-slashes suffix=S: "
    "target-directory=t: update=u verbose=v context=Z",
    usage="[OPTION]... [-T] SOURCE DEST\n  or:  mv [OPTION]... SOURCE... DIRECTORY\n"
    "  or:  mv [OPTION]... -t DIRECTORY SOURCE...",
)
def mv(call: Invocation) -> Status:
    """Rename SOURCE to DEST, or move SOURCE(s) to DIRECTORY."""
    backup = Backup(call)
    made: set[tuple[int, int]] = set()
    sources, targets = places(call)
    if backup and call.arguments.last(("i", "f", "n")) == "n":
        raise UsageError("options --backup and --no-clobber are mutually exclusive")
    for source, target in zip(sources, targets, strict=True):
        _move(call, source, target, backup, made)
    return call.status


def _move(call: Invocation, source: str, target: str, backup: Backup, made: set[tuple[int, int]]) -> None:
    arguments = call.arguments
    path, goal = call.path(source).rstrip("/") or "/", call.path(target)
    try:
        status = os.lstat(path)
        if source.endswith("/") and not stat.S_ISDIR(os.stat(path).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    except OSError as error:
        call.complain(f"cannot stat {shown(source)}", error)
        return
    is_directory = stat.S_ISDIR(status.st_mode)
    existing: os.stat_result | None = None
    try:
        existing = os.lstat(goal)
    except FileNotFoundError:
        pass
    except OSError as error:
        call.complain(f"cannot stat {shown(target)}", error)
        return
    if goal.endswith("/") and not is_directory:
        call.complain(f"cannot move {shown(source)} to {shown(target)}: Not a directory")
        return
    goal = goal.rstrip("/") or "/"
    saved = ""
    clobber = arguments.last(("i", "f", "n"))
    if existing is not None:
        if clobber == "n":
            return
        if (status.st_dev, status.st_ino) == (existing.st_dev, existing.st_ino) and (
            os.path.realpath(path) == os.path.realpath(goal)
        ):
            call.complain(f"{shown(source)} and {shown(target)} are the same file")
            return
        if arguments.has("u") and not is_directory and existing.st_mtime_ns >= status.st_mtime_ns:
            return
        if (existing.st_dev, existing.st_ino) in made:
            call.complain(f"will not overwrite just-created {shown(target)} with {shown(source)}")
            return
        if clobber == "i" and not call.confirm(f"overwrite {shown(target)}?"):
            return
        if not backup:
            if is_directory and not stat.S_ISDIR(existing.st_mode):
                call.complain(
                    f"cannot overwrite non-directory {shown(target)} with directory {shown(source)}"
                )
                return
            if not is_directory and stat.S_ISDIR(existing.st_mode):
                call.complain(f"cannot overwrite directory {shown(target)} with non-directory")
                return
    inside = is_directory and os.path.isdir(os.path.dirname(goal))
    if inside and base_name(source) in (".", ".."):
        fault = os.strerror(errno.EBUSY)
        call.complain(f"cannot move {shown(source)} to {shown(target)}: {fault}")
        return
    if inside and (os.path.realpath(goal) + "/").startswith(os.path.realpath(path) + "/"):
        call.complain(f"cannot move {shown(source)} to a subdirectory of itself, {shown(target)}")
        return
    try:
        if source.endswith("/") and os.path.islink(path):
            # It is the directory that is named, and only the link could be moved.
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if existing is not None and backup:
            saved = backup.name(goal)
            os.rename(goal, saved)
        os.rename(path, goal)
    except OSError as error:
        if error.errno == errno.EXDEV:
            if not _move_across(call, source, target):
                return
            status = os.lstat(goal)
        else:
            call.complain(f"cannot move {shown(source)} to {shown(target)}", error)
            return
    made.add((status.st_dev, status.st_ino))
    if arguments.has("v"):
        note = (
            f" (backup: {shown(os.path.join(os.path.dirname(target), os.path.basename(saved)))})"
            if saved
            else ""
        )
        call.print(f"renamed {shown(source)} -> {shown(target)}{note}")


def _move_across(call: Invocation, source: str, target: str) -> bool:
    """Move between filesystems: copy everything, then remove the original."""
    copier = Copier(call, Backup.__new__(Backup))
    copier.backup.control = "none"
    copier.recursive, copier.follow, copier.remove_first = True, "never", True
    copier.preserve = {"mode", "timestamps", "ownership", "links"}
    if not copier.copy(source, target):
        return False
    return Remover(call, recursive=True, force=True).remove(source)
