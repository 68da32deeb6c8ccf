"""One call of a command: its parsed arguments, buffered output, files opened by name.

`@command("name", ...)` registers a command that is written against `Invocation`: options are parsed
before it runs, `--help` and `--version` answered, wrong usage and errors of the system reported the
way GNU commands do, and standard output is collected into blocks (what was written stays in order
with the messages on standard error).
"""

from __future__ import annotations

import errno
import functools
import inspect
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack

from planaria_shell.state.command import COMMANDS, Input, Output, Process, Status, resolve_name
from planaria_shell.toolkit.options import Arguments, OptionSyntax, Order, UsageError
from planaria_shell.toolkit.quoting import in_locale, quote, shell_quote
from planaria_shell.toolkit.streams import BLOCK, Source, Target, create_output, open_input, reason

__all__ = ["CommandError", "Invocation", "cannot_run", "command"]

Body = Callable[["Invocation"], "Status | Generator[None, None, Status]"]


class CommandError(Exception):
    """A command cannot go on: `NAME: message` is written and `status` is its exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


def cannot_run(
    name: str,
    error: OSError,
    refusal: str = "failed to run command {}",
    quote: Callable[[str], str] = quote,
    failure: Status | None = None,
) -> CommandError:
    """What `Invocation.replace` raises when the command `name` cannot be started."""
    status = (127 if error.errno == errno.ENOENT else 126) if failure is None else failure
    return CommandError(f"{refusal.format(quote(name))}: {reason(error)}", status)


class _Collected:
    """An output that passes on blocks instead of lines."""

    __slots__ = ("_parts", "_size", "_target", "full")

    def __init__(self, target: Output) -> None:
        self._target = target
        #: Plain for speed: it is looked up after every line. The reader's turn resets it.
        self.full = False
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        if self._size >= BLOCK:
            self.pass_on()

    def pass_on(self) -> None:
        if self._parts:
            data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._parts = []
            self._size = 0
            self._target.write(data)
            self.full = self._target.full

    def flush(self) -> None:
        self.pass_on()
        self._target.flush()


class Invocation:
    """A `Process` with parsed arguments; commands of this package get one.

    `status` is the exit status so far: `complain()` sets it to the command's status for failures.
    """

    def __init__(self, process: Process, name: str, failure: int) -> None:
        self.process = process
        self.name = name
        self.argv = process.argv
        self.env = process.env
        self.cwd = process.cwd
        self.stdin: Input = process.stdin
        self.stdout = _Collected(process.stdout)
        self.stderr: Output = process.stderr
        self.path = process.path
        # The protocol does not know a umask; the shell that runs a command does.
        self.umask: int = getattr(getattr(process, "shell", process), "umask", 0o022)
        #: The name in messages, where it is not that of the command (gunzip speaks as gzip).
        self.label = ""
        self.status: Status = 0
        self.failure = failure
        self.arguments = Arguments()
        #: What is closed when the command ends, in whichever way.
        self.files = ExitStack()

    @property
    def operands(self) -> list[str]:
        return self.arguments.operands

    def print(self, text: str, end: str = "\n") -> None:
        """Write text to standard output; bytes in names that are not UTF-8 come out as they were."""
        self.stdout.write((text + end).encode("utf-8", "surrogateescape"))

    def error(self, message: str) -> None:
        """Write `NAME: message` to standard error, after what was written to standard output."""
        self.stdout.pass_on()
        if self.label:
            self.warn(f"{self.label}: {message}")
        else:
            self.process.error(in_locale(message, self.env))

    def warn(self, text: str) -> None:
        """Write a line to standard error without the command's name."""
        self.stdout.pass_on()
        self.stderr.write((in_locale(text, self.env) + "\n").encode("utf-8", "surrogateescape"))

    def complain(self, message: str, error: OSError | None = None) -> None:
        """Report a failure after which the command goes on with its next operand."""
        self.error(f"{message}: {reason(error)}" if error else message)
        self.status = self.failure

    def run(
        self,
        argv: list[str],
        *,
        stdin: Input | bytes | None = None,
        stdout: Output | None = None,
        stderr: Output | None = None,
        env: dict[str, str] | None = None,
        cwd: str | None = None,
    ) -> Status:
        """Run another command to its end; see `Process.run`, also for the OSError it raises."""
        self.stdout.pass_on()
        return self.process.run(argv, stdin=stdin, stdout=stdout, stderr=stderr, env=env, cwd=cwd)

    def replace(
        self,
        argv: list[str],
        env: dict[str, str] | None = None,
        *,
        cwd: str | None = None,
        refusal: str = "failed to run command {}",
        quote: Callable[[str], str] = quote,
        failure: Status | None = None,
    ) -> Generator[None, None, Status]:
        """Run another command in this one's place: where the shell can, it yields as that command does.

        Raises CommandError with the message `refusal`, in which `{}` stands for the command's name, and with
        the status `failure` (None: 127 or 126) when there is no such command or it may not be executed.
        """
        self.stdout.pass_on()
        stream = getattr(self.process, "stream", None)
        try:
            if stream is None:
                return self.process.run(argv, env=env, cwd=cwd)
            steps = stream(argv, env, cwd)
        except OSError as error:
            raise cannot_run(argv[0], error, refusal, quote, failure) from None
        return int((yield from steps))

    def open(self, name: str) -> Source:
        """Open an operand for reading; see `open_input`."""
        return open_input(self, name)

    def keep_open(self, name: str) -> Source:
        """The same, to be closed when the command ends."""
        source = self.open(name)
        self.files.callback(source.close)
        return source

    def create(self, name: str, mode: str = "wb") -> Target:
        """Open a file for writing, `mode` being "wb" or "ab"; see `create_output`."""
        return create_output(self, name, mode, self.umask)

    def confirm(self, question: str) -> bool:
        """Ask on standard error and read the answer from standard input; yes is `y` or `Y`."""
        self.stdout.pass_on()
        self.stderr.write(f"{self.name}: {question} ".encode("utf-8", "surrogateescape"))
        return self.stdin.readline()[:1] in (b"y", b"Y")

    def inputs(self, names: list[str] | None = None) -> Iterator[Source]:
        """Each operand opened in turn, standard input without any; what cannot be opened is reported."""
        for name in (self.operands if names is None else names) or ["-"]:
            try:
                source = self.open(name)
            except OSError as error:
                self.complain(shell_quote(name), error)
                continue
            with source:
                yield source


