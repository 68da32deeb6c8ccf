"""find: walk through directories and do things with the files that match an expression.

The expression is compiled once into a function of an entry; the words and their meanings are those of
GNU find (POSIX find with its extensions).
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Generator

from ..command import Status
from .clock import local_time, parse_time
from .file_modes import parse_mode
from .find_format import compile_format, list_line, type_letter
from .find_walk import Entry, Settings, walk
from .gnu_regex import basic_to_python, emacs_to_python, extended_to_python, glob_to_python
from .invocation import Invocation, Sink, reason, utility
from .options import UsageError
from .quoting import quote
from .users import group_name, group_number, owner, user_name, user_number

__all__: list[str] = []

Test = Callable[[Entry], bool]

_SYNTAXES = {
    "findutils-default": emacs_to_python,
    "ed": basic_to_python,
    "emacs": emacs_to_python,
    "gnu-awk": extended_to_python,
    "grep": basic_to_python,
    "posix-awk": extended_to_python,
    "awk": extended_to_python,
    "posix-basic": basic_to_python,
    "posix-egrep": extended_to_python,
    "egrep": extended_to_python,
    "posix-extended": extended_to_python,
    "posix-minimal-basic": basic_to_python,
    "sed": basic_to_python,
}
_SIZE_UNITS = {"": 512, "b": 512, "c": 1, "w": 2, "k": 1024, "M": 1024**2, "G": 1024**3}
#: As much as `-exec … +` gives one command: names and their bytes.
_MOST_NAMES = 4096
_MOST_BYTES = 131072


class _Quit(Exception):  # noqa: N818
    """`-quit` was reached."""


def _wrong(message: str) -> UsageError:
    return UsageError(message, hint=False)


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


class _Compiler:
    """Turns the words of an expression into a test."""

    def __init__(self, call: Invocation, words: list[str], settings: Settings) -> None:
        self.call = call
        self.words = words
        self.at = 0
        self.settings = settings
        self.now = time.time_ns()
        self.origin = self.now
        self.syntax = emacs_to_python
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
                raise _wrong("invalid expression; you have too many ')'")
            raise self._misplaced(word)
        if self.acts:
            return test
        shown = self._print
        return lambda entry: test(entry) and shown(entry)

    def _misplaced(self, word: str) -> UsageError:
        self.call.error(f"paths must precede expression: `{word}'")
        if self.previous in ("-name", "-iname", "-path", "-ipath", "-wholename"):
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
            if word is None or word in ("-o", "-or", ",", ")"):
                break
            tests.append(self._not())
        if not tests:
            word = self._peek()
            before = self.words[self.at - 1] if self.at else ""
            if word is None and before:
                raise _wrong(f"expected an expression after '{before}'")
            if word == ")" and before == "(":
                raise _wrong("invalid expression; empty parentheses are not allowed.")
            if word == ")":
                raise _wrong(
                    f"expected an expression between '{before}' and ')'"
                    if before
                    else "invalid expression; you have too many ')'"
                )
            raise _wrong(
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
            raise _wrong(f"expected an expression after '{self.words[self.at - 1]}'")
        if word in ("!", "-not"):
            self.at += 1
            if self._peek() is None:
                raise _wrong(f"expected an expression after '{word}'")
            test = self._not()
            return lambda entry: not test(entry)
        if word == "(":
            self.at += 1
            if self._peek() is None:
                raise _wrong(
                    "invalid expression; expected to find a ')' but didn't see one. Perhaps you need an "
                    "extra predicate after '('"
                )
            test = self._comma()
            if self._peek() != ")":
                raise _wrong(
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
                raise _wrong(f"unknown predicate `{word}'")
            test = make(word)
        self.previous = word
        return test

    def _argument(self, word: str) -> str:
        if self.at >= len(self.words):
            raise _wrong(f"missing argument to `{word}'")
        self.at += 1
        return self.words[self.at - 1]

    # -- options -------------------------------------------------------------------------------

    def _depth_argument(self, word: str) -> int:
        text = self._argument(word)
        if not text.isdigit():
            raise _wrong(f"Expected a positive decimal integer argument to {word}, but got {quote(text)}")
        return int(text)

    def _find_maxdepth(self, word: str) -> Test:
        self.settings.deepest = self._depth_argument(word)
        return _always

    def _find_mindepth(self, word: str) -> Test:
        self.settings.lowest = self._depth_argument(word)
        return _always

    def _find_depth(self, word: str) -> Test:
        self.settings.contents_first = True
        return _always

    _find_d = _find_depth

    def _find_xdev(self, word: str) -> Test:
        self.settings.one_filesystem = True
        return _always

    _find_mount = _find_xdev

    def _find_follow(self, word: str) -> Test:
        self.settings.follow = "always"
        return _always

    def _find_ignore_readdir_race(self, word: str) -> Test:
        self.settings.ignore_races = True
        return _always

    def _find_noleaf(self, word: str) -> Test:
        return _always

    _find_warn = _find_nowarn = _find_noignore_readdir_race = _find_noleaf

    def _find_daystart(self, word: str) -> Test:
        midnight = local_time(self.now, self.call.env).replace(hour=0, minute=0, second=0, microsecond=0)
        self.origin = int(midnight.timestamp()) * 10**9 + 86400 * 10**9
        return _always

    def _find_regextype(self, word: str) -> Test:
        name = self._argument(word)
        if name not in _SYNTAXES:
            listed = ", ".join(quote(known) for known in _SYNTAXES)
            raise _wrong(f"Unknown regular expression type {quote(name)}; valid types are {listed}.")
        self.syntax = _SYNTAXES[name]
        return _always

    # -- tests ---------------------------------------------------------------------------------

    def _find_true(self, word: str) -> Test:
        return _always

    def _find_false(self, word: str) -> Test:
        return lambda entry: False

    def _glob(self, word: str, fold: bool) -> Callable[[str], object]:
        text = self._argument(word)
        if not fold and not re.search(r"[*?\[\\]", text):
            return text.__eq__
        return re.compile(glob_to_python(text), re.IGNORECASE if fold else 0).fullmatch

    def _find_name(self, word: str, fold: bool = False) -> Test:
        match = self._glob(word, fold)
        return lambda entry: bool(match(entry.name))

    def _find_iname(self, word: str) -> Test:
        return self._find_name(word, True)

    def _find_path(self, word: str, fold: bool = False) -> Test:
        match = self._glob(word, fold)
        return lambda entry: bool(match(entry.path))

    _find_wholename = _find_path

    def _find_ipath(self, word: str) -> Test:
        return self._find_path(word, True)

    _find_iwholename = _find_ipath

    def _find_lname(self, word: str, fold: bool = False) -> Test:
        match = self._glob(word, fold)

        def test(entry: Entry) -> bool:
            return stat.S_ISLNK(entry.status().st_mode) and bool(match(os.readlink(entry.full)))

        return test

    def _find_ilname(self, word: str) -> Test:
        return self._find_lname(word, True)

    def _find_regex(self, word: str, fold: bool = False) -> Test:
        text = self._argument(word)
        try:
            match = re.compile(self.syntax(text), re.IGNORECASE if fold else 0).fullmatch
        except (ValueError, re.error) as error:
            raise _wrong(f"failed to compile regular expression '{text}': {error}") from None
        return lambda entry: match(entry.path) is not None

    def _find_iregex(self, word: str) -> Test:
        return self._find_regex(word, True)

    def _types(self, word: str) -> frozenset[str]:
        text = self._argument(word)
        letters = text.split(",")
        for letter in letters:
            if len(letter) > 1:
                raise _wrong(f"Must separate multiple arguments to {word} using: ','")
            if not letter:
                raise _wrong(
                    f"Last file type in list argument to {word} is missing, i.e., list is ending on: ','"
                    if text
                    else f"Arguments to {word} should contain at least one letter"
                )
            if letter not in "bcdpflsD":
                raise _wrong(f"Unknown argument to {word}: {letter}")
        return frozenset(letters)

    def _find_type(self, word: str) -> Test:
        letters = self._types(word)
        if letters == {"d"}:
            return lambda entry: entry.is_directory()
        return lambda entry: type_letter(entry.status().st_mode) in letters

    def _find_xtype(self, word: str) -> Test:
        letters = self._types(word)

        def test(entry: Entry) -> bool:
            try:
                status = entry.lstat() if self.settings.follow == "always" else os.stat(entry.full)
            except OSError:
                status = entry.lstat()
            return type_letter(status.st_mode) in letters

        return test

    def _number(self, word: str, text: str | None = None) -> Callable[[int], bool]:
        """A comparison for `N`, `+N` or `-N`."""
        text = self._argument(word) if text is None else text
        match = re.fullmatch(r"([-+]?)(\d+)", text)
        if match is None:
            raise _wrong(f"invalid argument `{text}' to `{word}'")
        number = int(match[2])
        if match[1] == "+":
            return lambda value: value > number
        if match[1] == "-":
            return lambda value: value < number
        return lambda value: value == number

    def _find_size(self, word: str) -> Test:
        text = self._argument(word)
        match = re.fullmatch(r"([-+]?\d+)([bcwkMG]?)", text)
        if match is None:
            if re.fullmatch(r"[-+]?\d*[a-zA-Z]", text):
                raise _wrong(f"invalid {word} type `{text[-1]}'")
            raise _wrong(f"Invalid argument `{text}' to {word}")
        unit = _SIZE_UNITS[match[2]]
        compare = self._number(word, match[1])
        return lambda entry: compare(-(-entry.status().st_size // unit))

    def _find_links(self, word: str) -> Test:
        compare = self._number(word)
        return lambda entry: compare(entry.status().st_nlink)

    def _find_inum(self, word: str) -> Test:
        compare = self._number(word)
        return lambda entry: compare(entry.status().st_ino)

    def _find_uid(self, word: str) -> Test:
        compare = self._number(word)
        return lambda entry: compare(owner(entry.status())[0])

    def _find_gid(self, word: str) -> Test:
        compare = self._number(word)
        return lambda entry: compare(owner(entry.status())[1])

    def _find_user(self, word: str) -> Test:
        text = self._argument(word)
        number = user_number(text)
        if number is None and text.isdigit():
            number = int(text)
        if number is None:
            raise _wrong(f"{quote(text)} is not the name of a known user")
        return lambda entry: owner(entry.status())[0] == number

    def _find_group(self, word: str) -> Test:
        text = self._argument(word)
        number = group_number(text)
        if number is None and text.isdigit():
            number = int(text)
        if number is None:
            raise _wrong(f"{quote(text)} is not the name of an existing group")
        return lambda entry: owner(entry.status())[1] == number

    def _find_nouser(self, word: str) -> Test:
        return lambda entry: user_name(owner(entry.status())[0]) is None

    def _find_nogroup(self, word: str) -> Test:
        return lambda entry: group_name(owner(entry.status())[1]) is None

    def _find_perm(self, word: str) -> Test:
        text = self._argument(word)
        kind = text[:1] if text[:1] in ("-", "/") else ""
        mode = parse_mode(text[len(kind) :], 0, False, 0)
        if mode is None:
            raise _wrong(f"invalid mode {quote(text)}")
        wanted = mode
        if kind == "-":
            return lambda entry: entry.status().st_mode & wanted == wanted
        if kind == "/":
            return lambda entry: not wanted or bool(entry.status().st_mode & wanted)
        return lambda entry: stat.S_IMODE(entry.status().st_mode) == wanted

    def _access(self, mode: int) -> Test:
        return lambda entry: os.access(entry.full, mode)

    def _find_readable(self, word: str) -> Test:
        return self._access(os.R_OK)

    def _find_writable(self, word: str) -> Test:
        return self._access(os.W_OK)

    def _find_executable(self, word: str) -> Test:
        return self._access(os.X_OK)

    def _find_empty(self, word: str) -> Test:
        def test(entry: Entry) -> bool:
            if entry.is_directory():
                with os.scandir(entry.full) as found:
                    return next(found, None) is None
            status = entry.status()
            return stat.S_ISREG(status.st_mode) and status.st_size == 0

        return test

    def _reference(self, name: str) -> os.stat_result:
        path = self.call.path(name)
        try:
            return os.lstat(path) if self.settings.follow == "never" else os.stat(path)
        except OSError as error:
            raise _wrong(f"{quote(name)}: {reason(error)}") from None

    def _find_samefile(self, word: str) -> Test:
        status = self._reference(self._argument(word))
        identity = (status.st_dev, status.st_ino)
        return lambda entry: (entry.status().st_dev, entry.status().st_ino) == identity

    def _find_newer(self, word: str) -> Test:
        return self._newer("m", "m", self._argument(word))

    def _find_anewer(self, word: str) -> Test:
        return self._newer("a", "m", self._argument(word))

    def _find_cnewer(self, word: str) -> Test:
        return self._newer("c", "m", self._argument(word))

    def _newer(self, mine: str, theirs: str, text: str) -> Test:
        if theirs == "t":
            moment = parse_time(text, self.call.env, self.now)
            if moment is None:
                raise _wrong(f"I cannot figure out how to interpret {quote(text)} as a date or time")
            limit = moment
        else:
            limit = _time_of(self._reference(text), theirs)
        return lambda entry: _time_of(entry.status(), mine) > limit

    def _age(self, word: str, kind: str, unit: int) -> Test:
        text = self._argument(word)
        match = re.fullmatch(r"([-+]?)(\d+(?:\.\d*)?|\.\d+)", text)
        if match is None:
            raise _wrong(f"invalid argument `{text}' to `{word}'")
        sign = match[1]
        amount = int(float(match[2]) * unit * 10**9)
        window = unit * 10**9
        origin = self.origin
        days = unit == 86400

        def test(entry: Entry) -> bool:
            age = origin - _time_of(entry.status(), kind)
            if sign == "-":
                return age < amount
            if days:
                # Whole days count: `1` is from 24 to 48 hours ago.
                return age >= amount + window if sign else amount <= age < amount + window
            return age > amount if sign else amount - window < age <= amount

        return test

    def _find_mtime(self, word: str) -> Test:
        return self._age(word, "m", 86400)

    def _find_atime(self, word: str) -> Test:
        return self._age(word, "a", 86400)

    def _find_ctime(self, word: str) -> Test:
        return self._age(word, "c", 86400)

    def _find_mmin(self, word: str) -> Test:
        return self._age(word, "m", 60)

    def _find_amin(self, word: str) -> Test:
        return self._age(word, "a", 60)

    def _find_cmin(self, word: str) -> Test:
        return self._age(word, "c", 60)

    def _find_fstype(self, word: str) -> Test:
        name = self._argument(word)
        return lambda entry: name == "unknown"

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
                raise _wrong(f"{quote(name)}: {reason(error)}") from None
        return self.outputs[name]

    def _format(self, word: str) -> Callable[[Entry], str]:
        template = self._argument(word)
        try:
            text, _ = compile_format(template, self.call.env, self.call.error)
        except ValueError as error:
            letter = str(error)
            raise _wrong(
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
                    raise _wrong(f"missing argument to `{word}'")
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
                    raise _wrong(
                        "Only one instance of {} is supported with -exec"
                        + ("dir" if word == "-execdir" else "")
                        + " ... +"
                    )
                return command, True
        raise _wrong(f"missing argument to `{word}'")

    def _execute(self, word: str, asks: bool = False) -> Test:
        self.acts = True
        beside = word.endswith("dir")
        command, together = self._command(word)
        call = self.call

        def run(directory: str, names: list[str]) -> int:
            return call.run([*command, *names], cwd=directory if beside else None)

        def place(entry: Entry) -> tuple[str, str]:
            """Where the command runs, and the file's name there."""
            if not beside:
                return "", entry.path
            directory, base = os.path.split(entry.full.rstrip("/"))
            if entry.depth == 0 and entry.path in (".", ".."):
                return entry.full, "./."
            return directory or "/", "./" + base

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
            return call.run(argv, cwd=directory if beside else None, stdin=b"" if asks else None) == 0

        return act

    def _find_exec(self, word: str) -> Test:
        return self._execute(word)

    _find_execdir = _find_exec

    def _find_ok(self, word: str) -> Test:
        return self._execute(word, asks=True)

    _find_okdir = _find_ok


class _Reported(UsageError):  # noqa: N818
    """Wrong usage whose message has been written already."""

    def __init__(self) -> None:
        super().__init__("", hint=False)


def _always(entry: Entry) -> bool:
    return True


def _time_of(status: os.stat_result, kind: str) -> int:
    if kind == "a":
        return status.st_atime_ns
    return status.st_mtime_ns if kind == "m" else status.st_ctime_ns


@utility("find", usage="[-H] [-L] [-P] [PATH...] [EXPRESSION]", parse=False)
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
    settings.starts = settings.starts or ["."]
    compiler = _Compiler(call, words, settings)
    try:
        test = compiler.compile()
    except _Reported:
        return 1
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
