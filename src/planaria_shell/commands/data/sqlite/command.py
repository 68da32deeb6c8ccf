"""The `sqlite3` command line (sqlite3 3.40)."""

from __future__ import annotations

import re
import shlex
import sqlite3
from collections.abc import Generator, Iterable, Iterator

from planaria_shell.commands.data.sqlite.dot_commands import MODES, DotCommands, DotError, ExitError, unescape
from planaria_shell.run.command import Process, command
from planaria_shell.toolkit import usage


class _Shell(DotCommands):
    """One run of the command line."""

    # Statements

    def script(self, text: Iterable[str], *, from_arguments: bool = False) -> Generator[None, None, None]:
        """Run lines of SQL and dot commands."""
        pending = ""
        start = 0
        for number, line in enumerate(text, 1):
            if not pending.strip() and line.startswith("."):
                yield from self.dot(line.strip(), number, from_arguments)
                continue
            if not pending.strip() and line.startswith("#"):
                continue
            if not pending.strip():
                pending, start = "", number
            if pending.strip() and line.strip().lower() in ("/", "go"):
                line = ";"
            pending += line
            if ";" in line and sqlite3.complete_statement(pending):
                yield from self.run(pending, start, from_arguments)
                pending = ""
        if pending.strip():
            yield from self.run(pending, start, from_arguments)

    def run(self, text: str, line: int, from_arguments: bool) -> Generator[None, None, None]:
        for statement in _statements(text):
            if self.echo:
                self.write(statement.strip() + "\n")
            try:
                cursor = self.connection.execute(statement)
                if cursor.description is not None:
                    yield from self.show([column[0] for column in cursor.description], cursor)
            except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
                self.failed = True
                self.complain(_sql_error(error, statement, line, from_arguments))
                if from_arguments or self.bail:
                    code = getattr(error, "sqlite_errorcode", 1) & 255
                    raise ExitError(code if from_arguments else 1) from None
                return
        if self.once:
            self.close_output()

    # Output

    # Dot commands

    def dot(self, line: str, number: int, from_arguments: bool) -> Generator[None, None, None]:
        try:
            words = shlex.split(line[1:], posix=True)
        except ValueError:
            words = line[1:].split()
        if not words:
            return
        name, arguments = words[0], words[1:]
        try:
            found = [known for known in self.known_commands if known.startswith(name)]
            if name not in self.known_commands and len(found) != 1:
                raise DotError(f'unknown command or invalid arguments:  "{name}". Enter ".help" for help')
            known = name if name in self.known_commands else found[0]
            result = getattr(self, "dot_" + known)(arguments)
            if result is not None:
                yield from result
        except (DotError, sqlite3.Error) as error:
            self.failed = True
            self.complain(f"Error: {error}\n")
            if from_arguments or self.bail:
                raise ExitError(1) from None
        except OSError as error:
            self.failed = True
            self.complain(f'Error: cannot open "{error.filename}"\n')
            if from_arguments or self.bail:
                raise ExitError(1) from None

    def dot_read(self, arguments: list[str]) -> Generator[None, None, None]:
        if len(arguments) != 1:
            raise DotError("Usage: .read FILE")
        text = usage.read_file(self.process, arguments[0]).decode("utf-8", "surrogateescape")
        yield from self.script(text.splitlines(keepends=True))


def _statements(text: str) -> Iterator[str]:
    """The statements of a text, each whole by SQLite's own rule."""
    start = 0
    for match in re.finditer(";", text):
        piece = text[start : match.end()]
        if sqlite3.complete_statement(piece):
            if piece.strip(" \t\r\n;"):
                yield piece
            start = match.end()
    if text[start:].strip():
        yield text[start:]


def _sql_error(error: Exception, statement: str, line: int, from_arguments: bool) -> str:
    message = str(error)
    parse = (
        message.startswith(("near ", "no such ", "incomplete input", "unrecognized token"))
        or "syntax error" in message
    )
    parse = parse or "has no column" in message or "already exists" in message or "values for" in message
    if from_arguments:
        kind = "in prepare" if parse else "stepping"
        head = f"Error: {kind}, {message}"
    else:
        head = f"{'Parse' if parse else 'Runtime'} error near line {line}: {message}"
    code = getattr(error, "sqlite_errorcode", None)
    if not parse and code is not None:
        head += f" ({code & 255})"
    near = re.match(r'near "(.*)": syntax error', message, re.DOTALL) or re.match(
        r'unrecognized token: "(.*)"', message, re.DOTALL
    )
    near = near or re.match(r"no such (?:column|function): (.*)", message)
    if parse and near:
        shown = re.sub(r"\s", " ", statement.strip("\n"))
        place = shown.find(near.group(1))
        if place >= 0:
            arrow = f"{' ' * place}^--- error here" if place < 25 else f"{' ' * (place - 14)}error here ---^"
            return f"{head}\n  {shown}\n  {arrow}\n"
    return head + "\n"


@command("sqlite3")
def sqlite3_command(process: Process) -> Generator[None, None, int]:
    """sqlite3 [OPTIONS] [FILENAME [SQL]...]: SQL from the arguments or standard input."""
    options: list[tuple[str, str]] = []
    operands: list[str] = []
    words = process.argv[1:]
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if not word.startswith("-") or len(word) == 1:
            operands.append(word)
            continue
        name = word.lstrip("-")
        if name in ("separator", "cmd", "init", "nullvalue", "newline", "mode"):
            if position >= len(words):
                process.error(f"Error: missing argument to {word}")
                return 1
            options.append((name, words[position]))
            position += 1
        elif name == "version":
            process.stdout.write(f"{sqlite3.sqlite_version}\n".encode())
            return 0
        elif name in (
            *(mode for mode in MODES if mode != "insert"),
            "header",
            "noheader",
            "echo",
            "bail",
            "batch",
            "interactive",
            "readonly",
            "help",
        ):
            options.append((name, ""))
        else:
            process.stderr.write(
                f"sqlite3: Error: unknown option: {word}\nUse -help for a list of options.\n".encode(
                    "utf-8", "surrogateescape"
                )
            )
            return 1
    name = operands[0] if operands else ":memory:"
    try:
        shell = _Shell(process, name)
        shell.connection.execute("PRAGMA schema_version")
    except sqlite3.Error as error:
        if "not a database" not in str(error):
            process.stderr.write(
                f'Error: unable to open database "{name}": {error}\n'.encode("utf-8", "surrogateescape")
            )
            return 1
    try:
        for option, value in options:
            if option in MODES:
                shell.set_mode(option)
                if option == "column" and shell.header is None:
                    shell.header = False
            elif option in ("header", "noheader"):
                shell.header = option == "header"
            elif option == "separator":
                shell.separator = unescape(value)
            elif option == "nullvalue":
                shell.null = value
            elif option in ("echo", "bail"):
                setattr(shell, option, True)
            elif option == "cmd":
                yield from shell.script([value], from_arguments=True)
            elif option == "init":
                yield from shell.dot_read([value])
        if len(operands) > 1:
            for text in operands[1:]:
                yield from shell.script([text], from_arguments=True)
        else:
            lines = (line.decode("utf-8", "surrogateescape") for line in process.stdin)
            yield from shell.script(lines)
    except ExitError as end:
        return end.status
    finally:
        shell.close_output()
        shell.connection.close()
    return int(shell.failed)
