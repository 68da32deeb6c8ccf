"""`mknod`: create the special file NAME of the given TYPE: p is a named pipe."""

from __future__ import annotations

from collections.abc import Generator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote


@command("mknod", short="m:Z", long="mode=m: context::", usage="[OPTION]... NAME TYPE [MAJOR MINOR]")
def mknod(call: Invocation) -> Generator[None, None, Status]:
    """Create the special file NAME of the given TYPE: p is a named pipe; devices cannot be made here."""
    words = call.operands
    if not words:
        raise UsageError("missing operand")
    fifo = len(words) > 1 and words[1].startswith("p")
    wanted = 2 if fifo else 4
    if len(words) < wanted:
        if not fifo and len(words) == 2:
            call.error(f"missing operand after {quote(words[-1])}")
            call.warn("Special files require major and minor device numbers.")
            call.warn("Try 'mknod --help' for more information.")
            return 1
        raise UsageError(f"missing operand after {quote(words[-1])}")
    if len(words) > wanted:
        call.error(f"extra operand {quote(words[wanted])}")
        if fifo and len(words) == 4:
            call.warn("Fifos do not have major and minor device numbers.")
        call.warn("Try 'mknod --help' for more information.")
        return 1
    name = words[0]
    if fifo:
        mode = call.arguments.value("m")
        return (yield from call.replace(["mkfifo", *([] if mode is None else ["-m", mode]), "--", name]))
    if words[1][:1] not in ("b", "c", "u"):
        raise UsageError(f"invalid device type {quote(words[1])}")
    for number, what in ((words[2], "major"), (words[3], "minor")):
        if not number.isdigit():
            raise UsageError(f"invalid {what} device number {quote(number)}", hint=False)
    raise CommandError(f"{shell_quote(name)}: Operation not permitted")
