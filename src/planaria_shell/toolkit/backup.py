"""Backups of files that cp, mv, ln and install are about to replace."""

from __future__ import annotations

import os
import re

from planaria_shell.toolkit.invocation import Invocation
from planaria_shell.toolkit.options import choose

__all__ = ["Backup"]

_CONTROLS = {
    "none": "none",
    "off": "none",
    "simple": "simple",
    "never": "simple",
    "existing": "existing",
    "nil": "existing",
    "numbered": "numbered",
    "t": "numbered",
}


class Backup:
    """How to name the backup of a file (options `-b`, `--backup`, `-S`, variable VERSION_CONTROL)."""

    def __init__(self, call: Invocation) -> None:
        arguments = call.arguments
        suffix = arguments.value("S")
        self.suffix = suffix or call.env.get("SIMPLE_BACKUP_SUFFIX") or "~"
        self.control = "none"
        if arguments.has("b", "backup") or suffix is not None:
            control = arguments.value("backup")
            if control is not None:
                self.control = choose(control, _CONTROLS, "backup type")
            else:
                self.control = choose(
                    call.env.get("VERSION_CONTROL") or "existing", _CONTROLS, "$VERSION_CONTROL"
                )

    def __bool__(self) -> bool:
        return self.control != "none"

    def name(self, path: str) -> str:
        """Where the file now at `path` should go."""
        if self.control == "simple":
            return path + self.suffix
        directory, base = os.path.split(path)
        numbered = re.compile(re.escape(base) + r"\.~(\d+)~")
        numbers = [
            int(match[1]) for name in os.listdir(directory or ".") if (match := numbered.fullmatch(name))
        ]
        if not numbers and self.control == "existing":
            return path + self.suffix
        return f"{path}.~{max(numbers, default=0) + 1}~"
