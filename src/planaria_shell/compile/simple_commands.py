"""Simple commands and redirections to closures; see `compiler` for the two flavours."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator

from planaria_shell.compile.compiler import Compiler
from planaria_shell.compile.file_commands import run_file_command
from planaria_shell.compile.local_variables import local_values, run_local
from planaria_shell.compile.purity import changes_variables
from planaria_shell.compile.redirection import (
    RedirectCode,
    Saved,
    compile_redirects,
    let_go,
    redirection_failed,
    restore,
)
from planaria_shell.errors import ShellError
from planaria_shell.expand.words import ArgumentsCode
from planaria_shell.state.interpreter import Code, Interpreter, StreamCode
from planaria_shell.state.streams import CLOSED
from planaria_shell.state.variable import Scope
from planaria_shell.syntax.nodes import Assignment, Simple, Word
from planaria_shell.syntax.parser import lexer_of
from planaria_shell.syntax.simple_commands import parse_assignment
from planaria_shell.syntax.word_contents import has_process, has_substitution

__all__ = ["run_simple", "stream_simple"]

#: What `set -k` takes for an assignment wherever it stands.
_KEYWORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


def _prepare(compiler: Compiler, node: Simple) -> _Prepared:
    prepared = _Prepared()
    prepared.line = node.line
    words = node.words
    if any(isinstance(word, Assignment) for word in words):
        prepared.arguments = compiler.assignments.declaration_arguments(words)
    else:
        prepared.arguments = compiler.words.arguments(words)  # type: ignore[arg-type]
    prepared.assignments = [compiler.assignments.assign(item) for item in node.assignments]
    prepared.temporary = [compiler.assignments.temporary(item) for item in node.assignments] if words else []
    prepared.redirect = compile_redirects(node.redirects, compiler.words) if node.redirects else None
    parts = [*words, *node.assignments, *node.redirects]
    prepared.process = has_process(parts)
    prepared.changes_variables = changes_variables(node.redirects)
    prepared.substitutes = has_substitution(parts)
    head = words[0] if words else None
    prepared.name = head.literal() if isinstance(head, Word) else None
    return prepared


def _with_keywords(node: Simple) -> Simple | None:
    """The command as `set -k` has it, with all assignments among its words before it; None without any."""
    if not any(type(word) is Word and _KEYWORD.match(word.source) for word in node.words[1:]):
        return None
    words: list[Word | Assignment] = []
    assignments = list(node.assignments)
    for word in node.words:
        found = parse_assignment(lexer_of(word.source), arrays=False) if words else None
        if found is None:
            words.append(word)
        else:
            assignments.append(found)
    return Simple(assignments, words, node.redirects, node.line)


def run_simple(compiler: Compiler, node: Simple, tested: bool) -> Code:
    moved = _with_keywords(node)
    if moved is None:
        return _run_simple(compiler, node, tested)
    usual = _run_simple(compiler, node, tested)
    keyword = _run_simple(compiler, moved, tested)
    return lambda sh: keyword(sh) if sh.keyword else usual(sh)


def _run_simple(compiler: Compiler, node: Simple, tested: bool) -> Code:
    prepared = _prepare(compiler, node)
    if tested and prepared.substitutes:
        return _with_tested_substitutions(_run_prepared(compiler, node, prepared, tested))
    return _run_prepared(compiler, node, prepared, tested)


def _with_tested_substitutions(code: Code) -> Code:
    """A command whose status is looked at: in its substitutions, `set -e` holds for nothing either."""

    def run(sh: Interpreter) -> int:
        sh.suppressed += 1
        try:
            return code(sh)
        finally:
            sh.suppressed -= 1

    return run


def _run_prepared(compiler: Compiler, node: Simple, prepared: _Prepared, tested: bool) -> Code:
    if not node.words:
        return _run_assignments(compiler, node, prepared, tested)
    if prepared.name == "local" and not node.redirects and not node.assignments:
        quick = local_values(compiler, node)
        if quick is not None:
            return run_local(compiler, node, quick, _run_general(compiler, node, prepared, tested))
    general = _run_general(compiler, node, prepared, tested)
    return run_file_command(compiler.words, node, tested, general) or general


def _run_general(compiler: Compiler, node: Simple, prepared: _Prepared, tested: bool) -> Code:
    line = prepared.line
    arguments = prepared.arguments
    dynamic = prepared.name is None
    if not node.assignments and not node.redirects and not prepared.process:

        def simple(sh: Interpreter) -> int:
            sh.line = line
            sh.node = node
            counters = sh.counters
            counters.commands += 1
            if counters.commands > counters.next_check:
                counters.check()
            if dynamic:
                sh.substitution_status = 0
            tracing = sh.tracing
            if tracing and sh.run_debug_trap():
                return 0
            argv = arguments(sh)
            if not argv:
                return _nothing_run(sh, node, tested)
            if tracing:
                sh.trace(argv)
            name = argv[0]
            function = sh.functions.get(name)
            if function is not None:
                status = sh.call_function(function, argv, tested)
            else:
                builtin = sh.builtins.get(name)
                if builtin is None:
                    status = sh.external(argv)
                elif tested and sh.watching:
                    status = sh.call_tested(builtin, argv)
                else:
                    status = builtin(sh, argv)
            sh.last_argument = argv[-1]
            sh.pipe_statuses = None
            if status and sh.watching and not tested:
                sh.status = status
                if function is None:
                    sh.node = node
                return sh.failed(status)
            return status

        return simple

    def full(sh: Interpreter) -> int:
        sh.line = line
        sh.node = node
        counters = sh.counters
        counters.commands += 1
        if counters.commands > counters.next_check:
            counters.check()
        sh.substitution_status = 0
        mark = len(sh.process_descriptors)
        saved: Saved = []
        argv: list[str] = []
        keep = bound = False
        try:
            tracing = sh.tracing
            if tracing and sh.run_debug_trap():
                return 0
            argv = arguments(sh)
            if prepared.temporary and argv:
                sh.bind_temporary(prepared.temporary, argv)
                bound = True
            if tracing:
                sh.trace(argv)
            own_process = prepared.changes_variables and argv and _is_program(sh, argv[0])
            if prepared.redirect is not None and not own_process:
                try:
                    prepared.apply_redirects(sh, bound, saved)
                except ShellError as error:
                    status = redirection_failed(sh, argv, error)
                    return status if tested else sh.failed(status)
            if own_process:
                function = False
                status = prepared.run_program(sh, argv, bound)
            elif argv:
                keep = argv[0] == "exec" and len(argv) == 1
                function = argv[0] in sh.functions
                status = sh.execute(argv, tested)
            else:
                for assign in prepared.assignments:
                    assign(sh)
        except ShellError as error:
            if saved:
                sh.report_error(error)
            raise
        finally:
            if bound:
                sh.unbind_temporary(argv)
            failed = _leave(sh, saved, keep, argv)
            if prepared.process:
                sh.end_process_substitutions(mark)
        if not argv:
            return _nothing_run(sh, node, tested)
        sh.last_argument = argv[-1]
        sh.pipe_statuses = None
        if failed:
            status = status or 1
        if status and sh.watching and not tested:
            sh.status = status
            if not function:
                sh.node = node
            return sh.failed(status)
        return status

    return full


def _run_assignments(compiler: Compiler, node: Simple, prepared: _Prepared, tested: bool) -> Code:
    line = prepared.line
    assigns = prepared.assignments
    redirect = prepared.redirect
    substitutes = prepared.substitutes
    process = prepared.process
    if len(assigns) == 1 and redirect is None and not substitutes and not process:
        only = assigns[0]

        def one(sh: Interpreter) -> int:
            sh.line = line
            sh.node = node
            if sh.debug_trap and sh.run_debug_trap():
                return 0
            only(sh)
            sh.pipe_statuses = None
            sh.last_argument = ""
            return 0

        return one

    def run(sh: Interpreter) -> int:
        sh.line = line
        sh.node = node
        sh.substitution_status = 0
        if sh.debug_trap and sh.run_debug_trap():
            return 0
        saved: Saved = []
        mark = len(sh.process_descriptors)
        try:
            for assign in assigns:
                assign(sh)
            if redirect is not None:
                try:
                    redirect(sh, saved)
                except ShellError as error:
                    if error.expanding:
                        raise
                    sh.report(error)
                    sh.last_argument = ""
                    return 1 if tested else sh.failed(1)
        finally:
            restore(sh, saved)
            if process:
                sh.end_process_substitutions(mark)
        return _nothing_run(sh, node, tested)

    return run


def stream_simple(compiler: Compiler, node: Simple, tested: bool) -> StreamCode:
    moved = _with_keywords(node)
    if moved is None:
        return _stream_simple(compiler, node, tested)
    usual = _stream_simple(compiler, node, tested)
    keyword = _stream_simple(compiler, moved, tested)
    return lambda sh: keyword(sh) if sh.keyword else usual(sh)


def _stream_simple(compiler: Compiler, node: Simple, tested: bool) -> StreamCode:
    if not node.words:
        plain = compiler.run(node, tested)

        def assign_only(sh: Interpreter) -> Generator[None, None, int]:
            return plain(sh)
            yield

        return assign_only
    prepared = _prepare(compiler, node)

    def stream(sh: Interpreter) -> Generator[None, None, int]:
        sh.line = prepared.line
        sh.node = node
        sh.counters.count_command()
        sh.substitution_status = 0
        mark = len(sh.process_descriptors)
        saved: Saved = []
        argv: list[str] = []
        keep = bound = False
        try:
            tracing = sh.tracing
            if tracing and sh.run_debug_trap():
                return 0
            argv = prepared.arguments(sh)
            if prepared.temporary and argv:
                sh.bind_temporary(prepared.temporary, argv)
                bound = True
            if tracing:
                sh.trace(argv)
            own_process = prepared.changes_variables and argv and _is_program(sh, argv[0])
            if prepared.redirect is not None and not own_process:
                try:
                    prepared.apply_redirects(sh, bound, saved)
                except ShellError as error:
                    status = redirection_failed(sh, argv, error)
                    return status if tested else sh.failed(status)
            if own_process:
                function = False
                status = yield from prepared.stream_program(sh, argv, bound)
            elif argv:
                keep = argv[0] == "exec" and len(argv) == 1
                function = argv[0] in sh.functions
                status = yield from sh.stream_execute(argv, tested)
            else:
                for assign in prepared.assignments:
                    assign(sh)
        except ShellError as error:
            if saved:
                sh.report_error(error)
            raise
        finally:
            if bound:
                sh.unbind_temporary(argv)
            failed = _leave(sh, saved, keep, argv)
            sh.end_process_substitutions(mark)
        if not argv:
            return _nothing_run(sh, node, tested)
        sh.last_argument = argv[-1]
        sh.pipe_statuses = None
        if failed:
            status = status or 1
        if sh.fds.get(1, CLOSED).full or sh.background:
            yield
            if sh.pending_signals:
                sh.take_signals()
        if status and sh.watching and not tested:
            sh.status = status
            if not function:
                sh.node = node
            return sh.failed(status)
        return status

    return stream


def _is_program(sh: Interpreter, name: str) -> bool:
    return name not in sh.functions and name not in sh.builtins


def _redirect_outside(sh: Interpreter, apply: RedirectCode, saved: Saved) -> None:
    """Do the redirections of a command, whose words know nothing of the variables that are its own."""
    variables = sh.variables
    variables.exchange()
    try:
        apply(sh, saved)
    finally:
        variables.exchange()


def _leave(shell: Interpreter, saved: Saved, keep: bool, argv: list[str]) -> bool:
    """Undo a command's redirections, or with `keep` make them last; whether writing failed at the end."""
    if not keep:
        name = argv[0] if argv else ""
        unwritten = restore(
            shell, saved, name if name in shell.builtins and name not in shell.functions else ""
        )
        if shell.untold_death:
            number, shell.untold_death = shell.untold_death, 0
            shell.report_death(number, shell.node, argv)
        return unwritten
    failed = False
    for number, before in saved:
        if number == 0:
            shell.plain_input = shell.fds.get(0)
        if before is not None:
            failed |= let_go(shell, before)
    return failed


