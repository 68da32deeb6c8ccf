"""The options and tests of find's expressions: each method makes the test that one word stands for."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable

from planaria_shell.commands.files.chmod import parse_mode
from planaria_shell.commands.files.find.format import type_letter
from planaria_shell.commands.files.find.walk import Entry, Settings
from planaria_shell.expand.patterns import compile_pattern
from planaria_shell.toolkit.file_times import local_time, parse_time
from planaria_shell.toolkit.invocation import Invocation
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.regex.posix import RegexError, compile_basic, compile_emacs, compile_extended
from planaria_shell.toolkit.streams import reason
from planaria_shell.toolkit.users import group_name, group_number, owner, user_name, user_number

__all__ = ["Predicates", "Test", "wrong"]

Test = Callable[[Entry], bool]

_SYNTAXES = {
    "findutils-default": compile_emacs,
    "ed": compile_basic,
    "emacs": compile_emacs,
    "gnu-awk": compile_extended,
    "grep": compile_basic,
    "posix-awk": compile_extended,
    "awk": compile_extended,
    "posix-basic": compile_basic,
    "posix-egrep": compile_extended,
    "egrep": compile_extended,
    "posix-extended": compile_extended,
    "posix-minimal-basic": compile_basic,
    "sed": compile_basic,
}
_SIZE_UNITS = {"": 512, "b": 512, "c": 1, "w": 2, "k": 1024, "M": 1024**2, "G": 1024**3}


def wrong(message: str) -> UsageError:
    return UsageError(message, hint=False)


def _always(entry: Entry) -> bool:
    return True


def _time_of(status: os.stat_result, kind: str) -> int:
    if kind == "a":
        return status.st_atime_ns
    return status.st_mtime_ns if kind == "m" else status.st_ctime_ns


class Predicates:
    """The words of an expression from the current one on; `_find_NAME` reads what `-NAME` needs."""

    def __init__(self, call: Invocation, words: list[str], settings: Settings) -> None:
        self.call = call
        self.words = words
        self.at = 0
        self.settings = settings
        self.now = time.time_ns()
        self.origin = self.now
        self.syntax = compile_emacs

    def _argument(self, word: str) -> str:
        if self.at >= len(self.words):
            raise wrong(f"missing argument to `{word}'")
        self.at += 1
        return self.words[self.at - 1]

    # -- options -------------------------------------------------------------------------------

    def _depth_argument(self, word: str) -> int:
        text = self._argument(word)
        if not text.isdigit():
            raise wrong(f"Expected a positive decimal integer argument to {word}, but got {quote(text)}")
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
            raise wrong(f"Unknown regular expression type {quote(name)}; valid types are {listed}.")
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
        return compile_pattern(text, ignore_case=fold).fullmatch

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
            pattern = self.syntax(text, ignore_case=fold)
        except RegexError as error:
            raise wrong(f"failed to compile regular expression '{text}': {error}") from None
        return lambda entry: pattern.matches_all(entry.path)

    def _find_iregex(self, word: str) -> Test:
        return self._find_regex(word, True)

    def _types(self, word: str) -> frozenset[str]:
        text = self._argument(word)
        letters = text.split(",")
        for letter in letters:
            if len(letter) > 1:
                raise wrong(f"Must separate multiple arguments to {word} using: ','")
            if not letter:
                raise wrong(
                    f"Last file type in list argument to {word} is missing, i.e., list is ending on: ','"
                    if text
                    else f"Arguments to {word} should contain at least one letter"
                )
            if letter not in "bcdpflsD":
                raise wrong(f"Unknown argument to {word}: {letter}")
        return frozenset(letters)

    def _find_type(self, word: str) -> Test:
        letters = self._types(word)
        if letters == {"d"}:
            return lambda entry: entry.is_directory()
        if "f" in letters:
            return lambda entry: entry.regular or type_letter(entry.status().st_mode) in letters
        return lambda entry: type_letter(entry.status().st_mode) in letters

    def _find_xtype(self, word: str) -> Test:
        letters = self._types(word)

        def test(entry: Entry) -> bool:
            try:
                status = entry.lstat() if self.settings.follow == "always" else os.stat(entry.full)
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                    raise
                status = entry.lstat()
            return type_letter(status.st_mode) in letters

        return test

    def _number(self, word: str, text: str | None = None) -> Callable[[int], bool]:
        """A comparison for `N`, `+N` or `-N`."""
        text = self._argument(word) if text is None else text
        match = re.fullmatch(r"([-+]?)(\d+)", text)
        if match is None:
            raise wrong(f"invalid argument `{text}' to `{word}'")
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
                raise wrong(f"invalid {word} type `{text[-1]}'")
            raise wrong(f"Invalid argument `{text}' to {word}")
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
            raise wrong(f"{quote(text)} is not the name of a known user")
        return lambda entry: owner(entry.status())[0] == number

    def _find_group(self, word: str) -> Test:
        text = self._argument(word)
        number = group_number(text)
        if number is None and text.isdigit():
            number = int(text)
        if number is None:
            raise wrong(f"{quote(text)} is not the name of an existing group")
        return lambda entry: owner(entry.status())[1] == number

    def _find_nouser(self, word: str) -> Test:
        return lambda entry: user_name(owner(entry.status())[0]) is None

    def _find_nogroup(self, word: str) -> Test:
        return lambda entry: group_name(owner(entry.status())[1]) is None

    def _find_files0_from(self, word: str) -> Test:
        """Starting points from a file, each ended by a NUL."""
        name = self._argument(word)
        if self.settings.starts:
            self.call.error(f"extra operand {quote(self.settings.starts[0])}")
            raise wrong("file operands cannot be combined with -files0-from")
        try:
            with self.call.open(name) as source:
                names = source.read().split(b"\0")
        except OSError as error:
            raise wrong(f"cannot open {quote(name)} for reading: {reason(error)}") from None
        if not names[-1]:
            names.pop()
        for number, start in enumerate(names, 1):
            if start:
                self.settings.starts.append(os.fsdecode(start))
            else:
                self.call.complain(f"{quote(name)}:{number}: invalid zero-length file name")
        self.settings.given_starts = True
        return lambda entry: True

    def _find_perm(self, word: str) -> Test:
        text = self._argument(word)
        kind = text[:1] if text[:1] in ("-", "/") else ""
        mode = parse_mode(text[len(kind) :], 0, False, 0)
        if mode is None or re.match(r"\+[0-7]", text):
            raise wrong(f"invalid mode {quote(text)}")
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
            raise wrong(f"{quote(name)}: {reason(error)}") from None

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
                raise wrong(f"I cannot figure out how to interpret {quote(text)} as a date or time")
            limit = moment
        else:
            limit = _time_of(self._reference(text), theirs)
        return lambda entry: _time_of(entry.status(), mine) > limit

    def _age(self, word: str, kind: str, unit: int) -> Test:
        text = self._argument(word)
        match = re.fullmatch(r"([-+]?)(\d+(?:\.\d*)?|\.\d+)", text)
        if match is None:
            raise wrong(f"invalid argument `{text}' to `{word}'")
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

    def _find_used(self, word: str) -> Test:
        wanted = self._number(word)

        def test(entry: Entry) -> bool:
            status = entry.status()
            return wanted((status.st_atime_ns - status.st_ctime_ns - 1) // (86400 * 10**9))

        return test

    def _find_fstype(self, word: str) -> Test:
        name = self._argument(word)
        return lambda entry: name == "unknown"
