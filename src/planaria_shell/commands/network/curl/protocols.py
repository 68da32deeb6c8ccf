"""The protocols that `--proto` and `--proto-redir` of curl leave."""

from __future__ import annotations

from typing import Final

from planaria_shell.commands.network.curl.options import Given

__all__ = ["is_enabled"]

#: Those that there are in the sandbox.
_ALL: Final = frozenset({"http", "https"})


def is_enabled(scheme: str, given: Given, *, is_redirect: bool = False) -> bool:
    """Whether curl may use a protocol, or follow a redirect to it."""
    names = ["proto", "proto-redir"] if is_redirect else ["proto"]
    return all(scheme in _left(given.value(name)) for name in names)


def _left(listed: str | None) -> frozenset[str]:
    """What a list leaves: each word adds a protocol, `-` takes it away, `=` has it alone."""
    left = _ALL
    for word in (listed or "").lower().split(","):
        mark, name = (word[:1], word[1:]) if word.startswith(("+", "-", "=")) else ("+", word)
        found = _ALL if name == "all" else _ALL & {name}
        left = found if mark == "=" else left - found if mark == "-" else left | found
    return left
