"""The `sqlite3` command line (sqlite3 3.40)."""

from __future__ import annotations

import csv
import io
import re
import shlex
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from planaria.guest.shell.command import Process, command
from planaria.guest.shell.commands import usage
from planaria.guest.shell.commands.column import width_of
from planaria.guest.shell.commands.jq.json_writer import quote as json_quote

_MODES = (
    "list",
    "csv",
    "column",
    "json",
    "line",
    "table",
    "box",
    "markdown",
    "insert",
    "quote",
    "tabs",
    "html",
    "ascii",
)

Row = Sequence[Any]


class _ExitError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class _CommandError(Exception):
    """A dot command that went wrong."""


def _literal(value: Any) -> str:
    """A value as an SQL literal."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return _text(value)


def _text(value: Any, null: str = "") -> str:
    if value is None:
        return null
    if isinstance(value, float):
        if value in (float("inf"), float("-inf")):
            return "Inf" if value > 0 else "-Inf"
        text = f"{value:.15g}"
        if "." not in text and "e" not in text:
            text += ".0"
        elif "e" in text and "." not in text:
            text = text.replace("e", ".0e")
        return text
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return str(value)


def _json(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return json_quote(value.decode("latin-1"))
    return json_quote(value) if isinstance(value, str) else _text(value)


class _Shell:
    """One run of the command line."""

    def __init__(self, process: Process, name: str) -> None:
        self.process = process
        self.mode = "list"
        self.header: bool | None = None
        self.separator = "|"
        self.row_separator = "\n"
        self.null = ""
        self.table = "table"
        self.echo = False
        self.bail = False
        self.output: Any = None
        self.once = False
        self.failed = False
        self.name = name
        self.widths: list[int] = []
        self.connection = self._open(name)

    def _open(self, name: str) -> sqlite3.Connection:
        target = name if name in ("", ":memory:") or name.startswith("file:") else self.process.path(name)
        connection = sqlite3.connect(target or ":memory:", isolation_level=None, uri=name.startswith("file:"))
        connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        return connection

    def write(self, text: str) -> None:
        data = text.encode("utf-8", "surrogateescape")
        if self.output is not None:
            self.output.write(data)
        else:
            self.process.stdout.write(data)

    def complain(self, text: str) -> None:
        self.process.stderr.write(text.encode("utf-8", "surrogateescape"))

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
                    raise _ExitError(code if from_arguments else 1) from None
                return
        if self.once:
            self.close_output()

    def close_output(self) -> None:
        if self.output is not None:
            self.output.close()
        self.output, self.once = None, False

    # Output

    def show(self, names: list[str], rows: Iterable[Row]) -> Generator[None, None, None]:
        """Write the rows of a query in the current mode."""
        for piece in self._lines(names, iter(rows)):
            self.write(piece)
            if self.output is None and self.process.stdout.full:
                yield

    def _lines(self, names: list[str], rows: Iterator[Row]) -> Iterator[str]:
        mode = self.mode
        if mode in ("column", "table", "box", "markdown"):
            yield from self._drawn(names, list(rows))
            return
        header = bool(self.header)
        first = next(rows, None)
        if first is None:  # no row, no header either
            return
        rows = chain((first,), rows)
        if mode == "json":
            opening = "["
            for row in rows:
                pairs = ",".join(
                    f"{json_quote(name)}:{_json(value)}" for name, value in zip(names, row, strict=True)
                )
                yield f"{opening}{{{pairs}}}"
                opening = ",\n"
            if opening != "[":
                yield "]\n"
            return
        if mode == "line":
            width = max(max(map(width_of, names), default=0), 5)
            for number, row in enumerate(rows):
                lines = "".join(
                    f"{name:>{width}} = {_text(value, self.null)}\n"
                    for name, value in zip(names, row, strict=True)
                )
                yield ("\n" if number else "") + lines
            return
        if mode == "html":
            if header:
                yield "<TR>" + "\n".join(f"<TH>{_html(name)}</TH>" for name in names) + "\n</TR>\n"
            for row in rows:
                yield (
                    "<TR>"
                    + "\n".join(f"<TD>{_html(_text(value, self.null))}</TD>" for value in row)
                    + "\n</TR>\n"
                )
            return
        if mode == "insert":
            listed = "(" + ",".join(_identifier(name) for name in names) + ")" if header else ""
            for row in rows:
                values = ",".join(map(_literal, row))
                yield f"INSERT INTO {_identifier(self.table)}{listed} VALUES({values});\n"
            return
        ending = self.row_separator
        if mode == "quote":
            if header:
                yield self.separator.join(_literal(name) for name in names) + ending
            for row in rows:
                yield self.separator.join(map(_literal, row)) + ending
            return
        cell = self._csv if mode == "csv" else lambda value: _text(value, self.null)
        if header:
            yield self.separator.join(map(cell, names)) + ending
        for row in rows:
            yield self.separator.join(map(cell, row)) + ending

    def _csv(self, value: Any) -> str:
        text = _text(value, self.null)
        if value is None:
            return text
        if text == "" or re.search(r"[^!#-&(-~]", text) or self.separator in text:
            return '"' + text.replace('"', '""') + '"'
        return text

    def _drawn(self, names: list[str], rows: list[Row]) -> Iterator[str]:
        if not rows:
            return
        cells = [[_text(value, self.null).split("\n") for value in row] for row in rows]
        widths = [width_of(name) for name in names]
        for row in cells:
            for place, lines in enumerate(row):
                widths[place] = max(widths[place], *map(width_of, lines))
        for place, width in enumerate(self.widths[: len(widths)]):
            widths[place] = abs(width) or widths[place]

        def rule(left: str, middle: str, right: str, dash: str) -> str:
            return left + middle.join(dash * (width + 2) for width in widths) + right + "\n"

        def line(left: str, middle: str, right: str, texts: list[str], *, center: bool = False) -> str:
            padded = []
            for text, width in zip(texts, widths, strict=True):
                space = width - width_of(text)
                before = space // 2 if center else 0
                padded.append(" " * before + text + " " * (space - before))
            return left + middle.join(padded) + right

        header = self.header is not False
        if self.mode == "column":
            if header:
                yield line("", "  ", "", names) + "\n"
                yield "  ".join("-" * width for width in widths) + "\n"
        elif self.mode == "table":
            yield rule("+", "+", "+", "-")
            yield line("| ", " | ", " |", names, center=True) + "\n"
            yield rule("+", "+", "+", "-")
        elif self.mode == "box":
            yield rule("┌", "┬", "┐", "─")
            yield line("│ ", " │ ", " │", names, center=True) + "\n"
            yield rule("├", "┼", "┤", "─")
        else:
            yield line("| ", " | ", " |", names, center=True) + "\n"
            yield rule("|", "|", "|", "-")
        edges = {"column": ("", "  ", ""), "box": ("│ ", " │ ", " │")}.get(self.mode, ("| ", " | ", " |"))
        for row in cells:
            for number in range(max(map(len, row), default=0)):
                texts = [lines[number] if number < len(lines) else "" for lines in row]
                yield line(*edges, texts) + "\n"
        if self.mode == "table":
            yield rule("+", "+", "+", "-")
        elif self.mode == "box":
            yield rule("└", "┴", "┘", "─")

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
            found = [known for known in _DOT_COMMANDS if known.startswith(name)]
            if name not in _DOT_COMMANDS and len(found) != 1:
                raise _CommandError(
                    f'unknown command or invalid arguments:  "{name}". Enter ".help" for help'
                )
            known = name if name in _DOT_COMMANDS else found[0]
            result = getattr(self, "dot_" + known)(arguments)
            if result is not None:
                yield from result
        except (_CommandError, sqlite3.Error) as error:
            self.failed = True
            self.complain(f"Error: {error}\n")
            if from_arguments or self.bail:
                raise _ExitError(1) from None
        except OSError as error:
            self.failed = True
            self.complain(f'Error: cannot open "{error.filename}"\n')
            if from_arguments or self.bail:
                raise _ExitError(1) from None

    def dot_quit(self, arguments: list[str]) -> None:
        raise _ExitError(int(self.failed))

    def dot_exit(self, arguments: list[str]) -> None:
        raise _ExitError(int(arguments[0]) if arguments and arguments[0].isdigit() else 0)

    def dot_help(self, arguments: list[str]) -> None:
        self.write("".join(f".{name}\n" for name in _DOT_COMMANDS))

    def dot_mode(self, arguments: list[str]) -> None:
        names = [word for word in arguments if not word.startswith("-")]
        if not names:
            self.write(f"current output mode: {self.mode}\n")
            return
        found = [mode for mode in _MODES if mode.startswith(names[0])]
        found = [mode for mode in found if mode == names[0]] or found
        if names[0] == "columns":
            found = ["column"]
        if not found:
            raise _CommandError(
                "mode should be one of: ascii box column csv html insert json line "
                "list markdown qbox quote table tabs tcl"
            )
        self.set_mode(found[0])
        if found[0] == "csv":
            self.row_separator = "\r\n"
        if found[0] == "insert":
            self.table = names[1] if len(names) > 1 else "table"

    def set_mode(self, mode: str) -> None:
        self.mode = mode
        self.row_separator = "\n"
        if mode == "csv":
            self.separator = ","
        elif mode == "tabs":
            self.separator = "\t"
        elif mode == "quote":
            self.separator = ","
        elif mode == "list":
            self.separator = "|"
        elif mode == "ascii":
            self.separator, self.row_separator = "\x1f", "\x1e"

    def dot_headers(self, arguments: list[str]) -> None:
        if len(arguments) != 1:
            raise _CommandError("Usage: .headers on|off")
        self.header = _boolean(arguments[0])

    dot_header = dot_headers

    def dot_echo(self, arguments: list[str]) -> None:
        self.echo = _boolean(arguments[0])

    def dot_bail(self, arguments: list[str]) -> None:
        self.bail = _boolean(arguments[0])

    def dot_separator(self, arguments: list[str]) -> None:
        if not arguments:
            raise _CommandError("Usage: .separator COL ?ROW?")
        self.separator = _unescape(arguments[0])
        if len(arguments) > 1:
            self.row_separator = _unescape(arguments[1])

    def dot_nullvalue(self, arguments: list[str]) -> None:
        self.null = arguments[0] if arguments else ""

    def dot_width(self, arguments: list[str]) -> None:
        self.widths = [int(word) for word in arguments]

    def dot_print(self, arguments: list[str]) -> None:
        self.write(" ".join(arguments) + "\n")

    def dot_timeout(self, arguments: list[str]) -> None:
        self.connection.execute(f"PRAGMA busy_timeout={int(arguments[0]) if arguments else 0}")

    def dot_timer(self, arguments: list[str]) -> None:
        """Times are not shown."""

    def dot_changes(self, arguments: list[str]) -> None:
        """Changes are not shown."""

    def dot_show(self, arguments: list[str]) -> None:
        settings = {
            "echo": "on" if self.echo else "off",
            "headers": "on" if self.header else "off",
            "mode": self.mode,
            "nullvalue": f'"{self.null}"',
            "colseparator": f'"{self.separator}"',
            "filename": self.name,
        }
        self.write("".join(f"{name:>12}: {value}\n" for name, value in settings.items()))

    def dot_open(self, arguments: list[str]) -> None:
        self.connection.close()
        names = [word for word in arguments if not word.startswith("-")]
        self.name = names[0] if names else ":memory:"
        self.connection = self._open(self.name)

    def dot_databases(self, arguments: list[str]) -> None:
        for _, schema, file in self.connection.execute("PRAGMA database_list"):
            self.write(f"{schema}: {file or chr(34) * 2} r/w\n")

    def dot_tables(self, arguments: list[str]) -> None:
        pattern = arguments[0] if arguments else "%"
        names = [
            row[0]
            for row in self.connection.execute(
                "SELECT name FROM sqlite_schema WHERE type IN ('table','view')"
                " AND name NOT LIKE 'sqlite__%' ESCAPE '_'"
                " AND name LIKE ? ORDER BY 1",
                (pattern,),
            )
        ]
        if not names:
            return
        width = max(map(len, names))
        columns = max(80 // (width + 2), 1)
        rows = (len(names) + columns - 1) // columns
        for row in range(rows):
            self.write("  ".join(f"{name:<{width}}" for name in names[row::rows]) + "\n")

    def dot_indexes(self, arguments: list[str]) -> None:
        query = "SELECT name FROM sqlite_schema WHERE type='index' AND tbl_name LIKE ? ORDER BY 1"
        for (name,) in self.connection.execute(query, (arguments[0] if arguments else "%",)):
            self.write(name + "\n")

    dot_indices = dot_indexes

    def dot_schema(self, arguments: list[str]) -> None:
        names = [word for word in arguments if not word.startswith("-")]
        query = (
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite__%' ESCAPE '_'"
            " AND tbl_name LIKE ? ORDER BY tbl_name, type DESC, name"
        )
        if not names:
            query = query.replace("ORDER BY tbl_name, type DESC, name", "ORDER BY rowid")
        for (sql,) in self.connection.execute(query, (names[0] if names else "%",)):
            self.write(_conditional(sql) + ";\n")

    dot_fullschema = dot_schema

    def dot_dump(self, arguments: list[str]) -> Generator[None, None, None]:
        self.write("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n")
        names = arguments or ["%"]
        condition = " OR ".join("name LIKE ?" for _ in names)
        tables = self.connection.execute(
            f"SELECT name, sql FROM sqlite_schema WHERE type='table' AND sql IS NOT NULL"
            f" AND ({condition}) ORDER BY rowid",
            names,
        ).fetchall()
        for name, sql in tables:
            if name == "sqlite_sequence":
                self.write("DELETE FROM sqlite_sequence;\n")
            elif not name.startswith("sqlite_"):
                self.write(_conditional(sql) + ";\n")
            for row in self.connection.execute(f"SELECT * FROM {_quoted(name)}"):
                self.write(f"INSERT INTO {_identifier(name)} VALUES({','.join(map(_literal, row))});\n")
                if self.output is None and self.process.stdout.full:
                    yield
        condition = condition.replace("name", "tbl_name")
        for (sql,) in self.connection.execute(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND type IN ('index','trigger','view')"
            f" AND ({condition}) ORDER BY type COLLATE NOCASE, rowid",
            names,
        ).fetchall():
            self.write(f"{sql};\n")
        self.write("COMMIT;\n")

    def dot_import(self, arguments: list[str]) -> None:
        skip = 0
        separator = "," if "--csv" in arguments or "-csv" in arguments else self.separator
        names = []
        position = 0
        while position < len(arguments):
            word = arguments[position]
            if word.lstrip("-") == "skip" and word.startswith("-"):
                position += 1
                skip = int(arguments[position])
            elif not word.startswith("-"):
                names.append(word)
            position += 1
        if len(names) != 2:
            raise _CommandError("Usage: .import FILE TABLE")
        file_name, table = names
        if self.row_separator == "\r\n":  # reading lines resets it, as in sqlite3
            self.row_separator = "\n"
        try:
            data = usage.read_file(self.process, file_name)
        except OSError:
            raise _CommandError(f'cannot open "{file_name}"') from None
        text = data.decode("utf-8", "surrogateescape")
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))[skip:]
        exists = self.connection.execute(
            "SELECT count(*) FROM sqlite_schema WHERE type='table' AND name=? COLLATE NOCASE", (table,)
        ).fetchone()[0]
        if not exists:
            if not rows:
                raise _CommandError("empty file")
            columns = ", ".join(f"{_quoted(name or '?')} TEXT" for name in rows.pop(0))
            self.connection.execute(f"CREATE TABLE {_quoted(table)}(\n{columns})")
        count = len(self.connection.execute(f"PRAGMA table_info({_quoted(table)})").fetchall())
        places = ",".join("?" * count)
        self.connection.execute("BEGIN")
        for number, row in enumerate(rows, 1 + skip + (not exists)):
            if len(row) < count:
                self.complain(
                    f"{file_name}:{number}: expected {count} columns but found {len(row)}"
                    " - filling the rest with NULL\n"
                )
            elif len(row) > count:
                self.complain(
                    f"{file_name}:{number}: expected {count} columns but found {len(row)} - extras ignored\n"
                )
            values = [*row[:count], *[None] * (count - len(row))]
            try:
                self.connection.execute(f"INSERT INTO {_quoted(table)} VALUES({places})", values)
            except sqlite3.Error as error:
                self.complain(f"{file_name}:{number}: INSERT failed: {error}\n")
        self.connection.execute("COMMIT")

    def dot_read(self, arguments: list[str]) -> Generator[None, None, None]:
        if len(arguments) != 1:
            raise _CommandError("Usage: .read FILE")
        text = usage.read_file(self.process, arguments[0]).decode("utf-8", "surrogateescape")
        yield from self.script(text.splitlines(keepends=True))

    def dot_output(self, arguments: list[str]) -> None:
        self.close_output()
        names = [word for word in arguments if not word.startswith("-")]
        if names and names[0] != "stdout":
            self.output = open(self.process.path(names[0]), "wb")

    def dot_once(self, arguments: list[str]) -> None:
        self.dot_output(arguments)
        self.once = self.output is not None

    def dot_backup(self, arguments: list[str]) -> None:
        target = sqlite3.connect(self.process.path(arguments[-1]))
        self.connection.backup(target)
        target.close()

    dot_save = dot_backup


_DOT_COMMANDS = sorted(name.removeprefix("dot_") for name in vars(_Shell) if name.startswith("dot_"))


def _conditional(sql: str) -> str:
    """The definition of a table whose name is quoted, made conditional as the command line does."""
    return re.sub(r"^CREATE TABLE (?=['\"])", "CREATE TABLE IF NOT EXISTS ", sql)


def _boolean(word: str) -> bool:
    return word.lower() in ("on", "yes", "1", "true")


def _unescape(text: str) -> str:
    return re.sub(
        r"\\([tnr\\])", lambda match: {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}[match.group(1)], text
    )


def _html(text: str) -> str:
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&#39;")
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _identifier(name: str) -> str:
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.lower() not in (
        "table",
        "order",
        "group",
        "index",
    )
    return name if plain else _quoted(name)


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
            *(mode for mode in _MODES if mode != "insert"),
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
            if option in _MODES:
                shell.set_mode(option)
                if option == "column" and shell.header is None:
                    shell.header = False
            elif option in ("header", "noheader"):
                shell.header = option == "header"
            elif option == "separator":
                shell.separator = _unescape(value)
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
    except _ExitError as end:
        return end.status
    finally:
        shell.close_output()
        shell.connection.close()
    return int(shell.failed)
