"""Redirections: compiled to functions that change the descriptor table and remember how to undo it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from planaria_shell.expand.words import TextCode, WordCompiler
from planaria_shell.run.resources import FROM_THE_START
from planaria_shell.run.streams import (
    FileInput,
    FileOutput,
    FileUpdate,
    NullStream,
    Stream,
    TextInput,
    flush_all,
)
from planaria_shell.run.variable import ReadonlyError, ShellError
from planaria_shell.syntax.nodes import Redirect

if TYPE_CHECKING:
    from planaria_shell.run.shell import Shell

__all__ = ["Saved", "compile_redirect", "let_go", "open_stream", "restore"]

#: Descriptors as they were: number and stream (None: it was closed), in the order of the changes.
Saved = list[tuple[int, "Stream | None"]]
RedirectCode = Callable[["Shell", Saved], None]

#: Whether the system itself takes permissions away from new files.
HAS_UMASK = hasattr(os, "umask")
_READ, _WRITE, _APPEND, _UPDATE = "<", ">", ">>", "<>"
_NAMED = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}


def restore(shell: Shell, saved: Saved, name: str = "") -> bool:
    """Undo redirections; whether something written did not get into its file, which is told.

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


def let_go(shell: Shell, stream: Stream, name: str = "") -> bool:
    """One descriptor fewer for `stream`; whether its last bytes could not be written, which is told."""
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


def _change(shell: Shell, saved: Saved, number: int, stream: Stream | None) -> None:
    saved.append((number, shell.fds.pop(number, None)))
    if stream is not None:
        shell.fds[number] = stream


def descriptor_of(name: str) -> int | None:
    """The number that names like `/dev/fd/3` and `/dev/stdin` stand for."""
    if not name.startswith("/dev/"):
        return None
    if name in _NAMED:
        return _NAMED[name]
    if name.startswith("/dev/fd/") and name[8:].isdecimal():
        return int(name[8:])
    return None


def open_stream(shell: Shell, name: str, mode: str, *, clobber: bool = True) -> Stream:
    """Open `name` as a redirection does: mode `<`, `>`, `>>` or `<>`; raises `ShellError`."""
    if name[:5] == "/dev/":
        number = descriptor_of(name)
        if number is not None:
            stream = shell.fds.get(number)
            if stream is None:
                raise ShellError(f"{name}: No such file or directory")
            return stream.retain()
        if name == "/dev/null":
            return NullStream()
    if not name:
        raise ShellError(": No such file or directory")
    path = shell.path(name)
    flush_all()
    fifo = shell.fifo(path) if shell.fifos_expected[0] else None
    if fifo is not None:
        if mode in (_READ, _UPDATE):
            return fifo.reader(shell, update=mode == _UPDATE)
        return fifo.writer()
    try:
        if mode == _READ:
            if shell.bounds is not FROM_THE_START:
                shell.may_open(name)
            return FileInput(os.open(path, os.O_RDONLY), path)
        if mode == _UPDATE:
            return FileUpdate(os.open(path, os.O_RDWR | os.O_CREAT, 0o666 & ~shell.umask), path)
        flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if mode == _APPEND else os.O_TRUNC)
        if mode == _WRITE and not clobber and os.path.isfile(path):
            raise ShellError(f"{name}: cannot overwrite existing file")
        shell.heed_umask()
        if shell.bounds is not FROM_THE_START:
            shell.heed_limits()
            shell.may_open(name)
        if HAS_UMASK or shell.umask == 0o022:
            return FileOutput(os.open(path, flags, 0o666 & ~shell.umask), path)
        new = not os.path.lexists(path)
        descriptor = os.open(path, flags, 0o666 & ~shell.umask)
        if new:
            # The system has no umask that would do it.
            os.chmod(path, 0o666 & ~shell.umask)
        return FileOutput(descriptor, path)
    except OSError as error:
        failure = ShellError(f"{name}: {os.strerror(error.errno or errno.EIO)}")
        failure.errno = error.errno or errno.EIO
        raise failure from None


