"""`setsid`: run COMMAND in a new session."""

from __future__ import annotations

from collections.abc import Generator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, cannot_run, command
from planaria_shell.toolkit.options import UsageError

_REFUSAL = "failed to execute {}"


@command(
    "setsid",
    short="cfw",
    long="ctty=c fork=f wait=w",
    usage="[OPTION]... COMMAND [ARG]...",
    order="options first",
)
def setsid(call: Invocation) -> Generator[None, None, Status]:
    """Run COMMAND in a new session: one that is not stopped with the program that started it."""
    if not call.operands:
        raise UsageError("no command specified")
    detach = getattr(call.process, "detach", None)
    if detach is None or not call.arguments.has("f") or call.arguments.has("w"):
        begin_session = getattr(call.process, "begin_session", None)
        if begin_session is not None:
            begin_session()
        return (yield from call.replace(call.operands, refusal=_REFUSAL, quote=str))
    try:
        detach(call.operands)
    except OSError as error:
        # It is the new process that fails; this one has only started it.
        call.error(cannot_run(call.operands[0], error, _REFUSAL, str).message)
    return 0
