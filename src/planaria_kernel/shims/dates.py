"""`time.strftime` as the C library of a desktop has it: strftime(3) with the extensions of the GNU C library.

The C library of the sandbox gives an empty text for a whole format when it does not know one conversion of
it: those of `%P`, `%k` and `%l`, and any with a flag or a width as in `%^a`. `datetime` formats by
`time.strftime`, too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any, Final

__all__ = ["install"]

#: A conversion: flags, the width, a modifier and the letter.
_CONVERSION: Final = re.compile(r"%([-_0+^#]*)(\d*)([EO]?)(.)", re.DOTALL)
#: What the sandbox's C library does right without flags, a width or a modifier.
_PLAIN: Final = frozenset("aAbBcCdDeFgGhHIjmMnprRsStTuUVwWxXyY%")
#: The width and the padding of numbers.
_NUMBERS: Final = {
    **dict.fromkeys("CdgHImMSUVWy", (2, "0")),
    **dict.fromkeys("ekl", (2, " ")),
    **dict.fromkeys("uw", (1, "0")),
    "s": (1, " "),
    **dict.fromkeys("GY", (1, "0")),
    "j": (3, "0"),
}
#: What a modifier goes with, or is ignored by.
_MODIFIED: Final = {
    "": None,
    "E": frozenset("cCxXyYnpPrRstTuzZ%"),
    "O": frozenset("BbdeghHIlmMkSuUVwWyGCjnpPrRstTzZ%"),
}
#: What is in capital letters with the flag `#`.
_CAPITALS: Final = frozenset("aAbBh")
_LARGEST_WIDTH: Final = 2**31 - 1

_strftime: Any = time.strftime


def _strftime_of_a_desktop(format: str, *moment: Any) -> str:  # noqa: A002 - its name in the documentation
    if not isinstance(format, str) or all(
        conversion[4] in _PLAIN and not any(conversion.group(1, 2, 3))
        for conversion in _CONVERSION.finditer(format)
    ):
        return _strftime(format, *moment)  # type: ignore[no-any-return]
    if not moment:
        moment = (time.localtime(),)
    _strftime("", *moment)  # raises what is wrong with it
    return _CONVERSION.sub(lambda conversion: _converted(conversion, moment[0]), format)


def _converted(conversion: re.Match[str], moment: Sequence[int]) -> str:
    flags, digits, modifier, letter = conversion.groups()
    allowed = _MODIFIED[modifier]
    text = None if allowed is not None and letter not in allowed else _unpadded(letter, moment)
    if text is None:
        return conversion[0]
    padding = next((flag for flag in reversed(flags) if flag in "-_0+"), "")
    width, fill = int(digits) if digits else 0, " "
    sign = ""
    if letter in _NUMBERS:
        least, fill = _NUMBERS[letter]
        sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
        text = text.strip().lstrip("0") or "0"
        width = width or (0 if padding == "-" else least)
    elif letter == "z":
        sign, text, fill = text[0], text[1:].lstrip("0") or "0", "0"
        width = width or (0 if padding == "-" else 5)
    if width > _LARGEST_WIDTH:
        raise OverflowError(f"the width {digits} of a conversion is too large")
    fill = {"_": " ", "0": "0", "+": "0"}.get(padding, fill)
    text = sign + text.rjust(width - len(sign), fill)
    if ("^" in flags and letter != "P") or ("#" in flags and letter in _CAPITALS):
        return text.upper()
    return text.lower() if "#" in flags and letter in "pZ" else text


def _unpadded(letter: str, moment: Sequence[int]) -> str | None:
    """One conversion, padded as the C library pads it; None when there is none of that letter."""
    match letter:
        case "P":
            return str(_strftime("%p", moment)).lower()
        case "k":
            return str(moment[3])
        case "l":
            return str(moment[3] % 12 or 12)
        case "Z":
            return str(_strftime("%Z", moment)) or time.tzname[moment[8] > 0]
        case "z":
            return str(_strftime("%z", moment)) or "+0000"
        case _:
            return str(_strftime(f"%{letter}", moment)) if letter in _PLAIN else None


def install() -> None:
    """Put it in place of `time.strftime`."""
    _strftime_of_a_desktop.__name__ = _strftime_of_a_desktop.__qualname__ = "strftime"
    _strftime_of_a_desktop.__module__, _strftime_of_a_desktop.__doc__ = "time", _strftime.__doc__
    time.strftime = _strftime_of_a_desktop
