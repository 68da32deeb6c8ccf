"""How long the longest match is: what POSIX asks for and a backtracking engine does not promise.

`first_is_longest` proves for most expressions that the first match a backtracking engine finds is
also the longest. For the others `Automaton` finds the longest end by simulating all paths at once,
with its states made on demand and kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from planaria_shell.toolkit.regex.syntax import (
    Alternatives,
    AnyCharacter,
    Assertion,
    Backreference,
    Bracket,
    Character,
    Group,
    Node,
    Repeat,
    Sequence,
)

#: Bits of the ASCII characters, and one for all others.
ALL = (1 << 129) - 1
_OTHER = 1 << 128
#: More instructions than this and the automaton is not built.
_PROGRAM_MAX = 20_000
_MOVES_MAX = 50_000


def order(node: Node) -> Node:
    """The same expression with plain alternatives sorted so that a longer one is tried first."""
    match node:
        case Group(index, body):
            return Group(index, order(body))
        case Sequence(parts):
            return Sequence(tuple(order(part) for part in parts))
        case Repeat(body, low, high):
            return Repeat(order(body), low, high)
        case Alternatives(options):
            options = tuple(order(option) for option in options)
            lengths = [fixed_length(option) for option in options]
            if None not in lengths and not any(has_groups(option) for option in options):
                options = tuple(sorted(options, key=lambda option: -(fixed_length(option) or 0)))
            return Alternatives(options)
    return node


def has_groups(node: Node) -> bool:
    match node:
        case Group(index, body):
            return index > 0 or has_groups(body)
        case Sequence(parts) | Alternatives(parts):
            return any(map(has_groups, parts))
        case Repeat(body):
            return has_groups(body)
    return False


def has_backreferences(node: Node) -> bool:
    match node:
        case Backreference():
            return True
        case Group(_, body) | Repeat(body):
            return has_backreferences(body)
        case Sequence(parts) | Alternatives(parts):
            return any(map(has_backreferences, parts))
    return False


def fixed_length(node: Node) -> int | None:
    """The length of every match, or None when matches differ in length."""
    match node:
        case Assertion():
            return 0
        case Group(_, body):
            return fixed_length(body)
        case Sequence(parts):
            total = 0
            for part in parts:
                length = fixed_length(part)
                if length is None:
                    return None
                total += length
            return total
        case Alternatives(options):
            lengths = {fixed_length(option) for option in options}
            return lengths.pop() if len(lengths) == 1 else None
        case Repeat(body, low, high):
            length = fixed_length(body)
            return length * low if length is not None and low == high else None
        case Backreference():
            return None
    return 1


def nullable(node: Node) -> bool:
    """Whether the expression may match nothing at all."""
    match node:
        case Assertion() | Backreference():
            return True
        case Group(_, body):
            return nullable(body)
        case Sequence(parts):
            return all(map(nullable, parts))
        case Alternatives(options):
            return any(map(nullable, options))
        case Repeat(body, low):
            return low == 0 or nullable(body)
    return False


def mask(node: Node, fold: bool) -> int:
    """The characters that any match of the expression may hold."""
    match node:
        case Character(text):
            return _fold(_bit(ord(text)), fold)
        case Bracket(ranges, classes, negated):
            if negated or classes:
                return _bracket_mask(ranges, classes, negated, fold)
            bits = 0
            for low, high in ranges:
                bits |= _range_mask(low, high)
            return _fold(bits, fold)
        case AnyCharacter() | Backreference():
            return ALL
        case Group(_, body) | Repeat(body):
            return mask(body, fold)
        case Sequence(parts) | Alternatives(parts):
            bits = 0
            for part in parts:
                bits |= mask(part, fold)
            return bits
    return 0


def first_mask(node: Node, fold: bool) -> int:
    """The characters that a match that is not empty may begin with."""
    match node:
        case Group(_, body) | Repeat(body):
            return first_mask(body, fold)
        case Alternatives(options):
            bits = 0
            for option in options:
                bits |= first_mask(option, fold)
            return bits
        case Sequence(parts):
            bits = 0
            for part in parts:
                bits |= first_mask(part, fold)
                if not nullable(part):
                    break
            return bits
    return mask(node, fold)


def _bit(code: int) -> int:
    return 1 << code if code < 128 else _OTHER


def _range_mask(low: int, high: int) -> int:
    bits = _OTHER if high >= 128 else 0
    if low < 128:
        bits |= (1 << (min(high, 127) + 1)) - (1 << low)
    return bits


def _fold(bits: int, fold: bool) -> int:
    if not fold:
        return bits
    letters = (1 << 26) - 1
    either = ((bits >> 65) | (bits >> 97)) & letters
    # Letters outside ASCII may fold onto ASCII ones (the Kelvin sign).
    return bits | either << 65 | either << 97 | (_OTHER if either else 0)


def _bracket_mask(
    ranges: tuple[tuple[int, int], ...], classes: tuple[str, ...], negated: bool, fold: bool
) -> int:
    bits = 0
    for low, high in ranges:
        bits |= _range_mask(low, high)
    for code in range(128):
        if any(ascii_class(name, code) for name in classes):
            bits |= 1 << code
    bits = _fold(bits, fold)
    return (ALL & ~(bits & ~_OTHER)) if negated else bits | _OTHER


def ascii_class(name: str, code: int) -> bool:
    """Whether an ASCII code point belongs to a named class."""
    char = chr(code)
    match name:
        case "alpha":
            return char.isalpha()
        case "digit":
            return char.isdigit()
        case "alnum":
            return char.isalnum()
        case "upper":
            return char.isupper()
        case "lower":
            return char.islower()
        case "space":
            return char in " \t\n\v\f\r"
        case "blank":
            return char in " \t"
        case "punct":
            return 32 < code < 127 and not char.isalnum()
        case "print":
            return 32 <= code < 127
        case "graph":
            return 32 < code < 127
        case "cntrl":
            return code < 32 or code == 127
        case "xdigit":
            return char in "0123456789abcdefABCDEF"
    return char.isalnum() or char == "_"


def first_is_longest(node: Node, fold: bool, one_end: bool) -> bool:
    """Whether backtracking provably finds the longest match first.

    `one_end`: whatever ends with `$` or `.*` can end at one place only (no match crosses a line).
    """
    if isinstance(node, Sequence) and one_end:
        last = node.parts[-1] if node.parts else node
        if last in (Assertion("line_end"), Repeat(AnyCharacter(), 0, None)):
            return True
    return _decreasing(node, fold)


def _decreasing(node: Node, fold: bool) -> bool:
    """Whether a backtracking engine enumerates the matches from long to short."""
    match node:
        case Group(_, body):
            return _decreasing(body, fold)
        case Sequence(parts):
            return all(_decreasing(part, fold) for part in parts) and all(
                _follows(parts[index], Sequence(parts[index + 1 :]), fold) for index in range(len(parts) - 1)
            )
        case Alternatives(options):
            lengths = [fixed_length(option) for option in options]
            known = [length for length in lengths if length is not None]
            if len(known) == len(lengths):
                return known == sorted(known, reverse=True)
            seen = 0
            for option in options:
                first = first_mask(option, fold)
                if seen & first or (nullable(option) and option is not options[-1]):
                    return False
                if not _decreasing(option, fold):
                    return False
                seen |= first
            return True
        case Repeat(body, _, high):
            if fixed_length(body) is not None or high == 1:
                return _decreasing(body, fold)
            return not nullable(body) and _decreasing(body, fold) and _unambiguous(body, fold)
    return True


def _unambiguous(body: Node, fold: bool) -> bool:
    """Whether a string can be divided into repetitions of a body in one way only."""
    if not nullable(body) and not mask(body, fold) & first_mask(body, fold):
        return True
    while isinstance(body, Group):
        body = body.body
    if not isinstance(body, Sequence) or len(body.parts) < 2:
        return False
    # A character at one end that stands nowhere else separates them.
    for mark, others in ((body.parts[0], body.parts[1:]), (body.parts[-1], body.parts[:-1])):
        if fixed_length(mark) == 1 and not mask(mark, fold) & mask(Sequence(others), fold):
            return True
    return False


def may_explode(node: Node, fold: bool) -> bool:
    """Whether backtracking might take time that grows exponentially with the text."""
    match node:
        case Group(_, body):
            return may_explode(body, fold)
        case Sequence(parts) | Alternatives(parts):
            return any(may_explode(part, fold) for part in parts)
        case Repeat(body, _, high):
            many = high is None or high > 8
            return (many and fixed_length(body) is None and not _unambiguous(body, fold)) or may_explode(
                body, fold
            )
    return False


def _follows(left: Node, right: Node, fold: bool) -> bool:
    """Whether `left` followed by `right` still goes from long to short."""
    if fixed_length(left) is not None or fixed_length(right) is not None:
        return True
    # Where a shorter match of `left` ends, a character of `left` follows: `right` cannot begin there.
    return not mask(left, fold) & first_mask(right, fold)


@dataclass(slots=True)
class _State:
    """Instructions that wait for the next character, and what kind of character came before."""

    kernel: tuple[int, ...]
    before: str
    moves: dict[str, tuple[_State | None, bool]] = field(default_factory=dict)


class Automaton:
    """All paths of an expression without back-references at once.

    `single` compiles one character node to a predicate on one character; `multiline` says whether
    line anchors also match at newlines.
    """

    def __init__(self, node: Node, single: Callable[[Node], re.Pattern[str]], multiline: bool) -> None:
        self._single = single
        self._multiline = multiline
        #: ("char", predicate, next), ("split", [nexts]), ("assert", kind, next), ("match",)
        self._program: list[tuple[object, ...]] = []
        self._states: dict[tuple[tuple[int, ...], str], _State] = {}
        self._count = 0
        self._predicates: dict[Node, Callable[[str], object]] = {}
        accept = self._emit(("match",))
        self._start = self._compile(node, accept)

    def _emit(self, instruction: tuple[object, ...]) -> int:
        if len(self._program) >= _PROGRAM_MAX:
            raise OverflowError
        self._program.append(instruction)
        return len(self._program) - 1

    def _compile(self, node: Node, following: int) -> int:
        match node:
            case Group(_, body):
                return self._compile(body, following)
            case Sequence(parts):
                for part in reversed(parts):
                    following = self._compile(part, following)
                return following
            case Alternatives(options):
                return self._emit(("split", [self._compile(option, following) for option in options]))
            case Repeat(body, low, high):
                if high is None:
                    targets = [following]
                    loop = self._emit(("split", targets))
                    targets.append(self._compile(body, loop))
                    following = loop
                else:
                    for _ in range(high - low):
                        following = self._emit(("split", [self._compile(body, following), following]))
                for _ in range(low):
                    following = self._compile(body, following)
                return following
            case Assertion(kind):
                return self._emit(("assert", kind, following))
        predicate = self._predicates.get(node)
        if predicate is None:
            predicate = self._predicates[node] = self._single(node).match
        return self._emit(("char", predicate, following))

    def longest(self, text: str, start: int) -> int | None:
        """Where the longest match that begins at `start` ends; None without a match."""
        state: _State | None = self._state((self._start,), _kind(text[start - 1]) if start else "")
        best = None
        at, size = start, len(text)
        while state is not None:
            char = text[at] if at < size else ""
            move = state.moves.get(char)
            if move is None:
                move = self._move(state, char)
            if move[1]:
                best = at
            state = move[0]
            at += 1
        return best

    def _state(self, kernel: tuple[int, ...], before: str) -> _State:
        state = self._states.get((kernel, before))
        if state is None:
            state = self._states[kernel, before] = _State(kernel, before)
        return state

    def _move(self, state: _State, char: str) -> tuple[_State | None, bool]:
        after = _kind(char)
        accepted = False
        targets: set[int] = set()
        seen: set[int] = set()
        waiting = list(state.kernel)
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            match self._program[at]:
                case ("char", predicate, following):
                    if char and predicate(char):  # type: ignore[operator]
                        targets.add(following)  # type: ignore[arg-type]
                case ("split", following):
                    waiting.extend(following)  # type: ignore[arg-type]
                case ("assert", kind, following):
                    if self._holds(kind, state.before, after):  # type: ignore[arg-type]
                        waiting.append(following)  # type: ignore[arg-type]
                case _:
                    accepted = True
        self._count += 1
        if self._count > _MOVES_MAX:
            self._states.clear()
            self._count = 0
        following_state = self._state(tuple(sorted(targets)), after) if targets else None
        state.moves[char] = (following_state, accepted)
        return following_state, accepted

    def _holds(self, kind: str, before: str, after: str) -> bool:
        match kind:
            case "line_start":
                return not before or (self._multiline and before == "newline")
            case "line_end":
                return not after or (self._multiline and after == "newline")
            case "text_start":
                return not before
            case "text_end":
                return not after
            case "word_start":
                return before != "word" and after == "word"
            case "word_end":
                return before == "word" and after != "word"
            case "edge":
                return (before == "word") != (after == "word")
            case "no_word_before":
                return before != "word"
            case "no_word_after":
                return after != "word"
        return (before == "word") == (after == "word")


def _kind(char: str) -> str:
    if not char:
        return ""
    if char == "\n":
        return "newline"
    return "word" if char.isalnum() or char == "_" else "other"
