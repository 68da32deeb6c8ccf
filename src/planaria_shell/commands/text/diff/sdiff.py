"""sdiff: two files side by side, which is `diff -y` with other letters for its options."""

from __future__ import annotations

from collections.abc import Generator

from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, utility
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import shell_quote_always as shown

__all__: list[str] = []

#: Options that are handed to diff: theirs, and its.
_HANDED = {
    "i": "-i", "E": "-E", "Z": "-Z", "b": "-b", "W": "-w", "B": "-B", "I": "-I", "a": "-a", "w": "-W",
    "l": "--left-column", "s": "--suppress-common-lines", "t": "-t", "d": "-d", "H": "-H",
    "strip-trailing-cr": "--strip-trailing-cr",
}  # fmt: skip


@utility(
    "sdiff",
    short="o:iEZbWBI:aw:lstdH",
    long="output=o: ignore-case=i ignore-tab-expansion=E ignore-trailing-space=Z ignore-space-change=b "
    "ignore-all-space=W ignore-blank-lines=B ignore-matching-lines=I: strip-trailing-cr text=a width=w: "
    "left-column=l suppress-common-lines=s expand-tabs=t minimal=d speed-large-files=H",
    usage="[OPTION]... FILE1 FILE2",
    failure=2,
    hint="{0}: Try '{0} --help' for more information.",
)
def sdiff(call: Invocation) -> Generator[None, None, Status]:
    """Show the differences between FILE1 and FILE2 side by side."""
    names = call.operands
    if len(names) > 2:
        raise UsageError(f"extra operand {shown(names[2])}")
    if len(names) < 2:
        raise UsageError(f"missing operand after {shown([call.argv[0], *names][-1])}")
    words = ["diff", "-y"]
    for name, value in call.arguments:
        if name == "o":
            raise CommandError("--output asks what to take, which needs a terminal; use diff and patch", 2)
        words.append(_HANDED[name])
        if value is not None:
            words.append(value)
    return (yield from call.replace([*words, "--", *names]))
