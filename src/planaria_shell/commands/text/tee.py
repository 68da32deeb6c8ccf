"""`tee`: copy standard input to each FILE, and also to standard output."""

from __future__ import annotations

from collections.abc import Generator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.quoting import shell_quote
from planaria_shell.toolkit.streams import Sink


@command("tee", short="aip", long="append=a ignore-interrupts=i output-error::")
def tee(call: Invocation) -> Generator[None, None, Status]:
    """Copy standard input to each FILE, and also to standard output."""
    mode = "ab" if call.arguments.has("a") else "wb"
    files = []
    targets: list[Sink] = [call.stdout]
    for name in call.operands:
        try:
            file = call.create(name, mode)
        except OSError as error:
            call.complain(shell_quote(name), error)
            continue
        files.append(file)
        targets.append(file)
    try:
        for chunk in call.stdin.chunks():
            for target in targets:
                target.write(chunk)
            call.stdout.pass_on()
            if call.stdout.full:
                yield
    finally:
        for file in files:
            file.close()
    return call.status
