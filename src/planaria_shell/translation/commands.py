"""Commands as Python source.

A command leaves its status in `st`. Conditions are expressions wherever that is possible.
"""

from __future__ import annotations

import re

from planaria_shell.state.variable import is_name
from planaria_shell.syntax.nodes import (
    AndOr,
    Arithmetic,
    ArithmeticCommand,
    ArithmeticFor,
    Case,
    Command,
    Condition,
    For,
    Group,
    If,
    Parameter,
    Pipeline,
    Sequence,
    Simple,
    While,
    Word,
)
from planaria_shell.translation.conditions import translate_condition
from planaria_shell.translation.names import INTEGER, TEXT, Kinds, UntranslatableError
from planaria_shell.translation.numbers import Number
from planaria_shell.translation.simple_commands import SimpleCommands

__all__ = ["Commands", "plain_numbers"]

_RANGE = re.compile(
    r"\{(-?(?:[1-9]\d{0,8}|0))\.\.(-?(?:[1-9]\d{0,8}|0))(?:\.\.(-?[1-9]\d{0,8}))?\}\Z", re.ASCII
)


def plain_numbers(words: list[Word] | None) -> range | None:
    """The numbers that the words of a `for` are, when they are one `{first..last}`."""
    if words is None or len(words) != 1:
        return None
    match = _RANGE.match(words[0].literal() or "")
    if match is None:
        return None
    first, last = int(match.group(1)), int(match.group(2))
    step = abs(int(match.group(3) or 1))
    return range(first, last + 1, step) if first <= last else range(first, last - 1, -step)


