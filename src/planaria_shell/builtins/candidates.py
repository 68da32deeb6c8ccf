"""What a completion specification generates (Bash Reference Manual, section 8.6)."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from planaria_shell.builtins.readline import FUNCTIONS
from planaria_shell.errors import ShellError, ShellSyntaxError
from planaria_shell.expand.globbing import glob
from planaria_shell.expand.pathnames import glob_options
from planaria_shell.expand.patterns import compile_pattern
from planaria_shell.state.builtin import BUILTINS
from planaria_shell.state.command import COMMANDS
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.options import SET_OPTIONS, SHOPT_OPTIONS
from planaria_shell.state.signals import SIGNALS
from planaria_shell.state.streams import flush_all
from planaria_shell.state.variable import ASSOCIATIVE, DYNAMIC, INDEXED, Variable
from planaria_shell.syntax.quoting import single_quoted

__all__ = ["ACTIONS", "ACTION_LETTERS", "OPTIONS", "Specification", "candidates"]

#: Reserved words in the order in which bash tries them.
_KEYWORDS = (
    "if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do", "done", "in",
    "function", "time", "{", "}", "!", "[[", "]]", "coproc",
)  # fmt: skip
#: Reserved words and constructs that `help` knows beside the builtins.
_TOPICS = (
    "%", "(( ... ))", "[[ ... ]]", "case", "for", "for ((", "function", "if", "select", "time", "until",
    "variables", "while", "{ ... }", "coproc",
)  # fmt: skip

#: All signals by number; two have no name of their own.
_SIGNAL_NAMES = [SIGNALS.get(number, f"JUNK({number})") for number in range(1, max(SIGNALS) + 1)]

#: Actions of `-A` with the letter that is short for them, in the order in which `complete -p` shows them.
ACTIONS = {
    "alias": "a", "builtin": "b", "command": "c", "directory": "d", "export": "e", "file": "f", "group": "g",
    "job": "j", "keyword": "k", "service": "s", "user": "u", "variable": "v", "arrayvar": "", "binding": "",
    "disabled": "", "enabled": "", "function": "", "helptopic": "", "hostname": "", "running": "",
    "setopt": "", "shopt": "", "signal": "", "stopped": "",
}  # fmt: skip
ACTION_LETTERS = {letter: action for action, letter in ACTIONS.items() if letter}
OPTIONS = (
    "bashdefault", "default", "dirnames", "filenames", "noquote", "nosort", "nospace", "plusdirs",
)  # fmt: skip
#: The order in which bash generates what actions give.
_ORDER = (
    "alias", "arrayvar", "binding", "builtin", "disabled", "enabled", "export", "function", "helptopic",
    "hostname", "job", "keyword", "running", "setopt", "shopt", "signal", "stopped", "variable", "command",
    "file", "user", "group", "service", "directory",
)  # fmt: skip
#: Options that are written with a quoted value, in the order in which `complete -p` shows them.
_VALUES = (("G", "pattern"), ("W", "words"), ("P", "prefix"), ("S", "suffix"), ("X", "filter"))


@dataclass(slots=True)
class Specification:
    """What `complete` specifies for one command: a compspec."""

    options: set[str] = field(default_factory=set)
    actions: set[str] = field(default_factory=set)
    pattern: str | None = None
    words: str | None = None
    function: str | None = None
    command: str | None = None
    filter: str | None = None
    prefix: str | None = None
    suffix: str | None = None

    def text(self) -> str:
        """The options of the `complete` that would define this."""
        found = [f"-o {name}" for name in OPTIONS if name in self.options]
        found += [
            f"-{letter}" if letter else f"-A {name}"
            for name, letter in ACTIONS.items()
            if name in self.actions
        ]
        for letter, attribute in _VALUES:
            value = getattr(self, attribute)
            if value is not None:
                found.append(f"-{letter} {_quoted(value)}")
        if self.command is not None:
            found.append(f"-C {_quoted(self.command)}")
        if self.function is not None:
            found.append(f"-F {self.function}")
        return " ".join(found)

    def apply(self, letter: str, value: str) -> None:
        """Take one option of `complete` or `compgen`."""
        if letter in ACTION_LETTERS:
            self.actions.add(ACTION_LETTERS[letter])
        elif letter == "A":
            self.actions.add(value)
        elif letter == "o":
            self.options.add(value)
        elif letter == "C":
            self.command = value
        elif letter == "F":
            self.function = value
        else:
            setattr(self, dict(_VALUES)[letter], value)

    @classmethod
    def read(cls, text: str) -> Specification:
        """The specification that `text` wrote."""
        made = cls()
        try:
            words = iter(shlex.split(text))
            for word in words:
                letter = word[1:]
                made.apply(letter, "" if letter in ACTION_LETTERS else next(words))
        except (ValueError, KeyError, StopIteration):
            raise ShellError(f"{text}: not a completion specification") from None
        return made


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def candidates(shell: Interpreter, specification: Specification, word: str) -> list[str]:
    """What `compgen` writes for a word."""
    found: list[str] = []
    for action in _ORDER:
        if action in specification.actions:
            found.extend(_SOURCES[action](shell, word))
    if specification.pattern is not None:
        found.extend(_matching_names(shell, specification.pattern))
    if specification.words is not None:
        try:
            words = shell.expand_fields(specification.words)
        except (ShellError, ShellSyntaxError) as error:
            raise ShellError(error.message) from None
        found.extend(text for text in words if text.startswith(word))
    if specification.function is not None:
        found.extend(_from_function(shell, specification.function, word))
    if specification.command is not None:
        found.extend(_from_command(shell, specification.command, word))
    if specification.filter is not None:
        found = _filtered(shell, found, specification.filter, word)
    if specification.prefix or specification.suffix:
        found = [(specification.prefix or "") + text + (specification.suffix or "") for text in found]
    if "plusdirs" in specification.options or (not found and "dirnames" in specification.options):
        found.extend(text for text in _paths(shell, word, directories=True) if text not in found)
    if not found and "bashdefault" in specification.options:
        found = _default(shell, word)
    if not found and "default" in specification.options:
        found = _paths(shell, word)
    return found


def _filtered(shell: Interpreter, found: list[str], pattern: str, word: str) -> list[str]:
    """`-X`: without what matches, or with `!` only that; `&` stands for the word."""
    keeps = pattern.startswith("!")
    if keeps:
        pattern = pattern[1:]
    pattern = "\\&".join(piece.replace("&", word) for piece in pattern.split("\\&"))
    matches = compile_pattern(pattern, "extglob" in shell.shopts).fullmatch
    return [text for text in found if (matches(text) is not None) == keeps]


def _from_function(shell: Interpreter, name: str, word: str) -> list[str]:
    function = shell.functions.get(name)
    if function is None:
        shell.complain(f"completion: function `{name}' not found")
        return []
    hidden = {"COMP_LINE": "", "COMP_POINT": "0", "COMP_TYPE": "0", "COMP_KEY": "0", "COMP_CWORD": "-1"}
    for key, value in hidden.items():
        shell.variables.set(key, value)
    words = shell.table["COMP_WORDS"] = Variable(None, INDEXED)
    words.array = {}
    shell.table.pop("COMPREPLY", None)
    try:
        shell.call_function(function, [name, "compgen", word, ""], False)
        reply = shell.variables.find("COMPREPLY")
        return reply.values() if reply is not None else []
    finally:
        for key in (*hidden, "COMP_WORDS", "COMPREPLY"):
            shell.table.pop(key, None)


def _from_command(shell: Interpreter, command: str, word: str) -> list[str]:
    text = f"{command} compgen {single_quoted(word)} ''"
    output = shell.capture(lambda child: child.run_text(text))
    return output.decode("utf-8", "surrogateescape").splitlines()


def _default(shell: Interpreter, word: str) -> list[str]:
    """Bash's own completions, which need no place in a line: variables and users."""
    if word.startswith("$"):
        return ["$" + name for name in _variables(shell, word[1:])]
    if word.startswith("~") and "/" not in word:
        return ["~" + name for name in _users(shell, word[1:])]
    return []


