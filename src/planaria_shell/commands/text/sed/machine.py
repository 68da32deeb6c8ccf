"""Running a sed script: the cycle, addresses and commands."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack

from planaria_shell.commands.text.sed.blocks import compile_blocks
from planaria_shell.commands.text.sed.replacement import Substitution, replace_in
from planaria_shell.commands.text.sed.script import Address, Command, ScriptError
from planaria_shell.commands.text.sed.streams import (
    DirectWriter,
    LineSource,
    Sink,
    Writer,
    visible,
)
from planaria_shell.state.command import Input, Process
from planaria_shell.toolkit.regex.posix import Pattern
from planaria_shell.toolkit.streams import Collector, decode, open_input, reason


class Machine:
    """The state of a running script, and the meaning of its commands."""

    def __init__(
        self,
        process: Process,
        commands: list[Command],
        source: LineSource,
        *,
        quiet: bool,
        end: str,
        wrap: int,
        files: ExitStack,
    ) -> None:
        self.process = process
        #: Closes what the script opens when the command ends.
        self.files = files
        self.source = source
        self.quiet = quiet
        self.end = end
        self.wrap = wrap
        self.stdout = Writer(process.stdout, end)
        self.output = self.stdout
        self.space = ""
        self.hold = ""
        #: Whether the line in the hold space ends with a newline when it is printed; see `ended`.
        self.hold_ended = True
        #: False for the last line of an input without a newline at its end.
        self.ended = True
        self.line_number = 0
        self.substituted = False
        self.last_pattern: Pattern | None = None
        self.status = 0
        self.quitting = False
        self.posix = False
        self.appended: list[tuple[str, str]] = []
        self.writers: dict[str, Writer] = {}
        self.readers: dict[str, Input | None] = {}
        self.restart = False
        #: For c: whether the range of the command being tested ends here.
        self.range_ends = True
        #: What makes ranges start anew.
        self.resets: list[Callable[[], None]] = []
        source.on_open = self._opened
        #: Where no command of the script follows.
        self.finish = len(commands)
        self.discard = self.finish + 1
        self.program = [self._compile(command, index) for index, command in enumerate(commands)]
        #: The script as a function of many lines, where it can be one.
        self.edit = compile_blocks(commands, quiet) if end == "\n" else None

    # Running.

    def run(self) -> Generator[None, None, int]:
        """Run the cycles to the end; the exit status."""
        program, finish, stdout = self.program, self.finish, self.process.stdout
        source, end, quiet = self.source, self.end, self.quiet
        edit = self.edit
        while not self.quitting:
            if edit is not None and (text := source.block()):
                if "\0" in text:
                    source.unread(text)
                else:
                    if edited := edit(text):
                        self.output.text(edited)
                        self.output.flush()
                    if stdout.full:
                        yield
                    continue
            if self.restart:
                self.restart = False
            elif len(source.lines) > 1:
                # A line at hand that is not the last of a file.
                self.space = source.lines.pop()
                self.ended = True
                self.line_number += 1
                self.substituted = False
            elif not self.read():
                break
            at = 0
            while at < finish:
                test, action, otherwise = program[at]
                if test is not None and not test():
                    at = otherwise
                    continue
                moved = action()
                at = at + 1 if moved is None else moved
            if at == finish and not quiet:
                output = self.output
                if self.ended and not output.missing:
                    output.parts.append(self.space + end)
                else:
                    output.line(self.space, self.ended)
            if self.appended or (self.quitting and at == finish):
                self.flush_appended()
            if len(self.output.parts) > 512:
                self.output.flush()
                if stdout.full:
                    yield
        self.stdout.flush()
        self.source.close()
        for writer in self.writers.values():
            writer.flush()
        return self.status or self.source.failed

    def _opened(self, name: str) -> None:
        """Files that are separate have line numbers and ranges of their own."""
        if self.source.separate:
            self.line_number = 0
            self.hold, self.hold_ended = "", True
            self.readers.clear()
            for reset in self.resets:
                reset()

    def read(self) -> bool:
        """The next line into the pattern space."""
        found = self.source.read()
        if found is None:
            return False
        self.space, self.ended = found
        self.line_number += 1
        self.substituted = False
        return True

    def flush_appended(self) -> None:
        """Print what a, r and R have put aside, after a newline where one is missing, be it only that."""
        self.output.text("")
        for kind, text in self.appended:
            if kind == "text":
                self.output.text(text)
            else:
                self._copy_file(text)
        self.appended.clear()

    def _copy_file(self, name: str) -> None:
        try:
            source = open_input(self.process, name)
        except OSError:
            # A file that cannot be read is as good as empty, says POSIX.
            return
        with source:
            for chunk in source.chunks():
                self.output.text(decode(chunk))

    def _append_line(self, name: str) -> None:
        if name not in self.readers:
            try:
                opened = open_input(self.process, name)
            except OSError:
                self.readers[name] = None
            else:
                self.files.callback(opened.close)
                self.readers[name] = opened
        source = self.readers[name]
        line = source.readline() if source is not None else b""
        if line:
            self.appended.append(("text", decode(line)))

    # Addresses.

    def matches(self, pattern: Pattern | None) -> bool:
        """Whether the pattern (None: the last one used) is found in the pattern space."""
        return self.pattern(pattern).find(self.space) is not None

    def pattern(self, pattern: Pattern | None) -> Pattern:
        if pattern is None:
            if self.last_pattern is None:
                raise ScriptError("-e expression #1, char 0: no previous regular expression")
            return self.last_pattern
        self.last_pattern = pattern
        return pattern

    def _test(self, address: Address) -> Callable[[], bool]:
        match address.kind:
            case "line":
                number = address.number
                return lambda: self.line_number == number
            case "last":
                return self.source.is_last
            case "step":
                first, step = address.number, address.step
                return lambda: self.line_number >= first and (self.line_number - first) % step == 0
        pattern = address.pattern
        return lambda: self.matches(pattern)

    def _range(self, first: Address, second: Address) -> Callable[[], bool]:
        begins = self._test(first) if first.kind != "zero" else lambda: False
        ends = self._test(second) if second.kind in ("regex", "last") else None
        active = first.kind == "zero"
        begun = False
        last = 0

        def starts() -> bool:
            # A number begins its range once, within it when its line was not seen here.
            number = self.line_number
            if first.kind != "line" or number <= first.number:
                return begins()
            return not begun and (second.kind != "line" or number <= second.number)

        def test() -> bool:
            nonlocal active, begun, last
            number = self.line_number
            if active:
                if ends is not None:
                    active = not ends()
                    return True
                active = number < last
                if number <= last or second.kind != "line":
                    return True
                # The script skipped lines: the range had ended before this one.
            if not starts():
                return False
            begun = True
            if ends is not None:
                active = not (second.kind == "last" and ends())
                return True
            if second.kind == "line":
                last = second.number
            elif second.kind == "plus":
                last = number + second.number
            else:
                last = (number // second.number + 1) * second.number if second.number else number
            active = last > number
            return True

        def reset() -> None:
            nonlocal active, begun
            active, begun = first.kind == "zero", False

        self.resets.append(reset)

        def in_range() -> bool:
            self.range_ends = False
            result = test()
            self.range_ends = result and not active
            return result

        return in_range

    # Commands.

    def _compile(
        self, command: Command, index: int
    ) -> tuple[Callable[[], bool] | None, Callable[[], int | None], int]:
        test: Callable[[], bool] | None = None
        if command.first and command.second:
            test = self._range(command.first, command.second)
        elif command.first:
            test = self._test(command.first)
        if command.negated:
            inner = test or (lambda: True)
            test = lambda: not inner()  # noqa: E731
        otherwise = command.target if command.name == "{" else index + 1
        return test, self._action(command), otherwise

    def _action(self, command: Command) -> Callable[[], int | None]:
        target, text = command.target, command.text
        match command.name:
            case "{" | "v":
                return lambda: None
            case "b":
                return lambda: target
            case "t" | "T":
                wanted = command.name == "t"

                def jump() -> int | None:
                    if self.substituted is wanted:
                        self.substituted = False
                        return target
                    self.substituted = False
                    return None

                return jump
            case "s":
                assert command.substitution is not None
                return self._substitute(command.substitution)
            case "a":
                return lambda: self.appended.append(("text", text))
            case "r":
                return lambda: self.appended.append(("file", text))
            case "R":
                return lambda: self._append_line(text)
            case "i":
                return lambda: self.output.text(text)
            case "c":
                return self._change(text, command)
            case "w" | "W":
                writer = self._writer(text)
                if command.name == "w":
                    return lambda: writer.line(self.space, self.ended)

                def write_first() -> None:
                    first, newline, _ = self.space.partition(self.end)
                    writer.line(first, bool(newline) or self.ended)

                return write_first
            case "q" | "Q":
                return self._quit(command.number or 0, command.name == "q")
            case "l":
                width = command.number
                return lambda: self.output.text(
                    visible(self.space, self.wrap if width is None else width, self.end)
                )
            case "y":
                table = command.table

                def transliterate() -> None:
                    self.space = self.space.translate(table)

                return transliterate
            case "e":
                return self._execute(text)
        return getattr(self, _ACTIONS[command.name])  # type: ignore[no-any-return]

    def _change(self, text: str, command: Command) -> Callable[[], int | None]:
        in_range = command.second is not None and not command.negated

        def change() -> int:
            if not in_range or self.range_ends:
                self.output.text(text)
            return self.discard

        return change

    def _quit(self, status: int, prints: bool) -> Callable[[], int | None]:
        def leave() -> int:
            self.status = status
            self.quitting = True
            return self.finish if prints else self.discard

        return leave

    def _execute(self, text: str) -> Callable[[], int | None]:
        def run_text() -> None:
            self.stdout.flush()
            self.process.run(["sh", "-c", text])

        def run_space() -> None:
            self.space = self._output_of(self.space)

        return run_text if text else run_space

    def _output_of(self, script: str) -> str:
        self.stdout.flush()
        sink = Collector()
        self.process.run(["sh", "-c", script], stdout=sink)
        return decode(b"".join(sink.parts)).removesuffix("\n")

    def number(self) -> None:
        self.output.text(f"{self.line_number}{self.end}")

    def file_name(self) -> None:
        self.output.text(f"{self.source.name}{self.end}")

    def delete(self) -> int:
        return self.discard

    def delete_first(self) -> int:
        _, newline, rest = self.space.partition(self.end)
        if newline:
            self.space = rest
            self.restart = True
        return self.discard

    def get(self) -> None:
        self.space, self.ended = self.hold, self.hold_ended

    def get_append(self) -> None:
        self.space += self.end + self.hold
        self.ended = self.hold_ended

    def keep(self) -> None:
        self.hold, self.hold_ended = self.space, self.ended

    def keep_append(self) -> None:
        self.hold += self.end + self.space
        self.hold_ended = self.ended

    def exchange(self) -> None:
        self.space, self.hold = self.hold, self.space
        self.ended, self.hold_ended = self.hold_ended, self.ended

    def empty(self) -> None:
        self.space = ""

    def print(self) -> None:
        self.output.line(self.space, self.ended)

    def print_first(self) -> None:
        first, newline, _ = self.space.partition(self.end)
        self.output.line(first, bool(newline) or self.ended)

    def next(self) -> int | None:
        if self.source.is_last():
            # GNU sed prints the pattern space before it ends.
            return self.finish
        if not self.quiet:
            self.output.line(self.space, self.ended)
        substituted = self.substituted
        self._advance()
        self.substituted = substituted
        return None

    def next_append(self) -> int | None:
        if self.source.is_last():
            # GNU sed prints the pattern space before it ends, POSIX's does not.
            return self.discard if self.posix else self.finish
        space, substituted = self.space, self.substituted
        self._advance()
        self.space = space + self.end + self.space
        self.substituted = substituted
        return None

    def _advance(self) -> None:
        if self.appended:
            self.flush_appended()
        self.read()

    # Substitution.

    def _substitute(self, substitution: Substitution) -> Callable[[], int | None]:
        given = substitution.pattern
        replacement = substitution.replacement
        expand, constant = replacement.expand, replacement.constant
        simple = substitution.number == 1 and not (
            substitution.printed or substitution.file or substitution.evaluated
        )
        target = constant.replace("\\", "\\\\") if constant is not None else expand
        if simple and given is not None and given.exact and not given.nullable:
            count = 0 if substitution.every else 1
            engine = given.engine
            ascii_subn = given.engine("").subn

            def replace() -> None:
                self.last_pattern = given
                space = self.space
                subn = ascii_subn if space.isascii() else engine(space).subn
                replaced, changes = subn(target, space, count)
                if changes:
                    self.space = replaced
                    self.substituted = True

            return replace
        writer = self._writer(substitution.file) if substitution.file else None

        def substitute() -> None:
            replaced = replace_in(self.pattern(given), self.space, substitution)
            if replaced is None:
                return
            self.space = replaced
            self.substituted = True
            if substitution.evaluated:
                if substitution.printed == 1:
                    self.print()
                self.space = self._output_of(self.space)
                if substitution.printed == 2:
                    self.print()
            elif substitution.printed:
                self.print()
            if writer:
                writer.line(self.space, self.ended)

        return substitute

    def _writer(self, name: str) -> Writer:
        if name == "/dev/stdout":
            return self.stdout
        writer = self.writers.get(name)
        if writer is None:
            if name == "/dev/stderr":
                sink: Sink = self.process.stderr
            else:
                try:
                    sink = self.files.enter_context(open(self.process.path(name), "wb", buffering=0))
                except OSError as problem:
                    raise ScriptError(f"couldn't open file {name}: {reason(problem)}", 4) from None
            writer = self.writers[name] = DirectWriter(sink, self.end)
        return writer


_ACTIONS = {
    "=": "number", "d": "delete", "D": "delete_first", "F": "file_name", "g": "get", "G": "get_append",
    "h": "keep", "H": "keep_append", "n": "next", "N": "next_append", "p": "print", "P": "print_first",
    "x": "exchange", "z": "empty",
}  # fmt: skip
