"""The codes of zstd (RFC 8878, section 4) for writing: finite state entropy and Huffman."""

from __future__ import annotations

from collections.abc import Mapping

from planaria_shell.commands.archives.zstandard.entropy import FseTable

__all__ = ["FseCoder", "HuffmanCoder", "fse_description"]

#: The longest Huffman code.
_LONGEST = 11


class FseCoder:
    """Goes through the states of a table from the last symbol to the first."""

    def __init__(self, table: FseTable) -> None:
        self.accuracy = table.accuracy
        self._table = table
        size = 1 << table.accuracy
        #: For each symbol the state that comes before a state.
        self._before: dict[int, list[int]] = {}
        for state, symbol in enumerate(table.symbols):
            states = self._before.setdefault(symbol, [0] * size)
            base, count = table.bases[state], 1 << table.bits[state]
            states[base : base + count] = [state] * count

    def first(self, symbol: int) -> int:
        """A state for the last symbol, after which bits are still to be read."""
        table = self._table
        states = set(self._before[symbol])
        return max(states, key=table.bits.__getitem__)

    def step(self, symbol: int, following: int) -> tuple[int, int, int]:
        """The state for a symbol that goes on with the state `following`; the bits for that, and how many."""
        state = self._before[symbol][following]
        table = self._table
        return state, following - table.bases[state], table.bits[state]


def fse_description(counts: Mapping[int, int], most: int) -> tuple[bytes, FseTable]:
    """A table for symbols that come so often (at least two of them), with at most 2**most states."""
    total = sum(counts.values())
    accuracy = max(5, min(most, total.bit_length() - 2), (len(counts) - 1).bit_length() + 1)
    accuracy = min(accuracy, most)
    size = 1 << accuracy
    shares = {symbol: max(1, count * size // total) for symbol, count in counts.items()}
    # What rounding left over, or took too much, is the affair of the most frequent.
    rest = size - sum(shares.values())
    for symbol in sorted(shares, key=lambda symbol: -shares[symbol]):
        change = max(rest, 1 - shares[symbol])
        shares[symbol] += change
        rest -= change
        if not rest:
            break
    probabilities = [shares.get(symbol, 0) for symbol in range(max(shares) + 1)]
    word, width, left = accuracy - 5, 4, size
    at = 0
    while left:
        value = probabilities[at] + 1
        bits = (left + 1).bit_length()
        low = (1 << bits - 1) - 1
        threshold = (1 << bits) - 2 - left
        if value < threshold:
            bits -= 1
        elif value > low:
            value += threshold
        word |= value << width
        width += bits
        left -= probabilities[at]
        at += 1
        if not probabilities[at - 1]:
            zeros = 0
            while not probabilities[at + zeros]:
                zeros += 1
            at += zeros
            while zeros >= 3:
                word |= 3 << width
                width += 2
                zeros -= 3
            word |= zeros << width
            width += 2
    return word.to_bytes((width + 7) // 8, "little"), FseTable.from_probabilities(probabilities, accuracy)


class HuffmanCoder:
    """A code for bytes that come so often (at least two different ones)."""

    def __init__(self, counts: Mapping[int, int]) -> None:
        lengths = _code_lengths(counts, _LONGEST)
        longest = max(lengths.values())
        weights = [
            longest + 1 - lengths[symbol] if symbol in lengths else 0 for symbol in range(max(lengths) + 1)
        ]
        #: How the code is described to the reader; None when the format has no way to.
        self.description = _weights_description(weights[:-1])
        self._codes: dict[int, str] = {}
        start = 0
        for weight in range(1, longest + 1):
            for symbol, own in enumerate(weights):
                if own == weight:
                    self._codes[symbol] = format(start >> weight - 1, f"0{longest + 1 - weight}b")
                    start += 1 << weight - 1

    def encode(self, data: bytes) -> bytes:
        """One stream, which is read from its end."""
        bits = "1" + "".join(map(self._codes.__getitem__, data))
        return int(bits, 2).to_bytes((len(bits) + 7) // 8, "little")


def _code_lengths(counts: Mapping[int, int], longest: int) -> dict[int, int]:
    """The lengths of the best code that has no longer ones (package-merge)."""
    items = sorted((count, (symbol,)) for symbol, count in counts.items())
    packages: list[tuple[int, tuple[int, ...]]] = []
    for _ in range(longest):
        merged = sorted(items + packages, key=lambda package: package[0])
        packages = [
            (one[0] + two[0], one[1] + two[1]) for one, two in zip(merged[::2], merged[1::2], strict=False)
        ]
    lengths: dict[int, int] = {}
    for _, symbols in packages[: len(items) - 1]:
        for symbol in symbols:
            lengths[symbol] = lengths.get(symbol, 0) + 1
    return lengths


def _weights_description(weights: list[int]) -> bytes | None:
    """The weights of all symbols but the last, packed or each in half a byte; None where neither
    form can describe them (too many symbols of equal frequency)."""
    packed = _packed_weights(weights)
    if packed is not None and (len(weights) > 128 or len(packed) < (len(weights) + 1) // 2):
        return bytes([len(packed)]) + packed
    if len(weights) > 128:
        return None
    padded = [*weights, 0]
    pairs = zip(padded[::2], padded[1::2], strict=False)
    return bytes([127 + len(weights)]) + bytes(high << 4 | low for high, low in pairs)


def _packed_weights(weights: list[int]) -> bytes | None:
    """Weights in a code of their own, with two states that take turns; None where that cannot be."""
    counts: dict[int, int] = {}
    for weight in weights:
        counts[weight] = counts.get(weight, 0) + 1
    if len(counts) < 2 or len(weights) < 3:
        return None
    description, table = fse_description(counts, 6)
    coder = FseCoder(table)
    count = len(weights)
    states = [0, 0]
    for place in (count - 1, count - 2):
        states[place & 1] = coder.first(weights[place])
    written: list[str] = []
    for place in range(count - 3, -1, -1):
        state, value, bits = coder.step(weights[place], states[place & 1])
        states[place & 1] = state
        written.append(format(value, f"0{bits}b") if bits else "")
    starts = [format(state, f"0{table.accuracy}b") for state in states]
    bits_read = "".join(["1", *starts, *reversed(written)])
    packed = description + int(bits_read, 2).to_bytes((len(bits_read) + 7) // 8, "little")
    return packed if len(packed) < 128 else None
