"""`read` and `mapfile`."""

from __future__ import annotations

import re
import time
from collections.abc import Generator
from functools import lru_cache

from planaria_shell.builtins.registry import BuiltinUsageError, builtin, options_of
from planaria_shell.errors import ShellError
from planaria_shell.expand.subscripts import is_reference
from planaria_shell.state.builtin import STREAMING
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.pipes import PipeInput
from planaria_shell.state.streams import Stream
from planaria_shell.state.variable import ASSOCIATIVE, INDEXED, SHORT, SLOW_WRITE, is_name
from planaria_shell.syntax.quoting import single_quoted

_BLANKS = re.compile(r"[ \t\n]+")
_OPTIONS = "ersa:d:i:n:N:p:t:u:"


def _input(shell: Interpreter, number: int) -> Stream:
    stream = shell.fds.get(number)
    if stream is None or not stream.readable:
        raise ShellError(f"{number}: invalid file descriptor: Bad file descriptor")
    return stream


def _until(stream: Stream, delimiter: bytes) -> bytes:
    read_until = getattr(stream, "read_until", None)
    if read_until is not None:
        return read_until(delimiter)  # type: ignore[no-any-return]
    if delimiter == b"\n":
        return stream.readline()
    pieces: list[bytes] = []
    while piece := stream.read(1):
        pieces.append(piece)
        if piece == delimiter:
            break
    return b"".join(pieces)


#: The status of `read` when its time is over: that of a death by SIGALRM.
_TIMED_OUT = 142


def _seconds(text: str) -> float | None:
    """A time limit; None when the text is none."""
    return float("0" + text) if re.fullmatch(r"\d+\.?\d*|\.\d*", text, re.ASCII) else None


def _usual_timeout(shell: Interpreter) -> float | None:
    """What `TMOUT` says."""
    return _seconds(shell.variables.get("TMOUT") or "") or None if "TMOUT" in shell.table else None


def read_timeout(shell: Interpreter, argv: list[str]) -> float | None:
    """The time limit of a `read`, or None."""
    try:
        given = dict(options_of(argv, _OPTIONS)[0])
    except BuiltinUsageError:
        return None
    return _seconds(given["t"]) if "t" in given else _usual_timeout(shell)


@builtin("read")
def read(shell: Interpreter, argv: list[str]) -> int:
    status = _read_variables(shell, argv)
    if shell.pending_signals:
        # They came while it waited.
        shell.take_signals()
    return status


def _read_variables(shell: Interpreter, argv: list[str]) -> int:
    if len(argv) > 2 and argv[1] == "-r" and argv[2][:1] != "-" and "TMOUT" not in shell.table:
        return _read_line(shell, argv[2:])
    options, names = options_of(argv, _OPTIONS)
    given = dict(options)
    raw = "r" in given
    array = given.get("a", "")
    delimiter = b"\n"
    if "d" in given:
        delimiter = given["d"].encode("utf-8", "surrogateescape")[:1] or b"\0"
    count = None
    exact = "N" in given
    number = 0
    prompt = given.get("p", "")
    for letter in "nN":
        if letter in given:
            if not given[letter].isdecimal():
                raise BuiltinUsageError(f"{given[letter]}: invalid number", 1)
            count = int(given[letter])
    if "u" in given:
        if not given["u"].isdecimal():
            raise BuiltinUsageError(f"{given['u']}: invalid file descriptor specification", 1)
        number = int(given["u"])
    timeout = _seconds(given["t"]) if "t" in given else _usual_timeout(shell)
    stream = shell.fds.get(number)
    if stream is None or not stream.readable:
        if timeout == 0 and "t" in given:
            return 1
        wrong = f"{number}: invalid file descriptor" if number and stream is None else f"read error: {number}"
        raise ShellError(f"{wrong}: Bad file descriptor")
    if "t" in given:
        if timeout is None:
            raise BuiltinUsageError(f"{given['t']}: invalid timeout specification", 1)
        if timeout == 0:
            ready = getattr(stream, "ready", None)
            return 0 if ready is None or ready() else 1
    _check_names(shell, names[:1])
    if prompt and stream.isatty():
        shell.error_output(prompt)
    deadline = time.monotonic() + timeout if timeout else None
    if deadline is not None:
        stream.wait_until(deadline)
    try:
        data, status = _read(stream, delimiter, count, exact, raw)
    except OSError as error:
        raise ShellError(f"read error: {number}: {error.strerror}") from None
    finally:
        if deadline is not None:
            stream.wait_until(None)
    if status and deadline is not None and time.monotonic() >= deadline:
        status = _TIMED_OUT
    text = _text(data)
    if array:
        _assign_array(shell, array, text, raw)
        return status
    if not names:
        shell.variables.set("REPLY", text if raw else _unescaped(text))
        return status
    if exact:
        shell.assign(names[0], text if raw else _unescaped(text))
        _check_names(shell, names)
        for name in names[1:]:
            shell.assign(name, "")
        return status
    _assign_names(shell, names, text, raw)
    return status


