"""The `yq` command: the language of jq on YAML and JSON, with the options of mikefarah's yq."""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from typing import Any

from planaria.guest.shell.command import Process, command
from planaria.guest.shell.commands import usage
from planaria.guest.shell.commands.jq.json_reader import JsonError, Reader
from planaria.guest.shell.commands.jq.json_writer import Writer
from planaria.guest.shell.commands.jq.lexer import JqSyntaxError
from planaria.guest.shell.commands.jq.runtime import Halt, Runtime
from planaria.guest.shell.commands.jq.values import Break, JqError, truthy
from planaria.guest.shell.commands.yq import writer
from planaria.guest.shell.commands.yq.reader import YamlError, read_documents

_LONG = {
    "output-format=": "o",
    "input-format=": "p",
    "tojson": "j",
    "inplace": "i",
    "null-input": "n",
    "unwrapScalar[=]": "r",
    "raw-output": "r",
    "prettyPrint": "P",
    "indent=": "I",
    "no-doc": "N",
    "colors": "C",
    "no-colors": "M",
    "exit-status": "e",
    "yaml-output": "y",
    "compact-output": "c",
    "slurp": "s",
    "arg=": "arg",
    "from-file=": "from-file",
    "verbose": "v",
    "version": "V",
    "help": "h",
}


@command("yq")
def yq(process: Process) -> Generator[None, None, int]:
    """yq [eval|eval-all] [OPTION]... [EXPRESSION] [FILE]...: YAML in, YAML (or -o json) out."""
    words = list(process.argv[1:])
    together = False
    if words and words[0] in ("eval", "e", "eval-all", "ea"):
        together = words.pop(0) in ("eval-all", "ea")
    words = [re.sub(r"^-([opI])=", r"-\1", word) for word in words]
    try:
        arguments = usage.parse(words, "o:p:jinrPI:NCMeycsvVh", _LONG)
    except usage.UsageError as error:
        process.stderr.write(f"Error: {error}\n".encode())
        return 1
    if arguments.has("V"):
        process.stdout.write(b"yq (https://github.com/mikefarah/yq/) version v4\n")
        return 0
    if arguments.has("h"):
        process.stdout.write(b"Usage: yq [eval|eval-all] [flags] [expression] [file]...\n")
        return 0
    operands = list(arguments.operands)
    expression = arguments.last("from-file")
    if expression is not None:
        expression = usage.read_file(process, expression).decode("utf-8", "replace")
    elif operands and not (len(operands) == 1 and os.path.isfile(process.path(operands[0]))):
        expression = operands.pop(0)
    else:
        expression = "."
    runtime = Runtime(
        dict(process.env),
        to_stderr=lambda text: process.stderr.write(text.encode("utf-8", "surrogateescape")),
    )
    try:
        run = runtime.compile(_dialect(expression), {})
    except JqSyntaxError as error:
        process.stderr.write(f"Error: {error}\n".encode("utf-8", "surrogateescape"))
        return 1
    names = operands or ([] if arguments.has("n") else ["-"])
    status = 0
    last: Any = None
    documents: list[Any] = []
    sources: list[str | None] = [*names] if names else [None]
    for name in sources:
        try:
            inputs = [None] if name is None else _read(process, name, arguments.last("p"))
        except OSError as error:
            process.stderr.write(
                f"Error: open {name}: {usage.reason(error).lower()}\n".encode("utf-8", "surrogateescape")
            )
            return 1
        except (YamlError, JsonError) as error:
            process.stderr.write(f"Error: bad file '{name}': {error}\n".encode("utf-8", "surrogateescape"))
            return 1
        if together or arguments.has("s"):
            documents += inputs
            continue
        try:
            pieces, last = _evaluate(run, inputs, arguments, name)
        except _EvaluationError as failure:
            process.stderr.write(f"Error: {failure}\n".encode("utf-8", "surrogateescape"))
            return 1
        if arguments.has("i") and name not in (None, "-"):
            with open(process.path(str(name)), "wb") as file:
                file.write("".join(pieces).encode("utf-8", "surrogateescape"))
            continue
        for piece in pieces:
            process.stdout.write(piece.encode("utf-8", "surrogateescape"))
            if process.stdout.full:
                yield
    if together or arguments.has("s"):
        try:
            pieces, last = _evaluate(run, [documents] if arguments.has("s") else documents, arguments, None)
        except _EvaluationError as failure:
            process.stderr.write(f"Error: {failure}\n".encode("utf-8", "surrogateescape"))
            return 1
        process.stdout.write("".join(pieces).encode("utf-8", "surrogateescape"))
    if arguments.has("e") and not truthy(last):
        process.stderr.write(b"Error: no matches found\n")
        status = 1
    return status


class _EvaluationError(Exception):
    """An expression that failed on an input."""


def _dialect(expression: str) -> str:
    """What mikefarah's yq writes differently from jq, in jq's words."""
    expression = re.sub(r"\benv\(\s*([A-Za-z_]\w*)\s*\)", r"(env.\1 | (fromjson? // .))", expression)
    expression = re.sub(r"\bstrenv\(\s*([A-Za-z_]\w*)\s*\)", r"env.\1", expression)
    expression = re.sub(r"\bto_json\b|\btojson\(\d*\)", "tojson", expression)
    return re.sub(r"\bfrom_json\b", "fromjson", expression)


def _read(process: Process, name: str, layout: str | None) -> list[Any]:
    data = usage.read_file(process, name)
    if layout is None and name.endswith(".json"):
        layout = "json"
    if layout in ("json", "j"):
        return list(Reader().values(iter((data,))))
    if layout not in (None, "yaml", "y", "auto", "a"):
        raise YamlError(0, f"unknown input format '{layout}'")
    return read_documents(data.decode("utf-8", "surrogateescape")) or [None]


def _evaluate(
    run: Any, inputs: list[Any], arguments: usage.Arguments, name: str | None
) -> tuple[list[str], Any]:
    """The text of all results, and the last result."""
    layout = arguments.last("o")
    if layout is None:
        layout = (
            "json" if arguments.has("j", "c") or (name is not None and name.endswith(".json")) else "yaml"
        )
    indent_text = arguments.last("I")
    indent = int(indent_text) if indent_text and indent_text.isdigit() else 2
    json = layout in ("json", "j")
    raw = arguments.last("r")
    unwrap = raw is not None and raw != "false" if json else raw != "false"
    compact = arguments.has("c") or indent == 0
    to_json = Writer(None if compact else " " * indent).write
    pieces: list[str] = []
    last: Any = None
    for number, value in enumerate(inputs):
        results = []
        try:
            results = list(run(value))
        except JqError as error:
            raise _EvaluationError(
                error.value if isinstance(error.value, str) else to_json(error.value)
            ) from None
        except (Break, RecursionError):
            raise _EvaluationError("the expression does not end") from None
        except Halt:
            pass
        for position, result in enumerate(results):
            last = result
            if json:
                pieces.append((result if unwrap and isinstance(result, str) else to_json(result)) + "\n")
                continue
            if (number or position) and not arguments.has("N") and position == 0:
                pieces.append("---\n")
            text = result if unwrap and isinstance(result, str) else writer.write(result, max(indent, 2))
            pieces.append(text + ("" if text.endswith("\n") and not isinstance(result, str) else "\n"))
    return pieces, last
