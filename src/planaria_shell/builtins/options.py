"""`set`, `shopt`, `trap` and `umask`."""

from __future__ import annotations

import re

from planaria_shell.builtins.declarations import assignment_line
from planaria_shell.builtins.registry import BuiltinUsageError, OptionError, builtin, options_of, usage
from planaria_shell.state.control import Exit
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.options import LETTERS, SET_OPTIONS, SHOPT_OPTIONS
from planaria_shell.state.signals import SIGNALS, signal_name
from planaria_shell.state.variable import DYNAMIC, EXPORT, HOOKED, READONLY, Variable
from planaria_shell.syntax.printing import function_source
from planaria_shell.syntax.quoting import plainly_quoted


def _text(shell: Interpreter, lines: list[str]) -> None:
    if lines:
        shell.output(("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))


def confine(shell: Interpreter) -> None:
    """Make it a restricted shell (Bash Reference Manual, section 6.10)."""
    shell.restricted = True
    shell.shopts.add("restricted_shell")
    for name in ("PATH", "SHELL", "ENV", "BASH_ENV", "HISTFILE"):
        shell.table.setdefault(name, Variable(None)).flags |= READONLY


def turn(shell: Interpreter, name: str, on: bool) -> None:
    """Set one option of `set -o`."""
    if name == "posix" and on != shell.posix:
        # The two go together.
        if on:
            shell.variables.set("POSIXLY_CORRECT", "y")
        else:
            shell.variables.unset("POSIXLY_CORRECT")
    attribute = SET_OPTIONS.get(name)
    if attribute is None:
        raise BuiltinUsageError(f"{name}: invalid option name", 2)
    setattr(shell, attribute, on)
    if attribute in ("vi", "emacs"):
        # One excludes the other; without one there is no editing.
        shell.vi = on and attribute == "vi"
        shell.emacs = on and attribute == "emacs"
    if attribute == "allexport":
        shell.variables.new_flags = EXPORT if on else 0
        for variable in shell.table.values():
            if on:
                variable.flags |= HOOKED
    if attribute == "errtrace":
        shell.err_trap_depth = shell.function_depth
    shell.update_watching()


@builtin("set")
def set_(shell: Interpreter, argv: list[str]) -> int:
    status = _set(shell, argv)
    if shell.noexec and not shell.interactive:
        # Nothing runs any more, not even what stands on this line; the rest is only read.
        raise Exit(status)
    return status


def _set(shell: Interpreter, argv: list[str]) -> int:
    if len(argv) == 1:
        lines: list[str] = []
        for name, variable in sorted(shell.table.items()):
            shell.variables.prepare_to_list(name, variable)
            if variable.is_set() or (variable.flags & DYNAMIC and variable.array is not None):
                lines.append(assignment_line(name, variable))
        if not shell.posix:
            lines.extend(
                function_source(name, shell.functions[name].node) for name in sorted(shell.functions)
            )
        _text(shell, lines)
        return 0
    place = 1
    while place < len(argv):
        word = argv[place]
        if word in ("--", "-"):
            if word == "-":
                turn(shell, "xtrace", False)
                turn(shell, "verbose", False)
                if place + 1 == len(argv):
                    return 0
            shell.positional = argv[place + 1 :]
            shell.positional_sets += 1
            return 0
        if word[:1] not in ("-", "+") or len(word) < 2:
            break
        on = word[0] == "-"
        for letter in word[1:]:
            if letter == "o":
                place += 1
                if place >= len(argv):
                    list_options(shell, as_commands=not on)
                    return 0
                turn(shell, argv[place], on)
            elif letter == "r":
                if not on:
                    shell.complain("set: +r: invalid option")
                    usage(shell, "set")
                    return 1
                confine(shell)
            elif letter in LETTERS:
                turn(shell, LETTERS[letter], on)
            else:
                raise OptionError(f"{word[0]}{letter}: invalid option")
        place += 1
    if place < len(argv):
        shell.positional = argv[place:]
        shell.positional_sets += 1
    return 0


def list_options(shell: Interpreter, *, as_commands: bool) -> None:
    lines: list[str] = []
    for name, attribute in SET_OPTIONS.items():
        on = bool(getattr(shell, attribute))
        lines.append(
            f"set {'-' if on else '+'}o {name}" if as_commands else f"{name:<15}\t{'on' if on else 'off'}"
        )
    _text(shell, lines)


@builtin("shopt")
def shopt(shell: Interpreter, argv: list[str]) -> int:
    options, names = options_of(argv, "pqsuo")
    letters = {letter for letter, _ in options}
    if "s" in letters and "u" in letters:
        raise BuiltinUsageError("cannot set and unset shell options simultaneously", 1)
    known = tuple(SET_OPTIONS) if "o" in letters else SHOPT_OPTIONS

    def is_on(name: str) -> bool:
        return shell.option_is_on(name) if "o" in letters else name in shell.shopts

    status = 0
    if names and letters & {"s", "u"}:
        on = "s" in letters
        for name in names:
            if name not in known:
                kind = "" if "o" in letters else "shell "
                shell.complain(f"shopt: {name}: invalid {kind}option name")
                status = 1
            elif "o" in letters:
                turn(shell, name, on)
            else:
                if name == "extdebug":
                    turn(shell, "functrace", on)
                    turn(shell, "errtrace", on)
                shell.shopts.add(name) if on else shell.shopts.discard(name)
        return status
    lines: list[str] = []
    for name in names or known:
        if name not in known:
            _text(shell, lines)
            lines.clear()
            kind = "" if "o" in letters else "shell "
            shell.complain(f"shopt: {name}: invalid {kind}option name")
            status = 1
            continue
        on = is_on(name)
        if letters & {"s", "u"} and on != ("s" in letters):
            continue
        if names and not on:
            status = 1
        if "p" in letters:
            flag = "o" if "o" in letters else ("s" if on else "u")
            lines.append(f"set {'-' if on else '+'}o {name}" if flag == "o" else f"shopt -{flag} {name}")
        else:
            lines.append(f"{name:<15}\t{'on' if on else 'off'}")
    if "q" not in letters:
        _text(shell, lines)
    return status if names else 0


def list_shell_options(shell: Interpreter, *, as_commands: bool) -> None:
    """Write the options of `shopt` with their values."""
    shopt(shell, ["shopt", "-p"] if as_commands else ["shopt"])


@builtin("trap")
def trap(shell: Interpreter, argv: list[str]) -> int:
    options, words = options_of(argv, "lp")
    letters = {letter for letter, _ in options}
    if "l" in letters:
        _list_signals(shell)
        return 0
    if "p" in letters or not words:
        return _print_traps(shell, words)
    if len(words) == 1 or (words[0].isdecimal() and signal_name(words[0]) is not None and len(words) == 1):
        command: str | None = None
        conditions = words
        if len(words) == 1 and signal_name(words[0]) is None:
            return usage(shell, "trap")
    else:
        command, conditions = words[0], words[1:]
        if command == "-" or command.isdecimal():
            if command != "-":
                conditions = words
            command = None
    status = 0
    shell.shown_traps = {}
    for condition in conditions:
        name = signal_name(condition)
        if name is None:
            shell.complain(f"trap: {condition}: invalid signal specification")
            status = 1
        elif name in shell.ignored_signals and not shell.interactive:
            continue
        elif command is None:
            shell.traps.pop(name, None)
        else:
            if name == "ERR":
                shell.err_trap_depth = shell.function_depth
                if name not in shell.traps:
                    shell.err_trap_nesting = len(shell.frames) + shell.substitution_level
            shell.traps[name] = command
    shell.update_watching()
    return status


def _print_traps(shell: Interpreter, names: list[str]) -> int:
    order = {name: number for number, name in SIGNALS.items()}
    order.update({"EXIT": 0, "DEBUG": 100, "ERR": 101, "RETURN": 102})
    traps = {**shell.shown_traps, **shell.traps}
    if shell.ignores_interrupts:
        traps.setdefault("INT", "")
    wanted = list(traps)
    status = 0
    if names:
        wanted = []
        for name in names:
            found = signal_name(name)
            if found is None:
                shell.complain(f"trap: {name}: invalid signal specification")
                status = 1
            else:
                wanted.append(found)
    lines: list[str] = []
    for name in sorted(wanted, key=lambda one: order.get(one, 99)):
        if name in traps:
            shown = name if shell.posix or name in ("EXIT", "DEBUG", "ERR", "RETURN") else f"SIG{name}"
            lines.append(f"trap -- {plainly_quoted(traps[name])} {shown}")
    _text(shell, lines)
    return status


def _list_signals(shell: Interpreter) -> None:
    if shell.posix:
        _text(shell, [" ".join(SIGNALS[number] for number in sorted(SIGNALS))])
        return
    lines: list[str] = []
    row: list[str] = []
    for number, name in sorted(SIGNALS.items()):
        row.append(f"{number:2d}) SIG{name}")
        if len(row) == 5:
            lines.append("\t".join(row))
            row = []
    if row:
        lines.append("\t".join(row) + "\t")
    _text(shell, lines)


_BITS = {"r": 4, "w": 2, "x": 1}
_CLAUSE = re.compile(r"([ugoa]*)([-+=]?)([rwx]*)")


@builtin("umask")
def umask(shell: Interpreter, argv: list[str]) -> int:
    options, words = options_of(argv, "pS")
    letters = {letter for letter, _ in options}
    if not words:
        if "S" in letters:
            allowed = ~shell.umask & 0o777
            text = ",".join(
                who + "=" + "".join(letter for letter, bit in _BITS.items() if allowed >> shift & bit)
                for who, shift in (("u", 6), ("g", 3), ("o", 0))
            )
            text = f"umask -S {text}" if "p" in letters else text
        else:
            text = f"umask {shell.umask:04o}" if "p" in letters else f"{shell.umask:04o}"
        _text(shell, [text])
        return 0
    _set_umask(shell, words[0])
    return umask(shell, ["umask", "-S"]) if "S" in letters else 0


def _set_umask(shell: Interpreter, word: str) -> None:
    if word[:1].isdecimal():
        if not re.fullmatch(r"[0-7]+", word) or int(word, 8) > 0o7777:
            raise BuiltinUsageError(f"{word}: octal number out of range", 1)
        shell.umask = int(word, 8) & 0o777
        return
    allowed = ~shell.umask & 0o777
    position = 0
    while True:
        match = _CLAUSE.match(word, position)
        assert match is not None
        who, operator, permissions = match.groups()
        position = match.end()
        following = word[position : position + 1]
        if not operator or following not in ("", ","):
            wrong = "character" if operator else "operator"
            raise BuiltinUsageError(f"`{following or chr(0)}': invalid symbolic mode {wrong}", 1)
        bits = sum(_BITS[letter] for letter in set(permissions))
        for letter in "ugo" if not who or "a" in who else who:
            shift = {"u": 6, "g": 3, "o": 0}[letter]
            if operator == "+":
                allowed |= bits << shift
            elif operator == "-":
                allowed &= ~(bits << shift)
            else:
                allowed = allowed & ~(7 << shift) | bits << shift
        if not following:
            break
        position += 1
    shell.umask = ~allowed & 0o777
