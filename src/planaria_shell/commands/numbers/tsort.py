"""`tsort`: write totally ordered list consistent with the partial ordering in FILE."""

from __future__ import annotations

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote
from planaria_shell.toolkit.streams import reason


class _Item:
    """A name in tsort's order."""

    __slots__ = ("count", "followers", "link", "name")

    def __init__(self, name: bytes) -> None:
        self.name = name
        self.count = 0
        self.followers: list[_Item] = []  # the one named last comes first
        self.link: _Item | None = None


@command("tsort", usage="[OPTION] [FILE]")
def tsort(call: Invocation) -> Status:
    """Write totally ordered list consistent with the partial ordering in FILE."""
    if len(call.operands) > 1:
        raise UsageError(f"extra operand {quote(call.operands[1])}")
    name = call.operands[0] if call.operands else "-"
    try:
        with call.open(name) as source:
            words = source.read().split()
    except IsADirectoryError as error:
        raise CommandError(f"{shell_quote(name)}: read error: {reason(error)}") from None
    except OSError as error:
        raise CommandError(f"{shell_quote(name)}: {reason(error)}") from None
    if len(words) % 2:
        raise CommandError(f"{shell_quote(name)}: input contains an odd number of tokens")
    items: dict[bytes, _Item] = {}
    for before, after in zip(words[::2], words[1::2], strict=True):
        first = items.setdefault(before, _Item(before))
        second = items.setdefault(after, _Item(after))
        if first is not second:
            second.count += 1
            first.followers.append(second)
    left = [items[word] for word in sorted(items)]
    for item in left:
        item.followers.reverse()
    while left:
        queue = [item for item in left if not item.count]
        for item in queue:
            call.stdout.write(item.name + b"\n")
            item.count = -1
            for follower in item.followers:
                follower.count -= 1
                if not follower.count:
                    queue.append(follower)
        left = [item for item in left if item.count >= 0]
        if left:
            call.complain(f"{shell_quote(name)}: input contains a loop:")
            _break_loop(call, left)
    return call.status


def _break_loop(call: Invocation, left: list[_Item]) -> None:
    """Report one loop and take out the relation that closes it."""
    loop: _Item | None = None
    while True:
        for item in left:
            if item.count <= 0:
                continue
            if loop is None:
                loop = item
                continue
            if loop not in item.followers:
                continue
            if item.link is None:
                item.link = loop
                loop = item
                continue
            target = loop
            current: _Item | None = loop
            while current is not None:
                following = current.link
                call.error(current.name.decode("utf-8", "surrogateescape"))
                if current is item:
                    item.followers.remove(target)
                    target.count -= 1
                    break
                current.link = None
                current = following
            for other in left:
                other.link = None
            return
