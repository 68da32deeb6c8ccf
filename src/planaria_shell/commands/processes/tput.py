"""tput: what a terminal can do (terminfo(5)), for scripts that write in colours and move the cursor."""

from __future__ import annotations

import re
from typing import Final

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command

__all__: list[str] = []

#: Terminals whose sequences are those of xterm (ECMA-48 and DEC's), as far as scripts use them.
_LIKE_XTERM: Final = re.compile(r"(?:xterm|screen|tmux|rxvt|linux|vt\d|ansi|konsole|gnome|kitty|alacritty)")
_DUMB: Final = {"bel": "\a", "cr": "\r", "cud1": "\n", "ind": "\n"}
_XTERM: Final = {
    **_DUMB,
    "blink": "\x1b[5m",
    "bold": "\x1b[1m",
    "civis": "\x1b[?25l",
    "clear": "\x1b[H\x1b[2J\x1b[3J",
    "cnorm": "\x1b[?12l\x1b[?25h",
    "cub1": "\b",
    "cuf1": "\x1b[C",
    "cuu1": "\x1b[A",
    "cvvis": "\x1b[?12;25h",
    "dch1": "\x1b[P",
    "dim": "\x1b[2m",
    "dl1": "\x1b[M",
    "ed": "\x1b[J",
    "el": "\x1b[K",
    "el1": "\x1b[1K",
    "home": "\x1b[H",
    "ht": "\t",
    "il1": "\x1b[L",
    "invis": "\x1b[8m",
    "op": "\x1b[39;49m",
    "rc": "\x1b8",
    "rev": "\x1b[7m",
    "ri": "\x1bM",
    "ritm": "\x1b[23m",
    "rmcup": "\x1b[?1049l\x1b[23;0;0t",
    "rmso": "\x1b[27m",
    "rmul": "\x1b[24m",
    "sc": "\x1b7",
    "sgr0": "\x1b(B\x1b[m",
    "sitm": "\x1b[3m",
    "smcup": "\x1b[?1049h\x1b[22;0;0t",
    "smso": "\x1b[7m",
    "smul": "\x1b[4m",
}
#: Sequences with parameters, each filled in as `str.format` does; rows and columns count from 1 in them.
_MOVING: Final = {
    "cub": "\x1b[{0}D",
    "cud": "\x1b[{0}B",
    "cuf": "\x1b[{0}C",
    "cuu": "\x1b[{0}A",
    "dch": "\x1b[{0}P",
    "dl": "\x1b[{0}M",
    "ech": "\x1b[{0}X",
    "ich": "\x1b[{0}@",
    "il": "\x1b[{0}L",
}
_PLACING: Final = {"cup": "\x1b[{0};{1}H", "hpa": "\x1b[{0}G", "vpa": "\x1b[{0}d"}
_COLOURING: Final = {"setaf": (30, 90, 38), "setab": (40, 100, 48)}
_FLAGS: Final = frozenset(["am", "bce", "km", "mc5i", "mir", "msgr", "npc", "xenl"])
_UNKNOWN_TERMINAL, _UNKNOWN_NAME = 3, 4


class _Terminal:
    """What a kind of terminal can do."""

    def __init__(self, name: str, env: dict[str, str]) -> None:
        self.known = name == "dumb" or _LIKE_XTERM.match(name) is not None
        self.dumb = name == "dumb"
        self.colours = -1 if self.dumb else 256 if "256color" in name else 8
        self._size = {"cols": env.get("COLUMNS", ""), "lines": env.get("LINES", "")}

    def number(self, capability: str) -> int | None:
        """A numeric capability, -1 where there is none; None for other names."""
        match capability:
            case "cols" | "lines":
                text = self._size[capability]
                if text.isdecimal() and int(text):
                    return int(text)
                return 80 if capability == "cols" else 24
            case "colors":
                return self.colours
            case "it":
                return -1 if self.dumb else 8
            case "pairs":
                return {-1: -1, 8: 64}.get(self.colours, 0x10000)
        return None

    def text(self, capability: str, values: list[int]) -> str | None:
        """A sequence, empty where the terminal has none; None for other names."""
        first, second = (*values, 0, 0)[:2]
        if capability in _COLOURING:
            low, bright, many = _COLOURING[capability]
            if self.dumb:
                return ""
            if self.colours == 8 or first < 8:
                return f"\x1b[{low // 10}{first}m"
            return f"\x1b[{bright + first - 8}m" if first < 16 else f"\x1b[{many};5;{first}m"
        known = {**_XTERM, **_MOVING, **_PLACING}
        if capability not in known:
            return None
        if self.dumb:
            return _DUMB.get(capability, "")
        if capability in _PLACING:
            first, second = first + 1, second + 1
        return known[capability].format(first, second)


@command(
    "tput",
    short="ST:Vx",
    usage="[OPTION]... [CAPABILITY [PARAMETER]...]",
    order="options first",
    failure=2,
    hint="",
)
def tput(call: Invocation) -> Status:
    """Write what makes the terminal do something, or tell what it can."""
    name = call.arguments.value("T") or call.env.get("TERM", "")
    if not name:
        call.error("No value for $TERM and no -T specified")
        return 2
    terminal = _Terminal(name, call.env)
    if not terminal.known:
        call.error(f'unknown terminal "{name}"')
        return _UNKNOWN_TERMINAL
    if call.arguments.has("S"):
        status = 0
        for line in call.stdin.read().decode("utf-8", "surrogateescape").splitlines():
            if line.strip():
                status = _report(call, terminal, line.split())
        return status
    if not call.operands:
        call.warn(f"usage: {call.name} [-S] [-T TERM] CAPABILITY [PARAMETER]...")
        return 2
    return _report(call, terminal, call.operands)


def _report(call: Invocation, terminal: _Terminal, words: list[str]) -> Status:
    capability, *parameters = words
    if capability == "longname":
        call.print("80-column dumb tty" if terminal.dumb else "xterm and its like", "")
        return 0
    if capability in ("init", "reset"):
        call.print("" if terminal.dumb else "\x1b[!p\x1b[?3;4l\x1b[4l\x1b>", "")
        return 0
    if capability in _FLAGS:
        return 0 if capability == "am" or not terminal.dumb else 1
    number = terminal.number(capability)
    if number is not None:
        call.print(str(number))
        return 0
    text = terminal.text(capability, [int(word) if word.isdecimal() else 0 for word in parameters])
    if text is None:
        call.error(f"unknown terminfo capability '{capability}'")
        return _UNKNOWN_NAME
    call.print(text, "")
    if not text and capability == "clear":
        return 2
    return 0 if text else 1
