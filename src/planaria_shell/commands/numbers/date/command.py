"""The `date` command (GNU coreutils)."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from datetime import datetime, timedelta, tzinfo

from planaria_shell.state.command import Process
from planaria_shell.toolkit.dates.formatting import format_moment
from planaria_shell.toolkit.dates.parsing import DateError, parse_moment
from planaria_shell.toolkit.dates.zones import UTC, local_zone
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import in_locale, quote
from planaria_shell.toolkit.streams import read_input, reason

_DEFAULT = "%a %b %e %H:%M:%S %Z %Y"
_MAIL = "%a, %d %b %Y %H:%M:%S %z"
_ISO = {
    "": "%Y-%m-%d",
    "date": "%Y-%m-%d",
    "hours": "%Y-%m-%dT%H%:z",
    "minutes": "%Y-%m-%dT%H:%M%:z",
    "seconds": "%Y-%m-%dT%H:%M:%S%:z",
    "ns": "%Y-%m-%dT%H:%M:%S,%N%:z",
}
_RFC_3339 = {
    "date": "%Y-%m-%d",
    "seconds": "%Y-%m-%d %H:%M:%S%:z",
    "ns": "%Y-%m-%d %H:%M:%S.%N%:z",
}


_VALID = {
    "--iso-8601": ("hours", "minutes", "date", "seconds", "ns"),
    "--rfc-3339": ("date", "seconds", "ns"),
}


def _abbreviated(table: dict[str, str], value: str, option: str) -> str:
    found = {name for name in table if name.startswith(value) and name} if value not in table else {value}
    if len(found) != 1:
        kind = "ambiguous" if found else "invalid"
        valid = "".join(f"\n  - {quote(name)}" for name in _VALID[option])
        raise UsageError(f"{kind} argument {quote(value)} for {quote(option)}\nValid arguments are:{valid}")
    return table[found.pop()]


def moment_of(total: int, zone: tzinfo) -> tuple[datetime, int]:
    """A moment and its nanoseconds from nanoseconds since the epoch."""
    start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=total // 10**9)
    return start.astimezone(zone), total % 10**9


@command(
    "date",
    short="d:f:I::r:Rs:u",
    long="date=d: debug file=f: iso-8601=I:: reference=r: resolution rfc-email=R rfc-822=R rfc-2822=R "
    "rfc-3339: set=s: universal=u utc=u uct=u help version",
    help="Usage: date [OPTION]... [+FORMAT]\n",
    version="date (GNU coreutils) 9.1\n",
)
def date(call: Invocation) -> Generator[None, None, int]:
    """Print the time in a format: https://www.gnu.org/software/coreutils/date"""
    process, arguments = call.process, call.arguments
    layout = None
    for name, value in arguments.given:
        chosen = None
        if name == "I":
            chosen = _abbreviated(_ISO, value, "--iso-8601")
        elif name == "R":
            chosen = _MAIL
        elif name == "rfc-3339":
            chosen = _abbreviated(_RFC_3339, value, "--rfc-3339")
        if chosen is not None:
            if layout is not None:
                raise UsageError("multiple output formats specified")
            layout = chosen
    sources = {name for name, _ in arguments.given if name in "dfr" and len(name) == 1}
    if len(sources) > 1:
        raise UsageError("the options to specify dates for printing are mutually exclusive")
    for operand in arguments.operands:
        if not operand.startswith("+"):
            if len(arguments.operands) > 1:
                raise UsageError(f"extra operand {quote(arguments.operands[1])}")
            if sources:
                message = f"the argument {quote(operand)} lacks a leading '+';\n"
                raise UsageError(
                    message + "when using an option to specify date(s), any non-option\n"
                    "argument must be a format string beginning with '+'"
                )
            return _cannot_set(process, operand)
        if len(arguments.operands) > 1:
            raise UsageError(f"extra operand {quote(arguments.operands[1])}")
        if layout is not None:
            process.error("multiple output formats specified")
            return 1
        layout = operand[1:]
    zone = UTC if arguments.has("u") else local_zone(process.env)
    layout = _DEFAULT if layout is None else layout
    now, nanoseconds = moment_of(time.time_ns(), zone)
    status = 0
    if arguments.has("s"):
        process.error("cannot set date: Operation not permitted")
        status = 1
    words = arguments.value("d", "s")
    reference, file = arguments.value("r"), arguments.value("f")
    if file is not None:
        try:
            lines = read_input(process, file).decode("utf-8", "surrogateescape").splitlines()
        except OSError as error:
            process.error(f"{file}: {reason(error)}")
            return 1
        for line in lines:
            status = max(status, _show(process, line, now, nanoseconds, zone, layout))
            if process.stdout.full:
                yield
        return status
    if reference is not None:
        try:
            total = os.stat(process.path(reference)).st_mtime_ns
        except OSError as error:
            process.error(f"{reference}: {reason(error)}")
            return 1
        _write(process, format_moment(layout, *moment_of(total, zone)))
        return status
    if words is not None:
        return max(status, _show(process, words, now, nanoseconds, zone, layout))
    _write(process, format_moment(layout, now, nanoseconds))
    return status


def _show(process: Process, words: str, now: datetime, nanoseconds: int, zone: tzinfo, layout: str) -> int:
    try:
        moment, fraction = parse_moment(words, now, nanoseconds, zone)
    except DateError:
        process.error(in_locale(f"invalid date {quote(words)}", process.env))
        return 1
    _write(process, format_moment(layout, moment, fraction))
    return 0


def _cannot_set(process: Process, operand: str) -> int:
    if operand.isdigit() and len(operand) in (8, 10, 12):
        process.error("cannot set date: Operation not permitted")
    else:
        process.error(in_locale(f"invalid date {quote(operand)}", process.env))
    return 1


def _write(process: Process, text: str) -> None:
    process.stdout.write(text.encode("utf-8", "surrogateescape") + b"\n")