def _nothing_run(sh: Interpreter, node: Simple, tested: bool) -> int:
    """A command without words, or whose words expanded to nothing: its status is the last substitution's."""
    status = sh.substitution_status
    sh.pipe_statuses = None
    sh.last_argument = ""
    if status and sh.watching and not tested:
        sh.status = status
        sh.node = node
        return sh.failed(status)
    return status


class _Prepared:
    """The compiled pieces of a simple command."""

    __slots__ = (
        "arguments",
        "assignments",
        "changes_variables",
        "line",
        "name",
        "process",
        "redirect",
        "substitutes",
        "temporary",
    )

    arguments: ArgumentsCode
    assignments: list[Callable[[Interpreter], None]]
    temporary: list[Callable[[Interpreter, Scope], None]]
    redirect: RedirectCode | None
    line: int
    process: bool
    substitutes: bool
    #: Whether its redirections may assign to variables.
    changes_variables: bool
    name: str | None

    def apply_redirects(self, sh: Interpreter, bound: bool, saved: Saved) -> None:
        """Do the redirections; with `bound` the command has variables of its own."""
        assert self.redirect is not None
        if bound:
            _redirect_outside(sh, self.redirect, saved)
        else:
            self.redirect(sh, saved)

    def run_program(self, sh: Interpreter, argv: list[str], bound: bool) -> int:
        """Run a program in a subshell, which does its redirections and is left with what they assign."""

        def run(child: Interpreter) -> int:
            saved: Saved = []
            try:
                self.apply_redirects(child, bound, saved)
                return child.execute(argv)
            except ShellError as error:
                return redirection_failed(child, argv, error)
            finally:
                _leave(child, saved, False, argv)

        return sh.fork().run_subshell(run)

    def stream_program(self, sh: Interpreter, argv: list[str], bound: bool) -> Generator[None, None, int]:
        """The same, yielding when the output is full."""

        def stream(child: Interpreter) -> Generator[None, None, int]:
            saved: Saved = []
            try:
                self.apply_redirects(child, bound, saved)
                return (yield from child.stream_execute(argv))
            except ShellError as error:
                return redirection_failed(child, argv, error)
            finally:
                _leave(child, saved, False, argv)

        return (yield from sh.fork().stream_subshell(stream))
