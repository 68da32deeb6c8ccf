"""iconv: text from one encoding to another."""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Generator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.streams import Sink, reason

__all__: list[str] = []


def _codec(name: str, what: str) -> codecs.CodecInfo:
    """The encoding of a name, whose suffix says what becomes of characters that it does not have."""
    try:
        found = codecs.lookup(name.partition("//")[0] or "utf-8")
        if not found._is_text_encoding:  # such as base64 and rot13
            raise LookupError
    except LookupError:
        raise UsageError(f"conversion {what} `{name}' is not supported") from None
    return found


def _similar(error: UnicodeError) -> tuple[str | bytes, int]:
    """What stands for characters that an encoding does not have: plain letters, else question marks."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return plain or "?" * len(text), error.end


codecs.register_error("planaria.similar", _similar)


@command(
    "iconv",
    short="f:t:co:sl",
    long="from-code=f: to-code=t: output=o: silent=s list=l verbose byte-subst: unicode-subst:",
    usage="[OPTION]... [-f ENCODING] [-t ENCODING] [FILE]...",
    hint="Try `{name} --help' or `{name} --usage' for more information.",
)
def iconv(call: Invocation) -> Generator[None, None, Status]:
    """Convert the encoding of FILEs."""
    arguments = call.arguments
    if arguments.has("l"):
        from encodings.aliases import aliases

        for name in sorted(set(aliases.values())):
            call.print(name.upper().replace("_", "-") + "//")
        return 0
    target_name = arguments.value("t") or "utf-8"
    source_codec = _codec(arguments.value("f") or "utf-8", "from")
    target_codec = _codec(target_name, "to")
    suffixes = target_name.upper().split("//")[1:]
    leave_out = arguments.has("c") or "IGNORE" in suffixes
    encoding_errors = "ignore" if leave_out else "planaria.similar" if "TRANSLIT" in suffixes else "strict"
    assert source_codec.incrementaldecoder is not None
    assert target_codec.incrementalencoder is not None
    decoder = source_codec.incrementaldecoder("ignore" if leave_out else "strict")
    encoder = target_codec.incrementalencoder(encoding_errors)
    out: Sink = call.stdout
    file = None
    if (target := arguments.value("o")) is not None:
        try:
            out = file = call.create(target)
        except OSError as error:
            raise CommandError(f"unable to open output file: {reason(error)}") from None
    position = 0
    try:
        for name in call.operands or ["-"]:
            try:
                source = call.open(name)
            except OSError as error:
                call.complain(f"cannot open input file `{name}'", error)
                continue
            with source:
                for chunk in source.chunks():
                    held = len(decoder.getstate()[0])
                    try:
                        out.write(encoder.encode(decoder.decode(chunk)))
                    except UnicodeDecodeError as error:
                        good = _readable(error, source_codec)
                        out.write(encoder.encode(good))
                        at = position - held + error.start
                        raise CommandError(f"illegal input sequence at position {at}") from None
                    position += len(chunk)
                    if out.full:
                        yield
        try:
            out.write(encoder.encode(decoder.decode(b"", True), True))
        except UnicodeDecodeError:
            raise CommandError("incomplete character or shift sequence at end of buffer") from None
    except UnicodeEncodeError as error:
        good = error.object[: error.start]
        out.write(target_codec.encode(good)[0])
        before = len(source_codec.encode(good)[0])
        raise CommandError(f"illegal input sequence at position {position + before}") from None
    finally:
        if file is not None:
            file.close()
    return call.status


def _readable(error: UnicodeDecodeError, codec: codecs.CodecInfo) -> str:
    """What could be read before the bytes that could not."""
    return codec.decode(error.object[: error.start])[0]
