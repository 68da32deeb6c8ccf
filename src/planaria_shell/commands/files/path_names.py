"""basename, dirname, readlink, realpath, pwd, pathchk: the names of files as text."""

from __future__ import annotations

import errno
import os
import stat

from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import Invocation, utility
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote, shell_quote_always
from planaria_shell.toolkit.streams import reason

__all__ = ["resolve"]


def _base(name: str) -> str:
    stripped = name.rstrip("/")
    if not stripped:
        return "/" if name else ""
    return stripped.rpartition("/")[2]


@utility(
    "basename",
    short="as:z",
    long="multiple=a suffix=s: zero=z",
    usage="NAME [SUFFIX]\n  or:  basename OPTION... NAME...",
    order="options first",
)
def basename(call: Invocation) -> Status:
    """Print NAME with any leading directory components removed."""
    arguments = call.arguments
    names = call.operands
    suffix = arguments.value("s") or ""
    if not names:
        raise UsageError("missing operand")
    if not arguments.has("a", "s"):
        if len(names) > 2:
            raise UsageError(f"extra operand {quote(names[2])}")
        if len(names) == 2:
            suffix = names[1]
        names = names[:1]
    for name in names:
        base = _base(name)
        if suffix and base != suffix and base.endswith(suffix) and base != "/":
            base = base.removesuffix(suffix)
        call.print(base, "\0" if arguments.has("z") else "\n")
    return 0


@utility("dirname", short="z", long="zero=z", usage="[OPTION] NAME...")
def dirname(call: Invocation) -> Status:
    """Output each NAME with its last non-slash component and trailing slashes removed."""
    if not call.operands:
        raise UsageError("missing operand")
    for name in call.operands:
        stripped = name.rstrip("/")
        directory, slash, _ = stripped.rpartition("/")
        if not stripped:
            directory = "/" if name else "."
        elif not slash:
            directory = "."
        else:
            directory = directory.rstrip("/") or "/"
        call.print(directory, "\0" if call.arguments.has("z") else "\n")
    return 0


def resolve(path: str, missing: str = "last", logical: bool = False) -> str:
    """An absolute path without symbolic links, `.` and `..`.

    Args:
        missing: What need not exist: "nothing", "last" (the last part), "anything".
        logical: Resolve `..` before symbolic links.

    Raises OSError (ENOENT, ENOTDIR, ELOOP).
    """
    if logical:
        path = os.path.normpath(path)
    must_be_directory = path.endswith(("/", "/.", "/.."))
    pending = [part for part in reversed(path.split("/")) if part]
    resolved: list[str] = []
    links = 0
    lost = False  # a part that does not exist was passed
    while pending:
        part = pending.pop()
        if part == ".":
            continue
        if part == "..":
            if resolved:
                resolved.pop()
            continue
        resolved.append(part)
        current = "/" + "/".join(resolved)
        if lost and missing == "anything":
            continue
        try:
            status = os.lstat(current)
        except OSError as error:
            if missing == "anything" and error.errno in (errno.ENOENT, errno.ENOTDIR):
                lost = True
                continue
            if missing == "last" and error.errno == errno.ENOENT and not any(p != "." for p in pending):
                continue
            raise
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > 40:
                if missing == "anything":
                    continue
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            target = os.readlink(current)
            resolved.pop()
            if target.startswith("/"):
                resolved = []
            pending += [piece for piece in reversed(target.split("/")) if piece]
        elif not stat.S_ISDIR(status.st_mode) and (pending or must_be_directory) and missing != "anything":
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    return "/" + "/".join(resolved)


@utility(
    "readlink",
    short="efmnqsvz",
    long="canonicalize=f canonicalize-existing=e canonicalize-missing=m no-newline=n quiet=q silent=s "
    "verbose=v zero=z",
    usage="[OPTION]... FILE...",
)
def readlink(call: Invocation) -> Status:
    """Print value of a symbolic link or canonical file name."""
    arguments = call.arguments
    if not call.operands:
        raise UsageError("missing operand")
    how = arguments.last(("e", "f", "m"))
    end = "\0" if arguments.has("z") else "\n"
    if arguments.has("n"):
        if len(call.operands) > 1:
            call.error("ignoring --no-newline with multiple arguments")
        else:
            end = ""
    for name in call.operands:
        path = call.path(name)
        try:
            if not name:
                raise FileNotFoundError(errno.ENOENT, "No such file or directory")
            if how:
                text = resolve(path, {"e": "nothing", "f": "last", "m": "anything"}[how])
            else:
                text = os.readlink(path)
        except OSError as error:
            if arguments.last(("v", "q", "s")) == "v":
                call.error(f"{shell_quote(name)}: {reason(error)}")
            call.status = 1
            continue
        call.print(text, end)
    return call.status