def _read_line(shell: Interpreter, names: list[str]) -> int:
    """`read -r names`, the common form."""
    stream = shell.fds.get(0)
    if stream is None or not stream.readable:
        raise ShellError("read error: 0: Bad file descriptor")
    _check_names(shell, names)
    try:
        data = stream.readline()
    except OSError as error:
        raise ShellError(f"read error: 0: {error.strerror}") from None
    ended = data[-1:] == b"\n"
    _assign_names(shell, names, _text(data[:-1] if ended else data), True)
    return 0 if ended else 1


def _check_names(shell: Interpreter, names: list[str]) -> None:
    for name in names:
        if not (name.isidentifier() and name.isascii()) and not is_reference(shell, name):
            raise BuiltinUsageError(f"`{name}': not a valid identifier", 1)


def _text(data: bytes) -> str:
    """What was read as text, without NULs."""
    text = data.decode("utf-8", "surrogateescape")
    return text.replace("\0", "") if "\0" in text else text


def _read(stream: Stream, delimiter: bytes, count: int | None, exact: bool, raw: bool) -> tuple[bytes, int]:
    """The bytes of one record (backslashes still in it unless raw), and the status."""
    if count is None:
        data = _until(stream, delimiter)
        ended = data.endswith(delimiter)
        if ended:
            data = data[:-1]
        if not raw:
            while ended and _open_backslash(data):
                # An escaped newline goes; another delimiter stays, escaped.
                data = data[:-1] if delimiter == b"\n" else data + delimiter
                more = _until(stream, delimiter)
                ended = more.endswith(delimiter)
                data += more[:-1] if ended else more
            if b"\\\n" in data:
                data = re.sub(
                    rb"\\(.)", lambda found: b"" if found[1] == b"\n" else found[0], data, flags=re.DOTALL
                )
        return data, 0 if ended else 1
    pieces = bytearray()
    characters = 0
    while characters < count:
        byte = stream.read(1)
        if not byte:
            return bytes(pieces), 1
        if byte == delimiter and not exact:
            return bytes(pieces), 0
        if byte == b"\0":
            continue
        if byte == b"\\" and not raw:
            following = stream.read(1)
            if following == b"\n":
                continue
            pieces += byte + following
            characters += 1
            continue
        first = byte[0]
        if first >= 0xC0:
            byte += stream.read(3 if first >= 0xF0 else 2 if first >= 0xE0 else 1)
        pieces += byte
        characters += 1
    return bytes(pieces), 0


def _open_backslash(data: bytes) -> bool:
    return data.endswith(b"\\") and (len(data) - len(data.rstrip(b"\\"))) % 2 == 1


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.|\Z)", r"\1", text, flags=re.DOTALL) if "\\" in text else text


def _characters(text: str, raw: bool) -> list[tuple[str, bool]]:
    """Characters with whether a backslash protects each from being a separator."""
    result: list[tuple[str, bool]] = []
    position = 0
    while position < len(text):
        char = text[position]
        if char == "\\" and not raw:
            position += 1
            if position < len(text):
                result.append((text[position], True))
        else:
            result.append((char, False))
        position += 1
    return result


def _split_some(shell: Interpreter, text: str, most: int, raw: bool) -> list[str]:
    """At most `most` fields, the last of them with all that is left (-1: as many as there are)."""
    ifs = shell.ifs
    if raw and ifs == " \t\n" and most == 1:
        return [text.strip(" \t\n")]
    if not ifs:
        return [text if raw else _unescaped(text)]
    if raw or "\\" not in text:
        if ifs == " \t\n" and most > 0:
            bare = text.strip(" \t\n")
            if most == 1 or not bare:
                return [bare] if bare else []
            return _BLANKS.split(bare, most - 1)
        return _split_plain(text, ifs, most)
    marked = _characters(text, raw)
    # Protected characters go through splitting as private ones.
    private = {}
    encoded: list[str] = []
    for char, protected in marked:
        if protected:
            stand_in = chr(0xF0000 + ord(char)) if ord(char) < 0xFFFF else char
            private[stand_in] = char
            encoded.append(stand_in)
        else:
            encoded.append(char)
    fields = _split_plain("".join(encoded), ifs, most)
    if len(fields) == most and any(char in ifs for char in fields[-1]):
        # From what is left over even protected blanks go at the end.
        blanks = [stand_in for stand_in, char in private.items() if char in " \t\n" and char in ifs]
        fields[-1] = fields[-1].rstrip("".join(blanks))
    return ["".join(private.get(char, char) for char in field) for field in fields]


@lru_cache(maxsize=64)
def _separator(ifs: str) -> re.Pattern[str]:
    """What stands between two fields: white space, around at most one character that is none."""
    white = "".join(re.escape(char) for char in ifs if char in " \t\n")
    other = "".join(re.escape(char) for char in ifs if char not in " \t\n")
    if not other:
        return re.compile(f"[{white}]+")
    return re.compile(f"[{white}]*[{other}][{white}]*|[{white}]+" if white else f"[{other}]")


