"""zstd, unzstd, zstdcat: files in the zstd format."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Generator, Iterator

from planaria_shell.commands.archives.compression_formats import FORMATS, CorruptDataError, decompressed
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.sizes import human_size
from planaria_shell.toolkit.streams import FileInput, Source, reason

__all__: list[str] = []

_FORMAT = FORMATS["zstd"]
_EXPECTED = (
    "unknown suffix (.zst/.tzst expected). Can't derive the output file name. Specify it with -o dstFileName."
)


def _plain_levels(words: list[str]) -> list[str]:
    """`-19` and `--fast=5` choose a level, of which there is one here."""
    out: list[str] = []
    for index, word in enumerate(words):
        if word == "--":
            return out + words[index:]
        if re.fullmatch(r"-\d+", word) or re.fullmatch(r"--(fast|long|adapt|patch-from)(=.*)?", word):
            continue
        out.append(re.sub(r"^(-[a-zA-CE-LN-SU-Z]*)\d+", r"\1", word) if word[:2] != "--" else word)
    return [word for word in out if word != "-"] + ["-"] * words.count("-")


@command(
    "zstd",
    "unzstd",
    "zstdcat",
    "zstdmt",
    short="dzckfo:tlqvrT:M:D:hHV",
    long="decompress=d uncompress=d compress=z stdout=c keep=k force=f test=t list=l quiet=q verbose=v "
    "rm ultra no-check check threads=T: memory=M: no-progress progress rsyncable no-dictID sparse no-sparse "
    "single-thread exclude-compressed content-size no-content-size format: stream-size: size-hint: "
    "output-dir-flat: pass-through",
    usage="[OPTION]... [FILE]... [-o FILE]",
    rewrite=_plain_levels,
)
def zstd(call: Invocation) -> Generator[None, None, Status]:
    """Compress FILEs (not by much), or restore them: each beside the original, which stays."""
    return (yield from _Work(call).run())


class _Work:
    def __init__(self, call: Invocation) -> None:
        arguments = call.arguments
        self.call = call
        call.label = "zstd"
        name = call.name
        self.decompress = arguments.last(("d", "z")) == "d" or (
            name in ("unzstd", "zstdcat") and not arguments.has("z")
        )
        self.test = arguments.has("t")
        self.to_stdout = arguments.has("c") or name == "zstdcat"
        self.force = arguments.has("f")
        self.quiet = arguments.has("q") or self.to_stdout
        self.output = arguments.value("o")
        self.remove = arguments.has("rm")

    def run(self) -> Generator[None, None, Status]:
        call = self.call
        if call.arguments.value("D") is not None:
            raise CommandError("dictionaries are not supported")
        names = call.operands or ["-"]
        if call.arguments.has("r"):
            names = [found for name in names for found in self._below(name)]
        if call.arguments.has("l"):
            return self._list(names)
        if len(names) > 1 and self.output is not None:
            raise CommandError("one output for several inputs: use cat first, or leave -o out")
        for name in names:
            yield from self._one(name)
        return call.status

    def _below(self, name: str) -> list[str]:
        path = self.call.path(name)
        if name == "-" or not os.path.isdir(path):
            return [name]
        return [
            os.path.join(name, os.path.relpath(os.path.join(directory, file), path))
            for directory, _, files in os.walk(path)
            for file in sorted(files)
        ]

    def _one(self, name: str) -> Generator[None, None, None]:
        call = self.call
        source = self._open(name)
        if source is None:
            return
        with source:
            pieces = self._pieces(source)
            if self.test:
                size = self._checked(name, (len(piece) for piece in pieces))
                if size is not None and not self.quiet:
                    call.warn(f"{name:<20}: {size} bytes ")
                return
            target = self._target(name)
            if target is None:
                return
            if target == "-":
                try:
                    for piece in pieces:
                        call.stdout.write(piece)
                        if call.stdout.full:
                            yield
                except CorruptDataError as problem:
                    self._corrupt(name, problem)
                return
            goal = call.path(target)
            if os.path.lexists(goal) and os.path.realpath(goal) != os.devnull:
                if not self.force:
                    call.error(f"{target} already exists; use -f to overwrite it")
                    call.status = 1
                    return
                os.unlink(goal)
            with open(goal, "wb") as file:
                written = self._checked(name, (file.write(piece) for piece in pieces))
        if written is None:
            os.unlink(goal)
            return
        self._finish(name, goal, target, written)

    def _finish(self, name: str, goal: str, target: str, written: int) -> None:
        """Keep the mode and the times, and tell what was done."""
        call = self.call
        read = 0
        if name != "-":
            status = os.stat(call.path(name))
            read = status.st_size
            os.chmod(goal, stat.S_IMODE(status.st_mode))
            os.utime(goal, ns=(status.st_atime_ns, status.st_mtime_ns))
            if self.remove:
                os.unlink(call.path(name))
        if self.quiet:
            return
        shown = "/*stdin*\\" if name == "-" else name
        if self.decompress:
            call.warn(f"{shown:<20}: {written} bytes ")
        else:
            share = written / read * 100 if read else 0.0
            sizes = " => ".join(f"{_size(size):>6} B" for size in (read, written))
            call.warn(f"{shown:<20}:{share:6.2f}%   ({sizes}, {target}) ")

    def _open(self, name: str) -> Source | None:
        call = self.call
        if name == "-":
            return call.open("-")
        try:
            status = os.stat(call.path(name))
            if stat.S_ISDIR(status.st_mode):
                call.complain(f"{name} is a directory -- ignored ")
                return None
            return call.open(name)
        except OSError as error:
            call.complain(f"can't stat {name} : {reason(error)} -- ignored ")
            return None

    def _pieces(self, source: Source) -> Iterator[bytes]:
        if not (self.decompress or self.test):
            compressor = _FORMAT.compressor(3, "", 0)
            for chunk in source.chunks():
                yield compressor.compress(chunk)
            yield compressor.flush()
            return
        chunks = source.chunks()
        first = b""
        for chunk in chunks:
            first += chunk
            if len(first) >= 4:
                break
        kind = next((one for one in FORMATS.values() if first.startswith(one.magic)), _FORMAT)
        if self.force and self.to_stdout and not first.startswith(kind.magic):
            yield first
            yield from chunks
            return

        def together() -> Iterator[bytes]:
            yield first
            yield from chunks

        if not first and not isinstance(source, FileInput):
            raise CorruptDataError("unexpected end")
        yield from decompressed(together(), kind)

    def _checked(self, name: str, sizes: Iterator[int]) -> int | None:
        """The sum of the sizes; None when the data is damaged (reported)."""
        try:
            return sum(sizes)
        except CorruptDataError as problem:
            self._corrupt(name, problem)
            return None

    def _corrupt(self, name: str, problem: CorruptDataError) -> None:
        shown = "/*stdin*\\" if name == "-" else name
        messages = {
            "unexpected end": f"{shown} : Read error (39) : premature end ",
            "damaged": f"{shown} : Decoding error (36) : Corrupted block detected ",
        }
        self.call.complain(messages.get(str(problem), f"{shown}: unsupported format "))

    def _target(self, name: str) -> str | None:
        """The name of the result, "-" for standard output; None when there is none (reported)."""
        if self.output is not None:
            return self.output
        if self.to_stdout or name == "-":
            return "-"
        if not self.decompress:
            return name + _FORMAT.suffix
        for suffix, replacement in {**_FORMAT.suffixes, ".gz": "", ".xz": ""}.items():
            if name.endswith(suffix) and len(os.path.basename(name)) > len(suffix):
                return name.removesuffix(suffix) + replacement
        self.call.complain(f"{name}: {_EXPECTED} Ignoring.")
        return None

    def _list(self, names: list[str]) -> Status:
        call = self.call
        call.print("Frames  Skips  Compressed  Uncompressed  Ratio  Check  Filename")
        for name in names:
            source = self._open(name)
            if source is None:
                continue
            with source:
                data = source.read()
            plain = self._checked(name, map(len, decompressed(iter([data]), _FORMAT)))
            if plain is None:
                continue
            check = "XXH64" if len(data) > 4 and data[4] & 4 else "None"
            ratio = f"{plain / len(data):.3f}" if data else "0"
            packed, unpacked = _size(len(data)), _size(plain)
            call.print(f"     1      0  {packed:>6}   B    {unpacked:>6}   B  {ratio:>5}  {check:>5}  {name}")
        return call.status


def _size(size: int) -> str:
    return human_size(size) if size >= 1024 else str(size)
