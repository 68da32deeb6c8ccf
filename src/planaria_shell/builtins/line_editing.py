"""`bind`: the keys and variables of readline. No line is edited by them; scripts can set and list them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from planaria_shell.builtins.readline import FUNCTIONS, VARIABLES
from planaria_shell.builtins.readline_keymaps import ALIASES, KEYMAPS, keys_of, order
from planaria_shell.builtins.registry import BuiltinUsageError, builtin, options_of
from planaria_shell.state.interpreter import Interpreter

_LETTERS = "lpsvPSVXm:f:q:u:r:x:"
#: How many keys of a function are listed.
_LISTED = 5
_BINDING = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^\s:"]+))\s*:\s*(.*?)\s*\Z', re.DOTALL)
#: A key with the meta modifier, which sets the highest bit, and maybe with control.
_META = re.compile(r"(?:\\M-(\\C-)?|(\\C-)\\M-)(.)", re.DOTALL)
_CONTROL = re.compile(r"\\C-([A-Z])")
_NAMED = {
    "rubout": r"\C-?", "del": r"\C-?", "escape": r"\e", "esc": r"\e", "newline": r"\C-j", "return": r"\C-m",
    "ret": r"\C-m", "space": " ", "spc": " ", "tab": r"\C-i", "lfd": r"\C-j",
}  # fmt: skip


class _Bindings:
    """The keys of a keymap of a shell: those of readline with what `bind` changed."""

    def __init__(self, shell: Interpreter, keymap: str) -> None:
        self._shell = shell
        self._keymap, self._prefix = KEYMAPS[keymap]
        #: What the keys of this keymap begin with among those of all that the shell has.
        self._mark = "" if self._keymap == "emacs" else f"{self._keymap}\0"
        self.keys = keys_of(self._keymap)
        for name, target in shell.key_bindings.items():
            keymap, _, key = name.rpartition("\0")
            if keymap == self._mark.rstrip("\0"):
                self.keys[key] = target

    def bind(self, key: str, target: str) -> None:
        """Bind a key: to a function, a macro (in double quotes) or a command (after an exclamation mark).

        An empty target takes the key away."""
        key = self._prefix + key
        # Replaced, not changed: subshells share it.
        self._shell.key_bindings = {**self._shell.key_bindings, self._mark + key: target}
        self.keys[key] = target

    def _listed(self) -> list[tuple[str, str]]:
        size = len(self._prefix)
        # A key that begins other sequences is listed with a null behind it.
        opening = {
            key
            for name in self._shell.key_bindings
            for key in [name.rpartition("\0")[2]]
            if any(other != key and target and other.startswith(key) for other, target in self.keys.items())
        }
        found = [
            (key[size:] + (r"\000" if key in opening else ""), target)
            for key, target in self.keys.items()
            if target and key.startswith(self._prefix) and len(key) > size
        ]
        return sorted(found, key=lambda pair: order(pair[0]))

    def of(self, function: str) -> list[str]:
        """The keys of a function."""
        function = ALIASES.get(function, function)
        return [key for key, target in self._listed() if target == function]

    def beginning(self, mark: str) -> Iterable[tuple[str, str]]:
        """Keys with a macro or a command."""
        return [(key, target) for key, target in self._listed() if target.startswith(mark)]

    def by_function(self) -> dict[str, list[str]]:
        """The keys of each function that has any."""
        found: dict[str, list[str]] = {}
        for key, target in self._listed():
            found.setdefault(target, []).append(key)
        return found | {name: found[other] for name, other in ALIASES.items() if other in found}


def _current(shell: Interpreter) -> str:
    """The name of the keymap that is in use."""
    return shell.readline_variables.get("keymap") or ("vi-insert" if shell.vi else "emacs")


@builtin("bind")
def bind(shell: Interpreter, argv: list[str]) -> int:
    """Bind keys, set variables of readline, or list them."""
    if not (shell.interactive or shell.vi or shell.emacs):
        shell.complain("bind: warning: line editing not enabled")
    options, words = options_of(argv, _LETTERS)
    keymap = _current(shell)
    for letter, value in options:
        if letter == "m":
            if value not in KEYMAPS:
                raise BuiltinUsageError(f"`{value}': invalid keymap name", 1)
            keymap = value
        if letter in "qu" and value not in FUNCTIONS:
            raise BuiltinUsageError(f"`{value}': unknown function name", 1)
    bindings = _Bindings(shell, keymap)
    status = 0
    for letter, value in sorted(options, key=lambda pair: "mlpPvVfqurxsSX".index(pair[0])):
        if letter == "f":
            status = _read(shell, bindings, value)
        elif letter == "q":
            status = _ask(shell, bindings, value)
        elif letter == "u":
            for key in bindings.of(value):
                bindings.bind(key, "")
        elif letter == "r":
            bindings.bind(_key(value), "")
        elif letter == "x":
            key, command = _parts(value)
            bindings.bind(key, "!" + command.strip().removeprefix('"').removesuffix('"'))
        elif letter != "m":
            _write(shell, _listing(shell, bindings, letter))
    for word in words:
        _line(shell, bindings, word)
    return status


def _write(shell: Interpreter, lines: list[str]) -> None:
    if lines:
        shell.output(("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))


def _listing(shell: Interpreter, bindings: _Bindings, letter: str) -> list[str]:
    mode = {"editing-mode": "vi" if shell.vi else "emacs", "keymap": _current(shell)}
    variables = {**VARIABLES, **shell.readline_variables, **mode}
    if letter == "l":
        return list(FUNCTIONS)
    if letter == "v":
        return [f"set {name} {value}" for name, value in variables.items()]
    if letter == "V":
        return [f"{name} is set to `{value}'" for name, value in variables.items()]
    if letter == "X":
        return [f'"{key}": "{target[1:]}"' for key, target in bindings.beginning("!")]
    if letter == "s":
        return [f'"{key}": {target}' for key, target in bindings.beginning('"')]
    if letter == "S":
        return [f"{key} outputs {target[1:-1]}" for key, target in bindings.beginning('"')]
    lines = [""]
    bound = bindings.by_function()
    for name in FUNCTIONS:
        keys = bound.get(name, [])
        if letter == "p":
            lines += [f'"{key}": {name}' for key in keys] or [f"# {name} (not bound)"]
        else:
            lines.append(f"{name} {_where(keys, 'can be found on')}")
    return lines


def _where(keys: list[str], how: str) -> str:
    if not keys:
        return "is not bound to any keys"
    shown = ", ".join(f'"{key}"' for key in keys[:_LISTED])
    return f"{how} {shown}{', ...' if len(keys) > _LISTED else '.'}"


def _ask(shell: Interpreter, bindings: _Bindings, name: str) -> int:
    keys = bindings.of(name)
    _write(shell, [f"{name} {_where(keys, 'can be invoked via')}{'' if keys else '.'}"])
    return 0 if keys else 1


def _key(text: str) -> str:
    """A sequence of keys in the notation of `bind -p`."""

    def meta(match: re.Match[str]) -> str:
        inner, outer, char = match.groups()
        control = inner or outer
        code = ord(char.upper()) & 0x1F if control else ord(char) & 0x7F
        return f"\\{code | 0x80:03o}"

    text = _META.sub(meta, text)
    return _CONTROL.sub(lambda match: match.group().lower().replace("c-", "C-"), text)


def _parts(text: str) -> tuple[str, str]:
    """The key and the target of `"keys": target` or `Control-x: target`."""
    match = _BINDING.match(text)
    if match is None:
        raise BuiltinUsageError(f"{text}: missing colon separator", 1)
    quoted, named, target = match.groups()
    if quoted is not None:
        return _key(quoted), target
    prefix = ""
    rest = named
    while True:
        modifier, dash, after = rest.partition("-")
        kind = modifier.lower()
        if not dash or not after or kind not in ("control", "c", "ctrl", "meta", "m"):
            break
        prefix += r"\C-" if kind.startswith("c") else r"\M-"
        rest = after
    key = _NAMED.get(rest.lower(), rest.lower() if prefix else rest)
    return _key(prefix + key), target


def _line(shell: Interpreter, bindings: _Bindings, text: str) -> None:
    """One line of an inputrc."""
    text = text.strip()
    words = text.split(None, 2)
    if not words or text.startswith(("#", "$")):
        return
    if words[0].lower() == "set" and len(words) > 1:
        name = words[1].lower()
        value = words[2].strip() if len(words) > 2 else ""
        if VARIABLES.get(name) in ("on", "off"):
            value = "on" if value.lower() in ("", "1", "on") else "off"
        if name == "editing-mode" and value in ("vi", "emacs"):
            shell.vi, shell.emacs = value == "vi", value == "emacs"
        if name == "keymap":
            value = value if value in KEYMAPS else _current(shell)
        if name not in VARIABLES:
            shell.error_output(f"readline: {name}: unknown variable name\n")
        else:
            shell.readline_variables = {**shell.readline_variables, name: value}
        return
    if ":" not in text:
        shell.error_output(f"readline: {text}: no key sequence terminator\n")
        return
    key, target = _parts(text)
    bindings.bind(key, target)


def _read(shell: Interpreter, bindings: _Bindings, name: str) -> int:
    try:
        with open(shell.path(name), encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError as error:
        raise BuiltinUsageError(f"{name}: cannot read: {error.strerror}", 1) from None
    for line in lines:
        _line(shell, bindings, line)
    return 0