def compile_redirect(redirect: Redirect, words: WordCompiler) -> RedirectCode:
    """The function that does one redirection."""
    operator = redirect.operator
    code: RedirectCode
    if operator in ("<<", "<<-"):
        code = _here(redirect, words.text(redirect.target), "")
    elif operator == "<<<":
        code = _here(redirect, words.text(redirect.target), "\n")
    elif operator in ("<&", ">&"):
        code = _duplicate(redirect, _single(redirect, words), operator)
    elif operator in ("&>", "&>>"):
        code = _both(_single(redirect, words), _APPEND if operator == "&>>" else _WRITE)
    else:
        default = 0 if operator in ("<", "<>") else 1
        mode = _WRITE if operator == ">|" else operator
        code = _file(redirect, _single(redirect, words), mode, default, operator == ">|")
    return code


def _single(redirect: Redirect, words: WordCompiler) -> TextCode:
    """The target, which must expand to one word."""
    constant = words.constant(redirect.target)
    if constant is not None and not any(char in constant for char in "*?[{"):
        return lambda sh: constant
    if words.is_one_field(redirect.target):
        return _expanding(words.text(redirect.target))
    arguments = words.arguments([redirect.target])
    source = redirect.target.source

    def target(sh: Shell) -> str:
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

    def target(sh: Shell) -> str:
        try:
            return text(sh)
        except ShellError as error:
            error.expanding = True
            raise

    return target


def _number(shell: Shell, redirect: Redirect, default: int) -> int:
    return default if redirect.fd is None else redirect.fd


def _place(shell: Shell, saved: Saved, redirect: Redirect, default: int, stream: Stream) -> None:
    """Put the stream where the redirection says; `{name}` gets a free number that outlives the command."""
    if redirect.variable:
        number = shell.free_descriptor()
        if number >= shell.open_files:
            stream.release()
            raise ShellError("redirection error: cannot duplicate fd: Too many open files")
        try:
            shell.assign(redirect.variable, str(number))
        except ReadonlyError as error:
            stream.release()
            shell.complain(error.message)
            raise ShellError(f"{redirect.variable}: cannot assign fd to variable") from None
        shell.fds[number] = stream
        if "varredir_close" in shell.shopts:
            saved.append((number, None))
        return
    number = default if redirect.fd is None else redirect.fd
    if number >= shell.open_files:
        stream.release()
        raise ShellError(f"{number}: Bad file descriptor")
    _change(shell, saved, number, stream)


def _file(redirect: Redirect, target: TextCode, mode: str, default: int, force: bool) -> RedirectCode:
    if mode == _READ and not redirect.variable:
        number = redirect.fd or 0

        def read(sh: Shell, saved: Saved) -> None:
            stream = open_stream(sh, target(sh), _READ)
            if number >= sh.open_files:
                stream.release()
                raise ShellError(f"{number}: Bad file descriptor")
            fds = sh.fds
            saved.append((number, fds.pop(number, None)))
            fds[number] = stream

        return read

    def apply(sh: Shell, saved: Saved) -> None:
        name = target(sh)
        _place(sh, saved, redirect, default, open_stream(sh, name, mode, clobber=force or not sh.noclobber))

    return apply


def _here(redirect: Redirect, text: TextCode, ending: str) -> RedirectCode:
    text = _expanding(text)

    def apply(sh: Shell, saved: Saved) -> None:
        data = (text(sh) + ending).encode("utf-8", "surrogateescape")
        _place(sh, saved, redirect, 0, TextInput(data))

    return apply


def _both(target: TextCode, mode: str) -> RedirectCode:
    def apply(sh: Shell, saved: Saved) -> None:
        stream = open_stream(sh, target(sh), mode, clobber=not sh.noclobber)
        _change(sh, saved, 1, stream)
        _change(sh, saved, 2, stream.retain())

    return apply


def _duplicate(redirect: Redirect, target: TextCode, operator: str) -> RedirectCode:
    default = 0 if operator == "<&" else 1

    def apply(sh: Shell, saved: Saved) -> None:
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
                stream = open_stream(sh, name, _WRITE, clobber=not sh.noclobber)
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
