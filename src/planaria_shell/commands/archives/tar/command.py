"""tar: make, list and extract archives."""

from __future__ import annotations

from collections.abc import Generator

from planaria_shell.commands.archives.tar.reading import compare, extract, list_members
from planaria_shell.commands.archives.tar.settings import Tar, misused
from planaria_shell.commands.archives.tar.writing import append, concatenate, create, delete
from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import Invocation, utility

__all__: list[str] = []

_TAKES_ARGUMENT = frozenset("fCTXbgHIKLNV")


def _old_form(words: list[str]) -> list[str]:
    """`tar xvf FILE`: the first word holds options without a minus; their arguments follow in order."""
    if not words or words[0].startswith("-"):
        return words
    out: list[str] = []
    rest = list(words[1:])
    for letter in words[0]:
        out.append(f"-{letter}")
        if letter in _TAKES_ARGUMENT:
            if not rest:
                raise misused(f"Old option '{letter}' requires an argument.")
            out.append(rest.pop(0))
    return out + rest


_LONG = (
    "create=c extract=x get=x list=t append=r update=u catenate=A concatenate=A diff=d compare=d delete "
    "file=f: "
    "directory=C: verbose=v gzip=z gunzip=z ungzip=z bzip2=j xz=J zstd lzma lzip lzop compress=Z "
    "auto-compress=a use-compress-program=I: absolute-names=P preserve-permissions=p same-permissions=p "
    "no-same-permissions same-owner no-same-owner=o to-stdout=O files-from=T: exclude: exclude-from=X: "
    "exclude-vcs "
    "exclude-vcs-ignores exclude-backups strip-components: transform: xform=transform: keep-old-files=k "
    "skip-old-files keep-newer-files overwrite unlink-first=U touch=m null no-null no-recursion recursion "
    "dereference=h hard-dereference remove-files owner: group: mode: mtime: numeric-owner sort: "
    "format=format: "
    "wildcards no-wildcards anchored no-anchored ignore-case totals one-top-level:: full-time utc "
    "verify=W record-size: "
    "blocking-factor=b: warning: checkpoint:: ignore-failed-read no-overwrite-dir sparse=S "
    "one-file-system newer=N: index-file: quoting-style: show-transformed-names pax-option: no-auto-compress"
)


@utility(
    "tar",
    short="cxtruAdf:C:vzjJZaI:PpoOT:X:kUmhWb:SN:H:wiBV:",
    long=_LONG,
    usage="[OPTION...] [FILE]...",
    order="in order",
    failure=2,
    misuse=64,
    rewrite=_old_form,
    hint="Try '{0} --help' or '{0} --usage' for more information.",
)
def tar(call: Invocation) -> Generator[None, None, Status]:
    """Create, list, extract and change archives of files."""
    job = Tar(call)
    if job.operation == "c":
        return (yield from create(job))
    if job.operation in ("r", "u"):
        return (yield from append(job))
    if job.operation == "t":
        return (yield from list_members(job))
    if job.operation == "x":
        return (yield from extract(job))
    if job.operation == "d":
        return compare(job)
    return delete(job) if job.operation == "delete" else concatenate(job)
