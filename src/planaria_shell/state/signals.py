"""Names and numbers of signals (signal(7), Linux)."""

from __future__ import annotations

__all__ = [
    "CHLD",
    "CONT",
    "IGNORED",
    "INT",
    "INTERRUPTS",
    "PIPE",
    "SIGNALS",
    "STOPPING",
    "TERM",
    "XFSZ",
    "signal_name",
    "signal_number",
    "signal_text",
]

SIGNALS: dict[int, str] = {
    1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 5: "TRAP", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL", 10: "USR1",
    11: "SEGV", 12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM", 16: "STKFLT", 17: "CHLD", 18: "CONT",
    19: "STOP", 20: "TSTP", 21: "TTIN", 22: "TTOU", 23: "URG", 24: "XCPU", 25: "XFSZ", 26: "VTALRM",
    27: "PROF", 28: "WINCH", 29: "IO", 30: "PWR", 31: "SYS",
    **{34 + n: "RTMIN" if n == 0 else f"RTMIN+{n}" for n in range(16)},
    **{64 - n: "RTMAX" if n == 0 else f"RTMAX-{n}" for n in range(14, -1, -1)},
}  # fmt: skip
_NUMBERS = {name: number for number, name in SIGNALS.items()}
_NUMBERS["CLD"] = 17
_NUMBERS["POLL"] = 29
INT, PIPE, TERM = 2, 13, 15
#: A child has ended.
CHLD = 17
#: What goes on that was stopped.
CONT = 18
#: A file would become larger than it may.
XFSZ = 25
_PSEUDO = ("EXIT", "DEBUG", "ERR", "RETURN")
#: Signals that do nothing to a process that has no trap for them.
IGNORED = frozenset(["CHLD", "CONT", "URG", "WINCH", "STOP", "TSTP", "TTIN", "TTOU"])
#: Signals that a job does not get from the keyboard, and so ignores.
INTERRUPTS = frozenset(["INT", "QUIT"])
#: Signals that stop a job, and what `jobs -l` says of them.
STOPPING = {"STOP": " (signal)", "TSTP": "", "TTIN": " (tty input)", "TTOU": " (tty output)"}
#: What ended a process, in words (strsignal(3)).
_TEXTS = {
    1: "Hangup", 2: "Interrupt", 3: "Quit", 4: "Illegal instruction", 5: "Trace/breakpoint trap",
    6: "Aborted", 7: "Bus error", 8: "Floating point exception", 9: "Killed", 10: "User defined signal 1",
    11: "Segmentation fault", 12: "User defined signal 2", 13: "Broken pipe", 14: "Alarm clock",
    15: "Terminated", 16: "Stack fault", 24: "CPU time limit exceeded", 25: "File size limit exceeded",
    26: "Virtual timer expired", 27: "Profiling timer expired", 29: "I/O possible", 30: "Power failure",
    31: "Bad system call",
}  # fmt: skip


def signal_text(number: int) -> str:
    """What a signal that has ended a process is called in messages."""
    return _TEXTS.get(number, f"Real-time signal {number - 34}" if number >= 34 else f"Signal {number}")


def signal_number(text: str) -> int | None:
    """The number of a signal given by number or by name, with or without SIG."""
    if text.isdecimal():
        number = int(text)
        return number if number == 0 or number in SIGNALS else None
    name = text.upper().removeprefix("SIG")
    if name == "EXIT":
        return 0
    return _NUMBERS.get(name)


def signal_name(text: str) -> str | None:
    """What `trap` calls a condition: `EXIT`, `ERR`, or a signal's name without SIG."""
    upper = text.upper()
    if upper in _PSEUDO:
        return upper
    number = signal_number(text)
    if number is None:
        return None
    return "EXIT" if number == 0 else SIGNALS[number]
