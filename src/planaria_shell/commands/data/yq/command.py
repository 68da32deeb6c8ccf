"""The `yq` command: the language of jq on YAML and JSON, with the options of mikefarah's yq."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

from planaria_shell.commands.data.jq.json_reader import JsonError, Reader
from planaria_shell.commands.data.jq.json_writer import Writer
from planaria_shell.commands.data.jq.lexer import JqSyntaxError
from planaria_shell.commands.data.jq.programs import compile_program
from planaria_shell.commands.data.jq.runtime import Halt, Runtime
from planaria_shell.commands.data.jq.values import Break, JqError, truthy
from planaria_shell.commands.data.yq import formats, inputs, natives, reader, writer
from planaria_shell.commands.data.yq.comments import Notes, Path, find_notes
from planaria_shell.commands.data.yq.dialect import COMMENTS, kept_path, to_jq
from planaria_shell.commands.data.yq.reader import YamlError
from planaria_shell.state.command import Process
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import Arguments
from planaria_shell.toolkit.streams import read_input, reason

__all__ = ["natives", "yq"]

#: What an expression may ask about the document that it is applied to.
_VARIABLES = ("documents", "file", "document", "name")


def _without_subcommand(words: list[str]) -> list[str]:
    """The options and operands of a command line, `-o=json` as `-ojson`."""
    rest = words[1:] if words[:1] and words[0] in ("eval", "e", "eval-all", "ea") else words
    return [re.sub(r"^-([opI])=", r"-\1", word) for word in rest]


@command(
    "yq",
    short="o:p:jinrPI:NCMeycsvVh",
    long="output-format=o: input-format=p: tojson=j inplace=i null-input=n unwrapScalar=r:: "
    "raw-output=r prettyPrint=P indent=I: no-doc=N colors=C no-colors=M exit-status=e "
    "yaml-output=y compact-output=c slurp=s arg: from-file: verbose=v version=V help=h",
    help="Usage: yq [eval|eval-all] [flags] [expression] [file]...\n",
    version="yq (https://github.com/mikefarah/yq/) version v4\n",
    rewrite=_without_subcommand,
    complaint="Error: {}",
    hint="",
)
def yq(call: Invocation) -> Generator[None, None, int]:
    """yq [eval|eval-all] [OPTION]... [EXPRESSION] [FILE]...: YAML in, YAML (or -o json) out."""
    process, arguments = call.process, call.arguments
    together = call.argv[1:2] in (["eval-all"], ["ea"])
    operands = list(arguments.operands)
    expression = arguments.value("from-file")
    if expression is not None:
        expression = read_input(process, expression).decode("utf-8", "replace")
    elif operands and not (len(operands) == 1 and os.path.isfile(process.path(operands[0]))):
        expression = operands.pop(0)
    else:
        expression = "."
    slurp = arguments.has("s")
    runner = _Runner(process, expression, arguments, together=together and not slurp)
    status = 0
    try:
        runner.compile()
        for name, results in runner.results(
            operands or ([] if arguments.has("n") else ["-"]), slurp or together
        ):
            pieces = list(_shown(results, arguments, name))
            if arguments.has("i") and name not in (None, "-"):
                with open(process.path(str(name)), "wb") as file:
                    file.write("".join(pieces).encode("utf-8", "surrogateescape"))
                continue
            for piece in pieces:
                process.stdout.write(piece.encode("utf-8", "surrogateescape"))
                if process.stdout.full:
                    yield
    except (_EvaluationError, JqSyntaxError) as error:
        process.stderr.write(f"Error: {error}\n".encode("utf-8", "surrogateescape"))
        return 1
    if arguments.has("e") and not truthy(runner.last):
        process.stderr.write(b"Error: no matches found\n")
        status = 1
    return status


@dataclass(slots=True)
class _Document:
    """One document of a file."""

    value: Any
    #: The lines that it was read from, if it is YAML.
    lines: list[str] | None = None

    def notes(self) -> Notes | None:
        """Comments and notations, which are looked for only when the document is written again."""
        return None if self.lines is None else find_notes(self.lines)


@dataclass(slots=True)
class _Result:
    """What an expression gave, and the document it is a part of, if it is one."""

    value: Any
    document: _Document
    path: Path | None
    #: Whether it begins a new document of the output.
    begins: bool


class _Runner:
    """An expression and what it is applied to."""

    def __init__(self, process: Process, expression: str, arguments: Arguments, *, together: bool) -> None:
        self.process = process
        self.expression = expression
        self.layout = arguments.value("p")
        self.together = together
        self.last: Any = None
        self.path: Path | None = None
        self.source = ""
        self.loaded: dict[str, Any] = {}
        self.runtime = Runtime(
            dict(process.env),
            to_stderr=lambda text: process.stderr.write(text.encode("utf-8", "surrogateescape")),
        )
        self.compiled: Callable[[Any], Any] | None = None

    def compile(self) -> None:
        """Translate the expression; raises JqSyntaxError."""
        self.source, self.loaded = to_jq(
            self.expression, together=self.together, load=lambda name: self.read(name)[0].value
        )
        # What takes the comments away gives up how things were written, too.
        self.path = None if COMMENTS.search(self.expression) else kept_path(self.source)
        if not any(f"${name}" in self.source for name in _VARIABLES):
            self.compiled = compile_program(self.runtime, self.source, self.loaded)

    def read(self, name: str) -> list[_Document]:
        """The documents of a file, at least one."""
        try:
            return _read(self.process, name, self.layout)
        except OSError as error:
            raise _EvaluationError(f"open {name}: {reason(error).lower()}") from None
        except (YamlError, JsonError) as error:
            raise _EvaluationError(f"bad file '{name}': {error}") from None

    def results(self, names: list[str], at_once: bool) -> Iterator[tuple[str | None, list[_Result]]]:
        """The results for each file, or for all of them at once."""
        if not names:
            yield None, self._apply([_Document(None)], None, 0)
            return
        if not at_once:
            for place, name in enumerate(names):
                yield name, self._apply(self.read(name), name, place)
            return
        files = [[document.value for document in self.read(name)] for name in names]
        if self.together:
            whole, variables = (
                _Document(None),
                {"documents": files, "file": 0, "document": 0, "name": names[0]},
            )
            found = self._run(whole, variables)
        else:
            whole = _Document([value for values in files for value in values])
            found = self._run(whole, {"documents": files, "file": 0, "document": 0, "name": names[0]})
        yield (
            (names[0] if self.together else None),
            [_Result(value, whole, None, not place) for place, value in enumerate(found)],
        )

    def _apply(self, documents: list[_Document], name: str | None, place: int) -> list[_Result]:
        results: list[_Result] = []
        for number, document in enumerate(documents):
            found = self._run(document, {"documents": [], "file": place, "document": number, "name": name})
            path = self.path if len(found) == 1 else None
            results += [_Result(value, document, path, not at) for at, value in enumerate(found)]
        return results

    def _run(self, document: _Document, variables: dict[str, Any]) -> list[Any]:
        compiled = self.compiled
        if compiled is None:
            compiled = compile_program(self.runtime, self.source, {**self.loaded, **variables})
        results: list[Any] = []
        try:
            for value in compiled(document.value):
                results.append(value)
        except JqError as error:
            raise _EvaluationError(
                error.value if isinstance(error.value, str) else Writer(None).write(error.value)
            ) from None
        except (Break, RecursionError):
            raise _EvaluationError("the expression does not end") from None
        except Halt:
            pass
        if results:
            self.last = results[-1]
        return results


class _EvaluationError(Exception):
    """An expression that failed on an input."""


def _read(process: Process, name: str, layout: str | None) -> list[_Document]:
    data = read_input(process, name)
    if layout in (None, "auto", "a"):
        layout = inputs.EXTENSIONS.get(os.path.splitext(name)[1])
    if layout in ("json", "j"):
        return [_Document(value) for value in Reader().values(iter((data,)))]
    text = data.decode("utf-8", "surrogateescape")
    if layout not in (None, "yaml", "y"):
        return [_Document(inputs.read(text, layout))]
    documents = [_Document(found.value, found.lines) for found in reader.read(text)]
    return documents or [_Document(None)]


def _shown(results: list[_Result], arguments: Arguments, name: str | None) -> Iterator[str]:
    """The text of each result."""
    layout = arguments.value("o")
    if layout in (None, "auto", "a"):
        known = None if name is None or arguments.has("p") else os.path.splitext(name)[1]
        own = inputs.EXTENSIONS.get(known or "", "yaml")
        layout = (
            "json" if arguments.has("j", "c") else own if own in ("json", "csv", "tsv", "props") else "yaml"
        )
    indent_text = arguments.value("I")
    indent = int(indent_text) if indent_text and indent_text.isdigit() else 2
    json = layout in ("json", "j")
    raw = arguments.value("r")
    unwrap = raw is not None and raw != "false" if json else raw != "false"
    to_json = Writer(None if arguments.has("c") or indent == 0 else " " * indent).write
    for number, result in enumerate(results):
        value = result.value
        if unwrap and isinstance(value, str):
            text = value
        elif json:
            text = to_json(value)
        elif layout in ("props", "p"):
            text = "\n".join(formats.properties(value))
        elif layout in ("csv", "c", "tsv", "t"):
            try:
                text = "\n".join(formats.rows(value, "," if layout[0] == "c" else "\t"))
            except ValueError as error:
                raise _EvaluationError(str(error)) from None
        elif layout in ("shell", "s"):
            text = "\n".join(formats.assignments(value))
        elif layout in ("yaml", "y"):
            # -P gives up how things were written.
            notes = None if arguments.has("P") or result.path is None else result.document.notes()
            path = result.path or ()
            original = _below(result.document.value, path)
            text = writer.write(value, max(indent, 2), notes, path, original)
        else:
            raise _EvaluationError(f"unknown format '{layout}' please use [yaml|json|props|csv|tsv|shell]")
        if number and result.begins and not json and not arguments.has("N") and layout in ("yaml", "y"):
            yield "---\n"
        yield text + "\n"


def _below(value: Any, path: Path) -> Any:
    """What is at a path; None where there is nothing."""
    for key in path:
        if isinstance(value, dict) and isinstance(key, str):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
            value = value[key]
        else:
            return None
    return value
