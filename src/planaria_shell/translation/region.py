"""Which loops and functions are translated, when, and whether a translation can be entered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from planaria_shell.state.functions import Frame, FunctionBody
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.streams import BufferedInput
from planaria_shell.state.variable import is_name
from planaria_shell.syntax.nodes import ArithmeticFor, For, While
from planaria_shell.translation.commands import Commands, plain_numbers
from planaria_shell.translation.names import INTEGER, NOTHING, TEXT, Names, UntranslatableError
from planaria_shell.translation.support import NAMESPACE

__all__ = ["FunctionRegion", "LoopRegion"]

Loop = For | ArithmeticFor | While
#: Times that a region is translated anew because its variables hold something else.
_VERSIONS = 4
_PASSES = 6


class _Region:
    """A piece of a script that may be translated."""

    def __init__(self) -> None:
        self._code: Callable[..., int | None] | None = None
        self._names: Names | None = None
        self._versions = 0
        #: Whether it is of no use to try (again).
        self.hopeless = False

    def _translate(self, shell: Interpreter) -> None:
        """Translate for what the variables hold now."""
        self._versions += 1
        if self._versions > _VERSIONS:
            self.hopeless = True
            self._code = self._names = None
            return
        names = Names(shell)
        if self._names is not None and self._names.watching == names.watching:
            names.scalars.update(self._names.scalars)
            if self._versions == _VERSIONS:
                # It keeps changing: let every variable hold anything.
                names.scalars = dict.fromkeys(names.scalars, INTEGER | TEXT | NOTHING)
        try:
            names.widen()
            source = self._settled(names)
            namespace = {**NAMESPACE, **names.constants, "PLAN": names.plan(), "NAMES": sorted(names.scalars)}
            exec(compile(source, "<script>", "exec"), namespace)
        except (UntranslatableError, SyntaxError):
            # A SyntaxError: Python nests loops only so deep.
            self.hopeless = True
            self._code = self._names = None
            return
        self._names = names
        self._code = namespace["region"]  # type: ignore[assignment]

    def _settled(self, names: Names) -> str:
        """The source, once no variable can hold more than was thought when it was written."""
        for _ in range(_PASSES):
            before = names.scalars.copy()
            names.constants = {}
            names.loop_variables = self.loop_variables()
            source = _Source(names).of(self)
            if all(before.get(name) == kinds for name, kinds in names.scalars.items()):
                return source
        raise UntranslatableError("kinds")

    def loop_variables(self) -> set[str]:
        return set()

    def write(self, commands: Commands) -> str:
        """Emit the region's own commands; the parameters that it takes beside the shell's."""
        raise NotImplementedError

    def _may_enter(self, shell: Interpreter) -> bool:
        """Whether everything is as the translation takes for granted."""
        names = self._names
        if names is None:
            return False
        shopts = shell.shopts
        functions = shell.functions
        for name, body in names.functions.items():
            if functions.get(name) is not body:
                return False
        if names.reads:
            stream = shell.fds.get(0)
            if not isinstance(stream, BufferedInput) or not stream.readable:
                return False
        return (
            not shell.tracing
            and shell.ifs == " \t\n"
            and not shell.bytewise
            and shell.watching == names.watching
            and not shell.traps.keys() & _TRAPS
            and not shell.variables.new_flags
            and not shell.disabled_builtins
            and functions.keys().isdisjoint(names.builtins)
            and ("extglob" in shopts) == names.extglob
            and ("patsub_replacement" in shopts) == names.ampersands
            and shopts.isdisjoint(_SHOPTS)
            and shell.braceexpand
            and 1 in shell.fds
            and (not names.returns or bool(shell.frames))
            and "FUNCNEST" not in shell.table
        )

    def _run(self, shell: Interpreter, *arguments: Any) -> int | None:
        """Run it from here on; the status, or None when it has to be left to the closures."""
        if not plain_shell(shell):
            return None
        for _ in range(2):
            if self._code is not None and self._may_enter(shell):
                status = self._code(shell, *arguments)
                if status is not None:
                    return status
            if self.hopeless:
                return None
            self._translate(shell)
        return None


def plain_shell(shell: Interpreter) -> bool:
    """Whether a translation made now could be entered at all."""
    return (
        not shell.tracing
        and shell.ifs == " \t\n"
        and not shell.bytewise
        and not shell.traps.keys() & _TRAPS
        and not shell.variables.new_flags
        and not shell.disabled_builtins
        and shell.shopts.isdisjoint(_SHOPTS)
    )


_TRAPS = frozenset(["ERR", "DEBUG", "RETURN"])
_SHOPTS = frozenset(["nocasematch", "xpg_echo", "localvar_inherit"])


class LoopRegion(_Region):
    """A loop. It can be entered before any of its iterations."""

    #: Iterations before it is translated: what that costs has to come back.
    rounds: ClassVar[int] = 400

    def __init__(self, node: Loop, tested: bool) -> None:
        super().__init__()
        self.node = node
        self.tested = tested
        self._numbers = plain_numbers(node.words) if isinstance(node, For) else None
        #: Iterations until the next attempt; kept from one run of the loop to the next.
        self.left = self.rounds
        self.hopeless = isinstance(node, For) and not is_name(node.name)

    @property
    def ready(self) -> bool:
        """Whether there is a translation."""
        return self._code is not None

    def loop_variables(self) -> set[str]:
        return {self.node.name} if isinstance(self.node, For) else set()

    def enter(
        self, shell: Interpreter, status: int, done: int = 0, words: Iterator[str] | None = None
    ) -> int | None:
        """Run what is left of the loop; None when the closures have to.

        `status` is that of the last iteration, `done` counts those before, `words` are still to come.
        """
        result = self._run(shell, shell.positional, status, done, words)
        if result is not None:
            shell.pipe_statuses = None
        return result

    def write(self, commands: Commands) -> str:
        node = self.node
        if isinstance(node, While):
            commands.while_loop(node, self.tested)
        elif isinstance(node, ArithmeticFor):
            commands.arithmetic_loop(node, self.tested)
        elif self._numbers is not None:
            numbers = self._numbers
            source = f"range({numbers.start}, {numbers.stop}, {numbers.step})[done:]"
            commands.for_loop(node, source, INTEGER, self.tested)
        else:
            commands.for_loop(node, "words", TEXT, self.tested)
        return "args, st, done, words"


class FunctionRegion(_Region):
    """A function that is called often."""

    def __init__(self, body: FunctionBody) -> None:
        super().__init__()
        self.body = body

    def enter(self, shell: Interpreter, argv: list[str], tested: bool) -> int | None:
        """Call the function; None when the closures have to."""
        scopes = shell.variables.scopes
        if scopes and scopes[-1].temporary:
            return None
        frame = Frame(argv[0], self.body.source, shell.line, argv[1:])
        if tested:
            shell.suppressed += 1
        try:
            return self._run(shell, argv[1:], frame)
        finally:
            if tested:
                shell.suppressed -= 1
            shell.line = frame.line

    def write(self, commands: Commands) -> str:
        body = self.body
        commands.names.functions[body.name] = body
        commands.call(body.name, body)
        commands.emit(f"st = {commands.function_name(body.name)}(args, frame)")
        return "args, frame"


#: What a region has of its own where its source has one of these texts.
_OWN = (
    (("frames",), "    frames = sh.frames; deepest = sh.deepest"),
    (("builtins[",), "    builtins = sh.builtins"),
    (("lines.",), "    lines = Lines(sh)"),
    (
        ("evaluated(", "num(", "(num,", "grow(", "spill"),
        """\
    def spill():
        save(sh, NAMES, ({listed}))
