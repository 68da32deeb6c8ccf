"""`nice`: run COMMAND; there are no priorities here, so the adjustment changes nothing."""

from __future__ import annotations

import re
from collections.abc import Generator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote


@command(
    "nice",
    short="n:",
    long="adjustment=n:",
    usage="[OPTION] [COMMAND [ARG]...]",
    order="options first",
    failure=125,
    rewrite=lambda words: (
        [f"-n{words[0][1:]}", *words[1:]] if words and re.fullmatch(r"-[-+]?\d+", words[0]) else words
    ),
)
def nice(call: Invocation) -> Generator[None, None, Status]:
    """Run COMMAND; there are no priorities here, so the adjustment changes nothing."""
    text = call.arguments.value("n")
    if text is not None and not re.fullmatch(r"[-+]?\d+", text):
        raise CommandError(f"invalid adjustment {quote(text)}", 125)
    if not call.operands:
        if text is not None:
            raise UsageError("a command must be given with an adjustment")
        call.print("0")
        return 0
    return (yield from call.replace(call.operands, refusal="{}"))
