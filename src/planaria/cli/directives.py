"""What can be said to the session itself at the prompt: lines that begin with `%`, as in IPython."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import decode_source
from pathlib import Path
from typing import Final

from planaria import Session
from planaria.cli.forks import Forks

__all__ = ["PREFIX", "Cell", "DirectiveError", "Parallel", "directive_names", "obey"]

PREFIX: Final = "%"
_PARALLEL: Final = "%%parallel"


@dataclass(frozen=True, slots=True)
class Cell:
    """What a directive has the session execute."""

    source: str


@dataclass(frozen=True, slots=True)
class Parallel:
    """A cell for several forks of the session."""

    count: int
    source: str


class DirectiveError(Exception):
    """A directive was not understood; the message says what would be."""


@dataclass(frozen=True, slots=True)
class _Directive:
    usage: str
    purpose: str
    least: int
    most: int
    act: Callable[..., str | Cell]
    takes_forks: bool


_directives: Final[dict[str, _Directive]] = {}


def directive_names() -> list[str]:
    """All directives with their prefix, sorted."""
    return sorted([_PARALLEL, *(PREFIX + name for name in _directives)])


def obey(line: str, forks: Forks) -> str | Cell | Parallel:
    """Do what a line that begins with `%` says; returns what to show, or to execute.

    A line that is for no directive is code. Raises DirectiveError when the arguments are not understood,
    otherwise what the session raises.
    """
    first, _, body = line.partition("\n")
    if first.split()[0] == _PARALLEL:
        return _parallel(first.split()[1:], body)
    name, _, rest = line.removeprefix(PREFIX).partition(" ")
    directive = _directives.get(name or "help")
    if directive is None:
        return Cell(line)  # a magic, which the sandbox knows
    try:
        arguments = shlex.split(rest)
    except ValueError as error:
        raise DirectiveError(f"{line}: {error}") from None
    if not directive.least <= len(arguments) <= directive.most:
        raise DirectiveError(f"usage: {PREFIX}{directive.usage}")
    return directive.act(forks if directive.takes_forks else forks.session, *arguments)


def _parallel(arguments: list[str], body: str) -> Parallel:
    if len(arguments) != 1 or not body.strip():
        raise DirectiveError(f"usage: {_PARALLEL} N, and the code below it")
    return Parallel(_number(arguments[0], "forks"), body)


def _directive(
    usage: str, purpose: str, *, takes_forks: bool = False
) -> Callable[[Callable[..., str | Cell]], Callable[..., str | Cell]]:
    """Make a function a directive; in `usage`, arguments in brackets may be left out."""
    name, *arguments = usage.split()

    def register(act: Callable[..., str | Cell]) -> Callable[..., str | Cell]:
        least = sum(not argument.startswith("[") for argument in arguments)
        most = sys.maxsize if usage.endswith("...]") else len(arguments)
        _directives[name] = _Directive(usage, purpose, least, most, act, takes_forks)
        return act

    return register


def _number(text: str, of: str) -> int:
    if not text.isdecimal():
        raise DirectiveError(f"{text!r} is not a number of {of}")
    return int(text)


@_directive("help", "this list")
def _help(_session: Session) -> str:
    width = max(len(directive.usage) for directive in _directives.values())
    lines = [f"{PREFIX}{one.usage:{width}}  {one.purpose}" for one in _directives.values()]
    lines.append(
        f"{_PARALLEL + ' N':{width + 1}}  run the code below it in N forks, where FORK is the number"
    )
    others = (
        "!COMMAND runs in the shell, NAME? and NAME?? describe a value, Out[N] and _N are earlier values, "
        f"{PREFIX}lsmagic lists the magics that cells have as well, such as {PREFIX}who and {PREFIX}timeit."
    )
    keys = "Alt-Enter runs a cell as it is, Ctrl-C stops it or clears the line, Ctrl-D leaves."
    return "\n".join([*lines, others, keys])


@_directive("undo [N]", "make the last execution, or the last N, never have happened")
def _undo(session: Session, count: str = "1") -> str:
    session.undo(_number(count, "executions"))
    return f"back to the state after execution {session.execution_count}"


@_directive("redo", "take back an undo")
def _redo(session: Session) -> str:
    session.redo()
    return f"forward to the state after execution {session.execution_count}"


@_directive("checkpoint LABEL", "keep the present state under a label")
def _checkpoint(session: Session, label: str) -> str:
    session.checkpoint(label)
    return f"{PREFIX}rewind {shlex.quote(label)} comes back here"


@_directive("rewind LABEL|N", "go back to a checkpoint, or to the state after execution N")
def _rewind(session: Session, place: str) -> str:
    session.rewind(int(place) if place.isdecimal() else place)
    return f"back to the state after execution {session.execution_count}"


@_directive("fork NAME", "keep a running copy of the session", takes_forks=True)
def _fork(forks: Forks, name: str) -> str:
    forks.fork(name)
    return f"{PREFIX}switch {shlex.quote(name)} goes on from here"


@_directive("switch NAME", "go on in a copy", takes_forks=True)
def _switch(forks: Forks, name: str) -> str:
    forks.switch(name)
    return f"cells run in {name} now"


@_directive("forks", "the copies", takes_forks=True)
def _list_forks(forks: Forks) -> str:
    here, *others = forks.names()
    return "\n".join([f"{here} (cells run here)", *others])


@_directive("choose K", f"go on from fork K of the last {_PARALLEL}", takes_forks=True)
def _choose(forks: Forks, number: str) -> str:
    forks.choose(_number(number, "forks"))
    return f"cells go on from fork {number}"


@_directive("history", "the executions so far")
def _history(session: Session) -> str:
    lines = []
    for entry in session.history:
        first, *more = entry.code.strip().split("\n")
        failed = f"  # {entry.error}" if entry.error else ""
        lines.append(f"[{entry.count}] {first}{' ...' if more else ''}{failed}")
    return "\n".join(lines)


@_directive("clear", "forget all variables")
def _clear(session: Session) -> str:
    session.clear_state()
    return "variables are gone; modules and files are still there"


@_directive("reset", "start again; files stay")
def _reset(session: Session) -> str:
    session.reset()
    return "a fresh session; files are still there"


@_directive("files [DIRECTORY]", "the session's files")
def _files(session: Session, directory: str = ".") -> str:
    lines = []
    for name in session.files.listdir(directory):
        path = f"{directory.rstrip('/')}/{name}"
        if session.files.is_dir(path):
            lines.append(f"{'':>12}  {name}/")
        else:
            lines.append(f"{session.files.stat(path, follow=False).size:12,}  {name}")
    return "\n".join(lines) or f"nothing in {directory}"


@_directive("put FILE [TO]", "copy a file or directory of this computer into the session")
def _put(session: Session, file: str, to: str = "") -> str:
    host = Path(file).expanduser().resolve()
    to = to or host.name
    session.files.copy_in(host, to)
    return f"copied to {to} in the session"


@_directive("get FILE [TO]", "copy a file or directory of the session to this computer")
def _get(session: Session, file: str, to: str = "") -> str:
    to = to or file.rstrip("/").rpartition("/")[2]
    session.files.copy_out(file, Path(to).expanduser())
    return f"copied to {to} on this computer"


@_directive("run FILE [ARGUMENT...]", "run a Python file, of this computer or the session")
def _run(_session: Session, file: str, *arguments: str) -> Cell:
    host = Path(file).expanduser()
    if arguments or not host.is_file():
        return Cell(f"{PREFIX}run {shlex.join([file, *arguments])}")  # a file of the session
    try:
        return Cell(decode_source(host.read_bytes()))
    except OSError as error:
        raise DirectiveError(f"cannot read {file}: {error.strerror}") from None
    except (SyntaxError, UnicodeDecodeError) as error:
        raise DirectiveError(f"{file} is not a Python program: {error}") from None
