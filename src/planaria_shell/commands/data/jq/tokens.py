"""The tokens of a jq program, taken one by one."""

from __future__ import annotations

from planaria_shell.commands.data.jq.lexer import KEYWORDS, JqSyntaxError, Token


class TokenReader:
    """What is left of a program."""

    def __init__(self, source: str, tokens: list[Token]) -> None:
        self.source = source
        self.tokens = tokens
        self.position = 0

    @property
    def kind(self) -> str:
        return self.tokens[self.position].kind

    def take(self) -> Token:
        token = self.tokens[self.position]
        self.position += 1
        return token

    def accept(self, kind: str) -> bool:
        if self.tokens[self.position].kind == kind:
            self.position += 1
            return True
        return False

    def expect(self, kind: str) -> Token:
        if self.kind != kind:
            raise self.unexpected(kind)
        return self.take()

    def unexpected(self, expected: str | None = None) -> JqSyntaxError:
        token = self.tokens[self.position]
        name = _NAMES.get(token.kind)
        if name is None or (token.kind == "end" and token.value is not None):
            name = token.kind if token.kind in KEYWORDS or len(token.kind) > 1 else f"'{token.kind}'"
        wanted = ""
        if expected in ("]", "}", ")", "$", ":", ";"):
            wanted = f", expecting '{expected}'"
        return self.failure(f"syntax error, unexpected {name}{wanted} (Unix shell quoting issues?)", token)

    def failure(self, message: str, token: Token | None = None) -> JqSyntaxError:
        token = token or self.tokens[self.position]
        return JqSyntaxError(f"{message} at <top-level>, line {token.line}:\n{self.source}")

    def plain_string(self) -> str:
        parts = self.expect("string").value
        if len(parts) != 1:
            raise self.failure("Import path must be constant")
        return str(parts[0])

    def identifier(self) -> str:
        if self.kind == "name" or self.kind in KEYWORDS:
            return str(self.take().value)
        raise self.unexpected()


_NAMES = {
    "end": "end of file",
    "name": "IDENT",
    "field": "FIELD",
    "number": "LITERAL",
    "string": "QQSTRING_START",
    "format": "FORMAT",
}
