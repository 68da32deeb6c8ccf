"""The command line: `planaria`, `planaria run`, `planaria bash`, `planaria setup`, `planaria doctor`."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """The program `planaria`; ends the process with its exit status."""
    from planaria.cli.commands import commands

    commands(prog_name="planaria")
