"""The loop over records of a program that only looks at them: many lines at once, with fields in variables.

Most programs neither assign fields nor read on by themselves. Their rules then need none of the runtime's
state of the record at hand: the record and its fields are variables of the loop, and lines that no rule can
select are left out before it.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from planaria_shell.commands.text.awk.analysis import Analysis, walk
from planaria_shell.commands.text.awk.columns import sum_of, with_columns
from planaria_shell.commands.text.awk.syntax import (
    Assign,
    Binary,
    Call,
    Expression,
    Field,
    Getline,
    Grouping,
    Increment,
    Jump,
    Match,
    Name,
    Number,
    Regex,
    Rule,
    String,
)
from planaria_shell.toolkit.regex.posix import Pattern

__all__ = ["Blocks", "Line"]

_RECORD_NAMES = frozenset(("NR", "FNR", "NF", "RT"))
#: Variables that decide how lines are cut; a rule that assigns one needs the runtime's own loop.
_CUTTING = frozenset(("RS", "FS", "NR", "FNR", "NF", "IGNORECASE", "FPAT", "FIELDWIDTHS"))
#: Arguments with which these functions do not look at the record.
_EXPLICIT = {"length": 1, "sub": 3, "gsub": 3, "gensub": 4}


class Line(str):
    """A line of Python, and the line of the awk program that it comes from."""

    number: int

    def __new__(cls, text: str, number: int) -> Line:
        line = super().__new__(cls, text)
        line.number = number
        return line


class Blocks:
    """The part of the compiler that writes that loop."""

    analysis: Analysis
    lines: list[Line]
    line: int
    depth: int
    place: str
    constants: dict[str, Any]
    #: The global variables that the loop has as its own; None outside of it.
    localized: set[str] | None

    if TYPE_CHECKING:

        def write(self, line: str) -> None: ...
        def indented(self, head: str) -> AbstractContextManager[Any]: ...
        def condition(self, node: Expression) -> str: ...
        def constant_pattern(self, source: str) -> str: ...
        def _action(self, rule: Rule) -> None: ...

    #: Whether what is being written is in this loop.
    @property
    def in_block(self) -> bool:
        return self.place == "block"

    # What a rule looks at.

    def looks_only(self, rules: list[Rule]) -> bool:
        """Whether the rules may be run over many lines at once."""
        analysis = self.analysis
        if analysis.changes_fields or "RS" in analysis.assigned_special or "RT" in analysis.names:
            return False
        if analysis.reads_symbols or analysis.calls_indirectly:
            return False
        if {"FPAT", "FIELDWIDTHS"} & (analysis.names | analysis.external):
            return False
        plain = [rule for rule in rules if not rule.kind]
        if len(plain) + sum(rule.kind in ("BEGIN", "END") for rule in rules) < len(rules):
            return False
        nodes = list(walk(plain))
        for _, every in analysis.scopes:
            for node in every:
                if isinstance(node, Getline) and (not node.kind or node.target is None):
                    return False
        for node in nodes:
            if isinstance(node, Jump) and node.kind == "nextfile":
                return False
            if _assigns_cutting(node):
                return False
        for scope, every in analysis.scopes:
            if scope and any(map(_needs_runtime, every)):
                return False
        # A changed record would have to be cut again.
        changes = any(isinstance(node, Call) and _changes_record(node) for node in nodes)
        return not (changes and any(map(_uses_fields, nodes)))

    # Writing.

    def block_main(self, rules: list[Rule]) -> None:
        """The loop; what is printed is passed on after each block."""
        self.place = "block"
        plain = [rule for rule in rules if not rule.kind]
        nodes = list(walk(plain))
        names = {node.name for node in nodes if isinstance(node, Name)}
        leaves = any(isinstance(node, Jump) and node.kind == "exit" for node in nodes)
        counted = leaves or bool(names & {"NR", "FNR"})
        changes = any(isinstance(node, Call) and _changes_record(node) for node in nodes)
        uses = [rule for rule in plain if any(map(_uses_fields, walk(rule)))]
        eager = bool(uses) and uses[0] is plain[0] and _at_once(plain[0])
        literal = None if counted or changes else self._necessary(plain)
        for index, rule in enumerate(rules):
            if rule.second is not None:
                self.write(f"r{index} = False")
        self.write("R.place_known = False")
        with self.indented("while (lines := R.next_lines()):"):
            if counted:
                self.write("nr, before = R.NR, R.NR - R.FNR")
            chosen = "lines"
            if literal is not None:
                chosen = "chosen"
                self.write(f"chosen = [line for line in lines if {literal!r} in line]")
            if uses:
                most, last = _needed(nodes)
                self.write(f"split = R.block_splitter({chosen}, {most}, {last})")
            start = len(self.lines)
            # Nothing but the loop sees the variables while it runs: they are its own, which is faster.
            local = not self.analysis.program.functions
            self.localized = set() if local else None
            if local:
                self.depth += 1
            self._loop_body(rules, plain, uses, eager, counted, chosen)
            if (
                any("raise NextRecord" in line for line in self.lines[start:])
                or self.analysis.program.functions
            ):
                self._catch(start)
            if local:
                self.depth -= 1
                self._localize(start)
            if changes:
                self.write("R.ended_lines(lines, record)")
            else:
                self.write("R.ended_lines(lines, lines[-1])")
            with self.indented("if printed:"):
                self.write("yield from R.pass_on()")
        self.write("R.place_known = True")

    def _localize(self, start: int) -> None:
        """Copy the variables that the loop from line `start` on uses before it, and back however it ends."""
        names = sorted(self.localized or ())
        self.localized = None
        indent = "    " * self.depth
        # Arrays stay the same object.
        changing = [name for name in names if ("", name) not in self.analysis.arrays]
        self.lines[start:start] = [
            *(Line(f"{indent}v_{name} = g_{name}", self.line) for name in names),
            Line(f"{indent}try:", self.line),
        ]
        with self.indented("finally:"):
            for name in changing:
                self.write(f"g_{name} = v_{name}")
            if not changing:
                self.write("pass")

    def _loop_body(
        self, rules: list[Rule], plain: list[Rule], uses: list[Rule], eager: bool, counted: bool, chosen: str
    ) -> None:
        start = len(self.lines)
        self.write("")
        self.depth += 1
        if counted:
            self.write("nr += 1.0")
        if uses and not eager and len(uses) > 1:
            self.write("fields = None")
        for index, rule in enumerate(rules):
            if not rule.kind:
                ready = eager or rule not in uses
                self._block_rule(index, rule, ready, len(uses) > 1)
        if len(self.lines) == start + 1:
            self.write("pass")
        self.depth -= 1
        sources = {"record": chosen}
        places: list[int] = []
        if eager:
            if len(plain) == 1 and plain[0].first is None:
                places = self._use_columns(start + 1)
            code = "\n".join(self.lines[start:])
            every = {**sources, "fields": "rows" if places else f"map(split, {chosen})"}
            every |= {f"n{place}": f"all_n{place}" for place in places}
            sources = {name: source for name, source in every.items() if re.search(rf"\b{name}\b", code)}
        names, values = ", ".join(sources), ", ".join(sources.values())
        head = f"for {names} in {values if len(sources) == 1 else f'zip({values})'}:"
        indent = "    " * self.depth
        self.lines[start] = Line(indent + head, self.line)
        if places:
            columns = ", ".join(f"all_n{place}" for place in places)
            if "fields" in sources:
                self.write_at(start, f"rows = list(map(split, {chosen}))")
                start += 1
                texts = f"text_columns(rows, {places})"
            else:
                texts = f"R.block_columns({chosen}, split, {places})"
            self.write_at(start, f"[{columns}] = map(numbers, {texts})")
            added = sum_of(self.lines[-1]) if len(self.lines) == start + 3 else None
            if added is not None and self.localized is not None:
                variable, column = added
                line = f"{variable} = sum_from({variable} or 0.0, all_{column})"
                self.lines[start + 1 :] = [Line(indent + line, self.line)]

    def write_at(self, place: int, line: str) -> None:
        """Write a line between others."""
        self.lines.insert(place, Line("    " * self.depth + line, self.line))

    def _use_columns(self, start: int) -> list[int]:
        """Have the code from the line `start` on take fields as numbers from columns; returns which.

        There are none where conditions or loops decide what is looked at.
        """
        body = self.lines[start:]
        if any(line.startswith("    " * (self.depth + 2)) for line in body):
            return []
        changed, places = with_columns(body)
        self.lines[start:] = [Line(text, line.number) for text, line in zip(changed, body, strict=True)]
        return places

    def _catch(self, start: int) -> None:
        """Put the body of the loop that begins at line `start` into a `try` for `next`."""
        while not self.lines[start].lstrip().startswith("for "):
            start += 1
        inner = "    " * (self.depth + 1)
        body = [Line("    " + line, line.number) for line in self.lines[start + 1 :]]
        self.lines[start + 1 :] = [
            Line(f"{inner}try:", self.line),
            *body,
            Line(f"{inner}except NextRecord:", self.line),
            Line(f"{inner}    continue", self.line),
        ]

    def _block_rule(self, index: int, rule: Rule, ready: bool, several: bool) -> None:
        cut = "if fields is None: fields = split(record)" if several else "fields = split(record)"
        condition = rule.first
        if rule.second is not None and condition is not None:
            if not ready:
                self.write(cut)
            flag = f"r{index}"
            with self.indented(f"if {flag} or {self.condition(condition)}:"):
                self.write(f"{flag} = not {self.condition(rule.second)}")
                self._action(rule)
            return
        depth = self.depth
        for part in [] if condition is None else _conjuncts(condition):
            if not ready and any(map(_uses_fields, walk(part))):
                self.write(cut)
                ready = True
            self.write(f"if {self.condition(part)}:")
            self.depth += 1
        if not ready:
            self.write(cut)
        before = len(self.lines)
        self._action(rule)
        if len(self.lines) == before:
            self.write("pass")
        self.depth = depth

    def _necessary(self, rules: list[Rule]) -> str | None:
        """A text without which the only rule selects no line."""
        if len(rules) != 1 or rules[0].first is None or rules[0].second is not None:
            return None
        if self.analysis.ignores_case:
            return None
        for part in _conjuncts(rules[0].first):
            source = None
            if isinstance(part, Regex):
                source = part.source
            elif isinstance(part, Match) and not part.negated and isinstance(part.text, Field):
                pattern = part.pattern
                source = pattern.source if isinstance(pattern, Regex) else None
            if source is not None:
                constant = self.constant_of(source)
                if constant is not None and constant.literal and "\n" not in constant.literal:
                    return constant.literal
        return None

    def constant_of(self, source: str) -> Pattern | None:
        """The compiled pattern of an expression in the program."""
        raise NotImplementedError

    # Expressions.

    def block_text(self, index: Expression, number: str) -> str:
        """The code for the text of a field."""
        if isinstance(index, Number) and index.value >= 0:
            at = int(index.value)
            return "record" if at == 0 else f"(fields[{at - 1}] if len(fields) > {at - 1} else '')"
        if index == Name("NF"):
            return "(fields[-1] if fields else record)"
        return f"R.one_field(record, fields, {number})"

    def block_value(self, index: Expression, number: str) -> str:
        """The code for a field as a value."""
        if isinstance(index, Number) and index.value > 0:
            at = int(index.value)
            return f"(Input(fields[{at - 1}]) if len(fields) > {at - 1} else NO_FIELD)"
        return f"Input({self.block_text(index, number)})"

    def plain_substitution(self, node: Call) -> str | None:
        """sub or gsub on `$0` of an expression that is known, by a text without references to it."""
        pattern, text = node.arguments[0], node.arguments[1]
        if len(node.arguments) > 2 or not isinstance(pattern, Regex) or not isinstance(text, String):
            return None
        constant = self.constant_of(pattern.source)
        if constant is None or "&" in text.value or "\\" in text.value:
            return None
        count = ", 1" if node.name == "sub" else ""
        if constant.literal:
            return f"record.replace({constant.literal!r}, {text.value!r}{count})"
        if not constant.exact or constant.nullable:
            return None
        name = self.constant_pattern(pattern.source)
        self.constants[f"{name}_sub"] = constant.engine("").sub
        return (
            f"({name}_sub if record.isascii() else {name}.engine(record).sub)({text.value!r}, record{count})"
        )

    def block_name(self, name: str) -> str | None:
        """The code for a special variable that the loop keeps; None for others."""
        return {"NF": "float(len(fields))", "NR": "nr", "FNR": "(nr - before)"}.get(name)


def _conjuncts(node: Expression) -> list[Expression]:
    if isinstance(node, Grouping) and len(node.items) == 1:
        return _conjuncts(node.items[0])
    if isinstance(node, Binary) and node.operator == "&&":
        return _conjuncts(node.left) + _conjuncts(node.right)
    return [node]


def _uses_fields(node: Any) -> bool:
    if isinstance(node, Field):
        return not (isinstance(node.index, Number) and node.index.value == 0)
    return isinstance(node, Name) and node.name == "NF"


def _at_once(rule: Rule) -> bool:
    """Whether each record's fields are needed whatever the rule finds."""
    if rule.first is None:
        return True
    first = rule.first if rule.second is not None else _conjuncts(rule.first)[0]
    return any(map(_uses_fields, walk(first)))


