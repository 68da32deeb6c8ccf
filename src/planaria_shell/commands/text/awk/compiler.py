"""Turning an awk program into Python code.

Rules become three functions (BEGIN, the loop over records, END), awk functions become functions, global
variables the cells they share. Expressions are written for what is wanted of them: a number, a text, a
condition or a value of any kind. What prints is a generator, so that it can let the reader run.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from planaria_shell.commands.text.awk.analysis import GIVEN_ARRAYS, Analysis
from planaria_shell.commands.text.awk.blocks import Blocks, Line
from planaria_shell.commands.text.awk.expressions import Expressions
from planaria_shell.commands.text.awk.lexer import BUILTINS
from planaria_shell.commands.text.awk.namespace import NAMESPACE, PROLOGUE
from planaria_shell.commands.text.awk.parser import parse_program
from planaria_shell.commands.text.awk.syntax import (
    COMPILED,
    LINE_NUMBERS,
    Assign,
    AwkError,
    Block,
    Call,
    Delete,
    DoWhile,
    Evaluate,
    Expression,
    Field,
    For,
    ForIn,
    Function,
    Grouping,
    If,
    Increment,
    Index,
    Jump,
    Name,
    Number,
    Print,
    Regex,
    Rule,
    Statement,
    Switch,
    Target,
    While,
    fatal,
)
from planaria_shell.toolkit.regex.posix import Pattern, compile_extended
from planaria_shell.toolkit.regex.syntax import RegexError


@lru_cache(maxsize=200)
def compile_program(source: str, external: frozenset[str]) -> tuple[Callable[..., Any], list[str]]:
    """The program as a function of a runtime and the built-in functions, and warnings about it.

    The function returns (begin, main, end, assign, functions): the first three are generator functions
    or None. `external` are the variables that the command line assigns. Raises AwkError.
    """
    program = parse_program(source)
    compiler = Compiler(Analysis(program, external))
    try:
        code = compiler.compile()
    except AwkError as problem:
        if problem.status == 2 and problem.line is None:
            problem.line = compiler.line
        raise
    namespace: dict[str, Any] = {**NAMESPACE, LINE_NUMBERS: [line.number for line in compiler.lines]}
    namespace.update(compiler.constants)
    try:
        exec(compile(code, COMPILED, "exec"), namespace)
    except (RecursionError, SyntaxError, MemoryError) as problem:
        raise fatal(f"program is nested too deeply: {problem}") from problem
    return namespace["program"], program.warnings


class Compiler(Expressions, Blocks):
    """Writes the Python code of one program."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.program = analysis.program
        self.lines: list[Line] = []
        #: The line of the program at hand.
        self.line = 1
        self.depth = 0
        self.scope = ""
        #: "rule" in the loop over records, else "begin", "end" or "function".
        self.place = ""
        self.localized = None
        #: For each loop or switch around: what to write before a `continue`; a switch has its flag.
        self.loops: list[Callable[[], None] | str] = []
        self.temporaries = 0
        self.constants: dict[str, Any] = {}
        self.patterns: dict[str, str] = {}

    # Writing.

    def write(self, line: str) -> None:
        self.lines.append(Line("    " * self.depth + line, self.line))

    @contextmanager
    def indented(self, head: str) -> Any:
        self.write(head)
        self.depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.write("pass")
        self.depth -= 1

    def temporary(self) -> str:
        self.temporaries += 1
        return f"t{self.temporaries}"

    def constant_pattern(self, source: str) -> str:
        """The name of the compiled pattern of a regular expression in the program."""
        if self.analysis.ignores_case:
            return f"pattern({source!r})"
        name = self.patterns.get(source)
        if name is None:
            try:
                pattern = compile_extended(source, tool="awk")
            except RegexError as problem:
                raise AwkError(f"cmd. line:{self.line}: error: {problem}: /{source}/") from None
            name = self.patterns[source] = f"p{len(self.patterns)}"
            self.constants[name] = pattern
            self.constants[name + "_find"] = pattern.find
        return name

    def constant_of(self, source: str) -> Pattern | None:
        constant = self.constants.get(self.constant_pattern(source))
        return constant if isinstance(constant, Pattern) else None

    # The whole.

    def compile(self) -> str:
        with self.indented("def program(R, F):"):
            for line in PROLOGUE:
                self.write(line)
            for name in self.analysis.globals:
                self.write(f"g_{name} = {'Array()' if ('', name) in self.analysis.arrays else 'None'}")
            for function in self.program.functions.values():
                self._function(function)
            rules = self.program.rules
            begin = self._special("begin", [rule for rule in rules if rule.kind == "BEGIN"])
            end = self._special("end", [rule for rule in rules if rule.kind == "END"])
            main = "None"
            if any(rule.kind != "BEGIN" for rule in rules):
                main = "main"
                self._main(rules)
            self._assigner()
            if self.analysis.reads_symbols:
                self._symbols()
            if "FUNCTAB" in self.analysis.names:
                names = sorted({*self.program.functions, *BUILTINS})
                self.write(f"FUNCTAB.fill({{name: name for name in {names!r}}})")
            users = ", ".join(f"{name!r}: f_{name}" for name in self.program.functions)
            self.write(f"return {begin}, {main}, {end}, assign, {{{users}}}")
        return "\n".join(self.lines)

    def _nonlocals(self) -> None:
        names = [f"g_{name}" for name in self.analysis.globals if ("", name) not in self.analysis.arrays]
        if names:
            self.write("nonlocal " + ", ".join(names))

    def _assigner(self) -> None:
        with self.indented("def assign(name, value):"):
            self._nonlocals()
            for name in self.analysis.globals:
                if ("", name) not in self.analysis.arrays and ("", name) not in self.analysis.numeric:
                    with self.indented(f"if name == {name!r}:"):
                        self.write(f"g_{name} = value")

    def _symbols(self) -> None:
        """SYMTAB: how the variables are read by their names."""
        with self.indented("def lookup(name):"):
            for name in self.analysis.globals:
                with self.indented(f"if name == {name!r}:"):
                    self.write(f"return g_{name}")
            for name in sorted(GIVEN_ARRAYS - {"SYMTAB", "FUNCTAB"}):
                with self.indented(f"if name == {name!r}:"):
                    self.write(f"return {name}")
        names = [*self.analysis.globals, *sorted(GIVEN_ARRAYS - {"SYMTAB", "FUNCTAB"})]
        self.write(f"SYMTAB.connect({names!r}, lookup, assign)")

    def _function(self, function: Function) -> None:
        self.scope, self.place = function.name, "function"
        parameters = ", ".join(f"l_{name}=None" for name in function.parameters)
        with self.indented(f"def f_{function.name}({parameters}):"):
            shared = set(self.analysis.globals) - set(function.parameters)
            names = [f"g_{name}" for name in sorted(shared) if ("", name) not in self.analysis.arrays]
            if names:
                self.write("nonlocal " + ", ".join(names))
            for name in function.parameters:
                if (function.name, name) in self.analysis.arrays:
                    with self.indented(f"if l_{name} is None:"):
                        self.write(f"l_{name} = Array()")
            self.statement(function.body)
        self.scope = ""

    def _special(self, place: str, rules: list[Rule]) -> str:
        if not rules:
            return "None"
        self.place = place
        with self.indented(f"def {place}():"):
            self._nonlocals()
            with self.indented("if False:"):
                self.write("yield")
            for rule in rules:
                if rule.action:
                    self.statement(rule.action)
        return place

    def _main(self, rules: list[Rule]) -> None:
        with self.indented("def main():"):
            self._nonlocals()
            if self.looks_only(rules):
                with self.indented("if False:"):
                    self.write("yield")
                self.block_main(rules)
                return
            self.place = "rule"
            ranges = [index for index, rule in enumerate(rules) if rule.second is not None]
            for index in ranges:
                self.write(f"r{index} = False")
            hooks = any(rule.kind in ("BEGINFILE", "ENDFILE") for rule in rules)
            with self.indented("while True:" if hooks else "while next_record():"):
                if hooks:
                    self._hooks(rules)
                with self.indented("if len(printed) > 512:"):
                    self.write("yield from R.pass_on()")
                with self.indented("try:"):
                    for index, rule in enumerate(rules):
                        if not rule.kind:
                            self._rule(index, rule)
                with self.indented("except NextRecord:"):
                    self.write("continue")
                with self.indented("except NextFile:"):
                    if hooks:
                        self._hook(rules, "ENDFILE")
                    self.write("R.close_current()")

    def _hook(self, rules: list[Rule], kind: str) -> None:
        for rule in rules:
            if rule.kind == kind and rule.action:
                self.statement(rule.action)

    def _hooks(self, rules: list[Rule]) -> None:
        with self.indented("if R.reader is None:"):
            with self.indented("if not R.open_next(True):"):
                self.write("break")
            with self.indented("try:"):
                self._hook(rules, "BEGINFILE")
            with self.indented("except NextFile:"):
                with self.indented("if R.reader is not None:"):
                    self._hook(rules, "ENDFILE")
                    self.write("R.close_current()")
                self.write("continue")
            self.write("R.must_be_open()")
        with self.indented("if not R.next_of_file():"):
            self._hook(rules, "ENDFILE")
            self.write("R.close_current()")
            self.write("continue")

    def _rule(self, index: int, rule: Rule) -> None:
        if rule.second is not None and rule.first is not None:
            flag = f"r{index}"
            with self.indented(f"if {flag} or {self.condition(rule.first)}:"):
                self.write(f"{flag} = not {self.condition(rule.second)}")
                self._action(rule)
        elif rule.first is not None:
            with self.indented(f"if {self.condition(rule.first)}:"):
                self._action(rule)
        else:
            self._action(rule)

    def _action(self, rule: Rule) -> None:
        self.statement(rule.action if rule.action is not None else Print([], False))

    # Statements.

    def statement(self, node: Statement) -> None:
        self.line = self.program.lines.get(id(node), self.line)
        match node:
            case Block(body):
                for part in body:
                    self.statement(part)
            case Evaluate(expression):
                self._evaluate(expression)
            case Print():
                self._print(node)
            case If(condition, then, otherwise):
                with self.indented(f"if {self.condition(condition)}:"):
                    self.statement(then)
                if otherwise is not None:
                    with self.indented("else:"):
                        self.statement(otherwise)
            case While(condition, body):
                with self.indented(f"while {self.condition(condition)}:"):
                    self._loop(body, lambda: None)
            case DoWhile(body, condition):
                until = condition
                with self.indented("while True:"):
                    self._loop(body, lambda: self._break_unless(until))
                    self._break_unless(until)
            case For(first, condition, step, body):
                if first is not None:
                    self.statement(first)
                with self.indented(f"while {self.condition(condition) if condition else 'True'}:"):

                    def advance() -> None:
                        if step is not None:
                            self.statement(step)

                    self._loop(body, advance)
                    advance()
            case ForIn(variable, array, body):
                name = self.temporary()
                with self.indented(f"for {name} in F.keys({self.array(array)}):"):
                    self.assign_statement(variable, name)
                    self._loop(body, lambda: None)
            case Switch():
                self._switch(node)
            case Delete(array, keys):
                if keys is None:
                    self.write(f"{self.array(array)}.clear()")
                else:
                    self.write(f"{self.array(array)}.pop({self.key(keys)}, None)")
            case Jump(kind, value):
                self._jump(kind, value)

    def _loop(self, body: Statement, before_continue: Callable[[], None]) -> None:
        self.loops.append(before_continue)
        self.statement(body)
        self.loops.pop()

    def _break_unless(self, condition: Expression) -> None:
        with self.indented(f"if not {self.condition(condition)}:"):
            self.write("break")

    def _switch(self, node: Switch) -> None:
        subject, chosen, flag = self.temporary(), self.temporary(), self.temporary()
        self.write(f"{subject} = {self.value(node.subject)}")
        default = next((i for i, (value, _) in enumerate(node.cases) if value is None), len(node.cases))
        self.write(f"{chosen} = {default}")
        word = "if"
        for index, (value, _) in enumerate(node.cases):
            if value is None:
                continue
            if isinstance(value, Regex):
                test = f"{self.constant_pattern(value.source)}.find(text({subject}))"
            elif self.analysis.kind(value, self.scope) == "text":
                test = f"({subject}.__class__ is not float and text({subject}) == {self.text(value)})"
            else:
                test = f"compare({subject}, {self.value(value)}) == 0"
            with self.indented(f"{word} {test}:"):
                self.write(f"{chosen} = {index}")
            word = "elif"
        self.write(f"{flag} = False")
        with self.indented("while True:"):
            self.loops.append(flag)
            for index, (_, body) in enumerate(node.cases):
                with self.indented(f"if {chosen} <= {index}:"):
                    self.statement(Block(body))
            self.loops.pop()
            self.write("break")
        if any(not isinstance(loop, str) for loop in self.loops):
            with self.indented(f"if {flag}:"):
                self._jump("continue", None)

    def _jump(self, kind: str, value: Expression | None) -> None:
        match kind:
            case "next" | "nextfile":
                if self.place in ("begin", "end"):
                    raise AwkError(
                        f"cmd. line:{self.line}: error: `{kind}' used in {self.place.upper()} action"
                    )
                if kind == "next" and self.place in ("rule", "block") and not self.loops:
                    self.write("continue")
                else:
                    self.write("raise NextRecord" if kind == "next" else "raise NextFile")
            case "exit":
                if value is not None:
                    self.write(f"R.exit_status = int({self.number(value)}) & 255")
                if self.in_block:
                    self.write("R.left_lines(nr, before, record)")
                self.write("raise Exit")
            case "return":
                self.write(f"return {self.value(value) if value is not None else 'None'}")
            case "break":
                self.write("break")
            case _:
                innermost = self.loops[-1]
                if isinstance(innermost, str):
                    self.write(f"{innermost} = True")
                    self.write("break")
                else:
                    innermost()
                    self.write("continue")

    def _evaluate(self, node: Expression) -> None:
        """An expression for its effects only."""
        match node:
            case Grouping([inner]):
                self._evaluate(inner)
            case Assign("", target, value):
                self.assign_statement(target, self.value(value))
            case Assign(operator, target, value):
                self._update_statement(target, operator, self.number(value))
            case Increment(operator, _, target):
                self._update_statement(target, operator[0], "1.0")
            case Call("sub" | "gsub", _, True):
                self.substitution_statement(node)
            case _:
                self.write(self.value(node))

    def _update_statement(self, target: Target, operator: str, amount: str) -> None:
        if isinstance(target, Index):
            array, key = self.array(target.array), self.temporary()
            self.write(f"{key} = {self.key(target.keys)}")
            if not array.isidentifier():
                name = self.temporary()
                self.write(f"{name} = {array}")
                array = name
            self.write(
                f"{array}[{key}] = {self.operation(operator, self.element(target, array, key), amount)}"
            )
        elif isinstance(target, Name):
            self.assign_statement(target, self.operation(operator, self.number(target), amount))
        else:
            self.write(self._update(target, operator, amount))

    # Printing.

    def _print(self, node: Print) -> None:
        if node.formatted:
            code = self.formatted(node.arguments) if node.arguments else "no_format()"
        else:
            changed = self.analysis.assigned_special
            between = "R.OFS" if "OFS" in changed else "' '"
            end = "R.ORS" if "ORS" in changed else "'\\n'"
            parts = [self.output_text(part) for part in node.arguments or [Field(Number(0.0))]]
            code = f" + {between} + ".join(parts) + f" + {end}"
        if node.destination is not None:
            self.write(f"R.sink({node.redirection!r}, {self.text(node.destination)})({code})")
            return
        self.write(f"out({code})")
        if self.loops or self.place == "function":
            with self.indented("if len(printed) > 512:"):
                self.write("yield from R.pass_on()")
