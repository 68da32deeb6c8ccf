"""What scripts do with many files: `[ -f "$f" ]`, `read -r line < $f`, `echo text > $f`.

Each is for one common form of a simple command, and leaves whatever else there is (functions of that name,
`set -x`, devices, errors) to the general code.
"""

from __future__ import annotations

import os

from planaria_shell.compile.redirection import let_go, open_stream, redirection_failed, target_of
from planaria_shell.errors import ShellError
from planaria_shell.expand.condition_operators import unary_test
from planaria_shell.expand.words import TextCode, WordCompiler
from planaria_shell.state.builtin import PURE_BUILTINS
from planaria_shell.state.interpreter import Code, Interpreter
from planaria_shell.state.resources import FROM_THE_START
from planaria_shell.state.streams import CAPACITY, flush_all
from planaria_shell.state.variable import SHORT, SLOW_WRITE, is_name
from planaria_shell.state.variables import Variables
from planaria_shell.syntax.nodes import DoubleQuoted, Literal, Parameter, Part, Quoted, Simple, Word
from planaria_shell.syntax.word_contents import has_process

__all__ = ["run_file_command"]

#: Builtins that leave the shell's descriptors as they are.
_REDIRECTED = PURE_BUILTINS | {"read"}
#: Operators of one operand that cannot fail.
_UNARY = frozenset(["-n", "-z", "-e", "-f", "-d", "-s", "-r", "-w", "-x", "-L", "-h"])


def run_file_command(words: WordCompiler, node: Simple, tested: bool, general: Code) -> Code | None:
    """The closure for a command of these forms, None for others; `general` runs the same command."""
    if node.assignments or not all(isinstance(word, Word) for word in node.words):
        return None
    texts = [word.literal() if isinstance(word, Word) else None for word in node.words]
    if texts[0] == "[" and not node.redirects:
        return _run_test(words, node, texts, tested, general)
    if texts[0] not in _REDIRECTED or len(node.redirects) != 1 or node.redirects[0].variable:
        return None
    reading = _run_read(words, node, texts, tested, general) if texts[0] == "read" else None
    return reading or _run_redirected(words, node, texts[0], tested, general)


def _run_test(
    words: WordCompiler, node: Simple, texts: list[str | None], tested: bool, general: Code
) -> Code | None:
    """`[ -f "$f" ]` and its like."""
    if len(texts) != 4 or texts[1] not in _UNARY or texts[3] != "]":
        return None
    word = node.words[2]
    if not isinstance(word, Word) or not words.is_one_field(word):
        return None
    operator, operand = texts[1], words.text(word)
    line = node.line

    def run(sh: Interpreter) -> int:
        if sh.tracing or "[" in sh.functions or "[" not in sh.builtins:
            return general(sh)
        sh.line = line
        sh.node = node
        sh.counters.count_command()
        status = 0 if unary_test(sh, operator, operand(sh)) else 1
        sh.last_argument = "]"
        sh.pipe_statuses = None
        if status and sh.watching and not tested:
            sh.status = status
            return sh.failed(status)
        return status

    return run


def _is_steady(part: Part) -> bool:
    """Whether expanding the part twice does no more than expanding it once."""
    if isinstance(part, DoubleQuoted):
        return all(map(_is_steady, part.parts))
    if isinstance(part, Parameter):
        plain = Parameter(part.name, bare=part.bare)
        return part == plain and is_name(part.name) and part.name not in Variables.getters
    return isinstance(part, Literal | Quoted)


