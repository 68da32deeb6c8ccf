"""From the text of a jq program to its tree (recursive descent; precedences as in jq's grammar)."""

from __future__ import annotations

from typing import Any

from planaria_shell.commands.data.jq.json_reader import read_literal
from planaria_shell.commands.data.jq.lexer import KEYWORDS, Token, tokenize
from planaria_shell.commands.data.jq.syntax import (
    Alternative,
    Array,
    ArrayPattern,
    Assign,
    Binary,
    Bind,
    BreakTo,
    Call,
    Comma,
    Constant,
    Define,
    Definition,
    Foreach,
    Format,
    Identity,
    If,
    Import,
    Index,
    Iterate,
    Label,
    Logical,
    Negate,
    Node,
    Object,
    ObjectPattern,
    Pattern,
    Pipe,
    Program,
    RecurseDefault,
    Reduce,
    Slice,
    Text,
    Try,
    Variable,
    VariablePattern,
    constant_value,
    optional,
)
from planaria_shell.commands.data.jq.tokens import TokenReader

_ASSIGNMENTS = frozenset(["=", "|=", "+=", "-=", "*=", "/=", "%=", "//="])
_COMPARISONS = frozenset(["==", "!=", "<", "<=", ">", ">="])


def parse_program(source: str) -> Program:
    """The tree of a whole program or module; raises JqSyntaxError."""
    return _Parser(source, tokenize(source)).program()


def parse_expression(source: str) -> Node:
    """The tree of one expression."""
    program = parse_program(source)
    body = program.body or Identity()
    for definition in reversed(program.definitions):
        body = Define(definition, body)
    return body


