"""rg: search directories for lines that match, with ripgrep's options and defaults (ripgrep 13)."""

from __future__ import annotations

import io
import json
import re
from base64 import b64encode
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field

from planaria_shell.commands.text.grep.patterns import Matcher, crosses_lines
from planaria_shell.commands.text.grep.ripgrep_files import TYPES, Selection, walk
from planaria_shell.commands.text.grep.search import Chunks, Output, Search
from planaria_shell.state.command import Process, Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.regex.posix import compile_perl
from planaria_shell.toolkit.regex.syntax import RegexError
from planaria_shell.toolkit.streams import FileInput, Source, decode, encode, is_directory, open_input, reason

_HELP = """ripgrep 13.0.0
rg [OPTIONS] PATTERN [PATH ...]

Search:  -e PATTERN -f FILE -i -s -S -w -x -F -v -P -m NUM -U
Output:  -c --count-matches -l --files-without-match -o -r TEXT -n -N -H -I --column --vimgrep -b -0 -q
         --heading --json --trim --passthru --color=always -A NUM -B NUM -C NUM
Files:   -g GLOB --iglob GLOB -t TYPE -T TYPE --type-list --files -u -uu -uuu --hidden --no-ignore -L -d NUM
"""


@dataclass(slots=True)
class _View(Output):
    """How matches are shown; ripgrep's additions to grep's."""

    replacement: str | None = None
    column: bool = False
    each_match: bool = False
    trim: bool = False
    count_matches: bool = False
    include_zero: bool = False
    heading: bool = False
    json: bool = False
    everything: bool = False
    headed: bool = False
    types: list[str] = field(default_factory=list)

    def paint(self, kind: str, text: str) -> str:
        color = self.colors.get(kind)
        return f"\33[0m{color}{text}\33[0m" if color and text else text


@command(
    "rg",
    short="e:f:isSwxFvcloHIInNA:B:C:m:r:g:t:T:uqLad:0bUP.M:j:E:z?Vh",
    long="regexp=e: file=f: ignore-case=i case-sensitive=s smart-case=S word-regexp=w line-regexp=x "
    "fixed-strings=F invert-match=v count=c count-matches files-with-matches=l "
    "files-without-match only-matching=o with-filename=H no-filename=I line-number=n "
    "no-line-number=N after-context=A: before-context=B: context=C: max-count=m: replace=r: "
    "glob=g: iglob: type=t: type-not=T: type-list unrestricted=u quiet=q follow=L text=a "
    "max-depth=d: maxdepth=d: null=0 byte-offset=b column vimgrep hidden=. no-ignore "
    "no-ignore-vcs=no-ignore files heading no-heading json color: trim multiline=U pcre2=P sort: "
    "sortr: no-messages include-zero passthru max-columns=M: threads=j: context-separator: "
    "no-config encoding=E: stats line-buffered binary no-unicode pretty=p version=V help=h",
    help=_HELP,
    version="ripgrep 13.0.0\n",
    failure=2,
    complaint="error: {}",
    hint="",
)
def rg(call: Invocation) -> Generator[None, None, Status]:
    """Search recursively; status 0 with a match, 1 without, 2 after an error."""
    process, options = call.process, call.arguments
    given = options.options
    flags = dict(given)
    try:
        if "type-list" in flags:
            lines = [f"{name}: {', '.join(globs.split())}\n" for name, globs in sorted(TYPES.items())]
            process.stdout.write("".join(lines).encode())
            return 0
        operands = options.operands
        listing = "files" in flags
        patterns = _patterns(process, given)
        if not patterns and not listing:
            if not operands:
                raise UsageError("the following required arguments were not provided:\n    <PATTERN>")
            patterns = [operands.pop(0)]
        selection = _selection(given)
        view = _view(given)
        matcher = _matcher(patterns, flags, given) if not listing else None
    except RegexError as problem:
        process.stderr.write(encode(f"regex parse error: {problem}\n"))
        return 2
    if view.names is None:
        view.names = not (len(operands) == 1 and not is_directory(process, operands[0]))
    matched = failed = False
    for name, shown, source in _inputs(process, operands, selection):
        if isinstance(source, str):
            failed = True
            if "no-messages" not in flags:
                process.stderr.write(encode(f"{shown}: {source}\n"))
            continue
        if matcher is None:
            process.stdout.write(encode(shown + ("\0" if view.null_names else "\n")))
            matched = True
            source.close()
            if process.stdout.full:
                yield
            continue
        if not operands and name == "-":
            view.names = "H" in flags
        search = _Search(view, matcher, shown, process)
        search.walked = name != "-" and name not in operands
        try:
            matched |= yield from search.run(source)
        finally:
            source.close()
        if matched and view.quiet:
            return 0
    if view.json and not view.quiet:
        _Search.summary(process)
    return 2 if failed else 0 if matched else 1


