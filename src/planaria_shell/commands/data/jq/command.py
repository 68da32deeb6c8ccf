"""The `jq` command (jq 1.7)."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

from planaria_shell.commands.data.jq import json_reader
from planaria_shell.commands.data.jq.json_reader import JsonError, Reader, stream_events
from planaria_shell.commands.data.jq.json_writer import Colors, Writer, to_json
from planaria_shell.commands.data.jq.lexer import JqSyntaxError
from planaria_shell.commands.data.jq.programs import compile_program
from planaria_shell.commands.data.jq.runtime import Halt, Runtime
from planaria_shell.commands.data.jq.values import Break, JqError
from planaria_shell.state.command import Process
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.recursion import deep_recursion

VERSION = "jq-1.7.1"

_USAGE = """\
Usage:\tjq [options] <jq filter> [file...]
\tjq [options] --args <jq filter> [strings...]
\tjq [options] --jsonargs <jq filter> [JSON_TEXTS...]
"""
_HELP = (
    _USAGE
    + """
jq reads JSON texts and writes what the filter makes of each.

Options:
  -n, --null-input          null is the only input
  -R, --raw-input           each line of the input is a string
  -s, --slurp               all inputs as one array (with -R: one string)
  -c, --compact-output      one line for each result
  -r, --raw-output          strings without quotes
      --raw-output0         as -r, a NUL after each result
  -j, --join-output         as -r, without newlines
  -a, --ascii-output        only ASCII characters
  -S, --sort-keys           keys of objects sorted
  -C, --color-output        with colours
  -M, --monochrome-output   without colours
      --tab                 indent with tabs
      --indent n            indent with n spaces (at most 7)
      --stream              inputs as events [path, leaf]
      --stream-errors       as --stream, with errors as events
      --seq                 application/json-seq: RS before each text
  -f, --from-file file      the filter is in the file
  -L directory              where modules are
  -e, --exit-status         1 when the last result is false or null, 4 when there is none
      --arg a v             $a is the string v
      --argjson a v         $a is the JSON text v
      --slurpfile a f       $a is the array of the JSON texts in f
      --rawfile a f         $a is the text in f
      --args, --jsonargs    what follows are positional arguments ($ARGS.positional)
  -h, --help                this text
  -V, --version             the version
