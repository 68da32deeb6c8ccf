"""mkdir, mkfifo, mknod, mktemp: new files and directories."""

from __future__ import annotations

import errno
import os
import random
import string
from collections.abc import Generator

from planaria_shell.commands.files.chmod import parse_mode
from planaria_shell.commands.files.copying import into_directory
from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, utility
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote
from planaria_shell.toolkit.quoting import shell_quote_always as shown
from planaria_shell.toolkit.streams import reason

__all__: list[str] = []


@utility(
    "mkdir", short="m:pvZ", long="mode=m: parents=p verbose=v context::", usage="[OPTION]... DIRECTORY..."
)
def mkdir(call: Invocation) -> Status:
    """Create the DIRECTORY(ies), if they do not already exist."""
    arguments = call.arguments
    if not call.operands:
        raise UsageError("missing operand")
    text = arguments.value("m")
    mode = 0o777 & ~call.umask
    if text is not None:
        parsed = parse_mode(text, 0o777, True, call.umask)
        if parsed is None:
            raise CommandError(f"invalid mode {quote(text)}")
        mode = parsed
    for name in call.operands:
        if arguments.has("p"):
            _make_parents(call, name, mode if text is not None else None)
            continue
        try:
            _make_directory(call, name, mode)
        except OSError as error:
            call.complain(f"cannot create directory {quote(name)}", error)
    return call.status


def _make_directory(call: Invocation, name: str, mode: int) -> None:
    path = call.path(name)
    os.mkdir(path, mode)
    if call.arguments.has("m"):
        os.chmod(path, mode)
    if call.arguments.has("v"):
        call.print(f"{call.name}: created directory {shown(name)}")


def _make_parents(call: Invocation, name: str, mode: int | None) -> None:
    at = ""
    parts = [part for part in name.split("/") if part]
    lead = "/" if name.startswith("/") else ""
    for index, part in enumerate(parts):
        at = f"{at}/{part}" if index else lead + part
        path = call.path(at)
        if os.path.isdir(path):
            continue
        last = index == len(parts) - 1
        try:
            if os.path.lexists(path):
                raise (
                    FileExistsError(errno.EEXIST, "File exists")
                    if last
                    else NotADirectoryError(errno.ENOTDIR, "Not a directory")
                )
            os.mkdir(path, 0o777 & ~call.umask)
            if last and mode is not None:
                os.chmod(path, mode)
        except OSError as error:
            call.complain(f"cannot create directory {quote(at)}", error)
            return
        if call.arguments.has("v"):
            call.print(f"{call.name}: created directory {shown(at)}")


@utility("mkfifo", short="m:", long="mode=m:", usage="[OPTION]... NAME...")
def mkfifo(call: Invocation) -> Status:
    """Create named pipes (FIFOs) with the given NAMEs."""
    if not call.operands:
        raise UsageError("missing operand")
    text = call.arguments.value("m")
    mode = parse_mode(text, 0o666, False, call.umask) if text is not None else 0o666 & ~call.umask
    if mode is None:
        raise CommandError(f"invalid mode {quote(text or '')}")
    for name in call.operands:
        try:
            if not hasattr(os, "mkfifo"):
                raise OSError(errno.ENOSYS, "Function not implemented")
            os.mkfifo(call.path(name), mode)
        except OSError as error:
            call.complain(f"cannot create fifo {shown(name)}", error)
    return call.status


@utility("mknod", short="m:Z", long="mode=m: context::", usage="[OPTION]... NAME TYPE [MAJOR MINOR]")
def mknod(call: Invocation) -> Generator[None, None, Status]:
    """Create the special file NAME of the given TYPE: p is a named pipe; devices cannot be made here."""
    words = call.operands
    if not words:
        raise UsageError("missing operand")
    fifo = len(words) > 1 and words[1].startswith("p")
    wanted = 2 if fifo else 4
    if len(words) < wanted:
        if not fifo and len(words) == 2:
            call.error(f"missing operand after {quote(words[-1])}")
            call.warn("Special files require major and minor device numbers.")
            call.warn("Try 'mknod --help' for more information.")
            return 1
        raise UsageError(f"missing operand after {quote(words[-1])}")
    if len(words) > wanted:
        call.error(f"extra operand {quote(words[wanted])}")
        if fifo and len(words) == 4:
            call.warn("Fifos do not have major and minor device numbers.")
        call.warn("Try 'mknod --help' for more information.")
        return 1
    name = words[0]
    if fifo:
        mode = call.arguments.value("m")
        return (yield from call.replace(["mkfifo", *([] if mode is None else ["-m", mode]), "--", name]))
    if words[1][:1] not in ("b", "c", "u"):
        raise UsageError(f"invalid device type {quote(words[1])}")
    for number, what in ((words[2], "major"), (words[3], "minor")):
        if not number.isdigit():
            raise UsageError(f"invalid {what} device number {quote(number)}", hint=False)
    raise CommandError(f"{shell_quote(name)}: Operation not permitted")


@utility(
    "mktemp",
    short="dp:qtuV",
    long="directory=d quiet=q dry-run=u suffix: tmpdir=tmpdir::",
    usage="[OPTION]... [TEMPLATE]",
)
def mktemp(call: Invocation) -> Status:
    """Create a temporary file or directory, safely, and print its name."""
    arguments = call.arguments
    if len(call.operands) > 1:
        raise UsageError("too many templates")
    template = call.operands[0] if call.operands else "tmp.XXXXXXXXXX"
    suffix = arguments.value("suffix")
    if suffix is not None:
        if not template.endswith("X"):
            raise UsageError(f"with --suffix, template {quote(template)} must end in X", hint=False)
        body = template
    else:
        cut = template.rfind("X") + 1
        body, suffix = template[:cut], template[cut:]
    if "/" in suffix:
        raise UsageError(f"invalid suffix {quote(suffix)}, contains directory separator", hint=False)
    count = len(body) - len(body.rstrip("X"))
    if count < 3:
        raise CommandError(
            f"too few X's in template {quote(template + (suffix if arguments.has('suffix') else ''))}"
        )
    directory: str | None = None
    if arguments.has("p", "tmpdir") or not call.operands or arguments.has("t"):
        given = arguments.value("p", "tmpdir")
        directory = given or call.env.get("TMPDIR") or "/tmp"
        if arguments.has("t"):
            directory = call.env.get("TMPDIR") or given or "/tmp"
            if "/" in template:
                raise CommandError(f"invalid template, {quote(template)}, contains directory separator")
        elif template.startswith("/"):
            raise CommandError(f"invalid template, {quote(template)}; with --tmpdir, it may not be absolute")
    stem = body[: len(body) - count]
    if directory is not None:
        stem = into_directory(directory, stem)
    generator = random.Random(os.urandom(16))
    kind = "directory" if arguments.has("d") else "file"
    problem: OSError | None = None
    for _ in range(1000):
        letters = "".join(generator.choices(string.ascii_letters + string.digits, k=count))
        name = stem + letters + suffix
        path = call.path(name)
        try:
            if arguments.has("u"):
                if os.path.lexists(path):
                    continue
            elif arguments.has("d"):
                os.mkdir(path, 0o700)
            else:
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError as error:
            problem = error
            continue
        except OSError as error:
            problem = error
            break
        call.print(name)
        return 0
    if not arguments.has("q") and problem is not None:
        shown_template = stem + "X" * count + suffix
        call.error(f"failed to create {kind} via template {quote(shown_template)}: {reason(problem)}")
    return 1
