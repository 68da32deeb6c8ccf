"""`ulimit`: limits are remembered and told as for any process; what binds are those of the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..variable import ShellError
from .registry import UsageError, builtin, options_of

if TYPE_CHECKING:
    from ..shell import Shell

#: Letter, title, unit, how the unit is shown, and the limit from the start (None: there is none).
_RESOURCES: tuple[tuple[str, str, str, int | None], ...] = (
    ("R", "real-time non-blocking time", "(microseconds, -R)", None),
    ("c", "core file size", "(blocks, -c)", 0),
    ("d", "data seg size", "(kbytes, -d)", None),
    ("e", "scheduling priority", "(-e)", 0),
    ("f", "file size", "(blocks, -f)", None),
    ("i", "pending signals", "(-i)", 127000),
    ("l", "max locked memory", "(kbytes, -l)", 8192),
    ("m", "max memory size", "(kbytes, -m)", None),
    ("n", "open files", "(-n)", 1024),
    ("p", "pipe size", "(512 bytes, -p)", 8),
    ("q", "POSIX message queues", "(bytes, -q)", 819200),
    ("r", "real-time priority", "(-r)", 0),
    ("s", "stack size", "(kbytes, -s)", 8192),
    ("t", "cpu time", "(seconds, -t)", None),
    ("u", "max user processes", "(-u)", 127000),
    ("v", "virtual memory", "(kbytes, -v)", None),
    ("x", "file locks", "(-x)", None),
)
_ROWS = {row[0]: row for row in _RESOURCES}
#: Hard limits that are higher than the soft ones from the start.
_HARD: dict[str, int | None] = {"c": None, "n": 1048576, "s": None}


def _limits(shell: Shell, letter: str) -> tuple[int | None, int | None]:
    """The soft and the hard limit of a resource."""
    first = _ROWS[letter][3]
    return shell.resource_limits.get(letter, (first, _HARD.get(letter, first)))


def _shown(limit: int | None) -> str:
    return "unlimited" if limit is None else str(limit)


def _above(limit: int | None, other: int | None) -> bool:
    """Whether a limit allows more than another."""
    return other is not None and (limit is None or limit > other)


def _set(shell: Shell, letter: str, word: str, soft: bool, hard: bool) -> None:
    old_soft, old_hard = _limits(shell, letter)
    value: int | None
    if word == "unlimited":
        value = None
    elif word in ("soft", "hard"):
        value = old_soft if word == "soft" else old_hard
    elif word.isdecimal():
        value = int(word)
    else:
        raise UsageError(f"{word}: invalid number", 1)
    failed = f"{_ROWS[letter][1]}: cannot modify limit: "
    if (
        letter == "p"
        or (hard and not soft and _above(old_soft, value))
        or (soft and not hard and _above(value, old_hard))
    ):
        raise ShellError(failed + "Invalid argument")
    if hard and _above(value, old_hard):
        raise ShellError(failed + "Operation not permitted")
    shell.resource_limits[letter] = (value if soft else old_soft, value if hard else old_hard)


@builtin("ulimit")
def ulimit(shell: Shell, argv: list[str]) -> int:
    options, words = options_of(argv, "SHa" + "".join(_ROWS))
    letters = [letter for letter, _ in options if letter not in "SH"]
    kinds = {letter for letter, _ in options if letter in "SH"}
    place = 1 if kinds == {"H"} else 0
    if len(words) > 1:
        raise UsageError("too many arguments", 1)
    if "a" in letters:
        lines = [
            f"{title:<20}{unit:>20} {_shown(_limits(shell, letter)[place])}"
            for letter, title, unit, _ in _RESOURCES
        ]
    elif words:
        for letter in letters or ["f"]:
            _set(shell, letter, words[0], not kinds or "S" in kinds, not kinds or "H" in kinds)
        return 0
    elif len(letters) > 1:
        lines = [
            f"{_ROWS[letter][1]:<20}{_ROWS[letter][2]:>20} {_shown(_limits(shell, letter)[place])}"
            for letter in letters
        ]
    else:
        lines = [_shown(_limits(shell, (letters or ["f"])[0])[place])]
    shell.output(("\n".join(lines) + "\n").encode())
    return 0
