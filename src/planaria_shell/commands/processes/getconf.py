"""`getconf`: print the value of a configuration variable."""

from __future__ import annotations

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError

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


@command("getconf", short="av:", usage="[-v SPEC] VAR [PATH]", failure=2)
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
