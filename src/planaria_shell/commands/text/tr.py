"""tr: translate, delete or squeeze bytes."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote

__all__: list[str] = []

_CLASSES: dict[bytes, list[int]] = {
    b"alnum": [c for c in range(128) if chr(c).isalnum()],
    b"alpha": [c for c in range(128) if chr(c).isalpha()],
    b"blank": [9, 32],
    b"cntrl": [*range(32), 127],
    b"digit": [*range(48, 58)],
    b"graph": [*range(33, 127)],
    b"lower": [*range(97, 123)],
    b"print": [*range(32, 127)],
    b"punct": [c for c in range(33, 127) if not chr(c).isalnum()],
    b"space": [9, 10, 11, 12, 13, 32],
    b"upper": [*range(65, 91)],
    b"xdigit": [c for c in range(128) if chr(c) in "0123456789abcdefABCDEF"],
}
_ESCAPES = {
    ord(k): v for k, v in {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92}.items()
}


#: The table of what becomes of each byte, the bytes to delete, those to squeeze, and what finds them.
_Plan = tuple[bytes | None, bytes, set[int], re.Pattern[bytes] | None]
#: By the sets and options: loops translate by the same sets again and again.
_plans: dict[tuple[str | bool, ...], _Plan] = {}
_MOST_PLANS = 64


@dataclass(slots=True)
class _Part:
    """A piece of a set: its bytes; a class's name; a repeat without a count fills up the set."""

    members: list[int]
    name: bytes = b""
    fills: bool = False
    repeats: bool = False


def _unescape(call: Invocation, text: bytes) -> list[tuple[int, bool]]:
    """Bytes, each with whether it was escaped."""
    out: list[tuple[int, bool]] = []
    at = 0
    while at < len(text):
        byte = text[at]
        at += 1
        if byte != 0x5C:
            out.append((byte, False))
            continue
        if at >= len(text):
            call.error("warning: an unescaped backslash at end of string is not portable")
            out.append((byte, False))
            continue
        match = re.compile(rb"[0-7]{1,3}").match(text, at)
        if match:
            digits = match[0]
            if int(digits, 8) > 255:
                shown = digits.decode()
                call.error(
                    f"warning: the ambiguous octal escape \\{shown} is being\n\tinterpreted as the 2-byte "
                    f"sequence \\0{shown[:2]}, {shown[2]}"
                )
                digits = digits[:2]
            out.append((int(digits, 8), True))
            at += len(digits)
            continue
        out.append((_ESCAPES.get(text[at], text[at]), True))
        at += 1
    return out


def _parse_set(call: Invocation, text: str, second: bool) -> list[_Part]:
    characters = _unescape(call, text.encode("utf-8", "surrogateescape"))
    parts: list[_Part] = []
    at = 0
    size = len(characters)

    def plain(index: int, byte: int) -> bool:
        return index < size and characters[index] == (byte, False)

    def find(start: int, byte: int) -> int:
        for index in range(start, size - 1):
            if plain(index, byte) and plain(index + 1, 0x5D):
                return index
        return -1

    while at < size:
        if plain(at, 0x5B):
            if plain(at + 1, 0x3A) or plain(at + 1, 0x3D):
                mark = characters[at + 1][0]
                end = find(at + 2, mark)
                if end >= 0:
                    name = bytes(byte for byte, _ in characters[at + 2 : end])
                    part = _class_or_equivalence(mark, name)
                    if part is not None:
                        parts.append(part)
                        at = end + 2
                        continue
            if plain(at + 2, 0x2A):
                end = at + 3
                while end < size and not plain(end, 0x5D):
                    end += 1
                digits = bytes(byte for byte, _ in characters[at + 3 : end]).decode("latin-1")
                if end < size and (re.fullmatch(r"\d*", digits)):
                    if not second and not digits.strip("0"):
                        raise UsageError("the [c*] repeat construct may not appear in string1", hint=False)
                    try:
                        number = int(digits or "0", 8 if digits.startswith("0") else 10)
                    except ValueError:
                        raise UsageError(
                            f"invalid repeat count {quote(digits)} in [c*n] construct", hint=False
                        ) from None
                    byte = characters[at + 1][0]
                    parts.append(_Part([byte] * number, fills=not number, repeats=True))
                    if not number:
                        parts[-1].members = [byte]
                    at = end + 1
                    continue
                if end < size and digits and not digits[0] == "]" and "[" not in digits:
                    raise UsageError(f"invalid repeat count {quote(digits)} in [c*n] construct", hint=False)
        if plain(at + 1, 0x2D) and at + 2 < size:
            low, high = characters[at][0], characters[at + 2][0]
            if low > high:
                raise UsageError(
                    f"range-endpoints of '{_shown(low)}-{_shown(high)}' are in reverse collating "
                    f"sequence order",
                    hint=False,
                )
            parts.append(_Part(list(range(low, high + 1))))
            at += 3
            continue
        parts.append(_Part([characters[at][0]]))
        at += 1
    return parts


def _class_or_equivalence(mark: int, name: bytes) -> _Part | None:
    """`[:name:]` or `[=c=]`; None when it is neither but could be ordinary characters."""
    shown = name.decode("utf-8", "replace")
    if mark == 0x3A:
        if not name:
            raise UsageError("missing character class name '[::]'", hint=False)
        if name not in _CLASSES:
            if b"*" in name[:1]:
                return None
            raise UsageError(f"invalid character class {quote(shown)}", hint=False)
        return _Part(list(_CLASSES[name]), name)
    if not name:
        raise UsageError("missing equivalence class character '[==]'", hint=False)
    if len(name) != 1:
        raise UsageError(f"{shown}: equivalence class operand must be a single character", hint=False)
    return _Part([name[0]], b"=")