def _steps(body: Generator[None, None, Status], call: Invocation) -> Generator[None, None, Status]:
    """Run a command's body; after each of its yields the reader has had its turn."""
    try:
        while True:
            try:
                next(body)
            except StopIteration as stop:
                return int(stop.value)
            yield
            call.stdout.full = False
    finally:
        body.close()


def command(
    *names: str,
    short: str = "",
    long: str = "",
    usage: str = "[OPTION]... [FILE]...",
    help: str | None = None,  # noqa: A002 (what it is called everywhere)
    version: str | None = None,
    order: Order = "permute",
    failure: Status = 1,
    misuse: Status | None = None,
    rewrite: Callable[[list[str]], list[str]] | None = None,
    raw: bool = False,
    complaint: str = "",
    hint: str = "Try '{name} --help' for more information.",
) -> Callable[[Body], Body]:
    """Declare a function as the command of these names.

    The names are literal strings: `state.command.Registry` reads them from the source.

    Args:
        short, long, order: The options; see `OptionSyntax`.
        usage: What follows the name in `--help`; the function's docstring and the options come after it.
        help: The whole answer to `--help`, in place of the generated one.
        version: The answer to `--version`; NAME (planaria) when None.
        failure: Exit status for failures; `misuse` for wrong usage (the same when None).
        rewrite: Turns old forms (`head -5`) of the words after the name into options.
        raw: All words are operands, for command lines that are not options and operands (`find`, `expr`).
            Only a lone `--help` or `--version` is answered, and only where its text is given here.
        complaint: How wrong usage is reported, with the message for `{}`; NAME: MESSAGE if empty.
        hint: The line after it, with the command's name for `{name}`; none if empty.
    """
    syntax = OptionSyntax(short, long, order=order)
    wrong = failure if misuse is None else misuse
    help_key, version_key = syntax.long["help"][0], syntax.long["version"][0]

    def answer(call: Invocation, body: Body) -> str | None:
        """The text that the command line asks for, None when the command is to run."""
        words = call.argv[1:]
        if raw:
            call.arguments.operands = words
            return help if words == ["--help"] else version if words == ["--version"] else None
        call.arguments = syntax.parse(rewrite(words) if rewrite else words)
        topic = call.arguments.last((help_key, version_key))
        if topic is None:
            return None
        if topic == help_key:
            return _help(call.name, usage, body, syntax) if help is None else help
        return f"{call.name} (planaria)\n" if version is None else version

    def register(body: Body) -> Body:
        # A plain function that returns a generator leaves the rest to it. That is delegated to without a call
        # in between, so that shells within shells do not use up the stack of C.
        hands_over = not inspect.isgeneratorfunction(body)

        @functools.wraps(body)
        def start(process: Process) -> Generator[None, None, Status]:
            name = process.argv[0].rpartition("/")[2]
            call = Invocation(process, name, failure)
            try:
                text = answer(call, body)
                if text is not None:
                    call.print(text, "")
                    status = 0
                else:
                    result = body(call)
                    if isinstance(result, int):
                        status = result
                    elif hands_over:
                        status = yield from result
                    else:
                        status = yield from _steps(result, call)
                call.stdout.flush()
            except UsageError as problem:
                if not problem.message:
                    pass
                elif complaint:
                    call.warn(complaint.replace("{}", problem.message))
                else:
                    call.error(problem.message)
                if problem.hint and hint:
                    call.warn(hint.replace("{name}", process.argv[0]))
                return wrong if problem.status is None else problem.status
            except CommandError as problem:
                call.error(problem.message)
                return problem.status
            except BrokenPipeError:
                raise
            except OSError as problem:
                shown = problem.filename if isinstance(problem.filename, str) else "write error"
                if problem.errno == errno.EFBIG:
                    problem.filename = shown
                    raise  # the shell knows whether the command dies of SIGXFSZ
                call.error(f"{shown}: {reason(problem)}")
                return failure
            finally:
                call.files.close()
            return status

        for name in names:
            COMMANDS[resolve_name(name)] = start
        return body

    return register


def _help(name: str, usage: str, body: Body, syntax: OptionSyntax) -> str:
    lines = [f"Usage: {name} {usage}".rstrip(), *(body.__doc__ or "").strip().splitlines(), ""]
    longs: dict[str, list[str]] = {}
    for long, (key, colons) in syntax.long.items():
        longs.setdefault(key, []).append(f"--{long}" + ("", "=ARG", "[=ARG]")[colons])
    for letter, colons in syntax.short.items():
        forms = [f"-{letter}" + ("", " ARG", "[ARG]")[colons], *longs.pop(letter, [])]
        lines.append("  " + ", ".join(forms))
    lines += ["      " + ", ".join(forms) for forms in longs.values()]
    return "\n".join(lines) + "\n"
