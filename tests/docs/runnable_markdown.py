"""Python blocks of Markdown files: run, and their comments compared with what happens.

A comment after a `print(...)` says what it prints; after an expression that is not a call, what its value's
`repr` is. Lines that are only a comment and follow directly continue it. `...` stands for anything. After
any other statement, and anywhere else, a comment is only a remark.

    x = 6                    # a remark
    print(x * 7, "and")      # 42 and
    x                        # 6

All blocks of a file share their names and one event loop. A block that begins with ```python no-run is only
compiled. Blocks in other languages are left alone.
"""

from __future__ import annotations

import ast
import asyncio
import doctest
import inspect
import io
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Block", "python_blocks", "run_blocks"]

_FENCE = re.compile(r"^```python(?P<options>[^\n]*)\n(?P<source>.*?)^```$", re.MULTILINE | re.DOTALL)
_SHOW = "__show__"
_PRINT = "__print__"


@dataclass(frozen=True)
class Block:
    """One block; `lineno` is that of its first line of code in the file."""

    source: str
    lineno: int
    is_run: bool


def python_blocks(text: str) -> list[Block]:
    """The Python blocks of a Markdown text."""
    return [
        Block(
            found["source"],
            text.count("\n", 0, found.start("source")) + 1,
            "no-run" not in found["options"],
        )
        for found in _FENCE.finditer(text)
    ]


def _comments(source: str) -> dict[int, tuple[bool, str]]:
    """By line: whether the comment stands there alone, and its text."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        token.start[0]: (not token.line[: token.start[1]].strip(), token.string.lstrip("#").strip())
        for token in tokens
        if token.type == tokenize.COMMENT
    }


class _Watched(ast.NodeTransformer):
    """Makes statements whose comments are promises tell what they showed."""

    def __init__(self, source: str) -> None:
        self._comments = _comments(source)
        #: What is promised, by the statement's first line.
        self.promised: dict[int, str] = {}

    def visit_Expr(self, statement: ast.Expr) -> ast.Expr:
        self.generic_visit(statement)
        value = statement.value
        prints = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "print"
        if isinstance(value, (ast.Call, ast.Await, ast.Constant)) and not prints:
            return statement
        assert statement.end_lineno is not None
        promised = self._promised(statement.end_lineno)
        if promised is None:
            return statement
        self.promised[statement.lineno] = promised
        watched: ast.expr
        line = ast.Constant(statement.lineno)
        if prints:
            assert isinstance(value, ast.Call)
            watched = ast.Call(ast.Name(_PRINT, ast.Load()), [line, *value.args], value.keywords)
        else:
            watched = ast.Call(ast.Name(_SHOW, ast.Load()), [line, value], [])
        return ast.copy_location(ast.Expr(watched), statement)

    def _promised(self, lineno: int) -> str | None:
        """The comment that ends on this line or begins below it."""
        lines = []
        if lineno in self._comments:
            lines.append(self._comments[lineno][1])
        while (following := self._comments.get(lineno + 1, (False, "")))[0]:
            lines.append(following[1])
            lineno += 1
        return "\n".join(lines) if lines else None


def _same(promised: str, shown: str) -> bool:
    """Whether they agree; blank lines and the ends of lines do not count."""
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    want, got = ("\n".join(filter(str.strip, text.splitlines())) for text in (promised, shown))
    return doctest.OutputChecker().check_output(want, got, options)


async def _run_block(block: Block, name: str, names: dict[str, Any]) -> None:
    tree = ast.parse(block.source, name)
    watched = _Watched(block.source)
    tree = ast.fix_missing_locations(watched.visit(tree))
    ast.increment_lineno(tree, block.lineno - 1)
    code = compile(tree, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    if not block.is_run:
        return
    shown: dict[int, str] = {}

    def show(lineno: int, value: object) -> None:
        shown[lineno] = shown.get(lineno, "") + f"{value!r}\n"

    def printed(lineno: int, *values: object, **options: Any) -> None:
        text = io.StringIO()
        print(*values, **{**options, "file": text})
        shown[lineno] = shown.get(lineno, "") + text.getvalue()

    names.update({_SHOW: show, _PRINT: printed})
    waiting = eval(code, names)
    if inspect.isawaitable(waiting):
        await waiting
    broken = []
    for lineno, promised in watched.promised.items():
        reported = shown.get(lineno)
        where = f"{name}:{block.lineno + lineno - 1}: promises {promised!r}"
        if reported is None:
            broken.append(f"{where}, and was not reached")
        elif not _same(promised, reported):
            broken.append(f"{where}, shows {reported!r}")
    assert not broken, "\n".join(broken)


def run_blocks(path: Path) -> None:
    """Run a file's blocks in order; AssertionError lists the lines that promised otherwise."""
    names: dict[str, Any] = {"__name__": path.stem}
    with asyncio.Runner() as runner:
        for block in python_blocks(path.read_text("utf-8")):
            runner.run(_run_block(block, path.name, names))
