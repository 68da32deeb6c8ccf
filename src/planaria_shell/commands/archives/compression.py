"""gzip, bzip2, xz and their relatives: one file compressed or restored at a time."""

from __future__ import annotations

import errno
import os
import re
import stat
import struct
from collections.abc import Generator, Iterator

from planaria_shell.commands.archives.compression_formats import (
    FORMATS,
    CorruptDataError,
    Format,
    decompressed,
)
from planaria_shell.commands.archives.compression_job import (
    Job,
    report_corrupt,
    report_existing,
    report_ratio,
    settings,
    warn,
)
from planaria_shell.state.command import Status
from planaria_shell.toolkit.file_times import format_time
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.streams import FileInput, Source, reason

__all__: list[str] = []


def _compressed(job: Job, source: Source, name: str, modified: int) -> Iterator[bytes]:
    compressor = job.format.compressor(job.level, name, modified)
    for chunk in source.chunks():
        out = compressor.compress(chunk)
        if out:
            yield out
    yield compressor.flush()


def _checked(source: Source, kind: Format) -> tuple[Iterator[bytes], bool]:
    """The chunks of a source, and whether they begin as the format should."""
    chunks = source.chunks()
    first = b""
    for chunk in chunks:
        first += chunk
        if len(first) >= len(kind.magic):
            break

    def together() -> Iterator[bytes]:
        yield first
        yield from chunks

    legacy = kind.name == "xz" and first.startswith(b"\x5d\x00\x00")
    return together(), first.startswith(kind.magic) or legacy


def _stream(
    job: Job, source: Source, label: str, stored: tuple[str, int] = ("", 0)
) -> Generator[None, None, None]:
    """Standard input or a file to standard output; `stored` is the name and time to keep."""
    out = job.call.stdout
    if not job.decompress:
        for piece in _compressed(job, source, *stored):
            out.write(piece)
            if out.full:
                yield
        return
    chunks, recognised = _checked(source, job.format)
    if not recognised:
        if job.force and job.to_stdout:
            for piece in chunks:
                out.write(piece)
                if out.full:
                    yield
            return
        first = next(chunks)
        report_corrupt(
            job,
            label,
            CorruptDataError("not in format" if first or job.format.name != "gzip" else "unexpected end"),
        )
        return
    try:
        for piece in decompressed(chunks, job.format):
            if not job.test:
                out.write(piece)
                if out.full:
                    yield
    except CorruptDataError as problem:
        report_corrupt(job, label, problem)


def _target_name(job: Job, name: str) -> str | None:
    """The name of the result, None when there is none (reported)."""
    call, kind = job.call, job.format
    if not job.decompress:
        for suffix in (*kind.suffixes, job.suffix):
            if name.endswith(suffix) and not job.to_stdout and not (kind.name == "gzip" and job.force):
                if kind.name == "bzip2":
                    call.error(f"Input file {name} already has {suffix} suffix.")
                    call.status = 1
                else:
                    if kind.name == "xz":
                        warn(job, f"{name}: File already has '{suffix}' suffix, skipping")
                    elif not job.quiet:
                        call.error(f"{name} already has {suffix} suffix -- unchanged")
                return None
        return name + job.suffix
    for suffix, replacement in {job.suffix: "", **kind.suffixes}.items():
        if name.endswith(suffix) and len(os.path.basename(name)) > len(suffix):
            return name.removesuffix(suffix) + replacement
    if kind.name == "bzip2":
        call.error(f"Can't guess original name for {name} -- using {name}.out")
        return name + ".out"
    warn(
        job,
        f"{name}: unknown suffix -- ignored"
        if kind.name == "gzip"
        else f"{name}: Filename has an unknown suffix, skipping",
    )
    return None


def _linked(job: Job, name: str, status: os.stat_result) -> bool:
    """Report a file that is a link, or has others: its name alone must not be replaced unasked."""
    call, kind = job.call, job.format.name
    if job.force or job.to_stdout or job.test or (kind == "xz" and job.keep):
        return False
    if os.path.islink(call.path(name)):
        if kind == "xz":
            warn(job, f"{name}: Is a symbolic link, skipping")
        else:
            call.error(
                f"{name}: {os.strerror(errno.ELOOP)}"
                if kind == "gzip"
                else f"Input file {name} is not a normal file."
            )
            call.status = 1
        return True
    others = status.st_nlink - 1
    if others < 1:
        return False
    count = f"{others} other link{'s' if others > 1 else ''}"
    if kind == "bzip2":
        call.error(f"Input file {name} has {count}.")
        call.status = 1
    else:
        warn(
            job,
            f"{name} has {count} -- file ignored"
            if kind == "gzip"
            else f"{name}: Input file has more than one hard link, skipping",
        )
    return True


