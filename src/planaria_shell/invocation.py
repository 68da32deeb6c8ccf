"""`bash` and `sh` as commands."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Iterator

from planaria_shell.builtins.options import confine, list_options, list_shell_options, turn
from planaria_shell.builtins.registry import BuiltinUsageError
from planaria_shell.compile.redirection import open_stream
from planaria_shell.errors import ShellError, ShellSyntaxError
from planaria_shell.execution.process import RunningCommand
from planaria_shell.startup import hold_dialogue, make_interactive, run_startup_file
from planaria_shell.state.command import Process
from planaria_shell.state.control import BROKEN_PIPE
from planaria_shell.state.deadline import Expired
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.options import LETTERS, SHOPT_OPTIONS
from planaria_shell.syntax.parser import parse, parser_of

__all__ = [
    "HELP_TEXT",
    "VERSION_TEXT",
    "bash",
    "parse_invocation",
    "prepare",
    "read_commands",
    "read_script",
    "run_startup",
]

VERSION_TEXT = """GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)
Copyright (C) 2022 Free Software Foundation, Inc.
License GPLv3+: GNU GPL version 3 or later <http://gnu.org/licenses/gpl.html>

This is free software; you are free to change and redistribute it.
There is NO WARRANTY, to the extent permitted by law.
"""


_SUMMARY = """Shell options:
\t-ilrsD or -c command or -O shopt_option\t\t(invocation only)
\t-abefhkmnptuvxBCEHPT or -o option
"""
#: Long options, which come before all others.
_LONG = (
    "debug", "debugger", "dump-po-strings", "dump-strings", "help", "init-file", "login", "noediting",
    "noprofile", "norc", "posix", "pretty-print", "rcfile", "restricted", "verbose", "version",
)  # fmt: skip
_OPTIONS = "".join(f"\t--{name}\n" for name in _LONG)
_USAGE = f"""Usage:\tbash [GNU long option] [option] ...
\tbash [GNU long option] [option] script-file ...
GNU long options:
{_OPTIONS}{_SUMMARY}"""
HELP_TEXT = f"GNU bash, version 5.2.15(1)-release-(x86_64-pc-linux-gnu)\n{_USAGE}"
#: So much of a file is looked at for what cannot be in a script.
_SAMPLE = 80


class BashInvocation:
    """What the command line of `bash` asks for."""

    def __init__(self) -> None:
        self.command: str | None = None
        self.script: str | None = None
        self.read_stdin = False
        self.interactive = False
        #: Whether it begins as a login shell does, and runs the files that such a shell runs.
        self.login = False
        self.runs_profile = True
        #: The file that an interactive shell runs first, unless the command line names another or none.
        self.startup_file: str | None = "~/.bashrc"
        self.name = "bash"
        self.arguments: list[str] = []
        self.restricted = False
        self.options: list[tuple[str, bool]] = []
        #: `-o` and `-O` without a name: which options are listed, and whether as commands.
        self.listed: list[tuple[str, bool]] = []
        self.shopts: list[tuple[str, bool]] = []
        #: What is only shown: the version, or how to call the shell.
        self.shown = ""
        self.error = ""


def parse_invocation(argv: list[str]) -> BashInvocation:
    """Read the command line of `bash` (Bash Reference Manual, section 6.1)."""
    result = BashInvocation()
    result.name = argv[0]
    result.login = argv[0].startswith("-")
    result.restricted = os.path.basename(argv[0]) == "rbash"
    place = 1
    while place < len(argv) and argv[place][:1] == "-" and argv[place] not in ("-", "--"):
        word = argv[place]
        # One dash does as well.
        name = word.removeprefix("--") if word.startswith("--") else word[1:]
        if name not in _LONG:
            if word.startswith("--"):
                result.error = f"{word}: invalid option\n{_USAGE}".rstrip("\n")
                return result
            break
        if name in ("rcfile", "init-file"):
            place += 1
            if place == len(argv):
                result.error = f"{name}: option requires an argument"
                return result
            result.startup_file = argv[place]
        else:
            _take_long(result, name)
        place += 1
    wants_command = False
    while place < len(argv):
        word = argv[place]
        if word in ("--", "-"):
            place += 1
            break
        if word[:1] not in ("-", "+") or len(word) < 2:
            break
        on = word[0] == "-"
        for letter in word[1:]:
            if letter == "c":
                wants_command = True
            elif letter == "s":
                result.read_stdin = True
            elif letter == "i":
                result.interactive = True
            elif letter in "oO":
                place += 1
                if place < len(argv):
                    (result.options if letter == "o" else result.shopts).append((argv[place], on))
                else:
                    result.listed.append((letter, not on))
            elif letter in LETTERS:
                result.options.append((LETTERS[letter], on))
            elif letter == "l":
                result.login = True
            elif letter == "r":
                result.restricted = True
            elif letter != "D":
                result.error = f"{word[0]}{letter}: invalid option\n{_USAGE}".rstrip("\n")
                return result
        place += 1
    rest = argv[place:]
    if wants_command:
        if not rest:
            result.error = "-c: option requires an argument"
            return result
        result.command = rest[0]
        if len(rest) > 1:
            result.name = rest[1]
        result.arguments = rest[2:]
    elif rest and not result.read_stdin:
        result.script = rest[0]
        result.name = rest[0]
        result.arguments = rest[1:]
    else:
        result.read_stdin = True
        result.arguments = rest
    return result


def _take_long(result: BashInvocation, name: str) -> None:
    """Take a long option without an argument."""
    if name == "version":
        result.shown = VERSION_TEXT
    elif name == "help":
        result.shown = HELP_TEXT
    elif name in ("posix", "verbose"):
        result.options.append((name, True))
    elif name == "norc":
        result.startup_file = None
    elif name == "login":
        result.login = True
    elif name == "noprofile":
        result.runs_profile = False
    elif name == "restricted":
        result.restricted = True


def read_script(shell: Interpreter, name: str) -> str:
    """The text of a script, which is looked for on PATH if it is not in the working directory.

    Raises `ShellError` with the status of a shell that cannot run it."""
    path = name
    if "/" not in name and not os.path.exists(shell.path(name)):
        for directory in (shell.variables.get("PATH") or "").split(":"):
            candidate = os.path.join(directory, name)
            if os.path.isfile(shell.path(candidate)):
                path = candidate
                break
    try:
        stream = open_stream(shell, path, "<")
        data = stream.read()
        stream.release()
    except IsADirectoryError as error:
        raise ShellError(f"{name}: {name}: {error.strerror}", status=126) from None
    except (OSError, ShellError) as error:
        status = 127 if error.errno in (0, errno.ENOENT) else 126
        reason = os.strerror(error.errno or errno.ENOENT)
        raise ShellError(
            f"{shell.name if status == 126 else 'bash'}: {name}: {reason}", status=status
        ) from None
    if _is_binary(data[:_SAMPLE]):
        raise ShellError(f"{name}: {name}: cannot execute binary file", status=126)
    return data.decode("utf-8", "surrogateescape")


def _is_binary(sample: bytes) -> bool:
    """Whether the first line (or two, behind `#!`) of a file has a NUL in it."""
    lines = sample.split(b"\n")
    return sample.startswith(b"\x7fELF") or b"\0" in b"".join(lines[: 2 if sample[:2] == b"#!" else 1])


def bash(process: Process) -> Generator[None, None, int]:
    """Run a script, a command line (`-c`) or standard input in a shell of its own."""
    assert isinstance(process, RunningCommand)
    asked = parse_invocation(process.argv)
    if asked.error:
        process.error(asked.error)
        return 2
    if asked.shown:
        process.stdout.write(asked.shown.encode())
        return 0
    parent = process.shell
    child = parent.spawn(process.env, name=asked.name, arguments=asked.arguments)
    try:
        if os.path.basename(process.argv[0]) not in ("bash", "rbash"):
            turn(child, "posix", True)
        try:
            prepare(child, asked)
        except BuiltinUsageError as error:
            process.error(error.message)
            return error.status
        text = where = ""
        if asked.command is not None:
            text, where = asked.command, "-c: "
        elif asked.script is not None:
            try:
                text = read_script(child, asked.script)
            except ShellError as error:
                child.error_output(f"{error.message}\n")
                return error.status
            child.script = asked.script
        if (yield from run_startup(child, asked)):
            return child.finish()
        if asked.read_stdin:
            return (yield from read_commands(child))
        return (yield from child.stream_program(text, where, as_command=asked.command is not None))
    except BrokenPipeError:
        return BROKEN_PIPE
    except Expired as error:
        error.ignored |= {name for name, text in child.traps.items() if not text}
        raise
    finally:
        process.ended_by = child.ended_by
        child.let_go()


def prepare(shell: Interpreter, asked: BashInvocation) -> None:
    """Set the options of the command line. Raises UsageError for one that there is not."""
    if asked.interactive:
        make_interactive(shell)
    if asked.login:
        shell.shopts.add("login_shell")
    for option, on in asked.options:
        turn(shell, option, on)
    for name, on in asked.shopts:
        if name not in SHOPT_OPTIONS:
            raise BuiltinUsageError(f"{name}: invalid shell option name", 2)
        shell.shopts.add(name) if on else shell.shopts.discard(name)
    for letter, as_commands in asked.listed:
        (list_options if letter == "o" else list_shell_options)(shell, as_commands=as_commands)
    if asked.restricted:
        confine(shell)
    if asked.command is not None:
        shell.variables.set("BASH_EXECUTION_STRING", asked.command)
    shell.reads_input = asked.read_stdin


def run_startup(shell: Interpreter, asked: BashInvocation) -> Generator[None, None, bool]:
    """Run the start-up files (Bash Reference Manual, section 6.2); True when one of them ended the shell."""
    for name in _startup_files(shell, asked):
        if (yield from run_startup_file(shell, name)):
            return True
    return False


def _startup_files(shell: Interpreter, asked: BashInvocation) -> Iterator[str]:
    """The files, each looked for when those before it have run."""
    home = shell.variables.get("HOME") or ""
    if asked.login:
        # What `--posix` turns on, unlike the name `sh`, leaves all of them out.
        if asked.runs_profile and ("posix", True) not in asked.options:
            yield "/etc/profile"
            names = (".profile",) if shell.posix else (".bash_profile", ".bash_login", ".profile")
            paths = [f"{home}/{name}" for name in names]
            yield from [path for path in paths if os.access(path, os.R_OK)][:1]
        if shell.posix and shell.interactive:
            yield shell.expand_text(shell.variables.get("ENV") or "")
    elif shell.interactive and shell.posix:
        yield shell.expand_text(shell.variables.get("ENV") or "")
    elif shell.interactive and asked.startup_file is not None:
        name = asked.startup_file
        yield home + name[1:] if name.startswith("~/") else name
    if not shell.interactive and not shell.posix:
        yield shell.expand_text(shell.variables.get("BASH_ENV") or "")


def read_commands(shell: Interpreter) -> Generator[None, None, int]:
    """Run what is read from standard input, as a dialogue in an interactive shell."""
    if 0 not in shell.fds:
        return shell.finish()
    if shell.interactive:
        return (yield from hold_dialogue(shell))
    return (yield from _standard_input(shell))


def _standard_input(child: Interpreter) -> Generator[None, None, int]:
    """Run what is read from standard input; commands in it may read the rest of it."""
    data = b""
    stream = child.fds[0]
    text = ""
    first = 1
    while line := stream.readline():
        data += line
        text = data.decode("utf-8", "surrogateescape")

        if text.endswith("\\\n"):
            continue
        try:
            parse(text, extglob="extglob" in child.shopts)
        except ShellSyntaxError as error:
            if error.incomplete:
                continue
        if "<<" in text and _document_open(text):
            continue
        data = b""
        child.exited = False
        yield from child.stream_line(text, line=first)
        if child.exited:
            return child.finish()
        first += text.count("\n")
    if data:
        yield from child.stream_line(text, line=first)
    return child.finish()


def _document_open(text: str) -> bool:
    """Whether a here-document in `text` has not ended yet."""

    parser = parser_of(text)
    parser.lexer.documents_must_end = True
    try:
        while parser.unit() is not None:
            pass
    except EOFError:
        return True
    return False
