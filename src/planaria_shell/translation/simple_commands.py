"""Simple commands as Python source: assignments, calls of functions, and the builtins that are known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from planaria_shell.expand.braces import has_braces
from planaria_shell.state.functions import Frame, FunctionBody
from planaria_shell.state.variable import is_name
from planaria_shell.syntax.nodes import (
    ArithmeticCommand,
    Assignment,
    Command,
    Condition,
    DoubleQuoted,
    Literal,
    Part,
    Quoted,
    Simple,
    Word,
)
from planaria_shell.translation.conditions import translate_test
from planaria_shell.translation.names import INTEGER, NOTHING, TEXT, Kinds, Names, UntranslatableError
from planaria_shell.translation.numbers import Text
from planaria_shell.translation.words import Words

__all__ = ["SimpleCommands"]

#: A variable that gets a value within an expression.
_ASSIGNING = re.compile(r"\bv_\w+ :=")


class SimpleCommands:
    """Translates the commands of one Python function: a function of the shell, or the loop at the root."""

    def __init__(self, names: Names, call: Callable[[str, FunctionBody], None], *, root: bool) -> None:
        self.names = names
        self.words = Words(names)
        self.lines: list[str] = []
        #: Names that `local` declares.
        self.locals: set[str] = set()
        #: Called with each function that is called.
        self.call = call
        self._root = root
        self._indent = 0
        #: What `continue` has to do first in each loop around; None for a `!`, which no jump may leave.
        self._steps: list[str | None] = []

    # -- lines -------------------------------------------------------------------------------------

    def emit(self, line: str) -> None:
        self.lines.append("    " * self._indent + line)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """What is emitted inside stands below `head`."""
        self.emit(head)
        self._indent += 1
        if self._indent > 60:
            raise UntranslatableError("nested too deeply")
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.emit("pass")
        self._indent -= 1

    def _line(self, line: int) -> None:
        """Let complaints know the line, if there can be any."""
        if self.words.risky:
            if line:
                self.emit(f"sh.line = {line}")
            self.words.risky = False

    def _failing(self, node: Simple | ArithmeticCommand | Condition, tested: bool) -> None:
        """A command may have failed: `set -e`."""
        if self.names.watching and not tested:
            with self.block("if st:"):
                self.emit(f"fail(st, {self.names.constant(node)})")

    def _status(self, status: int) -> None:
        """The status of the condition before."""
        self.emit(f"st = {status}")
        self.words.status_known = True

    def _counted(self, last: str = "") -> None:
        """One more command."""
        self.emit("c -= 1")
        with self.block("if c < 0:"):
            self.emit("check()")
        if last:
            self.emit(f"last = {last}")

    def run(self, node: Command, tested: bool) -> None:
        """Emit the command."""
        raise NotImplementedError

    # -- simple commands ---------------------------------------------------------------------------

    def _head(self, node: Simple) -> str:
        head = node.words[0]
        name = head.literal() if isinstance(head, Word) else None
        if not name:
            raise UntranslatableError("a command that is expanded")
        return name

    def _plain_words(self, node: Simple) -> list[Word]:
        words = [word for word in node.words[1:] if isinstance(word, Word)]
        if len(words) != len(node.words) - 1:
            raise UntranslatableError("assignment")
        return words

    def _builtin(self, name: str) -> None:
        """The command is the builtin: it must stay so."""
        self.names.builtins.add(name)

    def _run_simple(self, node: Simple, tested: bool) -> None:
        if node.redirects:
            raise UntranslatableError("redirection")
        if not node.words:
            for assignment in node.assignments:
                self._assign(assignment, node.line)
            self.emit('st = 0; last = ""')
            return
        name = self._head(node)
        function = self.names.shell.functions.get(name)
        if function is not None:
            if node.assignments:
                raise UntranslatableError("assignment")
            self._call_function(node, name, function, tested)
            return
        if name == "read":
            self._builtin(name)
            self._read(node)
        else:
            method = _BUILTINS.get(name)
            if method is None or node.assignments:
                raise UntranslatableError(name)
            self._builtin(name)
            method(self, node)
        self._failing(node, tested)

    def _assign(self, node: Assignment, line: int) -> None:
        name = node.name
        if node.elements is not None:
            self._assign_array(node, line)
            return
        if node.subscript is not None:
            self._assign_element(node, line)
            return
        value = self.words.value(node.value)
        if node.append:
            kinds = self.names.scalar(name)
            addition = self.words.temporary()
            self._line(line)
            self.emit(f"{addition} = {value.text}")
            with self.block(f"if counters.growth < len({addition}):"):
                self.emit(f"grow({addition})")
            with self.block("else:"):
                self.emit(f"counters.growth -= len({addition})")
            result = self.words.temporary()
            if kinds == TEXT:
                self.emit(f"{result} = v_{name}")
            else:
                self.emit(f'{result} = "" if v_{name} is None else str(v_{name})')
            # With no other reference to the old text, it grows in its place.
            self.emit(f"v_{name} = None")
            self.emit(f"{result} += {addition}")
            self.emit(f"v_{name} = {result}")
            self.emit(f"{result} = None")
            self.names.assigned(name, TEXT)
            return
        self._line(line)
        self.emit(f"v_{name} = {value.source}")
        if value.kinds != INTEGER and value.constant is None:
            long = f"len(v_{name}) > SHORT"
            if "i" in value.kinds:
                long = f"v_{name}.__class__ is not int and {long}"
            with self.block(f"if {long}:"):
                self.emit(f"grow(v_{name})")
        self.names.assigned(name, value.kinds)

    def _assign_element(self, node: Assignment, line: int) -> None:
        name = node.name
        assert node.subscript is not None
        source = node.subscript.source
        if not source.strip() or source in ("@", "*"):
            raise UntranslatableError(source)
        if self.names.array(name):
            # The value is expanded before the subscript.
            value = self.words.text(node.value).text
            key = self.words.text(node.subscript).text
            text = self.words.temporary()
            self._line(line)
            self.emit(f"{text} = {value}")
            function = "append_keyed" if node.append else "store_keyed"
            self.emit(f'{function}(sh, "{name}", a_{name}, {key}, {text}, {source!r})')
            return
        value = self.words.text(node.value).text
        index = self.words.number(node.subscript).source
        self.words.risk()
        self._line(line)
        text = self.words.temporary()
        self.emit(f"{text} = {value}")
        if node.append:
            self.emit(f'append_indexed(sh, "{name}", a_{name}, {index}, {text})')
        else:
            self.emit(f'sh.variables.set_indexed("{name}", a_{name}, {index}, {text})')

    def _assign_array(self, node: Assignment, line: int) -> None:
        elements = node.elements or []
        if node.subscript is not None or any(element.subscript is not None for element in elements):
            raise UntranslatableError(node.source)
        if self.names.array(node.name):
            raise UntranslatableError(node.source)
        fields = self.words.fields([element.value for element in elements])
        self._line(line)
        items = ", ".join(source for source, _ in fields)
        if not node.append:
            self.emit(f'fill(sh, "{node.name}", a_{node.name}, [{items}])')
        elif len(fields) == 1 and not items.startswith("*"):
            self.emit(f"push(sh, a_{node.name}, str({items}))")
        else:
            item = self.words.temporary()
            with self.block(f"for {item} in [{items}]:"):
                self.emit(f"push(sh, a_{node.name}, str({item}))")

    def _call_function(self, node: Simple, name: str, function: FunctionBody, tested: bool) -> None:
        items = ", ".join(source for source, _ in self.words.fields(self._plain_words(node)))
        self.call(name, function)
        self._line(node.line)
        arguments = self.words.temporary()
        self.emit(f"{arguments} = [{items}]")
        self._counted()
        frame = self.names.constant(Frame(name, function.source, node.line, []))
        call = f"st = {self.function_name(name)}({arguments}, {frame})"
        if tested and self.names.watching:
            self.emit("sh.suppressed += 1")
            with self.block("try:"):
                self.emit(call)
            with self.block("finally:"):
                self.emit("sh.suppressed -= 1")
        else:
            self.emit(call)
        self.emit(f"last = {arguments}[-1] if {arguments} else {name!r}")
        self._failing(node, tested)

    @staticmethod
    def function_name(name: str) -> str:
        """What the function is called in the source."""
        if not is_name(name):
            raise UntranslatableError(name)
        return f"f_{name}"

    # -- builtins ----------------------------------------------------------------------------------

    def _constant_status(self, node: Simple) -> None:
        name = self._head(node)
        items = ", ".join(source for source, _ in self.words.fields(self._plain_words(node)))
        self._line(node.line)
        last = repr(name)
        if items:
            arguments = self.words.temporary()
            self.emit(f"{arguments} = [{items}]")
            last = f"{arguments}[-1] if {arguments} else {name!r}"
        self._counted(last)
        self.emit(f"st = {1 if name == 'false' else 0}")

    def _run_test(self, node: Simple) -> None:
        truth, is_status = self._test(node, self._head(node))
        self.emit(f"st = {truth}" if is_status else f"st = 0 if {truth} else 1")

    def _echo(self, node: Simple) -> None:
        words = self._plain_words(node)
        newline = True
        if words and words[0].literal() == "-n":
            newline = False
            words = words[1:]
        items = self.words.fields(words)
        start = _start(words[0].parts) if words else "x"
        option = (not start or start[0] == "-") and items[0][1] != INTEGER
        if option or any(source.startswith("*") for source, _ in items):
            # The first word could be an option.
            if not newline:
                raise UntranslatableError("echo")
            self._any_builtin(node)
            return
        texts = [self.words.value(word) for word in words]
        self._line(node.line)
        pieces: list[Text | str] = []
        # An arithmetic expansion may assign to a variable that stands before it.
        assigns = any(_ASSIGNING.search(text.source) for text in texts)
        for place, text in enumerate(texts):
            if (assigns or not text.simple) and text.constant is None:
                name = self.words.temporary()
                self.emit(f"{name} = {text.source}")
                texts[place] = text = Text(name, text.kinds)
            pieces += [" ", text] if place else [text]
        whole = self.words.join([*pieces, "\n" if newline else ""])
        self._counted(texts[-1].source if texts else repr("-n" if not newline else "echo"))
        self.emit(f"st = say({whole.text})")

    def _any_builtin(self, node: Simple) -> None:
        """A builtin that changes nothing in the shell."""
        name = self._head(node)
        items = ", ".join(source for source, _ in self.words.fields(self._plain_words(node)))
        self.words.risk()
        self._line(node.line)
        arguments = self.words.temporary()
        self.emit(f"{arguments} = [{name!r}, *map(str, [{items}])]")
        self._counted()
        self.emit(f"st = builtins[{name!r}](sh, {arguments})")
        self.emit(f"last = {arguments}[-1]")

    def _printf(self, node: Simple) -> None:
        words = self._plain_words(node)
        if not words or (words[0].constant() or "-").startswith("-"):
            raise UntranslatableError("printf")
        self._any_builtin(node)

    def _local(self, node: Simple) -> None:
        if self._root:
            raise UntranslatableError("local")
        declared: list[tuple[str, str | None, Kinds]] = []
        for word in node.words[1:]:
            if isinstance(word, Assignment):
                if word.elements is not None or word.subscript is not None or word.append:
                    raise UntranslatableError("local")
                if word.value is not None and has_braces(word.value):
                    raise UntranslatableError("local")
                value = self.words.value(word.value)
                place = self.words.temporary()
                self._line(node.line)
                self.emit(f"{place} = {value.source}")
                declared.append((word.name, place, value.kinds))
            else:
                text = word.literal()
                if text is None or not is_name(text):
                    raise UntranslatableError("local")
                declared.append((text, None, NOTHING))
        if not declared:
            raise UntranslatableError("local")
        self._counted()
        for name, value_name, kinds in declared:
            self.locals.add(name)
            # Outside of the function it may be unset.
            self.names.assigned(name, kinds | NOTHING)
            with self.block(f"if s_{name} is UNTOUCHED:"):
                self.emit(f"s_{name} = v_{name}")
                if value_name is None:
                    self.emit(f"v_{name} = None")
            if value_name is not None:
                self.emit(f"v_{name} = {value_name}")
        self.emit("st = 0")

    def _return(self, node: Simple) -> None:
        words = self._plain_words(node)
        if len(words) > 1:
            raise UntranslatableError("return")
        if words:
            status = self.words.value(words[0])
            if status.kinds != INTEGER:
                raise UntranslatableError("return")
            self._line(node.line)
            self._counted()
            self.emit(f"st = {status.source} & 255")
        elif not self.words.status_known:
            raise UntranslatableError("return")
        else:
            self._counted()
        if self._root:
            self.names.returns = True
            self.emit("raise Return(st)")
        else:
            self.emit("return st")

    def _jump(self, node: Simple) -> None:
        words = self._plain_words(node)
        if (
            not self._steps
            or self._steps[-1] is None
            or len(words) > 1
            or (words and words[0].literal() != "1")
        ):
            raise UntranslatableError("break")
        self._counted(repr("1" if words else self._head(node)))
        self.emit("st = 0")
        name = self._head(node)
        if name == "continue" and self._steps[-1]:
            self.emit(self._steps[-1])
        self.emit(name)

    def _read(self, node: Simple) -> None:
        words = [word.literal() for word in self._plain_words(node)]
        whole = False
        for assignment in node.assignments:
            if assignment.name != "IFS" or assignment.subscript or assignment.elements or assignment.append:
                raise UntranslatableError("read")
            if assignment.value is None or assignment.value.constant() != "":
                raise UntranslatableError("read")
            whole = True
        if len(words) < 2 or words[0] != "-r":
            raise UntranslatableError("read")
        names = [name for name in words[1:] if name is not None and is_name(name)]
        if len(names) != len(words) - 1 or (whole and len(names) > 1):
            raise UntranslatableError("read")
        self.names.reads = True
        self.words.risk()
        self._line(node.line)
        self._counted(repr(names[-1]))
        record = self.words.temporary()
        self.emit(f"{record} = lines.line()" if whole else f"{record} = lines.fields({len(names)})")
        with self.block(f"if {record} is None:"):
            self.emit("st = 1")
        with self.block("else:"):
            self.emit(", ".join(f"v_{name}" for name in names) + f", st = {record}")
            for name in names:
                self.names.assigned(name, TEXT)

    def _test(self, node: Simple, head: str) -> tuple[str, bool]:
        self._builtin(head)
        arguments = self._plain_words(node)
        if head == "[":
            if not arguments or arguments[-1].literal() != "]":
                raise UntranslatableError("[")
            arguments.pop()
        truth, is_status = translate_test(head, arguments, self.words)
        self._line(node.line)
        self._counted(repr("]") if head == "[" else "")
        return truth, is_status


def _start(parts: list[Part]) -> str:
    """The text that a word begins with, where that is known."""
    first = parts[0] if parts else None
    if isinstance(first, DoubleQuoted):
        return _start(first.parts)
    return first.text if isinstance(first, Literal | Quoted) else ""


_BUILTINS: dict[str, Callable[[SimpleCommands, Simple], None]] = {
    ":": SimpleCommands._constant_status,
    "[": SimpleCommands._run_test,
    "break": SimpleCommands._jump,
    "continue": SimpleCommands._jump,
    "echo": SimpleCommands._echo,
    "false": SimpleCommands._constant_status,
    "local": SimpleCommands._local,
    "printf": SimpleCommands._printf,
    "return": SimpleCommands._return,
    "test": SimpleCommands._run_test,
    "true": SimpleCommands._constant_status,
}
