"""sort: order lines by keys.

Each key becomes one pass of Python's stable sort, the least significant first; that keeps the exact
rules (every key has its own direction, the whole line decides last) and the speed of the built-in sort.
"""

from __future__ import annotations

import functools
import heapq
import os
import re
from collections.abc import Generator, Iterator

from planaria_shell.commands.text.sort.keys import LETTERS, Key, Order, Ordering, parse_key
from planaria_shell.commands.text.wc import extra_operand, names_from
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.lines import records
from planaria_shell.toolkit.options import UsageError, choose
from planaria_shell.toolkit.quoting import quote, shell_quote, shell_quote_always
from planaria_shell.toolkit.sizes import parse_size
from planaria_shell.toolkit.streams import reason

__all__: list[str] = []

_OLD_POSITION = re.compile(r"(\d+)(?:\.(\d+))?([bdfgiMnRrV]*)")


def _old_keys(words: list[str]) -> list[str]:
    """`+1 -3` as `-k 2,3`: positions counted from zero, the end not included."""
    out: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word == "--":
            return [*out, word, *words[index:]]
        start = _OLD_POSITION.fullmatch(word[1:]) if word[:1] == "+" else None
        if start is None:
            out.append(word)
            continue
        key = f"{int(start[1]) + 1}.{int(start[2] or 0) + 1}{start[3]}"
        following = words[index] if index < len(words) else ""
        if following[:1] == "-" and (end := _OLD_POSITION.fullmatch(following[1:])):
            index += 1
            # `-3.0` is the end of the field before, `-3.2` two characters into the next one.
            inside = int(end[2] or 0)
            key += f",{int(end[1]) + 1}.{inside}{end[3]}" if inside else f",{end[1]}{end[3]}"
        out += ["-k", key]
    return out


@command(
    "sort",
    short="bcCdfghik:mMno:rRsS:t:T:uVy:z",
    long="ignore-leading-blanks=b check:: batch-size: compress-program: debug dictionary-order=d "
    "ignore-case=f "
    "files0-from: general-numeric-sort=g ignore-nonprinting=i key=k: merge=m month-sort=M numeric-sort=n "
    "human-numeric-sort=h version-sort=V random-sort=R random-source: sort: output=o: reverse=r stable=s "
    "buffer-size=S: field-separator=t: temporary-directory=T: unique=u zero-terminated=z parallel:",
    failure=2,
    rewrite=_old_keys,
)
def sort(call: Invocation) -> Generator[None, None, Status]:
    """Write sorted concatenation of all FILE(s) to standard output."""
    arguments = call.arguments
    general = Ordering()
    keys: list[Key] = []
    separator: bytes | None = None
    for name, value in arguments:
        if name in tuple(LETTERS):
            general.add(name)
        elif name == "k":
            keys.append(parse_key(value or ""))
        elif name == "t":
            separator = _separator(value or "", separator)
        elif name == "sort":
            general.add(choose(value or "", _SORTS, "--sort"))
        elif name == "debug":
            raise CommandError("--debug is not supported", 2)
        elif name in ("S", "parallel", "batch-size"):
            _check_number(name, value or "")
    for key in keys:
        if key.ordering.is_default:
            key.ordering = general
        key.ordering.check()
    if not keys:
        general.check()
    if not keys and (general.kinds or general.skip_start):
        keys.append(Key(general))
    unique = arguments.has("u")
    stable = arguments.has("s")
    checking = _checking(arguments.options)
    if len(set(arguments.values("o"))) > 1:
        raise UsageError("multiple output files specified", hint=False)
    names = call.operands
    if (listing := arguments.value("files0-from")) is not None:
        if names:
            raise extra_operand(quote(names[0]))
        names = names_from(call, listing)
        if call.status:
            return call.status
        if not names:
            raise CommandError(f"no input from {shell_quote_always(listing)}", 2)
    end = b"\0" if arguments.has("z") else b"\n"
    order = Order(
        keys, separator, not keys or not (stable or unique), general.reverse, _salt(call), end != b"\n"
    )
    if checking:
        if len(names) > 1:
            raise UsageError(
                f"extra operand {shell_quote_always(names[1])} not allowed with -{checking}", hint=False
            )
        if arguments.has("o"):
            raise UsageError(f"options '-{checking}o' are incompatible", hint=False)
        return _check(call, order, names[0] if names else "-", end, unique, checking == "c")
    for name in names:
        if name != "-":
            # All are looked at before the first is read.
            try:
                os.stat(call.path(name))
            except OSError as error:
                raise CommandError(f"cannot read: {shell_quote(name)}: {reason(error)}", 2) from None
    if arguments.has("m"):
        parts = [_read(call, name, end) for name in names or ["-"]]
        lines = list(heapq.merge(*parts, key=functools.cmp_to_key(order.compare)))
    else:
        lines = []
        for name in names or ["-"]:
            lines += _read(call, name, end)
        lines = order.sort(lines)
    if unique:
        lines = order.without_repeats(lines)
    targets = arguments.values("o")
    target = targets[-1] if targets else None
    if target is not None:
        try:
            file = call.create(target)
        except OSError as error:
            raise CommandError(f"open failed: {shell_quote(target)}: {reason(error)}", 2) from None
        for block in _blocks(lines, end):
            file.write(block)
        file.close()
        return call.status
    for block in _blocks(lines, end):
        call.stdout.write(block)
        if call.stdout.full:
            yield
    return call.status


