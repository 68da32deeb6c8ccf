"""uuidgen: identifiers by RFC 4122."""

from __future__ import annotations

from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import Invocation, utility
from planaria_shell.toolkit.options import UsageError

__all__: list[str] = []


@utility(
    "uuidgen",
    short="rtmsn:N:x",
    long="random=r time=t md5=m sha1=s namespace=n: name=N: hex=x",
    usage="[OPTION]...",
    failure=1,
)
def uuidgen(call: Invocation) -> Status:
    """Print a new identifier: a random one, one by the time, or one made of a name."""
    import uuid  # looks at the system for a long time, and few scripts need it

    arguments = call.arguments
    if call.operands:
        raise UsageError(f"unexpected operand {call.operands[0]}", hint=False)
    if arguments.has("m") or arguments.has("s"):
        space, name = arguments.value("n"), arguments.value("N")
        if space is None or name is None:
            raise UsageError("--namespace and --name are needed with --md5 and --sha1", hint=False)
        known = {"@dns": uuid.NAMESPACE_DNS, "@url": uuid.NAMESPACE_URL, "@oid": uuid.NAMESPACE_OID}
        known["@x500"] = uuid.NAMESPACE_X500
        try:
            base = known.get(space) or uuid.UUID(space)
        except ValueError:
            raise UsageError(f"invalid universally unique identifier {space}", hint=False) from None
        call.print(str((uuid.uuid3 if arguments.has("m") else uuid.uuid5)(base, name)))
        return 0
    call.print(str(uuid.uuid1() if arguments.has("t") else uuid.uuid4()))
    return 0
