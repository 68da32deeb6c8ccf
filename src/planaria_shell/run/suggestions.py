"""Whether a word is a slip of the fingers for the name of a command."""

from __future__ import annotations

__all__ = ["is_misspelling"]

#: From this length on one wrong letter is a slip; shorter names with one are other programs (tox, ack, tsc).
_LONG = 5


def is_misspelling(word: str, name: str) -> bool:
    """True when `word` is `name` in other case, or with two letters changed over, one doubled, and from the
    second letter on one left out or put in, or in a long name one replaced."""
    if word == name:
        return False
    if word.lower() == name.lower():
        return True
    if len(word) < 3 or not name[:1].isalpha() or abs(len(word) - len(name)) > 1:
        return False
    start = 0
    while start < min(len(word), len(name)) and word[start] == name[start]:
        start += 1
    if len(word) == len(name):
        rest, other = word[start:], name[start:]
        if rest[:2] == other[1::-1] and rest[2:] == other[2:]:
            return True
        return len(name) >= _LONG and start > 0 and rest[1:] == other[1:]
    longer, shorter = (word, name) if len(word) > len(name) else (name, word)
    if not start or longer[start + 1 :] != shorter[start:]:
        return False
    doubled = longer[start] == longer[start - 1]
    return doubled or (len(shorter) > 2 and len(name) >= 4 and not longer[start].isdigit())
