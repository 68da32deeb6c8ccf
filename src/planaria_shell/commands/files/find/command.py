"""find: walk through directories and do things with the files that match an expression.

The expression is compiled once into a function of an entry; the words and their meanings are those of
GNU find (POSIX find with its extensions).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Generator

from planaria_shell.commands.files.find.format import compile_format, list_line
from planaria_shell.commands.files.find.predicates import Predicates, Test, wrong
from planaria_shell.commands.files.find.walk import Entry, Settings, walk
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.streams import Sink, reason

__all__: list[str] = []

#: As much as `-exec … +` gives one command: names and their bytes.
_MOST_NAMES = 4096
_MOST_BYTES = 131072


class _Quit(Exception):
    """`-quit` was reached."""


class _Batch:
    """The names collected for one `-exec command {} +`."""

    def __init__(self, run: Callable[[str, list[str]], int], failed: Callable[[], None]) -> None:
        self.run = run
        self.failed = failed
        self.names: list[str] = []
        self.size = 0
        self.directory = ""

    def add(self, directory: str, name: str) -> None:
        if self.names and (
            directory != self.directory
            or len(self.names) >= _MOST_NAMES
            or self.size + len(name) > _MOST_BYTES
        ):
            self.finish()
        self.directory = directory
        self.names.append(name)
        self.size += len(name) + 1

    def finish(self) -> None:
        if self.names:
            names, self.names, self.size = self.names, [], 0
            if self.run(self.directory, names):
                self.failed()


class _Compiler(Predicates):
    """Turns the words of an expression into a test."""

    def __init__(self, call: Invocation, words: list[str], settings: Settings) -> None:
        super().__init__(call, words, settings)
        self.acts = False
        self.batches: list[_Batch] = []
        self.outputs: dict[str, Sink] = {}
        self.previous = ""

    # -- grammar -------------------------------------------------------------------------------

    def compile(self) -> Test:
        if not self.words:
            return self._print
        test = self._comma()
        if self.at < len(self.words):
            word = self.words[self.at]
            if word == ")":
                raise wrong(f"{'' if self.acts else 'invalid expression; '}you have too many ')'")
            raise self._misplaced(word)
        if self.acts:
            return test
        shown = self._print
        return lambda entry: test(entry) and shown(entry)

    def _misplaced(self, word: str) -> UsageError:
        self.call.error(f"paths must precede expression: `{word}'")
        patterns = ("-name", "-iname", "-path", "-ipath", "-wholename")
        if self.previous in patterns and os.path.lexists(self.call.path(word)):
            self.call.error(f"possible unquoted pattern after predicate `{self.previous}'?")
        return _Reported()

    def _peek(self) -> str | None:
        return self.words[self.at] if self.at < len(self.words) else None

    def _comma(self) -> Test:
        test = self._or()
        while self._peek() == ",":
            self.at += 1
            first, second = test, self._or()

            def both(entry: Entry, first: Test = first, second: Test = second) -> bool:
                first(entry)
                return second(entry)

            test = both
        return test

    def _or(self) -> Test:
        tests = [self._and()]
        while self._peek() in ("-o", "-or"):
            self.at += 1
            tests.append(self._and())
        if len(tests) == 1:
            return tests[0]
        return lambda entry: any(test(entry) for test in tests)

    def _and(self) -> Test:
        tests: list[Test] = []
        while True:
            word = self._peek()
            if word in ("-a", "-and") and tests:
                self.at += 1
                tests.append(self._not())
                continue
            if word is None or word in ("-o", "-or", "-a", "-and", ",", ")"):
                break
            tests.append(self._not())
        if not tests:
            word = self._peek()
            before = self.words[self.at - 1] if self.at else ""
            if word is None:
                raise wrong("invalid expression" if self.acts else f"expected an expression after '{before}'")
            if word == ")" and before == "(":
                raise wrong("invalid expression; empty parentheses are not allowed.")
            if word == ")":
                raise wrong(
                    f"expected an expression between '{before}' and ')'"
                    if before
                    else "invalid expression; you have too many ')'"
                )
            raise wrong(
                f"invalid expression; you have used a binary operator '{word}' with nothing before it."
            )
        if len(tests) == 1:
            return tests[0]
        if len(tests) == 2:
            first, second = tests
            return lambda entry: first(entry) and second(entry)
        return lambda entry: all(test(entry) for test in tests)

    def _not(self) -> Test:
        word = self._peek()
        if word is None:
            raise wrong(f"expected an expression after '{self.words[self.at - 1]}'")
        if word in ("!", "-not"):
            self.at += 1
            if self._peek() is None:
                raise wrong(f"expected an expression after '{word}'")
            test = self._not()
            return lambda entry: not test(entry)
        if word == "(":
            self.at += 1
            if self._peek() is None:
                raise wrong(
                    "invalid expression; expected to find a ')' but didn't see one. Perhaps you need an "
                    "extra predicate after '('"
                )
            test = self._comma()
            if self._peek() != ")":
                raise wrong(
                    "invalid expression; I was expecting to find a ')' somewhere but did not see one."
                )
            self.at += 1
            return test
        return self._primary()

    def _primary(self) -> Test:
        word = self._peek()
        assert word is not None
        if not word.startswith("-") or word == "-":
            raise self._misplaced(word)
        self.at += 1
        name = word[1:].replace("-", "_")
        newer = re.fullmatch(r"newer([aBcm])([aBcmt])", name)
        if newer:
            test = self._newer(newer[1], newer[2], self._argument(word))
        else:
            make = getattr(self, "_find_" + name, None)
            if make is None or (word[1:] != name.replace("_", "-") and "_" not in word):
                raise wrong(f"unknown predicate `{word}'")
            test = make(word)
        self.previous = word
        return test

    # -- actions -------------------------------------------------------------------------------

    def _print(self, entry: Entry) -> bool:
        self.call.stdout.write((entry.path + "\n").encode("utf-8", "surrogateescape"))
        return True

    def _find_print(self, word: str) -> Test:
        self.acts = True
        return self._print

    def _find_print0(self, word: str) -> Test:
        self.acts = True
        return self._writer(self.call.stdout, lambda entry: entry.path + "\0")

    def _writer(self, target: Sink, text: Callable[[Entry], str]) -> Test:
        def act(entry: Entry) -> bool:
            target.write(text(entry).encode("utf-8", "surrogateescape"))
            return True

        return act

    def _file(self, word: str) -> Sink:
        name = self._argument(word)
        if name not in self.outputs:
            try:
                self.outputs[name] = self.call.create(name)
            except OSError as error:
                raise wrong(f"{quote(name)}: {reason(error)}") from None
        return self.outputs[name]

    def _format(self, word: str) -> Callable[[Entry], str]:
        template = self._argument(word)
        try:
            text, _ = compile_format(template, self.call.env, self.call.error)
        except ValueError as error:
            letter = str(error)
            raise wrong(
                "error: % at end of format string"
                if letter == "%"
                else f"error: the format directive `%{letter}' is reserved for future use"
            ) from None
        return text

    def _find_printf(self, word: str) -> Test:
        self.acts = True
        return self._writer(self.call.stdout, self._format(word))

    def _find_fprint(self, word: str) -> Test:
        self.acts = True
        return self._writer(self._file(word), lambda entry: entry.path + "\n")

    def _find_fprint0(self, word: str) -> Test:
        self.acts = True
        return self._writer(self._file(word), lambda entry: entry.path + "\0")

    def _find_fprintf(self, word: str) -> Test:
        self.acts = True
        target = self._file(word)
        return self._writer(target, self._format(word))

    def _find_ls(self, word: str) -> Test:
        self.acts = True
        return self._writer(self.call.stdout, lambda entry: list_line(entry, self.call.env, self.now) + "\n")

    def _find_fls(self, word: str) -> Test:
        self.acts = True
        return self._writer(self._file(word), lambda entry: list_line(entry, self.call.env, self.now) + "\n")

    def _find_prune(self, word: str) -> Test:
        def act(entry: Entry) -> bool:
            self.settings.pruned = True
            return True

        return act

    def _find_quit(self, word: str) -> Test:
        self.acts = True

        def act(entry: Entry) -> bool:
            raise _Quit

        return act

    def _find_delete(self, word: str) -> Test:
        self.acts = True
        self.settings.contents_first = True

        def act(entry: Entry) -> bool:
            if entry.path.rstrip("/") in (".", ""):
                return True
            try:
                if entry.is_directory() and not stat.S_ISLNK(entry.lstat().st_mode):
                    os.rmdir(entry.full)
                else:
                    os.unlink(entry.full)
            except OSError as error:
                self.call.complain(f"cannot delete {quote(entry.path)}: {reason(error)}")
                return False
            return True

        return act

    def _command(self, word: str) -> tuple[list[str], bool]:
        """The words of an `-exec` up to `;` or `{} +`, and whether it was the latter."""
        start = self.at
        for index in range(start, len(self.words)):
            if self.words[index] == ";":
                self.at = index + 1
                if index == start:
                    raise wrong(f"missing argument to `{word}'")
                return self.words[start:index], False
            if (
                self.words[index] == "+"
                and index > start
                and self.words[index - 1] == "{}"
                and word[1:3] != "ok"
            ):
                self.at = index + 1
                command = self.words[start : index - 1]
                if any("{}" in part for part in command):
                    raise wrong(
                        "Only one instance of {} is supported with -exec"
                        + ("dir" if word == "-execdir" else "")
                        + " ... +"
                    )
                return command, True
        raise wrong(f"missing argument to `{word}'")

    def _execute(self, word: str, asks: bool = False) -> Test:
        self.acts = True
        beside = word.endswith("dir")
        command, together = self._command(word)
        call = self.call

        def run(directory: str, names: list[str]) -> int:
            return start([*command, *names], directory)

        def start(argv: list[str], directory: str) -> int:
            try:
                return call.run(argv, cwd=directory if beside else None, stdin=b"" if asks else None)
            except OSError as error:
                call.error(f"{quote(argv[0])}: {reason(error)}")
                return 127

        def place(entry: Entry) -> tuple[str, str]:
            """Where the command runs, and the file's name there."""
            if not beside:
                return "", entry.path
            directory, base = os.path.split(entry.full.rstrip("/"))
            if entry.depth == 0 and entry.path in (".", ".."):
                return entry.full, "./."
            return directory or "/", "./" + base + ("/" if entry.path.endswith("/") else "")

        if together:

            def failed() -> None:
                call.status = 1

            batch = _Batch(run, failed)
            self.batches.append(batch)

            def collect(entry: Entry) -> bool:
                batch.add(*place(entry))
                return True

            return collect

        def act(entry: Entry) -> bool:
            directory, name = place(entry)
            if asks:
                call.stdout.pass_on()
                call.stderr.write(f"< {command[0]} ... {entry.path} > ? ".encode("utf-8", "surrogateescape"))
                if call.stdin.readline()[:1] not in (b"y", b"Y"):
                    return False
            argv = [part.replace("{}", name) for part in command]
            return start(argv, directory) == 0

        return act

    def _find_exec(self, word: str) -> Test:
        return self._execute(word)

    _find_execdir = _find_exec

    def _find_ok(self, word: str) -> Test:
        return self._execute(word, asks=True)

    _find_okdir = _find_ok


