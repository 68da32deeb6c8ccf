"""`rm`, `unlink`: remove (unlink) the FILE(s)."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass

from planaria_shell.commands.files.copying import into_directory
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError, choose
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.quoting import shell_quote_always as shown

_INTERACTIVE = {
    "never": "never",
    "no": "never",
    "none": "never",
    "once": "once",
    "always": "always",
    "yes": "always",
}


@dataclass(slots=True)
class Remover:
    """Removes one name after the other with the same settings; failures are reported on the call."""

    call: Invocation
    recursive: bool = False
    force: bool = False
    empty_directories: bool = False
    ask: bool = False
    verbose: bool = False

    def remove(self, name: str) -> bool:
        """Remove a file or (when recursive) a tree; True when it is gone."""
        call = self.call
        path = call.path(name)
        try:
            status = os.lstat(path if name else "")
            if name.endswith("/") and not stat.S_ISDIR(status.st_mode):
                raise NotADirectoryError(errno.ENOTDIR, "Not a directory")
        except OSError as error:
            if self.force and error.errno in (errno.ENOENT, errno.ENOTDIR):
                return True
            call.complain(f"cannot remove {shown(name)}", error)
            return False
        if stat.S_ISDIR(status.st_mode):
            return self._remove_directory(name, path)
        if self.ask and not call.confirm(f"remove {_kind(status)} {shown(name)}?"):
            return False
        try:
            os.unlink(path)
        except OSError as error:
            call.complain(f"cannot remove {shown(name)}", error)
            return False
        if self.verbose:
            call.print(f"removed {shown(name)}")
        return True

    def _remove_directory(self, name: str, path: str) -> bool:
        call = self.call
        if not self.recursive and not self.empty_directories:
            call.complain(f"cannot remove {shown(name)}: Is a directory")
            return False
        # A stack instead of recursion: a tree may be deeper than Python's own stack.
        stack: list[tuple[str, str, list[str] | None, bool]] = [(name, path, None, True)]
        whole = True
        quick = self.recursive and not (self.ask or self.verbose)
        while stack:
            name, path, left, empty = stack.pop()
            if quick and left is None:
                left = self._remove_files(path)
            if left is None:
                try:
                    left = sorted(os.listdir(path), reverse=True)
                except OSError as error:
                    call.complain(f"cannot remove {shown(name)}", error)
                    whole = False
                    continue
                if left and not self.recursive:
                    call.complain(f"cannot remove {shown(name)}: Directory not empty")
                    return False
                if left and self.ask and not call.confirm(f"descend into directory {shown(name)}?"):
                    whole = False
                    continue
            if left:
                child = into_directory(name, left.pop())
                child_path = call.path(child)
                stack.append((name, path, left, empty))
                if stat.S_ISDIR(os.lstat(child_path).st_mode):
                    stack.append((child, child_path, None, True))
                else:
                    whole &= self.remove(child)
                continue
            if self.ask and not call.confirm(f"remove directory {shown(name)}?"):
                whole = False
                continue
            try:
                os.rmdir(path)
            except OSError as error:
                whole_name = f"cannot remove {shown(name)}"
                if not (error.errno == errno.ENOTEMPTY and not whole):
                    call.complain(whole_name, error)
                whole = False
                continue
            if self.verbose:
                call.print(f"removed directory {shown(name)}")
        return whole

    @staticmethod
    def _remove_files(path: str) -> list[str] | None:
        """Remove everything but directories from a directory; the names left, None when it cannot be read."""
        stay: list[str] = []
        try:
            with os.scandir(path) as entries:
                found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        except OSError:
            return None
        for name, is_directory in found:
            if not is_directory:
                try:
                    os.unlink(f"{path}/{name}")
                    continue
                except OSError:
                    # It is tried again by its name, and reported.
                    pass
            stay.append(name)
        return sorted(stay, reverse=True)


def _kind(status: os.stat_result) -> str:
    if stat.S_ISREG(status.st_mode):
        return "regular file" if status.st_size else "regular empty file"
    return "symbolic link" if stat.S_ISLNK(status.st_mode) else "special file"


@command(
    "rm",
    short="dfirIvR",
    long="force=f interactive:: one-file-system no-preserve-root preserve-root:: recursive=r dir=d verbose=v",
)
def rm(call: Invocation) -> Status:
    """Remove (unlink) the FILE(s)."""
    arguments = call.arguments
    ask = "never"
    force = False
    for key, value in arguments:
        if key == "f":
            force, ask = True, "never"
        elif key in ("i", "I"):
            force, ask = False, "always" if key == "i" else "once"
        elif key == "interactive":
            ask = "always" if value is None else choose(value, _INTERACTIVE, "--interactive")
            force = force and ask == "never"
    if not call.operands:
        if force:
            return 0
        raise UsageError("missing operand")
    recursive = arguments.has("r", "R")
    count = len(call.operands)
    if ask == "once" and (recursive or count > 3):
        noun = "argument" if count == 1 else "arguments"
        if not call.confirm(f"remove {count} {noun}{' recursively' if recursive else ''}?"):
            return 0
    remover = Remover(call, recursive, force, arguments.has("d"), ask == "always", arguments.has("v"))
    protected = not arguments.has("no-preserve-root")
    for name in call.operands:
        last = name.rstrip("/").rpartition("/")[2]
        if recursive and (last in (".", "..")):
            call.complain(f"refusing to remove '.' or '..' directory: skipping {shown(name)}")
            continue
        if (
            recursive
            and protected
            and os.path.realpath(call.path(name)) == "/"
            and not os.path.islink(call.path(name))
        ):
            same = "" if name == "/" else f" {shown(name)} (same as '/')"
            call.complain(f"it is dangerous to operate recursively on{same or ' ' + shown('/')}")
            call.error("use --no-preserve-root to override this failsafe")
            continue
        remover.remove(name)
    return call.status


@command("unlink", usage="FILE")
def unlink(call: Invocation) -> Status:
    """Call the unlink function to remove the specified FILE."""
    if not call.operands:
        raise UsageError("missing operand")
    if len(call.operands) > 1:
        raise UsageError(f"extra operand {quote(call.operands[1])}")
    name = call.operands[0]
    try:
        os.unlink(call.path(name))
    except OSError as error:
        call.complain(f"cannot unlink {shown(name)}", error)
    return call.status
