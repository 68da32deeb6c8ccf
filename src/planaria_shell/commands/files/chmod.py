"""chmod, chown, chgrp: who may do what with files."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Generator, Iterator

from planaria_shell.commands.files.copying import into_directory
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.quoting import shell_quote_always as shown
from planaria_shell.toolkit.streams import reason
from planaria_shell.toolkit.users import (
    current_groups,
    current_user,
    group_name,
    group_number,
    owner,
    user_name,
    user_number,
)

__all__ = ["parse_mode"]

_CLAUSE = re.compile(r"([ugoa]*)((?:[-+=](?:[rwxXst]*|[ugo]|[0-7]+))+)")
_ACTION = re.compile(r"([-+=])([ugo]|[0-7]+|[rwxXst]*)")
_WHO = {"u": 0o4700, "g": 0o2070, "o": 0o1007, "a": 0o7777}
_BITS = {"r": 0o444, "w": 0o222, "x": 0o111, "s": 0o6000, "t": 0o1000}


def parse_mode(text: str, current: int, is_directory: bool, umask: int) -> int | None:
    """The permissions that a mode (octal or symbolic, chmod(1)) gives to a file that has `current`.

    None when the text is not a mode.
    """
    if re.fullmatch(r"[0-7]+", text):
        mode = int(text, 8)
        if mode > 0o7777:
            return None
        # Set-user-id and set-group-id bits of a directory stay unless named with five digits or more.
        return mode | (current & 0o6000 if is_directory and len(text) < 5 else 0)
    mode = current
    for clause in text.split(","):
        match = _CLAUSE.fullmatch(clause)
        if match is None:
            octal = re.fullmatch(r"([-+=])([0-7]+)", clause)
            if octal is None:
                return None
        who = match[1] if match else ""
        actions = match[2] if match else clause
        for action in _ACTION.finditer(actions):
            operator, what = action.groups()
            if what.isdigit():
                bits, affected = int(what, 8), 0o7777
            else:
                affected = 0
                for letter in who or "a":
                    affected |= _WHO[letter]
                if what in ("u", "g", "o") and what:
                    three = mode >> {"u": 6, "g": 3, "o": 0}[what] & 7
                    bits = (three << 6 | three << 3 | three) & affected
                else:
                    bits = 0
                    for letter in what:
                        if letter == "X":
                            bits |= 0o111 if is_directory or mode & 0o111 else 0
                        else:
                            bits |= _BITS[letter]
                    bits &= affected
                if not who:
                    bits &= ~umask
                    if operator == "=":
                        affected &= ~0 if what else 0o7777
            if operator == "+":
                mode |= bits
            elif operator == "-":
                mode &= ~bits
            else:
                kept = mode & ~affected
                if is_directory:
                    kept |= mode & 0o6000 if "s" not in what and not what.isdigit() else 0
                mode = kept | bits
    return mode & 0o7777


def _tree(call: Invocation, name: str) -> Iterator[tuple[str, os.stat_result]]:
    """A name and everything below it, symbolic links not followed except the name itself."""
    pending = [(name, True)]
    while pending:
        current, operand = pending.pop()
        path = call.path(current)
        try:
            status = os.stat(path) if operand else os.lstat(path)
        except OSError as error:
            call.status = 1
            if call.arguments.has("f"):
                continue
            if operand and error.errno == errno.ENOENT and os.path.islink(path):
                call.error(f"cannot operate on dangling symlink {shown(current)}")
            else:
                call.error(f"cannot access {shown(current)}: {reason(error)}")
            continue
        if stat.S_ISLNK(status.st_mode):
            continue
        yield current, status
        if call.arguments.has("R") and stat.S_ISDIR(status.st_mode):
            try:
                names = sorted(os.listdir(path), reverse=True)
            except OSError as error:
                call.complain(f"cannot read directory {shown(current)}", error)
                continue
            pending += [(into_directory(current, child), False) for child in names]


def _mode_operands(words: list[str]) -> list[str]:
    """`chmod -x FILE`: a mode that begins with a minus is not an option."""
    for index, word in enumerate(words):
        if word == "--":
            break
        if re.fullmatch(r"-[rwxXstugoa0-7][-+=rwxXstugoa0-7,]*", word):
            return [*words[:index], "--mode", word, *words[index + 1 :]]
    return words


@command(
    "chmod",
    short="Rcfv",
    long="changes=c recursive=R no-preserve-root preserve-root quiet=f silent=f reference: verbose=v mode:",
    usage="[OPTION]... MODE[,MODE]... FILE...",
    rewrite=_mode_operands,
)
def chmod(call: Invocation) -> Generator[None, None, Status]:
    """Change the mode of each FILE to MODE."""
    arguments = call.arguments
    names = list(call.operands)
    reference = arguments.value("reference")
    text = arguments.value("mode")
    if reference is not None:
        try:
            text = f"{stat.S_IMODE(os.stat(call.path(reference)).st_mode):05o}"
        except OSError as error:
            raise CommandError(f"failed to get attributes of {shown(reference)}: {reason(error)}") from None
    elif text is None:
        if not names:
            raise UsageError("missing operand")
        text = names.pop(0)
    if not names:
        raise UsageError(f"missing operand after {quote(text)}" if reference is None else "missing operand")
    if parse_mode(text, 0, False, 0) is None:
        raise UsageError(f"invalid mode: {quote(text)}")
    for name in names:
        for current, status in _tree(call, name):
            before = stat.S_IMODE(status.st_mode)
            after = parse_mode(text, before, stat.S_ISDIR(status.st_mode), call.umask)
            assert after is not None
            try:
                os.chmod(call.path(current), after)
            except OSError as error:
                if not arguments.has("f"):
                    call.error(f"changing permissions of {shown(current)}: {reason(error)}")
                call.status = 1
                continue
            if after != before and arguments.has("c", "v"):
                call.print(f"mode of {shown(current)} changed from {_shown(before)} to {_shown(after)}")
            elif arguments.has("v"):
                call.print(f"mode of {shown(current)} retained as {_shown(after)}")
            plain = parse_mode(text, before, stat.S_ISDIR(status.st_mode), 0)
            if text.startswith("-") and plain is not None and plain != after and not arguments.has("f"):
                wanted = stat.filemode(plain)[1:]
                got = stat.filemode(after)[1:]
                call.complain(f"{current}: new permissions are {got}, not {wanted}")
            if call.stdout.full:
                yield
    return call.status


def _shown(mode: int) -> str:
    return f"{mode:04o} ({stat.filemode(mode)[1:]})"


def _ownership(call: Invocation, only_group: bool) -> Generator[None, None, Status]:
    """chown and chgrp: one user owns everything, so only what changes nothing can be done."""
    arguments = call.arguments
    names = list(call.operands)
    reference = arguments.value("reference")
    user: int | None = None
    group: int | None = None
    if reference is not None:
        status = os.stat(call.path(reference))
        user, group = owner(status)
    else:
        if not names:
            raise UsageError("missing operand")
        text = names.pop(0)
        if not names:
            raise UsageError(f"missing operand after {quote(text)}")
        user_text, _, group_text = ("", ":", text) if only_group else text.partition(":")
        if user_text:
            user = int(user_text) if user_text.isdigit() else user_number(user_text)
            if user is None:
                raise CommandError(f"invalid user: {quote(text)}")
        if group_text:
            group = int(group_text) if group_text.isdigit() else group_number(group_text)
            if group is None:
                raise CommandError(f"invalid group: {quote(group_text if only_group else text)}")
    if not names:
        raise UsageError("missing operand")
    what = "group" if only_group else "ownership"
    for name in names:
        for current, status in _tree(call, name):
            before = owner(status)
            path = call.path(current)
            wanted = (before[0] if user is None else user, before[1] if group is None else group)
            if wanted != before:
                try:
                    if not hasattr(os, "chown") or current_user() not in (0, wanted[0]):
                        raise PermissionError(1, "Operation not permitted")
                    if current_user() and wanted[1] not in current_groups():
                        raise PermissionError(1, "Operation not permitted")
                    os.chown(path, -1 if user is None else user, -1 if group is None else group)
                except OSError as error:
                    if not arguments.has("f"):
                        call.error(f"changing {what} of {shown(current)}: {reason(error)}")
                    call.status = 1
                    continue
            if arguments.has("v") or (arguments.has("c") and wanted != before):
                verb = (
                    "retained as"
                    if wanted == before
                    else f"changed from {_owner(before, only_group, user, group)} to"
                )
                call.print(f"{what} of {shown(current)} {verb} {_owner(wanted, only_group, user, group)}")
            if call.stdout.full:
                yield
    return call.status


def _owner(numbers: tuple[int, int], only_group: bool, user: int | None, group: int | None) -> str:
    name = user_name(numbers[0]) or str(numbers[0])
    group_text = group_name(numbers[1]) or str(numbers[1])
    if only_group:
        return group_text
    return name if group is None else f"{name}:{group_text}" if user is not None else f":{group_text}"


_OWNERSHIP = (
    "changes=c dereference from: no-dereference=h no-preserve-root preserve-root quiet=f silent=f reference: "
    "recursive=R verbose=v"
)


@command("chown", short="HLPRcfhv", long=_OWNERSHIP, usage="[OPTION]... [OWNER][:[GROUP]] FILE...")
def chown(call: Invocation) -> Generator[None, None, Status]:
    """Change the owner and/or group of each FILE to OWNER and/or GROUP."""
    return (yield from _ownership(call, False))


@command("chgrp", short="HLPRcfhv", long=_OWNERSHIP, usage="[OPTION]... GROUP FILE...")
def chgrp(call: Invocation) -> Generator[None, None, Status]:
    """Change the group of each FILE to GROUP."""
    return (yield from _ownership(call, True))
