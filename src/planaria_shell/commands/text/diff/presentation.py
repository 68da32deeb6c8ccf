"""How the lines of differences are written: their marks, tabs and colours."""

from __future__ import annotations

from dataclasses import dataclass, field

_NO_NEWLINE = b"\\ No newline at end of file\n"
#: Colours of added, deleted, head and line number parts, and what ends them.
COLORS = {"rs": "0", "hd": "1", "ad": "32", "de": "31", "ln": "36"}


@dataclass(slots=True)
class Presentation:
    """The options that apply to all styles; `colors` is empty where nothing is coloured."""

    expand: bool = False
    initial_tab: bool = False
    suppress_blank_empty: bool = False
    tab_size: int = 8
    colors: dict[str, str] = field(default_factory=dict)

    def paint(self, kind: str, text: bytes) -> bytes:
        """Text in the colour of its kind; none for an empty kind."""
        if not self.colors or not kind:
            return text
        return b"\33[%sm%s\33[%sm" % (self.colors[kind].encode(), text, self.colors["rs"].encode())

    def line(self, mark: bytes, line: bytes, kind: str = "") -> bytes:
        """A line after its mark, whose first byte says what it is, and a note when no newline ends it."""
        body = line.removesuffix(b"\n")
        if self.suppress_blank_empty and not body:
            mark = mark.rstrip(b" ")
        elif self.initial_tab:
            mark = mark[:1] + b"\t"
        if self.expand:
            body = self.expanded(body)
        shown = self.paint(kind, mark + body) + b"\n"
        return shown if line.endswith(b"\n") else shown + _NO_NEWLINE

    def expanded(self, body: bytes) -> bytes:
        """With spaces for tabs."""
        text = body.decode("utf-8", "surrogateescape").expandtabs(self.tab_size)
        return text.encode("utf-8", "surrogateescape")


def palette(text: str) -> dict[str, str]:
    """The colours of `--palette=TEXT` (`ad=32:de=31`)."""
    colors = dict(COLORS)
    for part in text.split(":"):
        name, equals, value = part.partition("=")
        if equals and name in colors:
            colors[name] = value
    return colors
