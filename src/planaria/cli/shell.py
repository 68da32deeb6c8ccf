"""`planaria bash`: scripts, and a shell to talk to."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from planaria import Bash, __version__
from planaria.cli import program_files
from planaria.cli.options import SessionOptions
from planaria.cli.program import INTERRUPTED, report_end
from planaria.cli.streams import StandardInput, StandardOutput
from planaria.errors import Interrupted, PlanariaError
from planaria.errors import TimeoutError as ExecutionTimeout
from planaria.session.kernel_queries import state_alone

__all__ = ["run_shell"]

_TIMED_OUT = 124
_NOT_FOUND = 127


def run_shell(script: str | None, arguments: list[str], options: SessionOptions) -> int:
    """Do what the command line of `planaria bash` asks for; returns the exit status."""
    if script is not None:
        return _run(script, arguments or ["bash"], options)
    if arguments:
        try:
            file = _ScriptFile(Path(arguments[0]), options)
        except OSError as error:
            click.echo(f"planaria: {arguments[0]}: {error.strerror}", err=True)
            return _NOT_FOUND
        return _run(file.text, [file.name, *arguments[1:]], options, file)
    if sys.stdin is None or not sys.stdin.isatty():
        data = b"" if sys.stdin is None else sys.stdin.buffer.read()
        return _run(data.decode("utf-8", "surrogateescape"), ["bash"], options, reads_input=True)
    return _Conversation(options).hold()


def _open(argv: list[str], options: SessionOptions, output: StandardOutput, lines: StandardInput) -> Bash:
    return Bash(
        limits=options.limits(output=0),  # it is passed on and need not be kept
        argv=argv,
        mounts=options.mounts,
        image=options.image,
        network=options.network(),
        stdin=lines,
        on_bytes=output,
    )


class _ScriptFile:
    """A script of the host, by the name that it has in the sandbox: where a mount shows it, or as a copy."""

    def __init__(self, path: Path, options: SessionOptions) -> None:
        """Raises OSError."""
        self._data = path.read_bytes()
        place = program_files.place_of(path.resolve(), options.mounts)
        self._is_copied = place is None
        if place is None:
            place = f"{program_files.HOME}/{path.name}"
            if not path.is_absolute() and ".." not in path.parts:
                place = path.as_posix()
        self.name = place

    @property
    def text(self) -> str:
        return self._data.decode("utf-8", "surrogateescape")

    def put(self, bash: Bash) -> None:
        if self._is_copied:
            place = f"{program_files.HOME}/{self.name}" if self.name[0] != "/" else self.name
            bash.files.mkdir(place.rpartition("/")[0], parents=True, exist_ok=True)
            bash.files.write_bytes(place, self._data)


def _run(
    script: str,
    argv: list[str],
    options: SessionOptions,
    file: _ScriptFile | None = None,
    *,
    reads_input: bool = False,
) -> int:
    output = StandardOutput()
    lines = StandardInput(prompts=output)
    with _open(argv, options, output, lines) as bash:
        if file is not None:
            file.put(bash)
            _report(bash, script=file.name)
        elif reads_input:
            _report(bash, reads_input=True)
        lines.begin(options.timeout)
        try:
            status = bash.execute(script).exit_code
            return bash.execute(f"exit {status}").exit_code  # the trap on EXIT
        except KeyboardInterrupt as interrupt:
            cause = interrupt.__cause__
            report_end(cause if isinstance(cause, Interrupted) else Interrupted("interrupted"), options)
            return _end(bash, f"kill -INT $$; exit {INTERRUPTED}", INTERRUPTED)
        except ExecutionTimeout as error:
            report_end(error, options)
            return _end(bash, f"exit {_TIMED_OUT}", _TIMED_OUT)
        except PlanariaError as error:
            report_end(error, options)
            return 1


def _report(bash: Bash, **source: str | bool) -> None:
    """Have the shell know where its commands come from, which decides what an error ends, with which status,
    and what messages, BASH_SOURCE and `$-` say.
    """
    bash.restore_snapshot(state_alone({**bash.state(), **source}, exclude_functions=False))


def _end(bash: Bash, script: str, status: int) -> int:
    """Run the traps of a script that was stopped; returns the exit status."""
    try:
        return bash.execute(script).exit_code
    except (KeyboardInterrupt, PlanariaError):
        return status


class _Conversation:
    """A shell and a terminal."""

    def __init__(self, options: SessionOptions) -> None:
        self._options = options
        self._output = StandardOutput()
        self._bash = _open(["bash"], options, self._output, StandardInput(prompts=self._output))

    def hold(self) -> int:
        """Read and run commands until Ctrl-D or `exit`; returns the exit status."""
        from planaria.cli.shell_prompt import ShellPrompt

        print(f"planaria {__version__}: bash in a sandbox. Ctrl-D leaves.")
        status = 0
        with self._bash as bash:
            bash.execute("shopt -s expand_aliases; set -o history -o histexpand")
            prompt = ShellPrompt(bash)
            while True:
                try:
                    text = prompt.read()
                except KeyboardInterrupt:
                    continue  # it cleared the line
                except EOFError:
                    return bash.execute(f"exit {status}").exit_code
                if not text.strip():
                    continue
                status = self._execute(text)
                self._output.end_line()
                if bash.prompt().has_exited:
                    return status

    def _execute(self, text: str) -> int:
        try:
            return self._bash.execute(text).exit_code
        except KeyboardInterrupt:
            self._output.line_is_open = True  # the terminal shows ^C
            return INTERRUPTED
        except PlanariaError as error:
            self._output.end_line()
            report_end(error, self._options)
            return _TIMED_OUT if isinstance(error, ExecutionTimeout) else 1