class _Reported(UsageError):
    """Wrong usage whose message has been written already."""

    def __init__(self) -> None:
        super().__init__("", hint=False)


@command("find", usage="[-H] [-L] [-P] [PATH...] [EXPRESSION]", raw=True)
def find(call: Invocation) -> Generator[None, None, Status]:
    """Search for files in a directory hierarchy."""
    words = list(call.operands)
    settings = Settings()
    if words[:1] in (["--help"], ["-help"]):
        call.print("Usage: find [-H] [-L] [-P] [PATH...] [EXPRESSION]")
        return 0
    if words[:1] in (["--version"], ["-version"]):
        call.print("find (planaria)")
        return 0
    while words and re.fullmatch(r"-[HLP]|-O\d?|-D.*", words[0]):
        word = words.pop(0)
        if word in ("-H", "-L", "-P"):
            settings.follow = {"-H": "operands", "-L": "always", "-P": "never"}[word]
        elif word == "-D" and words:
            words.pop(0)
    if words[:1] == ["--"]:
        words.pop(0)
    while words and not (words[0].startswith("-") and len(words[0]) > 1) and words[0] not in ("(", "!"):
        settings.starts.append(words.pop(0))
    compiler = _Compiler(call, words, settings)
    try:
        test = compiler.compile()
    except _Reported:
        return 1
    if not settings.given_starts:
        settings.starts = settings.starts or ["."]
    try:
        for entry in walk(call, settings):
            try:
                test(entry)
            except BrokenPipeError:
                raise
            except OSError as error:
                call.complain(f"{quote(entry.path)}: {reason(error)}")
            if call.stdout.full:
                yield
    except _Quit:
        pass
    for batch in compiler.batches:
        batch.finish()
    for target in compiler.outputs.values():
        target.flush()
        close = getattr(target, "close", None)
        if close:
            close()
    return call.status