def _patterns(process: Process, given: list[tuple[str, str | None]]) -> list[str]:
    patterns: list[str] = []
    for name, value in given:
        if name == "e":
            patterns.append(value or "")
        elif name == "f":
            try:
                source = open_input(process, value or "")
            except OSError as problem:
                raise UsageError(f"{value}: {reason(problem)}") from None
            patterns += decode(source.read()).removesuffix("\n").split("\n")
            source.close()
    return patterns


def _selection(given: list[tuple[str, str | None]]) -> Selection:
    selection = Selection()
    unrestricted = 0
    for name, text in given:
        value = text or ""
        match name:
            case "g" | "iglob":
                selection.globs.append((value, name == "iglob"))
            case "t" | "T":
                if value not in TYPES:
                    raise UsageError(f"unrecognized file type: {value}")
                (selection.types if name == "t" else selection.not_types).append(value)
            case "u":
                unrestricted += 1
            case ".":
                selection.hidden = True
            case "no-ignore":
                selection.ignore_files = False
            case "L":
                selection.follow = True
            case "d":
                selection.depth = _number(value)
    if unrestricted:
        selection.ignore_files = False
    if unrestricted > 1:
        selection.hidden = True
    return selection


def _number(text: str) -> int:
    if not text.isdigit():
        raise UsageError(f"could not parse '{text}' as a number")
    return int(text)


def _view(given: list[tuple[str, str | None]]) -> _View:
    view = _View(binary="text", names=None)  # type: ignore[arg-type]
    for name, text in given:
        value = text or ""
        match name:
            case "v":
                view.invert = True
            case "c":
                view.count = True
            case "count-matches":
                view.count = view.count_matches = True
            case "include-zero":
                view.include_zero = True
            case "l":
                view.list_files = "l"
            case "files-without-match":
                view.list_files = "L"
            case "o":
                view.only_matching = True
            case "H" | "I":
                view.names = name == "H"
            case "n" | "N":
                view.numbers = name == "n"
            case "A":
                view.after = _number(value)
            case "B":
                view.before = _number(value)
            case "C":
                view.before = view.after = _number(value)
            case "m":
                view.max_count = _number(value)
            case "r":
                view.replacement = value
            case "q":
                view.quiet = True
            case "0":
                view.null_names = True
            case "b":
                view.offsets = True
            case "column" | "vimgrep":
                view.numbers = view.column = True
                if name == "vimgrep":
                    view.names = view.each_match = True
            case "heading" | "no-heading":
                view.heading = name == "heading"
            case "p":
                view.heading = view.numbers = True
                view.colors = dict(_COLORS)
            case "json":
                view.json = view.numbers = view.offsets = True
            case "trim":
                view.trim = True
            case "passthru":
                view.everything = True
            case "context-separator":
                view.separator = value
            case "color" if value in ("always", "ansi"):
                view.colors = dict(_COLORS)
    return view


_COLORS = {"fn": "\33[35m", "ln": "\33[32m", "ms": "\33[1m\33[31m"}


def _matcher(
    patterns: list[str], flags: dict[str, str | None], given: list[tuple[str, str | None]]
) -> Matcher:
    sources = [re.escape(one) if "F" in flags else one for one in patterns]
    cases = [name for name, _ in given if name in "isS"]
    case = cases[-1] if cases else "s"
    plain = re.sub(r"\\[pP]\{[^}]*\}|\\x\{[^}]*\}|\\.", "", "".join(patterns))
    fold = case == "i" or (case == "S" and plain == plain.lower())
    for source in sources:
        compile_perl(source, unicode=True)
    source = sources[0] if len(sources) == 1 else "|".join(f"(?:{one})" for one in sources)
    if "w" in flags:
        source = rf"(?<!\w)(?:{source})(?!\w)"
    if "x" in flags:
        source = f"^(?:{source})$"
    crosses = any(crosses_lines(one) for one in sources)
    unicode = "no-unicode" not in flags
    pattern = compile_perl(source, ignore_case=fold, newline="text" if crosses else "lines", unicode=unicode)
    return Matcher(pattern, not crosses, ())


