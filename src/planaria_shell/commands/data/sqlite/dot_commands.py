"""The dot commands of sqlite3: its settings, and what it does with files."""

from __future__ import annotations

import csv
import io
import re
import sqlite3
from collections.abc import Generator

from planaria_shell.commands.data.sqlite.output import Output, identifier, literal, quoted
from planaria_shell.toolkit import usage


class DotCommands(Output):
    """Commands by their names after `dot_`."""

    @property
    def known_commands(self) -> list[str]:
        """The names of all."""
        return sorted(name.removeprefix("dot_") for name in dir(type(self)) if name.startswith("dot_"))

    def dot_quit(self, arguments: list[str]) -> None:
        raise ExitError(int(self.failed))

    def dot_exit(self, arguments: list[str]) -> None:
        raise ExitError(int(arguments[0]) if arguments and arguments[0].isdigit() else 0)

    def dot_help(self, arguments: list[str]) -> None:
        self.write("".join(f".{name}\n" for name in self.known_commands))

    def dot_mode(self, arguments: list[str]) -> None:
        names = [word for word in arguments if not word.startswith("-")]
        if not names:
            self.write(f"current output mode: {self.mode}\n")
            return
        found = [mode for mode in MODES if mode.startswith(names[0])]
        found = [mode for mode in found if mode == names[0]] or found
        if names[0] == "columns":
            found = ["column"]
        if not found:
            raise DotError(
                "mode should be one of: ascii box column csv html insert json line "
                "list markdown qbox quote table tabs tcl"
            )
        self.set_mode(found[0])
        if found[0] == "csv":
            self.row_separator = "\r\n"
        if found[0] == "insert":
            self.table = names[1] if len(names) > 1 else "table"

    def dot_headers(self, arguments: list[str]) -> None:
        if len(arguments) != 1:
            raise DotError("Usage: .headers on|off")
        self.header = _boolean(arguments[0])

    dot_header = dot_headers

    def dot_echo(self, arguments: list[str]) -> None:
        self.echo = _boolean(arguments[0])

    def dot_bail(self, arguments: list[str]) -> None:
        self.bail = _boolean(arguments[0])

    def dot_separator(self, arguments: list[str]) -> None:
        if not arguments:
            raise DotError("Usage: .separator COL ?ROW?")
        self.separator = unescape(arguments[0])
        if len(arguments) > 1:
            self.row_separator = unescape(arguments[1])

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
            for row in self.connection.execute(f"SELECT * FROM {quoted(name)}"):
                self.write(f"INSERT INTO {identifier(name)} VALUES({','.join(map(literal, row))});\n")
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
            raise DotError("Usage: .import FILE TABLE")
        file_name, table = names
        if self.row_separator == "\r\n":  # reading lines resets it, as in sqlite3
            self.row_separator = "\n"
        try:
            data = usage.read_file(self.process, file_name)
        except OSError:
            raise DotError(f'cannot open "{file_name}"') from None
        text = data.decode("utf-8", "surrogateescape")
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))[skip:]
        exists = self.connection.execute(
            "SELECT count(*) FROM sqlite_schema WHERE type='table' AND name=? COLLATE NOCASE", (table,)
        ).fetchone()[0]
        if not exists:
            if not rows:
                raise DotError("empty file")
            columns = ", ".join(f"{quoted(name or '?')} TEXT" for name in rows.pop(0))
            self.connection.execute(f"CREATE TABLE {quoted(table)}(\n{columns})")
        count = len(self.connection.execute(f"PRAGMA table_info({quoted(table)})").fetchall())
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
                self.connection.execute(f"INSERT INTO {quoted(table)} VALUES({places})", values)
            except sqlite3.Error as error:
                self.complain(f"{file_name}:{number}: INSERT failed: {error}\n")
        self.connection.execute("COMMIT")

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


MODES = (
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


class ExitError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class DotError(Exception):
    """A dot command that went wrong."""


def _conditional(sql: str) -> str:
    """The definition of a table whose name is quoted, made conditional as the command line does."""
    return re.sub(r"^CREATE TABLE (?=['\"])", "CREATE TABLE IF NOT EXISTS ", sql)


def _boolean(word: str) -> bool:
    return word.lower() in ("on", "yes", "1", "true")


def unescape(text: str) -> str:
    return re.sub(
        r"\\([tnr\\])", lambda match: {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}[match.group(1)], text
    )