def _run_read(
    words: WordCompiler, node: Simple, texts: list[str | None], tested: bool, general: Code
) -> Code | None:
    """`read -r name < file`: the file's first line, for which no descriptor of the shell's is needed."""
    redirect = node.redirects[0]
    if redirect.operator != "<" or redirect.fd not in (None, 0):
        return None
    if len(texts) != 3 or texts[1] != "-r" or texts[2] is None or not is_name(texts[2]):
        return None
    name = texts[2]
    if name in Variables.setters or not all(map(_is_steady, redirect.target.parts)):
        return None
    target = target_of(redirect, words)
    line = node.line

    def run(sh: Interpreter) -> int:
        variable = sh.table.get(name)
        if (
            variable is None
            or variable.flags & SLOW_WRITE
            or sh.ifs != " \t\n"
            or sh.tracing
            or "read" in sh.functions
            or "read" not in sh.builtins
            or "TMOUT" in sh.table
            or sh.fifos_expected[0]
            or sh.bounds is not FROM_THE_START
            or sh.pending_signals
        ):
            return general(sh)
        sh.line = line
        sh.node = node
        data = _first_line(sh, target)
        if data is None:
            return general(sh)
        sh.counters.count_command()
        sh.substitution_status = 0
        text = data.decode("utf-8", "surrogateescape").strip(" \t\n")
        if "\0" in text:
            text = text.replace("\0", "").strip(" \t\n")
        if len(text) <= SHORT:
            variable.value = text
        else:
            sh.variables.set(name, text)
        sh.last_argument = name
        sh.pipe_statuses = None
        if data[-1:] == b"\n":
            return 0
        if sh.watching and not tested:
            sh.status = 1
            return sh.failed(1)
        return 1

    return run


def _run_redirected(words: WordCompiler, node: Simple, name: str, tested: bool, general: Code) -> Code | None:
    """Such a builtin with one file as its input or output."""
    redirect = node.redirects[0]
    mode = redirect.operator
    if mode not in ("<", ">", ">>") or has_process([*node.words, *node.redirects]):
        return None
    number = redirect.fd if redirect.fd is not None else 0 if mode == "<" else 1
    arguments = words.arguments([word for word in node.words if isinstance(word, Word)])
    target = target_of(redirect, words)
    line = node.line

    def run(sh: Interpreter) -> int:
        builtin = sh.builtins.get(name)
        if (
            sh.tracing
            or builtin is None
            or name in sh.functions
            or sh.restricted
            or sh.bounds is not FROM_THE_START
            or number >= sh.open_files
            or (tested and sh.watching)
        ):
            return general(sh)
        sh.line = line
        sh.node = node
        counters = sh.counters
        counters.commands += 1
        if counters.commands > counters.next_check:
            counters.check()
        sh.substitution_status = 0
        argv = arguments(sh)
        try:
            stream = open_stream(sh, target(sh), mode, clobber=not sh.noclobber)
        except ShellError as error:
            status = redirection_failed(sh, argv, error)
            return status if tested else sh.failed(status)
        fds = sh.fds
        before = fds.get(number)
        fds[number] = stream
        try:
            status = builtin(sh, argv)
        except ShellError as error:
            sh.report_error(error)
            raise
        finally:
            # A trap may have put another one there.
            current = fds.pop(number, None)
            if before is not None:
                fds[number] = before
            failed = current is not None and let_go(sh, current, name)
        sh.last_argument = argv[-1]
        sh.pipe_statuses = None
        if failed:
            status = status or 1
        if status and sh.watching and not tested:
            sh.status = status
            sh.node = node
            return sh.failed(status)
        return status

    return run


def _first_line(sh: Interpreter, target: TextCode) -> bytes | None:
    """The first line of the file that `target` gives, with its end; None where anything is unusual."""
    try:
        name = target(sh)
    except ShellError:
        return None
    if not name or name.startswith(("/dev/", "/proc/")):
        return None
    flush_all()
    try:
        descriptor = os.open(sh.path(name), os.O_RDONLY)
    except OSError:
        return None
    try:
        data = piece = os.read(descriptor, CAPACITY)
        end = data.find(b"\n") + 1
        while piece and not end:
            piece = os.read(descriptor, CAPACITY)
            data += piece
            end = data.find(b"\n", len(data) - len(piece)) + 1
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return data[:end] if end else data
