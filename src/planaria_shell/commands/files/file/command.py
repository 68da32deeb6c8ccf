"""`file`: what a file is, by its first bytes (wording of file 5.44)."""

from __future__ import annotations

import json
import os
import re
import stat
import struct
from pathlib import PurePosixPath

from planaria_shell.commands.files.file.kinds import MAGIC, Kind
from planaria_shell.state.command import Process
from planaria_shell.toolkit.file_status import device_parts
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.streams import read_input, reason

#: How much of a file is looked at, in bytes.
_LOOKED_AT = 1 << 20

_SCRIPTS = {
    "sh": ("POSIX shell script", "text/x-shellscript"),
    "dash": ("Dash shell script", "text/x-shellscript"),
    "bash": ("Bourne-Again shell script", "text/x-shellscript"),
    "zsh": ("Paul Falstad's zsh script", "text/x-shellscript"),
    "ksh": ("Korn shell script", "text/x-shellscript"),
    "perl": ("Perl script text executable", "text/x-perl"),
    "python": ("Python script", "text/x-script.python"),
    "python2": ("Python script", "text/x-script.python"),
    "python3": ("Python script", "text/x-script.python"),
    "ruby": ("Ruby script", "text/x-ruby"),
    "node": ("Node.js script", "application/javascript"),
    "awk": ("awk script", "text/x-awk"),
    "gawk": ("GNU awk script", "text/x-gawk"),
    "lua": ("Lua script", "text/x-lua"),
    "php": ("PHP script", "text/x-php"),
    "tclsh": ("Tcl script", "text/x-tcl"),
}


def _binary_text(code: int) -> bool:
    return not (code in (7, 8, 9, 10, 12, 13, 27) or 32 <= code < 127 or code >= 128)


def _encoding(data: bytes) -> tuple[str, str, str] | None:
    """The encoding's descriptive name, its MIME name, and the text; None for binary data."""
    for mark, codec, name, mime in (
        (b"\xef\xbb\xbf", "utf-8-sig", "Unicode text, UTF-8 (with BOM)", "utf-8"),
        (b"\xff\xfe", "utf-16", "Unicode text, UTF-16, little-endian", "utf-16le"),
        (b"\xfe\xff", "utf-16", "Unicode text, UTF-16, big-endian", "utf-16be"),
    ):
        if data.startswith(mark):
            return name, mime, data.decode(codec, "replace")
    if any(_binary_text(code) for code in set(data)):
        return None
    if data.isascii():
        return "ASCII", "us-ascii", data.decode("ascii")
    try:
        return "Unicode text, UTF-8", "utf-8", data.decode("utf-8")
    except UnicodeDecodeError as error:
        if (
            error.start >= len(data) - 4
            and error.reason == "unexpected end of data"
            and len(data) >= _LOOKED_AT
        ):
            return "Unicode text, UTF-8", "utf-8", data.decode("utf-8", "replace")
    latin = not any(0x80 <= code < 0xA0 and code != 0x85 for code in set(data))
    text = data.decode("latin-1")
    return ("ISO-8859", "iso-8859-1", text) if latin else ("Non-ISO extended-ASCII", "unknown-8bit", text)


