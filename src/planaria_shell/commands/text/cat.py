"""`cat`: concatenate FILE(s) to standard output."""

from __future__ import annotations

from collections.abc import Generator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.lines import whole_lines
from planaria_shell.toolkit.quoting import shell_quote
from planaria_shell.toolkit.streams import Source, open_small


@command(
    "cat",
    short="AbeEnstTuv",
    long="show-all=A number-nonblank=b show-ends=E number=n squeeze-blank=s show-tabs=T show-nonprinting=v",
)
def cat(call: Invocation) -> Generator[None, None, Status]:
    """Concatenate FILE(s) to standard output."""
    arguments = call.arguments
    out = call.stdout
    if not arguments.has("A", "b", "e", "E", "n", "s", "t", "T", "v"):
        for name in call.operands or ["-"]:
            source: Source | None = None
            try:
                if name == "-" or name.startswith(("/dev/", "/proc/")):
                    source = call.open(name)
                else:
                    source, data = open_small(call.path(name))
            except OSError as error:
                call.complain(shell_quote(name), error)
                continue
            if source is None:
                out.write(data)
            else:
                out.pass_on()
                with source:
                    for chunk in source.chunks():
                        out.write(chunk)
                        out.pass_on()
                        if out.full:
                            yield
            if out.full:
                yield
        return call.status
    if not arguments.has("A", "b", "e", "E", "s", "t", "T", "v"):
        return (yield from _numbered(call))
    visible = arguments.has("A", "e", "t", "v")
    tabs = arguments.has("A", "t", "T")
    ends = arguments.has("A", "e", "E")
    skip_blank = arguments.has("b")
    number = arguments.has("n", "b")
    squeeze = arguments.has("s")
    table = [_visible(byte) if visible else bytes([byte]) for byte in range(256)]
    table[9] = b"^I" if tabs else b"\t"
    translate = visible or tabs
    count = 0
    blanks = 0
    middle = False
    for source in call.inputs():
        for line in source:
            body = line[:-1] if line.endswith(b"\n") else line
            ended = len(body) < len(line)
            if not body and not middle:
                blanks += 1
                if squeeze and blanks > 1:
                    continue
            else:
                blanks = 0
            prefix = b""
            if number and not middle and (body or not skip_blank):
                count += 1
                prefix = b"%6d\t" % count
            if translate:
                body = b"".join([table[byte] for byte in body])
            if ends and ended:
                body = body[:-1] + b"^M$" if body.endswith(b"\r") else body + b"$"
            out.write(prefix + body + b"\n" if ended else prefix + body)
            middle = not ended
            if out.full:
                yield
    return call.status


def _numbered(call: Invocation) -> Generator[None, None, Status]:
    """`cat -n` and nothing else."""
    count = 1
    middle = False
    for source in call.inputs():
        for block in whole_lines(source.chunks(), b"\n"):
            lines = block.removesuffix(b"\n").split(b"\n")
            # A line that an earlier file began has its number.
            parts = [lines.pop(0)] if middle else []
            parts += [b"%6d\t%b" % pair for pair in enumerate(lines, count)]
            count += len(lines)
            middle = not block.endswith(b"\n")
            call.stdout.write(b"\n".join(parts) + (b"" if middle else b"\n"))
            if call.stdout.full:
                yield
    return call.status


def _visible(byte: int) -> bytes:
    """A byte in the notation of `cat -v`."""
    if byte in (9, 10):
        return bytes([byte])
    prefix = b""
    if byte >= 128:
        prefix = b"M-"
        byte -= 128
    if byte < 32:
        return prefix + b"^" + bytes([byte + 64])
    if byte == 127:
        return prefix + b"^?"
    return prefix + bytes([byte])
