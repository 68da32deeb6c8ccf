"""How gzip, bzip2, xz and their relatives are called, and their messages."""

from __future__ import annotations

import os
from dataclasses import dataclass

from planaria_shell.commands.archives.compression_formats import CorruptDataError, Format
from planaria_shell.toolkit.invocation import Invocation

__all__ = ["Job", "report_corrupt", "report_existing", "report_ratio", "settings", "warn"]


@dataclass
class Job:
    """The settings of one call of a compression command."""

    call: Invocation
    format: Format
    decompress: bool
    to_stdout: bool
    keep: bool
    force: bool
    test: bool
    verbose: bool
    quiet: bool
    level: int
    suffix: str
    store_name: bool
    restore_name: bool


def settings(call: Invocation, kind: Format) -> Job:
    """The settings that a call asks for by its name and options."""
    arguments = call.arguments
    name = call.name
    decompress = name in ("gunzip", "zcat", "bunzip2", "bzcat", "unxz", "xzcat", "gzcat")
    level = kind.default_level
    for key, _ in arguments:
        if key == "d":
            decompress = True
        elif key == "z":
            decompress = False
        elif key.isdigit():
            level = int(key)
    named = arguments.last(("n", "N"))
    return Job(
        call,
        kind,
        decompress or arguments.has("t"),
        arguments.has("c") or name in ("zcat", "bzcat", "xzcat", "gzcat"),
        arguments.has("k"),
        arguments.has("f"),
        arguments.has("t"),
        arguments.has("v"),
        arguments.has("q"),
        level,
        arguments.value("S") or kind.suffix,
        named != "n",
        named == "N",
    )


def warn(job: Job, message: str) -> None:
    """A problem after which a file is left as it is: exit status 2 unless something worse comes."""
    if not job.quiet:
        job.call.error(message)
    if job.call.status == 0:
        job.call.status = 2 if job.format.name != "bzip2" else 1


_CORRUPT = {
    "gzip": {
        "not in format": "{0}: not in gzip format",
        "damaged": "{0}: invalid compressed data--format violated",
        "unexpected end": "{0}: unexpected end of file",
        "trailing garbage": "{0}: decompression OK, trailing garbage ignored",
    },
    "bzip2": {
        "not in format": "{0} is not a bzip2 file.",
        "damaged": "{0}: data integrity (CRC) error in data",
        "unexpected end": "{0}: file ends unexpectedly",
        "trailing garbage": "{0}: trailing garbage after EOF ignored",
    },
    "xz": {
        "not in format": "{0}: File format not recognized",
        "damaged": "{0}: Compressed data is corrupt",
        "unexpected end": "{0}: Unexpected end of input",
        "trailing garbage": "{0}: File format not recognized",
    },
}


def report_corrupt(job: Job, label: str, problem: CorruptDataError) -> None:
    """Report what is wrong with the data, and set the exit status to that."""
    message = _CORRUPT[job.format.name][str(problem)].format(label)
    if str(problem) == "trailing garbage" and job.format.name != "xz":
        if job.format.name == "bzip2":
            job.call.error(message)
        else:
            warn(job, message)
        return
    if job.format.name == "gzip":
        job.call.warn("")
    job.call.error(message)
    job.call.status = 2 if job.format.name == "bzip2" else 1


def report_existing(job: Job, target: str) -> None:
    """Report that the result would replace a file."""
    call = job.call
    if job.format.name == "bzip2":
        call.error(f"Output file {target} already exists.")
        call.status = 1
    elif job.format.name == "xz":
        call.error(f"{target}: File exists")
        call.status = 1
    else:
        call.error(f"{target} already exists;\tnot overwritten")
        call.status = 2


def report_ratio(job: Job, name: str, target: str, read: int, written: int) -> None:
    """Report how much smaller a file has become; sizes in bytes."""
    plain, packed = (written, read) if job.decompress else (read, written)
    if job.format.name == "gzip":
        header = 18 + (len(os.path.basename(name).removesuffix(job.suffix)) + 1 if job.store_name else 0)
        saved = (plain - (packed - header)) / plain * 100 if plain else 0.0
        verb = "replaced with" if not job.keep else "created"
        job.call.warn(f"{name}:\t{saved:5.1f}% -- {verb} {target}")
    elif job.format.name == "bzip2":
        if job.decompress:
            job.call.warn(f"  {name}: done")
        elif plain:
            job.call.warn(
                f"  {name}:    {plain / packed:6.3f}:1, {packed * 8 / plain:6.3f} bits/byte, "
                f"{(1 - packed / plain) * 100:5.2f}% saved, {plain} in, {packed} out."
            )
    else:
        share = packed / plain if plain else 0.0
        job.call.warn(f"{name}: {packed} B / {plain} B = {share:.3f}")
