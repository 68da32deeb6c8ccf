"""Simple commands and redirections to closures; see `compiler` for the two flavours."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from planaria_shell.compile.assignment import AssignmentCompiler
from planaria_shell.compile.loops import Code, LoopCompiler, StreamCode
from planaria_shell.compile.redirection import RedirectCode, Saved, compile_redirect, let_go, restore
from planaria_shell.expand.words import ArgumentsCode
from planaria_shell.run.variable import ASSOCIATIVE, INDEXED, Scope, ShellError, Variable, is_name
from planaria_shell.run.variables import Variables
from planaria_shell.syntax.nodes import Assignment, Redirect, Simple, Word
from planaria_shell.syntax.word_contents import has_process, has_substitution

if TYPE_CHECKING:
    from planaria_shell.run.shell import Shell

__all__ = ["SimpleCompiler"]


class SimpleCompiler(LoopCompiler):
    """The part of the compiler that knows simple commands."""

    assignments: AssignmentCompiler

    # -- redirections ------------------------------------------------------------------------------

    def redirects(self, redirects: list[Redirect]) -> RedirectCode:
        """The function that does all of `redirects`."""
        codes = [compile_redirect(redirect, self.words) for redirect in redirects]
        if len(codes) == 1:
            return codes[0]

        def apply(sh: Shell, saved: Saved) -> None:
            for code in codes:
                code(sh, saved)

        return apply

    def redirected(self, code: Code, apply: RedirectCode, process: bool) -> Code:
        """The command with its redirections; `process`: there is a process substitution in them."""

        def run(sh: Shell) -> int:
            saved: Saved = []
            mark = len(sh.process_descriptors)
            try:
                try:
                    apply(sh, saved)
                except ShellError as error:
                    if error.expanding:
                        raise
                    sh.report(error)
                    return sh.failed(1)
                try:
                    status = code(sh)
                except ShellError as error:
                    sh.tell(error)
                    raise
            finally:
                failed = restore(sh, saved)
                if process:
                    sh.end_process_substitutions(mark)
            return sh.failed(status or 1) if failed else status

        return run

    def redirected_stream(self, code: StreamCode, apply: RedirectCode) -> StreamCode:
        """The same in the other flavour."""

        def stream(sh: Shell) -> Generator[None, None, int]:
            saved: Saved = []
            mark = len(sh.process_descriptors)
            try:
                try:
                    apply(sh, saved)
                except ShellError as error:
                    if error.expanding:
                        raise
                    sh.report(error)
                    return sh.failed(1)
                try:
                    status = yield from code(sh)
                except ShellError as error:
                    sh.tell(error)
                    raise
            finally:
                failed = restore(sh, saved)
                sh.end_process_substitutions(mark)
            return sh.failed(status or 1) if failed else status

        return stream

    # -- simple commands ---------------------------------------------------------------------------

    def _prepare(self, node: Simple) -> _Prepared:
        prepared = _Prepared()
        prepared.line = node.line
        words = node.words
        if any(isinstance(word, Assignment) for word in words):
            prepared.arguments = self.assignments.declaration_arguments(words)
        else:
            prepared.arguments = self.words.arguments(words)  # type: ignore[arg-type]
        prepared.assignments = [self.assignments.assign(item) for item in node.assignments]
        prepared.temporary = [self.assignments.temporary(item) for item in node.assignments] if words else []
        prepared.redirect = self.redirects(node.redirects) if node.redirects else None
        parts = [*words, *node.assignments, *node.redirects]
        prepared.process = has_process(parts)
        prepared.substitutes = has_substitution(parts)
        head = words[0] if words else None
        prepared.name = head.literal() if isinstance(head, Word) else None
        return prepared

    def _run_simple(self, node: Simple, tested: bool) -> Code:
        prepared = self._prepare(node)
        if not node.words:
            return self._run_assignments(node, prepared, tested)
        if prepared.name == "local" and not node.redirects and not node.assignments:
            quick = self._local_values(node)
            if quick is not None:
                return self._run_local(node, quick, self._run_general(node, prepared, tested))
        return self._run_general(node, prepared, tested)

    def _local_values(self, node: Simple) -> list[tuple[str, Callable[[Shell], str] | None]] | None:
        """Names and values of a `local` that only makes plain variables; None when it does more."""
        values: list[tuple[str, Callable[[Shell], str] | None]] = []
        for word in node.words[1:]:
            if isinstance(word, Assignment):
                if word.elements is not None or word.subscript is not None or word.append:
                    return None
                name, value = word.name, self.words.text(word.value, assignment=True)
            else:
                text = word.literal()
                if text is None or not is_name(text):
                    return None
                name, value = text, None
            if name in Variables.setters or name in Variables.getters or name in Variables.array_getters:
                return None
            values.append((name, value))
        return values or None

    def _run_local(
        self, node: Simple, values: list[tuple[str, Callable[[Shell], str] | None]], general: Code
    ) -> Code:
        """`local` without options: no builtin is called and no text is taken apart again."""
        names = [name for name, _ in values]
        codes = [code for _, code in values]

        def run(sh: Shell) -> int:
            variables = sh.variables
            scopes = variables.scopes
            if (
                sh.tracing
                or not sh.function_depth
                or "local" in sh.functions
                or scopes[-1].temporary
                or "localvar_inherit" in sh.shopts
            ):
                return general(sh)
            table = sh.table
            for name in names:
                old = table.get(name)
                if (old is not None and old.flags & ~(INDEXED | ASSOCIATIVE)) or (
                    len(scopes) > 1 and scopes[-2].temporary
                ):
                    return general(sh)
            sh.line = node.line
            sh.node = node
            sh.counters.count_command()
            sh.pipe_statuses = None
            texts = [code(sh) if code is not None else None for code in codes]
            saved = scopes[-1].saved
            for name, text in zip(names, texts, strict=True):
                old = table.get(name)
                if name not in saved:
                    if text is not None:
                        variables.grow(text)
                    saved[name] = old
                    table[name] = Variable(text, variables.new_flags)
                elif text is not None:
                    variables.set(name, text)
            return 0

        return run

    def _run_general(self, node: Simple, prepared: _Prepared, tested: bool) -> Code:
        line = prepared.line
        arguments = prepared.arguments
        dynamic = prepared.name is None
        if not node.assignments and not node.redirects and not prepared.process:

            def simple(sh: Shell) -> int:
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

        def full(sh: Shell) -> int:
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
                    sh.bind_temporary(prepared.temporary)
                    bound = True
                if tracing:
                    sh.trace(argv)
                if prepared.redirect is not None:
                    try:
                        if bound:
                            _redirect_outside(sh, prepared.redirect, saved)
                        else:
                            prepared.redirect(sh, saved)
                    except ShellError as error:
                        status = _redirection_failed(sh, argv, error)
                        return status if tested else sh.failed(status)
                if argv:
                    keep = argv[0] == "exec" and len(argv) == 1
                    function = argv[0] in sh.functions
                    status = sh.execute(argv, tested)
                else:
                    for assign in prepared.assignments:
                        assign(sh)
            except ShellError as error:
                if saved:
                    sh.tell(error)
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

    def _run_assignments(self, node: Simple, prepared: _Prepared, tested: bool) -> Code:
        line = prepared.line
        assigns = prepared.assignments
        redirect = prepared.redirect
        substitutes = prepared.substitutes
        process = prepared.process
        if len(assigns) == 1 and redirect is None and not substitutes and not process:
            only = assigns[0]

            def one(sh: Shell) -> int:
                sh.line = line
                sh.node = node
                if sh.debug_trap and sh.run_debug_trap():
                    return 0
                only(sh)
                sh.pipe_statuses = None
                sh.last_argument = ""
                return 0

            return one

        def run(sh: Shell) -> int:
            sh.line = line
            sh.node = node
            sh.substitution_status = 0
            if sh.debug_trap and sh.run_debug_trap():
                return 0
            saved: Saved = []
            mark = len(sh.process_descriptors)
            try:
                if redirect is not None:
                    try:
                        redirect(sh, saved)
                    except ShellError as error:
                        if error.expanding:
                            raise
                        sh.report(error)
                        sh.last_argument = ""
                        return 1 if tested else sh.failed(1)
                for assign in assigns:
                    assign(sh)
            finally:
                restore(sh, saved)
                if process:
                    sh.end_process_substitutions(mark)
            return _nothing_run(sh, node, tested)

        return run

    def _stream_simple(self, node: Simple, tested: bool) -> StreamCode:
        if not node.words:
            plain = self.run(node, tested)

            def assign_only(sh: Shell) -> Generator[None, None, int]:
                return plain(sh)
                yield

            return assign_only
        prepared = self._prepare(node)

        def stream(sh: Shell) -> Generator[None, None, int]:
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
                    sh.bind_temporary(prepared.temporary)
                    bound = True
                if tracing:
                    sh.trace(argv)
                if prepared.redirect is not None:
                    try:
                        if bound:
                            _redirect_outside(sh, prepared.redirect, saved)
                        else:
                            prepared.redirect(sh, saved)
                    except ShellError as error:
                        status = _redirection_failed(sh, argv, error)
                        return status if tested else sh.failed(status)
                if argv:
                    keep = argv[0] == "exec" and len(argv) == 1
                    function = argv[0] in sh.functions
                    status = yield from sh.stream_execute(argv, tested)
                else:
                    for assign in prepared.assignments:
                        assign(sh)
            except ShellError as error:
                if saved:
                    sh.tell(error)
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
            if sh.fds[1].full or sh.background:
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


def _redirect_outside(sh: Shell, apply: RedirectCode, saved: Saved) -> None:
    """Do the redirections of a command, whose words know nothing of the variables that are its own."""
    variables = sh.variables
    variables.exchange()
    try:
        apply(sh, saved)
    finally:
        variables.exchange()


def _redirection_failed(sh: Shell, argv: list[str], error: ShellError) -> int:
    """What a command with a wrong redirection ends with. A program's are done by a process of its own, which
    is all that an error in expanding them ends."""
    sh.last_argument = argv[-1] if argv else ""
    if error.expanding:
        if not argv or argv[0] in sh.functions or argv[0] in sh.builtins:
            raise error
        sh.complain(error.message)
        return error.status if error.fatal else 1
    sh.report(error)
    return 1


def _leave(shell: Shell, saved: Saved, keep: bool, argv: list[str]) -> bool:
    """Undo a command's redirections, or with `keep` make them last; whether writing failed at the end."""
    if not keep:
        name = argv[0] if argv else ""
        return restore(shell, saved, name if name in shell.builtins and name not in shell.functions else "")
    failed = False
    for number, before in saved:
        if number == 0:
            shell.plain_input = shell.fds.get(0)
        if before is not None:
            failed |= let_go(shell, before)
    return failed


def _nothing_run(sh: Shell, node: Simple, tested: bool) -> int:
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
        "line",
        "name",
        "process",
        "redirect",
        "substitutes",
        "temporary",
    )

    arguments: ArgumentsCode
    assignments: list[Callable[[Shell], None]]
    temporary: list[Callable[[Shell, Scope], None]]
    redirect: RedirectCode | None
    line: int
    process: bool
    substitutes: bool
    name: str | None
