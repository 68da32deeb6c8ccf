"""mkdir, mkfifo, ln, link, touch, truncate, mktemp: new names."""

from __future__ import annotations

import errno
import os
import random
import re
import stat
import string
import time

from ..command import Status
from .backup import Backup
from .clock import parse_time
from .copying import base_name, into_directory
from .file_modes import parse_mode
from .invocation import CommandError, Invocation, utility
from .options import UsageError, choose
from .quoting import quote, shell_quote
from .quoting import shell_quote_always as shown
from .sizes import parse_size
from .streams import reason

__all__: list[str] = []

_TOUCHED = {"atime": "a", "access": "a", "use": "a", "mtime": "m", "modify": "m"}


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


@utility(
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
        if not os.path.isdir(call.path(directory)):
            raise CommandError(f"target directory {shown(directory)}: {_why_no_directory(call, directory)}")
    elif len(names) == 1:
        directory = "."
    else:
        path = call.path(names[-1])
        if os.path.isdir(path) and not (arguments.has("n") and os.path.islink(path)):
            directory, names = names[-1], names[:-1]
        elif len(names) > 2:
            raise CommandError(f"target {shown(names[-1])}: {_why_no_directory(call, names[-1])}")
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


def _why_no_directory(call: Invocation, name: str) -> str:
    return "Not a directory" if os.path.exists(call.path(name)) else "No such file or directory"


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
    try:
        if os.path.lexists(path):
            if not symbolic and arguments.has("f") and _same_name(path, source):
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
            os.link(source, path, follow_symlinks=arguments.has("L"))
    except OSError as error:
        arrow = "" if error.errno == errno.EEXIST else f" {'->' if symbolic else '=>'} {shown(target)}"
        call.complain(f"failed to create {kind} link {shown(name)}{arrow}: {reason(error)}")
        return
    if arguments.has("v"):
        lead = f"{shown(os.path.join(os.path.dirname(name), os.path.basename(saved)))} ~ " if saved else ""
        call.print(f"{lead}{shown(name)} {'->' if symbolic else '=>'} {shown(target)}")


def _same_name(first: str, second: str) -> bool:
    """Are these two ways to write the name of one directory entry?"""
    parents = [os.path.realpath(os.path.dirname(path)) for path in (first, second)]
    return parents[0] == parents[1] and base_name(first) == base_name(second)


@utility("link", usage="FILE1 FILE2")
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
        os.link(call.path(names[0]), call.path(names[1]), follow_symlinks=False)
    except OSError as error:
        raise CommandError(
            f"cannot create link {shown(names[1])} to {shown(names[0])}: {reason(error)}"
        ) from None
    return 0


@utility(
    "touch",
    short="acd:fhmr:t:",
    long="time: no-create=c date=d: reference=r: no-dereference=h",
    usage="[OPTION]... FILE...",
)
def touch(call: Invocation) -> Status:
    """Update the access and modification times of each FILE to the current time."""
    arguments = call.arguments
    which = {key for key, _ in arguments if key in ("a", "m")}
    for word in arguments.values("time"):
        which.add(choose(word, _TOUCHED, "--time"))
    if not which:
        which = {"a", "m"}
    now = time.time_ns()
    times = (now, now)
    reference, date, stamp = arguments.value("r"), arguments.value("d"), arguments.value("t")
    if stamp is not None and (reference is not None or date is not None):
        raise UsageError("cannot specify times from more than one source")
    if reference is not None:
        path = call.path(reference)
        try:
            status = os.lstat(path) if arguments.has("h") else os.stat(path)
        except OSError as error:
            raise CommandError(f"failed to get attributes of {shown(reference)}: {reason(error)}") from None
        times = (status.st_atime_ns, status.st_mtime_ns)
    if date is not None:
        moments = [
            parse_time(date, call.env, base) for base in (times if reference is not None else (now, now))
        ]
        if None in moments:
            raise CommandError(f"invalid date format {quote(date)}")
        times = (moments[0] or 0, moments[1] or 0)
    if stamp is not None:
        moment = _stamp(stamp, call.env, now)
        if moment is None:
            raise CommandError(f"invalid date format {quote(stamp)}")
        times = (moment, moment)
    if not call.operands:
        raise UsageError("missing file operand")
    for name in call.operands:
        _touch(call, name, which, times)
    return call.status


def _touch(call: Invocation, name: str, which: set[str], times: tuple[int, int]) -> None:
    path = call.path(name)
    follow = not call.arguments.has("h")
    if name == "-":
        return
    try:
        if not (os.path.exists(path) if follow else os.path.lexists(path)):
            if call.arguments.has("c"):
                return
            if not follow:
                call.complain(f"setting times of {shown(name)}: No such file or directory")
                return
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666 & ~call.umask))
    except OSError as error:
        call.complain(f"cannot touch {shown(name)}", error)
        return
    try:
        status = os.stat(path) if follow else os.lstat(path)
        access = times[0] if "a" in which else status.st_atime_ns
        change = times[1] if "m" in which else status.st_mtime_ns
        os.utime(path, ns=(access, change), follow_symlinks=follow)
    except OSError as error:
        call.complain(f"setting times of {shown(name)}", error)


