"""`id`, `whoami`, `logname`."""

from __future__ import annotations

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.users import (
    current_group,
    current_groups,
    current_user,
    group_name,
    user_name,
    user_number,
)


def _named(number: int, name: str | None) -> str:
    return f"{number}({name})" if name else str(number)


@command(
    "id",
    short="agGnruZz",
    long="group=g groups=G name=n real=r user=u context=Z zero=z",
    usage="[OPTION]... [USER]...",
)
def id_command(call: Invocation) -> Status:
    """Print user and group information for each specified USER, or for the current user."""
    arguments = call.arguments
    chosen = {key for key, _ in arguments if key in ("u", "g", "G", "Z")}
    if "Z" in chosen:
        raise CommandError("--context (-Z) works only on an SELinux-enabled kernel")
    if len(chosen) > 1:
        raise UsageError('cannot print "only" of more than one choice', hint=False)
    kind = next(iter(chosen), "")
    if not kind and arguments.has("n", "r"):
        raise UsageError("cannot print only names or real IDs in default format", hint=False)
    end = "\0" if arguments.has("z") else "\n"
    names: list[str | None] = [*call.operands] or [None]
    for name in names:
        user, group, groups = current_user(), current_group(), current_groups()
        if name is not None:
            number = user_number(name)
            if number is None and name.isdigit() and user_name(int(name)):
                number = int(name)
            if number is None:
                call.complain(f"{quote(name)}: no such user")
                continue
            if number != user:
                user, group, groups = number, number, [number]
        if kind == "u":
            call.print((user_name(user) or str(user)) if arguments.has("n") else str(user), end)
        elif kind == "g":
            call.print((group_name(group) or str(group)) if arguments.has("n") else str(group), end)
        elif kind == "G":
            shown = [(group_name(g) or str(g)) if arguments.has("n") else str(g) for g in groups]
            call.print(("\0" if arguments.has("z") else " ").join(shown), end)
        else:
            listed = ",".join(_named(g, group_name(g)) for g in groups)
            call.print(
                f"uid={_named(user, user_name(user))} gid={_named(group, group_name(group))} groups={listed}"
            )
    return call.status


@command("whoami", usage="[OPTION]...")
def whoami(call: Invocation) -> Status:
    """Print the user name of the current user."""
    if call.operands:
        raise UsageError(f"extra operand {quote(call.operands[0])}")
    call.print(user_name(current_user()) or str(current_user()))
    return 0


@command("logname", usage="[OPTION]")
def logname(call: Invocation) -> Status:
    """Print the name of the current user."""
    if call.operands:
        raise UsageError(f"extra operand {quote(call.operands[0])}")
    call.print(user_name(current_user()) or str(current_user()))
    return 0