def _shown(byte: int) -> str:
    if 32 <= byte < 127:
        return chr(byte)
    return f"\\{byte:03o}"


@command(
    "tr",
    short="cCdst",
    long="complement=c delete=d squeeze-repeats=s truncate-set1=t",
    usage="[OPTION]... STRING1 [STRING2]",
    order="options first",
)
def tr(call: Invocation) -> Generator[None, None, Status]:
    """Translate, squeeze, and/or delete characters from standard input, writing to standard output."""
    arguments = call.arguments
    delete, squeeze = arguments.has("d"), arguments.has("s")
    complement = arguments.has("c", "C")
    sets = call.operands
    least = 1 + (delete == squeeze)
    most = 1 if delete and not squeeze else 2
    if len(sets) < least:
        if not sets:
            raise UsageError("missing operand")
        call.error(f"missing operand after {quote(sets[-1])}")
        call.warn(
            "Two strings must be given when both deleting and squeezing repeats."
            if squeeze
            else "Two strings must be given when translating."
        )
        call.warn(f"Try '{call.argv[0]} --help' for more information.")
        return 1
    if len(sets) > most:
        call.error(f"extra operand {quote(sets[most])}")
        if len(sets) == 2:
            call.warn("Only one string may be given when deleting without squeezing repeats.")
        call.warn(f"Try '{call.argv[0]} --help' for more information.")
        return 1
    options = (delete, squeeze, complement, arguments.has("t"))
    plan = _plans.get((*sets, *options))
    if plan is None:
        plan = _plan(call, sets, *options)
        if not any("\\" in text for text in sets):  # of which it may have to warn each time
            if len(_plans) >= _MOST_PLANS:
                _plans.clear()
            _plans[(*sets, *options)] = plan
    table, deleted, squeezed, squeezer = plan
    previous = b""
    for chunk in call.stdin.chunks():
        chunk = chunk.translate(table, deleted)
        if squeezer and chunk:
            if previous and previous[0] in squeezed:
                chunk = chunk.lstrip(previous)
            if not chunk:
                continue
            previous = chunk[-1:]
            chunk = squeezer.sub(rb"\1", chunk)
        call.stdout.write(chunk)
        call.stdout.pass_on()
        if call.stdout.full:
            yield
    return 0


def _plan(
    call: Invocation, sets: list[str], delete: bool, squeeze: bool, complement: bool, truncate: bool
) -> _Plan:
    first = _parse_set(call, sets[0], False)
    second = _parse_set(call, sets[1], True) if len(sets) == 2 else None
    members = [byte for part in first for byte in part.members]
    if complement:
        excluded = set(members)
        members = [byte for byte in range(256) if byte not in excluded]
    translating = second is not None and not delete
    table: bytes | None = None
    squeezed: set[int] = set()
    if second is not None:
        targets = _second_set(second, len(members) if translating else 0, translating)
        if translating:
            table = _table(first, second, members, targets, complement, truncate)
        if squeeze:
            squeezed = set(targets)
    elif squeeze:
        squeezed = set(members)
    deleted = bytes(sorted(set(members))) if delete else b""
    squeezer = (
        re.compile(b"([" + b"".join(b"\\x%02x" % byte for byte in sorted(squeezed)) + b"])\\1+", re.DOTALL)
        if squeezed
        else None
    )
    return table, deleted, squeezed, squeezer


def _second_set(parts: list[_Part], wanted: int, translating: bool) -> list[int]:
    """The bytes of string 2, a `[c*]` filled up so that it is as long as string 1."""
    filling = [part for part in parts if part.fills]
    if len(filling) > 1:
        raise CommandError("only one [c*] repeat construct may appear in string2")
    if filling and not translating:
        raise CommandError("the [c*] construct may appear in string2 only when translating")
    fixed = sum(len(part.members) for part in parts if not part.fills)
    out: list[int] = []
    for part in parts:
        if part.fills:
            out += part.members * max(wanted - fixed, 0)
        else:
            out += part.members
    return out


def _table(
    first: list[_Part],
    second: list[_Part],
    members: list[int],
    targets: list[int],
    complement: bool,
    truncate: bool,
) -> bytes:
    if any(part.name == b"=" for part in second):
        raise CommandError("[=c=] expressions may not appear in string2 when translating")
    classes = [part.name for part in second if part.name]
    if any(name not in (b"lower", b"upper") for name in classes):
        raise CommandError(
            "when translating, the only character classes that may appear in\nstring2 are 'upper' and 'lower'"
        )
    if complement and any(part.name for part in first) and len(set(targets)) > 1:
        raise CommandError(
            "when translating with complemented character classes,\nstring2 must map all characters in the "
            "domain to one"
        )
    if classes and not complement:
        _check_cases(first, second)
    if truncate:
        members = members[: len(targets)]
    elif len(targets) < len(members):
        if not targets:
            raise CommandError("when not truncating set1, string2 must be non-empty")
        if second[-1].name in (b"lower", b"upper"):
            raise CommandError(
                "when translating with string1 longer than string2,\nthe latter string must not end with a "
                "character class"
            )
        targets = targets + [targets[-1]] * (len(members) - len(targets))
    table = bytearray(range(256))
    for source, target in zip(members, targets, strict=False):
        table[source] = target
    return bytes(table)


def _check_cases(first: list[_Part], second: list[_Part]) -> None:
    """A case class of string 2 must stand at the place of a case class of string 1."""
    starts: dict[int, bytes] = {}
    at = 0
    for part in first:
        if part.name in (b"lower", b"upper"):
            starts[at] = part.name
        at += len(part.members)
    at = 0
    for part in second:
        if part.name in (b"lower", b"upper") and at not in starts:
            raise CommandError("misaligned [:upper:] and/or [:lower:] construct")
        at += len(part.members)