class _Parser(TokenReader):
    # Words

    # Programs

    def program(self) -> Program:
        metadata: Any = None
        if self.kind == "module":
            self.take()
            metadata = self.constant(self.postfix())
            self.expect(";")
        imports = []
        while self.kind in ("import", "include"):
            imports.append(self.import_())
        definitions = []
        while self.kind == "def":
            definitions.append(self.definition())
        body = None if self.kind == "end" else self.pipe()
        if self.kind != "end":
            raise self.unexpected()
        return Program(imports, definitions, body, metadata)

    def import_(self) -> Import:
        word = self.take().kind
        path = self.plain_string()
        name, data = None, False
        if word == "import":
            self.expect("as")
            data = self.accept("$")
            name = self.identifier()
        metadata = None if self.kind == ";" else self.constant(self.postfix())
        self.expect(";")
        return Import(path, name, data, metadata)

    def constant(self, node: Node) -> Any:
        value = constant_value(node)
        if not isinstance(value, dict):
            raise self.failure("Module metadata must be an object")
        return value

    def definition(self) -> Definition:
        self.expect("def")
        name = self.identifier()
        parameters = []
        if self.accept("("):
            while True:
                prefix = "$" if self.accept("$") else ""
                parameters.append(prefix + self.identifier())
                if not self.accept(";"):
                    break
            self.expect(")")
        self.expect(":")
        body = self.pipe()
        self.expect(";")
        return Definition(name, parameters, body)

    # Expressions, from the loosest binding to the tightest

    def pipe(self, *, comma: bool = True) -> Node:
        if self.kind == "def":
            definition = self.definition()
            return Define(definition, self.pipe(comma=comma))
        if self.kind == "label":
            self.take()
            self.expect("$")
            name = self.identifier()
            self.expect("|")
            return Label(name, self.pipe(comma=comma))
        left = self.comma() if comma else self.alternative()
        if self.accept("|"):
            return Pipe(left, self.pipe(comma=comma))
        return left

    def comma(self) -> Node:
        left = self.alternative()
        while self.accept(","):
            left = Comma(left, self.alternative())
        return left

    def alternative(self) -> Node:
        left = self.assignment()
        if self.accept("//"):
            return Alternative(left, self.alternative())
        return left

    def assignment(self) -> Node:
        left = self.disjunction()
        if self.kind in _ASSIGNMENTS:
            operator = self.take().kind
            right = self.alternative()
            if self.kind in _ASSIGNMENTS:
                raise self.unexpected()
            return Assign(operator, left, right)
        return left

    def disjunction(self) -> Node:
        left = self.conjunction()
        while self.accept("or"):
            left = Logical("or", left, self.conjunction())
        return left

    def conjunction(self) -> Node:
        left = self.comparison()
        while self.accept("and"):
            left = Logical("and", left, self.comparison())
        return left

    def comparison(self) -> Node:
        left = self.sum()
        if self.kind in _COMPARISONS:
            operator = self.take().kind
            left = Binary(operator, left, self.sum())
            if self.kind in _COMPARISONS:
                raise self.unexpected()
        return left

    def sum(self) -> Node:
        left = self.product()
        while self.kind in ("+", "-"):
            operator = self.take().kind
            left = Binary(operator, left, self.product())
        return left

    def product(self) -> Node:
        if self.accept("-"):
            return Negate(self.product())
        left = self.postfix()
        while self.kind in ("*", "/", "%"):
            operator = self.take().kind
            left = Binary(operator, left, self.postfix())
        return left

    def postfix(self) -> Node:
        node = self.term()
        while True:
            kind = self.kind
            if kind == "field":
                node = Index(node, Constant(self.take().value))
            elif kind == ".":
                self.take()
                if self.kind == "string":
                    node = Index(node, self.string("text"))
                elif self.kind == "[":
                    self.take()
                    node = self.brackets(node)
                else:
                    raise self.unexpected()
            elif kind == "[":
                self.take()
                node = self.brackets(node)
            elif kind == "?":
                self.take()
                node = optional(node)
            elif kind == "?//":  # here not a word of its own: an optional term and an alternative
                token = self.tokens[self.position]
                self.tokens[self.position : self.position + 1] = [
                    Token("?", "?", token.start, token.line),
                    Token("//", "//", token.start, token.line),
                ]
            elif kind == "as":
                self.take()
                patterns = self.patterns()
                self.expect("|")
                return Bind(node, patterns, self.pipe())
            else:
                return node

    def brackets(self, target: Node) -> Node:
        if self.accept("]"):
            return Iterate(target)
        if self.accept(":"):
            stop = self.pipe()
            self.expect("]")
            return Slice(target, None, stop)
        key = self.pipe()
        if self.accept(":"):
            if self.accept("]"):
                return Slice(target, key, None)
            stop = self.pipe()
            self.expect("]")
            return Slice(target, key, stop)
        self.expect("]")
        return Index(target, key)

    def term(self) -> Node:
        token = self.tokens[self.position]
        kind = token.kind
        self.position += 1
        if kind == ".":
            if self.kind == "string":
                return Index(Identity(), self.string("text"))
            if self.kind == "[":
                self.take()
                return self.brackets(Identity())
            return Identity()
        if kind == "..":
            return RecurseDefault()
        if kind == "field":
            return Index(Identity(), Constant(token.value))
        if kind == "number":
            return Constant(read_literal(token.value))
        if kind == "string":
            self.position -= 1
            return self.string("text")
        if kind == "format":
            name = token.value[1:]
            return self.string(name) if self.kind == "string" else Format(name)
        if kind == "(":
            node = self.pipe()
            self.expect(")")
            return node
        if kind == "[":
            if self.accept("]"):
                return Array(None)
            node = self.pipe()
            self.expect("]")
            return Array(node)
        if kind == "{":
            return self.object()
        if kind == "$":
            if self.accept("__loc__"):
                return Constant({"file": "<top-level>", "line": token.line})
            return Variable(self.identifier())
        if kind == "-":
            return Negate(self.postfix())
        if kind == "if":
            return self.conditional()
        if kind == "try":
            body = self.operand()
            return Try(body, self.operand() if self.accept("catch") else Call("empty", []))
        if kind in ("reduce", "foreach"):
            return self.fold(kind)
        if kind == "def":
            self.position -= 1
            definition = self.definition()
            return Define(definition, self.pipe())
        if kind == "label":
            self.position -= 1
            return self.pipe()
        if kind == "name":
            if token.value == "break":
                if not self.accept("$"):
                    raise self.failure("break requires a label to break to")
                return BreakTo(self.identifier())
            return self.call(token.value)
        self.position -= 1
        raise self.unexpected()

    def operand(self) -> Node:
        """What `try` and `catch` apply to: a postfix term, without `as`."""
        if self.accept("-"):
            return Negate(self.operand())
        return self.postfix()

    def call(self, name: str) -> Node:
        arguments = []
        if self.accept("("):
            arguments.append(self.pipe())
            while self.accept(";"):
                arguments.append(self.pipe())
            self.expect(")")
        return Call(name, arguments)

    def conditional(self) -> Node:
        condition = self.pipe()
        self.expect("then")
        then = self.pipe()
        if self.accept("elif"):
            return If(condition, then, self.conditional())
        otherwise = self.pipe() if self.accept("else") else None
        if self.kind != "end" or self.tokens[self.position].value is None:
            raise self.unexpected()
        self.take()
        return If(condition, then, otherwise)

    def fold(self, kind: str) -> Node:
        # The source is a postfix term; its `as` belongs to us.
        source = self.source_term()
        self.expect("as")
        patterns = self.patterns()
        self.expect("(")
        start = self.pipe()
        self.expect(";")
        update = self.pipe()
        if kind == "reduce":
            self.expect(")")
            return Reduce(source, patterns, start, update)
        extract = self.pipe() if self.accept(";") else None
        self.expect(")")
        return Foreach(source, patterns, start, update, extract)

    def source_term(self) -> Node:
        node = self.term()
        while self.kind in ("field", ".", "[", "?"):
            kind = self.take().kind
            if kind == "field":
                node = Index(node, Constant(self.tokens[self.position - 1].value))
            elif kind == "[":
                node = self.brackets(node)
            elif kind == "?":
                node = optional(node)
            elif self.kind == "string":
                node = Index(node, self.string("text"))
            else:
                self.expect("[")
                node = self.brackets(node)
        return node

    def string(self, form: str) -> Node:
        token = self.expect("string")
        return self.text(token, form)

    def text(self, token: Token, form: str) -> Node:
        parts: list[str | Node] = []
        for part in token.value:
            if isinstance(part, str):
                parts.append(part)
            else:
                parser = _Parser(self.source, part)
                parts.append(parser.pipe())
                if parser.kind != "end" or parser.tokens[parser.position].value is not None:
                    raise parser.unexpected()
        if len(parts) == 1:
            return Constant(parts[0])
        return Text(form, parts)

    def object(self) -> Node:
        entries: list[tuple[Node, Node]] = []
        if self.accept("}"):
            return Object(entries)
        while True:
            entries.append(self.entry())
            if self.accept("}"):
                return Object(entries)
            self.expect_in_object(",")

    def expect_in_object(self, kind: str) -> None:
        if self.kind != kind:
            raise self.unexpected("}")
        self.take()

    def entry(self) -> tuple[Node, Node]:
        kind = self.kind
        key: Node
        if kind == "$":
            self.take()
            if self.kind == "__loc__":
                line = self.take().line
                return Constant("__loc__"), Constant({"file": "<top-level>", "line": line})
            name = self.identifier()
            return Constant(name), Variable(name)
        if kind == "(":
            self.take()
            key = self.pipe()
            self.expect(")")
            self.expect(":")
            return key, self.pipe(comma=False)
        if kind == "number":
            number = self.take().value
            if self.kind == ":":
                raise self.failure(f"Object keys must be strings, not number ({number})")
            raise self.unexpected()
        if kind == "string":
            key = self.string("text")
        elif kind == "format":
            key = self.string(self.take().value[1:])
        elif kind == "name" or (kind in KEYWORDS and self.tokens[self.position].value is not None):
            key = Constant(self.take().value)
        else:
            raise self.unexpected("}")
        if self.accept(":"):
            return key, self.pipe(comma=False)
        return key, Index(Identity(), key)

    # Patterns

    def patterns(self) -> list[Pattern]:
        patterns = [self.pattern()]
        while self.accept("?//"):
            patterns.append(self.pattern())
        return patterns

    def pattern(self) -> Pattern:
        if self.accept("$"):
            return VariablePattern(self.identifier())
        if self.accept("["):
            items = [self.pattern()]
            while self.accept(","):
                items.append(self.pattern())
            self.expect("]")
            return ArrayPattern(items)
        self.expect_open_brace()
        entries = [self.pattern_entry()]
        while self.accept(","):
            entries.append(self.pattern_entry())
        self.expect("}")
        return ObjectPattern(entries)

    def expect_open_brace(self) -> None:
        if not self.accept("{"):
            raise self.unexpected()

    def pattern_entry(self) -> tuple[str | None, Node, Pattern | None]:
        if self.accept("$"):
            name = self.identifier()
            inner = self.pattern() if self.accept(":") else None
            return name, Constant(name), inner
        key: Node
        if self.kind == "string":
            key = self.string("text")
        elif self.accept("("):
            key = self.pipe()
            self.expect(")")
        else:
            key = Constant(self.identifier())
        self.expect(":")
        return None, key, self.pattern()
