"""id, whoami, hostname, uname and so on: who and where one is; getconf, nproc, uptime."""

from __future__ import annotations

import os
import platform
import re
import time

from planaria_shell.run.command import COMMANDS, Status
from planaria_shell.run.special_variables import HOST
from planaria_shell.toolkit.file_times import format_time
from planaria_shell.toolkit.invocation import CommandError, Invocation, utility
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

__all__: list[str] = []

_STARTED = time.monotonic()


def _named(number: int, name: str | None) -> str:
    return f"{number}({name})" if name else str(number)


@utility(
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


@utility("whoami", usage="[OPTION]...")
def whoami(call: Invocation) -> Status:
    """Print the user name of the current user."""
    if call.operands:
        raise UsageError(f"extra operand {quote(call.operands[0])}")
    call.print(user_name(current_user()) or str(current_user()))
    return 0


@utility("logname", usage="[OPTION]")
def logname(call: Invocation) -> Status:
    """Print the name of the current user."""
    if call.operands:
        raise UsageError(f"extra operand {quote(call.operands[0])}")
    call.print(user_name(current_user()) or str(current_user()))
    return 0


@utility("groups", usage="[OPTION]... [USERNAME]...")
def groups_command(call: Invocation) -> Status:
    """Print group memberships for each USERNAME, or for the current user."""
    own = " ".join(group_name(number) or str(number) for number in current_groups())
    if not call.operands:
        call.print(own)
    for name in call.operands:
        if user_number(name) is None:
            call.complain(f"{quote(name)}: no such user")
        else:
            call.print(f"{name} : {own if user_number(name) == current_user() else name}")
    return call.status


@utility("hostname", short="dfisIy", long="short=s fqdn=f long=f ip-address=i domain=d", usage="[OPTION]")
def hostname(call: Invocation) -> Status:
    """Print the name of the host."""
    if call.operands:
        raise CommandError("you must be root to change the host name")
    if call.arguments.has("d"):
        call.print("")
    else:
        call.print("127.0.0.1" if call.arguments.has("i", "I") else call.env.get("HOSTNAME") or HOST)
    return 0


@utility("hostid", usage="[OPTION]")
def hostid(call: Invocation) -> Status:
    """Print the numeric identifier of the host in hexadecimal."""
    call.print("00000000")
    return 0


@utility(
    "uname",
    short="asnrvmpio",
    long="all=a kernel-name=s nodename=n kernel-release=r kernel-version=v machine=m processor=p "
    "hardware-platform=i operating-system=o sysname=s release=r",
    usage="[OPTION]...",
)
def uname(call: Invocation) -> Status:
    """Print certain system information; with no OPTION, same as -s."""
    if call.operands:
        raise UsageError(f"extra operand {quote(call.operands[0])}")
    parts = {
        "s": "Linux",
        "n": call.env.get("HOSTNAME") or HOST,
        "r": "6.1.0-planaria",
        "v": "#1 SMP",
        "m": _machine(),
        "p": "unknown",
        "i": "unknown",
        "o": "GNU/Linux",
    }
    chosen = {key for key, _ in call.arguments}
    if "a" in chosen:
        chosen = set("snrvmo")
    call.print(" ".join(text for key, text in parts.items() if key in (chosen or {"s"})))
    return 0


def _machine() -> str:
    return platform.machine() or "wasm32"


@utility("arch", usage="[OPTION]...")
def arch(call: Invocation) -> Status:
    """Print machine architecture."""
    call.print(_machine())
    return 0


@utility("nproc", long="all ignore:", usage="[OPTION]...")
def nproc(call: Invocation) -> Status:
    """Print the number of processing units available."""
    text = call.arguments.value("ignore") or "0"
    if not text.isdigit():
        raise UsageError(f"invalid number: {quote(text)}", hint=False)
    call.print("1")
    return 0


@utility("uptime", short="ps", long="pretty=p since=s", usage="[OPTION]")
def uptime(call: Invocation) -> Status:
    """Tell how long the shell has been running."""
    seconds = int(time.monotonic() - _STARTED)
    now = time.time_ns()
    if call.arguments.has("s"):
        call.print(format_time(now - seconds * 10**9, "%Y-%m-%d %H:%M:%S", call.env))
        return 0
    hours, minutes = divmod(seconds // 60, 60)
    if call.arguments.has("p"):
        words = [f"{hours} hour{'s' * (hours != 1)}"] if hours else []
        call.print("up " + ", ".join([*words, f"{minutes} minute{'s' * (minutes != 1)}"]))
        return 0
    clock = format_time(now, "%H:%M:%S", call.env)
    lasted = f"{hours:2d}:{minutes:02d}" if hours else f"{minutes} min"
    call.print(f" {clock} up {lasted},  1 user,  load average: 0.00, 0.00, 0.00")
    return 0


@utility("who", short="abdHlmpqrstTuw", long="all=a heading=H count=q", usage="[OPTION]...")
def who(call: Invocation) -> Status:
    """Show who is logged on: nobody is, this is no login session."""
    if call.arguments.has("q"):
        call.print("\n# users=0")
    elif call.arguments.has("H"):
        call.print("NAME     LINE         TIME             COMMENT")
    return 0


@utility("users", usage="[OPTION]...")
def users(call: Invocation) -> Status:
    """Print the user names of users currently logged in: none."""
    return 0


@utility("tty", short="s", long="silent=s quiet=s", usage="[OPTION]...", failure=2)
def tty(call: Invocation) -> Status:
    """Print the file name of the terminal connected to standard input: there is none."""
    if not call.arguments.has("s"):
        call.print("not a tty")
    return 1


_CONFIGURATION = {
    "ARG_MAX": "2097152",
    "PATH_MAX": "4096",
    "NAME_MAX": "255",
    "PAGESIZE": "4096",
    "PAGE_SIZE": "4096",
    "_NPROCESSORS_ONLN": "1",
    "_NPROCESSORS_CONF": "1",
    "LONG_BIT": "64",
    "WORD_BIT": "32",
    "CHAR_BIT": "8",
    "INT_MAX": "2147483647",
    "INT_MIN": "-2147483648",
    "UINT_MAX": "4294967295",
    "LONG_MAX": "9223372036854775807",
    "SSIZE_MAX": "32767",
    "OPEN_MAX": "1024",
    "CLK_TCK": "100",
    "LINE_MAX": "2048",
    "HOST_NAME_MAX": "64",
    "SYMLINK_MAX": "",
    "_POSIX_VERSION": "200809",
    "POSIX_VERSION": "200809",
    "_POSIX2_VERSION": "200809",
    "PATH": "/bin:/usr/bin",
    "LINK_MAX": "127",
    "PIPE_BUF": "4096",
    "GNU_LIBC_VERSION": "glibc 2.36",
}


@utility("getconf", short="av:", usage="[-v SPEC] VAR [PATH]", failure=2)
def getconf(call: Invocation) -> Status:
    """Print the value of a configuration variable."""
    if call.arguments.has("a"):
        for name, value in _CONFIGURATION.items():
            call.print(f"{name:<34} {value}")
        return 0
    if not call.operands:
        raise UsageError("a variable must be named")
    name = call.operands[0]
    if name not in _CONFIGURATION:
        raise CommandError(f"Unrecognized variable `{name}'", 2)
    call.print(_CONFIGURATION[name] or "undefined")
    return 0


@utility("locale", short="ac:km", usage="[NAME]...")
def locale(call: Invocation) -> Status:
    """Show what the locale is: there is one, C.UTF-8."""
    if call.arguments.has("a"):
        for name in ("C", "C.utf8", "POSIX"):
            call.print(name)
    elif call.arguments.has("m") or call.operands == ["charmap"]:
        call.print("UTF-8")
    else:
        language = call.env.get("LANG", "C.UTF-8")
        everything = call.env.get("LC_ALL", "")
        call.print(f"LANG={language}\nLANGUAGE={call.env.get('LANGUAGE', '')}")
        for part in (
            "CTYPE",
            "NUMERIC",
            "TIME",
            "COLLATE",
            "MONETARY",
            "MESSAGES",
            "PAPER",
            "NAME",
            "ADDRESS",
            "TELEPHONE",
            "MEASUREMENT",
            "IDENTIFICATION",
        ):
            given = call.env.get(f"LC_{part}")
            call.print(
                f"LC_{part}={given}" if given and not everything else f'LC_{part}="{everything or language}"'
            )
        call.print(f"LC_ALL={everything}")
    return 0


@utility("which", short="as", long="all=a", usage="[-a] NAME...")
def which(call: Invocation) -> Status:
    """Print where the commands with these names are."""
    status = 0
    for name in call.operands:
        found: list[str] = []
        if "/" in name:
            if os.access(call.path(name), os.X_OK) and not os.path.isdir(call.path(name)):
                found = [name]
        else:
            for directory in call.env.get("PATH", "/usr/bin:/bin").split(":"):
                path = os.path.join(call.path(directory or "."), name)
                if os.path.isfile(path) and os.access(path, os.X_OK):
                    found.append(path)
            if not found and name in COMMANDS:
                found = [f"/usr/bin/{name}"]
        if not found:
            status = 1
        elif not call.arguments.has("s"):
            for path in found if call.arguments.has("a") else found[:1]:
                call.print(path)
    return status


@utility("ps", usage="[OPTION]...", parse=False)
def ps(call: Invocation) -> Status:
    """Show processes: the shell is the only one."""
    words = "".join(word.lstrip("-") for word in call.operands if not re.match(r"--|\d", word))
    if "u" in words and "-u" not in call.operands:
        call.print("USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND")
        start = format_time(time.time_ns(), "%H:%M", call.env)
        call.print(
            f"{user_name(current_user()) or 'user':<9} {1:>6}  0.0  0.0      0     0 ?        R    "
            f"{start}   0:00 bash"
        )
    elif "f" in words:
        call.print("UID          PID    PPID  C STIME TTY          TIME CMD")
        start = format_time(time.time_ns(), "%H:%M", call.env)
        call.print(
            f"{user_name(current_user()) or 'user':<10} {1:>5} {0:>7}  0 {start} ?        00:00:00 bash"
        )
    else:
        call.print("    PID TTY          TIME CMD\n      1 ?        00:00:00 bash")
    return 0


@utility("top", parse=False)
def top(call: Invocation) -> Status:
    """Not here: there is no terminal to draw on and one process only."""
    raise CommandError("there is no terminal to draw on; the shell is the only process (see ps)")


@utility(
    "free", short="bkmghtw", long="bytes=b kibi=k mebi=m gibi=g human=h total=t wide=w", usage="[OPTION]..."
)
def free(call: Invocation) -> Status:
    """Show memory; a sandbox has no memory statistics of its own."""
    raise CommandError("memory statistics are not available in the sandbox")