def _changes_record(call: Call) -> bool:
    return call.builtin and call.name in ("sub", "gsub") and len(call.arguments) < 3


def _assigns_cutting(node: Any) -> bool:
    return (
        isinstance(node, Assign | Increment)
        and isinstance(node.target, Name)
        and node.target.name in _CUTTING
    )


def _needs_runtime(node: Any) -> bool:
    """Whether a function that holds this node looks at the record or ends the loop."""
    if isinstance(node, Field | Regex):
        return True
    if isinstance(node, Name):
        return node.name in _RECORD_NAMES
    if isinstance(node, Jump):
        return node.kind in ("exit", "nextfile")
    if _assigns_cutting(node):
        return True
    return isinstance(node, Call) and node.builtin and len(node.arguments) < _EXPLICIT.get(node.name, 0)


def _needed(nodes: list[Any]) -> tuple[int, bool]:
    """How many of the first fields are looked at (0 for all), and whether only the last one is."""
    most = 0
    last = False
    in_fields = {id(node.index) for node in nodes if isinstance(node, Field)}
    for node in nodes:
        if isinstance(node, Field):
            if isinstance(node.index, Number):
                most = max(most, int(node.index.value))
            elif node.index == Name("NF"):
                last = True
            else:
                return 0, False
        elif node == Name("NF") and id(node) not in in_fields:
            return 0, False
    return (0, most == 0) if last else (most, False)
