"""Running one script and collecting its output."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from planaria_shell.shell import Shell
from planaria_shell.state.limits import Limits
from planaria_shell.state.streams import CapturedOutput, TextInput

__all__ = ["Completed", "run"]


@dataclass(frozen=True)
class Completed:
    """What a script has left: its output and its exit status."""

    stdout: bytes
    stderr: bytes
    status: int


def run(
    script: str,
    *,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    limits: Limits | None = None,
) -> Completed:
    """Run a script in a shell of its own, to its end.

    Args:
        script: the source text.
        stdin: what it can read from standard input.
        env: its environment; that of the Python process when None.
        cwd: its working directory; that of the Python process when None.
        limits: what it may use; the limits of `Limits()` when None.

    Errors of the script are messages in `stderr` and a status, not exceptions.
    """
    output, errors = CapturedOutput(), CapturedOutput()
    shell = Shell(
        env=env,
        cwd=None if cwd is None else os.fspath(cwd),
        stdin=TextInput(stdin),
        stdout=output,
        stderr=errors,
        limits=limits,
    )
    shell.run(script)
    status = shell.finish()
    return Completed(output.getvalue(), errors.getvalue(), status)
