"""What `%%capture` and `name = !command` give."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planaria_kernel.execution.display import Display

__all__ = ["CapturedIO", "Lines"]


class Lines(list[str]):
    """The lines that a command printed: a list, with IPython's short names for its forms."""

    @property
    def l(self) -> list[str]:  # noqa: E743 - IPython's name
        """As a plain list."""
        return list(self)

    @property
    def n(self) -> str:
        """As a string, joined by newlines."""
        return "\n".join(self)

    @property
    def s(self) -> str:
        """As a string, joined by spaces."""
        return " ".join(self)

    def grep(self, pattern: str) -> Lines:
        """The lines that a regular expression is found in."""
        import re

        return Lines(line for line in self if re.search(pattern, line, re.IGNORECASE))


class CapturedIO:
    """What a `%%capture NAME` cell printed and displayed."""

    def __init__(self, out: io.StringIO, err: io.StringIO, outputs: list[Any], display: Display) -> None:
        self._out = out
        self._err = err
        self.outputs = outputs
        """(kind, mime bundle, metadata) of what was displayed."""
        self._display = display

    @property
    def stdout(self) -> str:
        return self._out.getvalue()

    @property
    def stderr(self) -> str:
        return self._err.getvalue()

    def show(self) -> None:
        """Print and display it now."""
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for kind, data, metadata in self.outputs:
            self._display.send(kind, data, metadata)

    __call__ = show

    def __str__(self) -> str:
        return self.stdout