def _split_plain(text: str, ifs: str, most: int) -> list[str]:
    white = "".join(char for char in ifs if char in " \t\n")
    text = text.strip(white) if white else text
    if not text:
        return []
    separator = _separator(ifs)
    fields = [text] if most == 1 else separator.split(text, max(most - 1, 0))
    if not fields[-1]:
        fields.pop()
    elif len(fields) == most:
        # The last field is all that is left, unless that is one field and a separator.
        end = separator.search(fields[-1])
        if end is not None and end.end() == len(fields[-1]):
            fields[-1] = fields[-1][: end.start()]
    return fields


def _assign_names(shell: Interpreter, names: list[str], text: str, raw: bool) -> None:
    fields = _split_some(shell, text, len(names), raw)
    variables = shell.variables
    table, setters = shell.table, variables.setters
    for place, name in enumerate(names):
        if place:
            # Names are looked at when they get their values.
            _check_names(shell, [name])
        value = fields[place] if place < len(fields) else ""
        variable = table.get(name)
        if (
            variable is not None
            and not variable.flags & SLOW_WRITE
            and name not in setters
            and len(value) <= SHORT
        ):
            variable.value = value
        elif name.endswith("]"):
            shell.assign(name, value)
        else:
            variables.set(name, value)


def _assign_array(shell: Interpreter, name: str, text: str, raw: bool) -> None:
    variable = shell.variables.target(name)
    if variable.flags & ASSOCIATIVE:
        raise ShellError(f"{name}: not an indexed array")
    fields = _split_some(shell, text, -1, raw)
    if not shell.ifs:
        fields = [fields[0]] if fields and fields[0] else []
    variable.flags |= INDEXED
    variable.value = None
    if variable.flags & SLOW_WRITE & ~INDEXED:
        fields = [shell.variables.converted(variable, field, None, False) for field in fields]
    variable.array = dict(enumerate(fields))
    variable.ordered = True


#: What the numbers are that options of `mapfile` take.
_NUMBERS = {
    "n": "line count", "O": "array origin", "s": "line count", "c": "callback quantum",
    "u": "file descriptor specification",
}  # fmt: skip


@builtin("mapfile", "readarray")
def mapfile(shell: Interpreter, argv: list[str]) -> int:
    options, operands = options_of(argv, "d:n:O:s:tu:C:c:")
    given = dict(options)
    name = operands[0] if operands else "MAPFILE"
    if not name:
        raise BuiltinUsageError("empty array variable name")
    if not is_name(name):
        raise BuiltinUsageError(f"`{name}': not a valid identifier", 1)
    numbers: dict[str, int] = {}
    for letter, default in (("n", 0), ("O", 0), ("s", 0), ("c", 5000), ("u", 0)):
        text = given.get(letter, str(default))
        if not text.isdecimal() or (letter == "c" and not int(text)):
            raise BuiltinUsageError(f"{text}: invalid {_NUMBERS[letter]}", 1)
        numbers[letter] = int(text)
    stream = _input(shell, numbers["u"])
    delimiter = (given["d"].encode("utf-8", "surrogateescape")[:1] or b"\0") if "d" in given else b"\n"
    variable = shell.variables.target(name)
    if variable.flags & ASSOCIATIVE:
        raise ShellError(f"{name}: not an indexed array")
    shell.variables.make_array(variable)
    if "O" not in given or variable.array is None:
        variable.array = {}
        variable.ordered = True
    index = numbers["O"]
    strip = "t" in given
    callback = given.get("C")
    for _ in range(numbers["s"]):
        if not _until(stream, delimiter):
            return 0
    count = 0
    while not numbers["n"] or count < numbers["n"]:
        record = _until(stream, delimiter)
        if not record:
            break
        if (strip and record.endswith(delimiter)) or delimiter == b"\0":
            record = record.removesuffix(delimiter)
        # Strings of a shell end at a NUL.
        text = record.partition(b"\0")[0].decode("utf-8", "surrogateescape")
        count += 1
        if callback is not None and count % numbers["c"] == 0:
            shell.run_text(f"{callback} {index} {single_quoted(text)}")
        shell.variables.grow(text)
        if variable.flags & SLOW_WRITE & ~INDEXED:
            text = shell.variables.converted(variable, text, None, False)
        variable.store(index, text)
        index += 1
    return 0


def _stream_read(shell: Interpreter, argv: list[str]) -> Generator[None, None, int]:
    """`read` and `mapfile` in a pipeline: other stages run until there is something to read."""
    stream = shell.fds.get(0)
    if isinstance(stream, PipeInput) and stream.position >= len(stream.buffer):
        timeout = read_timeout(shell, argv)
        yield from shell.wait_for_input(stream, None if timeout is None else time.monotonic() + timeout)
    return shell.builtins[argv[0]](shell, argv)


STREAMING.update(dict.fromkeys(("read", "mapfile", "readarray"), _stream_read))
