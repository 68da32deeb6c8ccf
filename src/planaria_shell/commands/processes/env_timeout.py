"""env, printenv, nice, nohup, setsid, stdbuf, timeout, sleep: how other commands run."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Generator

from planaria_shell.run.command import Status
from planaria_shell.run.deadline import Expired, until
from planaria_shell.toolkit.invocation import CommandError, Invocation, cannot_run, utility
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote_always
from planaria_shell.toolkit.streams import reason

__all__: list[str] = []

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
#: A sleep is made of pieces this long, so that an interrupt comes through between them.
_SLICE = 0.05
_SIGNALS = {
    "HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "TRAP": 5, "ABRT": 6, "BUS": 7, "FPE": 8, "KILL": 9, "USR1": 10,
    "SEGV": 11, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15, "CHLD": 17, "CONT": 18, "STOP": 19,
    "TSTP": 20, "TTIN": 21, "TTOU": 22,
}  # fmt: skip


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


@utility(
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


@utility(
    "printenv", short="0", long="null=0", usage="[OPTION]... [VARIABLE]...", order="options first", failure=2
)
def printenv(call: Invocation) -> Status:
    """Print the values of the specified environment VARIABLE(s), or of all."""
    end = "\0" if call.arguments.has("0") else "\n"
    if not call.operands:
        for name, value in call.env.items():
            call.print(f"{name}={value}", end)
        return 0
    status = 0
    for name in call.operands:
        if name in call.env and "=" not in name:
            call.print(call.env[name], end)
        else:
            status = 1
    return status


@utility(
    "nice",
    short="n:",
    long="adjustment=n:",
    usage="[OPTION] [COMMAND [ARG]...]",
    order="options first",
    failure=125,
    rewrite=lambda words: (
        [f"-n{words[0][1:]}", *words[1:]] if words and re.fullmatch(r"-[-+]?\d+", words[0]) else words
    ),
)
def nice(call: Invocation) -> Generator[None, None, Status]:
    """Run COMMAND; there are no priorities here, so the adjustment changes nothing."""
    text = call.arguments.value("n")
    if text is not None and not re.fullmatch(r"[-+]?\d+", text):
        raise CommandError(f"invalid adjustment {quote(text)}", 125)
    if not call.operands:
        if text is not None:
            raise UsageError("a command must be given with an adjustment")
        call.print("0")
        return 0
    return (yield from call.replace(call.operands, refusal="{}"))


@utility("nohup", usage="COMMAND [ARG]...", order="options first", failure=125)
def nohup(call: Invocation) -> Generator[None, None, Status]:
    """Run COMMAND, ignoring hangup signals."""
    if not call.operands:
        raise UsageError("missing operand")
    return (yield from call.replace(call.operands, quote=shell_quote_always))


@utility(
    "setsid",
    short="cfw",
    long="ctty=c fork=f wait=w",
    usage="[OPTION]... COMMAND [ARG]...",
    order="options first",
)
def setsid(call: Invocation) -> Generator[None, None, Status]:
    """Run COMMAND in a new session (there are no sessions here: it just runs)."""
    if not call.operands:
        raise UsageError("no command specified")
    return (yield from call.replace(call.operands, refusal="failed to execute {}", quote=str))


@utility(
    "stdbuf",
    short="i:o:e:",
    long="input=i: output=o: error=e:",
    usage="OPTION... COMMAND",
    order="options first",
    failure=125,
)
def stdbuf(call: Invocation) -> Generator[None, None, Status]:
    """Run COMMAND; how its streams are buffered is up to the shell."""
    if not call.operands:
        raise UsageError("missing operand")
    if not call.arguments.options:
        raise UsageError("you must specify a buffering mode option")
    return (yield from call.replace(call.operands))


def _duration(text: str) -> float | None:
    """Seconds of `1.5`, `2m`, `inf`, None when it is none."""
    match = re.fullmatch(r"(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|inf(?:inity)?)([smhd]?)", text, re.IGNORECASE)
    if match is None:
        return None
    return float(match[1]) * _UNITS[match[2]]


@utility("sleep", usage="NUMBER[SUFFIX]...")
def sleep(call: Invocation) -> Generator[None, None, Status]:
    """Pause for the sum of the NUMBERs: seconds, or with a suffix minutes (m), hours (h), days (d)."""
    if not call.operands:
        raise UsageError("missing operand")
    total = 0.0
    bad = False
    for text in call.operands:
        seconds = _duration(text)
        if seconds is None:
            call.error(f"invalid time interval {quote(text)}")
            bad = True
        else:
            total += seconds
    if bad:
        call.warn(f"Try '{call.argv[0]} --help' for more information.")
        return 1
    yield from _pause(call, total)
    return 0


def _pause(call: Invocation, seconds: float) -> Generator[None, None, None]:
    """Let time pass; a process with a method `pause(seconds)` knows what can be done meanwhile."""
    pause = getattr(call.process, "pause", None)
    if pause is not None:
        yield from pause(seconds)
        return
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(left, _SLICE))
        yield


@utility(
    "timeout",
    short="fk:s:v",
    long="foreground=f kill-after=k: preserve-status signal=s: verbose=v",
    usage="[OPTION] DURATION COMMAND [ARG]...",
    order="options first",
    failure=125,
)
def timeout(call: Invocation) -> Generator[None, None, Status]:
    """Start COMMAND, and end it if still running after DURATION.

    The time is looked at whenever the command yields (its output is full, or it sleeps), and in between by
    the shell: a process with a method `run_until(deadline, argv)`, the deadline in seconds of
    time.monotonic(), is asked to run the command and returns its status or 124.
    """
    arguments = call.arguments
    if len(call.operands) < 2:
        raise UsageError("missing operand")
    seconds = _duration(call.operands[0])
    if seconds is None:
        raise UsageError(f"invalid time interval {quote(call.operands[0])}")
    after = arguments.value("k")
    if after is not None and _duration(after) is None:
        raise UsageError(f"invalid time interval {quote(after)}")
    name = (arguments.value("s") or "TERM").upper().removeprefix("SIG")
    number = _SIGNALS.get(name, int(name) if name.isdigit() else None)
    if number is None:
        raise UsageError(f"{quote(arguments.value('s') or '')}: invalid signal")
    command = call.operands[1:]
    if not seconds:
        return (yield from call.replace(command))
    deadline = time.monotonic() + seconds
    expired = False
    status = 0
    limited = getattr(call.process, "run_until", None)
    if limited is not None:
        call.stdout.pass_on()
        try:
            status = int(limited(deadline, command))
        except OSError as error:
            raise cannot_run(command[0], error) from None
        expired = status == 124
    elif command[0] == "sleep" and (_sleeping(command) or 0) > seconds:
        # What people use timeout with most; it never writes.
        yield from _pause(call, seconds)
        expired = True
    else:
        steps = call.replace(command)
        while not expired:
            try:
                with until(deadline):
                    next(steps)
            except StopIteration as stop:
                status = int(stop.value)
                break
            except Expired:
                expired = True
                break
            yield
            expired = time.monotonic() > deadline
        steps.close()
    if expired:
        if arguments.has("v"):
            call.error(f"sending signal {name} to command {quote(command[0])}")
        if arguments.has("preserve-status"):
            return 128 + number
        return 137 if number == 9 else 124
    return status


def _sleeping(command: list[str]) -> float | None:
    durations = [_duration(word) for word in command[1:]]
    known = [seconds for seconds in durations if seconds is not None]
    return sum(known) if known and len(known) == len(durations) else None
