"""less, clear, man, watch: what people use at a terminal."""

from __future__ import annotations

from collections.abc import Generator

from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, utility

__all__: list[str] = []


@utility("less", "more", "most", "pg", parse=False, usage="[FILE]...")
def less(call: Invocation) -> Generator[None, None, Status]:
    """Write each FILE to standard output: there is no terminal to page on."""
    names = [word for word in call.operands if not (word.startswith(("-", "+")) and len(word) > 1)]
    for source in call.inputs(names):
        for chunk in source.chunks():
            call.stdout.write(chunk)
            if call.stdout.full:
                yield
    return call.status


@utility("clear", "reset", short="T:Vx", usage="[OPTION]")
def clear(call: Invocation) -> Status:
    """Clear the screen."""
    if call.env.get("TERM", "dumb") != "dumb":
        call.print("\x1b[H\x1b[2J\x1b[3J", "")
    return 0


@utility("man", parse=False, failure=16)
def man(call: Invocation) -> Status:
    """There are no manual pages here."""
    names = [word for word in call.operands if not word.startswith("-") and not word.isdigit()]
    if not names:
        call.warn("What manual page do you want?\nFor example, try 'man man'.")
        return 1
    for name in names:
        call.warn(f"No manual entry for {name} (try '{name} --help')")
    return 16


@utility("watch", parse=False)
def watch(call: Invocation) -> Status:
    """Not here: it would never end."""
    raise CommandError("not available: it runs until it is interrupted; use a loop with sleep")
