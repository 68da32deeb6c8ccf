"""Look for the words of `words.txt` in documents, and in the comments and strings of the source.

In tests and tools it looks at comments and docstrings: their other strings are programs and what those print.

Prints how many there are; `--list` prints each with its place, `--strict` exits with 1 when there is any.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORDS = Path(__file__).with_name("words.txt")
#: Folders of Python whose strings are prose only where they are docstrings.
CODE = ("tests", "tools", "benchmarks", "examples", "fuzz")
TEXT = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def words() -> list[tuple[re.Pattern[str], str]]:
    """The expressions and what to write instead."""
    lines = [line for line in WORDS.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    pairs = [line.split("\t") for line in lines]
    return [(re.compile(expression, re.IGNORECASE), instead) for expression, instead in pairs]


def documents() -> Iterator[Path]:
    """Every document and source file that users or contributors read."""
    yield from sorted(ROOT.glob("*.md"))
    yield from sorted((ROOT / "docs").rglob("*.md"))
    for folder in ("src", *CODE):
        yield from sorted((ROOT / folder).rglob("*.py"))


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are prose, with their numbers."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        yield from enumerate(text.splitlines(), 1)
        return
    docstrings = starts_of_docstrings(text) if path.relative_to(ROOT).parts[0] in CODE else None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_program = (
            docstrings is not None and token.type != tokenize.COMMENT and token.start not in docstrings
        )
        if token.type in TEXT and not is_program:
            yield from enumerate(token.string.splitlines(), token.start[0])


def starts_of_docstrings(source: str) -> set[tuple[int, int]]:
    """The lines and columns at which the docstrings of modules, classes and functions start."""
    starts = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                starts.add((first.lineno, first.col_offset))
    return starts


def findings() -> Iterator[str]:
    """What was found, one line each."""
    expressions = words()
    for path in documents():
        for number, line in texts(path):
            for expression, instead in expressions:
                if found := expression.search(line):
                    yield f"{path.relative_to(ROOT)}:{number}: {found[0]!r}: write {instead!r}"


def main() -> int:
    found = list(findings())
    if "--list" in sys.argv[1:] or ("--strict" in sys.argv[1:] and found):
        print("\n".join(found))
    print(f"{len(found)} words of tools/words.txt")
    return 1 if found and "--strict" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
