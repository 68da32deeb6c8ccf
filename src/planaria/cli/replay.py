"""`planaria replay FILE`: a recording, executed again command by command."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import planaria
from planaria.cli.printable import printable
from planaria.errors import PlanariaError
from planaria.session.line_stops import Line
from planaria.snapshot.recording import Began

__all__ = ["replay_file"]

_PROMPT: Final = "(replay) "
_HELP: Final = """\
step, s          do the next execution again
call, c          go on to the next call that the code awaits, at most to the end of its execution
until N, u N     go on to where line N of the next execution comes; until N CELL for one of that cell
next, n          go on by one line
previous         go back by one line
back, b          go back by one execution, or from a line to before its execution
go N, g N        go to the state after N executions
run, r           do all the rest again
print CODE, p    show what CODE gives here, in a copy
list, l          list the executions
calls            list the calls that wait here
explain NAME     show which execution last changed a variable
digest           show the digest of the state
quit, q          end
"""
#: Characters of the code of an execution in a list.
_SHOWN: Final = 60


def replay_file(path: Path) -> int:
    """Read commands until `quit` or the end; 1, the exit status, when one failed outside of a terminal."""
    is_terminal = sys.stdin.isatty()
    failed = False
    with planaria.replay(path) as replay:
        debugger = _Debugger(replay)
        print(f"{len(replay.executions)} executions; help lists the commands")
        last = ""
        while True:
            if is_terminal:
                print(_PROMPT, end="", flush=True)
            line = sys.stdin.readline()
            if not line:
                break
            last = line.strip() or last
            if last in ("quit", "q"):
                break
            try:
                debugger.do(last)
            except (PlanariaError, ValueError) as error:
                print(error, file=sys.stderr)
                failed = True
    return int(failed and not is_terminal)


class _Debugger:
    """The commands, each a method."""

    def __init__(self, replay: planaria.Replay) -> None:
        self._replay = replay
        self._commands: dict[str, Callable[[str], None]] = {
            "step": self._step,
            "call": self._call,
            "until": self._until,
            "next": self._next,
            "previous": self._previous,
            "back": self._back,
            "go": self._go,
            "run": self._run,
            "print": self._print,
            "list": self._list,
            "calls": self._calls,
            "explain": self._explain,
            "digest": self._digest,
            "help": lambda _: print(_HELP, end=""),
        }
        shorts = {
            name[0]: name
            for name in ("step", "call", "until", "next", "back", "go", "run", "print", "list", "help")
        }
        self._commands |= {short: self._commands[name] for short, name in shorts.items()}

    def do(self, line: str) -> None:
        """Do what a line says. Raises ValueError for what is not a command."""
        name, _, rest = line.partition(" ")
        if not name:
            return
        command = self._commands.get(name)
        if command is None:
            raise ValueError(f"{name}: unknown command; help lists them")
        command(rest.strip())

    def _where(self) -> None:
        replay = self._replay
        print(f"after {replay.position} of {len(replay.executions)} executions")

    def _step(self, _: str) -> None:
        replay = self._replay
        result = replay.step()
        if result is None:
            print("this is the end of the recording")
            return
        print(f"[{result.execution_count}] {_shown(replay.executions[replay.position - 1].code)}")
        if text := str(result):
            print(_printable(text))

    def _call(self, _: str) -> None:
        replay = self._replay
        calls = replay.step_call()
        if not calls:
            self._where()
        for call in calls:
            print(printable(repr(call)))

    def _calls(self, _: str) -> None:
        for call in self._replay.pending:
            print(printable(repr(call)))

    def _until(self, rest: str) -> None:
        numbers = rest.split()
        if len(numbers) not in (1, 2) or not all(number.isdecimal() for number in numbers):
            raise ValueError("until: give a line and, for a function of an earlier cell, its number")
        self._show_line(self._replay.until(*map(int, numbers)))

    def _next(self, _: str) -> None:
        self._show_line(self._replay.step_line())

    def _previous(self, _: str) -> None:
        line = self._replay.back_line()
        if line is None:
            self._where()
        else:
            self._show_line(line)

    def _show_line(self, line: Line | None) -> None:
        if line is None:
            print("it does not get there")
            return
        codes = {
            item.name or f"<cell {item.count}>": item.code
            for item in self._replay.recording.items
            if isinstance(item, Began)
        }
        lines = codes.get(line.cell, "").splitlines()
        text = lines[line.line - 1].strip() if line.line <= len(lines) else ""
        print(printable(f"{line.cell}, line {line.line}: {text}"))

    def _back(self, _: str) -> None:
        self._replay.back()
        self._where()

    def _go(self, rest: str) -> None:
        if not rest.isdecimal():
            raise ValueError("go: give the number of executions, such as: go 3")
        self._replay.go_to(int(rest))
        self._where()

    def _run(self, _: str) -> None:
        self._replay.run()
        self._where()

    def _print(self, rest: str) -> None:
        if not rest:
            raise ValueError("print: give code, such as: print x")
        print(_printable(str(self._replay.evaluate(rest))))

    def _list(self, _: str) -> None:
        position = self._replay.position
        for place, execution in enumerate(self._replay.executions, 1):
            mark = ">" if place == position else " "
            error = "" if execution.error is None else f"  {execution.error.splitlines()[0]}"
            print(printable(f"{mark}{place:4} [{execution.count}] {_shown(execution.code)}{error}"))

    def _explain(self, rest: str) -> None:
        if not rest.isidentifier():
            raise ValueError("explain: give the name of a variable, such as: explain x")
        position = self._replay.position
        found = self._replay.explain(rest)
        self._replay.go_to(position)
        print("no execution" if found is None else printable(f"[{found.count}] {_shown(found.code)}"))

    def _digest(self, _: str) -> None:
        print(self._replay.state_digest())


def _shown(code: str) -> str:
    lines = code.strip().splitlines() or [""]
    first = lines[0] if len(lines) == 1 else f"{lines[0]} …"
    return printable(first if len(first) <= _SHOWN else first[: _SHOWN - 1] + "…")


def _printable(text: str) -> str:
    """Several lines, each as `printable` has it."""
    return "\n".join(printable(line.replace("\t", "    ")) for line in text.split("\n"))
