"""chroot, chcon, runcon, stty, pinky: what needs another root, a security system, a terminal or a login."""

from __future__ import annotations

import os
import re
from collections.abc import Generator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote
from planaria_shell.toolkit.quoting import shell_quote_always as shown
from planaria_shell.toolkit.streams import reason

__all__: list[str] = []


@command(
    "chroot",
    long="groups: userspec: skip-chdir",
    usage="[OPTION] NEWROOT [COMMAND [ARG]...]",
    order="options first",
    failure=125,
)
def chroot(call: Invocation) -> Generator[None, None, Status]:
    """Run COMMAND with root directory set to NEWROOT, which can only be the root that there is."""
    if not call.operands:
        raise UsageError("missing operand")
    root, *words = call.operands
    path = call.path(root)
    try:
        os.stat(path)
    except OSError as error:
        raise CommandError(f"cannot change root directory to {shown(root)}: {reason(error)}", 125) from None
    if os.path.realpath(path) != "/":
        raise CommandError(f"cannot change root directory to {shown(root)}: Operation not permitted", 125)
    return (yield from call.replace(words or [call.env.get("SHELL") or "bash"]))


@command(
    "chcon",
    short="hHLPRfl:r:t:u:v",
    long="dereference no-dereference=h preserve-root no-preserve-root reference: recursive=R range=l: "
    "role=r: type=t: user=u: verbose=v",
    usage="[OPTION]... CONTEXT FILE...",
)
def chcon(call: Invocation) -> Status:
    """Change the security context of each FILE: there are none here."""
    names = list(call.operands)
    partial = call.arguments.has("l", "r", "t", "u")
    if not partial and not call.arguments.has("reference") and names:
        first = names.pop(0)
        if not names:
            raise UsageError(f"missing operand after {quote(first)}")
    if not names:
        raise UsageError("missing operand")
    for name in names:
        if not os.path.lexists(call.path(name)):
            call.complain(f"cannot access {shown(name)}: No such file or directory")
        elif partial:
            call.complain(f"can't apply partial context to unlabeled file {shown(name)}")
        else:
            call.complain(f"failed to change context of {shown(name)}: Operation not supported")
    return call.status


@command(
    "runcon",
    short="cl:r:t:u:",
    long="compute=c range=l: role=r: type=t: user=u:",
    usage="CONTEXT COMMAND [ARGS]...",
    order="options first",
    failure=125,
)
def runcon(call: Invocation) -> Status:
    """Run a program in another security context: there are none here."""
    raise CommandError("runcon may be used only on a SELinux kernel", 1)


#: What stty takes: settings that may have a minus before them, those that do not, and those with a value.
_SWITCHES = (
    "brkint clocal cread crtscts cstopb echo echoctl echoe echok echoke echonl echoprt extproc flusho hup "
    "hupcl icanon icrnl iexten ignbrk igncr ignpar imaxbel inlcr inpck isig istrip iuclc iutf8 ixany ixoff "
    "ixon noflsh ocrnl ofdel ofill olcuc onlcr onlret onocr opost parenb parmrk parodd tostop xcase cbreak "
    "raw evenp parity oddp nl litout pass8 cooked decctlq lcase LCASE tandem ctlecho crtkill prterase"
)
_WORDS = "sane ek dec crt size speed drain -drain cs5 cs6 cs7 cs8"
_VALUES = (
    "cols columns rows ispeed ospeed line min time intr quit erase kill eof eol eol2 swtch start stop susp "
    "dsusp rprnt werase lnext discard"
)
_SAVED = re.compile(r"[0-9a-f]+(?::[0-9a-f]+)+|[0-9]+")


@command("stty", raw=True, usage="[-F DEVICE] [-a | -g | SETTING...]")
def stty(call: Invocation) -> Status:
    """Print or change terminal characteristics: there is no terminal."""
    words = iter(call.operands)
    device: str | None = None
    for word in words:
        if word.startswith("--file="):
            device = word.removeprefix("--file=")
        elif word in ("-F", "--file"):
            device = next(words, None)
            if device is None:
                raise UsageError("option requires an argument -- 'F'")
        elif word.startswith("-F"):
            device = word[2:]
        elif word in _VALUES.split():
            if next(words, None) is None:
                raise UsageError(f"missing argument to {quote(word)}")
        elif not (
            word in ("-a", "--all", "-g", "--save")
            or word in _WORDS.split()
            or word.removeprefix("-") in _SWITCHES.split()
            or _SAVED.fullmatch(word)
        ):
            raise UsageError(f"invalid argument {quote(word)}")
    if device is not None:
        try:
            os.close(os.open(call.path(device), os.O_RDONLY))
        except OSError as error:
            raise CommandError(f"{shell_quote(device)}: {reason(error)}") from None
    name = "'standard input'" if device is None else shell_quote(device)
    raise CommandError(f"{name}: Inappropriate ioctl for device")


@command("pinky", short="bfhilpqsw", usage="[OPTION]... [USER]...")
def pinky(call: Invocation) -> Status:
    """Show who is logged on: no one is, since this is not a login session."""
    if call.arguments.has("l"):
        if not call.operands:
            raise UsageError("no username specified; at least one must be specified when using -l")
        for name in call.operands:
            call.print(f"Login name: {name:<28}In real life:  ???")
        return 0
    if not call.arguments.has("f"):
        short = call.arguments.has("i", "q")
        line = "Login   "
        if not (short or call.arguments.has("w")):
            line += f" {'Name':<19}"
        line += "  TTY     "
        if not call.arguments.has("q"):
            line += " Idle  "
        call.print(f"{line} {'When':<16}" + ("" if short else " Where"))
    return 0