def _language(text: str, data: bytes) -> Kind | None:
    """The kind of a text by what is in it."""
    script = re.match(r"#!\s*(\S+)(?:[ \t]+(\S+))?", text)
    if script:
        name = PurePosixPath(script.group(1)).name
        if name == "env" and script.group(2):
            name = script.group(2)
        found = _SCRIPTS.get(name) or _SCRIPTS.get(re.sub(r"[\d.]+$", "", name))
        if found:
            return found[0], found[1]
        line = text[2:].split("\n")[0].strip()
        return f"a {line} script", "text/plain"
    start = text.lstrip("\ufeff \t\r\n")
    if start[:1] in ("{", "[") and _is_json(text):
        return "JSON text data", "application/json"
    if start[:1] in ("{", "[") and _is_json_lines(text):
        return "New Line Delimited JSON text data", "application/x-ndjson"
    declaration = re.match(r"<\?xml\s+version=[\"']([\d.]+)[\"']", start)
    if declaration:
        if "<svg" in start[:4096]:
            return "SVG Scalable Vector Graphics image", "image/svg+xml"
        return f"XML {declaration.group(1)} document", "text/xml"
    if re.match(r"<svg\b", start):
        return "SVG Scalable Vector Graphics image", "image/svg+xml"
    if re.match(r"<(?:!doctype\s+html|html\b|head\b|body\b|title\b)", start, re.IGNORECASE):
        return "HTML document", "text/html"
    if start.startswith("<?php"):
        return "PHP script", "text/x-php"
    if text.startswith("-----BEGIN CERTIFICATE-----"):
        return "PEM certificate", "text/plain"
    if text.startswith("-----BEGIN OPENSSH PRIVATE KEY-----"):
        return "OpenSSH private key", "text/plain"
    if text.startswith("-----BEGIN RSA PRIVATE KEY-----"):
        return "PEM RSA private key", "text/plain"
    if re.match(r"diff --git |--- \S.*\n\+\+\+ ", text):
        return ("unified diff output" if not text.startswith("diff") else "diff output"), "text/x-diff"
    if re.search(r"^\s*#\s*include\s*[<\"]", text, re.MULTILINE):
        plus = re.search(
            r"^\s*(?:class|template|namespace|using namespace)\b|<iostream>|std::", text, re.MULTILINE
        )
        return ("C++ source", "text/x-c++") if plus else ("C source", "text/x-c")
    if re.search(
        r"^(?:import \w+|from [\w.]+ import .+|def \w+\(.*\).*:\s*$|class \w+.*:\s*$)", text, re.MULTILINE
    ) and re.search(r"^(?:def \w+\(.*\).*:|from [\w.]+ import |import \w+\s*$)", text, re.MULTILINE):
        return "Python script", "text/x-script.python"
    if re.match(r"(?:\S+: .*\r?\n)+", text) and re.match(
        r"(?:From|Return-Path|Received|Delivered-To): ", text
    ):
        return "SMTP mail", "message/rfc822"
    if _is_csv(text):
        return "CSV text", "text/csv"
    del data
    return None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_json_lines(text: str) -> bool:
    lines = text.split("\n")
    lines = [line for line in lines[: -1 if len(text) >= _LOOKED_AT else None] if line]
    return len(lines) > 1 and all(_is_json(line) for line in lines[:100])


def _is_csv(text: str) -> bool:
    """The first lines have the same number of commas, at least one (as file does, up to ten lines)."""
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    counts = []
    for line in lines[:10]:
        counts.append(re.sub(r'"(?:[^"]|"")*"', "", line).count(","))
    return len(counts) >= 3 and counts[0] >= 1 and len(set(counts)) == 1


def describe(data: bytes) -> tuple[str, str, str]:
    """What data is: for people, its MIME type, its encoding."""
    for offset, mark, kind in MAGIC:
        if data[offset : offset + len(mark)] == mark:
            try:
                text, mime = kind(data)
            except (struct.error, IndexError, ValueError, OverflowError):
                continue
            return text, mime, "binary"
    encoded = _encoding(data)
    if encoded is None:
        return "data", "application/octet-stream", "binary"
    name, encoding, text = encoded
    found = _language(text, data)
    if found is not None and found[0] in ("JSON text data", "New Line Delimited JSON text data"):
        return found[0], found[1], encoding
    if found is not None and found[0] == "CSV text":
        return found[0] + _line_notes(text), found[1], encoding
    label = f"{name} text"
    if found is not None:
        executable = found[0].endswith("script") and (text.startswith("#!") or found[0] == "Python script")
        label = f"{found[0]}, {label}" + (" executable" if executable else "")
    return label + _line_notes(text), found[1] if found else "text/plain", encoding


