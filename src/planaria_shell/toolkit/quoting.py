"""How names are shown in messages and listings: the quoting styles of GNU coreutils."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["c_quote", "escape", "in_locale", "quote", "shell_quote", "shell_quote_always"]

_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
_ASCII_MARKS = str.maketrans("‘’", "''")
_SPECIAL = frozenset(" !\"$&'()*;<=>?[\\^`|")
_COMPATIBLE_WITH_DOUBLE_QUOTES = frozenset(" #~{}'")


def _unprintable(character: str) -> str | None:
    """The backslash escape for a character that cannot be shown as itself, else None."""
    if character.isprintable():
        return None
    if character in _ESCAPES:
        return _ESCAPES[character]
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))


def in_locale(message: str, environment: Mapping[str, str]) -> str:
    """A message with `quote`'s marks as the locale has them: those of ASCII in "C" and "POSIX"."""
    names = (environment.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    is_ascii = next((name for name in names if name), "") in ("C", "POSIX")
    return message.translate(_ASCII_MARKS) if is_ascii else message


def quote(text: str) -> str:
    """`‘text’`: how options' values and similar words are quoted in messages; see `in_locale`."""
    shown = (_unprintable(c) or {"\\": "\\\\", "’": "\\’"}.get(c, c) for c in text)
    return f"‘{''.join(shown)}’"


def c_quote(text: str) -> str:
    """`"text"` with the escapes of C."""
    shown = (_unprintable(c) or {"\\": "\\\\", '"': '\\"'}.get(c, c) for c in text)
    return f'"{"".join(shown)}"'


def escape(text: str) -> str:
    """`text` with the escapes of C and no quotes; spaces are escaped too (`ls -b`)."""
    return "".join(_unprintable(c) or {"\\": "\\\\", " ": "\\ "}.get(c, c) for c in text)


def shell_quote_always(text: str) -> str:
    """`'text'`, so that a shell reads it back as `text`."""
    plain = all(c.isprintable() for c in text)
    if (
        "'" in text
        and plain
        and all(c in _COMPATIBLE_WITH_DOUBLE_QUOTES or (c not in _SPECIAL and c.isprintable()) for c in text)
    ):
        return f'"{text}"'
    if plain:
        return "'" + text.replace("'", "'\\''") + "'"
    parts: list[str] = ["'"]
    escaped = False
    for c in text:
        shown = _unprintable(c)
        if shown is not None:
            if not escaped:
                parts.append("'$'")
            parts.append(shown)
            escaped = True
            continue
        if escaped:
            parts.append("''")
            escaped = False
        parts.append("'\\''" if c == "'" else c)
    parts.append("'")
    return "".join(parts)


def shell_quote(text: str, also: str = ":") -> str:
    """`text` as it is when a shell would read it so, else quoted; `also` are further special characters."""
    if not text:
        return "''"
    if (
        text[0] not in "#~"
        and text not in ("{", "}")
        and not any(c in _SPECIAL or c in also or not c.isprintable() for c in text)
    ):
        return text
    return shell_quote_always(text)
