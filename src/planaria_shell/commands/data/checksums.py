"""md5sum, sha1sum, sha256sum and so on, cksum, sum: digests of files, printed and checked."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable
from typing import Protocol

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError, choose
from planaria_shell.toolkit.quoting import quote, shell_quote
from planaria_shell.toolkit.streams import Source, reason

__all__: list[str] = []


class _Digest(Protocol):
    def update(self, data: bytes, /) -> None: ...
    def hexdigest(self) -> str: ...


_MAKERS: dict[str, Callable[[], _Digest]] = {
    "MD5": hashlib.md5,
    "SHA1": hashlib.sha1,
    "SHA224": hashlib.sha224,
    "SHA256": hashlib.sha256,
    "SHA384": hashlib.sha384,
    "SHA512": hashlib.sha512,
}
_LONG = "binary=b check=c ignore-missing quiet status strict tag text=t warn=w zero=z"


def _shown_name(name: str) -> tuple[str, str]:
    """A backslash when the name needs escapes, and the name with them."""
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return ("\\" if escaped != name else ""), escaped


def _digest(source: Source, make: Callable[[], _Digest]) -> str:
    digest = make()
    for chunk in source.chunks():
        digest.update(chunk)
    return digest.hexdigest()


class _Kind:
    """One algorithm: its tag in BSD lines, its maker, the length of its digest in hexadecimal digits."""

    def __init__(self, tag: str, make: Callable[[], _Digest], length: int) -> None:
        self.tag = tag
        self.make = make
        self.length = length


def _print_digests(call: Invocation, kind: _Kind, tagged: bool, mark: str) -> Status:
    end = "\0" if call.arguments.has("z") else "\n"
    for name in call.operands or ["-"]:
        try:
            with call.open(name) as source:
                digest = _digest(source, kind.make)
        except OSError as error:
            call.complain(shell_quote(name), error)
            continue
        lead, shown = ("", name) if end == "\0" else _shown_name(name)
        if tagged:
            call.print(f"{lead}{kind.tag} ({shown}) = {digest}", end)
        else:
            call.print(f"{lead}{digest} {mark}{shown}", end)
    return call.status


_TAGGED = re.compile(r"\\?([A-Z0-9-]+) ?\((.*)\) ?= ?([0-9a-fA-F]+)")


class _Check:
    """The state of `--check` over one list of digests."""

    def __init__(self, call: Invocation, find: Callable[[str, int], _Kind | None], tag: str) -> None:
        self.call = call
        self.find = find
        self.tag = tag
        self.arguments = call.arguments

    def parse(self, text: str) -> tuple[_Kind, str, str] | None:
        """(algorithm, digest, name) of a line, None when it is not formatted properly."""
        escaped = text.startswith("\\")
        match = _TAGGED.fullmatch(text)
        if match:
            kind = self.find(match[1], len(match[3]))
            digest, name = match[3], match[2]
        else:
            match = re.fullmatch(r"\\?([0-9a-fA-F]+) [ *]?(.+)", text)
            if match is None:
                return None
            kind = self.find("", len(match[1]))
            digest, name = match[1], match[2]
        if kind is None or kind.length != len(digest):
            return None
        if escaped:
            name = re.sub(r"\\(.)", lambda m: {"n": "\n", "r": "\r"}.get(m[1], m[1]), name)
        return kind, digest, name

    def run(self, listing: str) -> bool:
        call, arguments = self.call, self.arguments
        # The last of them decides how much is said.
        told = arguments.last(("quiet", "status", "w"))
        quiet, silent, warns = told == "quiet", told == "status", told == "w"
        try:
            with call.open(listing) as source:
                lines = source.read().split(b"\n")
        except IsADirectoryError as error:
            call.error(f"{shell_quote(listing)}: read error: {reason(error)}")
            return False
        except OSError as error:
            call.error(f"{shell_quote(listing)}: {reason(error)}")
            return False
        proper = bad_lines = unreadable = mismatched = matched = 0
        shown_list = "'standard input'" if listing == "-" else shell_quote(listing)
        for number, line in enumerate(lines, 1):
            text = line.decode("utf-8", "surrogateescape").removesuffix("\r")
            if not text or text.startswith("#"):
                continue
            parsed = self.parse(text)
            if parsed is None:
                bad_lines += 1
                if warns:
                    call.error(f"{shown_list}: {number}: improperly formatted {self.tag} checksum line")
                continue
            proper += 1
            kind, digest, name = parsed
            lead, shown = _shown_name(name) if "\n" in name else ("", name)
            try:
                with call.open(name) as source:
                    same = _digest(source, kind.make) == digest.lower()
            except OSError as error:
                if arguments.has("ignore-missing") and isinstance(error, FileNotFoundError):
                    continue
                unreadable += 1
                call.error(f"{shell_quote(name)}: {reason(error)}")
                if not silent:
                    call.print(f"{lead}{shown}: FAILED open or read")
                continue
            if same:
                matched += 1
                if not quiet and not silent:
                    call.print(f"{lead}{shown}: OK")
            else:
                mismatched += 1
                if not silent:
                    call.print(f"{lead}{shown}: FAILED")
        if not proper:
            call.error(f"{shown_list}: no properly formatted checksum lines found")
            return False
        if not silent:
            self._warn(bad_lines, "line is improperly formatted", "lines are improperly formatted")
            self._warn(unreadable, "listed file could not be read", "listed files could not be read")
            self._warn(mismatched, "computed checksum did NOT match", "computed checksums did NOT match")
            if arguments.has("ignore-missing") and not matched:
                call.error(f"{shown_list}: no file was verified")
        return not (
            mismatched
            or unreadable
            or (arguments.has("strict") and bad_lines)
            or (arguments.has("ignore-missing") and not matched)
        )

    def _warn(self, count: int, one: str, many: str) -> None:
        if count:
            self.call.error(f"WARNING: {count} {one if count == 1 else many}")


def _validate(call: Invocation) -> None:
    arguments = call.arguments
    if arguments.has("c"):
        if arguments.has("tag"):
            raise UsageError("the --tag option is meaningless when verifying checksums")
        if arguments.has("z"):
            raise UsageError("the --zero option is not supported when verifying checksums")
        return
    for name in ("ignore-missing", "status", "warn", "quiet", "strict"):
        if arguments.has("w" if name == "warn" else name):
            raise UsageError(f"the --{name} option is meaningful only when verifying checksums")


_DIGESTS = {
    f"{tag.lower()}sum": _Kind(tag, _MAKERS[tag], len(_MAKERS[tag]().hexdigest()))
    for tag in ("MD5", "SHA1", "SHA224", "SHA256", "SHA384", "SHA512")
}


@command("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", short="bctwz", long=_LONG)
def digest(call: Invocation) -> Status:
    """Print or check checksums of the kind in the command's name."""
    kind = _DIGESTS[call.name]
    arguments = call.arguments
    if arguments.has("tag") and arguments.last(("b", "t")) == "t":
        raise UsageError("--tag does not support --text mode")
    _validate(call)
    if arguments.has("c"):

        def find(tag: str, length: int) -> _Kind | None:
            return kind if tag in ("", kind.tag) else None

        check = _Check(call, find, kind.tag)
        good = [check.run(listing) for listing in call.operands or ["-"]]
        return 0 if all(good) else 1
    mark = "*" if arguments.last(("b", "t")) == "b" else " "
    return _print_digests(call, kind, arguments.has("tag"), mark)