def _inputs(
    process: Process, operands: list[str], selection: Selection
) -> Iterator[tuple[str, str, Source | _Resumed | str]]:
    """(operand or path, name to show, input or error message)."""
    if not operands:
        # With something on standard input that is searched, else the working directory.
        chunks = process.stdin.chunks()
        first = next(chunks, b"")
        if first:
            yield "-", "<stdin>", _Resumed(first, chunks)
            return
    for operand in operands or [""]:
        if operand == "-":
            yield "-", "<stdin>", open_input(process, "-")
        elif not operand or is_directory(process, operand):
            path = process.path(operand) if operand else process.cwd
            try:
                for found, shown in walk(path, operand, selection):
                    yield from _opened(found, shown)
            except OSError as problem:
                yield operand, operand, f"{reason(problem)} (os error {problem.errno})"
        else:
            yield from _opened(process.path(operand), operand, operand)


def _opened(
    path: str, shown: str, operand: str | None = None
) -> Iterator[tuple[str, str, Source | _Resumed | str]]:
    try:
        yield operand or path, shown, FileInput(io.FileIO(path))
    except OSError as problem:
        yield operand or path, shown, f"{reason(problem)} (os error {problem.errno})"


class _Resumed:
    """An input of which the first chunk has been read."""

    def __init__(self, first: bytes, rest: Iterator[bytes]) -> None:
        self._pending = [first]
        self._rest = rest

    def chunks(self) -> Iterator[bytes]:
        yield from self._pending
        yield from self._rest

    def unread(self, data: bytes) -> None:
        """ripgrep leaves nothing of its input to the next reader."""

    def close(self) -> None:
        """Standard input stays open."""


