"""The order in which `for (key in array)` goes through an array: no rule says which, scripts show gawk's.

gawk lists whole numbers from zero up, if the first key of the array was a whole number, and everything
else as its hash table has it: a table of 13, 127, 1021 … chains that grows when they hold three on
average, with each new key put first in its chain.
"""

from __future__ import annotations

import re

_WHOLE = re.compile(r"-?[1-9][0-9]{0,17}|0")
_SIZES = (13, 127, 1021, 8191, 131071, 1048573, 8388593, 16777213)


def listing_order(keys: list[str]) -> list[str]:
    """Keys, given in the order of their insertion, as gawk would list them."""
    if len(keys) < 2:
        return keys
    whole = _WHOLE.fullmatch
    if not whole(keys[0]):
        return _hash_order(keys)
    numbers = [key for key in keys if whole(key) and key[0] != "-"]
    rest = [key for key in keys if not whole(key)] if len(numbers) < len(keys) else []
    negative = [key for key in keys if key[0:1] == "-" and whole(key)] if len(numbers) < len(keys) else []
    return _hash_order(rest) + sorted(negative, key=int) + sorted(numbers, key=int)


def _hash_order(keys: list[str]) -> list[str]:
    sizes = iter(_SIZES)
    size = next(sizes)
    # Chains are kept with the first key last.
    chains: list[list[tuple[int, str]]] = [[] for _ in range(size)]
    for count, key in enumerate(keys, 1):
        if count // size > 2:
            size = next(sizes, size)
            grown: list[list[tuple[int, str]]] = [[] for _ in range(size)]
            for chain in chains:
                for entry in reversed(chain):
                    grown[entry[0] % size].append(entry)
            chains = grown
        code = 0
        for byte in key.encode("utf-8", "surrogateescape"):
            # A char has a sign there.
            code = (65599 * code + (byte if byte < 128 else byte - 256)) & 0xFFFFFFFF
        chains[code % size].append((code, key))
    return [key for chain in chains for _, key in reversed(chain)]
