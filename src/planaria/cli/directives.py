"""What can be said to the session itself at the prompt: lines that begin with `%`, as in IPython."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import decode_source
from pathlib import Path
from typing import Final

from planaria import Session
from planaria.cli.prompt_syntax import in_private
from planaria.session.kernel_queries import evaluate

__all__ = ["PREFIX", "Cell", "DirectiveError", "directive_names", "obey"]

PREFIX: Final = "%"


@dataclass(frozen=True, slots=True)
class Cell:
    """What a directive has the session execute."""

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
    takes_code: bool = False
    """Whether the rest of the line is one argument, as it is."""


_directives: Final[dict[str, _Directive]] = {}


def directive_names() -> list[str]:
    """All directives with their prefix, sorted."""
    return sorted(PREFIX + name for name in _directives)


def obey(line: str, session: Session) -> str | Cell:
    """Do what a line that begins with `%` says; returns what to show, or to execute.

    A line that is for no directive is code. Raises DirectiveError when the arguments are not understood,
    otherwise what the session raises.
    """
    name, _, rest = line.removeprefix(PREFIX).partition(" ")
    directive = _directives.get(name or "help")
    if directive is None:
        return Cell(line)  # a magic, which the sandbox knows
    try:
        arguments = [rest] if directive.takes_code and rest.strip() else shlex.split(rest)
    except ValueError as error:
        raise DirectiveError(f"{line}: {error}") from None
    if not directive.least <= len(arguments) <= directive.most:
        raise DirectiveError(f"usage: {PREFIX}{directive.usage}")
    return directive.act(session, *arguments)


def _directive(
    usage: str, purpose: str, *, takes_code: bool = False
) -> Callable[[Callable[..., str | Cell]], Callable[..., str | Cell]]:
    """Make a function a directive; in `usage`, arguments in brackets may be left out."""
    name, *arguments = usage.split()

    def register(act: Callable[..., str | Cell]) -> Callable[..., str | Cell]:
        least = sum(not argument.startswith("[") for argument in arguments)
        _directives[name] = _Directive(usage, purpose, least, len(arguments), act, takes_code)
        return act

    return register


def _count(text: str) -> int:
    if not text.isdecimal():
        raise DirectiveError(f"{text!r} is not a number of executions")
    return int(text)


@_directive("help", "this list")
def _help(_session: Session) -> str:
    width = max(len(directive.usage) for directive in _directives.values())
    lines = [f"{PREFIX}{one.usage:{width}}  {one.purpose}" for one in _directives.values()]
    others = (
        "!COMMAND runs in the shell, NAME? and NAME?? describe a value, Out[N] and _N are earlier values, "
        f"{PREFIX}lsmagic lists what cells have beside these."
    )
    keys = "Alt-Enter runs a cell as it is, Ctrl-C stops it or clears the line, Ctrl-D leaves."
    return "\n".join([*lines, others, keys])


@_directive("undo [N]", "make the last execution, or the last N, never have happened")
def _undo(session: Session, count: str = "1") -> str:
    session.undo(_count(count))
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


# -- code -------------------------------------------------------------------------------------------------


_TIMEIT: Final = """
import timeit
timer = timeit.Timer(statement, globals=space)
number, _ = timer.autorange()
best = min(timer.repeat(5, number)) / number
for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
    if best >= scale:
        break
print(f"{number} loops, best of 5: {best / scale:.3g} {unit} per loop")
"""
_TIME: Final = """
import time
wall, processor = time.perf_counter(), time.process_time()
try:
    exec(compile(statement, "<time>", "exec"), space)
finally:
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"wall time {wall:.3g} s, processor time {processor:.3g} s")
"""
_WHO: Final = (
    "[(name, type(value).__name__) for name, value in globals().items() "
    "if name[:1] != '_' and name != 'Out' and type(value).__name__ != 'module']"
)


@_directive("timeit STATEMENT", "how long a statement takes, repeated", takes_code=True)
def _timeit(_session: Session, statement: str) -> Cell:
    return Cell(in_private(_TIMEIT, statement=statement))


@_directive("time STATEMENT", "how long a statement takes, once", takes_code=True)
def _time(_session: Session, statement: str) -> Cell:
    return Cell(in_private(_TIME, statement=statement))


@_directive("run FILE", "run a Python file of this computer among the session's variables")
def _run(_session: Session, file: str) -> Cell:
    try:
        return Cell(decode_source(Path(file).expanduser().read_bytes()))
    except OSError as error:
        raise DirectiveError(f"cannot read {file}: {error.strerror}") from None
    except (SyntaxError, UnicodeDecodeError) as error:
        raise DirectiveError(f"{file} is not a Python program: {error}") from None


@_directive("who", "the variables and their types")
def _who(session: Session) -> str:
    found = evaluate(session._engine, _WHO)
    names = sorted(found) if isinstance(found, list) else []
    width = max((len(name) for name, _ in names), default=0)
    return "\n".join(f"{name:{width}}  {kind}" for name, kind in names) or "no variables"
