"""`env`: set each NAME to VALUE in the environment and run COMMAND."""

from __future__ import annotations

import os
import re
from collections.abc import Generator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote_always
from planaria_shell.toolkit.streams import reason


def split_string(text: str, env: dict[str, str]) -> list[str]:
    """The words of `env -S TEXT`: quotes, backslashes and `${VARIABLE}` as env(1) reads them."""
    words: list[str] = []
    word: list[str] | None = None
    quoting = ""
    at = 0
    escapes = {
        "f": "\f",
        "n": "\n",
        "r": "\r",
        "t": "\t",
        "v": "\v",
        "#": "#",
        "$": "$",
        '"': '"',
        "'": "'",
        "\\": "\\",
    }
    while at < len(text):
        c = text[at]
        at += 1
        if quoting == "'" and c not in "'\\":
            word = [*(word or []), c]
            continue
        if c in "'\"" and quoting in ("", c):
            quoting = "" if quoting else c
            word = word or []
        elif c == "\\":
            if at >= len(text):
                raise UsageError("invalid backslash at end of string in -S", hint=False)
            letter = text[at]
            at += 1
            if quoting == "'" and letter not in "'\\":
                word = [*(word or []), "\\", letter]
            elif letter == "_" and not quoting:
                if word is not None:
                    words.append("".join(word))
                word = None
            elif letter == "_":
                word = [*(word or []), " "]
            elif letter == "c":
                if quoting == '"':
                    raise UsageError("'\\c' must not appear in double-quoted -S string", hint=False)
                break
            elif letter in escapes:
                word = [*(word or []), escapes[letter]]
            else:
                raise UsageError(f"invalid sequence '\\{letter}' in -S", hint=False)
        elif c == "$":
            match = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}").match(text, at)
            if match is None:
                raise UsageError(
                    "only ${VARNAME} expansion is supported, error at: " + text[at - 1 :], hint=False
                )
            at = match.end()
            if match[1] in env or word is not None:
                word = [*(word or []), env.get(match[1], "")]
        elif c in " \t\n\v\f\r" and not quoting:
            if word is not None:
                words.append("".join(word))
            word = None
        elif c == "#" and word is None and not quoting:
            break
        else:
            word = [*(word or []), c]
    if quoting:
        raise UsageError("no terminating quote in -S string", hint=False)
    if word is not None:
        words.append("".join(word))
    return words


@command(
    "env",
    short="iu:0C:vS:",
    long="ignore-environment=i null=0 unset=u: chdir=C: split-string=S: debug=v block-signal:: "
    "default-signal:: "
    "ignore-signal:: list-signal-handling",
    usage="[OPTION]... [-] [NAME=VALUE]... [COMMAND [ARG]...]",
    order="options first",
    failure=125,
)
def env(call: Invocation) -> Generator[None, None, Status]:
    """Set each NAME to VALUE in the environment and run COMMAND."""
    arguments = call.arguments
    words = list(call.operands)
    environment = dict(call.env)
    if arguments.has("i") or words[:1] == ["-"]:
        environment = {}
        if words[:1] == ["-"]:
            words.pop(0)
    for name in arguments.values("u"):
        if not name or "=" in name:
            raise CommandError(f"cannot unset {quote(name)}: Invalid argument", 125)
        environment.pop(name, None)
    if arguments.has("S"):
        words = split_string(arguments.value("S") or "", call.env) + words
    while words and "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        if not name:
            raise CommandError(f"cannot set {quote('')}: Invalid argument", 125)
        environment[name] = value
    directory = arguments.value("C")
    if not words:
        if directory is not None:
            raise UsageError("must specify command with --chdir (-C)")
        end = "\0" if arguments.has("0") else "\n"
        for name, value in environment.items():
            call.print(f"{name}={value}", end)
        return 0
    if arguments.has("0"):
        raise UsageError("cannot specify --null (-0) with command")
    if directory is not None:
        directory = _entered(call, directory)
    try:
        return (yield from call.replace(words, environment, cwd=directory, refusal="{}"))
    except CommandError as problem:
        if problem.status != 127 or not re.search(r"\s", words[0]):
            raise
        call.error(problem.message)
        raise CommandError("use -[v]S to pass options in shebang lines", 127) from None


def _entered(call: Invocation, directory: str) -> str:
    """The directory of `env -C`, made absolute."""
    path = call.path(directory)
    try:
        os.stat(os.path.join(path, "."))
    except OSError as error:
        message = f"cannot change directory to {shell_quote_always(directory)}: {reason(error)}"
        raise CommandError(message, 125) from None
    return path
