"""dircolors: the colours of ls as the value of LS_COLORS."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator

from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, utility
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote
from planaria_shell.toolkit.streams import decode, reason

__all__: list[str] = []

#: Keywords of a database, and what stands for them in LS_COLORS.
_CODES = {
    "NORMAL": "no", "NORM": "no", "FILE": "fi", "RESET": "rs", "DIR": "di", "LNK": "ln", "LINK": "ln",
    "SYMLINK": "ln", "ORPHAN": "or", "MISSING": "mi", "FIFO": "pi", "PIPE": "pi", "SOCK": "so", "BLK": "bd",
    "BLOCK": "bd", "CHR": "cd", "CHAR": "cd", "DOOR": "do", "EXEC": "ex", "LEFT": "lc", "LEFTCODE": "lc",
    "RIGHT": "rc", "RIGHTCODE": "rc", "END": "ec", "ENDCODE": "ec", "SUID": "su", "SETUID": "su",
    "SGID": "sg", "SETGID": "sg", "STICKY": "st", "OTHER_WRITABLE": "ow", "OWR": "ow",
    "STICKY_OTHER_WRITABLE": "tw", "OWT": "tw", "CAPABILITY": "ca", "MULTIHARDLINK": "mh", "CLRTOEOL": "cl",
}  # fmt: skip
_IGNORED = ("OPTIONS", "COLOR", "EIGHTBIT")
_TYPES = (
    "RESET 0 DIR 01;34 LINK 01;36 MULTIHARDLINK 00 FIFO 40;33 SOCK 01;35 DOOR 01;35 BLK 40;33;01 "
    "CHR 40;33;01 ORPHAN 40;31;01 MISSING 00 SETUID 37;41 SETGID 30;43 CAPABILITY 00 "
    "STICKY_OTHER_WRITABLE 30;42 OTHER_WRITABLE 34;42 STICKY 37;44 EXEC 01;32"
)
_TERMINALS = (
    "Eterm ansi *color* con[0-9]*x[0-9]* cons25 console cygwin *direct* dtterm gnome hurd jfbterm konsole "
    "kterm linux linux-c mlterm putty rxvt* screen* st terminator tmux* vt100 xterm*"
)
_ARCHIVES = (
    "tar tgz arc arj taz lha lz4 lzh lzma tlz txz tzo t7z zip z dz gz lrz lz lzo xz zst tzst bz2 bz tbz tbz2 "
    "tz deb rpm jar war ear sar rar alz ace zoo cpio 7z rz cab wim swm dwm esd"
)
_IMAGES = (
    "avif jpg jpeg mjpg mjpeg gif bmp pbm pgm ppm tga xbm xpm tif tiff png svg svgz mng pcx mov mpg mpeg m2v "
    "mkv webm webp ogm mp4 m4v mp4v vob qt nuv wmv asf rm rmvb flc avi fli flv gl dl xcf xwd yuv cgm emf ogv "
    "ogx"
)
_SOUNDS = "aac au flac m4a mid midi mka mp3 mpc ogg ra wav oga opus spx xspf"
_LEFTOVERS = (
    "*~ *# .bak .old .orig .part .rej .swp .tmp .dpkg-dist .dpkg-old .ucf-dist .ucf-new .ucf-old .rpmnew "
    ".rpmorig .rpmsave"
)


def _database() -> Iterator[str]:
    """The colours that are used without a file."""
    yield "COLORTERM ?*"
    for name in _TERMINALS.split():
        yield f"TERM {name}"
    words = _TYPES.split()
    yield from map(" ".join, zip(words[::2], words[1::2], strict=True))
    for names, color in ((_ARCHIVES, "01;31"), (_IMAGES, "01;35"), (_SOUNDS, "00;36")):
        for name in names.split():
            yield f".{name} {color}"
    for name in _LEFTOVERS.split():
        yield f"{name} 00;90"


@utility(
    "dircolors",
    short="bcp",
    long="sh=b bourne-shell=b csh=c c-shell=c print-database=p print-ls-colors",
    usage="[OPTION]... [FILE]",
)
def dircolors(call: Invocation) -> Status:
    """Output commands to set the LS_COLORS environment variable."""
    arguments, names = call.arguments, call.operands
    listing = arguments.has("print-ls-colors")
    if arguments.has("p") and names:
        call.error(f"extra operand {quote(names[0])}")
        call.warn("file operands cannot be combined with --print-database (-p)")
        call.warn("Try 'dircolors --help' for more information.")
        return 1
    if arguments.has("p") and (listing or arguments.has("b", "c")):
        raise UsageError(
            "the options to output non shell syntax,\nand to select a shell syntax are mutually exclusive"
        )
    if len(names) > 1:
        raise UsageError(f"extra operand {quote(names[1])}")
    if arguments.has("p"):
        for line in _database():
            call.print(line)
        return 0
    syntax = arguments.last(("b", "c"))
    if syntax is None and not listing:
        shell = call.env.get("SHELL", "")
        if not shell:
            raise UsageError("no SHELL environment variable, and no shell type option given", hint=False)
        syntax = "c" if shell.rpartition("/")[2] in ("csh", "tcsh") else "b"
    lines = list(_database())
    if names:
        try:
            with call.open(names[0]) as source:
                lines = decode(source.read()).split("\n")
        except OSError as error:
            raise CommandError(f"{shell_quote(names[0])}: {reason(error)}") from None
    pairs = _colors(call, lines, names[0] if names else "")
    if call.status:
        return call.status
    if listing:
        for name, color in pairs:
            call.print(f"\x1b[{color}m{name}\t{color}\x1b[0m")
        return 0
    value = "".join(f"{name}={color}:" for name, color in pairs).replace("'", "'\\''")
    call.print(f"setenv LS_COLORS '{value}'" if syntax == "c" else f"LS_COLORS='{value}';\nexport LS_COLORS")
    return 0


def _colors(call: Invocation, lines: list[str], name: str) -> list[tuple[str, str]]:
    """What the lines say for this terminal."""
    term = call.env.get("TERM") or "none"
    color_term = call.env.get("COLORTERM", "")
    pairs: list[tuple[str, str]] = []
    # Entries before any TERM count everywhere; those after a group of TERMs, where one of them matches.
    state = "global"
    for number, line in enumerate(lines, 1):
        found = re.match(r"\s*([^\s#]\S*)(?:\s+(.*?))?\s*(?:(?<=\s)#.*)?$", line)
        if found is None:
            continue
        keyword, value = found[1], found[2] or ""
        if not value:
            call.complain(f"{shell_quote(name)}:{number}: invalid line;  missing second token")
            continue
        upper = keyword.upper()
        if upper in ("TERM", "COLORTERM"):
            if fnmatch.fnmatchcase(term if upper == "TERM" else color_term, value):
                state = "yes"
            elif state != "yes":
                state = "no"
            continue
        if state == "yes":
            state = "chosen"
        if state == "no":
            continue
        if keyword.startswith("."):
            pairs.append((f"*{keyword}", value))
        elif keyword.startswith("*"):
            pairs.append((keyword, value))
        elif upper in _CODES:
            pairs.append((_CODES[upper], value))
        elif upper not in _IGNORED and state != "global":
            call.complain(f"{shell_quote(name)}:{number}: unrecognized keyword {keyword}")
    return pairs
