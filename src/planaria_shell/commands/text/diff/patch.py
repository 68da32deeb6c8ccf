"""The `patch` command (GNU patch 2.7): unified, context and normal diffs."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator

from planaria_shell.commands.text.diff.hunks import Comparison, split_lines
from planaria_shell.commands.text.diff.patch_reading import FilePatch, Hunk, PatchError, read_patch
from planaria_shell.state.command import Process
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import Arguments
from planaria_shell.toolkit.streams import read_input, reason


@command(
    "patch",
    short="bcd:EF:fg:i:lnNo:p:r:RstuvVz:",
    long="strip=p: reverse=R input=i: dry-run output=o: fuzz=F: forward=N backup=b suffix=z: silent=s "
    "quiet=s directory=d: force=f batch=t reject-file=r: ignore-whitespace=l unified=u context=c "
    "normal=n remove-empty-files=E posix verbose no-backup-if-mismatch binary merge:: read-only: "
    "help version=v",
    help="Usage: patch [OPTION]... [ORIGFILE [PATCHFILE]]\n",
    version="GNU patch 2.7.6\n",
    failure=2,
    hint="{name}: Try '{name} --help' for more information.",
)
def patch(call: Invocation) -> int:
    """Apply the differences that diff wrote: https://www.gnu.org/software/diffutils/manual/

    Status 0 when all hunks were applied, 1 when some were not, 2 for trouble.
    """
    process, arguments = call.process, call.arguments
    for name in ("p", "F"):
        value = arguments.value(name)
        if value is not None and not value.isdigit():
            process.error(f"**** {'strip count' if name == 'p' else 'fuzz factor'} {value} is not a number")
            return 2
    application = _Application(process, arguments)
    try:
        return application.run()
    except PatchError as error:
        process.error(f"**** {error}")
        return 2
    except OSError as error:
        process.error(f"**** Can't open file {error.filename} : {reason(error)}")
        return 2


class _Application:
    """One run of patch."""

    def __init__(self, process: Process, arguments: Arguments) -> None:
        self.process = process
        self.arguments = arguments
        self.reverse = arguments.has("R")
        self.dry = arguments.has("dry-run")
        self.silent = arguments.has("s")
        self.forward = arguments.has("N")
        strip = arguments.value("p")
        self.strip = None if strip is None else int(strip)
        self.fuzz = int(arguments.value("F") or 2)
        self.output = arguments.value("o")
        self.loose = Comparison(ignore_space_change=True) if arguments.has("l") else None
        self.directory = arguments.value("d")
        self.written: list[bytes] = []
        #: What `--dry-run` would have made of files, for later patches of the same file.
        self.imagined: dict[str, bytes] = {}

    def path(self, name: str) -> str:
        base = self.process.path(self.directory) if self.directory else self.process.path(".")
        return os.path.join(base, name)

    def say(self, text: str) -> None:
        if not self.silent:
            to = self.process.stderr if self.output == "-" else self.process.stdout
            to.write(f"{text}\n".encode("utf-8", "surrogateescape"))

    def run(self) -> int:
        operands = self.arguments.operands
        name = self.arguments.value("i") or (operands[1] if len(operands) > 1 else "-")
        data = read_input(self.process, name)
        patches = read_patch(data)
        if not patches:
            if data.strip():
                self.process.error("**** Only garbage was found in the patch input.")
                return 2
            return 0
        status = 0
        for some in patches:
            status = max(status, self.apply(some, operands[0] if operands else None))
        if self.output is not None and not self.dry:
            data = b"".join(self.written)
            if self.output == "-":
                self.process.stdout.write(data)
            else:
                with open(self.path(self.output), "wb") as file:
                    file.write(data)
        return status

    def target(self, some: FilePatch) -> str | None:
        """The file to patch: of the names in the header, the best that is there (POSIX rules of patch)."""
        names = []
        for name in (some.old_name, some.new_name, some.index_name):
            if name and name != "/dev/null":
                stripped = self._stripped(name)
                if stripped:
                    names.append(stripped)
        if not names:
            return None
        there = [
            name for name in names if os.path.exists(self.path(name)) or self.path(name) in self.imagined
        ]
        if there:
            return min(there, key=lambda name: (name.count("/"), len(os.path.basename(name)), len(name)))
        absent = some.new_absent if self.reverse else some.old_absent
        if absent:
            return self._stripped((some.old_name if self.reverse else some.new_name) or "") or names[-1]
        return None

    def _stripped(self, name: str) -> str:
        if self.strip is None:
            # Without -p, the whole name when its directory is there, else the last part.
            parent = os.path.dirname(name)
            if parent and not name.startswith("/") and os.path.isdir(self.path(parent)):
                return name
            return os.path.basename(name)
        parts = re.split(r"/+", name)
        return "/".join(parts[self.strip :]) if len(parts) > self.strip else ""

    def apply(self, some: FilePatch, given: str | None) -> int:
        name = given or self.target(some)
        if name is None:
            self.say("can't find file to patch at input line 1")
            self.say(
                "No file to patch.  Skipping patch.\n"
                f"{len(some.hunks)} out of {len(some.hunks)} hunks ignored"
            )
            return 1
        if given is None and (name.startswith("/") or ".." in name.split("/")):
            self.say(f"Ignoring potentially dangerous file name {name}")
            return 1
        path = self.path(name)
        lines = self._read(path)
        some_hunks = [hunk.reversed() for hunk in some.hunks] if self.reverse else some.hunks
        self.say(f"{'checking' if self.dry else 'patching'} file {_shown(self.output or name)}"
                 + (f" (read from {_shown(name)})" if self.output else ""))  # fmt: skip
        if some_hunks and self._already_applied(lines, some_hunks):
            detected = (
                f"{'Unreversed' if self.reverse else 'Reversed (or previously applied)'} patch detected!"
            )
            if self.forward:
                self.say(f"{detected}  Skipping patch.")
                ignored = f"{len(some_hunks)} out of {len(some_hunks)} hunk{_s(some_hunks)} ignored"
                self._reject(name, some, some_hunks, ignored)
                return 1
            if self.arguments.has("t"):
                self.say(f"{detected}  {'Ignoring' if self.reverse else 'Assuming'} -R.")
                some_hunks = [hunk.reversed() for hunk in some_hunks]
            elif not self.arguments.has("f"):
                # There is no one to ask: the answer is no.
                self.say(f"{detected}  {'Ignore' if self.reverse else 'Assume'} -R? [n] ")
                self.say("Apply anyway? [n] ")
                self.say("Skipping patch.")
                ignored = f"{len(some_hunks)} out of {len(some_hunks)} hunk{_s(some_hunks)} ignored"
                self._reject(name, some, some_hunks, ignored)
                return 1
        result, failed, fuzzy = self._hunks(lines, some_hunks)
        data = b"".join(result)
        self._store(name, path, some, data, lines, fuzzy or bool(failed))
        if failed:
            self._reject(
                name, some, failed, f"{len(failed)} out of {len(some_hunks)} hunk{_s(some_hunks)} FAILED"
            )
            return 1
        return 0

    def _read(self, path: str) -> list[bytes]:
        if path in self.imagined:
            return split_lines(self.imagined[path])
        try:
            with open(path, "rb") as file:
                return split_lines(file.read())
        except FileNotFoundError:
            return []

    def _already_applied(self, lines: list[bytes], hunks: list[Hunk]) -> bool:
        first = hunks[0]
        if _locate(lines, first, 0, 0, 0, self.loose) is not None:
            return False
        return _locate(lines, first.reversed(), 0, 0, 0, self.loose) is not None and first.old != first.new

    def _hunks(self, lines: list[bytes], hunks: list[Hunk]) -> tuple[list[bytes], list[Hunk], bool]:
        result: list[bytes] = []
        failed: list[Hunk] = []
        done = offset = grown = 0
        inexact = False
        for number, hunk in enumerate(hunks, 1):
            found = None
            fuzz = 0
            most = max(hunk.prefix, hunk.suffix)
            for fuzz in range(min(self.fuzz, most) + 1):
                found = _locate(lines, hunk, offset, done, fuzz, self.loose)
                if found is not None:
                    break
            if found is None:
                failed.append(hunk)
                self.say(f"Hunk #{number} FAILED at {hunk.start + 1 + grown}.")
                continue
            prefix, suffix = (max(cut, 0) for cut in _cuts(hunk, fuzz))
            old = hunk.old[prefix : len(hunk.old) - suffix]
            new = hunk.new[prefix : len(hunk.new) - suffix]
            offset = found - prefix - hunk.start
            if fuzz or offset:
                inexact = True
                where = found - prefix + 1 + grown
                detail = f" with fuzz {fuzz}" if fuzz else ""
                if offset:
                    detail += f" (offset {offset} line{'' if abs(offset) == 1 else 's'})"
                self.say(f"Hunk #{number} succeeded at {where}{detail}.")
            result.extend(lines[done:found])
            placed = list(_with_context(lines, found, old, new, hunk, prefix, suffix))
            # Context at the end is left for the next hunk, which may overlap it.
            trailing = min(hunk.suffix - suffix, len(old), len(new))
            result.extend(placed[: len(placed) - trailing])
            done = found + len(old) - trailing
            grown += len(new) - len(old)
        result.extend(lines[done:])
        for place in range(len(result) - 1):
            if not result[place].endswith(b"\n"):  # was the end of the file, and is not any more
                result[place] += b"\n"
        return result, failed, inexact

    def _store(
        self, name: str, path: str, some: FilePatch, data: bytes, before: list[bytes], inexact: bool
    ) -> None:
        if self.output is not None:
            self.written.append(data)
            return
        if self.dry:
            self.imagined[path] = data
            return
        backup = self.arguments.has("b") or (inexact and not self.arguments.has("no-backup-if-mismatch"))
        if backup:
            with open(path + (self.arguments.value("z") or ".orig"), "wb") as file:
                file.write(b"".join(before))
        target = path
        if some.rename is not None:
            target = self.path(self._stripped(some.rename[0 if self.reverse else 1]))
        gone = some.old_absent if self.reverse else some.new_absent
        if not data and (gone or self.arguments.has("E")):
            if os.path.exists(path):
                os.unlink(path)
                parent = os.path.dirname(name)
                while parent:
                    try:
                        os.rmdir(self.path(parent))
                    except OSError:
                        break
                    parent = os.path.dirname(parent)
            return
        if os.path.dirname(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(data)
        if some.mode is not None and not self.reverse:
            os.chmod(target, stat.S_IMODE(some.mode))
        if target != path and os.path.exists(path):
            os.unlink(path)

    def _reject(self, name: str, some: FilePatch, failed: list[Hunk], summary: str) -> None:
        reject = self.arguments.value("r") or f"{self.output or name}.rej"
        if reject == "-" or self.dry:
            self.say(summary)
            return
        self.say(f"{summary} -- saving rejects to file {_shown(reject)}")
        default = name.encode("utf-8", "surrogateescape")
        old, new = some.header or (default, default)
        if self.reverse:
            old, new = new, old
        write = _reject_unified if some.kind == "unified" else _reject_context
        with open(self.path(reject), "wb") as file:
            file.write(b"".join(write(old, new, failed)))


def _reject_unified(old: bytes, new: bytes, failed: list[Hunk]) -> Iterator[bytes]:
    yield b"--- " + old + b"\n+++ " + new + b"\n"
    for hunk in failed:
        yield f"@@ -{_span(hunk.start, len(hunk.old))} +{_span(hunk.new_start, len(hunk.new))} @@\n".encode()
        yield from (mark + line for mark, line in hunk.lines)


def _reject_context(old: bytes, new: bytes, failed: list[Hunk]) -> Iterator[bytes]:
    yield b"*** " + old + b"\n--- " + new + b"\n"
    for hunk in failed:
        yield b"***************\n"
        for mark, stars, start, size in (
            (b"-", "***", hunk.start, len(hunk.old)),
            (b"+", "---", hunk.new_start, len(hunk.new)),
        ):
            first = start + 1 if size else start
            span = f"{first},{first + size - 1}" if size > 1 else str(first)
            yield f"{stars} {span} {stars + stars[0]}\n".encode()
            if any(other == mark for other, _ in hunk.lines):
                yield from _marked(hunk.lines, mark)


def _marked(lines: list[tuple[bytes, bytes]], wanted: bytes) -> Iterator[bytes]:
    """One half of a context hunk: changes that have a counterpart are marked with `!`."""
    place = 0
    while place < len(lines):
        stop = place
        while stop < len(lines) and (lines[stop][0] == b" ") == (lines[place][0] == b" "):
            stop += 1
        run = lines[place:stop]
        both = len({mark for mark, _ in run}) > 1
        for mark, line in run:
            if mark in (b" ", wanted):
                yield (b" " if mark == b" " else b"!" if both else wanted) + b" " + line
        place = stop


def _span(start: int, size: int) -> str:
    if size == 1:
        return str(start + 1)
    return f"{start + 1 if size else start},{size}"


def _s(hunks: list[Hunk]) -> str:
    return "" if len(hunks) == 1 else "s"


def _shown(name: str) -> str:
    return f"'{name}'" if re.search(r"[^\w./+,:@%=^-]", name) else name


def _cuts(hunk: Hunk, fuzz: int) -> tuple[int, int]:
    """How many lines of context to leave out at both ends; negative where the file starts or ends."""
    most = max(hunk.prefix, hunk.suffix)
    return fuzz + hunk.prefix - most, fuzz + hunk.suffix - most


def _locate(
    lines: list[bytes], hunk: Hunk, offset: int, lowest: int, fuzz: int, loose: Comparison | None
) -> int | None:
    """Where the lines of a hunk stand: nearest to the place where they should, not above `lowest`."""
    before, after = _cuts(hunk, fuzz)
    prefix, suffix = max(before, 0), max(after, 0)
    old = hunk.old[prefix : len(hunk.old) - suffix]
    wanted = hunk.start + offset + prefix
    if not hunk.old:
        return min(max(wanted, lowest), len(lines))
    # Less context before than after means that the hunk starts the file, and the other way round ends it.
    if before < 0 and hunk.start == 0:
        if after < 0 and len(old) != len(lines):
            return None
        return 0 if lowest == 0 and _matches(lines, 0, old, loose) else None
    if after < 0:
        place = len(lines) - len(old)
        return place if place >= lowest and _matches(lines, place, old, loose) else None
    return _search(lines, old, wanted, lowest, loose)


def _search(
    lines: list[bytes], old: list[bytes], wanted: int, lowest: int, loose: Comparison | None
) -> int | None:
    last = len(lines) - len(old)
    for distance in range(max(last - wanted, wanted - lowest, 0) + 1):
        for place in (wanted + distance, wanted - distance) if distance else (wanted,):
            if lowest <= place <= last and _matches(lines, place, old, loose):
                return place
    return None


def _matches(lines: list[bytes], place: int, old: list[bytes], loose: Comparison | None) -> bool:
    if place + len(old) > len(lines):
        return False
    if loose is None:
        # The first line decides most of the time.
        return not old or (lines[place] == old[0] and lines[place : place + len(old)] == old)
    return all(loose.key(lines[place + step]) == loose.key(line) for step, line in enumerate(old))


def _with_context(
    lines: list[bytes], found: int, old: list[bytes], new: list[bytes], hunk: Hunk, prefix: int, suffix: int
) -> Iterator[bytes]:
    """The new lines; context is taken from the file, which may differ in white space (-l)."""
    kept_before = max(hunk.prefix - prefix, 0)
    kept_after = max(hunk.suffix - suffix, 0)
    if old == lines[found : found + len(old)] or kept_before + kept_after > len(new):
        yield from new
        return
    yield from lines[found : found + kept_before]
    yield from new[kept_before : len(new) - kept_after]
    yield from lines[found + len(old) - kept_after : found + len(old)]