# -- what the actions give ---------------------------------------------------------------------


def _beginning(names: Iterable[str], word: str) -> list[str]:
    return [name for name in names if name.startswith(word)]


def _variables(shell: Interpreter, word: str) -> list[str]:
    names = [
        name
        for name in shell.variables.names(word)
        if shell.table[name].is_set() or (shell.table[name].flags & DYNAMIC and name != "FUNCNAME")
    ]
    # Every command sets `_` anew.
    return sorted({*names, "_"} if "_".startswith(word) else names)


def _arrays(shell: Interpreter, word: str) -> list[str]:
    kinds = INDEXED | ASSOCIATIVE
    found = ((name, shell.table.get(name)) for name in _variables(shell, word))
    return [name for name, variable in found if variable is not None and variable.flags & kinds]


def _paths(shell: Interpreter, word: str, *, directories: bool = False) -> list[str]:
    """The files, or directories, whose paths begin with `word`."""
    flush_all()
    directory, slash, rest = word.rpartition("/")
    place = directory + slash
    where = place
    if place == "~/" or place.startswith("~/"):
        where = (shell.variables.get("HOME") or "~") + place[1:]
    try:
        entries = os.listdir(shell.path(where or "."))
    except OSError:
        return []
    if rest.startswith("."):
        entries += [".", ".."]
    paths = [place + entry for entry in entries if entry.startswith(rest)]
    return [
        path for path in paths if not directories or os.path.isdir(shell.path(where + path[len(place) :]))
    ]


