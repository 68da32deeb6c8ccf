"""ln and link: more names for files."""

from __future__ import annotations

import errno
import os
import stat

from planaria_shell.commands.files.copying import base_name, into_directory
from planaria_shell.commands.files.destinations import no_directory
from planaria_shell.state.command import Status
from planaria_shell.toolkit.backup import Backup
from planaria_shell.toolkit.hard_links import hard_link
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote
from planaria_shell.toolkit.quoting import shell_quote_always as shown
from planaria_shell.toolkit.streams import reason

__all__: list[str] = []

#: What is wrong with a hard link's own name, whatever it is for.
_ABOUT_THE_NAME = (errno.EEXIST, errno.EDQUOT, errno.ENOSPC, errno.EROFS)


@command(
    "ln",
    short="bdfFinrsS:t:TvLP",
    long="backup:: directory=d force=f interactive=i logical=L no-dereference=n physical=P relative=r "
    "symbolic=s "
    "suffix=S: target-directory=t: no-target-directory=T verbose=v",
    usage="[OPTION]... [-T] TARGET LINK_NAME\n  or:  ln [OPTION]... TARGET\n"
    "  or:  ln [OPTION]... TARGET... DIRECTORY\n  or:  ln [OPTION]... -t DIRECTORY TARGET...",
)
def ln(call: Invocation) -> Status:
    """Create a link to TARGET with the name LINK_NAME, or links to each TARGET in DIRECTORY."""
    arguments = call.arguments
    names = call.operands
    if not names:
        raise UsageError("missing file operand")
    if arguments.has("r") and not arguments.has("s"):
        raise UsageError("cannot do --relative without --symbolic", hint=False)
    directory = arguments.value("t")
    if arguments.has("T"):
        if directory is not None:
            raise UsageError("cannot combine --target-directory and --no-target-directory", hint=False)
        if len(names) != 2:
            raise UsageError(
                f"missing destination file operand after {shown(names[0])}"
                if len(names) < 2
                else f"extra operand {shown(names[2])}"
            )
    elif directory is not None:
        if (fault := no_directory(call, directory)) is not None:
            if os.path.exists(call.path(directory)):
                raise CommandError(f"target {shown(directory)} is not a directory")
            raise CommandError(f"failed to access {shown(directory)}: {fault}")
    elif len(names) == 1:
        directory = "."
    else:
        path = call.path(names[-1])
        if os.path.isdir(path) and not (arguments.has("n") and os.path.islink(path)):
            directory, names = names[-1], names[:-1]
        elif len(names) > 2:
            fault = no_directory(call, names[-1]) or os.strerror(errno.ENOTDIR)
            raise CommandError(f"target {shown(names[-1])}: {fault}")
    backup = Backup(call)
    if directory is None:
        _link(call, names[0], names[1], backup)
    else:
        for name in names:
            link = (
                base_name(name)
                if len(call.operands) == 1 and directory == "."
                else into_directory(directory, base_name(name))
            )
            _link(call, name, "./" + link if directory == "." and len(call.operands) == 1 else link, backup)
    return call.status


def _link(call: Invocation, target: str, name: str, backup: Backup) -> None:
    arguments = call.arguments
    symbolic = arguments.has("s")
    path, source = call.path(name), call.path(target)
    kind = "symbolic" if symbolic else "hard"
    if not symbolic:
        try:
            status = os.stat(source) if arguments.has("L") else os.lstat(source)
        except OSError as error:
            call.complain(f"failed to access {shown(target)}", error)
            return
        if stat.S_ISDIR(status.st_mode):
            call.complain(f"{shell_quote(target)}: hard link not allowed for directory")
            return
    if arguments.has("r"):
        start = os.path.realpath(os.path.dirname(path))
        target = os.path.relpath(os.path.realpath(source), start)
    saved = ""
    replaces = bool(backup) or arguments.has("f", "i")
    try:
        there = _is_there(path)
    except OSError as error:
        if replaces:
            call.complain(f"failed to access {shown(name)}", error)
            return
        there = False
    try:
        if there:
            if not symbolic and arguments.has("f", "b", "backup") and _same_name(path, source):
                call.complain(f"{shown(target)} and {shown(name)} are the same file")
                return
            if arguments.last(("i", "f")) == "i" and not call.confirm(f"replace {shown(name)}?"):
                return
            if os.path.isdir(path) and not os.path.islink(path) and arguments.has("f", "i", "b", "backup"):
                call.complain(f"{shell_quote(name)}: cannot overwrite directory")
                return
            if backup:
                saved = backup.name(path)
                os.rename(path, saved)
            elif arguments.has("f", "i"):
                os.unlink(path)
        if symbolic:
            os.symlink(target, path)
        else:
            hard_link(source, path, follow=arguments.has("L"))
    except OSError as error:
        if symbolic:
            # It is reported only where the target may be what is wrong.
            arrow = f" -> {shown(target)}" if error.errno == errno.ENAMETOOLONG or not target else ""
        else:
            arrow = "" if error.errno in _ABOUT_THE_NAME else f" => {shown(target)}"
        call.complain(f"failed to create {kind} link {shown(name)}{arrow}: {reason(error)}")
        return
    if arguments.has("v"):
        lead = f"{shown(os.path.join(os.path.dirname(name), os.path.basename(saved)))} ~ " if saved else ""
        call.print(f"{lead}{shown(name)} {'->' if symbolic else '=>'} {shown(target)}")


def _is_there(path: str) -> bool:
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True


def _same_name(first: str, second: str) -> bool:
    """Are these two ways to write the name of one directory entry?"""
    parents = [os.path.realpath(os.path.dirname(path)) for path in (first, second)]
    return parents[0] == parents[1] and base_name(first) == base_name(second)


@command("link", usage="FILE1 FILE2")
def link_command(call: Invocation) -> Status:
    """Call the link function to create a link named FILE2 to an existing FILE1."""
    names = call.operands
    if not names:
        raise UsageError("missing operand")
    if len(names) == 1:
        raise UsageError(f"missing operand after {quote(names[0])}")
    if len(names) > 2:
        raise UsageError(f"extra operand {quote(names[2])}")
    try:
        hard_link(call.path(names[0]), call.path(names[1]))
    except OSError as error:
        raise CommandError(
            f"cannot create link {shown(names[1])} to {shown(names[0])}: {reason(error)}"
        ) from None
    return 0
