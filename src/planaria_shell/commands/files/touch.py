"""touch, truncate and fallocate: the times and the sizes of files."""

from __future__ import annotations

import errno
import os
import re
import time

from planaria_shell.state.command import Status
from planaria_shell.toolkit.file_times import parse_time
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError, choose
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.quoting import shell_quote_always as shown
from planaria_shell.toolkit.sizes import parse_size
from planaria_shell.toolkit.streams import reason

__all__: list[str] = []

_TOUCHED = {"atime": "a", "access": "a", "use": "a", "mtime": "m", "modify": "m"}


@command(
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
    fault: OSError | None = None
    if follow and not call.arguments.has("c") and not os.path.exists(path):
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666 & ~call.umask))
        except IsADirectoryError:
            pass  # a slash is at the end: what is wrong is reported when its times are set
        except OSError as error:
            fault = error
    try:
        status = os.stat(path) if follow else os.lstat(path)
        access = times[0] if "a" in which else status.st_atime_ns
        change = times[1] if "m" in which else status.st_mtime_ns
        os.utime(path, ns=(access, change), follow_symlinks=follow)
    except OSError as error:
        if fault is not None:
            call.complain(f"cannot touch {shown(name)}", fault)
        elif not (call.arguments.has("c") and error.errno == errno.ENOENT):
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


@command(
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
    create = 0 if arguments.has("c") else os.O_CREAT
    for name in call.operands:
        path = call.path(name)
        try:
            descriptor = os.open(path, os.O_WRONLY | create, 0o666 & ~call.umask)
        except OSError as error:
            if not create and error.errno == errno.ENOENT:
                continue
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


@command(
    "fallocate",
    short="l:no:vx",
    long="length=l: keep-size=n offset=o: posix=x verbose=v",
    usage="-l SIZE [OPTION]... FILE",
)
def fallocate(call: Invocation) -> Status:
    """Have FILE be SIZE bytes long at least; what is new in it is zero."""
    arguments = call.arguments
    text = arguments.value("l")
    if len(call.operands) != 1:
        raise CommandError("no filename specified" if not call.operands else "unexpected number of arguments")
    if text is None:
        raise CommandError("no length argument specified")
    try:
        length, offset = parse_size(text), parse_size(arguments.value("o") or "0")
    except ValueError:
        raise CommandError("invalid length value specified") from None
    if length <= 0:
        raise CommandError("invalid length value specified")
    name = call.operands[0]
    try:
        descriptor = os.open(call.path(name), os.O_RDWR | os.O_CREAT, 0o666 & ~call.umask)
    except OSError as error:
        raise CommandError(f"cannot open {name}: {reason(error)}") from None
    try:
        if not arguments.has("n") and os.fstat(descriptor).st_size < offset + length:
            os.ftruncate(descriptor, offset + length)
    except OSError as error:
        raise CommandError(f"fallocate failed: {reason(error)}") from None
    finally:
        os.close(descriptor)
    return 0


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
