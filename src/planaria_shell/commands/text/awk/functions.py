"""The functions that awk programs find ready-made; arguments come converted by the compiled program."""

from __future__ import annotations

import functools
import inspect
import math
import random
import re
import time
from collections.abc import Callable
from typing import Any

from planaria_shell.commands.text.awk.order import listing_order
from planaria_shell.commands.text.awk.runtime import NO_FIELD, Runtime
from planaria_shell.commands.text.awk.splitting import find_all, split_by
from planaria_shell.commands.text.awk.syntax import fatal
from planaria_shell.commands.text.awk.values import Array, Input, Regexp, looks_numeric, number
from planaria_shell.toolkit.regex.posix import Pattern
from planaria_shell.toolkit.streams import decode, encode


class Functions:
    """Built-in functions over a runtime."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.seed: float = 1.0
        # Without srand the numbers are the same in each run.
        self.random: random.Random | None = None
        #: User functions by name, for asort and sorted_in.
        self.user: dict[str, Callable[..., Any]] = {}
        #: A ready-made function, by its name and the number of its arguments, as one of the program's.
        self.ready_made: Callable[[str, int], Callable[..., Any] | None] = lambda name, count: None

    def warn(self, message: str) -> None:
        self.runtime.warn(message)

    def call_named(self, name: str, arguments: list[Any]) -> Any:
        """Call the function of this name, the program's or a ready-made one."""
        function = self.user.get(name) or self.ready_made(name, len(arguments))
        if function is None:
            raise fatal(f"`{name}' is not a function, so it cannot be called indirectly")
        most = len(inspect.signature(function).parameters)
        if len(arguments) > most:
            self.warn(f"function `{name}' called with more arguments than declared")
        return function(*arguments[:most])

    # Texts.

    def length(self, value: Any) -> float:
        return (
            float(len(value)) if isinstance(value, Array) else float(len(self.runtime.conversion.text(value)))
        )

    def index(self, text: str, part: str) -> float:
        """Where a text begins in another, in a program that may ignore case."""
        if self.runtime.fold:
            text, part = text.lower(), part.lower()
        return text.find(part) + 1.0

    def substr(self, text: str, start: float, length: float | None = None) -> str:
        if start != start or length != length:
            return ""
        begin = 0 if start < 1 else int(min(start, len(text) + 1)) - 1
        if length is None:
            return text[begin:]
        if length < 1:
            return ""
        return text[begin : begin + int(min(length, len(text)))]

    def match(self, text: str, pattern: Pattern, groups: Array | None = None) -> float:
        found = pattern.search(text)
        if groups is not None:
            groups.clear()
        if found is None:
            self.runtime.RSTART, self.runtime.RLENGTH = 0.0, -1.0
            return 0.0
        start = found.start() + 1.0
        self.runtime.RSTART, self.runtime.RLENGTH = start, float(found.end() - found.start())
        if groups is not None:
            for index in range(found.re.groups + 1):
                if found.start(index) >= 0:
                    key = str(index)
                    groups[key] = Input(found[index])
                    groups[key + self.runtime.SUBSEP + "start"] = found.start(index) + 1.0
                    groups[key + self.runtime.SUBSEP + "length"] = float(
                        found.end(index) - found.start(index)
                    )
        return start

    def split(
        self, text: str, array: Array, separator: str | Pattern | None, between: Array | None = None
    ) -> float:
        """`separator` None is FS; a Pattern was an expression."""
        if separator is None:
            separator = self.runtime.FS
        separators: list[str] = []
        if isinstance(separator, Pattern):
            parts, separators = split_by(separator, text)
        elif separator == " ":
            parts, separators = find_all(self.runtime.pattern("[^ \t\n]+"), text)
        elif separator == "":
            parts = list(text)
        elif len(separator) == 1 and separator != "\\":
            parts = text.split(separator) if text else []
            separators = [separator] * (len(parts) - 1)
        else:
            parts, separators = split_by(self.runtime.pattern(separator), text)
        array.clear()
        for index, part in enumerate(parts, 1):
            array[str(index)] = Input(part)
        if between is not None:
            between.clear()
            first = 0 if separator == " " else 1
            for index, part in enumerate(separators, first):
                if part or first:
                    between[str(index)] = part
        return float(len(parts))

    def patsplit(
        self, text: str, array: Array, pattern: Pattern | None, between: Array | None = None
    ) -> float:
        parts, separators = find_all(pattern or self.runtime.pattern(self.runtime.FPAT), text)
        array.clear()
        for index, part in enumerate(parts, 1):
            array[str(index)] = Input(part)
        if between is not None:
            between.clear()
            for index, part in enumerate(separators):
                between[str(index)] = part
        return float(len(parts))

    def substitute(self, pattern: Pattern, replacement: str, text: str, every: bool) -> float:
        """sub and gsub: the new text is left in the runtime's `result`; how many were replaced."""
        parts = _replacement(replacement)
        constant = parts[0] if len(parts) == 1 and isinstance(parts[0], str) else None
        if pattern.exact and not pattern.nullable:
            template: Any = constant.replace("\\", "\\\\") if constant is not None else _expander(parts)
            self.runtime.result, count = pattern.engine(text).subn(template, text, 0 if every else 1)
            return float(count)
        self.runtime.result, count = _substitute(pattern, _expander(parts), text, 0 if every else 1)
        return float(count)

    def gensub(self, pattern: Pattern, replacement: str, how: Any, text: str) -> str:
        which = 0
        if not (isinstance(how, str) and how[:1] in ("g", "G")):
            which = int(number(how))
            if which < 1:
                self.warn(f"gensub: third argument `{self.runtime.conversion.text(how)}' treated as 1")
                which = 1
        return _substitute(
            pattern, _expander(_gensub_replacement(replacement)), text, which, only=bool(which)
        )[0]

    # Numbers.

    def integer(self, value: float) -> float:
        return float(math.trunc(value)) if value - value == 0.0 else value

    def square_root(self, value: float) -> float:
        if value < 0:
            self.warn(f"sqrt: received negative argument {self.runtime.conversion.text(value)}")
            return -math.nan
        return math.sqrt(value)

    def logarithm(self, value: float) -> float:
        if value < 0:
            self.warn(f"log: received negative argument {self.runtime.conversion.text(value)}")
            return -math.nan
        return math.log(value) if value else -math.inf

    def exponential(self, value: float) -> float:
        try:
            return math.exp(value)
        except OverflowError:
            self.warn(f"exp: argument {self.runtime.conversion.text(value)} is out of range")
            return math.inf

    def sin(self, value: float) -> float:
        return math.sin(value) if value - value == 0.0 else math.nan

    def cos(self, value: float) -> float:
        return math.cos(value) if value - value == 0.0 else math.nan

    def atan2(self, y: float, x: float) -> float:
        return math.atan2(y, x)

    def rand(self) -> float:
        if self.random is None:
            self.random = random.Random(self.seed)
        return self.random.random()

    def srand(self, seed: float | None) -> float:
        previous = self.seed
        self.seed = float(int(time.time())) if seed is None else seed
        self.random = random.Random(self.seed)
        return previous

    def bits(self, name: str, values: list[float]) -> float:
        """and, or, xor, lshift, rshift and compl."""
        for place, value in enumerate(values, 1):
            if value < 0:
                shown = self.runtime.conversion.text(value)
                raise fatal(f"{name}: argument {place} negative value {shown} is not allowed")
        numbers = [int(value) for value in values]
        match name:
            case "and":
                result = functools.reduce(lambda a, b: a & b, numbers)
            case "or":
                result = functools.reduce(lambda a, b: a | b, numbers)
            case "xor":
                result = functools.reduce(lambda a, b: a ^ b, numbers)
            case "lshift":
                result = (numbers[0] << min(numbers[1], 64)) & 0xFFFFFFFFFFFFFFFF
            case "rshift":
                result = numbers[0] >> numbers[1]
            case _:
                result = ~numbers[0] & ((1 << 53) - 1)
        return float(result)

    def strtonum(self, value: Any) -> float:
        if value.__class__ is float:
            return value
        text = self.runtime.conversion.text(value)
        found = re.match(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0([0-7]+)(?![\d.eE]))", text)
        if not found:
            return number(text)
        amount = float(int(found[2], 16) if found[2] else int(found[3], 8))
        return -amount if found[1] == "-" else amount

    # Time.

    def systime(self) -> float:
        return float(int(time.time()))

    def strftime(self, template: str | None, when: float | None, utc: bool) -> str:
        moment = time.time() if when is None else when
        parts = time.gmtime(moment) if utc else time.localtime(moment)
        shown = time.strftime(encode(template or "%a %b %e %H:%M:%S %Z %Y").decode("latin-1"), parts)
        return decode(shown.encode("latin-1", "surrogateescape"))

    def mktime(self, text: str, utc: bool = False) -> float:
        numbers = [int(number(part)) for part in text.split()]
        if len(numbers) < 6:
            return -1.0
        year, month, day, hour, minute, second = numbers[:6]
        daylight = numbers[6] if len(numbers) > 6 else -1
        try:
            if utc:
                import calendar

                return float(calendar.timegm((year, month, day, hour, minute, second, 0, 1, 0)))
            return float(time.mktime((year, month, day, hour, minute, second, 0, 1, daylight)))
        except (OverflowError, ValueError):
            return -1.0

    # Arrays.

    def typeof(self, value: Any) -> str:
        if isinstance(value, Array):
            return "array"
        if value is None or value is NO_FIELD:
            return "untyped" if value is None else "unassigned"
        if value.__class__ is float:
            return "number"
        if value.__class__ is Regexp:
            return "regexp"
        if value.__class__ is Input:
            return "string" if looks_numeric(value) is None else "strnum"
        return "string"

    def sort(self, source: Array, target: Array | None, how: Any, by_index: bool) -> float:
        """asort and asorti."""
        order = self.runtime.conversion.text(how) or ("@ind_str_asc" if by_index else "@val_type_asc")
        keys = self.ordered(source, order)
        values: list[Any] = keys if by_index else [source[key] for key in keys]
        result = source if target is None else target
        result.clear()
        for index, value in enumerate(values, 1):
            result[str(index)] = value
        return float(len(values))

    def keys(self, array: Array) -> list[str]:
        """The keys in the order that PROCINFO["sorted_in"] asks for, or in gawk's own."""
        order = self.runtime.information.get("sorted_in")
        if not order:
            return listing_order(list(array))
        return self.ordered(array, self.runtime.conversion.text(order))

    def ordered(self, array: Array, order: str) -> list[str]:
        keys = list(array)
        if order == "@unsorted":
            return keys
        if not order.startswith("@"):
            function = self.user.get(order)
            if function is None:
                raise fatal(f"sort comparison function `{order}' is not defined")

            def order_of(a: str, b: str) -> int:
                answer = number(function(a, array[a], b, array[b]))
                return (answer > 0) - (answer < 0)

            return sorted(keys, key=functools.cmp_to_key(order_of))
        found = re.fullmatch(r"@(ind|val)_(str|num|type)_(asc|desc)", order)
        if not found:
            raise fatal(f"sort comparison function `{order}' is not defined")
        text = self.runtime.conversion.text
        keyed: Callable[[str], Any]
        if found[1] == "ind":
            keyed = (lambda key: (number(key), key)) if found[2] == "num" else (lambda key: key)
        elif found[2] == "str":
            keyed = lambda key: "" if isinstance(array[key], Array) else text(array[key])  # noqa: E731
        elif found[2] == "num":
            keyed = lambda key: (number(array[key]), text(array[key]))  # noqa: E731
        else:
            keyed = lambda key: self._type_key(array[key])  # noqa: E731
        return sorted(keys, key=keyed, reverse=found[3] == "desc")

    def _type_key(self, value: Any) -> tuple[int, float, str]:
        """Numbers before texts before arrays."""
        if isinstance(value, Array):
            return 2, 0.0, ""
        if value is None or value.__class__ is float:
            return 0, value or 0.0, ""
        amount = looks_numeric(value) if value.__class__ is Input else None
        return (1, 0.0, value) if amount is None else (0, amount, "")