""",
    ),
    (
        ("evaluated(", "num(", "(num,"),
        """\
    def evaluated(text):
        {shared}
        spill()
        try:
            return evaluate(sh, text)
        finally:
            {again}
    def num(text):
        number = literal(text)
        return evaluated(text) if number is None else number
""",
    ),
    (
        ("grow(",),
        """\
    def grow(text):
        spill()
        sh.variables.grow(text)
""",
    ),
    (
        ("check()",),
        """\
    def check():
        nonlocal k, c
        counters.iterations = counters.next_iteration - k
        counters.commands = counters.next_check - c
        try:
            counters.check()
        finally:
            k = counters.next_iteration - counters.iterations
            c = counters.next_check - counters.commands
""",
    ),
    (
        ("fail(",),
        """\
    def fail(status, node):
        sh.line = node.line
        sh.node = node
        sh.failed(status)
""",
    ),
    (
        ("say(",),
        """\
    out = sh.fds[1]
    def say(text):
        try:
            out.write(text.encode("utf-8", "surrogateescape"))
        except OSError as error:
            return write_failed(sh, error)
        return 0
""",
    ),
)


class _Source:
    """Writes the Python source of one region."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._functions: dict[str, list[str]] = {}
        self._written: set[str] = set()

    def of(self, region: _Region) -> str:
        root = Commands(self.names, self._function, root=isinstance(region, LoopRegion))
        parameters = region.write(root)
        names = self.names
        variables = [f"v_{name}" for name in sorted(names.scalars)]
        loaded = variables + [f"a_{name}" for name in sorted(names.arrays)]
        shared = f"nonlocal {', '.join(['k', 'c', 'last', *variables])}"
        listed = "".join(f"{name}, " for name in variables)
        functions: list[str] = []
        for name, body in self._functions.items():
            functions.append(f"    def f_{name}(args, frame):")
            functions += [f"        {shared}", *("        " + line for line in body)]
        functions += [f"    {line}" for line in _positions(root)]
        functions += ["    try:", *("        " + line for line in root.lines)]
        text = "\n".join(functions)
        lines = [
            f"def region(sh, {parameters}):",
            "    values = load(sh, PLAN)",
            "    if values is None: return None",
            f"    [{', '.join(loaded)}] = values" if loaded else "    pass",
            "    counters = sh.counters",
            "    k = counters.next_iteration - counters.iterations",
            "    c = counters.next_check - counters.commands",
            "    last = None",
        ]
        again = f"[{', '.join(variables)}] = loaded_again(sh, PLAN)" if variables else "pass"
        for used, source in _OWN:
            if any(one in text for one in used):
                lines += source.format(shared=shared, listed=listed, again=again).splitlines()
        lines += functions
        lines += [
            "    finally:",
            "        counters.iterations = counters.next_iteration - k",
            "        counters.commands = counters.next_check - c",
            f"        save(sh, NAMES, ({listed}))",
            "        if last is not None: sh.last_argument = str(last)",
            "    return st",
        ]
        return "\n".join(lines) + "\n"

    def _function(self, name: str, body: FunctionBody) -> None:
        """A function is called: write it, once."""
        if name in self._written:
            return
        self._written.add(name)
        self.names.functions[name] = body
        if body.traced or not is_name(name):
            raise UntranslatableError(name)
        commands = Commands(self.names, self._function, root=False)
        commands.run(body.node.body, False)
        local = sorted(commands.locals)
        self._functions[name] = [
            "if len(frames) >= deepest:",
            f"    raise too_deep({name!r}, deepest)",
            "frames.append(frame)",
            *(f"s_{one} = UNTOUCHED" for one in local),
            "st = 0",
            "try:",
            *("    " + line for line in _positions(commands)),
            *("    " + line for line in commands.lines),
            "    return st",
            "except ShellError as error:",
            "    sh.report_error(error)",
            "    raise",
            "finally:",
            "    frames.pop()",
            *(f"    if s_{one} is not UNTOUCHED: v_{one} = s_{one}" for one in local),
        ]


def _positions(commands: Commands) -> list[str]:
    """Reading the positional parameters that a function uses."""
    words = commands.words
    lines = [
        f"p{place} = args[{place - 1}] if len(args) >= {place} else None" for place in sorted(words.positions)
    ]
    lines += [
        f"n{place} = p{place} if p{place} is None or p{place}.__class__ is int else operand(p{place})"
        for place in sorted(words.numbers)
    ]
    return lines
