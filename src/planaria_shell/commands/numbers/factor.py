"""`factor`: print the prime factors of each specified integer NUMBER, or of those on standard input."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.quoting import quote


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


@command("factor", short="h", long="exponents=h", usage="[OPTION] [NUMBER]...")
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
