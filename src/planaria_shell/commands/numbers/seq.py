"""`seq`: print numbers from FIRST to LAST, in steps of INCREMENT."""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Iterator
from decimal import Decimal, InvalidOperation

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote

_FORMAT = re.compile(r"(?:[^%]|%%)*(%[-+ 0#']*\d*(?:\.\d*)?L?([efgaEFGA]))(?:[^%]|%%)*", re.DOTALL)


def _negative_operands(words: list[str]) -> list[str]:
    """`-1` and `-.5` are operands of seq; `--` before the first of them marks them as such."""
    skip = False
    for index, word in enumerate(words):
        if skip:
            skip = False
        elif word == "--":
            break
        elif word in ("-f", "-s", "--format", "--separator"):
            skip = True
        elif re.match(r"-[.\d]", word) or not word.startswith("-"):
            return [*words[:index], "--", *words[index:]]
    return words


def _number(text: str) -> tuple[Decimal, int]:
    """A number and its digits after the point."""
    try:
        if "x" in text.lower():
            value = Decimal(float.fromhex(text.strip()))
        elif "_" in text or text != text.rstrip():
            raise ValueError
        else:
            value = Decimal(text.lstrip())
    except (InvalidOperation, ValueError):
        raise UsageError(f"invalid floating point argument: {quote(text)}") from None
    if value.is_nan():
        raise UsageError(f"invalid 'not-a-number' argument: {quote(text)}")
    mantissa, _, exponent = text.lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    if exponent and "x" not in text.lower():
        digits = max(digits - int(exponent), 0)
    return value, digits


@command(
    "seq",
    short="f:s:w",
    long="format=f: separator=s: equal-width=w",
    usage="[OPTION]... [FIRST [INCREMENT]] LAST",
    order="options first",
    rewrite=_negative_operands,
)
def seq(call: Invocation) -> Generator[None, None, Status]:
    """Print numbers from FIRST to LAST, in steps of INCREMENT."""
    arguments = call.arguments
    words = call.operands
    if not words:
        raise UsageError("missing operand")
    if len(words) > 3:
        raise UsageError(f"extra operand {quote(words[3])}")
    template = arguments.value("f")
    if template is not None:
        template = _check_format(template)
        if arguments.has("w"):
            raise UsageError("format string may not be specified when printing equal width strings")
    separator = arguments.value("s")
    between = b"\n" if separator is None else separator.encode("utf-8", "surrogateescape")
    numbers = [_number(word) for word in words]
    last, last_digits = numbers[-1]
    first, first_digits = numbers[0] if len(numbers) > 1 else (Decimal(1), 0)
    step, step_digits = numbers[1] if len(numbers) > 2 else (Decimal(1), 0)
    if not step:
        raise UsageError(f"invalid Zero increment value: {quote(words[1])}")
    digits = max(first_digits, step_digits)
    if first.is_infinite() or (first > last if step > 0 else first < last):
        return 0
    whole = digits == 0 and first == first.to_integral_value() and step == step.to_integral_value()
    if whole and template is None:
        blocks = _whole(call, int(first), int(step), last, arguments.has("w"), words, between)
    else:
        width = 0
        if arguments.has("w"):
            ends = [f"{first:.{digits}f}", f"{last:.{last_digits}f}"]
            if last_digits and not digits:
                ends[1] = ends[1].partition(".")[0]
            elif digits and not last_digits:
                ends[1] += "." + "0" * digits
            elif last_digits != digits:
                ends[1] = ends[1].partition(".")[0] + "." + "0" * digits
            width = max(map(len, ends))
        blocks = _fractions(first, step, last, digits, template, width, between)
    started = False
    for block in blocks:
        call.stdout.write(between + block if started else block)
        started = True
        call.stdout.pass_on()
        if call.stdout.full:
            yield
    call.stdout.write(b"\n")
    return 0


def _check_format(template: str) -> str:
    shown = quote(template)
    match = _FORMAT.fullmatch(template)
    if match is not None:
        return template.replace("L" + match[2], match[2]) if "L" in match[1] else template
    rest = template.replace("%%", "")
    if "%" not in rest:
        raise UsageError(f"format {shown} has no % directive", hint=False)
    if rest.endswith("%"):
        raise UsageError(f"format {shown} ends in %", hint=False)
    unknown = re.search(r"%[-+ 0#']*\d*(?:\.\d*)?L?([^efgaEFGA])", rest)
    if unknown:
        raise UsageError(f"format {shown} has unknown %{unknown[1]} directive", hint=False)
    raise UsageError(f"format {shown} has too many % directives", hint=False)


def _whole(
    call: Invocation, first: int, step: int, last: Decimal, equal: bool, words: list[str], between: bytes
) -> Iterator[bytes]:
    """Whole numbers, some thousands at a time."""
    stop: int | None = None
    if not last.is_infinite():
        stop = math.floor(last) + 1 if step > 0 else math.ceil(last) - 1
    template = b"%d"
    if equal and stop is not None:
        width = max(len(str(first)), len(str(int(last))), len(str(words[-1]).partition(".")[0].lstrip("+")))
        template = b"%%0%dd" % width
    glue = between.replace(b"%", b"%%")
    at = first
    while stop is None or (at < stop if step > 0 else at > stop):
        limit = at + step * 8192
        if stop is not None:
            limit = min(limit, stop) if step > 0 else max(limit, stop)
        numbers = range(at, limit, step)
        # All at once: half of the time goes into the steps of a loop.
        yield glue.join([template] * len(numbers)) % tuple(numbers)
        at = numbers[-1] + step


def _fractions(
    first: Decimal,
    step: Decimal,
    last: Decimal,
    digits: int,
    template: str | None,
    width: int,
    between: bytes,
) -> Iterator[bytes]:
    """Numbers with a fraction or a format; each is computed from the first, so errors do not add up."""
    block: list[bytes] = []
    index = 0
    glue = between
    while True:
        value = first + index * step
        if value > last if step > 0 else value < last:
            break
        if template is None:
            text = f"{value:.{digits}f}"
            if width:
                text = text.zfill(width)
        else:
            text = _formatted(template, value)
        block.append(text.encode("utf-8", "surrogateescape"))
        if len(block) == 1024:
            yield glue.join(block)
            block = []
        index += 1
    if block:
        yield glue.join(block)


def _formatted(template: str, value: Decimal) -> str:
    match = _FORMAT.fullmatch(template)
    assert match is not None
    directive = match[1].replace("'", "")
    if match[2] in "aA":
        shown = float(value).hex()
    elif match[2] in "fF":
        flags = re.fullmatch(r"%([-+ 0#]*)(\d*)(?:\.(\d*))?[fF]", directive)
        assert flags is not None
        precision = 6 if flags[3] is None else int(flags[3] or 0)
        text = f"{value:.{precision}f}"
        sign = "+" if "+" in flags[1] and value >= 0 else " " if " " in flags[1] and value >= 0 else ""
        text = sign + text
        width = int(flags[2] or 0)
        if "-" in flags[1]:
            shown = text.ljust(width)
        else:
            shown = text.zfill(width) if "0" in flags[1] else text.rjust(width)
    else:
        shown = directive % float(value)
    before = template[: match.start(1)].replace("%%", "%")
    after = template[match.end(1) :].replace("%%", "%")
    return before + shown + after