_SORTS = {
    "general-numeric": "g",
    "human-numeric": "h",
    "month": "M",
    "numeric": "n",
    "random": "R",
    "version": "V",
}
_CHECKS = {"quiet": "C", "silent": "C", "diagnose-first": "c"}


def _separator(value: str, before: bytes | None) -> bytes:
    if not value:
        raise UsageError("empty tab", hint=False)
    data = value.encode("utf-8", "surrogateescape")
    if value == "\\0":
        data = b"\0"
    elif len(data) > 1:
        raise UsageError(f"multi-character tab {quote(value)}", hint=False)
    if before is not None and before != data:
        raise UsageError("incompatible tabs", hint=False)
    return data


def _check_number(name: str, value: str) -> None:
    text = value.rstrip("%") if name == "S" else value
    try:
        parse_size(text)
    except ValueError:
        shown = f"-{name}" if len(name) == 1 else f"--{name}"
        raise UsageError(f"invalid {shown} argument {quote(value)}", hint=False) from None


def _checking(options: list[tuple[str, str | None]]) -> str:
    found = ""
    for name, value in options:
        if name in ("c", "C"):
            new = name
        elif name == "check":
            new = "c" if value is None else choose(value, _CHECKS, "--check")
        else:
            continue
        if found and found != new:
            raise UsageError("options '-cC' are incompatible", hint=False)
        found = new
    return found


def _salt(call: Invocation) -> bytes:
    source = call.arguments.value("random-source")
    if source is None:
        return os.urandom(16)
    with call.open(source) as file:
        return file.read(16)


def _read(call: Invocation, name: str, end: bytes) -> list[bytes]:
    """All lines of a file without their ends."""
    try:
        with call.open(name) as source:
            data = source.read()
    except IsADirectoryError as error:
        raise CommandError(f"read failed: {shell_quote(name)}: {reason(error)}", 2) from None
    except OSError as error:
        raise CommandError(f"cannot read: {shell_quote(name)}: {reason(error)}", 2) from None
    return data.removesuffix(end).split(end) if data else []


def _blocks(lines: list[bytes], end: bytes) -> Iterator[bytes]:
    for start in range(0, len(lines), 2048):
        yield end.join(lines[start : start + 2048]) + end


def _check(call: Invocation, order: Order, name: str, end: bytes, unique: bool, loud: bool) -> Status:
    try:
        source = call.open(name)
    except OSError as error:
        raise CommandError(f"open failed: {shell_quote(name)}: {reason(error)}", 2) from None
    previous: bytes | None = None
    with source:
        for number, line in enumerate(records(source.chunks(), end), 1):
            line = line.removesuffix(end)
            if previous is not None:
                compared = order.compare(previous, line)
                if compared > 0 or (unique and compared == 0):
                    if loud:
                        shown = line.decode("utf-8", "surrogateescape")
                        call.error(f"{name}:{number}: disorder: {shown}")
                    return 1
            previous = line
    return 0
