"""Numbers as text by CONVFMT or OFMT, and comparisons of values."""

from __future__ import annotations

from typing import Any

from planaria_shell.commands.text.awk.printf import format_values
from planaria_shell.commands.text.awk.syntax import fatal
from planaria_shell.commands.text.awk.values import Input, Regexp, looks_numeric, number_text

__all__ = ["Conversion"]


def _format_number(value: float, template: str) -> str:
    """A number as text: integers plainly, others by the template."""
    is_plain = value - value != 0.0 or value == int(value)
    return number_text(value) if is_plain else format_values(template, (value,))


class Conversion:
    """Numbers to text by one template, with the texts of recent numbers kept."""

    def __init__(self) -> None:
        self.template = "%.6g"
        #: IGNORECASE, for comparisons.
        self.fold = False
        self.known: dict[float, str] = {}

    def set(self, template: str) -> None:
        """Use another template from now on."""
        self.template = template
        self.known.clear()

    def number_text(self, value: float) -> str:
        text = self.known.get(value)
        if text is None:
            text = number_text(value) if self.template == "%.6g" else _format_number(value, self.template)
            if len(self.known) > 50_000:
                self.known.clear()
            self.known[value] = text
        return text

    def text(self, value: Any) -> str:
        """Any value as text."""
        kind = value.__class__
        if kind is str or kind is Input:
            return value  # type: ignore[no-any-return]
        if kind is float:
            return self.known.get(value) or self.number_text(value)
        if value is None:
            return ""
        if kind is Regexp:
            return str(value)
        raise fatal("attempt to use an array in a scalar context")

    def compare(self, left: Any, right: Any) -> int:
        """-1, 0 or 1: as numbers when both are numbers or input that looks like one, else as texts."""
        # An unset value is a number beside a number and the empty text beside a text.
        kind = left.__class__
        x = left if kind is float else looks_numeric(left) if kind is Input else 0.0 if left is None else None
        if x is not None:
            kind = right.__class__
            y = right if kind is float else looks_numeric(right) if kind is Input else None
            if right is None:
                y = 0.0
            if y is not None:
                return -1 if x < y else x > y
        a, b = self.folded(self.text(left)), self.folded(self.text(right))
        return (a > b) - (a < b)

    def compare_field(self, text: str, number: float) -> int:
        """The same for a field and a number."""
        try:
            value = float(text)
            if value - value != 0.0 or "_" in text or not text.isascii():
                return self.compare(Input(text), number)
        except ValueError:
            a, b = self.folded(text), self.folded(self.text(number))
            return (a > b) - (a < b)
        return -1 if value < number else value > number

    def folded(self, text: str) -> str:
        """The text for a comparison: without case when IGNORECASE says so."""
        return text.lower() if self.fold else text
