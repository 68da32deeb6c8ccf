"""`bash` and `sh` as commands."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TYPE_CHECKING

from planaria_shell.run.command import Process, command
from planaria_shell.run.control import BROKEN_PIPE, Exit
from planaria_shell.run.options import LETTERS
from planaria_shell.run.process import RunningCommand
from planaria_shell.run.streams import flush_all

if TYPE_CHECKING:
    from planaria_shell.run.shell import Shell

__all__ = ["VERSION_TEXT", "bash", "parse_invocation"]

VERSION_TEXT = """GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)
Copyright (C) 2022 Free Software Foundation, Inc.
License GPLv3+: GNU GPL version 3 or later <http://gnu.org/licenses/gpl.html>

This is free software; you are free to change and redistribute it.
There is NO WARRANTY, to the extent permitted by law.
"""


class Invocation:
    """What the command line of `bash` asks for."""

    def __init__(self) -> None:
        self.command: str | None = None
        self.script: str | None = None
        self.read_stdin = False
        self.name = "bash"
        self.arguments: list[str] = []
        self.options: list[tuple[str, bool]] = []
        self.shopts: list[tuple[str, bool]] = []
        self.version = False
        self.error = ""


def parse_invocation(argv: list[str]) -> Invocation:
    """Read the command line of `bash` (Bash Reference Manual, section 6.1)."""
    result = Invocation()
    result.name = argv[0]
    place = 1
    wants_command = False
    while place < len(argv):
        word = argv[place]
        if word in ("--", "-"):
            place += 1
            break
        if word.startswith("--"):
            if word == "--version":
                result.version = True
            elif word in ("--posix",):
                result.options.append(("posix", True))
            elif word in ("--rcfile", "--init-file"):
                place += 1
            elif word not in ("--norc", "--noprofile", "--login", "--noediting", "--verbose", "--restricted"):
                result.error = f"{word}: invalid option"
                return result
            place += 1
            continue
        if word[:1] not in ("-", "+") or len(word) < 2:
            break
        on = word[0] == "-"
        for letter in word[1:]:
            if letter == "c":
                wants_command = True
            elif letter == "s":
                result.read_stdin = True
            elif letter in "oO":
                place += 1
                if place < len(argv):
                    (result.options if letter == "o" else result.shopts).append((argv[place], on))
            elif letter in LETTERS:
                result.options.append((LETTERS[letter], on))
            elif letter not in "lirD":
                result.error = f"-{letter}: invalid option"
                return result
        place += 1
    rest = argv[place:]
    if wants_command:
        if not rest:
            result.error = "-c: option requires an argument"
            return result
        result.command = rest[0]
        if len(rest) > 1:
            result.name = rest[1]
        result.arguments = rest[2:]
    elif rest and not result.read_stdin:
        result.script = rest[0]
        result.name = rest[0]
        result.arguments = rest[1:]
    else:
        result.read_stdin = True
        result.arguments = rest
    return result


@command("bash", "sh", "dash")
def bash(process: Process) -> Generator[None, None, int]:
    """Run a script, a command line (`-c`) or standard input in a shell of its own."""
    assert isinstance(process, RunningCommand)
    asked = parse_invocation(process.argv)
    if asked.error:
        process.error(asked.error)
        return 2
    if asked.version:
        process.stdout.write(VERSION_TEXT.encode())
        return 0
    parent = process.shell
    child = parent.spawn(process.env, name=asked.name, arguments=asked.arguments)
    try:
        from planaria_shell.builtins.options import turn
        from planaria_shell.builtins.registry import UsageError

        if os.path.basename(process.argv[0]) != "bash":
            turn(child, "posix", True)
        try:
            for option, on in asked.options:
                turn(child, option, on)
        except UsageError as error:
            process.error(error.message)
            return error.status
        for name, on in asked.shopts:
            child.shopts.add(name) if on else child.shopts.discard(name)
        where = ""
        if asked.command is not None:
            text, where = asked.command, "-c: "
        elif asked.script is not None:
            flush_all()
            try:
                with open(process.path(asked.script), "rb") as file:
                    data = file.read()
            except OSError as error:
                child.error_output(f"{process.argv[0]}: {asked.script}: {error.strerror}\n")
                return 127 if isinstance(error, FileNotFoundError) else 126
            text = data.decode("utf-8", "surrogateescape")
            child.script = asked.script
        else:
            return (yield from _standard_input(child))
        if not child.posix:
            startup = _startup(child)
            if startup is not None:
                try:
                    yield from child.stream_text(startup)
                except Exit as jump:
                    child.status = jump.status
                    return child.finish()
        return (yield from child.stream_program(text, where))
    except BrokenPipeError:
        return BROKEN_PIPE
    finally:
        child.let_go()


def _startup(child: Shell) -> str | None:
    """What the file that BASH_ENV names holds, if there is one."""
    name = child.variables.get("BASH_ENV")
    if not name:
        return None
    try:
        with open(child.path(child.expand_text(name)), "rb") as file:
            return file.read().decode("utf-8", "surrogateescape")
    except OSError:
        return None


def _standard_input(child: Shell) -> Generator[None, None, int]:
    """Run what is read from standard input; commands in it may read the rest of it."""
    data = b""
    stream = child.fds[0]
    text = ""
    while line := stream.readline():
        data += line
        text = data.decode("utf-8", "surrogateescape")
        from planaria_shell.syntax.lexer import ShellSyntaxError
        from planaria_shell.syntax.parser import parse

        if text.endswith("\\\n"):
            continue
        try:
            parse(text, extglob="extglob" in child.shopts)
        except ShellSyntaxError as error:
            if error.incomplete:
                continue
        if "<<" in text and _document_open(text):
            continue
        data = b""
        child.exited = False
        status = yield from child.stream_line(text)
        if child.exited:
            return status
    if data:
        yield from child.stream_line(text)
    return child.finish()


def _document_open(text: str) -> bool:
    """Whether a here-document in `text` has not ended yet."""
    from planaria_shell.syntax.parser import Parser

    parser = Parser(text)
    parser.documents_must_end = True
    try:
        while parser.unit() is not None:
            pass
    except EOFError:
        return True
    return False