class Commands(SimpleCommands):
    """Translates all commands: those of a function of the shell, or of the loop at the root."""

    # -- dispatch ----------------------------------------------------------------------------------

    def run(self, node: Command, tested: bool) -> None:
        """Emit the command."""
        method = getattr(self, "_run_" + type(node).__name__.lower(), None)
        if method is None or (getattr(node, "redirects", None) and not isinstance(node, Simple)):
            raise UntranslatableError(type(node).__name__)
        method(node, tested)
        self.words.status_known = True

    def _run_sequence(self, node: Sequence, tested: bool) -> None:
        for command, background in node.items:
            if background:
                raise UntranslatableError("&")
            self.run(command, tested)

    def _run_group(self, node: Group, tested: bool) -> None:
        self.run(node.body, tested)

    # -- conditions --------------------------------------------------------------------------------

    def condition(self, node: Command) -> str:
        """Emit what has to be done first; returns an expression of whether the command succeeds."""
        if isinstance(node, Sequence) and node.items:
            for command, background in node.items[:-1]:
                if background:
                    raise UntranslatableError("&")
                self.run(command, True)
            command, background = node.items[-1]
            if background:
                raise UntranslatableError("&")
            return self.condition(command)
        if getattr(node, "redirects", None):
            raise UntranslatableError(type(node).__name__)
        if isinstance(node, Group):
            return self.condition(node.body)
        if isinstance(node, ArithmeticCommand):
            return self._arithmetic(node)
        if isinstance(node, Condition):
            return self._condition(node)
        if isinstance(node, Pipeline) and node.negated and len(node.stages) == 1 and not node.timed:
            return f"not ({self._inverted(node.stages[0])})"
        if isinstance(node, Simple) and node.words and not node.assignments:
            head = self._head(node)
            if head in ("[", "test") and head not in self.names.shell.functions:
                truth, is_status = self._test(node, head)
                if not is_status:
                    return truth
                self.emit(f"st = {truth}")
                return "st == 0"
            if head in (":", "true", "false") and len(node.words) == 1:
                self._builtin(head)
                self._counted(repr(head))
                return "False" if head == "false" else "True"
        self.run(node, True)
        return "st == 0"

    def _arithmetic(self, node: ArithmeticCommand) -> str:
        number = self._expression(node.expression)
        if not self.words.risky:
            return number.truth
        self._guarded(number.truth, "ShellError", "arithmetic_error", node.line)
        return "st == 0"

    def _expression(self, word: Word) -> Number:
        """An expression whose errors end no more than itself, unless they are those of expansions in it."""
        number = self.words.number(word)
        if self.words.risky and any(
            isinstance(part, Arithmetic) or (isinstance(part, Parameter) and part.operator == ":")
            for part in word.parts
        ):
            raise UntranslatableError(word.source)
        return number

    def _condition(self, node: Condition) -> str:
        truth = translate_condition(node.test, self.words)
        if not self.words.risky:
            return truth
        self._guarded(truth, "TestError", "condition_error", node.line)
        return "st == 0"

    def _guarded(self, truth: str, errors: str, handler: str, line: int) -> None:
        """The status of a condition, which can fail when it is risky."""
        if not self.words.risky:
            self.emit(f"st = 0 if {truth} else 1")
            return
        self._line(line)
        with self.block("try:"):
            self.emit(f"st = 0 if {truth} else 1")
        with self.block(f"except {errors} as error:"):
            self.emit(f"st = {handler}(sh, error)")

    def _run_arithmeticcommand(self, node: ArithmeticCommand, tested: bool) -> None:
        number = self._expression(node.expression)
        self._guarded(number.truth, "ShellError", "arithmetic_error", node.line)
        self._failing(node, tested)

    def _run_condition(self, node: Condition, tested: bool) -> None:
        truth = translate_condition(node.test, self.words)
        self._guarded(truth, "TestError", "condition_error", node.line)
        self._failing(node, tested)

    def _run_if(self, node: If, tested: bool) -> None:
        depth = self._indent
        for place, (test, body) in enumerate(node.branches):
            if place:
                self.emit("else:")
                self._indent += 1
            with self.block(f"if {self.condition(test)}:"):
                self._status(0)
                self.run(body, tested)
        with self.block("else:"):
            if node.otherwise is not None:
                self._status(1)
                self.run(node.otherwise, tested)
            else:
                self.emit("st = 0")
        self._indent = depth

    def _run_andor(self, node: AndOr, tested: bool) -> None:
        commands = [node.first, *(command for _, command in node.rest)]
        operators = [operator for operator, _ in node.rest]
        last = len(commands) - 1
        truth = self.condition(node.first)
        known = truth == "st == 0"
        for place, operator in enumerate(operators):
            command = commands[place + 1]
            with self.block(f"if {truth}:" if operator == "&&" else f"if not ({truth}):"):
                if not known:
                    self._status(0 if operator == "&&" else 1)
                self.run(command, tested or place + 1 < last)
            if not known:
                with self.block("else:"):
                    self.emit(f"st = {1 if operator == '&&' else 0}")
            truth, known = "st == 0", True

    def _run_pipeline(self, node: Pipeline, tested: bool) -> None:
        if node.timed or len(node.stages) != 1:
            raise UntranslatableError("|")
        if not node.negated:
            self.run(node.stages[0], tested)
            return
        self.emit(f"st = 1 if {self._inverted(node.stages[0])} else 0")

    def _inverted(self, node: Command) -> str:
        """The condition that stands behind a `!`, which would also invert the status of a jump in it."""
        self._steps.append(None)
        truth = self.condition(node)
        self._steps.pop()
        return truth

    def _run_case(self, node: Case, tested: bool) -> None:
        subject = self.words.text(node.word)
        name = self.words.temporary()
        self._line(node.line)
        self.emit(f"{name} = {subject.text}")
        known = self.words.status_known
        depth = self._indent
        for place, item in enumerate(node.items):
            if item.end != ";;" and place < len(node.items) - 1:
                raise UntranslatableError(item.end)
            tests = [
                self.words.match(name, pattern, extglob=self.names.extglob, case=True)
                for pattern in item.patterns
            ]
            if place:
                self.emit("else:")
                self._indent += 1
            self._line(node.line)
            truth = " or ".join(f"({test})" if len(tests) > 1 else test for test in tests)
            with self.block(f"if {truth}:"):
                self.words.status_known = known
                if item.body.items:
                    self.run(item.body, tested)
                else:
                    self.emit("st = 0")
        if node.items:
            with self.block("else:"):
                self.emit("st = 0")
        else:
            self.emit("st = 0")
        self._indent = depth

    # -- loops -------------------------------------------------------------------------------------

    def _round(self) -> None:
        self.emit("k -= 1")
        with self.block("if k < 0:"):
            self.emit("check()")

    def loop_body(self, body: Sequence, tested: bool, step: str, *, known: bool = False) -> None:
        """The commands of a loop, where `continue` does `step` first."""
        self._steps.append(step)
        self.words.status_known = known
        self.run(body, tested)
        self._steps.pop()

    def _run_while(self, node: While, tested: bool) -> None:
        self.emit("st = 0")
        self.while_loop(node, tested)

    def while_loop(self, node: While, tested: bool) -> None:
        """The loop itself, whose status is `st` when there are no more iterations."""
        result = self.words.temporary()
        self.emit(f"{result} = st")
        with self.block("while True:"):
            self._round()
            self.words.status_known = False
            self._steps.append("")
            truth = self.condition(node.condition)
            self._steps.pop()
            with self.block(f"if {truth}:" if node.until else f"if not ({truth}):"):
                self.emit(f"st = {result}")
                self.emit("break")
            self._status(0)
            self.loop_body(node.body, tested, f"{result} = 0", known=True)
            self.emit(f"{result} = st")

    def _run_arithmeticfor(self, node: ArithmeticFor, tested: bool) -> None:
        start = self.words.number(node.start) if node.start.source.strip() else None
        if self.words.risky:
            raise UntranslatableError("for ((")
        if start is not None:
            self.emit(start.effect)
        self.emit("st = 0")
        self.arithmetic_loop(node, tested)

    def arithmetic_loop(self, node: ArithmeticFor, tested: bool) -> None:
        """The loop without its start."""
        step = self.words.number(node.step).effect if node.step.source.strip() else ""
        if self.words.risky:
            raise UntranslatableError("for ((")
        condition = self._expression(node.condition).truth if node.condition.source.strip() else "True"
        risky = self.words.risky
        with self.block("while True:" if risky else f"while {condition}:"):
            if risky:
                self._line(node.line)
                going = self.words.temporary()
                with self.block("try:"):
                    self.emit(f"{going} = {condition}")
                with self.block("except ShellError as error:"):
                    self.emit("st = arithmetic_error(sh, error)")
                    self.emit("break")
                with self.block(f"if not {going}:"):
                    self.emit("break")
            self._round()
            self.loop_body(node.body, tested, f"st = 0; {step}" if step else "st = 0")
            if step:
                self.emit(step)

    def _run_for(self, node: For, tested: bool) -> None:
        numbers = plain_numbers(node.words)
        kinds: Kinds = INTEGER
        if numbers is not None:
            source = f"range({numbers.start}, {numbers.stop}, {numbers.step})"
        elif node.words is None:
            source, kinds = "args", INTEGER | TEXT
        else:
            items = self.words.fields(node.words)
            self._line(node.line)
            kinds = frozenset("").union(*(kinds for _, kinds in items))
            if len(items) == 1 and items[0][0].startswith("*"):
                source = items[0][0][1:]
            else:
                source = f"({', '.join(source for source, _ in items)},)" if items else "()"
        if not is_name(node.name):
            raise UntranslatableError(node.name)
        self.emit("st = 0")
        self.for_loop(node, source, kinds, tested)

    def for_loop(self, node: For, source: str, kinds: Kinds, tested: bool) -> None:
        """The loop over what the source gives."""
        self.names.assigned(node.name, kinds)
        with self.block(f"for v_{node.name} in {source}:"):
            self._round()
            self.loop_body(node.body, tested, "st = 0")