_Part = str | int


@functools.lru_cache(maxsize=500)
def _replacement(source: str) -> tuple[_Part, ...]:
    """The replacement of sub and gsub: `&` is the match, `\\&` an ampersand, `\\\\&` a backslash and it."""
    parts: list[_Part] = []
    at = 0
    while at < len(source):
        if source[at] == "&":
            parts.append(0)
            at += 1
        elif source.startswith("\\\\&", at):
            parts += ["\\", 0]
            at += 3
        elif source.startswith("\\&", at):
            parts.append("&")
            at += 2
        elif source.startswith("\\\\", at) and source.startswith("\\\\\\&", at):
            parts.append("\\&")
            at += 4
        else:
            parts.append(source[at])
            at += 1
    return _merge(parts)


@functools.lru_cache(maxsize=500)
def _gensub_replacement(source: str) -> tuple[_Part, ...]:
    """The replacement of gensub: also `\\0` to `\\9`, and a backslash quotes anything else."""
    parts: list[_Part] = []
    at = 0
    while at < len(source):
        if source[at] == "&":
            parts.append(0)
        elif source[at] == "\\" and at + 1 < len(source):
            at += 1
            parts.append(int(source[at]) if source[at] in "0123456789" else source[at])
        else:
            parts.append(source[at])
        at += 1
    return _merge(parts)


