"""seq, factor, shuf, tsort: numbers and orders."""

from __future__ import annotations

import math
import os
import random
import re
from collections.abc import Generator, Iterator
from decimal import Decimal, InvalidOperation

from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, utility
from planaria_shell.toolkit.lines import records
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote
from planaria_shell.toolkit.sizes import parse_count
from planaria_shell.toolkit.streams import Sink, reason

__all__ = ["prime_factors"]

_FORMAT = re.compile(r"(?:[^%]|%%)*(%[-+ 0#']*\d*(?:\.\d*)?L?([efgaEFGA]))(?:[^%]|%%)*", re.DOTALL)


def _negative_operands(words: list[str]) -> list[str]:
    """`-1` and `-.5` are operands of seq; `--` before the first of them tells so."""
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


@utility(
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
    glue = between
    at = first
    while stop is None or (at < stop if step > 0 else at > stop):
        limit = at + step * 8192
        if stop is not None:
            limit = min(limit, stop) if step > 0 else max(limit, stop)
        numbers = range(at, limit, step)
        if template == b"%d":
            yield glue.join([b"%d" % number for number in numbers])
        else:
            yield glue.join([template % number for number in numbers])
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


def _is_prime(number: int) -> bool:
    """Miller-Rabin; certain below 3.3e24, beyond that with twenty more bases."""
    small = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
    for prime in small:
        if number % prime == 0:
            return number == prime
    odd = number - 1
    twos = (odd & -odd).bit_length() - 1
    odd >>= twos
    bases = small if number < 3_317_044_064_679_887_385_961_981 else (*small, *range(43, 83, 2))
    for base in bases:
        value = pow(base, odd, number)
        if value in (1, number - 1):
            continue
        for _ in range(twos - 1):
            value = value * value % number
            if value == number - 1:
                break
        else:
            return False
    return True


def _divisor(number: int) -> int:
    """A divisor of a composite number (Pollard's rho in Brent's form)."""
    for constant in range(1, 100):
        y, size, product = 2, 1, 1
        divisor = 1
        x = saved = y
        while divisor == 1:
            x = y
            for _ in range(size):
                y = (y * y + constant) % number
            done = 0
            while done < size and divisor == 1:
                saved = y
                for _ in range(min(128, size - done)):
                    y = (y * y + constant) % number
                    product = product * abs(x - y) % number
                divisor = math.gcd(product, number)
                done += 128
            size *= 2
        if divisor == number:
            divisor = 1
            while divisor == 1:
                saved = (saved * saved + constant) % number
                divisor = math.gcd(abs(x - saved), number)
        if divisor != number:
            return divisor
    raise ArithmeticError(f"no divisor of {number} found")


def prime_factors(number: int) -> list[int]:
    """The prime factors of a number from 1 up, in order."""
    factors: list[int] = []
    prime = 2
    while prime < 2000 and prime * prime <= number:
        while number % prime == 0:
            factors.append(prime)
            number //= prime
        prime += 1 if prime == 2 else 2
    rest = [number] if number > 1 else []
    while rest:
        part = rest.pop()
        if _is_prime(part):
            factors.append(part)
        else:
            divisor = _divisor(part)
            rest += [divisor, part // divisor]
    return sorted(factors)


@utility("factor", short="h", long="exponents=h", usage="[OPTION] [NUMBER]...")
def factor(call: Invocation) -> Generator[None, None, Status]:
    """Print the prime factors of each specified integer NUMBER, or of those on standard input."""
    exponents = call.arguments.has("h")
    words: Iterator[str]
    if call.operands:
        words = iter(call.operands)
    else:
        words = (word.decode("utf-8", "surrogateescape") for line in call.stdin for word in line.split())
    for word in words:
        text = word.strip(" ").removeprefix("+")
        if not text.isascii() or not text.isdigit():
            call.complain(f"{quote(word)} is not a valid positive integer")
            continue
        factors = prime_factors(int(text))
        if exponents:
            shown = []
            for prime in dict.fromkeys(factors):
                count = factors.count(prime)
                shown.append(f"{prime}^{count}" if count > 1 else str(prime))
        else:
            shown = [str(prime) for prime in factors]
        call.print(" ".join([f"{int(text)}:", *shown]))
        if call.stdout.full:
            yield
    return call.status


@utility(
    "shuf",
    short="ei:n:o:rz",
    long="echo=e input-range=i: head-count=n: output=o: random-source: repeat=r zero-terminated=z",
)
def shuf(call: Invocation) -> Generator[None, None, Status]:
    """Write a random permutation of the input lines to standard output."""
    arguments = call.arguments
    end = b"\0" if arguments.has("z") else b"\n"
    ranges = arguments.values("i")
    counts: list[int] = []
    for text in arguments.values("n"):
        try:
            counts.append(parse_count(text))
        except ValueError:
            raise UsageError(f"invalid line count: {quote(text)}", hint=False) from None
    limit = min(counts, default=None)
    generator = random.Random(os.urandom(32))
    if (seed := arguments.value("random-source")) is not None:
        with call.open(seed) as source:
            generator.seed(source.read(4096))
    if arguments.has("e") and ranges:
        raise UsageError("cannot combine -e and -i options")
    items: range | list[bytes]
    if ranges:
        if len(ranges) > 1:
            raise UsageError("multiple -i options specified", hint=False)
        match = re.fullmatch(r"(\d+)-(\d+)", ranges[0])
        if match is None or int(match[1]) > int(match[2]) + 1:
            raise UsageError(f"invalid input range: {quote(ranges[0])}", hint=False)
        if call.operands:
            raise UsageError(f"extra operand {quote(call.operands[0])}")
        items = range(int(match[1]), int(match[2]) + 1)
    elif arguments.has("e"):
        items = [word.encode("utf-8", "surrogateescape") for word in call.operands]
    else:
        if len(call.operands) > 1:
            raise UsageError(f"extra operand {quote(call.operands[1])}")
        name = call.operands[0] if call.operands else "-"
        try:
            with call.open(name) as source:
                items = [line.removesuffix(end) for line in records(source.chunks(), end)]
        except IsADirectoryError as error:
            raise CommandError(f"read error: {reason(error)}") from None
        except OSError as error:
            raise CommandError(f"{shell_quote(name)}: {reason(error)}") from None
    chosen: Iterator[int | bytes]
    if arguments.has("r"):
        if not items:
            if limit == 0:
                return 0
            raise CommandError("no lines to repeat")
        chosen = _repeat(items, limit, generator)
    else:
        size = len(items)
        chosen = iter(generator.sample(items, size if limit is None else min(limit, size)))
    target = arguments.value("o")
    out: Sink = call.stdout
    file = None
    if target is not None:
        out = file = call.create(target)
    for item in chosen:
        out.write((b"%d" % item if isinstance(item, int) else item) + end)
        if out.full:
            yield
    if file:
        file.close()
    return 0


def _repeat(items: range | list[bytes], limit: int | None, generator: random.Random) -> Iterator[int | bytes]:
    count = 0
    while limit is None or count < limit:
        yield items[generator.randrange(len(items))]
        count += 1


class _Item:
    """A name in tsort's order."""

    __slots__ = ("count", "followers", "link", "name")

    def __init__(self, name: bytes) -> None:
        self.name = name
        self.count = 0
        self.followers: list[_Item] = []  # the one named last comes first
        self.link: _Item | None = None


@utility("tsort", usage="[OPTION] [FILE]")
def tsort(call: Invocation) -> Status:
    """Write totally ordered list consistent with the partial ordering in FILE."""
    if len(call.operands) > 1:
        raise UsageError(f"extra operand {quote(call.operands[1])}")
    name = call.operands[0] if call.operands else "-"
    try:
        with call.open(name) as source:
            words = source.read().split()
    except IsADirectoryError as error:
        raise CommandError(f"{shell_quote(name)}: read error: {reason(error)}") from None
    except OSError as error:
        raise CommandError(f"{shell_quote(name)}: {reason(error)}") from None
    if len(words) % 2:
        raise CommandError(f"{shell_quote(name)}: input contains an odd number of tokens")
    items: dict[bytes, _Item] = {}
    for before, after in zip(words[::2], words[1::2], strict=True):
        first = items.setdefault(before, _Item(before))
        second = items.setdefault(after, _Item(after))
        if first is not second:
            second.count += 1
            first.followers.append(second)
    left = [items[word] for word in sorted(items)]
    for item in left:
        item.followers.reverse()
    while left:
        queue = [item for item in left if not item.count]
        for item in queue:
            call.stdout.write(item.name + b"\n")
            item.count = -1
            for follower in item.followers:
                follower.count -= 1
                if not follower.count:
                    queue.append(follower)
        left = [item for item in left if item.count >= 0]
        if left:
            call.complain(f"{shell_quote(name)}: input contains a loop:")
            _break_loop(call, left)
    return call.status


def _break_loop(call: Invocation, left: list[_Item]) -> None:
    """Report one loop and take out the relation that closes it."""
    loop: _Item | None = None
    while True:
        for item in left:
            if item.count <= 0:
                continue
            if loop is None:
                loop = item
                continue
            if loop not in item.followers:
                continue
            if item.link is None:
                item.link = loop
                loop = item
                continue
            target = loop
            current: _Item | None = loop
            while current is not None:
                following = current.link
                call.error(current.name.decode("utf-8", "surrogateescape"))
                if current is item:
                    item.followers.remove(target)
                    target.count -= 1
                    break
                current.link = None
                current = following
            for other in left:
                other.link = None
            return
