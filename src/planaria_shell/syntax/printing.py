"""Syntax written back as source, as bash prints functions (`declare -f`, `type`) and jobs."""

from __future__ import annotations

import re

from planaria_shell.syntax.cursor import ansi_c
from planaria_shell.syntax.nodes import (
    AndOr,
    ArithmeticCommand,
    ArithmeticFor,
    Assignment,
    Case,
    Command,
    Condition,
    Coprocess,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Redirect,
    Select,
    Sequence,
    Simple,
    Subshell,
    Test,
    While,
    Word,
)

__all__ = ["function_source", "heading_of", "source_of"]


def function_source(name: str, node: Function) -> str:
    """The definition of a function, as `declare -f` prints it (without a newline at the end)."""
    return f"{name} () \n{_Printer().function_body(node.body)}"


def source_of(command: Command) -> str:
    """A command on as few lines as its parts allow."""
    return _Printer().command(command, 0)


def heading_of(command: For | Select | Case) -> str:
    """What comes before the commands in a command, as `set -x` and the DEBUG trap show it."""
    if isinstance(command, Case):
        return f"case {command.word.source} in "
    words = '"$@"' if command.words is None else " ".join(word.source for word in command.words)
    return f"{'for' if isinstance(command, For) else 'select'} {command.name} in {words}"


_PIECES = re.compile(r"""\\.|"(?:[^"\\]|\\.)*"|'[^']*'|\$'((?:[^'\\]|\\.)*)'|\$(?=")""", re.DOTALL)


def written(source: str) -> str:
    """A word's source as bash keeps it: what stood between `$'` and `'` is what it stands for."""
    if "$'" not in source and '$"' not in source:
        return source

    def replace(match: re.Match[str]) -> str:
        inner = match.group(1)
        if inner is not None:
            return "'" + ansi_c(inner).replace("'", "'\\''") + "'"
        return "" if match.group() == "$" else match.group()

    return _PIECES.sub(replace, source)


def _ended(condition: str) -> str:
    """A list in front of `then` or `do`."""
    return condition if condition.endswith(" &") else condition + ";"


