"""The state of a running awk program: records and fields, special variables, files and commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from operator import methodcaller
from typing import Any

from planaria_shell.commands.text.awk.columns import text_columns
from planaria_shell.commands.text.awk.conversion import Conversion
from planaria_shell.commands.text.awk.lexer import unescape
from planaria_shell.commands.text.awk.output import Printing, Sink
from planaria_shell.commands.text.awk.records import RecordReader, is_plain
from planaria_shell.commands.text.awk.splitting import (
    WORDS,
    cut_widths,
    expression_splitter,
    find_all,
    is_character,
)
from planaria_shell.commands.text.awk.symbols import (
    SPECIAL,
    SPECIAL_NUMBERS,
    SPECIAL_TEXTS,
    FunctionTable,
    SymbolTable,
)
from planaria_shell.commands.text.awk.syntax import AwkError, fatal, running_line
from planaria_shell.commands.text.awk.values import Array, Input, number
from planaria_shell.state.command import Process
from planaria_shell.toolkit.regex.posix import Pattern, compile_extended
from planaria_shell.toolkit.regex.syntax import RegexError
from planaria_shell.toolkit.streams import Collector, encode, open_input, reason

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)
#: A field that is not there: the empty string, but `typeof` distinguishes it.
NO_FIELD = Input("")


class NextRecord(Exception):
    """`next` where the loop over records is out of reach."""


class NextFile(Exception):
    """`nextfile`."""


class Exit(Exception):
    """`exit`."""


class Runtime(Printing):
    """One run of a program."""

    __slots__ = (
        "ARGC", "ARGIND", "CONVFMT", "ERRNO", "FIELDWIDTHS", "FILENAME", "FNR", "FPAT", "FS",
        "IGNORECASE", "NR", "OFMT", "OFS", "ORS", "RLENGTH", "RS", "RSTART", "RT", "SUBSEP", "argument",
        "arguments", "assign_variable", "command_status", "conversion", "edited", "environment",
        "exit_status", "fields", "fold", "functions", "in_place", "information", "output_conversion",
        "patterns", "place_known", "plain", "printed", "problem", "process", "read_a_file", "reader",
        "readers", "record", "record_pattern", "result", "sinks", "split", "stale", "symbols",
    )  # fmt: skip

    def __init__(self, process: Process, arguments: list[str]) -> None:
        self.process = process
        self.conversion = Conversion()
        self.output_conversion = Conversion()
        #: What is printed to standard output and not yet written.
        self.printed: list[str] = []
        self.record = ""
        self.fields: list[str] | None = []
        #: Fields were assigned: $0 must be put together again.
        self.stale = False
        #: Whether str.split() cuts this record as FS=" " does.
        self.plain = False
        self.NR = self.FNR = self.RSTART = self.ARGIND = 0.0
        self.RLENGTH = 0.0
        self.FS = " "
        self.OFS, self.ORS, self.RS, self.RT, self.SUBSEP = " ", "\n", "\n", "", "\x1c"
        self.CONVFMT = self.OFMT = "%.6g"
        self.FILENAME: Any = ""
        self.ERRNO = ""
        self.FIELDWIDTHS, self.FPAT = "", "[^[:space:]]+"
        self.IGNORECASE: Any = 0.0
        self.fold = False
        self.record_pattern: Pattern | None = None
        self.split = self._splitter(" ")
        self.arguments = Array({str(index): Input(text) for index, text in enumerate(arguments)})
        self.ARGC: Any = float(len(arguments))
        self.environment = Array({name: Input(value) for name, value in process.env.items()})
        self.information = Array({"version": "5.2.1", "FS": "FS", "platform": "posix"})
        self.symbols = SymbolTable(partial(getattr, self), self.assign)
        self.functions = FunctionTable()
        self.reader: RecordReader | None = None
        #: With `-i inplace` what is printed while a file is read takes its place; the parts of it so far.
        self.in_place = False
        self.edited: list[bytes] | None = None
        #: False while many lines are run at once, when FNR is that of none of them.
        self.place_known = True
        #: Why the file that a BEGINFILE rule looks at could not be opened.
        self.problem: AwkError | None = None
        self.argument = 0
        self.read_a_file = False
        self.ending = False
        self.exit_status = 0
        self.sinks: dict[str, Sink] = {}
        self.readers: dict[str, RecordReader] = {}
        self.command_status: dict[str, int] = {}
        self.patterns: dict[str, Pattern] = {}
        #: Sets a variable of the program by name.
        self.assign_variable: Callable[[str, Any], None] = lambda name, value: None
        #: What `sub` and getline left for the program to assign.
        self.result = ""

    def place(self) -> str:
        """Where in the input the program is, for messages."""
        if not self.FNR or not self.place_known:
            return ""
        return f"(FILENAME={self.conversion.text(self.FILENAME) or '-'} FNR={self.FNR:.0f}) "

    def warn(self, message: str) -> None:
        """Write a warning with the place it is about."""
        line = running_line()
        where = "" if line is None else f"cmd. line:{line}: {self.place()}"
        self.flush_all()
        self.process.error(f"{where}warning: {message}")

    # Expressions.

    def pattern(self, source: str) -> Pattern:
        """The compiled form of a dynamic expression."""
        found = self.patterns.get(source)
        if found is None:
            try:
                found = compile_extended(source, ignore_case=self.fold, tool="awk")
            except RegexError as problem:
                raise fatal(f"invalid regexp: {problem}: /{source}/") from None
            self.patterns[source] = found
        return found

    # Records and fields.

    def _separator(self, text: str) -> Callable[[str], list[str]]:
        """How a text is cut where FS (or the separator of split) is `text`."""
        if is_character(text):
            return lambda record: record.split(text) if record else []
        return expression_splitter(self.pattern(text if text != "\\" else "\\\\"))

    def _splitter(self, separator: str) -> Callable[[str], list[str]]:
        if separator == " ":
            return lambda record: record.split() if self.plain else WORDS.findall(record)
        if separator == "":
            return list
        if self.RS == "" and separator != "\n":
            # With paragraphs, newlines separate fields too.
            source = (
                separator
                if len(separator) > 1
                else "[" + separator + "]"
                if separator not in "\\^"
                else "\\" + separator
            )
            return expression_splitter(self.pattern(f"({source})|\n"))
        return self._separator(separator)

    def field(self, index: int) -> str:
        """The text of a field; empty for one that is not there."""
        fields = self.fields
        if fields is None:
            fields = self.fields = self.split(self.record)
        return fields[index - 1] if index <= len(fields) else ""

    def field_value(self, index: int) -> Any:
        """A field as a value."""
        if index == 0:
            return Input(self.record_text())
        fields = self.fields
        if fields is None:
            fields = self.fields = self.split(self.record)
        return Input(fields[index - 1]) if index <= len(fields) else NO_FIELD

    def dynamic_field(self, index: float) -> Any:
        """`$index` as a value."""
        return self.field_value(self._index(index))

    def dynamic_text(self, index: float) -> str:
        """`$index` as text."""
        at = self._index(index)
        return self.field(at) if at else self.record_text()

    def _index(self, index: float) -> int:
        at = int(index)
        if at < 0:
            raise fatal(f"attempt to access field {at}")
        return at

    def record_text(self) -> str:
        """`$0`."""
        if self.stale:
            self.record = self.OFS.join(self.fields or [])
            self.stale = False
        return self.record

    def fields_list(self) -> list[str]:
        if self.fields is None:
            self.fields = self.split(self.record)
        return self.fields

    @property
    def NF(self) -> float:  # noqa: N802
        return float(len(self.fields_list()))

    def set_record(self, text: str) -> None:
        """Assign `$0`."""
        self.record = text
        self.fields = None
        self.stale = self.plain = False

    def set_field(self, index: float, value: Any) -> Any:
        """Assign a field; the value."""
        at = self._index(index)
        text = self.conversion.text(value)
        if at == 0:
            self.set_record(text)
            return value
        fields = self.fields_list()
        if at > len(fields):
            fields.extend([""] * (at - len(fields)))
        fields[at - 1] = text
        self.stale = True
        return value

    def assign(self, name: str, value: Any) -> Any:
        """Assign a special variable; the value."""
        if name == "NF":
            count = int(number(value))
            if count < 0:
                raise fatal("NF set to negative value")
            fields = self.fields_list()
            del fields[count:]
            fields.extend([""] * (count - len(fields)))
            self.stale = True
            return value
        if name in SPECIAL_NUMBERS:
            setattr(self, name, number(value))
            return value
        if name not in SPECIAL_TEXTS:
            setattr(self, name, value)
            if name == "IGNORECASE":
                self.fold = self.conversion.fold = bool(number(value))
                self.patterns.clear()
                self.split = self._splitter(self.FS)
            return value
        text = self.conversion.text(value)
        if name in ("FS", "RS", "FPAT", "FIELDWIDTHS"):
            # The record at hand is still cut the old way.
            self.fields_list()
        elif name == "OFS":
            # The record at hand is put together the old way.
            self.record_text()
        setattr(self, name, text)
        if name == "CONVFMT":
            self.conversion.set(text)
        elif name == "OFMT":
            self.output_conversion.set(text)
        elif name == "FS":
            self.split = self._splitter(text)
        elif name == "RS":
            self.record_pattern = self.pattern(text) if len(text) > 1 else None
            self.split = self._splitter(self.FS)
        elif name == "FPAT":
            pattern = self.pattern(text)
            self.split = lambda record: find_all(pattern, record)[0]
        elif name == "FIELDWIDTHS":
            widths = text.split()
            self.split = lambda record: cut_widths(record, widths)
        return value

    # The main input.

    def next_record(self) -> bool:
        """Have the next record of the operands; False after the last."""
        while True:
            if self.reader is None and not self.open_next():
                return False
            if self.next_of_file():
                return True
            self.close_current()

    def next_of_file(self) -> bool:
        """Have the next record of the file that is open; False at its end."""
        reader = self.reader
        if reader is None or not reader.read(self.RS, self.record_pattern):
            return False
        self.record, self.RT, self.plain = reader.record, reader.terminator, reader.plain
        self.fields = None
        self.stale = False
        self.NR += 1.0
        self.FNR += 1.0
        return True

    # Many lines at once; see awk_blocks.

    def next_lines(self) -> list[str]:
        """The next lines of the operands, all of one file; empty after the last."""
        while True:
            if self.reader is None and not self.open_next():
                return []
            reader = self.reader
            if reader is not None and (lines := reader.take_lines()):
                return lines
            self.close_current()

    def ended_lines(self, lines: list[str], last: str) -> None:
        """The lines were all read; `last` is the record that stays."""
        self.record, self.fields, self.stale = last, None, False
        self.plain = False
        self.NR += len(lines)
        self.FNR += len(lines)

    def left_lines(self, count: float, before: float, record: str) -> None:
        """The program ends at a line: the `count`th, of which `before` are not of this file."""
        self.record, self.fields, self.stale = record, None, False
        self.NR, self.FNR = count, count - before

    def one_field(self, record: str, fields: list[str], index: float) -> str:
        """`$index` of a record with these fields."""
        at = self._index(index)
        if not at:
            return record
        return fields[at - 1] if at <= len(fields) else ""

    def block_splitter(self, lines: list[str], most: int, last: bool) -> Callable[[str], list[str]]:
        """How these lines are cut, for a program that looks at the first `most` fields (0: at all).

        With `last` it looks at the last one only.
        """
        separator = self.FS
        if separator == " ":
            if not is_plain("\n".join(lines)):
                return WORDS.findall
            if last:
                return methodcaller("rsplit", None, 1)
            return methodcaller("split", None, most) if most else str.split
        if is_character(separator):
            if last:
                return methodcaller("rsplit", separator, 1)
            if most:
                return methodcaller("split", separator, most)
        return self.split

    def block_columns(
        self, lines: list[str], split: Callable[[str], list[str]], places: Sequence[int]
    ) -> list[list[str]]:
        """These fields of all lines, column by column."""
        if self.FS == " " and list(places) == [0]:
            text = "".join(lines)
            if " " not in text and "\t" not in text and is_plain(text):
                return [lines]  # each line is its only field
        return text_columns(list(map(split, lines)), places)

    def release(self) -> None:
        """Close the files that are still open when the command ends; nothing more is written to them."""
        readers = [*self.readers.values(), *([self.reader] if self.reader is not None else [])]
        for reader in readers:
            reader.close()
        for sink in self.sinks.values():
            if sink.file is not None:
                sink.file.close()

    def close_current(self) -> None:
        """Done with the current file."""
        if self.reader is not None:
            self.reader.close()
            self.reader = None
            if self.edited is not None:
                self.flush()
                with open(self.process.path(self.FILENAME), "wb") as file:
                    file.writelines(self.edited)
                self.edited = None

    def open_next(self, tried: bool = False) -> bool:
        """Open the next operand that is a file; False when there is none. With `tried` one that cannot be
        opened counts, with the reason in ERRNO, until `must_be_open`."""
        while True:
            self.argument += 1
            if self.argument >= number(self.ARGC):
                if self.read_a_file:
                    return False
                return self._open("-", tried)
            name = self.conversion.text(self.arguments.get(str(self.argument)))
            if not name:
                continue
            assignment = _ASSIGNMENT.fullmatch(name)
            if assignment:
                self.command_line_assignment(assignment[1], assignment[2])
                continue
            self.ARGIND = float(self.argument)
            if self._open(name, tried):
                return True

    def must_be_open(self) -> None:
        """After BEGINFILE: a file that it did not leave out must be there."""
        if self.problem is not None:
            self.problem.line = running_line()
            raise self.problem

    def _open(self, name: str, tried: bool) -> bool:
        self.problem = None
        if tried:
            self.ERRNO = ""
        try:
            source = open_input(self.process, name)
        except IsADirectoryError:
            self.process.error(f"warning: command line argument `{name}' is a directory: skipped")
            self.read_a_file = True
            return False
        except OSError as problem:
            failure = AwkError(f"fatal: cannot open file `{name}' for reading: {reason(problem)}", 2)
            if not tried:
                raise failure from None
            self.problem, self.ERRNO = failure, reason(problem)
            self.FILENAME, self.FNR = Input(name), 0.0
            self.read_a_file = True
            return True
        self.read_a_file = True
        self.reader = RecordReader(source.chunks(), lambda: source.close())
        self.FILENAME = Input(name)
        self.FNR = 0.0
        if self.in_place and name != "-":
            self.flush()
            self.edited = []
        return True

    def command_line_assignment(self, name: str, text: str) -> None:
        """`-v name=text`, or such an operand."""
        value = Input(unescape(text))
        if name in SPECIAL:
            self.assign(name, value)
        else:
            self.assign_variable(name, value)

    # getline. Each returns 1, 0 or -1; the ones for a variable leave the text in `result`.

    def getline(self) -> float:
        return 1.0 if self.next_record() else 0.0

    def getline_text(self) -> float:
        """Read a record of the main input without changing `$0`."""
        kept = self.record_text(), self.fields, self.plain
        found = self.next_record()
        self.result = self.record
        self.record, self.fields, self.plain = kept
        return 1.0 if found else 0.0

    def getline_from(self, name: str, command: bool) -> float:
        """Read a record of a file or of a command's output into `result`."""
        reader = self.readers.get(name)
        if reader is None:
            if command:
                self.flush_all()
                collector = Collector()
                coprocess = self.sinks.pop(name, None)
                given = None if coprocess is None else encode("".join(coprocess.parts))
                status = self.process.run(["sh", "-c", name], stdout=collector, stdin=given)
                self.command_status[name] = status
                reader = RecordReader(iter(collector.parts))
            else:
                try:
                    source = open_input(self.process, name)
                except OSError as problem:
                    self.ERRNO = reason(problem)
                    return -1.0
                reader = RecordReader(source.chunks(), lambda: source.close())
            self.readers[name] = reader
        if not reader.read(self.RS, self.record_pattern):
            return 0.0
        self.result = reader.record
        self.RT = reader.terminator
        return 1.0
