"""`history` and `fc`: the lines that were run while `set -o history` was on."""

from __future__ import annotations

import os
import tempfile

from planaria_shell.builtins.registry import BuiltinUsageError, OptionError, builtin, no_more, options_of
from planaria_shell.errors import ShellError
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.streams import flush_all
from planaria_shell.syntax.history_expansion import HistoryError, expand_line

#: Lines that `fc -l` shows.
_RECENT = 16


def _lines(shell: Interpreter, lines: list[str]) -> None:
    if lines:
        shell.output(("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))


@builtin("history")
def history(shell: Interpreter, argv: list[str]) -> int:
    options, words = options_of(argv, "cd:anrwps")
    given = dict(options)
    if sum(letter in given for letter in "anrw") > 1:
        raise BuiltinUsageError("cannot use more than one of -anrw", 1)
    if "c" in given:
        shell.history.clear()
        shell.history_base = 1
        shell.history_saved = 0
        shell.history_replaced = True
        return 0
    if "d" in given:
        return _delete(shell, given["d"])
    if "s" in given:
        if words:
            # It takes the place of the line that asks.
            if shell.history_enabled and shell.history and not shell.history_replaced:
                shell.history.pop()
            shell.history_replaced = True
            shell.enter_history(" ".join(words))
        return 0
    if "p" in given:
        # The line that asks is not an event.
        if shell.history_enabled and shell.history and not shell.history_replaced:
            shell.history.pop()
            shell.history_replaced = True
        status = 0
        for word in words:
            try:
                expanded = expand_line(word, shell.history)
            except HistoryError:
                shell.complain(f"history: {word}: history expansion failed")
                status = 1
            else:
                _lines(shell, [word if expanded is None else expanded.text])
        return status
    if given.keys() & set("anrw"):
        return _file(shell, next(letter for letter in "anrw" if letter in given), words)
    lines = list(enumerate(shell.history, shell.history_base))
    if words:
        if not words[0].isdecimal():
            raise BuiltinUsageError(f"{words[0]}: numeric argument required", 1)
        no_more("history", words[1:])
        lines = lines[-int(words[0]) :] if int(words[0]) else []
    _lines(shell, [f"{number:5d}  {text}" for number, text in lines])
    return 0


def _file(shell: Interpreter, letter: str, words: list[str]) -> int:
    """`-a`, `-n`, `-r` and `-w`: append the new lines to the file, or read and write it."""
    name = words[0] if words else shell.variables.get("HISTFILE") or ""
    if not name:
        return 0
    if shell.restricted and "/" in name:
        raise ShellError(f"{name}: restricted")
    path = shell.path(name)
    flush_all()
    try:
        if letter in "nr":
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                found = file.read().splitlines()
            shell.history += found[shell.history_saved :] if letter == "n" else found
            shell.history_saved = len(found)
            return 0
        new = shell.history if letter == "w" else shell.history[shell.history_saved :]
        if letter == "a" and not new:
            return 0
        with open(path, letter, encoding="utf-8", errors="surrogateescape") as file:
            file.writelines(f"{line}\n" for line in new)
        if letter == "a":
            shell.history_saved = len(shell.history)
    except OSError as error:
        raise ShellError(f"{name}: {error.strerror}") from None
    return 0


def _delete(shell: Interpreter, text: str) -> int:
    """`history -d NUMBER` or `-d FIRST-LAST`."""
    count = len(shell.history)
    first_text, dash, last_text = text.partition("-") if not text.startswith("-") else (text, "", "")
    places: list[int] = []
    for one in (first_text, last_text) if dash else (first_text,):
        if not one.lstrip("-").isdecimal():
            raise BuiltinUsageError(f"{text}: history position out of range", 1)
        number = int(one)
        places.append(number + count if number < 0 else number - shell.history_base)
    if not 0 <= places[0] <= places[-1] < count:
        raise BuiltinUsageError(f"{text}: history position out of range", 1)
    del shell.history[places[0] : places[-1] + 1]
    shell.history_saved -= max(0, min(shell.history_saved, places[-1] + 1) - places[0])
    return 0


@builtin("fc")
def fc(shell: Interpreter, argv: list[str]) -> int:
    words = argv[1:]
    letters: set[str] = set()
    editor = ""
    while words and words[0].startswith("-") and len(words[0]) > 1 and not words[0][1:].isdecimal():
        option = words.pop(0)
        if option == "--":
            break
        if option.startswith("-e"):
            editor = option[2:] or (words.pop(0) if words else "")
            if not editor:
                raise OptionError("-e: option requires an argument")
        elif set(option[1:]) <= set("lnrs"):
            letters |= set(option[1:])
        else:
            raise OptionError(f"-{option.strip('-lnrs')[:1]}: invalid option")
    # The line that asks is not one to be found.
    asking = shell.history_enabled and not shell.history_replaced
    entries = shell.history[:-1] if asking else shell.history
    if "l" in letters:
        return _list(shell, entries, words, letters)
    if "s" in letters or editor == "-":
        return _again(shell, entries, words)
    return _edit(shell, editor or "${FCEDIT:-${EDITOR:-vi}}", entries, words)


def _edit(shell: Interpreter, editor: str, entries: list[str], words: list[str]) -> int:
    """`fc`: run what an editor makes of some commands."""
    if not entries:
        raise ShellError("no command found")
    first = _find(entries, shell.history_base, words[0] if words else "", len(entries) - 1)
    last = _find(entries, shell.history_base, words[1], first) if len(words) > 1 else first
    chosen = entries[first : last + 1] if first <= last else entries[last : first + 1][::-1]
    descriptor, path = tempfile.mkstemp(prefix="bash-fc.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.writelines(f"{line}\n" for line in chosen)
        status = shell.run_text(f"{editor} {path}")
        flush_all()
        if status:
            return status
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    finally:
        os.unlink(path)
    shell.error_output(text)
    if shell.history_enabled and shell.history:
        shell.history[-1] = text.strip("\n")
    return shell.run_text(text)


def _find(entries: list[str], base: int, word: str, default: int) -> int:
    """The place of the entry that a number or the beginning of a command names."""
    if not word:
        return default
    if word.lstrip("-").isdecimal():
        number = int(word)
        place = number - base if number > 0 else len(entries) + number - (1 if number == 0 else 0)
        return min(max(place, 0), len(entries) - 1)
    for place in range(len(entries) - 1, -1, -1):
        if entries[place].startswith(word):
            return place
    raise ShellError("no command found")


def _list(shell: Interpreter, entries: list[str], words: list[str], letters: set[str]) -> int:
    if not entries:
        return 0
    base = shell.history_base
    first = _find(entries, base, words[0] if words else "", max(0, len(entries) - _RECENT))
    if words and words[0].isdecimal() and int(words[0]) - base > len(entries):
        first = 0
    last = _find(entries, base, words[1] if len(words) > 1 else "", len(entries) - 1)
    places = list(range(first, last + 1)) if first <= last else list(range(first, last - 1, -1))
    if "r" in letters:
        places.reverse()
    _lines(
        shell,
        [f"{'' if 'n' in letters else place + shell.history_base}\t {entries[place]}" for place in places],
    )
    return 0


def _again(shell: Interpreter, entries: list[str], words: list[str]) -> int:
    """`fc -s [old=new …] [command]`: run a command again."""
    changes = []
    while words and "=" in words[0]:
        old, _, new = words.pop(0).partition("=")
        changes.append((old, new))
    if not entries:
        raise ShellError("no command found")
    text = entries[_find(entries, shell.history_base, words[0] if words else "", len(entries) - 1)]
    for old, new in changes:
        text = text.replace(old, new)
    shell.error_output(text + "\n")
    if shell.history_enabled and shell.history:
        shell.history[-1] = text
        # Its own line is what runs, and no question about the lines before it.
        shell.history_replaced = True
    return shell.run_text(text)
