"""The codes of zstd (RFC 8878, section 4): finite state entropy and Huffman."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BackwardBits", "FseTable", "HuffmanTable", "ZstdError", "read_fse_table", "read_huffman_table"]

_PADDING = 8


class ZstdError(ValueError):
    """The data is not what the format allows."""


class BackwardBits:
    """Bits that were written forwards and are read backwards, from below the highest one of the last byte."""

    __slots__ = ("_data", "position")

    def __init__(self, data: bytes) -> None:
        if not data or not data[-1]:
            raise ZstdError("a stream of bits has no end")
        # Zero bits may be read before the first one.
        self._data = bytes(_PADDING) + data
        self.position = (len(data) + _PADDING - 1) * 8 + data[-1].bit_length() - 1

    @property
    def left(self) -> int:
        """How many bits have not been read; negative when more were read than there are."""
        return self.position - _PADDING * 8

    def read(self, count: int) -> int:
        """The next bits as a number (at most 56)."""
        if not count:
            return 0
        self.position -= count
        at = self.position
        if at < 0:
            raise ZstdError("a stream of bits is too short")
        start = at >> 3
        word = int.from_bytes(self._data[start : start + 8], "little")
        return word >> (at & 7) & ((1 << count) - 1)


@dataclass(frozen=True)
class FseTable:
    """For each state the symbol, and how the next state comes about: a base and a number of bits."""

    accuracy: int
    symbols: list[int]
    bits: list[int]
    bases: list[int]

    @classmethod
    def single(cls, symbol: int) -> FseTable:
        """A table of one symbol only, which takes no bits."""
        return cls(0, [symbol], [0], [0])

    @classmethod
    def from_probabilities(cls, probabilities: list[int], accuracy: int) -> FseTable:
        """The table of a distribution; -1 stands for "less than one"."""
        size = 1 << accuracy
        symbols = [0] * size
        following = [0] * len(probabilities)
        high = size
        for symbol, probability in enumerate(probabilities):
            if probability == -1:
                high -= 1
                symbols[high] = symbol
                following[symbol] = 1
        step = (size >> 1) + (size >> 3) + 3
        at = 0
        for symbol, probability in enumerate(probabilities):
            if probability <= 0:
                continue
            following[symbol] = probability
            for _ in range(probability):
                symbols[at] = symbol
                at = (at + step) & (size - 1)
                while at >= high:
                    at = (at + step) & (size - 1)
        bits: list[int] = []
        bases: list[int] = []
        for symbol in symbols:
            state = following[symbol]
            following[symbol] += 1
            count = accuracy - state.bit_length() + 1
            bits.append(count)
            bases.append((state << count) - size)
        return cls(accuracy, symbols, bits, bases)


def read_fse_table(data: bytes, at: int, most: int, symbols: int) -> tuple[FseTable, int]:
    """A table's description at a place in `data`, and where it ends.

    `most` is the highest accuracy allowed, `symbols` how many there can be.
    """
    word = int.from_bytes(data[at : at + 256], "little")
    position = 4
    accuracy = (word & 15) + 5
    if accuracy > most:
        raise ZstdError("a table is too accurate")
    left = 1 << accuracy
    probabilities: list[int] = []
    while left > 0:
        if len(probabilities) >= symbols:
            raise ZstdError("a table has too many symbols")
        count = (left + 1).bit_length()
        value = word >> position & ((1 << count) - 1)
        low = (1 << (count - 1)) - 1
        threshold = (1 << count) - 2 - left
        position += count
        if value & low < threshold:
            value &= low
            position -= 1
        elif value > low:
            value -= threshold
        probability = value - 1
        left -= abs(probability)
        probabilities.append(probability)
        while probability == 0:
            zeros = word >> position & 3
            position += 2
            probabilities += [0] * zeros
            if zeros < 3:
                break
    end = at + (position + 7) // 8
    if left < 0 or end > len(data) or len(probabilities) > symbols:
        raise ZstdError("a table is damaged")
    return FseTable.from_probabilities(probabilities, accuracy), end


@dataclass(frozen=True)
class HuffmanTable:
    """For each value of the next `longest` bits the symbol and how many of the bits are its own."""

    longest: int
    symbols: bytes
    bits: bytes

    @classmethod
    def from_weights(cls, weights: list[int]) -> HuffmanTable:
        """The table of weights; that of the last symbol follows from the others."""
        total = sum(1 << (weight - 1) for weight in weights if weight)
        if not total:
            raise ZstdError("a Huffman code is empty")
        longest = total.bit_length()
        rest = (1 << longest) - total
        if longest > 11 or rest & (rest - 1):
            raise ZstdError("a Huffman code is damaged")
        weights = [*weights, rest.bit_length()]
        symbols = bytearray()
        bits = bytearray()
        for weight in range(1, longest + 1):
            for symbol, own in enumerate(weights):
                if own == weight:
                    share = 1 << (weight - 1)
                    symbols += bytes([symbol]) * share
                    bits += bytes([longest + 1 - weight]) * share
        return cls(longest, bytes(symbols), bytes(bits))

    def decode(self, data: bytes, count: int) -> bytes:
        """`count` symbols of one stream, which must end there."""
        stream = BackwardBits(data)
        padded = bytes(_PADDING) + data
        position = stream.position
        longest, mask = self.longest, (1 << self.longest) - 1
        symbols, bits = self.symbols, self.bits
        number = int.from_bytes
        out = bytearray(count)
        for place in range(count):
            start = position - longest
            if start < 0:
                raise ZstdError("a Huffman stream is too short")
            at = start >> 3
            index = number(padded[at : at + 3], "little") >> (start & 7) & mask
            out[place] = symbols[index]
            position -= bits[index]
        if position != _PADDING * 8:
            raise ZstdError("a Huffman stream is damaged")
        return bytes(out)


def read_huffman_table(data: bytes, at: int) -> tuple[HuffmanTable, int]:
    """A code's description at a place in `data`, and where it ends."""
    if at >= len(data):
        raise ZstdError("a Huffman code is missing")
    header = data[at]
    at += 1
    if header >= 128:
        count = header - 127
        end = at + (count + 1) // 2
        packed = data[at:end]
        if end > len(data):
            raise ZstdError("a Huffman code is cut short")
        weights = [weight for byte in packed for weight in (byte >> 4, byte & 15)][:count]
        return HuffmanTable.from_weights(weights), end
    end = at + header
    if end > len(data):
        raise ZstdError("a Huffman code is cut short")
    table, at = read_fse_table(data[:end], at, 6, 256)
    return HuffmanTable.from_weights(_weights(table, data[at:end])), end


def _weights(table: FseTable, data: bytes) -> list[int]:
    """Weights written with two states that take turns."""
    stream = BackwardBits(data)
    states = [stream.read(table.accuracy), stream.read(table.accuracy)]
    weights: list[int] = []
    turn = 0
    while len(weights) < 255:
        state = states[turn]
        weights.append(table.symbols[state])
        if stream.left < table.bits[state]:
            weights.append(table.symbols[states[1 - turn]])
            return weights
        states[turn] = table.bases[state] + stream.read(table.bits[state])
        turn = 1 - turn
    raise ZstdError("a Huffman code has too many symbols")