def _stamp(text: str, env: dict[str, str], now: int) -> int | None:
    """`[[CC]YY]MMDDhhmm[.ss]` in nanoseconds, None when it is none."""
    match = re.fullmatch(r"(\d\d)?(\d\d)?(\d\d)(\d\d)(\d\d)(\d\d)(?:\.(\d\d))?", text)
    if match is None:
        return None
    century, year, month, day, hour, minute, second = match.groups()
    if year is None and century is not None:
        year, century = century, None
    if year is None:
        full = time.gmtime(now // 10**9).tm_year
    elif century is None:
        full = int(year) + (1900 if int(year) >= 69 else 2000)
    else:
        full = int(century + year)
    return parse_time(f"{full:04d}-{month}-{day} {hour}:{minute}:{second or '00'}", env, now)


@utility(
    "truncate", short="cor:s:", long="no-create=c io-blocks=o reference=r: size=s:", usage="OPTION... FILE..."
)
def truncate(call: Invocation) -> Status:
    """Shrink or extend the size of each FILE to the specified size."""
    arguments = call.arguments
    text, reference = arguments.value("s"), arguments.value("r")
    operator, size = "", 0
    if text is not None:
        stripped = text.lstrip(" ")
        operator = stripped[0] if stripped[:1] in tuple("+-<>/%") else ""
        try:
            size = parse_size(stripped.removeprefix(operator).lstrip("+"))
        except ValueError:
            raise UsageError(
                f"Invalid number: {quote(stripped.removeprefix(operator))}", hint=False
            ) from None
        if operator in ("/", "%") and not size:
            raise UsageError("division by zero", hint=False)
    if text is None and reference is None:
        raise UsageError(f"you must specify either {quote('--size')} or {quote('--reference')}")
    if text is not None and reference is not None and not operator:
        raise UsageError(f"you must specify a relative {quote('--size')} with {quote('--reference')}")
    if arguments.has("o") and text is None:
        raise UsageError(f"{quote('--io-blocks')} was specified but {quote('--size')} was not")
    if not call.operands:
        raise UsageError("missing file operand")
    base: int | None = None
    if reference is not None:
        try:
            base = os.stat(call.path(reference)).st_size
        except OSError as error:
            raise CommandError(f"cannot stat {shown(reference)}: {reason(error)}") from None
    for name in call.operands:
        path = call.path(name)
        try:
            if not os.path.exists(path):
                if arguments.has("c"):
                    continue
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666 & ~call.umask))
            descriptor = os.open(path, os.O_WRONLY)
        except OSError as error:
            call.complain(f"cannot open {shown(name)} for writing", error)
            continue
        try:
            status = os.fstat(descriptor)
            unit = 4096 if arguments.has("o") else 1
            old = status.st_size if base is None else base
            new = old if text is None else _resized(operator, old, size * unit)
            os.ftruncate(descriptor, max(new, 0))
        except OSError as error:
            call.complain(f"failed to truncate {shown(name)} at {new} bytes", error)
        finally:
            os.close(descriptor)
    return call.status


def _resized(operator: str, old: int, size: int) -> int:
    if operator == "+":
        return old + size
    if operator == "-":
        return old - size
    if operator == "<":
        return min(old, size)
    if operator == ">":
        return max(old, size)
    if operator == "/":
        return old // size * size
    if operator == "%":
        return -(-old // size) * size
    return size


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
