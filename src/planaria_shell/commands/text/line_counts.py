"""How many lines or bytes `head` and `tail` are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planaria_shell.toolkit.invocation import Invocation
from planaria_shell.toolkit.lines import records
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote_always
from planaria_shell.toolkit.sizes import parse_size
from planaria_shell.toolkit.streams import Source, reason

__all__ = ["LARGEST", "Amount", "each_input", "lines_of", "parse_amount"]


LARGEST = (1 << 64) - 1


@dataclass(slots=True)
class Amount:
    """How much to show: lines or bytes; `turned` when counted from the other end."""

    number: int = 10
    lines: bool = True
    turned: bool = False


def parse_amount(call: Invocation, turning: str) -> Amount:
    amount = Amount()
    for key, value in call.arguments:
        if key not in ("c", "n") or value is None:
            continue
        lines = key == "n"
        text = value
        turned = text.startswith(turning)
        if text[:1] in ("-", "+"):
            text = text[1:]
        try:
            number = parse_size(text)
        except ValueError:
            shown = text if value[:1] == "-" else value
            raise UsageError(
                f"invalid number of {'lines' if lines else 'bytes'}: {quote(shown)}", hint=False
            ) from None
        if number > LARGEST:
            note = "Value too large for defined data type"
            raise UsageError(
                f"invalid number of {'lines' if lines else 'bytes'}: {quote(text)}: {note}", hint=False
            )
        amount = Amount(number, lines, turned)
    return amount


def each_input(call: Invocation) -> Iterator[Source]:
    """Each operand opened, its header written when there should be one."""
    names = call.operands or ["-"]
    verbosity = call.arguments.last(("q", "v"))
    headers = verbosity == "v" or (verbosity is None and len(names) > 1)
    first = True
    for name in names:
        source: Source | None = None
        problem: OSError | None = None
        try:
            source = call.open(name)
        except IsADirectoryError as error:
            problem = error
        except OSError as error:
            call.complain(f"cannot open {shell_quote_always(name)} for reading", error)
            continue
        if headers:
            shown = "standard input" if name == "-" else name
            call.print(f"{'' if first else chr(10)}==> {shown} <==")
            first = False
        if problem:
            call.complain(f"error reading {shell_quote_always(name)}: {reason(problem)}")
        if source:
            with source:
                yield source


def lines_of(source: Source, end: bytes) -> Iterator[bytes]:
    return iter(source) if end == b"\n" else records(source.chunks(), end)