@utility(
    "realpath",
    short="eLmPqsz",
    long="canonicalize-existing=e canonicalize-missing=m relative-to: relative-base: quiet=q strip=s "
    "no-symlinks=s "
    "zero=z logical=L physical=P",
    usage="[OPTION]... FILE...",
)
def realpath(call: Invocation) -> Status:
    """Print the resolved absolute file name; all but the last component must exist."""
    arguments = call.arguments
    if not call.operands:
        raise UsageError("missing operand")
    kind = {"e": "nothing", "m": "anything"}.get(arguments.last(("e", "m")) or "", "last")
    logical = arguments.last(("L", "P", "s"))

    def canonical(name: str) -> str:
        if not name:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        path = call.path(name)
        if logical == "s":
            if kind == "nothing":
                os.stat(path)
            elif kind == "last":
                os.stat(os.path.dirname(os.path.normpath(path)))
            return os.path.normpath(path).replace("//", "/")
        return resolve(path, kind, logical == "L")

    bases: list[str | None] = []
    for option in ("relative-to", "relative-base"):
        name = arguments.value(option)
        try:
            bases.append(None if name is None else canonical(name))
        except OSError as error:
            call.complain(shell_quote(name or ""), error)
            return 1
    relative_to, base = bases
    if base is not None and relative_to is not None and not _below(relative_to, base):
        relative_to = base = None
    elif base is not None and relative_to is None:
        relative_to = base
    for name in call.operands:
        try:
            text = canonical(name)
        except OSError as error:
            if not arguments.has("q"):
                call.error(f"{shell_quote(name)}: {reason(error)}")
            call.status = 1
            continue
        if relative_to is not None and (base is None or _below(text, base)):
            text = os.path.relpath(text, relative_to)
        call.print(text, "\0" if arguments.has("z") else "\n")
    return call.status


def _below(path: str, base: str) -> bool:
    return path == base or path.startswith(base.rstrip("/") + "/")


@utility("pwd", short="LP", long="logical=L physical=P", usage="[OPTION]...")
def pwd(call: Invocation) -> Status:
    """Print the full filename of the current working directory."""
    if call.operands:
        call.error("ignoring non-option arguments")
    logical = call.arguments.last(("L", "P")) == "L"
    named = call.env.get("PWD", "")
    if logical and named.startswith("/") and os.path.realpath(named) == os.path.realpath(call.cwd):
        call.print(named)
    else:
        call.print(os.path.realpath(call.cwd))
    return 0


@utility("pathchk", short="pP", long="portability", usage="[OPTION]... NAME...")
def pathchk(call: Invocation) -> Status:
    """Diagnose invalid or unportable file names."""
    arguments = call.arguments
    if not call.operands:
        raise UsageError("missing operand")
    portable = arguments.has("p", "portability")
    extra = arguments.has("P", "portability")
    for name in call.operands:
        problem = _path_problem(call, name, portable, extra)
        if problem:
            call.complain(problem)
    return call.status


def _path_problem(call: Invocation, name: str, portable: bool, extra: bool) -> str | None:
    parts = name.split("/")
    if extra:
        for part in parts:
            if part.startswith("-"):
                return f"leading '-' in a component of file name {shell_quote_always(name)}"
    if (portable or extra) and not name:
        return "empty file name"
    if portable:
        for c in name:
            if not (c.isascii() and (c.isalnum() or c in "._-/")):
                return f"nonportable character {quote(c)} in file name {shell_quote_always(name)}"
    longest, part_longest = (256, 14) if portable else (4096, 255)
    if not portable:
        try:
            os.lstat(call.path(name) if name else "")
        except FileNotFoundError:
            if not name:
                return f"{shell_quote_always(name)}: No such file or directory"
        except OSError as error:
            if error.errno not in (errno.ENAMETOOLONG,):
                return f"{shell_quote(name)}: {reason(error)}"
    if len(os.fsencode(name)) >= longest:
        size = len(os.fsencode(name))
        return f"limit {longest - 1} exceeded by length {size} of file name {shell_quote_always(name)}"
    for part in parts:
        size = len(os.fsencode(part))
        if size > part_longest:
            return f"limit {part_longest} exceeded by length {size} of file name component {quote(part)}"
    return None
