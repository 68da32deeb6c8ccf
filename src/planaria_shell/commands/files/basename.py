"""`basename`: print NAME with any leading directory components removed."""

from __future__ import annotations

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote


def _base(name: str) -> str:
    stripped = name.rstrip("/")
    if not stripped:
        return "/" if name else ""
    return stripped.rpartition("/")[2]


@command(
    "basename",
    short="as:z",
    long="multiple=a suffix=s: zero=z",
    usage="NAME [SUFFIX]\n  or:  basename OPTION... NAME...",
    order="options first",
)
def basename(call: Invocation) -> Status:
    """Print NAME with any leading directory components removed."""
    arguments = call.arguments
    names = call.operands
    suffix = arguments.value("s") or ""
    if not names:
        raise UsageError("missing operand")
    if not arguments.has("a", "s"):
        if len(names) > 2:
            raise UsageError(f"extra operand {quote(names[2])}")
        if len(names) == 2:
            suffix = names[1]
        names = names[:1]
    for name in names:
        base = _base(name)
        if suffix and base != suffix and base.endswith(suffix) and base != "/":
            base = base.removesuffix(suffix)
        call.print(base, "\0" if arguments.has("z") else "\n")
    return 0
