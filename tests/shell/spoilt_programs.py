"""Programs made of commands and stray words, most of them spoilt in a place or two."""

from __future__ import annotations

import random

__all__ = ["spoilt"]


def spoilt(source: random.Random, commands: list[str], words: list[str], most: int) -> str:
    """Up to `most` commands, in which up to two words have gone, come or changed."""
    pieces: list[str] = []
    for _ in range(source.randint(1, most)):
        if source.random() < 0.7:
            pieces += source.choice(commands).split(" ")
        else:
            pieces += source.choices(words, k=source.randint(1, 4))
        pieces.append(source.choice([";", "\n", ";", "\n", "", "&&", "|"]))
    for _ in range(source.randint(0, 2)):
        place = source.randrange(len(pieces))
        pieces[place : place + source.randint(0, 1)] = source.choices(words, k=source.randint(0, 1))
        pieces = pieces or ["a"]
    return " ".join(pieces) + "\n"
