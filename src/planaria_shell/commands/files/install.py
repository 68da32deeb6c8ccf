"""`install`: copy files while setting their permissions, or create all components of directories."""

from __future__ import annotations

import os
import stat

from planaria_shell.commands.files.chmod import parse_mode
from planaria_shell.commands.files.copying import Copier
from planaria_shell.commands.files.destinations import places
from planaria_shell.commands.files.parents import make_directories
from planaria_shell.state.command import Status
from planaria_shell.toolkit.backup import Backup
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.quoting import shell_quote_always as shown


@command(
    "install",
    short="bcCsDdg:m:o:pt:TvS:Z",
    long="backup:: compare=C directory=d group=g: mode=m: owner=o: preserve-timestamps=p strip=s "
    "strip-program: "
    "suffix=S: target-directory=t: no-target-directory=T verbose=v",
    usage="[OPTION]... [-T] SOURCE DEST\n  or:  install [OPTION]... SOURCE... DIRECTORY\n"
    "  or:  install [OPTION]... -d DIRECTORY...",
)
def install(call: Invocation) -> Status:
    """Copy files while setting their permissions, or create all components of directories."""
    arguments = call.arguments
    text = arguments.value("m")
    mode = 0o755 if text is None else parse_mode(text, 0, False, 0)
    if mode is None:
        raise CommandError(f"invalid mode {quote(text or '')}")
    if arguments.has("d"):
        if not call.operands:
            raise UsageError("missing file operand")
        for name in call.operands:
            if make_directories(call, name, 0o755, "creating"):
                os.chmod(call.path(name), mode)
        return call.status
    if arguments.has("D"):
        directory = arguments.value("t")
        if directory is None and len(call.operands) == 2:
            directory = os.path.dirname(call.operands[1].rstrip("/"))
        if directory and not make_directories(call, directory, 0o755, "creating"):
            return call.status
    copier = Copier(call, Backup(call), remove_first=True, verbose=arguments.has("v"))
    if arguments.has("p"):
        copier.preserve = {"timestamps"}
    for source, target in zip(*places(call, "failed to access"), strict=True):
        path, goal = call.path(source), call.path(target)
        try:
            os.stat(path)
        except OSError as error:
            call.complain(f"cannot stat {shown(source)}", error)
            continue
        if os.path.isdir(path):
            call.complain(f"omitting directory {shown(source)}")
            continue
        if arguments.has("C") and _identical(path, goal, mode):
            continue
        if os.path.exists(goal) and not copier.backup and not os.path.samefile(path, goal):
            if copier.verbose:
                call.print(f"removed {shown(target)}")
            os.unlink(goal)
        if copier.copy(source, target):
            os.chmod(goal, mode)
    return call.status


def _identical(path: str, goal: str, mode: int) -> bool:
    if not os.path.isfile(goal) or stat.S_IMODE(os.stat(goal).st_mode) != mode:
        return False
    if os.stat(path).st_size != os.stat(goal).st_size:
        return False
    with open(path, "rb") as first, open(goal, "rb") as second:
        while block := first.read(1 << 18):
            if block != second.read(1 << 18):
                return False
    return True
