"""The units in which `du` and `df` print sizes."""

from __future__ import annotations

from planaria_shell.toolkit.invocation import Invocation
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.sizes import block_size, human_size

__all__ = ["Units"]


class Units:
    """How sizes in bytes are printed."""

    def __init__(self, call: Invocation) -> None:
        self.block, self.suffix, self.human = 1024, "", 0
        for key, value in call.arguments:
            if key == "b":
                self.block, self.suffix, self.human = 1, "", 0
            elif key == "k":
                self.block, self.suffix, self.human = 1024, "", 0
            elif key == "m":
                self.block, self.suffix, self.human = 1 << 20, "", 0
            elif key in ("h", "H", "si"):
                self.human = 1024 if key == "h" else 1000
            elif key in ("B", "block-size"):
                try:
                    self.block, self.suffix, self.human = block_size(value or "")
                except ValueError:
                    shown = f"-{key}" if len(key) == 1 else f"--{key}"
                    raise UsageError(f"invalid {shown} argument {quote(value or '')}", hint=False) from None

    def show(self, size: int) -> str:
        if self.human:
            return human_size(size, self.human)
        return f"{-(-size // self.block)}{self.suffix}"
