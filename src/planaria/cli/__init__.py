"""The command line: `planaria`, `planaria run`, `planaria bash`, `planaria setup`, `planaria doctor`."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """The program `planaria`; ends the process with its exit status."""
    import atexit
    import gc

    from planaria.cli.commands import commands

    # The last collection of a process would look at every object, a tenth of a short run, for nothing.
    atexit.register(gc.freeze)
    commands(prog_name="planaria")
