"""`ulimit`: limits of resources, set and reported as for any process of a user without privileges."""

from __future__ import annotations

from planaria_shell.builtins.registry import BuiltinUsageError, builtin, options_of
from planaria_shell.errors import ShellError
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.resources import Limit

#: Letter, title, and how the unit is shown.
_RESOURCES: tuple[tuple[str, str, str], ...] = (
    ("R", "real-time non-blocking time", "(microseconds, -R)"),
    ("c", "core file size", "(blocks, -c)"),
    ("d", "data seg size", "(kbytes, -d)"),
    ("e", "scheduling priority", "(-e)"),
    ("f", "file size", "(blocks, -f)"),
    ("i", "pending signals", "(-i)"),
    ("l", "max locked memory", "(kbytes, -l)"),
    ("m", "max memory size", "(kbytes, -m)"),
    ("n", "open files", "(-n)"),
    ("p", "pipe size", "(512 bytes, -p)"),
    ("q", "POSIX message queues", "(bytes, -q)"),
    ("r", "real-time priority", "(-r)"),
    ("s", "stack size", "(kbytes, -s)"),
    ("t", "cpu time", "(seconds, -t)"),
    ("u", "max user processes", "(-u)"),
    ("v", "virtual memory", "(kbytes, -v)"),
    ("x", "file locks", "(-x)"),
)
_ROWS = {row[0]: row for row in _RESOURCES}


def _shown(limit: Limit) -> str:
    return "unlimited" if limit is None else str(limit)


def _above(limit: Limit, other: Limit) -> bool:
    """Whether a limit allows more than another."""
    return other is not None and (limit is None or limit > other)


def _set(shell: Interpreter, letter: str, word: str, soft: bool, hard: bool) -> None:
    old_soft, old_hard = shell.bounds[letter]
    value: Limit
    if word == "unlimited":
        value = None
    elif word in ("soft", "hard"):
        value = old_soft if word == "soft" else old_hard
    elif word.isdecimal():
        value = int(word)
    else:
        raise BuiltinUsageError(f"{word}: invalid number", 1)
    failed = f"{_ROWS[letter][1]}: cannot modify limit: "
    if (
        letter == "p"
        or (hard and not soft and _above(old_soft, value))
        or (soft and not hard and _above(value, old_hard))
    ):
        raise ShellError(failed + "Invalid argument")
    if hard and _above(value, old_hard):
        raise ShellError(failed + "Operation not permitted")
    limits = value if soft else old_soft, value if hard else old_hard
    shell.set_bounds({**shell.bounds, letter: limits})


@builtin("ulimit")
def ulimit(shell: Interpreter, argv: list[str]) -> int:
    options, words = options_of(argv, "SHa" + "".join(f"{letter};" for letter in _ROWS))
    letters = [letter for letter, _ in options if letter not in "SH"]
    kinds = {letter for letter, _ in options if letter in "SH"}
    place = 1 if kinds == {"H"} else 0
    requests = [(letter, word) for letter, word in options if letter not in "SH"]
    if not letters:
        requests = [("f", words[0] if words else "")]
    if "a" in letters:
        requests = [(letter, "") for letter, _, _ in _RESOURCES]
    for letter, word in requests:
        if word:
            _set(shell, letter, word, not kinds or "S" in kinds, not kinds or "H" in kinds)
            continue
        shown = _shown(shell.bounds[letter][place])
        if len(requests) > 1:
            shown = f"{_ROWS[letter][1]:<20}{_ROWS[letter][2]:>20} {shown}"
        shell.output(f"{shown}\n".encode())
    return 0