def _line_notes(text: str) -> str:
    notes = []
    longest = max(map(len, re.split(r"[\r\n]+", text)), default=0)
    if longest > 300:
        notes.append(f"with very long lines ({longest})")
    crlf = text.count("\r\n")
    newline = text.count("\n") - crlf
    carriage = text.count("\r") - crlf
    ends = [name for name, count in (("CRLF", crlf), ("CR", carriage), ("LF", newline)) if count]
    if not ends:
        notes.append("with no line terminators")
    elif ends != ["LF"]:
        notes.append("with " + ", ".join(ends) + " line terminators")
    if "\x1b" in text:
        notes.append("with escape sequences")
    if "\b" in text:
        notes.append("with overstriking")
    return "".join(f", {note}" for note in notes)


def _special(process: Process, name: str, follow: bool) -> tuple[str, str, str] | None:
    """What is not a regular file, or empty."""
    path = process.path(name)
    try:
        found = os.stat(path) if follow else os.lstat(path)
    except OSError as error:
        return (
            f"cannot open `{name}' ({reason(error)})",
            f"cannot open `{name}' ({reason(error)})",
            "",
        )
    mode = found.st_mode
    if stat.S_ISLNK(mode):
        target = os.readlink(path)
        broken = not os.path.exists(path)
        return (
            f"{'broken ' if broken else ''}symbolic link to {target}",
            "inode/symlink",
            "" if broken else "binary",
        )
    prefix = "".join(
        word
        for bit, word in ((stat.S_ISUID, "setuid, "), (stat.S_ISGID, "setgid, "), (stat.S_ISVTX, "sticky, "))
        if mode & bit
    )
    if stat.S_ISDIR(mode):
        return f"{prefix}directory", "inode/directory", "binary"
    if stat.S_ISFIFO(mode):
        return "fifo (named pipe)", "inode/fifo", "binary"
    if stat.S_ISCHR(mode):
        return (
            "character special ({}/{})".format(*device_parts(found.st_rdev)),
            "inode/chardevice",
            "binary",
        )
    if stat.S_ISREG(mode) and found.st_size == 0:
        return "empty", "inode/x-empty", "binary"
    return None


@command(
    "file",
    short="bcCdDeEf:F:hiklLm:nNpP:rsSvzZ0",
    long="brief=b mime=i mime-type mime-encoding dereference=L no-dereference=h files-from=f: "
    "separator=F: no-pad=N print0=0 keep-going=k raw=r special-files=s uncompress=z no-sandbox=S "
    "extension help version=v",
    usage="[OPTION]... FILE...",
    version="file-5.44\n",
    hint="Usage: file [-bcCdEhikLlNnprsSvzZ0] [file ...]",
)
def file(call: Invocation) -> int:
    """Tell the type of files from what they contain."""
    process, arguments = call.process, call.arguments
    names = list(arguments.operands)
    listed = arguments.value("f")
    if listed is not None:
        names = read_input(process, listed).decode("utf-8", "surrogateescape").splitlines() + names
    if not names:
        process.stderr.write(b"Usage: file [-bcCdEhikLlNnprsSvzZ0] [file ...]\n")
        return 1
    follow = arguments.has("L") and not arguments.has("h")
    separator = arguments.value("F") or ":"
    widest = max(map(len, names))
    for name in names:
        if name == "-":
            data = process.stdin.read()
            found = describe(data) if data else ("empty", "inode/x-empty", "binary")
        else:
            special = _special(process, name, follow)
            if special is not None:
                found = special
            else:
                try:
                    with open(process.path(name), "rb") as opened:
                        found = describe(opened.read(_LOOKED_AT))
                except OSError as error:
                    found = (f"regular file, no read permission ({reason(error)})", "", "")
        text, mime, encoding = found
        if arguments.has("mime-type"):
            text = mime
        elif arguments.has("mime-encoding"):
            text = encoding
        elif arguments.has("i"):
            text = f"{mime}; charset={encoding}" if encoding else mime
        shown = "/dev/stdin" if name == "-" else name
        if arguments.has("b"):
            line = text
        elif arguments.has("N"):
            line = f"{shown}{separator} {text}"
        else:
            line = f"{shown}{separator}{' ' * (widest - len(name))} {text}"
        process.stdout.write(f"{line}\n".encode("utf-8", "surrogateescape"))
    return 0