class _Printer:
    """Prints commands; here-documents wait until the end of the line they stand on."""

    def __init__(self) -> None:
        self.documents: list[Redirect] = []
        #: Whether some have been written since the last separator, which they stand for.
        self.documents_written = False
        #: Whether this is within a function, where each command stands on a line of its own.
        self.in_function = False

    def function_body(self, body: Command) -> str:
        """What follows the name and the parentheses of a function."""
        around, self.in_function = self.in_function, True
        try:
            return self._function_body(body)
        finally:
            self.in_function = around

    def _function_body(self, body: Command) -> str:
        if isinstance(body, Group):
            text = "{ \n" + self.sequence(body.body, 4) + "\n}"
        else:
            return "{ \n    " + self.command(body, 4) + "\n}"
        return text + self.redirects(body.redirects)

    # -- lists -------------------------------------------------------------------------------------

    def sequence(self, node: Sequence, indent: int, ending: str = "") -> str:
        """A list, in a function one command a line, each indented; elsewhere on one line."""
        pad = " " * indent
        result = pad
        count = len(node.items)
        for place, (command, background) in enumerate(node.items):
            text = self.command(command, indent)
            last = place == count - 1
            mark = " &" if background else (ending if last else ";")
            below = self._documents() if self.documents else ""
            text += ("" if mark == ";" and self.documents_written else mark) + below
            self.documents_written = False
            # What follows a background command stands on the same line.
            result += text + ("" if last else " " if background or not self.in_function else "\n" + pad)
        return result

    def _documents(self) -> str:
        text = ""
        for redirect in self.documents:
            delimiter = redirect.delimiter.strip("'\"").replace("\\", "")
            text += "\n" + redirect.target.source + delimiter
        self.documents = []
        self.documents_written = True
        return text + "\n"

    def inline(self, node: Sequence, indent: int) -> str:
        """A list on one line, as in conditions."""
        result = ""
        last = len(node.items) - 1
        for place, (command, background) in enumerate(node.items):
            result += self.command(command, indent)
            if background:
                result += " &" if place == last else " & "
            elif place < last:
                result += ";\n" + " " * indent if self.in_function else "; "
        return result

    # -- commands ----------------------------------------------------------------------------------

    def command(self, node: Command, indent: int) -> str:
        """The command's text; lines after its first are indented by `indent`."""
        pad = " " * indent
        deeper = indent + 4
        text: str
        if isinstance(node, Simple):
            return self.simple(node)
        if isinstance(node, Pipeline):
            return self.pipeline(node, indent)
        if isinstance(node, AndOr):
            text = self.command(node.first, indent)
            for operator, command in node.rest:
                text += f" {operator} {self.command(command, indent)}"
            return text
        if isinstance(node, Sequence):
            return self.inline(node, indent)
        if isinstance(node, Group) and not self.in_function:
            text = f"{{ {self.sequence(node.body, indent, ';')[len(pad) :]} }}"
        elif isinstance(node, Group):
            text = "{ \n" + self.sequence(node.body, deeper) + f"\n{pad}}}"
        elif isinstance(node, Subshell):
            text = f"( {self.sequence(node.body, indent)[len(pad) :]} )"
        elif isinstance(node, If):
            text = ""
            for place, (condition, body) in enumerate(node.branches):
                word = "if" if place == 0 else "else\n" + " " * (indent + 4 * place) + "if"
                text += f"{word} {_ended(self.inline(condition, indent))} then\n"
                text += self.sequence(body, deeper + 4 * place, ";") + "\n" + " " * (indent + 4 * place)
            depth = len(node.branches) - 1
            if node.otherwise is not None:
                text += "else\n" + self.sequence(node.otherwise, deeper + 4 * depth, ";")
                text += "\n" + " " * (indent + 4 * depth)
            text += "fi"
            for level in range(depth - 1, -1, -1):
                text += ";\n" + " " * (indent + 4 * level) + "fi"
        elif isinstance(node, While):
            word = "until" if node.until else "while"
            text = f"{word} {_ended(self.inline(node.condition, indent))} do\n"
            text += self.sequence(node.body, deeper, ";") + f"\n{pad}done"
        elif isinstance(node, For | Select):
            word = "for" if isinstance(node, For) else "select"
            items = '"$@"' if node.words is None else " ".join(item.source for item in node.words)
            text = f"{word} {node.name} in {items};\n{pad}do\n"
            text += self.sequence(node.body, deeper, ";") + f"\n{pad}done"
        elif isinstance(node, ArithmeticFor):
            parts = (node.start, node.condition, node.step)
            head = "; ".join(word.source.lstrip() or "1" for word in parts)
            text = f"for (({head}))\n{pad}do\n" + self.sequence(node.body, deeper, ";") + f"\n{pad}done"
        elif isinstance(node, Case):
            text = f"case {node.word.source} in \n"
            for item in node.items:
                patterns = " | ".join(pattern.source for pattern in item.patterns)
                text += " " * deeper + f"{patterns})\n"
                text += (self.sequence(item.body, deeper + 4) if item.body.items else "") + "\n"
                text += " " * deeper + f"{item.end}\n"
            text += f"{pad}esac"
        elif isinstance(node, ArithmeticCommand):
            text = f"(({node.expression.source}))"
        elif isinstance(node, Condition):
            text = f"[[ {self.test(node.test)} ]]"
        elif isinstance(node, Function):
            definition = self.function_body(node.body).replace("\n", "\n" + pad)
            return f"function {node.name} () \n{pad}{definition}"
        elif isinstance(node, Coprocess):
            text = f"coproc {node.name} {self.command(node.body, indent)}"
        return text + self.redirects(node.redirects)

    def pipeline(self, node: Pipeline, indent: int) -> str:
        text = ""
        if node.timed:
            text += node.timed + " "
        if node.negated:
            text += "! "
        for place, stage in enumerate(node.stages):
            if place:
                text += " |"
                # What follows a here-document stands below it.
                text += f"{self._documents()}  " if self.documents else " "
            text += self.command(stage, indent)
        return text

    def simple(self, node: Simple) -> str:
        items: list[Word | Assignment] = [*node.assignments, *node.words]
        texts = [written(item.source) for item in items]
        return " ".join(texts) + (
            self.redirects(node.redirects) if texts else self.redirects(node.redirects)[1:]
        )

    def redirects(self, redirects: list[Redirect]) -> str:
        text = ""
        for redirect in redirects:
            number = f"{{{redirect.variable}}}" if redirect.variable else ""
            if redirect.fd is not None:
                number = str(redirect.fd)
            if redirect.operator in ("<<", "<<-"):
                text += f" {number}{redirect.operator}{redirect.delimiter}"
                self.documents.append(redirect)
            elif redirect.operator in ("<&", ">&"):
                default = "0" if redirect.operator == "<&" else "1"
                # What is closed is shown as an output.
                operator = ">&" if redirect.target.source == "-" else redirect.operator
                text += f" {number or default}{operator}{redirect.target.source}"
            else:
                number = number or ("0" if redirect.operator == "<>" else "")
                text += f" {number}{redirect.operator} {written(redirect.target.source)}"
        return text

    def test(self, node: Test) -> str:
        left, right = node.left, node.right
        if isinstance(left, Test):
            if node.operator == "!":
                return f"! {self.test(left)}"
            if node.operator == "(":
                return f"( {self.test(left)} )"
            assert isinstance(right, Test)
            return f"{self.test(left)} {node.operator} {self.test(right)}"
        if right is None:
            return f"{node.operator} {left.source}"
        assert isinstance(right, Word)
        return f"{left.source} {node.operator} {right.source}"
