"""`cp`: copy SOURCE to DEST, or multiple SOURCE(s) to DIRECTORY."""

from __future__ import annotations

import os

from planaria_shell.commands.files.copying import Copier, into_directory
from planaria_shell.commands.files.destinations import no_directory, places
from planaria_shell.state.command import Status
from planaria_shell.toolkit.backup import Backup
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError, choose
from planaria_shell.toolkit.quoting import shell_quote_always as shown

_ATTRIBUTES = ("mode", "timestamps", "ownership", "links", "context", "xattr", "all")


@command(
    "cp",
    short="abdfHilLnprst:uvxPRS:TZ",
    long="archive=a attributes-only backup:: copy-contents dereference=L force=f interactive=i link=l "
    "no-clobber=n no-dereference=P no-preserve: no-target-directory=T one-file-system=x parents preserve:: "
    "recursive=R remove-destination sparse: reflink:: strip-trailing-slashes suffix=S: symbolic-link=s "
    "target-directory=t: update=u verbose=v",
    usage="[OPTION]... [-T] SOURCE DEST\n  or:  cp [OPTION]... SOURCE... DIRECTORY\n"
    "  or:  cp [OPTION]... -t DIRECTORY SOURCE...",
)
def cp(call: Invocation) -> Status:
    """Copy SOURCE to DEST, or multiple SOURCE(s) to DIRECTORY."""
    arguments = call.arguments
    copier = Copier(call, Backup(call))
    copier.recursive = arguments.has("r", "R", "a")
    follow = arguments.last(("L", "P", "H", "d", "a"))
    if follow is None:
        copier.follow = "never" if copier.recursive else "always"
    else:
        copier.follow = {"L": "always", "H": "operands"}.get(follow, "never")
    copier.preserve = _preserved(call)
    copier.force = arguments.has("f")
    copier.remove_first = arguments.has("remove-destination")
    clobber = arguments.last(("i", "n"))
    copier.interactive = clobber == "i"
    copier.no_clobber = clobber == "n"
    copier.update = arguments.has("u")
    copier.verbose = arguments.has("v")
    copier.link = arguments.has("l")
    copier.symbolic = arguments.has("s")
    copier.attributes_only = arguments.has("attributes-only")
    if copier.link and copier.symbolic:
        raise UsageError("cannot make both hard and symbolic links")
    if copier.backup and copier.no_clobber:
        raise UsageError("options --backup and --no-clobber are mutually exclusive")
    if arguments.has("parents"):
        return _copy_with_parents(call, copier)
    for source, target in zip(*places(call), strict=True):
        copier.copy(source, target)
    return call.status


def _preserved(call: Invocation) -> set[str]:
    kept: set[str] = set()
    for key, value in call.arguments:
        if key == "a":
            kept |= {"mode", "timestamps", "ownership", "links"}
        elif key == "d":
            kept |= {"links"}
        elif key == "p" or (key == "preserve" and value is None):
            kept |= {"mode", "timestamps", "ownership"}
        elif key in ("preserve", "no-preserve"):
            for word in (value or "").split(","):
                name = choose(word, _ATTRIBUTES, f"--{key}")
                names = {"mode", "timestamps", "ownership", "links"} if name == "all" else {name}
                kept = kept | names if key == "preserve" else kept - names
    return kept


def _copy_with_parents(call: Invocation, copier: Copier) -> Status:
    names = list(call.operands)
    directory = call.arguments.value("t")
    if directory is not None or len(names) < 2:
        places(call)
    if directory is None:
        directory = names.pop()
    if len(names) > 1 and (fault := no_directory(call, directory)) is not None:
        raise CommandError(f"target {shown(directory)}: {fault}")
    if not os.path.isdir(call.path(directory)):
        raise UsageError("with --parents, the destination must be a directory")
    for name in names:
        lead, _, last = name.rstrip("/").rpartition("/")
        below = into_directory(directory, lead.strip("/")) if lead else directory
        if _make_parents(call, copier, lead, directory):
            copier.copy(name, into_directory(below, last))
    return call.status


def _make_parents(call: Invocation, copier: Copier, lead: str, directory: str) -> bool:
    """Create the directories that lead to a file below another one, as they are."""
    try:
        os.stat(call.path(lead))
    except OSError as error:
        call.complain(f"failed to get attributes of {shown(lead)}", error)
        return False
    source, target = "/" if lead.startswith("/") else "", directory
    for part in lead.strip("/").split("/") if lead.strip("/") else []:
        source, target = source + part, into_directory(target, part)
        mode = os.stat(call.path(source)).st_mode & 0o777
        if not os.path.isdir(call.path(target)):
            try:
                os.mkdir(call.path(target), mode & ~call.umask)
            except FileExistsError:
                call.complain(f"{shown(target)} exists but is not a directory")
                return False
            except OSError as error:
                call.complain(f"cannot make directory {shown(target)}", error)
                return False
            if copier.verbose:
                call.print(f"{source} -> {target}")
        source += "/"
    return True