"""
)


@dataclass(slots=True)
class Options:
    """The command line."""

    null_input: bool = False
    raw_input: bool = False
    slurp: bool = False
    raw_output: bool = False
    join: bool = False
    nul: bool = False
    ascii: bool = False
    color: bool = False
    sort_keys: bool = False
    indent: str | None = "  "
    stream: bool = False
    stream_errors: bool = False
    sequence: bool = False
    exit_status: bool = False
    from_file: bool = False
    search: list[str] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)
    positional: list[Any] = field(default_factory=list)
    filter: str | None = None
    files: list[str] = field(default_factory=list)
    information: str | None = None


_FLAGS = {
    "n": "null-input",
    "R": "raw-input",
    "s": "slurp",
    "c": "compact-output",
    "r": "raw-output",
    "j": "join-output",
    "a": "ascii-output",
    "S": "sort-keys",
    "C": "color-output",
    "M": "monochrome-output",
    "f": "from-file",
    "e": "exit-status",
    "h": "help",
    "V": "version",
}


def parse_arguments(process: Process, arguments: list[str]) -> Options:
    """The options of a command line; raises UsageError."""
    options = Options()
    rest = "files"
    only_operands = False
    position = 0
    while position < len(arguments):
        argument = arguments[position]
        position += 1
        if only_operands or not argument.startswith("-") or argument == "-":
            _operand(options, argument, rest)
            continue
        if argument == "--":
            only_operands = True
            continue
        names = [argument[2:]] if argument.startswith("--") else []
        if not names:
            if argument.startswith("-L"):
                if len(argument) > 2:
                    options.search.append(argument[2:])
                elif position < len(arguments):
                    options.search.append(arguments[position])
                    position += 1
                else:
                    raise UsageError("-L takes a parameter: (e.g. -L /search/path or -L/search/path)")
                continue
            names = [_FLAGS.get(letter, "") for letter in argument[1:]]
        for name in names:
            if name in ("args", "jsonargs"):
                rest = name
                continue
            if name in ("arg", "argjson", "slurpfile", "rawfile"):
                pair = arguments[position : position + 2]
                if len(pair) < 2:
                    example = {"arg": "value", "argjson": "text"}.get(name, "filename")
                    raise UsageError(f"--{name} takes two parameters (e.g. --{name} varname {example})")
                position += 2
                options.named.setdefault(pair[0], _named(process, name, *pair))
                continue
            if name == "indent":
                if position >= len(arguments):
                    raise UsageError("--indent takes one parameter")
                _indent(options, arguments[position])
                position += 1
                continue
            if not _flag(options, name):
                raise UsageError(f"Unknown option {argument}")
    if options.from_file and options.filter is not None:
        # The filter's place holds the name of the file it is in; with -f FILE first that is the same word.
        with open(process.path(options.filter), encoding="utf-8", errors="replace") as file:
            options.filter = file.read()
    return options


def _operand(options: Options, argument: str, rest: str) -> None:
    if options.filter is None:
        options.filter = argument
    elif rest == "args":
        options.positional.append(argument)
    elif rest == "jsonargs":
        try:
            options.positional.append(json_reader.parse(argument))
        except JsonError:
            raise UsageError("Invalid JSON text passed to --jsonargs") from None
    else:
        options.files.append(argument)


def _named(process: Process, kind: str, name: str, text: str) -> Any:
    if kind == "arg":
        return text
    if kind == "argjson":
        try:
            return json_reader.parse(text)
        except JsonError:
            raise UsageError("Invalid JSON text passed to --argjson") from None
    try:
        with open(process.path(text), "rb") as file:
            data = file.read()
    except OSError as error:
        raise UsageError(
            f"Bad JSON in --{kind} {name} {text}: Could not open {text}: {error.strerror}"
        ) from None
    if kind == "rawfile":
        return data.decode("utf-8", "replace")
    try:
        return list(Reader().values(iter((data,))))
    except JsonError as error:
        raise UsageError(f"Bad JSON in --{kind} {name} {text}: {error}") from None


def _indent(options: Options, text: str) -> None:
    try:
        width = int(text)
    except ValueError:
        width = 0
    if width < -1 or width > 7:
        raise UsageError(f"Cannot indent {'less than zero' if width < 0 else 'more than 7 characters'}")
    options.indent = "\t" if width == -1 else " " * width if width else None


def _flag(options: Options, name: str) -> bool:
    simple = {
        "null-input": "null_input",
        "raw-input": "raw_input",
        "slurp": "slurp",
        "raw-output": "raw_output",
        "ascii-output": "ascii",
        "color-output": "color",
        "sort-keys": "sort_keys",
        "stream": "stream",
        "seq": "sequence",
        "exit-status": "exit_status",
        "from-file": "from_file",
    }
    if name in simple:
        setattr(options, simple[name], True)
    elif name == "join-output":
        options.raw_output = options.join = True
    elif name == "raw-output0":
        options.raw_output = options.nul = True
    elif name == "compact-output":
        options.indent = None
    elif name == "tab":
        options.indent = "\t"
    elif name == "monochrome-output":
        options.color = False
    elif name == "stream-errors":
        options.stream = options.stream_errors = True
    elif name in ("help", "version", "build-configuration"):
        options.information = options.information or name
    elif name not in ("unbuffered",):
        return False
    return True


class _Inputs:
    """The inputs of a program: files or standard input, parsed as the options say."""

    def __init__(self, process: Process, options: Options, runtime: Runtime) -> None:
        self.process = process
        self.options = options
        self.runtime = runtime
        self.failed = False

    def values(self) -> Iterator[Any]:
        options = self.options
        if options.raw_input:
            yield from self._raw()
            return
        values = self._parsed()
        if options.slurp:
            if options.stream:
                yield [event for value in values for event in stream_events(value)]
            else:
                yield list(values)
        elif options.stream:
            for value in values:
                yield from stream_events(value)
        else:
            yield from values

    def _parsed(self) -> Iterator[Any]:
        reader = Reader(sequence=self.options.sequence, line_read=self._lines)
        return reader.values(self._chunks())

    def _lines(self, count: int) -> None:
        self.runtime.line_number += count

    def _chunks(self) -> Iterator[bytes]:
        for source in self._sources():
            self.runtime.line_number = 0
            if isinstance(source, bytes):
                yield source
            else:
                yield from source.chunks() if hasattr(source, "chunks") else _pieces(source)

    def _raw(self) -> Iterator[str]:
        if self.options.slurp:
            yield b"".join(self._chunks()).decode("utf-8", "replace")
            return
        rest = b""
        for chunk in self._chunks():
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            for line in lines:
                self.runtime.line_number += 1
                yield line.decode("utf-8", "replace")
        if rest:
            yield rest.decode("utf-8", "replace")

    def _sources(self) -> Iterator[Any]:
        if not self.options.files:
            yield self.process.stdin
            return
        for name in self.options.files:
            if name == "-":
                yield self.process.stdin
                continue
            try:
                with open(self.process.path(name), "rb") as file:
                    self.runtime.filename = name
                    yield file
            except OSError as error:
                self.process.stderr.write(
                    f"jq: error: Could not open {name}: {error.strerror}\n".encode("utf-8", "surrogateescape")
                )
                self.failed = True


def _pieces(file: Any) -> Iterator[bytes]:
    while piece := file.read(65536):
        yield piece


@command(
    "jq",
    raw=True,
    misuse=2,
    hint="Use jq --help for help with command-line options,\nor see the jq manpage, or online docs  at https://jqlang.github.io/jq",
)
def jq(call: Invocation) -> Generator[None, None, int]:
    """jq 1.7: https://jqlang.github.io/jq/manual/v1.7/

    Status 5 when the last input ended in an error or is not JSON, 2 for usage and unreadable files, 3 for a
    program that does not compile, with -e 1 or 4 for the last result.
    """
    process = call.process

    def complain(text: str) -> None:
        process.stderr.write(text.encode("utf-8", "surrogateescape"))

    try:
        options = parse_arguments(process, process.argv[1:])
    except OSError as error:
        complain(f"jq: error: Could not open {error.filename}: {error.strerror}\n")
        return 2
    if options.information is not None:
        process.stdout.write((_HELP if options.information == "help" else VERSION + "\n").encode())
        return 0
    if options.filter is None:
        complain(_USAGE + "Use jq --help for help with command-line options,\n")
        return 2
    search = [process.path(os.path.expanduser(place)) for place in options.search or ["."]]
    runtime = Runtime(dict(process.env), to_stderr=complain, search=search)
    variables = {**options.named, "ARGS": {"positional": options.positional, "named": options.named}}
    variables["__prog_args"] = options.positional
    try:
        run = compile_program(runtime, options.filter, variables)
    except JqSyntaxError as error:
        complain(f"jq: error: {error}\njq: 1 compile error\n")
        return 3
    except RecursionError:
        complain("jq: error: the program is nested too deeply\njq: 1 compile error\n")
        return 3
    inputs = _Inputs(process, options, runtime)
    with deep_recursion():
        status = yield from _run(process, options, runtime, inputs, run, complain)
    return 2 if inputs.failed and status == 0 else status


def _run(
    process: Process, options: Options, runtime: Runtime, inputs: _Inputs, run: Any, complain: Any
) -> Generator[None, None, int]:
    write = Writer(
        options.indent,
        options.sort_keys,
        options.ascii,
        Colors.parse(process.env.get("JQ_COLORS", "")) if options.color else None,
    ).write
    ending = "" if options.join else "\0" if options.nul else "\n"
    start = "\x1e" if options.sequence else ""
    raw = options.raw_output
    stdout = process.stdout
    status = 0
    last: Any = _NONE
    values = inputs.values()
    runtime.source = values
    pending: list[str] = []
    size = 0

    def flush() -> None:
        nonlocal size
        if pending:
            stdout.write("".join(pending).encode("utf-8", "surrogatepass"))
            pending.clear()
            size = 0

    try:
        for value in iter((None,)) if options.null_input else values:
            status = 0
            try:
                for result in run(value):
                    text = result if raw and type(result) is str else write(result)
                    if options.nul and type(result) is str and "\0" in result:
                        raise JqError("Cannot dump a string containing NUL with --raw-output0 option")
                    text = f"{start}{text}{ending}"
                    pending.append(text)
                    size += len(text)
                    last = result
                    if size > 8192:
                        flush()
                        if stdout.full:
                            yield
            except JqError as error:
                flush()
                status = 5
                complain(f"jq: error {_place(runtime, options)}{_message(error.value)}\n")
            except Break:
                flush()
                status = 5
                complain(f"jq: error {_place(runtime, options)}: break\n")
            except RecursionError:
                flush()
                status = 5
                complain(f"jq: error {_place(runtime, options)}: the recursion is too deep\n")
    except JsonError as error:
        flush()
        complain(f"jq: parse error: {error}\n")
        return 5
    except Halt as halt:
        flush()
        if not halt.silent:
            text = halt.value if isinstance(halt.value, str) else to_json(halt.value) + "\n"
            complain(text)
        return halt.status
    flush()
    if stdout.full:
        yield
    if status:
        return status
    if options.exit_status:
        return 4 if last is _NONE else int(last is None or last is False)
    return 0


_NONE = object()


def _place(runtime: Runtime, options: Options) -> str:
    if options.null_input and not runtime.line_number:
        return "(at <unknown>)"
    return f"(at {runtime.filename or '<stdin>'}:{runtime.line_number})"


def _message(value: Any) -> str:
    if isinstance(value, str):
        return f": {value}"
    return f" (not a string): {to_json(value)}"
