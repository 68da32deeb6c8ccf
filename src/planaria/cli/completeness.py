"""Whether what was typed so far is a whole cell. The text is parsed on the host, never run there."""

from __future__ import annotations

import ast
import codeop
import warnings
from typing import Final

__all__ = ["indentation", "is_complete"]

_compiler: Final = codeop.CommandCompiler()
_compiler.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def is_complete(text: str) -> bool:
    """Whether Enter at the end of `text` runs it, rather than beginning a new line.

    As in Python's own prompt, a block ends with a blank line. What is wrong beyond repair is complete, so
    that the session reports what is wrong with it.
    """
    lines = text.split("\n")
    last = lines[-1]
    may_go_on = last.strip() != "" and (last[0].isspace() or last.rstrip().endswith(":"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if _compiler(text, symbol="exec") is None:
                return False
            return not (may_go_on and _ends_in_block(text))
    except (SyntaxError, ValueError, OverflowError):
        # Perhaps only too new for the host's Python, which may be older than the sandbox's.
        return not may_go_on


def _ends_in_block(text: str) -> bool:
    tree = compile(text, "<input>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return bool(tree.body) and hasattr(tree.body[-1], "body")


def indentation(line: str) -> str:
    """What a line after `line` begins with."""
    indent = line[: len(line) - len(line.lstrip())]
    return indent + "    " if line.rstrip().endswith(":") else indent
