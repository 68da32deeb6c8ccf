"""What a prompt needs of the shell behind it: its texts, whether a command is complete, what Tab gives."""

from __future__ import annotations

import os
import re

from planaria_shell.errors import ShellSyntaxError
from planaria_shell.state.command import COMMANDS
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.syntax.parser import RESERVED, parser_of

__all__ = ["before_prompt", "complete", "is_complete", "prompts"]


_USUAL_PROMPTS = {"PS1": r"\u@\h:\w\$ ", "PS2": "> "}
#: The word that ends where the cursor is: what stands after blanks and operators that no backslash precedes.
_LAST_WORD = re.compile(r"(?:\\.|[^\\\s;&|()<>`'\"=])*\Z", re.DOTALL)
#: Text after which the name of a command stands.
_BEFORE_COMMAND = re.compile(
    r"(?:^|[;&|(`\n]|\b(?:if|then|else|elif|while|until|do|time)\s|[!{]\s)\s*\Z|\A\s*\Z"
)
_SPECIAL = re.compile(r"([\s\\'\"$`&|;()<>*?\[\]{}!#~])")


def prompts(shell: Interpreter) -> dict[str, str]:
    """PS1 and PS2 as they are to be shown now; the usual ones where a script has not set them."""
    status = shell.status
    shown: dict[str, str] = {}
    for name, usual in _USUAL_PROMPTS.items():
        text = shell.variables.get(name)
        shown[name] = shell.prompt(usual if text is None else text)
    shell.status = status
    return shown


def before_prompt(shell: Interpreter) -> None:
    """Run PROMPT_COMMAND, all elements of it when it is an array; `$?` and `$_` stay as they are."""
    variable = shell.variables.find("PROMPT_COMMAND")
    if variable is None:
        return
    kept = (shell.status, shell.last_argument, shell.history_enabled)
    shell.history_enabled = False
    try:
        for text in variable.values():
            shell.status = kept[0]
            shell.run(text)
            if shell.exited:
                return
    finally:
        shell.history_enabled = kept[2]
    shell.status, shell.last_argument = kept[:2]


def is_complete(shell: Interpreter, source: str) -> bool:
    """Whether `source` can be run as it is. What no more text could repair is complete, too."""
    line = source.removesuffix("\n")
    if (len(line) - len(line.rstrip("\\"))) % 2:
        return False
    parser = parser_of(line + "\n", extglob="extglob" in shell.shopts)
    parser.lexer.documents_must_end = True
    try:
        while parser.unit() is not None:
            pass
    except ShellSyntaxError as error:
        return not error.incomplete
    except EOFError:
        return False
    return True


def complete(shell: Interpreter, source: str, cursor: int) -> tuple[list[str], int]:
    """What can stand before `cursor`, and from where it would replace what stands there."""
    before = source[:cursor]
    match = _LAST_WORD.search(before)
    assert match is not None
    word, start = match.group(), match.start()
    place = word.rfind("$")
    if place >= 0 and not word[place + 1 :].partition("{")[2].count("}"):
        brace = word[place + 1 : place + 2] == "{"
        prefix = word[place + 1 + brace :]
        names = [name for name in shell.variables.names(prefix) if name.isidentifier() or not prefix]
        shown = [word[:place] + "$" + ("{" + name + "}" if brace else name) for name in names]
        return shown, start
    plain = re.sub(r"\\(.)", r"\1", word)
    command = _BEFORE_COMMAND.search(before[:start]) is not None and "/" not in plain
    if command:
        known = {*shell.functions, *shell.builtins, *shell.commands, *COMMANDS, *shell.aliases, *RESERVED}
        found = sorted(name for name in known if name.startswith(plain))
        if found:
            return found, start
    return [_SPECIAL.sub(r"\\\1", path) for path in _paths(shell, plain)], start


def _paths(shell: Interpreter, prefix: str) -> list[str]:
    """The files whose names begin like this; directories with a slash behind them."""
    directory, slash, rest = prefix.rpartition("/")
    place = directory + slash
    if place == "~/" or place.startswith("~/"):
        full = (shell.variables.get("HOME") or "") + place[1:]
    else:
        full = shell.path(place or ".")
    try:
        entries = sorted(os.listdir(full))
    except OSError:
        return []
    return [
        place + entry + ("/" if os.path.isdir(os.path.join(full, entry)) else "")
        for entry in entries
        if entry.startswith(rest) and (rest.startswith(".") or not entry.startswith("."))
    ]
