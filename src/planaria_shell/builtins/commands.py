"""Builtins about commands: `type`, `command`, `builtin`, `hash`, `alias`, `enable`, `help` …"""

from __future__ import annotations

import os
import re

from planaria_shell.builtins.registry import (
    BuiltinUsageError,
    OptionError,
    builtin,
    operands_of,
    options_of,
    running,
    usage,
)
from planaria_shell.builtins.synopses import SYNOPSES
from planaria_shell.expand.patterns import compile_pattern
from planaria_shell.state.builtin import BUILTINS, SPECIAL, builtins_without
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.syntax.parser import RESERVED
from planaria_shell.syntax.printing import function_source
from planaria_shell.syntax.quoting import plainly_quoted


def _lines(shell: Interpreter, lines: list[str]) -> None:
    if lines:
        shell.output(("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))


class _Meaning:
    """One thing that a name means as a command."""

    def __init__(self, kind: str, path: str = "") -> None:
        self.kind = kind
        self.path = path


def _meanings(
    shell: Interpreter, name: str, *, functions: bool = True, everything: bool = False
) -> list[_Meaning]:
    found: list[_Meaning] = []
    if "expand_aliases" in shell.shopts and name in shell.aliases:
        found.append(_Meaning("alias"))
    if name in RESERVED:
        found.append(_Meaning("keyword"))
    if functions and name in shell.functions:
        found.append(_Meaning("function"))
    if name in shell.builtins:
        found.append(_Meaning("builtin"))
    if "/" not in name:
        hashed = shell.hashed.get(name)
        if hashed is not None and not everything:
            found.append(_Meaning("file", hashed[0]))
            return found
        found.extend(_Meaning("file", path) for path, _ in shell.find_commands(name))
        if not found and not everything:
            # Not a command, but it would be tried: it is the only file of this name.
            place = shell.find_command(name, remember=False)
            if place is not None:
                found.append(_Meaning("file", place[0]))
        return found
    place = shell.find_command(name)
    if place is not None and (place[1] is not None or _may_run(shell.path(place[0]))):
        found.append(_Meaning("file", place[0]))
    return found


def _may_run(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _described(shell: Interpreter, name: str, meaning: _Meaning) -> str:
    if meaning.kind == "alias":
        return f"{name} is aliased to `{shell.aliases[name]}'"
    if meaning.kind == "keyword":
        return f"{name} is a shell keyword"
    if meaning.kind == "function":
        return f"{name} is a function\n{function_source(name, shell.functions[name].node)}"
    if meaning.kind == "builtin":
        special = "special " if shell.posix and name in SPECIAL else ""
        return f"{name} is a {special}shell builtin"
    return f"{name} is {meaning.path}"


@builtin("type")
def type_(shell: Interpreter, argv: list[str]) -> int:
    options, names = options_of(argv, "afptP")
    letters = {letter for letter, _ in options}
    for letter in reversed([letter for letter, _ in options if letter in "tp"]):
        # Of the two the last one counts.
        letters -= {"t", "p"} - {letter}
        break
    status = 0
    for name in names:
        lines: list[str] = []
        found = _meanings(shell, name, functions="f" not in letters, everything="a" in letters)
        if "P" in letters:
            found = [meaning for meaning in found if meaning.kind == "file"]
        if "p" in letters and found and found[0].kind != "file" and "a" not in letters:
            continue
        if not found:
            status = 1
            if not letters & {"t", "p", "P"}:
                shell.complain(f"type: {name}: not found")
            continue
        for meaning in found if "a" in letters else found[:1]:
            if "t" in letters:
                lines.append(meaning.kind)
            elif letters & {"p", "P"}:
                if meaning.kind == "file":
                    lines.append(meaning.path)
            else:
                text = _described(shell, name, meaning)
                if meaning.kind == "file" and "a" not in letters and name in shell.hashed:
                    text = f"{name} is hashed ({shell.hashed[name][0]})"
                lines.append(text)
        _lines(shell, lines)
    return status


@running("command")
def command(shell: Interpreter, argv: list[str]) -> int:
    words = argv[1:]
    describe = ""
    while words and words[0].startswith("-") and len(words[0]) > 1:
        option = words.pop(0)
        if option == "--":
            break
        for letter in option[1:]:
            if letter in "vV":
                describe = letter
            elif letter == "p" and shell.restricted:
                raise BuiltinUsageError("-p: restricted", 1)
            elif letter != "p":
                raise OptionError(f"-{letter}: invalid option")
    if not words:
        return 0
    if describe:
        return _describe(shell, words, describe)
    function = shell.builtins.get(words[0])
    if function is not None:
        return function(shell, words)
    return shell.external(words)


def _describe(shell: Interpreter, names: list[str], letter: str) -> int:
    status = 1
    lines: list[str] = []
    for name in names:
        found = _meanings(shell, name)
        if not found:
            if letter == "V":
                _lines(shell, lines)
                lines.clear()
                shell.complain(f"command: {name}: not found")
            continue
        status = 0
        meaning = found[0]
        if letter == "V":
            lines.append(_described(shell, name, meaning))
        elif meaning.kind == "alias":
            lines.append(_alias_command(shell, name))
        elif meaning.kind == "file":
            lines.append(meaning.path)
        else:
            lines.append(name)
    _lines(shell, lines)
    return status


@running("builtin")
def builtin_(shell: Interpreter, argv: list[str]) -> int:
    words = operands_of(argv)
    if not words:
        return 0
    function = BUILTINS.get(words[0])
    if function is None:
        raise BuiltinUsageError(f"{words[0]}: not a shell builtin", 1)
    return function(shell, words)


@builtin("hash")
def hash_(shell: Interpreter, argv: list[str]) -> int:
    options, names = options_of(argv, "rldtp:")
    given = dict(options)
    if not shell.hashall:
        raise BuiltinUsageError("hashing disabled", 1)
    if "r" in given:
        shell.hashed.clear()
        shell.hash_hits.clear()
        if not names:
            return 0
    status = 0
    if "p" in given and names:
        if shell.restricted and "/" in given["p"]:
            raise BuiltinUsageError(f"{given['p']}: restricted", 1)
        if os.path.isdir(shell.path(given["p"])):
            shell.complain(f"hash: {given['p']}: Is a directory")
            return 1
        for name in names:
            shell.hashed[name] = shell.find_command(given["p"]) or (given["p"], None)
            shell.hash_hits.pop(name, None)
        return 0
    if "t" in given:
        if not names:
            raise BuiltinUsageError("-t: option requires an argument", 1)
        for name in names:
            if name in shell.hashed:
                text = shell.hashed[name][0]
                shell.hash_hits[name] += 1
                if "l" in given:
                    text = _hash_command(name, text)
                elif len(names) > 1:
                    text = f"{name}\t{text}"
                _lines(shell, [text])
            else:
                shell.complain(f"hash: {name}: not found")
                status = 1
        return status
    if "d" in given:
        if not names:
            raise BuiltinUsageError("-d: option requires an argument", 1)
        for name in names:
            if shell.hashed.pop(name, None) is None:
                shell.complain(f"hash: {name}: not found")
                status = 1
            shell.hash_hits.pop(name, None)
        return status
    if not names:
        if not shell.hashed:
            if "l" not in given:
                shell.output(b"hash: hash table empty\n")
            return 0
        paths = {name: path for name, (path, _) in shell.hashed.items()}
        if "l" in given:
            _lines(shell, [_hash_command(name, path) for name, path in paths.items()])
        else:
            hits = [f"{shell.hash_hits[name]:4}\t{path}" for name, path in paths.items()]
            _lines(shell, ["hits\tcommand", *hits])
        return 0
    for name in names:
        if name in shell.builtins or name in shell.functions:
            continue
        shell.hash_hits.pop(name, None)
        if shell.find_command(name) is None:
            shell.complain(f"hash: {name}: not found")
            status = 1
    return status


def _hash_command(name: str, path: str) -> str:
    """What enters a command into the hash table again."""
    return f"builtin hash -p {path} {name}"


def _alias_command(shell: Interpreter, name: str, command: str = "alias ") -> str:
    """What defines an alias again."""
    end = "-- " if command and name.startswith("-") else ""
    return f"{command}{end}{name}={plainly_quoted(shell.aliases[name])}"


@builtin("alias")
def alias(shell: Interpreter, argv: list[str]) -> int:
    options, words = options_of(argv, "p")
    command = "" if shell.posix and not options else "alias "
    if options or not words:
        _lines(shell, [_alias_command(shell, name, command) for name in sorted(shell.aliases)])
    status = 0
    for word in words:
        name, equals, text = word.partition("=")
        if equals and name:
            if any(char in name for char in "/$`\"'\\|&;()<> \t"):
                shell.complain(f"alias: `{name}': invalid alias name")
                status = 1
            else:
                shell.aliases[name] = text
            # `$_` is the name alone.
            argv[-1] = name
        elif word in shell.aliases:
            _lines(shell, [_alias_command(shell, word, command)])
        else:
            shell.complain(f"alias: {word}: not found")
            status = 1
    return status


@builtin("unalias")
def unalias(shell: Interpreter, argv: list[str]) -> int:
    options, names = options_of(argv, "a")
    if options:
        shell.aliases.clear()
        return 0
    if not names:
        return usage(shell, "unalias")
    status = 0
    for name in names:
        if shell.aliases.pop(name, None) is None:
            shell.complain(f"unalias: {name}: not found")
            status = 1
    return status


@builtin("enable")
def enable(shell: Interpreter, argv: list[str]) -> int:
    options, names = options_of(argv, "anpsdf:")
    letters = {letter for letter, _ in options}
    if shell.restricted and letters & {"d", "f"}:
        raise BuiltinUsageError("restricted", 1)
    if not names:
        shown = sorted(shell.disabled_builtins) if "n" in letters else sorted(shell.builtins)
        if "a" in letters:
            shown = sorted(BUILTINS)
        if "s" in letters:
            shown = [name for name in shown if name in SPECIAL]
        lines = [f"enable {'-n ' if name in shell.disabled_builtins else ''}{name}" for name in shown]
        _lines(shell, lines)
        return 0
    status = 0
    for name in names:
        if "d" in letters:
            known = name in BUILTINS
            shell.complain(f"enable: {name}: {'not dynamically loaded' if known else 'not a shell builtin'}")
            status = 1
            continue
        if name not in BUILTINS or ("s" in letters and name not in SPECIAL):
            shell.complain(f"enable: {name}: not a shell builtin")
            status = 1
            continue
        disabled = set(shell.disabled_builtins)
        disabled.add(name) if "n" in letters else disabled.discard(name)
        shell.disabled_builtins = disabled
        shell.builtins = builtins_without(disabled)
    return status


@builtin("help")
def help_(shell: Interpreter, argv: list[str]) -> int:
    options, names = options_of(argv, "dms")
    short = any(letter in "sd" for letter, _ in options)
    if not names:
        _lines(
            shell,
            [
                "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)",
                "These shell commands are defined internally.  Type `help' to see this list.",
                "",
                *(f" {name}" for name in sorted(BUILTINS)),
            ],
        )
        return 0
    status = 0
    topics = sorted({*BUILTINS, *RESERVED})
    if re.search(r"[*?]|\[.*\]", names[0]):
        keywords = "keywords" if len(names) > 1 else "keyword"
        _lines(shell, [f"Shell commands matching {keywords} `{', '.join(names)}'", ""])
    for name in names:
        pattern = compile_pattern(name)
        found = [name] if name in topics else [topic for topic in topics if pattern.fullmatch(topic)]
        if not found:
            # What only begins a topic's name stands for it.
            found = [topic for topic in topics if topic.startswith(name)]
        for topic in found:
            synopsis = SYNOPSES.get(topic, "") if topic in BUILTINS else "[arguments]"
            lines = [f"{topic}: {topic} {synopsis}".rstrip()]
            if not short:
                lines.append("    A shell builtin; see the Bash Reference Manual.")
            _lines(shell, lines)
        if not found:
            shell.complain(
                f"help: no help topics match `{name}'.  Try `help help' or `man -k {name}' or `info {name}'."
            )
            status = 1
    return status
