"""cp, mv, install: files to other places."""

from __future__ import annotations

import errno
import os
import stat

from planaria_shell.commands.files.chmod import parse_mode
from planaria_shell.commands.files.copying import Copier, base_name, into_directory
from planaria_shell.commands.files.rm import Remover
from planaria_shell.run.command import Status
from planaria_shell.toolkit.backup import Backup
from planaria_shell.toolkit.invocation import CommandError, Invocation, utility
from planaria_shell.toolkit.options import UsageError, choose
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.quoting import shell_quote_always as shown
from planaria_shell.toolkit.streams import reason

__all__: list[str] = []

_ATTRIBUTES = ("mode", "timestamps", "ownership", "links", "context", "xattr", "all")


def _places(call: Invocation, missing: str = "missing file operand") -> tuple[list[str], list[str]]:
    """The sources of cp, mv or install and the name each is to get."""
    arguments = call.arguments
    names = call.operands
    directory = arguments.value("t")
    if not names:
        raise UsageError(missing)
    if directory is not None:
        if arguments.has("T"):
            raise UsageError(
                "cannot combine --target-directory (-t) and --no-target-directory (-T)", hint=False
            )
        if not os.path.isdir(call.path(directory)):
            call_reason = (
                "No such file or directory" if not os.path.exists(call.path(directory)) else "Not a directory"
            )
            raise CommandError(f"target directory {shown(directory)}: {call_reason}")
    elif len(names) < 2:
        raise UsageError(f"missing destination file operand after {shown(names[0])}")
    elif arguments.has("T"):
        if len(names) > 2:
            raise UsageError(f"extra operand {shown(names[2])}")
        return names[:1], names[1:]
    elif os.path.isdir(call.path(names[-1])):
        directory, names = names[-1], names[:-1]
    elif len(names) > 2 or names[-1].endswith("/"):
        target = names[-1]
        if len(names) == 2 and not os.path.lexists(call.path(target).rstrip("/")):
            # cp and mv of a directory may name the new one with a slash.
            return names[:1], names[1:]
        exists = os.path.exists(call.path(target))
        if len(names) == 2:
            return names[:1], names[1:]
        raise CommandError(
            f"target {shown(target)}{': Not a directory' if exists else ': No such file or directory'}"
        )
    else:
        return names[:1], names[1:]
    sources = (
        [name.rstrip("/") or "/" for name in names] if arguments.has("strip-trailing-slashes") else names
    )
    return sources, [into_directory(directory, base_name(name)) for name in sources]


@utility(
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
        raise UsageError("cannot make both hard and symbolic links", hint=False)
    if copier.backup and copier.no_clobber:
        raise UsageError("options --backup and --no-clobber are mutually exclusive")
    if arguments.has("parents"):
        return _copy_with_parents(call, copier)
    for source, target in zip(*_places(call), strict=True):
        if copier.recursive is False and target.endswith("/") and not os.path.isdir(call.path(target)):
            call.complain(f"cannot create regular file {shown(target)}: Not a directory")
            continue
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
    if directory is None:
        if len(names) < 2:
            _places(call)
        directory = names.pop()
    if not os.path.isdir(call.path(directory)):
        raise UsageError("with --parents, the destination must be a directory")
    for name in names:
        parts = name.strip("/").split("/")
        target, source = directory, "/" if name.startswith("/") else ""
        for part in parts[:-1]:
            target = into_directory(target, part)
            source += part
            if not os.path.isdir(call.path(target)):
                mode = (
                    os.stat(call.path(source)).st_mode & 0o777 if os.path.exists(call.path(source)) else 0o777
                )
                os.mkdir(call.path(target), mode & ~call.umask)
                if copier.verbose:
                    call.print(f"{source} -> {target}")
            source += "/"
        copier.copy(name, into_directory(target, parts[-1]))
    return call.status


@utility(
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
    if backup and call.arguments.last(("i", "f", "n")) == "n":
        raise UsageError("options --backup and --no-clobber are mutually exclusive")
    for source, target in zip(*_places(call), strict=True):
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
    if goal.endswith("/") and not is_directory:
        call.complain(f"cannot move {shown(source)} to {shown(target)}: Not a directory")
        return
    goal = goal.rstrip("/") or "/"
    existing = os.lstat(goal) if os.path.lexists(goal) else None
    saved = ""
    if existing is not None:
        if (status.st_dev, status.st_ino) == (existing.st_dev, existing.st_ino) and (
            is_directory or os.path.realpath(path) == os.path.realpath(goal)
        ):
            if is_directory and os.path.realpath(path) != os.path.realpath(goal):
                pass
            elif is_directory:
                call.complain(f"cannot move {shown(source)} to a subdirectory of itself, {shown(target)}")
                return
            else:
                call.complain(f"{shown(source)} and {shown(target)} are the same file")
                return
        clobber = arguments.last(("i", "f", "n"))
        if clobber == "n":
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
    if is_directory and (os.path.realpath(goal) + "/").startswith(os.path.realpath(path) + "/"):
        call.complain(f"cannot move {shown(source)} to a subdirectory of itself, {shown(target)}")
        return
    try:
        if existing is not None and backup:
            saved = backup.name(goal)
            os.rename(goal, saved)
        os.rename(path, goal)
    except OSError as error:
        if error.errno == errno.EXDEV:
            if not _move_across(call, source, target):
                return
        else:
            call.complain(f"cannot move {shown(source)} to {shown(target)}", error)
            return
    final = os.lstat(goal)
    made.add((final.st_dev, final.st_ino))
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


@utility(
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
            if _make_directories(call, name):
                os.chmod(call.path(name), mode)
        return call.status
    if arguments.has("D"):
        directory = arguments.value("t")
        if directory is None and len(call.operands) == 2:
            directory = os.path.dirname(call.operands[1])
        if directory and not _make_directories(call, directory):
            return call.status
    copier = Copier(call, Backup(call), remove_first=True, verbose=arguments.has("v"))
    if arguments.has("p"):
        copier.preserve = {"timestamps"}
    for source, target in zip(*_places(call), strict=True):
        path, goal = call.path(source), call.path(target)
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


def _make_directories(call: Invocation, name: str) -> bool:
    at = ""
    for part in name.split("/"):
        at = f"{at}/{part}" if at or name.startswith("/") else part
        path = call.path(at)
        if not part or os.path.isdir(path):
            continue
        try:
            os.mkdir(path, 0o755)
        except OSError as error:
            call.complain(f"cannot create directory {shown(at)}: {reason(error)}")
            return False
        if call.arguments.has("v"):
            call.print(f"{call.name}: creating directory {shown(at)}")
    return True


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