class _Search(Search):
    """The search of one file, shown as ripgrep shows it."""

    output: _View

    def __init__(self, view: _View, matcher: Matcher, name: str, process: Process) -> None:
        super().__init__(view, matcher, name, process)
        self.walked = False
        self.begun = False
        if (
            view.names
            or view.replacement is not None
            or view.column
            or view.trim
            or view.heading
            or view.json
            or view.everything
        ):
            self.plain = False
        if view.everything:
            self.context = True
            self.after = self.pending = 1 << 62
        self.expand = _expander(view.replacement) if view.replacement is not None else None

    def run(self, source: Chunks) -> Generator[None, None, bool]:
        """As grep's, but files with NUL bytes are left out unless named, and named ones end there."""
        view, stdout = self.output, self.process.stdout
        if view.max_count == 0:
            return False
        matches = 0
        for text in self._texts(source):
            nul = text.find("\0") if view.binary != "text" or not self._as_text else -1
            if nul >= 0:
                if self.walked:
                    return view.list_files == "L"
                if any(True for _ in self._selected(text)):
                    self.selected = self.selected or 1
                    if self.printing:
                        where = f'(found "\\0" byte around offset {self.offset + nul})'
                        self.waiting.append(
                            f"{self._name(':') if view.names else ''}binary file matches {where}\n"
                        )
                break
            if view.count_matches:
                matches += sum(
                    sum(1 for _ in self._matches(text[a : b - 1])) for a, b in self._selected(text)
                )
            self._search(text)
            if self.waiting:
                stdout.write(encode("".join(self.waiting)))
                self.waiting.clear()
                if stdout.full:
                    yield
            if self.done:
                break
        if self.waiting:
            stdout.write(encode("".join(self.waiting)))
            self.waiting.clear()
        if view.count and not view.quiet:
            count = matches if view.count_matches else self.selected
            if count or view.include_zero:
                stdout.write(encode(f"{self._name(':')}{count}\n"))
        elif view.list_files and bool(self.selected) == (view.list_files == "l"):
            stdout.write(encode(view.paint("fn", self.name) + ("\0" if view.null_names else "\n")))
            return True
        if view.json and self.begun:
            self._write_json("end", {"binary_offset": None, "stats": {"matches": self.selected}})
        return self.selected > 0 and view.list_files != "L"

    @property
    def _as_text(self) -> bool:
        return "-a" in self.process.argv or "--text" in self.process.argv or "-uuu" in self.process.argv

    def _print_selected(self, text: str, start: int, end: int) -> None:
        view = self.output
        if view.json:
            self._print_json(text[start:end], self._offset(text, start))
            return
        if view.heading and view.names and not self.begun:
            if view.headed:
                self.waiting.append("\n")
            self.waiting.append(view.paint("fn", self.name) + "\n")
            self.begun = view.headed = True
        super()._print_selected(text, start, end)

    def _print_line(self, line: str, separator: str, number: int, offset: int) -> None:
        view = self.output
        body = line.removesuffix("\n")
        selected = separator == ":"
        spans = list(self._matches(body)) if selected and not view.invert else []
        if view.each_match and spans:
            for start, _ in spans:
                self.waiting.append(f"{self._head(separator, number, offset, body, start)}{body}\n")
            return
        column = spans[0][0] if spans else 0 if selected else None
        head = self._head(separator, number, offset, body, column)
        if selected and self.expand is not None:
            body = self.pattern.engine(body).sub(self.expand, body)
        elif view.colors and spans:
            pieces: list[str] = []
            position = 0
            for start, end in spans:
                pieces += [body[position:start], view.paint("ms", body[start:end])]
                position = end
            body = "".join(pieces) + body[position:]
        self.waiting.append(head + (body.lstrip() if view.trim else body) + "\n")

    def _head(self, separator: str, number: int, offset: int, body: str, column: int | None) -> str:
        view = self.output
        head = "" if view.heading else self._name(separator)
        if view.numbers:
            head += view.paint("ln", str(number)) + separator
        if view.column and column is not None:
            head += f"{len(encode(body[:column])) + 1}{separator}"
        return head + (f"{offset}{separator}" if view.offsets else "")

    def _print_matches(self, line: str, offset: int) -> None:
        view = self.output
        body = line.removesuffix("\n")
        for start, end in self._matches(body):
            shown = body[start:end]
            if self.expand is not None:
                found = self.pattern.search(body, start)
                shown = self.expand(found) if found else shown
            head = self._head(":", self.line_number, offset + len(encode(body[:start])), body, start)
            self.waiting.append(f"{head}{view.paint('ms', shown)}\n")

    # JSON lines, as ripgrep documents them.

    def _print_json(self, line: str, offset: int) -> None:
        if not self.begun:
            self.begun = True
            self._write_json("begin", {})
        body = line.removesuffix("\n")
        matches = [
            {"match": _json_text(body[a:b]), "start": len(encode(body[:a])), "end": len(encode(body[:b]))}
            for a, b in ([] if self.output.invert else self._matches(body))
        ]
        self._write_json(
            "match",
            {
                "lines": _json_text(line),
                "line_number": self.line_number,
                "absolute_offset": offset,
                "submatches": matches,
            },
        )

    def _write_json(self, kind: str, data: dict[str, object]) -> None:
        message = {"type": kind, "data": {"path": _json_text(self.name), **data}}
        self.waiting.append(json.dumps(message, separators=(",", ":"), ensure_ascii=False) + "\n")
        if kind == "end":
            self.process.stdout.write(encode("".join(self.waiting)))
            self.waiting.clear()

    @staticmethod
    def summary(process: Process) -> None:
        """The last JSON line."""
        message = {"type": "summary", "data": {"elapsed_total": {"human": "0s", "nanos": 0, "secs": 0}}}
        process.stdout.write((json.dumps(message, separators=(",", ":")) + "\n").encode())


def _json_text(text: str) -> dict[str, str]:
    try:
        text.encode()
    except UnicodeEncodeError:
        return {"bytes": b64encode(encode(text)).decode()}
    return {"text": text}


def _expander(replacement: str) -> Callable[[re.Match[str]], str]:
    """ripgrep's `$1`, `$name`, `${name}` and `$$`; a group that is not there is empty."""
    pieces = re.split(r"\$(\$|\w+|\{\w+\})", replacement)

    def group(found: re.Match[str], name: str) -> str:
        if name == "$":
            return "$"
        name = name.strip("{}")
        if name.isdigit():
            return (found[int(name)] or "") if int(name) <= found.re.groups else ""
        return (found[name] or "") if name in found.re.groupindex else ""

    def expand(found: re.Match[str]) -> str:
        return "".join(group(found, piece) if index % 2 else piece for index, piece in enumerate(pieces))

    return expand