def _open(job: Job, name: str) -> tuple[Source, os.stat_result] | None:
    """Open an operand, or report why not."""
    call, kind = job.call, job.format
    try:
        status = os.stat(call.path(name))
    except OSError as error:
        if kind.name == "gzip" and job.decompress and not name.endswith(".gz"):
            try:
                os.stat(call.path(name + ".gz"))
            except OSError:
                pass
            else:
                return _open(job, name + ".gz")
            name += ".gz" if not any(name.endswith(suffix) for suffix in kind.suffixes) else ""
        if kind.name == "bzip2":
            call.error(f"Can't open input file {name}: {reason(error)}.")
        else:
            call.error(f"{name}: {reason(error)}")
        call.status = 1
        return None
    if stat.S_ISDIR(status.st_mode):
        if kind.name == "bzip2":
            call.error(f"Input file {name} is a directory.")
            call.status = 1
        elif kind.name == "gzip":
            warn(job, f"{name} is a directory -- ignored")
        else:
            warn(job, f"{name}: Is a directory, skipping")
        return None
    if _linked(job, name, status):
        return None
    try:
        return call.open(name), status
    except OSError as error:
        call.complain(name, error)
        return None


def _file(job: Job, name: str) -> Generator[None, None, None]:
    """Replace one file by its compressed or restored form."""
    call = job.call
    opened = _open(job, name)
    if opened is None:
        return
    source, status = opened
    if isinstance(source, FileInput) and isinstance(source.file.name, str) and not name.endswith(".gz"):
        name = name if os.path.exists(call.path(name)) else name + ".gz"
    with source:
        if job.test or job.to_stdout:
            before = call.status
            kept = (os.path.basename(name), int(status.st_mtime)) if job.store_name else ("", 0)
            yield from _stream(job, source, name, kept)
            if job.test and job.verbose and call.status == before:
                call.warn(f"{name}:\t OK" if job.format.name == "gzip" else f"  {name}: ok")
            return
        target = _target_name(job, name)
        if target is None:
            return
        modified = status.st_mtime_ns
        if job.restore_name and job.decompress and job.format.name == "gzip":
            original, seconds = _original(call.path(name))
            if original:
                target = os.path.join(os.path.dirname(name), original)
            if seconds:
                modified = seconds * 10**9
        path, goal = call.path(name), call.path(target)
        if os.path.lexists(goal):
            if not job.force:
                report_existing(job, target)
                return
            os.unlink(goal)
        read = written = 0
        descriptor = os.open(goal, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IMODE(status.st_mode) | 0o200)
        good = True
        with os.fdopen(descriptor, "wb") as file:
            if job.decompress:
                chunks, recognised = _checked(source, job.format)
                try:
                    if not recognised:
                        raise CorruptDataError("not in format")
                    for piece in decompressed(chunks, job.format):
                        file.write(piece)
                        written += len(piece)
                except CorruptDataError as problem:
                    good = str(problem) == "trailing garbage" and job.format.name != "xz"
                    report_corrupt(job, name, problem)
                read = status.st_size
            else:
                stored = os.path.basename(name) if job.store_name else ""
                moment = int(status.st_mtime) if job.store_name else 0
                for piece in _compressed(job, source, stored, moment):
                    file.write(piece)
                    written += len(piece)
                read = status.st_size
        if not good:
            os.unlink(goal)
            return
        os.chmod(goal, stat.S_IMODE(status.st_mode))
        os.utime(goal, ns=(status.st_atime_ns, modified))
        if not job.keep:
            os.unlink(path)
        if job.verbose:
            report_ratio(job, name, target, read, written)


def _original(path: str) -> tuple[str, int]:
    """The name and the time (in seconds) that gzip has kept in a file; empty and 0 where it has not."""
    with open(path, "rb") as file:
        header = file.read(1024)
    if len(header) < 10:
        return "", 0
    at = 10
    if header[3] & 4:
        at += 2 + int.from_bytes(header[10:12], "little")
    name = header[at:].partition(b"\0")[0] if header[3] & 8 else b""
    # Only the last part of it: nothing is written anywhere else.
    return os.path.basename(os.fsdecode(name)), int.from_bytes(header[4:8], "little")


