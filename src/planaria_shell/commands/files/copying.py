"""Copying of files and trees, as cp does it and mv across filesystems."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, field

from planaria_shell.toolkit.backup import Backup
from planaria_shell.toolkit.hard_links import hard_link
from planaria_shell.toolkit.invocation import Invocation
from planaria_shell.toolkit.quoting import shell_quote
from planaria_shell.toolkit.quoting import shell_quote_always as shown

__all__ = ["Copier", "base_name", "into_directory"]

_BLOCK = 1 << 18


def base_name(name: str) -> str:
    """The last part of a name, without slashes at its end."""
    stripped = name.rstrip("/")
    return stripped.rpartition("/")[2] or ("/" if name else "")


def into_directory(directory: str, name: str) -> str:
    """The name of a file in a directory."""
    return directory + name if directory.endswith("/") else f"{directory}/{name}"


@dataclass
class Copier:
    """Copies one operand after the other with the same settings; failures are reported on the call."""

    call: Invocation
    backup: Backup
    recursive: bool = False
    follow: str = "always"  # symbolic links: "always", "operands", "never"
    preserve: set[str] = field(default_factory=set)  # of mode ownership timestamps links
    force: bool = False
    remove_first: bool = False
    interactive: bool = False
    no_clobber: bool = False
    update: bool = False
    verbose: bool = False
    link: bool = False
    symbolic: bool = False
    attributes_only: bool = False
    keep_mode: bool = True
    #: (device, inode) of what was copied, for hard links and for what must not be copied into itself.
    copied: dict[tuple[int, int], str] = field(default_factory=dict)
    made: set[tuple[int, int]] = field(default_factory=set)
    made_directories: set[tuple[int, int]] = field(default_factory=set)
    #: The operands that are being copied, for messages.
    top: tuple[str, str] = ("", "")

    def copy(self, source: str, target: str, operand: bool = True) -> bool:
        """Copy `source` to the name `target`; True when all went well."""
        call = self.call
        path, goal = call.path(source), call.path(target)
        followed = self.follow == "always" or (self.follow == "operands" and operand)
        try:
            status = os.stat(path) if followed else os.lstat(path)
        except OSError as error:
            call.complain(f"cannot stat {shown(source)}", error)
            return False
        mode = status.st_mode
        if stat.S_ISDIR(mode) and not self.recursive:
            call.complain(f"-r not specified; omitting directory {shown(source)}")
            return False
        try:
            existing: os.stat_result | None = os.lstat(goal)
        except FileNotFoundError:
            existing = None
        except OSError as error:
            call.complain(f"cannot stat {shown(target)}", error)
            return False
        if existing is not None and not self._may_replace(source, target, status, existing):
            return self._skipped
        if stat.S_ISDIR(mode):
            return self._copy_directory(source, target, status, existing, operand)
        return self._copy_file(source, target, status, existing)

    _skipped = False

    def _may_replace(
        self, source: str, target: str, status: os.stat_result, existing: os.stat_result
    ) -> bool:
        """May the file that is there be replaced? Reports why not; `_skipped` is then the outcome."""
        call = self.call
        self._skipped = False
        path, goal = call.path(source), call.path(target)
        try:
            final = os.stat(goal)
        except OSError as error:
            through = stat.S_ISREG(status.st_mode) and not (
                self.remove_first or self.backup or self.link or self.symbolic
            )
            if through and error.errno != errno.ENOENT:
                call.complain(f"cannot stat {shown(target)}", error)
                return False
            final = existing
        to_directory = stat.S_ISDIR((existing if stat.S_ISDIR(status.st_mode) else final).st_mode)
        same = (status.st_dev, status.st_ino) == (final.st_dev, final.st_ino)
        if same and not stat.S_ISDIR(status.st_mode):
            one_name = os.path.realpath(os.path.dirname(path)) == os.path.realpath(
                os.path.dirname(goal)
            ) and base_name(path) == base_name(goal)
            replaced = (self.remove_first or self.backup or self.symbolic) and (
                stat.S_ISLNK(existing.st_mode) or not one_name
            )
            if self.link and not one_name:
                self._skipped = True
                return False
            if not replaced and not (self.backup and self.force):
                call.complain(f"{shown(source)} and {shown(target)} are the same file")
                return False
        if stat.S_ISDIR(status.st_mode) and not to_directory:
            call.complain(f"cannot overwrite non-directory {shown(target)} with directory {shown(source)}")
            return False
        if not stat.S_ISDIR(status.st_mode) and to_directory and not stat.S_ISLNK(existing.st_mode):
            call.complain(f"cannot overwrite directory {shown(target)} with non-directory")
            return False
        if stat.S_ISDIR(status.st_mode):
            return True
        if (status.st_dev, status.st_ino) != (final.st_dev, final.st_ino) and (
            final.st_dev,
            final.st_ino,
        ) in self.made:
            call.complain(f"will not overwrite just-created {shown(target)} with {shown(source)}")
            return False
        if self.no_clobber or (self.update and final.st_mtime_ns >= status.st_mtime_ns):
            self._skipped = True
            return False
        if self.interactive and not call.confirm(f"overwrite {shown(target)}?"):
            self._skipped = True
            return False
        return True

    def _copy_directory(
        self,
        source: str,
        target: str,
        status: os.stat_result,
        existing: os.stat_result | None,
        operand: bool,
    ) -> bool:
        call = self.call
        path, goal = call.path(source), call.path(target)
        if operand:
            self.top = (source, target)
        if (status.st_dev, status.st_ino) in self.made_directories:
            into = f"{shown(self.top[0])}, into itself, {shown(self.top[1])}"
            call.complain(f"cannot copy a directory, {into}")
            return False
        if os.path.realpath(path) == os.path.realpath(goal):
            if self.no_clobber:
                return True
            call.complain(f"{shown(source)} and {shown(target)} are the same file")
            return False
        created = existing is None
        if created:
            try:
                # Open to the user until everything is in it.
                os.mkdir(goal, (status.st_mode & 0o777 & ~call.umask) | 0o700)
            except OSError as error:
                call.complain(f"cannot create directory {shown(target)}", error)
                return False
            final = os.stat(goal)
            self.made_directories.add((final.st_dev, final.st_ino))
            if self.verbose:
                call.print(f"{shown(source)} -> {shown(target)}")
        try:
            names = sorted(os.listdir(path))
        except OSError as error:
            call.complain(f"cannot access {shown(source)}", error)
            return False
        good = True
        for name in names:
            good &= self.copy(into_directory(source, name), into_directory(target, name), False)
        try:
            if created and "mode" not in self.preserve:
                os.chmod(goal, status.st_mode & 0o777 & ~call.umask)
            self._preserve(goal, status)
        except OSError as error:
            call.complain(f"preserving attributes for {shown(target)}", error)
            good = False
        return good

    def _copy_file(
        self, source: str, target: str, status: os.stat_result, existing: os.stat_result | None
    ) -> bool:
        call = self.call
        path, goal = call.path(source), call.path(target)
        saved = ""
        identity = (status.st_dev, status.st_ino)
        try:
            if existing is not None:
                if self.backup:
                    saved = self.backup.name(goal)
                    os.rename(goal, saved)
                    existing = None
                    if path == goal or os.path.normpath(path) == os.path.normpath(goal):
                        path = saved
                elif self.remove_first or self.link or self.symbolic or stat.S_ISLNK(status.st_mode):
                    if (self.link or self.symbolic) and not (self.force or self.remove_first):
                        kind = "hard" if self.link else "symbolic"
                        arrow = f" to {shown(source)}" if self.link else ""
                        call.complain(f"cannot create {kind} link {shown(target)}{arrow}: File exists")
                        return False
                    os.unlink(goal)
                    existing = None
        except OSError as error:
            call.complain(f"cannot remove {shown(target)}", error)
            return False
        if self.verbose:
            note = f" (backup: {shown(self._beside(target, saved))})" if saved else ""
            call.print(f"{shown(source)} -> {shown(target)}{note}")
        try:
            if self.link:
                hard_link(path, goal, follow=self.follow == "always")
                return True
            if self.symbolic:
                if not source.startswith("/") and os.path.dirname(goal) != os.path.dirname(path):
                    call.complain(
                        f"{shell_quote(target)}: can make relative symbolic links only in current directory"
                    )
                    return False
                os.symlink(source, goal)
                return True
            if "links" in self.preserve and status.st_nlink > 1:
                earlier = self.copied.get(identity)
                if earlier is not None:
                    if existing is not None:
                        os.unlink(goal)
                    os.link(earlier, goal)
                    return True
                self.copied[identity] = goal
            if stat.S_ISLNK(status.st_mode):
                os.symlink(os.readlink(path), goal)
            elif not stat.S_ISREG(status.st_mode) and self.recursive and hasattr(os, "mkfifo"):
                os.mkfifo(goal, stat.S_IMODE(status.st_mode))
            elif not self._copy_data(source, path, target, goal, status, existing):
                return False
            final = os.lstat(goal)
            self.made.add((final.st_dev, final.st_ino))
            self._preserve(goal, status)
        except OSError as error:
            linked = self.link or self.symbolic
            kind = "hard link" if self.link else "symbolic link" if self.symbolic else "regular file"
            if not linked and stat.S_ISLNK(status.st_mode):
                kind = "symbolic link"
            to = f" to {shown(source)}" if linked else ""
            call.complain(f"cannot create {kind} {shown(target)}{to}", error)
            return False
        return True

    @staticmethod
    def _beside(target: str, saved: str) -> str:
        directory = os.path.dirname(target)
        return os.path.join(directory, os.path.basename(saved))

    def _copy_data(
        self,
        source: str,
        path: str,
        target: str,
        goal: str,
        status: os.stat_result,
        existing: os.stat_result | None,
    ) -> bool:
        call = self.call
        mode = (status.st_mode & 0o777 if self.keep_mode else 0o666) & ~call.umask
        if existing is not None and stat.S_ISLNK(existing.st_mode) and not os.path.exists(goal):
            call.complain(f"not writing through dangling symlink {shown(target)}")
            return False
        try:
            reader = open(path, "rb", buffering=0)
        except OSError as error:
            call.complain(f"cannot open {shown(source)} for reading", error)
            return False
        with reader:
            flags = os.O_WRONLY | os.O_CREAT | (0 if self.attributes_only else os.O_TRUNC)
            try:
                descriptor = os.open(goal, flags, mode | 0o200)
            except PermissionError as error:
                if not self.force or existing is None:
                    call.complain(f"cannot create regular file {shown(target)}", error)
                    return False
                os.unlink(goal)
                existing = None
                descriptor = os.open(goal, flags, mode | 0o200)
            except IsADirectoryError:
                # As a name with a slash at its end is answered to who would create a file.
                fault = os.strerror(errno.ENOTDIR)
                call.complain(f"cannot create regular file {shown(target)}: {fault}")
                return False
            with os.fdopen(descriptor, "wb", buffering=0) as writer:
                while not self.attributes_only and (block := reader.read(_BLOCK)):
                    view = memoryview(block)
                    while view:
                        view = view[writer.write(view) :]
        if existing is None and stat.S_IMODE(os.stat(goal).st_mode) != mode:
            os.chmod(goal, mode)
        return True

    def _preserve(self, goal: str, status: os.stat_result) -> None:
        link = stat.S_ISLNK(status.st_mode)
        if "timestamps" in self.preserve:
            os.utime(goal, ns=(status.st_atime_ns, status.st_mtime_ns), follow_symlinks=not link)
        if "ownership" in self.preserve and hasattr(os, "lchown"):
            try:
                os.lchown(goal, status.st_uid, status.st_gid)
            except PermissionError:
                pass  # as cp: who is not the superuser cannot give files away
        if "mode" in self.preserve and not link:
            os.chmod(goal, stat.S_IMODE(status.st_mode))
