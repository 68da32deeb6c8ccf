"""Redirections: compiled to functions that change the descriptor table and remember how to undo it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Generator

from planaria_shell.errors import ReadonlyError, ShellError
from planaria_shell.expand.words import TextCode, WordCompiler
from planaria_shell.state.builtin import SPECIAL
from planaria_shell.state.control import Exit
from planaria_shell.state.interpreter import Code, Interpreter, StreamCode
from planaria_shell.state.process_files import descriptor_in, file_of
from planaria_shell.state.resources import FROM_THE_START
from planaria_shell.state.streams import (
    DescriptorInput,
    DescriptorOutput,
    FileUpdate,
    NullStream,
    Stream,
    TextInput,
    flush_all,
)
from planaria_shell.syntax.nodes import Redirect

__all__ = [
    "HAS_UMASK",
    "RedirectCode",
    "Saved",
    "compile_redirect",
    "compile_redirects",
    "let_go",
    "open_stream",
    "redirected",
    "redirected_stream",
    "redirection_failed",
    "restore",
    "target_of",
]


#: Descriptors as they were: number and stream (None: it was closed), in the order of the changes.
Saved = list[tuple[int, "Stream | None"]]
RedirectCode = Callable[["Interpreter", Saved], None]

#: Whether the system itself takes permissions away from new files.
HAS_UMASK = hasattr(os, "umask")
_READ, _WRITE, _APPEND, _UPDATE = "<", ">", ">>", "<>"
_WRITING, _APPENDING = os.O_WRONLY | os.O_CREAT | os.O_TRUNC, os.O_WRONLY | os.O_CREAT | os.O_APPEND


def restore(shell: Interpreter, saved: Saved, name: str = "") -> bool:
    """Undo redirections; returns whether a write to a file failed, which is reported.

    `name` is the builtin that wrote, if it was one.
    """
    fds = shell.fds
    failed = False
    for number, before in reversed(saved):
        current = fds.pop(number, None)
        if before is not None:
            fds[number] = before
        if current is not None:
            failed |= let_go(shell, current, name)
    return failed


def let_go(shell: Interpreter, stream: Stream, name: str = "") -> bool:
    """Drop one descriptor of `stream`; returns whether writing its last bytes failed, which is reported."""
    try:
        stream.release()
        if shell.bounds is not FROM_THE_START:
            stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        shell.write_failed(error, name)
        return True
    return False


def _change(shell: Interpreter, saved: Saved, number: int, stream: Stream | None) -> None:
    saved.append((number, shell.fds.pop(number, None)))
    if stream is not None:
        shell.fds[number] = stream


def open_stream(shell: Interpreter, name: str, mode: str, *, clobber: bool = True) -> Stream:
    """Open `name` as a redirection does: mode `<`, `>`, `>>` or `<>`; raises `ShellError`."""
    path: str | None = None
    if name.startswith(("/dev/", "/proc")):
        path = file_of(shell, name)
        special = _special(shell, name) if path is None else None
        if special is not None:
            return special
    if not name:
        raise ShellError(": No such file or directory")
    path = path or shell.path(name)
    flush_all()
    if shell.fifos_expected[0] and (fifo := shell.fifo(path)) is not None:
        if mode in (_READ, _UPDATE):
            return fifo.reader(shell.job_owner, update=mode == _UPDATE)
        return fifo.writer()
    try:
        if mode == _READ:
            if shell.bounds is not FROM_THE_START:
                shell.may_open(name)
            return DescriptorInput(os.open(path, os.O_RDONLY), path)
        if mode == _UPDATE:
            return FileUpdate(os.open(path, os.O_RDWR | os.O_CREAT, 0o666 & ~shell.umask), path)
        if not clobber and mode == _WRITE and os.path.isfile(path):
            raise ShellError(f"{name}: cannot overwrite existing file")
        umask = shell.umask
        if shell.system.umask != umask:
            shell.apply_umask()
        if shell.bounds is not FROM_THE_START:
            shell.apply_limits()
            shell.may_open(name)
        new = not HAS_UMASK and umask != 0o022 and not os.path.lexists(path)
        descriptor = os.open(path, _APPENDING if mode == _APPEND else _WRITING, 0o666 & ~umask)
        if new:
            # The system has no umask that would do it.
            os.chmod(path, 0o666 & ~umask)
        return DescriptorOutput(descriptor, path)
    except OSError as error:
        failure = ShellError(f"{name}: {os.strerror(error.errno or errno.EIO)}")
        failure.errno = error.errno or errno.EIO
        raise failure from None


def _special(shell: Interpreter, name: str) -> Stream | None:
    """What stands for a descriptor or for nothing; None of a name of a file."""
    number = descriptor_in(shell, name)
    if number is not None:
        stream = shell.fds.get(number)
        if stream is None:
            raise ShellError(f"{name}: No such file or directory")
        return stream.retain()
    return NullStream() if name == "/dev/null" else None


def _restricted(name: str) -> ShellError:
    return ShellError(f"{name}: restricted: cannot redirect output")


def _open_target(shell: Interpreter, name: str, mode: str, *, clobber: bool) -> Stream:
    """Open the target of a redirection, unless a restricted shell may not write into it."""
    if shell.restricted and mode != _READ:
        raise _restricted(name)
    return open_stream(shell, name, mode, clobber=clobber)


def compile_redirect(redirect: Redirect, words: WordCompiler) -> RedirectCode:
    """The function that does one redirection."""
    operator = redirect.operator
    code: RedirectCode
    if operator in ("<<", "<<-"):
        code = _here(redirect, words.text(redirect.target), "")
    elif operator == "<<<":
        code = _here(redirect, words.text(redirect.target), "\n")
    elif operator in ("<&", ">&"):
        code = _duplicate(redirect, target_of(redirect, words), operator)
    elif operator in ("&>", "&>>"):
        code = _both(target_of(redirect, words), _APPEND if operator == "&>>" else _WRITE)
    else:
        default = 0 if operator in ("<", "<>") else 1
        mode = _WRITE if operator == ">|" else operator
        code = _file(redirect, target_of(redirect, words), mode, default, operator == ">|")
    return code


def target_of(redirect: Redirect, words: WordCompiler) -> TextCode:
    """The target, which must expand to one word."""
    constant = words.constant(redirect.target)
    if constant is not None and not any(char in constant for char in "*?[{"):
        return lambda sh: constant
    if words.is_one_field(redirect.target):
        return _expanding(words.text(redirect.target))
    arguments = words.arguments([redirect.target])
    source = redirect.target.source

    def target(sh: Interpreter) -> str:
        try:
            found = arguments(sh)
        except ShellError as error:
            error.expanding = True
            raise
        if len(found) != 1:
            raise ShellError(f"{source}: ambiguous redirect")
        return found[0]

    return target


def _expanding(text: TextCode) -> TextCode:
    """A text of a redirection: when it cannot be expanded, more than the redirection has failed."""

    def target(sh: Interpreter) -> str:
        try:
            return text(sh)
        except ShellError as error:
            error.expanding = True
            raise

    return target


def _number(shell: Interpreter, redirect: Redirect, default: int) -> int:
    return default if redirect.fd is None else redirect.fd


def _place(shell: Interpreter, saved: Saved, redirect: Redirect, default: int, stream: Stream) -> None:
    """Put the stream where the redirection says; `{name}` gets a free number that outlives the command."""
    if redirect.variable:
        number = shell.free_descriptor()
        if number >= shell.open_files:
            stream.release()
            raise ShellError("redirection error: cannot duplicate fd: Too many open files")
        shell.fds[number] = stream
        try:
            shell.assign(redirect.variable, str(number))
        except ReadonlyError as error:
            del shell.fds[number]
            stream.release()
            shell.complain(error.message)
            raise ShellError(f"{redirect.variable}: cannot assign fd to variable") from None
        if "varredir_close" in shell.shopts:
            saved.append((number, None))
        return
    number = default if redirect.fd is None else redirect.fd
    if number >= shell.open_files:
        stream.release()
        raise ShellError(f"{number}: Bad file descriptor")
    _change(shell, saved, number, stream)


def _file(redirect: Redirect, target: TextCode, mode: str, default: int, force: bool) -> RedirectCode:
    if not redirect.variable:
        number = default if redirect.fd is None else redirect.fd
        writes = mode != _READ

        def place(sh: Interpreter, saved: Saved) -> None:
            name = target(sh)
            if writes and sh.restricted:
                raise _restricted(name)
            stream = open_stream(sh, name, mode, clobber=force or not sh.noclobber)
            if number >= sh.open_files:
                stream.release()
                raise ShellError(f"{number}: Bad file descriptor")
            fds = sh.fds
            saved.append((number, fds.pop(number, None)))
            fds[number] = stream

        return place

    def apply(sh: Interpreter, saved: Saved) -> None:
        name = target(sh)
        _place(sh, saved, redirect, default, _open_target(sh, name, mode, clobber=force or not sh.noclobber))

    return apply


def _here(redirect: Redirect, text: TextCode, ending: str) -> RedirectCode:
    text = _expanding(text)

    def apply(sh: Interpreter, saved: Saved) -> None:
        data = (text(sh) + ending).encode("utf-8", "surrogateescape")
        _place(sh, saved, redirect, 0, TextInput(data))

    return apply


def _both(target: TextCode, mode: str) -> RedirectCode:
    def apply(sh: Interpreter, saved: Saved) -> None:
        stream = _open_target(sh, target(sh), mode, clobber=not sh.noclobber)
        _change(sh, saved, 1, stream)
        _change(sh, saved, 2, stream.retain())

    return apply


def _duplicate(redirect: Redirect, target: TextCode, operator: str) -> RedirectCode:
    default = 0 if operator == "<&" else 1

    def apply(sh: Interpreter, saved: Saved) -> None:
        name = target(sh)
        if name == "-":
            if redirect.variable:
                name, _, subscript = redirect.variable.rstrip("]").partition("[")
                found = sh.variables.get_element(name, subscript) if subscript else sh.variables.get(name)
                text = found or ""
                if not text.isdecimal():
                    raise ShellError(f"{redirect.variable}: ambiguous redirect")
                stream = sh.fds.pop(int(text), None)
                if stream is not None:
                    let_go(sh, stream)
                return
            _change(sh, saved, _number(sh, redirect, default), None)
            return
        moves = name.endswith("-") and name[:-1].isdecimal()
        number_text = name[:-1] if moves else name
        if not number_text.isdecimal():
            if operator == ">&" and redirect.fd in (None, 1) and not redirect.variable:
                stream = _open_target(sh, name, _WRITE, clobber=not sh.noclobber)
                _change(sh, saved, 1, stream)
                _change(sh, saved, 2, stream.retain())
                return
            raise ShellError(f"{name}: ambiguous redirect")
        source = sh.fds.get(int(number_text))
        if source is None:
            raise ShellError(f"{redirect.target.source}: Bad file descriptor")
        source.retain()
        _place(sh, saved, redirect, default, source)
        if moves and int(number_text) != _number(sh, redirect, default):
            _change(sh, saved, int(number_text), None)

    return apply


def compile_redirects(redirects: list[Redirect], words: WordCompiler) -> RedirectCode:
    """The function that does all of `redirects`."""
    codes = [compile_redirect(redirect, words) for redirect in redirects]
    if len(codes) == 1:
        return codes[0]

    def apply(sh: Interpreter, saved: Saved) -> None:
        for code in codes:
            code(sh, saved)

    return apply


def redirected(code: Code, apply: RedirectCode, process: bool) -> Code:
    """The command with its redirections; `process`: there is a process substitution in them."""

    def run(sh: Interpreter) -> int:
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
                sh.report_error(error)
                raise
        finally:
            failed = restore(sh, saved)
            if process:
                sh.end_process_substitutions(mark)
        return sh.failed(status or 1) if failed else status

    return run


def redirected_stream(code: StreamCode, apply: RedirectCode) -> StreamCode:
    """The same in the other flavour."""

    def stream(sh: Interpreter) -> Generator[None, None, int]:
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
                sh.report_error(error)
                raise
        finally:
            failed = restore(sh, saved)
            sh.end_process_substitutions(mark)
        return sh.failed(status or 1) if failed else status

    return stream


def redirection_failed(sh: Interpreter, argv: list[str], error: ShellError) -> int:
    """What a command with a wrong redirection ends with. A program's are done by a process of its own, which
    is all that an error in expanding them ends."""
    sh.last_argument = argv[-1] if argv else ""
    if error.expanding:
        if not argv or argv[0] in sh.functions or argv[0] in sh.builtins:
            raise error
        sh.report_error(error)
        return error.status if error.fatal and not (sh.script or sh.reads_input) else 1
    sh.report(error)
    if sh.posix and not sh.interactive and argv and argv[0] in SPECIAL and argv[0] not in sh.functions:
        raise Exit(1)
    return 1
