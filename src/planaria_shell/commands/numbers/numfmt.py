"""numfmt: numbers with units, read and written."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction

from planaria_shell.commands.text.cut import parse_ranges
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.lines import records
from planaria_shell.toolkit.options import UsageError, choose
from planaria_shell.toolkit.quoting import quote

__all__: list[str] = []

_SUFFIXES = "KMGTPEZY"
_SCALES = {"none": "none", "auto": "auto", "si": "si", "iec": "iec", "iec-i": "iec-i"}
_ROUNDS = ("up", "down", "from-zero", "towards-zero", "nearest")
_INVALID = ("abort", "fail", "warn", "ignore")
_NUMBER = re.compile(r"(-?)(\d*)(?:\.(\d*))?")
_FORMAT = re.compile(r"((?:[^%]|%%)*)%([0' -]*)(-?\d*)(?:\.(\d*))?f((?:[^%]|%%)*)", re.DOTALL)


class _BadNumberError(Exception):
    """A string is not a number that can be converted; the message says why."""


@dataclass(slots=True)
class _Conversion:
    source: str = "none"
    target: str = "none"
    source_unit: int = 1
    target_unit: int = 1
    rounding: str = "from-zero"
    suffix: str = ""
    padding: int = 0
    auto_padding: bool = False
    zero_padding: int = 0
    precision: int | None = None
    before: str = ""
    after: str = ""
    delimiter: str | None = None


def _unit(text: str) -> int:
    match = re.fullmatch(r"(\d*)([KMGTPEZY]?)(i?)", text)
    if match is None or not text or (match[3] and not match[2]):
        raise UsageError(f"invalid unit size: {quote(text)}", hint=False)
    base = 1024 if match[3] else 1000
    size = int(match[1] or "1") * base ** (_SUFFIXES.find(match[2]) + 1 if match[2] else 0)
    if not 0 < size < 1 << 64:
        raise UsageError(f"invalid unit size: {quote(text)}", hint=False)
    return int(size)


def _parse_format(conversion: _Conversion, text: str) -> None:
    shown = quote(text)
    match = _FORMAT.fullmatch(text)
    if match is None:
        if "%" not in text.replace("%%", ""):
            raise UsageError(f"format {shown} has no % directive", hint=False)
        if text.endswith("%"):
            raise UsageError(f"format {shown} ends in %", hint=False)
        if len(re.findall(r"%", text.replace("%%", ""))) > 1:
            raise UsageError(f"format {shown} has too many % directives", hint=False)
        if re.search(r"%[0' -]*\d*\.[-+ ]", text):
            raise UsageError(f"invalid precision in format {shown}", hint=False)
        raise UsageError(f"invalid format {shown}, directive must be %[0]['][-][N][.][N]f", hint=False)
    before, flags, width, precision, after = match.groups()
    # As with GNU's, the two signs after the directive stay two.
    conversion.before, conversion.after = before.replace("%%", "%"), after
    if "'" in flags and conversion.target != "none":
        raise UsageError("grouping cannot be combined with --to", hint=False)
    if len(width) > 18:
        raise UsageError(f"invalid format {shown} (width overflow)", hint=False)
    if "-" in flags and width and not width.startswith("-"):
        width = "-" + width
    if width not in ("", "-"):
        if "0" in flags and not width.startswith("-"):
            conversion.zero_padding = int(width)
        else:
            conversion.padding = int(width)
    if precision is not None:
        conversion.precision = int(precision or "0")


@command(
    "numfmt",
    short="d:z",
    long="from: from-unit: to: to-unit: round: padding: suffix: grouping delimiter=d: field: debug header:: "
    "format: invalid: zero-terminated=z",
    usage="[OPTION]... [NUMBER]...",
)
def numfmt(call: Invocation) -> Generator[None, None, Status]:
    """Reformat NUMBER(s), or the numbers from standard input if none are specified."""
    arguments = call.arguments
    conversion = _Conversion()
    conversion.source = choose(arguments.value("from") or "none", _SCALES, "--from")
    targets = {name: name for name in _SCALES if name != "auto"}
    conversion.target = choose(arguments.value("to") or "none", targets, "--to")
    conversion.source_unit = _unit(arguments.value("from-unit") or "1")
    conversion.target_unit = _unit(arguments.value("to-unit") or "1")
    conversion.rounding = choose(arguments.value("round") or "from-zero", _ROUNDS, "--round")
    conversion.suffix = arguments.value("suffix") or ""
    conversion.delimiter = arguments.value("d")
    if conversion.delimiter is not None and len(conversion.delimiter) > 1:
        raise UsageError("the delimiter must be a single character", hint=False)
    if (padding := arguments.value("padding")) is not None:
        if not re.fullmatch(r"-?\d+", padding) or not 0 < abs(int(padding)) < 1 << 63:
            raise UsageError(f"invalid padding value {quote(padding)}", hint=False)
        conversion.padding = int(padding)
    if (template := arguments.value("format")) is not None:
        if arguments.has("grouping"):
            raise UsageError("--grouping cannot be combined with --format", hint=False)
        _parse_format(conversion, template)
    if arguments.has("grouping") and conversion.target != "none":
        raise UsageError("grouping cannot be combined with --to", hint=False)
    invalid = choose(arguments.value("invalid") or "abort", _INVALID, "--invalid")
    listed = arguments.values("field")
    if len(listed) > 1:
        raise UsageError("multiple field specifications", hint=False)
    fields = parse_ranges(_open_ranges(listed[0]) if listed else "1", "field")
    conversion.auto_padding = not conversion.padding and conversion.delimiter is None
    headers = 0
    if arguments.has("header"):
        text = arguments.value("header") or "1"
        if not text.isdigit() or not int(text):
            raise UsageError(f"invalid header value {quote(text)}", hint=False)
        headers = int(text)
    if arguments.has("debug"):
        _warn(call, conversion, headers)
    failed = False
    for end, line in _lines(call):
        if headers and not call.operands:
            headers -= 1
            call.print(line, "")
            call.stdout.write(end)
            continue
        pieces: list[str] = []
        for index, piece in enumerate(_split(line, conversion.delimiter)):
            chosen = any(first <= index < last for first, last in fields)
            try:
                pieces.append(_convert(conversion, piece, index) if chosen else piece)
            except _BadNumberError as problem:
                failed = True
                if invalid != "ignore":
                    if invalid == "abort":
                        before = "".join(p + (conversion.delimiter or " ") for p in pieces)
                        call.print(before, "")
                        call.error(str(problem))
                        return 2
                    call.error(str(problem))
                pieces.append(piece)
        call.print((conversion.delimiter or " ").join(pieces), "")
        call.stdout.write(end)
        if call.stdout.full:
            yield
    if failed and arguments.has("debug"):
        call.error("failed to convert some of the input numbers")
    return 2 if failed and invalid == "fail" else 0


def _open_ranges(text: str) -> str:
    """A lone `-` among the fields means all of them."""
    return ",".join("1-" if item == "-" else item for item in re.split("[, \t]", text))


def _warn(call: Invocation, conversion: _Conversion, headers: int) -> None:
    """What `--debug` says about options that have no effect."""
    plain = (conversion.source, conversion.target, conversion.source_unit, conversion.target_unit)
    template = call.arguments.value("format")
    grouping = call.arguments.has("grouping") or (template is not None and "'" in template)
    if plain == ("none", "none", 1, 1) and not (conversion.padding or grouping or template):
        call.error("no conversion option specified")
    if grouping:
        call.error("grouping has no effect in this locale")
    if headers and call.operands:
        call.error("--header ignored with command-line input")


def _lines(call: Invocation) -> Generator[tuple[bytes, str], None, None]:
    end = b"\0" if call.arguments.has("z") else b"\n"
    if call.operands:
        for word in call.operands:
            yield end, word
        return
    for record in records(call.stdin.chunks(), end):
        body = record.removesuffix(end)
        yield record[len(body) :], body.decode("utf-8", "surrogateescape")


def _split(line: str, delimiter: str | None) -> list[str]:
    """Fields; with blanks as delimiters each keeps those that stand before it but one."""
    if delimiter is not None:
        return line.split(delimiter) if delimiter else [line]
    fields: list[str] = []
    at = 0
    while True:
        match = re.compile(r"[ \t]*[^ \t]*").match(line, at)
        assert match is not None
        fields.append(match[0])
        at = match.end() + 1
        if at > len(line):
            return fields


def _convert(conversion: _Conversion, field: str, index: int) -> str:
    text = field
    if conversion.suffix and len(text) > len(conversion.suffix) and text.endswith(conversion.suffix):
        text = text.removesuffix(conversion.suffix)
    stripped = text.lstrip(" \t")
    padding = conversion.padding
    if conversion.auto_padding:
        padding = len(field) if len(stripped) < len(text) or index > 0 else 0
    value, precision = _parse(conversion, stripped)
    if conversion.source_unit != 1 or conversion.target_unit != 1:
        value = value * conversion.source_unit / conversion.target_unit
    if conversion.precision is not None:
        precision = conversion.precision
    if conversion.target == "none" and len(str(abs(value.numerator) // value.denominator)) + precision > 18:
        shown = f"{float(value):g}/{precision}" if precision else f"{float(value):g}"
        what = "value/precision" if precision else "value"
        raise _BadNumberError(f"{what} too large to be printed: '{shown}' (consider using --to)")
    shown = _show(conversion, value, precision)
    if conversion.zero_padding:
        sign = "-" if shown.startswith("-") else ""
        shown = sign + shown[len(sign) :].rjust(conversion.zero_padding - len(sign), "0")
    shown += conversion.suffix
    if padding:
        shown = shown.rjust(padding) if padding > 0 else shown.ljust(-padding)
    return conversion.before + shown + conversion.after


def _parse(conversion: _Conversion, text: str) -> tuple[Fraction, int]:
    """A number and the digits after its point."""
    match = _NUMBER.match(text)
    assert match is not None
    sign, whole, fraction = match.groups()
    if not whole and text[match.end() :] and fraction == "":
        raise _BadNumberError(f"invalid suffix in input: {quote(text)}")
    if not whole and not fraction:
        raise _BadNumberError(f"invalid number: {quote(text)}")
    if len(whole.lstrip("0")) > 27:
        raise _BadNumberError(f"value too large to be converted: {quote(text)}")
    rest = text[match.end() :]
    if fraction is not None and not fraction:
        raise _BadNumberError(f"invalid number: {quote(text)}")
    precision = len(fraction or "")
    value = Fraction(int(sign + "0" + whole + (fraction or "")))
    if precision:
        value /= 10**precision
    scale = conversion.source
    rest_of = rest.lstrip(" \t") if rest[:1] in (" ", "\t") else rest
    if not rest_of:
        if scale == "iec-i":
            raise _BadNumberError(f"missing 'i' suffix in input: {quote(text)} (e.g Ki/Mi/Gi)")
        return value, precision
    letter = rest_of[0]
    if letter not in _SUFFIXES:
        raise _BadNumberError(f"invalid suffix in input: {quote(text)}")
    if scale == "none":
        raise _BadNumberError(f"rejecting suffix in input: {quote(text)} (consider using --from)")
    after = rest_of[1:]
    base = 1000 if scale in ("si", "auto") else 1024
    if scale in ("auto", "iec-i") and after.startswith("i"):
        base = 1024
        after = after[1:]
    elif scale == "iec-i":
        raise _BadNumberError(f"missing 'i' suffix in input: {quote(text)} (e.g Ki/Mi/Gi)")
    if after:
        raise _BadNumberError(f"invalid suffix in input {quote(text)}: {quote(after)}")
    return value * base ** (_SUFFIXES.index(letter) + 1), 0


def _round(number: int, divisor: int, negative: bool, rounding: str) -> int:
    """`number / divisor` as a whole number; both are magnitudes, the sign decides about up and down."""
    quotient, rest = divmod(number, divisor)
    if rest and (
        rounding == "from-zero"
        or (rounding == "up" and not negative)
        or (rounding == "down" and negative)
        or (rounding == "nearest" and 2 * rest >= divisor)
    ):
        quotient += 1
    return quotient


def _fixed(number: int, divisor: int, digits: int, negative: bool) -> str:
    """`number / divisor` with so many digits after the point."""
    text = str(_round(number * 10**digits, divisor, negative, "nearest"))
    if digits:
        text = text.rjust(digits + 1, "0")
        text = f"{text[:-digits]}.{text[-digits:]}"
    return "-" + text if negative else text


def _show(conversion: _Conversion, value: Fraction, precision: int) -> str:
    negative = value < 0
    number, divisor = abs(value.numerator), value.denominator
    rounding = conversion.rounding
    if conversion.target == "none":
        rounded = _round(number * 10**precision, divisor, negative, rounding)
        return _fixed(rounded, 10**precision, precision, negative)
    base = 1000 if conversion.target == "si" else 1024
    power = 0
    while number >= base * divisor:
        divisor *= base
        power += 1
    wanted = conversion.precision
    digits = min(power * 3, wanted) if wanted is not None else int(number < 10 * divisor)
    number = _round(number * 10**digits, divisor, negative, rounding)
    divisor = 10**digits
    if number >= base * divisor:
        divisor *= base
        power += 1
    if power > len(_SUFFIXES):
        raise _BadNumberError(
            f"value too large to be printed: '{float(value):g}' (cannot handle values > 999Y)"
        )
    shown = wanted if wanted is not None else int(0 < number < 10 * divisor and power > 0)
    suffix = _SUFFIXES[power - 1] if power else ""
    if conversion.target == "iec-i" and power:
        suffix += "i"
    return _fixed(number, divisor, shown, negative) + suffix