def _blake(bits: int) -> _Kind:
    tag = "BLAKE2b" if bits == 512 else f"BLAKE2b-{bits}"
    return _Kind(tag, lambda: hashlib.blake2b(digest_size=bits // 8), bits // 4)


_BLAKE_TAG = re.compile(r"BLAKE2b(?:-(\d+))?")


@command("b2sum", short="bcl:twz", long=_LONG + " length=l:")
def b2sum(call: Invocation) -> Status:
    """Print or check BLAKE2b checksums."""
    arguments = call.arguments
    text = arguments.value("l") or "0"
    if not text.isdigit():
        raise UsageError(f"invalid length: {quote(text)}", hint=False)
    bits = int(text)
    if bits > 512:
        call.error(f"invalid length: {quote(text)}")
        raise UsageError(f"maximum digest length for {quote('BLAKE2b')} is 512 bits", hint=False)
    if bits % 8:
        call.error(f"invalid length: {quote(text)}")
        raise UsageError("length is not a multiple of 8", hint=False)
    _validate(call)
    if arguments.has("c"):

        def find(tag: str, length: int) -> _Kind | None:
            match = _BLAKE_TAG.fullmatch(tag)
            if tag and match is None:
                return None
            size = int(match[1]) if match and match[1] else 512 if tag else length * 4
            return _blake(size) if 0 < size <= 512 and size % 8 == 0 else None

        check = _Check(call, find, "BLAKE2b")
        good = [check.run(listing) for listing in call.operands or ["-"]]
        return 0 if all(good) else 1
    mark = "*" if arguments.last(("b", "t")) == "b" else " "
    return _print_digests(call, _blake(bits or 512), arguments.has("tag"), mark)


# CRC-32 of POSIX cksum: the polynomial of zlib's, most significant bit first.
_POLYNOMIAL = 0x04C11DB7


def _crc_table() -> list[int]:
    table: list[int] = []
    for byte in range(256):
        crc = byte << 24
        for _ in range(8):
            crc = ((crc << 1) ^ _POLYNOMIAL if crc & 0x80000000 else crc << 1) & 0xFFFFFFFF
        table.append(crc)
    return table


_REVERSE_BITS = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def _posix_crc(source: Source) -> tuple[int, int]:
    """Checksum and size: zlib's CRC of the bytes with their bits turned round, and turned back."""
    # zlib starts from all ones and ends by inverting; POSIX starts from zero: undo the first inversion.
    state = 0xFFFFFFFF
    size = 0
    for chunk in source.chunks():
        state = zlib.crc32(chunk.translate(_REVERSE_BITS), state)
        size += len(chunk)
    crc = int(f"{state ^ 0xFFFFFFFF:032b}"[::-1], 2)
    table = _crc_table()
    length = size
    while length:
        crc = ((crc << 8) & 0xFFFFFFFF) ^ table[(crc >> 24) ^ (length & 0xFF)]
        length >>= 8
    return crc ^ 0xFFFFFFFF, size


def _bsd_sum(source: Source) -> tuple[int, int]:
    checksum = size = 0
    for chunk in source.chunks():
        size += len(chunk)
        for byte in chunk:
            checksum = ((checksum >> 1) + ((checksum & 1) << 15) + byte) & 0xFFFF
    return checksum, size


def _sysv_sum(source: Source) -> tuple[int, int]:
    total = size = 0
    for chunk in source.chunks():
        size += len(chunk)
        total += sum(chunk)
    total &= 0xFFFFFFFF
    folded = (total & 0xFFFF) + (total >> 16)
    return (folded & 0xFFFF) + (folded >> 16), size


_ALGORITHMS = {
    "bsd": "bsd",
    "sysv": "sysv",
    "crc": "crc",
    "md5": "MD5",
    "sha1": "SHA1",
    "sha224": "SHA224",
    "sha256": "SHA256",
    "sha384": "SHA384",
    "sha512": "SHA512",
    "blake2b": "BLAKE2b",
    "sm3": "SM3",
}


@command(
    "cksum",
    short="a:cl:wz",
    long="algorithm=a: check=c debug ignore-missing length=l: quiet status strict tag untagged warn=w zero=z",
)
def cksum(call: Invocation) -> Status:
    """Print or verify checksums; by default the 32 bit CRC of POSIX."""
    arguments = call.arguments
    chosen = arguments.value("a")
    algorithm = choose(chosen, _ALGORITHMS, "--algorithm") if chosen else "crc"
    if algorithm == "SM3":
        raise CommandError("the algorithm sm3 is not supported")
    if arguments.has("l") and algorithm != "BLAKE2b":
        raise UsageError("--length is only supported with --algorithm=blake2b")
    legacy = algorithm in ("crc", "bsd", "sysv")
    if arguments.has("c"):
        if legacy and chosen:
            raise UsageError("--check is not supported with --algorithm={bsd,sysv,crc}", hint=False)

        def find(tag: str, length: int) -> _Kind | None:
            if not tag and not chosen:
                return None
            wanted = tag or algorithm
            if chosen and not wanted.startswith(algorithm):
                return None
            match = _BLAKE_TAG.fullmatch(wanted)
            if match:
                return _blake(int(match[1]) if match[1] else 512 if tag else length * 4)
            if wanted not in _MAKERS:
                return None
            return _Kind(wanted, _MAKERS[wanted], len(_MAKERS[wanted]().hexdigest()))

        check = _Check(call, find, algorithm if chosen else "CRC")
        good = [check.run(listing) for listing in call.operands or ["-"]]
        return 0 if all(good) else 1
    if not legacy:
        kind = (
            _blake(int(arguments.value("l") or "512"))
            if algorithm == "BLAKE2b"
            else _Kind(algorithm, _MAKERS[algorithm], 0)
        )
        return _print_digests(call, kind, arguments.last(("tag", "untagged")) != "untagged", " ")
    return _print_sums(call, algorithm)


@command("sum", short="rs", long="sysv=s")
def sum_command(call: Invocation) -> Status:
    """Print checksum and block counts for each FILE."""
    return _print_sums(call, "sysv" if call.arguments.last(("r", "s")) == "s" else "bsd")


def _print_sums(call: Invocation, algorithm: str) -> Status:
    compute = {"crc": _posix_crc, "bsd": _bsd_sum, "sysv": _sysv_sum}[algorithm]
    for name in call.operands or ["-"]:
        try:
            with call.open(name) as source:
                checksum, size = compute(source)
        except OSError as error:
            call.complain(shell_quote(name), error)
            continue
        label = f" {name}" if call.operands else ""
        if algorithm == "crc":
            call.print(f"{checksum} {size}{label}")
        elif algorithm == "bsd":
            call.print(f"{checksum:05d} {-(-size // 1024):5d}{label}")
        else:
            call.print(f"{checksum} {-(-size // 512)}{label}")
    return call.status