def _merge(parts: list[_Part]) -> tuple[_Part, ...]:
    merged: list[_Part] = []
    for part in parts:
        if merged and isinstance(part, str) and isinstance(merged[-1], str):
            merged[-1] += part
        else:
            merged.append(part)
    return tuple(merged) or ("",)


def _expander(parts: tuple[_Part, ...]) -> Callable[[re.Match[str]], str]:
    def expand(found: re.Match[str]) -> str:
        return "".join(
            [
                part if isinstance(part, str) else (found[part] or "") if part <= found.re.groups else ""
                for part in parts
            ]
        )

    return expand


def _substitute(
    pattern: Pattern, expand: Callable[[re.Match[str]], str], text: str, limit: int, only: bool = False
) -> tuple[str, int]:
    """Replace the first `limit` matches (0: all; with `only`, just that one)."""
    pieces: list[str] = []
    position = copied = count = 0
    previous = -1
    while position <= len(text):
        found = pattern.search(text, position)
        if found is None:
            break
        start, end = found.span()
        if start == end == previous:
            position = end + 1
            continue
        count += 1
        previous = end
        if not only or count == limit:
            pieces += [text[copied:start], expand(found)]
            copied = end
        if count == limit:
            break
        position = end if end > start else end + 1
    pieces.append(text[copied:])
    return "".join(pieces), count
