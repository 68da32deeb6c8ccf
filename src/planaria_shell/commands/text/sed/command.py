"""sed: the stream editor (POSIX, with the extensions of GNU sed 4.9; see its manual)."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import BinaryIO

from planaria_shell.commands.text.sed.machine import Machine
from planaria_shell.commands.text.sed.script import Piece, ScriptError, ScriptParser
from planaria_shell.commands.text.sed.streams import LineSource, Writer
from planaria_shell.state.command import Process, Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.streams import decode, open_input, reason

_USAGE = """Usage: sed [OPTION]... {script-only-if-no-other-script} [input-file]...

  -n, --quiet, --silent      do not print the pattern space at the end of a cycle
  -e, --expression=SCRIPT    add commands
  -f, --file=FILE            add the commands of a file
  -E, -r, --regexp-extended  extended regular expressions
  -i[SUFFIX], --in-place     edit files in place, with a copy when a suffix is given
  -l, --line-length=N        where the `l' command folds lines
  -s, --separate             each file has line numbers and a last line of its own
  -u, --unbuffered           write each line at once
  -z, --null-data            lines end in a NUL byte
      --sandbox              refuse the commands e, r and w
      --posix, --debug, --follow-symlinks, --help, --version
"""


@command(
    "sed",
    short="bne:f:Eri::szul:",
    long="regexp-extended=E debug in-place=i:: expression=e: file=f: line-length=l: null-data=z "
    "zero-terminated=z quiet=n posix silent=n sandbox separate=s unbuffered=u version help "
    "follow-symlinks binary=b",
    help=_USAGE,
    version="sed (GNU sed) 4.9\n",
    hint=_USAGE.rstrip(),
)
def sed(call: Invocation) -> Generator[None, None, Status]:
    """Edit a stream; status 0, that of q and Q, 1 for a bad script, 2 for an unreadable file, 4 otherwise."""
    process, options = call.process, call.arguments
    given = dict(options.options)
    operands = options.operands
    end = "\0" if "z" in given else "\n"
    in_place = "i" in given
    try:
        pieces = _pieces(process, options.options)
        if not pieces:
            if not operands:
                process.stderr.write(_USAGE.encode())
                return 1
            pieces = [Piece("-e expression #1", operands.pop(0))]
        wrap = given.get("l") or "70"
        if not wrap.isdigit():
            raise ScriptError(f"invalid line length: {wrap}")
        parser = ScriptParser(pieces, extended="E" in given or "r" in given, null_data="z" in given)
        if "sandbox" in given and any(
            one.name in "erRwW"
            or (one.substitution and (one.substitution.evaluated or one.substitution.file))
            for one in parser.commands
        ):
            raise ScriptError("-e expression #1, char 0: e/r/w commands disabled in sandbox mode")
        source = LineSource(
            process,
            operands or ["-"],
            end,
            separate=in_place or "s" in given,
            in_place=in_place,
            unbuffered="u" in given,
        )
        call.files.callback(source.abandon)
        machine = Machine(
            process,
            parser.commands,
            source,
            quiet="n" in given or parser.quiet,
            end=end,
            wrap=int(wrap),
            files=call.files,
        )
        machine.posix = "posix" in given or "POSIXLY_CORRECT" in process.env
        if in_place:
            _InPlace(process, machine, source, given["i"] or "", follow="follow-symlinks" in given)
        return (yield from machine.run())
    except ScriptError as problem:
        process.error(str(problem))
        return problem.status


def _pieces(process: Process, given: list[tuple[str, str | None]]) -> list[Piece]:
    pieces: list[Piece] = []
    expressions = 0
    for name, value in given:
        if name == "e":
            expressions += 1
            pieces.append(Piece(f"-e expression #{expressions}", value or ""))
        elif name == "f":
            file = value or ""
            try:
                source = open_input(process, file)
            except OSError as problem:
                raise ScriptError(f"couldn't open file {file}: {reason(problem)}", 4) from None
            with source:
                pieces.append(Piece(f"file {file}", decode(source.read()).removesuffix("\n")))
    return pieces


class _InPlace:
    """Sends the output for each file to a new file that takes its place."""

    def __init__(
        self, process: Process, machine: Machine, source: LineSource, suffix: str, *, follow: bool
    ) -> None:
        self.process = process
        self.machine = machine
        self.suffix = suffix
        #: A symbolic link stays, and what it leads to is changed.
        self.follow = follow
        self.path = ""
        self.temporary = ""
        self.file: BinaryIO | None = None
        self.opened = source.on_open
        source.on_open = self.open
        source.on_close = self.close

    def open(self, name: str) -> None:
        """Begin the new file."""
        self.opened(name)
        self.path = self.process.path(name)
        if self.follow:
            self.path = os.path.realpath(self.path)
        directory, base = os.path.split(self.path)
        self.temporary = os.path.join(directory, f".sed-{base}")
        try:
            self.file = self.machine.files.enter_context(open(self.temporary, "wb"))
        except OSError as problem:
            raise ScriptError(
                f"couldn't open temporary file {self.temporary}: {reason(problem)}", 4
            ) from None
        self.machine.output = Writer(self.file, self.machine.end)

    def close(self) -> None:
        """Put the new file in the old one's place."""
        if self.file is None:
            return
        self.machine.output.flush()
        self.file.close()
        self.file = None
        mode = os.stat(self.path).st_mode & 0o7777
        if self.suffix:
            directory, base = os.path.split(self.path)
            backup = self.suffix.replace("*", base) if "*" in self.suffix else base + self.suffix
            os.replace(self.path, backup if "/" in backup else os.path.join(directory, backup))
        os.replace(self.temporary, self.path)
        if hasattr(os, "chmod"):
            os.chmod(self.path, mode)
