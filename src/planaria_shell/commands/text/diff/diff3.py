"""diff3: what two files made of a third, shown, as a script for ed, or merged."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

from planaria_shell.commands.text.diff.hunks import Change, Comparison, compare, split_lines
from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, utility
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import shell_quote, shell_quote_always
from planaria_shell.toolkit.streams import reason

__all__: list[str] = []

_HINT = "{0}: Try '{0} --help' for more information."
#: Which of the three files stands alone: mine, the old one, yours; none when all differ.
_MINE, _OLD, _YOURS, _ALL = 1, 2, 3, 0


@dataclass(slots=True)
class _Block:
    """The lines that correspond to each other, as a start and an end for mine, old, yours."""

    spans: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]
    alone: int


@utility(
    "diff3",
    short="aeAExX3imTL:",
    long="text=a ed=e show-all=A show-overlap=E overlap-only=x easy-only=3 merge=m initial-tab=T label=L: "
    "strip-trailing-cr diff-program:",
    usage="[OPTION]... MYFILE OLDFILE YOURFILE",
    failure=2,
    hint=_HINT,
)
def diff3(call: Invocation) -> Generator[None, None, Status]:
    """Compare three files line by line."""
    return (yield from _Comparison3(call).run())


class _Comparison3:
    def __init__(self, call: Invocation) -> None:
        arguments = call.arguments
        self.call = call
        names = call.operands
        if len(names) < 3:
            raise UsageError(f"missing operand after {shell_quote_always([call.argv[0], *names][-1])}")
        if len(names) > 3:
            raise UsageError(f"extra operand {shell_quote_always(names[3])}")
        modes = {key for key, _ in arguments if key in tuple("eAExX3")}
        if len(modes) > 1:
            raise UsageError("incompatible options")
        self.merge = arguments.has("m")
        self.mode = modes.pop() if modes else "A" if self.merge else ""
        labels = arguments.values("L")
        if len(labels) > 3:
            raise UsageError("too many file label options")
        self.labels = [label.encode("utf-8", "surrogateescape") for label in (labels + names[len(labels) :])]
        self.indent = b"\t" if arguments.has("T") else b"  "
        if names.count("-") > 1:
            raise UsageError("'-' specified for more than one input file")
        self.files = [split_lines(self._read(name)) for name in names]
        how = Comparison(strip_trailing_cr=arguments.has("strip-trailing-cr"))
        mine, old, yours = self.files
        self.blocks = list(_blocks(compare(old, mine, how), compare(old, yours, how), self.files))

    def _read(self, name: str) -> bytes:
        try:
            with self.call.open(name) as source:
                return source.read()
        except OSError as error:
            raise CommandError(f"{shell_quote(name)}: {reason(error)}", 2) from None

    def run(self) -> Generator[None, None, Status]:
        conflict = False
        if self.merge:
            pieces = self._merged()
        elif self.mode:
            pieces = self._script()
        else:
            pieces = self._shown()
        for piece in pieces:
            self.call.stdout.write(piece)
            if self.call.stdout.full:
                yield
        if self.mode in ("A", "E"):
            conflict = any(self._bracketed(block) for block in self.blocks)
        return int(conflict)

    def _lines(self, block: _Block, which: int) -> list[bytes]:
        start, stop = block.spans[which - 1]
        return self.files[which - 1][start:stop]

    def _shown(self) -> Iterator[bytes]:
        """Each block with the lines of all three, those that are alike once."""
        for block in self.blocks:
            yield b"====" + (b"%d" % block.alone if block.alone else b"") + b"\n"
            order = (_MINE, _YOURS, _OLD) if block.alone == _OLD else (_MINE, _OLD, _YOURS)
            silent = {_MINE: _OLD, _OLD: _MINE, _YOURS: _MINE}.get(block.alone)
            for which in order:
                start, stop = block.spans[which - 1]
                yield b"%d:" % which + _range(start, stop) + (b"c\n" if stop > start else b"a\n")
                if which == silent:
                    continue
                for line in self._lines(block, which):
                    ended = line.endswith(b"\n")
                    yield self.indent + line + (b"" if ended else b"\n\\ No newline at end of file\n")

    def _takes(self, block: _Block) -> bool:
        """Whether the mode asks for what the block changes in my file."""
        if block.alone == _MINE:
            return False
        if block.alone == _OLD:
            return self.mode == "A"
        if block.alone == _YOURS:
            return self.mode not in ("x", "X")
        return self.mode != "3"

    def _bracketed(self, block: _Block) -> bool:
        return (block.alone == _ALL and self.mode in ("A", "E")) or (block.alone == _OLD and self.mode == "A")

    def _merged(self) -> Iterator[bytes]:
        """My file with the changes made, and where both changed it, all of them between marks."""
        mine = self.files[0]
        at = 0
        for block in self.blocks:
            start, stop = block.spans[0]
            yield b"".join(mine[at:start])
            at = stop
            if not self._takes(block):
                yield b"".join(mine[start:stop])
            elif not self._bracketed(block):
                yield b"".join(self._lines(block, _YOURS))
            else:
                yield b"".join(self._before(block))
                yield b"".join(self._after(block))
        yield b"".join(mine[at:])

    def _before(self, block: _Block) -> Iterator[bytes]:
        """The first half between marks, with my lines where they count."""
        if block.alone == _OLD:
            yield b"<<<<<<< " + self.labels[1] + b"\n"
            yield from self._lines(block, _OLD)
            return
        yield b"<<<<<<< " + self.labels[0] + b"\n"
        yield from self._lines(block, _MINE)
        if self.mode == "A":
            yield b"||||||| " + self.labels[1] + b"\n"
            yield from self._lines(block, _OLD)

    def _after(self, block: _Block) -> Iterator[bytes]:
        yield b"=======\n"
        yield from self._lines(block, _YOURS)
        yield b">>>>>>> " + self.labels[2] + b"\n"

    def _script(self) -> Iterator[bytes]:
        """Commands for ed that change my file, the last place first."""
        for block in reversed(self.blocks):
            if not self._takes(block):
                continue
            start, stop = block.spans[0]
            if not self._bracketed(block):
                lines = self._lines(block, _YOURS)
                if not lines:
                    yield _range(start, stop) + b"d\n"
                elif stop > start:
                    yield _range(start, stop) + b"c\n" + _text(lines, start)
                else:
                    yield b"%da\n" % start + _text(lines, start)
                continue
            mark = b"<<<<<<< " + self.labels[1 if block.alone == _OLD else 0] + b"\n"
            after = list(self._after(block))
            if block.alone == _OLD:
                yield b"%da\n" % stop + _text([after[-1]], stop)
                before = list(self._before(block))[1:]
                yield b"%da\n" % start + _text([mark, *before, b"=======\n"], start)
                continue
            old = list(self._before(block))[1 + stop - start :]
            body = [*old, *after]
            # As GNU's, the range counts the old lines whether they are shown or not.
            hidden = 0 if self.mode == "A" else 1 + len(self._lines(block, _OLD))
            yield b"%da\n" % stop + _text(body, stop, (stop + 1, stop + len(body) - 1 + hidden))
            yield b"%da\n" % start + _text([mark], start)
        if self.call.arguments.has("i"):
            yield b"w\nq\n"


def _ended(lines: list[bytes]) -> Iterator[bytes]:
    """Lines with a newline after each, as a mark follows."""
    for line in lines:
        yield line if line.endswith(b"\n") else line + b"\n"


def _text(lines: list[bytes], before: int, dotted: tuple[int, int] | None = None) -> bytes:
    """What ed is to insert: a line of a single dot would end it, so each dot in front is doubled first.

    `dotted` is the range of lines where that is undone, all of them when None.
    """
    body = b"".join(b"." + line if line.startswith(b".") else line for line in _ended(lines)) + b".\n"
    if not any(line.startswith(b".") for line in lines):
        return body
    return body + _range(*(dotted or (before, before + len(lines)))) + b"s/^\\.//\n"


def _range(start: int, stop: int) -> bytes:
    if stop > start:
        return b"%d" % stop if stop == start + 1 else b"%d,%d" % (start + 1, stop)
    return b"%d" % start


def _blocks(mine: list[Change], yours: list[Change], files: list[list[bytes]]) -> Iterator[_Block]:
    """Changes of the old file that touch each other, together."""
    sides = [mine, yours]
    places = [0, 0]
    shifts = [0, 0]  # how far the lines after the last change are from those of the old file
    while any(place < len(side) for place, side in zip(places, sides, strict=True)):
        waiting = [index for index in (0, 1) if places[index] < len(sides[index])]
        first = min(waiting, key=lambda index: sides[index][places[index]].old_start)
        low = high = sides[first][places[first]].old_start
        taken: list[list[Change]] = [[], []]
        grown = True
        while grown:
            grown = False
            for index in (0, 1):
                while places[index] < len(sides[index]) and sides[index][places[index]].old_start <= high:
                    change = sides[index][places[index]]
                    places[index] += 1
                    taken[index].append(change)
                    high = max(high, change.old_stop)
                    grown = True
        spans: list[tuple[int, int]] = []
        for index in (0, 1):
            start = low + shifts[index]
            if taken[index]:
                last = taken[index][-1]
                shifts[index] = last.new_stop - last.old_stop
            spans.append((start, high + shifts[index]))
        one = files[0][slice(*spans[0])]
        two = files[2][slice(*spans[1])]
        alone = _ALL
        if not taken[1]:
            alone = _MINE
        elif not taken[0]:
            alone = _YOURS
        elif one == two:
            alone = _OLD
        yield _Block((spans[0], (low, high), spans[1]), alone)