def _list(job: Job, names: list[str]) -> None:
    """`gzip -l`, `xz -l`."""
    call = job.call
    headed = job.format.name != "gzip" or job.quiet
    totals = [0, 0]
    for name in names:
        opened = _open(job, name) if name != "-" else (call.open("-"), None)
        if opened is None:
            continue
        source, status = opened
        with source:
            data = source.read()
        if not data.startswith(job.format.magic):
            report_corrupt(job, name, CorruptDataError("not in format"))
            continue
        if not headed:
            headed = True
            lead = "method  crc     date  time  " if job.verbose else ""
            call.print(f"{lead}         compressed        uncompressed  ratio uncompressed_name")
        try:
            plain = sum(map(len, decompressed(iter([data]), job.format)))
        except CorruptDataError as problem:
            report_corrupt(job, name, problem)
            continue
        shown = re.sub(r"\.(gz|tgz|xz)$", "", name)
        overhead = 18 + (data.find(b"\0", 10) - 9 if data[3:4] == b"\x08" else 0)
        ratio = (plain - (len(data) - overhead)) / plain * 100 if plain else 0.0
        totals = [totals[0] + len(data), totals[1] + plain]
        lead = ""
        if job.verbose and job.format.name == "gzip":
            checksum = struct.unpack("<L", data[-8:-4])[0]
            moment = struct.unpack("<L", data[4:8])[0] * 10**9 or (status.st_mtime_ns if status else 0)
            lead = f"defla {checksum:08x} {format_time(moment, '%b %e %H:%M', call.env)} "
        if job.format.name == "gzip":
            call.print(f"{lead}{len(data):>19} {plain:>19} {ratio:>5.1f}% {shown}")
        else:
            if job.format.name == "xz" and name == names[0]:
                call.print("Strms  Blocks   Compressed Uncompressed  Ratio  Check   Filename")
            share = len(data) / plain if plain else 0.0
            call.print(f"    1       1 {len(data):>10} B {plain:>10} B  {share:.3f}  CRC64   {name}")
    if len(names) > 1 and job.format.name == "gzip":
        ratio = (totals[1] - totals[0]) / totals[1] * 100 if totals[1] else 0.0
        call.print(f"{'':>{28 if job.verbose else 0}}{totals[0]:>19} {totals[1]:>19} {ratio:>5.1f}% (totals)")


def _run(call: Invocation, kind: Format) -> Generator[None, None, Status]:
    job = settings(call, kind)
    names = list(call.operands)
    if call.arguments.has("l"):
        _list(job, names or ["-"])
        return call.status
    if call.arguments.has("r"):
        names = [name for operand in names for name in _below(call, operand)]
    if not names:
        names = ["-"]
    for name in names:
        if name == "-":
            label = "stdin" if kind.name == "gzip" else "(stdin)"
            yield from _stream(job, call.open("-"), label)
        else:
            yield from _file(job, name)
    return call.status


def _below(call: Invocation, operand: str) -> list[str]:
    if not os.path.isdir(call.path(operand)):
        return [operand]
    found: list[str] = []
    for directory, _, files in os.walk(call.path(operand)):
        relative = os.path.relpath(directory, call.path(operand))
        base = operand if relative == "." else os.path.join(operand, relative)
        found += [os.path.join(base, name) for name in sorted(files)]
    return found


_SHORT = "123456789cdfhklLnNqrS:tvVz"
_LONG = (
    "stdout=c to-stdout=c decompress=d uncompress=d force=f keep=k list=l no-name=n name=N quiet=q silent=q "
    "recursive=r suffix=S: test=t verbose=v fast=1 best=9"
)


@command("gzip", "gunzip", "zcat", "gzcat", short=_SHORT + "b:", long=_LONG + " rsyncable synchronous ascii")
def gzip(call: Invocation) -> Generator[None, None, Status]:
    """Compress or uncompress FILEs (by default, compress FILES in-place)."""
    call.label = "gzip"
    return (yield from _run(call, FORMATS["gzip"]))


@command("bzip2", "bunzip2", "bzcat", short="123456789cdfhkLqstvVz", long=_LONG + " compress=z small=s")
def bzip2(call: Invocation) -> Generator[None, None, Status]:
    """Compress or uncompress FILEs with block sorting (by default, compress FILES in-place)."""
    return (yield from _run(call, FORMATS["bzip2"]))


@command(
    "xz",
    "unxz",
    "xzcat",
    short="0" + _SHORT.replace("n", "").replace("N", "") + "eQT:M:F:C:",
    long=_LONG
    + " compress=z extreme=e threads=T: memlimit=M: format=F: check=C: no-warn=Q robot single-stream",
)
def xz(call: Invocation) -> Generator[None, None, Status]:
    """Compress or decompress FILEs in the .xz format."""
    return (yield from _run(call, FORMATS["xz"]))