def _directories(shell: Interpreter, word: str) -> list[str]:
    return _paths(shell, word, directories=True)


def _matching_names(shell: Interpreter, pattern: str) -> list[str]:
    flush_all()
    return glob(pattern, shell.cwd, glob_options(shell))


def _commands(shell: Interpreter, word: str) -> list[str]:
    found = _beginning(sorted(shell.aliases), word)
    found += _beginning(_KEYWORDS, word)
    found += _beginning(sorted(shell.functions), word)
    found += _beginning(sorted(shell.builtins), word)
    if "/" in word:
        return found + [path for path in _paths(shell, word) if os.access(shell.path(path), os.X_OK)]
    for directory in (shell.variables.get("PATH") or "").split(":"):
        place = shell.path(directory or ".")
        try:
            with os.scandir(place) as entries:
                found += [
                    entry.name
                    for entry in entries
                    if entry.name.startswith(word) and entry.is_file() and os.access(entry.path, os.X_OK)
                ]
        except OSError:
            continue
    # Those that are in no directory.
    files = set(found)
    return found + [name for name in sorted({*COMMANDS, *shell.commands} - files) if name.startswith(word)]


def _topics(shell: Interpreter, word: str) -> list[str]:
    return _beginning(sorted({*BUILTINS, *_TOPICS} - {"]"}), word)


def _signals(shell: Interpreter, word: str) -> list[str]:
    names = ["EXIT", *(f"SIG{name}" for name in _SIGNAL_NAMES), "DEBUG", "ERR", "RETURN"]
    return _beginning(names, word)


def _jobs(shell: Interpreter, word: str, *, running: bool = False) -> list[str]:
    chosen = [job.text for job in shell.jobs if not running or job.status is None]
    return _beginning([text.split(" ")[0] for text in chosen], word)


def _column(shell: Interpreter, path: str, word: str) -> list[str]:
    """The names in a table of the system: the first field of each line."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return _beginning([line.split(":")[0].strip() for line in file if line.strip()], word)
    except OSError:
        return []


def _users(shell: Interpreter, word: str) -> list[str]:
    found = _column(shell, "/etc/passwd", word)
    own = shell.variables.get("USER") or ""
    return found if found or not own.startswith(word) or not own else [own]


def _hosts(shell: Interpreter, word: str) -> list[str]:
    path = shell.variables.get("HOSTFILE") or "/etc/hosts"
    names: list[str] = []
    try:
        with open(shell.path(path), encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                names.extend(line.partition("#")[0].split()[1:])
    except OSError:
        return []
    return _beginning(dict.fromkeys(names), word)


def _services(shell: Interpreter, word: str) -> list[str]:
    try:
        with open("/etc/services", encoding="utf-8", errors="surrogateescape") as file:
            names = [line.split()[0] for line in file if line.strip() and not line.startswith("#")]
    except OSError:
        return []
    return _beginning(names, word)


_SOURCES: dict[str, Callable[[Interpreter, str], list[str]]] = {
    "alias": lambda shell, word: _beginning(sorted(shell.aliases), word),
    "arrayvar": _arrays,
    "binding": lambda shell, word: _beginning(FUNCTIONS, word),
    "builtin": lambda shell, word: _beginning(sorted(BUILTINS), word),
    "disabled": lambda shell, word: _beginning(sorted(shell.disabled_builtins), word),
    "enabled": lambda shell, word: _beginning(sorted(shell.builtins), word),
    "export": lambda shell, word: _beginning(sorted(shell.variables.exported()), word),
    "function": lambda shell, word: _beginning(sorted(shell.functions), word),
    "helptopic": _topics,
    "hostname": _hosts,
    "job": _jobs,
    "keyword": lambda shell, word: _beginning(_KEYWORDS, word),
    "running": lambda shell, word: _jobs(shell, word, running=True),
    "setopt": lambda shell, word: _beginning(SET_OPTIONS, word),
    "shopt": lambda shell, word: _beginning(SHOPT_OPTIONS, word),
    "signal": _signals,
    "stopped": lambda shell, word: [],
    "variable": _variables,
    "command": _commands,
    "file": _paths,
    "user": _users,
    "group": lambda shell, word: _column(shell, "/etc/group", word),
    "service": _services,
    "directory": _directories,
}
