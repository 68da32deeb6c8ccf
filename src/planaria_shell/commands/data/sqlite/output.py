"""How sqlite3 shows the rows of a query, and SQL literals."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from planaria_shell.commands.data.jq.json_writer import quote as json_quote
from planaria_shell.commands.text.column import width_of
from planaria_shell.run.command import Process


class Output:
    """The settings of one run of the command line, and what it writes."""

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

    def close_output(self) -> None:
        if self.output is not None:
            self.output.close()
        self.output, self.once = None, False

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
                    f"{name:>{width}} = {value_text(value, self.null)}\n"
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
                    + "\n".join(f"<TD>{_html(value_text(value, self.null))}</TD>" for value in row)
                    + "\n</TR>\n"
                )
            return
        if mode == "insert":
            listed = "(" + ",".join(identifier(name) for name in names) + ")" if header else ""
            for row in rows:
                values = ",".join(map(literal, row))
                yield f"INSERT INTO {identifier(self.table)}{listed} VALUES({values});\n"
            return
        ending = self.row_separator
        if mode == "quote":
            if header:
                yield self.separator.join(literal(name) for name in names) + ending
            for row in rows:
                yield self.separator.join(map(literal, row)) + ending
            return
        cell = self._csv if mode == "csv" else lambda value: value_text(value, self.null)
        if header:
            yield self.separator.join(map(cell, names)) + ending
        for row in rows:
            yield self.separator.join(map(cell, row)) + ending

    def _csv(self, value: Any) -> str:
        text = value_text(value, self.null)
        if value is None:
            return text
        if text == "" or re.search(r"[^!#-&(-~]", text) or self.separator in text:
            return '"' + text.replace('"', '""') + '"'
        return text

    def _drawn(self, names: list[str], rows: list[Row]) -> Iterator[str]:
        if not rows:
            return
        cells = [[value_text(value, self.null).split("\n") for value in row] for row in rows]
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


Row = Sequence[Any]


def literal(value: Any) -> str:
    """A value as an SQL literal."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return value_text(value)


def value_text(value: Any, null: str = "") -> str:
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
    return json_quote(value) if isinstance(value, str) else value_text(value)


def _html(text: str) -> str:
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&#39;")
    )


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def identifier(name: str) -> str:
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.lower() not in (
        "table",
        "order",
        "group",
        "index",
    )
    return name if plain else quoted(name)
