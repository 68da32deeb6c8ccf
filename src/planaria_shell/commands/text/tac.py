"""`tac`: write each FILE to standard output, last line first."""

from __future__ import annotations

import re
from collections.abc import Generator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import shell_quote, shell_quote_always


@command("tac", short="brs:", long="before=b regex=r separator=s:")
def tac(call: Invocation) -> Generator[None, None, Status]:
    """Write each FILE to standard output, last line first."""
    arguments = call.arguments
    text = arguments.value("s")
    separator = b"\n" if text is None else text.encode("utf-8", "surrogateescape")
    before = arguments.has("b")
    if arguments.has("r"):
        if not separator:
            raise UsageError("separator cannot be empty", hint=False)
        pattern = re.compile(separator)
    else:
        pattern = re.compile(re.escape(separator or b"\0"))
    for name in call.operands or ["-"]:
        try:
            source = call.open(name)
        except IsADirectoryError as error:
            call.complain(f"{shell_quote(name)}: read error", error)
            continue
        except OSError as error:
            call.complain(f"failed to open {shell_quote_always(name)} for reading", error)
            continue
        with source:
            data = source.read()
        if text is None and not before and not arguments.has("r"):
            # The usual case; a last line without a newline is followed by the line before it.
            if data:
                pieces = data.split(b"\n")
                rest = pieces.pop()
                pieces.reverse()
                call.stdout.write(rest + b"\n".join(pieces) + b"\n" if pieces else rest)
            if call.stdout.full:
                yield
            continue
        ends = [match.start() if before else match.end() for match in pattern.finditer(data)]
        if before and (not ends or ends[0] != 0):
            ends.insert(0, 0)
        if not before:
            ends.insert(0, 0)
        if ends[-1] != len(data):
            ends.append(len(data))
        for start, end in zip(reversed(ends[:-1]), reversed(ends[1:]), strict=True):
            call.stdout.write(data[start:end])
            if call.stdout.full:
                yield
    return call.status
