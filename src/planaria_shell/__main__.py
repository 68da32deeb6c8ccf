"""`python -m planaria_shell`: the shell on its own, natively. Same arguments as `bash`."""

from __future__ import annotations

import sys

from planaria_shell.builtins.options import turn
from planaria_shell.run.invocation import VERSION_TEXT, parse_invocation
from planaria_shell.run.shell import Shell


def main() -> int:
    """Run what the command line asks for; its exit status."""
    asked = parse_invocation(["bash", *sys.argv[1:]])
    if asked.error:
        sys.stderr.write(f"bash: {asked.error}\n")
        return 2
    if asked.version:
        sys.stdout.write(VERSION_TEXT)
        return 0
    shell = Shell(name=asked.name, arguments=asked.arguments)
    for option, on in asked.options:
        turn(shell, option, on)
    for name, on in asked.shopts:
        shell.shopts.add(name) if on else shell.shopts.discard(name)
    if asked.command is not None:
        shell.run(asked.command, where="-c: ")
    elif asked.script is not None:
        try:
            with open(asked.script, "rb") as file:
                text = file.read().decode("utf-8", "surrogateescape")
        except OSError as error:
            sys.stderr.write(f"bash: {asked.script}: {error.strerror}\n")
            return 127
        shell.script = asked.script
        shell.run(text)
    else:
        shell.run(sys.stdin.buffer.read().decode("utf-8", "surrogateescape"))
    return shell.finish()


if __name__ == "__main__":
    sys.exit(main())
