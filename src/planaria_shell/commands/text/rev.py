"""`rev`: reverse the characters of each line."""

from __future__ import annotations

from collections.abc import Generator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.lines import whole_lines
from planaria_shell.toolkit.streams import decode, encode


@command("rev")
def rev(call: Invocation) -> Generator[None, None, Status]:
    """Reverse the characters of each line."""
    end = b"\n"
    for name in call.operands or ["-"]:
        try:
            source = call.open(name)
        except OSError as error:
            call.complain(f"cannot open {name}", error)
            continue
        with source:
            for block in whole_lines(source.chunks(), end):
                call.stdout.write(_reversed(block, end))
                if call.stdout.full:
                    yield
    return call.status


def _reversed(block: bytes, end: bytes) -> bytes:
    """Each line backwards: the whole block backwards, and its lines in order again."""
    body = block.removesuffix(end)
    backwards = body[::-1] if body.isascii() else encode(decode(body)[::-1])
    lines = backwards.split(end)
    lines.reverse()
    return end.join(lines) + block[len(body) :]
