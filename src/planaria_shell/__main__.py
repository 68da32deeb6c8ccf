"""`python -m planaria_shell`: the shell on its own, natively. Same arguments as `bash`."""

from __future__ import annotations

import sys
from collections.abc import Generator

from planaria_shell.builtins.registry import BuiltinUsageError
from planaria_shell.errors import ShellError
from planaria_shell.invocation import parse_invocation, prepare, read_commands, read_script, run_startup
from planaria_shell.shell import Shell


def main() -> int:
    """Run what the command line asks for; its exit status."""
    asked = parse_invocation(["bash", *sys.argv[1:]])
    if asked.error:
        sys.stderr.write(f"bash: {asked.error}\n")
        return 2
    if asked.shown:
        sys.stdout.write(asked.shown)
        return 0
    shell = Shell(name=asked.name, arguments=asked.arguments)
    try:
        prepare(shell, asked)
    except BuiltinUsageError as error:
        sys.stderr.write(f"bash: {error.message}\n")
        return error.status
    if _end(run_startup(shell, asked)):
        return shell.finish()
    if asked.command is not None:
        shell.run(asked.command, where="-c: ")
    elif asked.script is not None:
        try:
            text = read_script(shell, asked.script)
        except ShellError as error:
            sys.stderr.write(f"{error.message}\n")
            return error.status
        shell.script = asked.script
        shell.run(text)
    else:
        return _end(read_commands(shell))
    return shell.finish()


def _end(steps: Generator[None, None, int]) -> int:
    """Run to the end what would let others run in between."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return int(stop.value)


if __name__ == "__main__":
    sys.exit(main())
