"""What wget says on standard error, and the dots of a transfer."""

from __future__ import annotations

import datetime
import time
from typing import Final

from planaria_shell.toolkit.invocation import Invocation
from planaria_shell.toolkit.streams import Target, encode

__all__ = ["Log", "now", "rate", "short_size"]

_DOT: Final = 1024
_DOTS: Final = 50
_GROUP: Final = 10


def now() -> str:
    """The local time as in messages."""
    return datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S")


def short_size(count: int) -> str:
    """A number of bytes in units: 1.5K, 48M."""
    value = float(count)
    for unit in ("", "K", "M", "G", "T"):
        if value < 1024 or unit == "T":
            break
        value /= 1024
    return f"{value:.1f}{unit}" if unit and value < 10 else f"{value:.0f}{unit}"


def _scaled(bytes_per_second: float) -> tuple[str, int]:
    value, unit = bytes_per_second, 0
    while value >= 1024 and unit < 3:
        value /= 1024
        unit += 1
    return f"{value:.{0 if value >= 99.95 else 1 if value >= 9.995 else 2}f}", unit


def rate(count: int, seconds: float) -> str:
    """So many bytes in so many seconds: `495 KB/s`."""
    text, unit = _scaled(count / max(seconds, 1e-6))
    return f"{text} {('B', 'KB', 'MB', 'GB')[unit]}/s"


class Log:
    """Messages: all of them, few (`-nv`) or none (`-q`), on standard error or in a file (`-o`, `-a`)."""

    def __init__(self, call: Invocation, level: int, target: Target | None, shows_dots: bool) -> None:
        self._call = call
        self._level = level
        self._target = target
        self.shows_dots = shows_dots

    @property
    def is_verbose(self) -> bool:
        """Whether everything is said."""
        return self._level == 2

    def always(self, text: str) -> None:
        """Say it also with `-q`, as for `-S`."""
        if self._target is not None:
            self._target.write(encode(text))
        else:
            self._call.stdout.pass_on()
            self._call.stderr.write(encode(text))

    def verbose(self, text: str) -> None:
        """Say it unless `-nv` or `-q` was given."""
        if self._level == 2:
            self.always(text)

    def brief(self, text: str) -> None:
        """Say it with `-nv` alone."""
        if self._level == 1:
            self.always(text)

    def note(self, text: str) -> None:
        """Say it unless `-q` was given."""
        if self._level:
            self.always(text)

    def close(self) -> None:
        """Close the file of `-o`."""
        if self._target is not None:
            self._target.close()


class Dots:
    """The progress of one transfer: a dot is a kilobyte, a line fifty of them."""

    def __init__(self, log: Log, skipped: int, total: int | None) -> None:
        self._log = log
        self._total = total
        self._skipped = skipped // _DOT
        self._dots = self._skipped - self._skipped % _DOTS
        self._count = skipped
        self._began = self._row_began = time.monotonic()
        self._in_row = 0
        self._received = 0
        self._line = ""
        if log.shows_dots:
            log.always("\n")

    def add(self, count: int) -> None:
        """So many bytes have come."""
        self._received += count
        self._count += count
        if self._log.shows_dots:
            while self._dots < self._count // _DOT:
                self._dot()

    def _dot(self) -> None:
        position = self._dots % _DOTS
        if not position:
            self._line = f"{self._dots:6d}K"
        if position % _GROUP == 0:
            self._line += " "
        self._line += "," if self._dots < self._skipped else "."
        self._dots += 1
        if position == _DOTS - 1:
            self._end_row(self._dots * _DOT, None)

    def _end_row(self, upto: int, seconds: float | None) -> None:
        if self._total:
            self._line += f"{min(100, upto * 100 // self._total):3d}%"
        else:
            self._line += "    "
        moment = time.monotonic()
        spent = moment - (self._row_began if seconds is None else self._began)
        count = self._received if seconds is not None else _DOTS * _DOT
        text, unit = _scaled(count / max(spent, 1e-6))
        self._line += f" {text + 'BKMG'[unit]:>5}"
        if seconds is not None:
            self._line += f"={seconds:.3g}s" if seconds >= 0.001 else "=0s"
        elif self._total:
            left = (self._total - upto) * (moment - self._began) / max(self._received, 1)
            self._line += f" {max(left, 0):.0f}s"
        self._log.always(f"{self._line}\n")
        self._line = ""
        self._row_began = moment

    def finish(self) -> float:
        """End the last line; returns the seconds that the transfer took."""
        seconds = time.monotonic() - self._began
        if self._log.shows_dots:
            if not self._line:
                self._line = f"{self._dots:6d}K"
            for position in range(self._dots % _DOTS, _DOTS):
                self._line += "  " if position % _GROUP == 0 else " "
            self._end_row(self._count, seconds)
            self._log.always("\n")
        return seconds
