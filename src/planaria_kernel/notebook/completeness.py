"""Whether a cell can be executed as it stands, or a front end should begin a new line."""

from __future__ import annotations

import ast
import codeop
import warnings
from typing import Any, Final

from planaria_kernel.execution import foreign_syntax
from planaria_kernel.execution.magic_syntax import rewritten

__all__ = ["completeness"]

_compiler: Final = codeop.CommandCompiler()
_compiler.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def completeness(text: str) -> dict[str, Any]:
    """As Jupyter's `is_complete_reply` has it: `status` is complete, incomplete or invalid, and `indent` are
    the blanks that a next line of an incomplete cell begins with.

    A block ends with a blank line.
    """
    if text.lstrip().startswith("%%"):
        ends = text.endswith(("\n\n", "\n \n"))
        return {"status": "complete"} if ends else {"status": "incomplete", "indent": ""}
    lines = text.split("\n")
    last = lines[-1]
    may_go_on = last.strip() != "" and (last[0].isspace() or last.rstrip().endswith(":"))
    try:
        is_whole = _is_whole(text)
    except (SyntaxError, ValueError, OverflowError):
        return {"status": "invalid"}
    if is_whole and not (may_go_on and len(lines) > 1):
        return {"status": "complete"}
    return {"status": "incomplete", "indent": _indentation(lines)}


def _is_whole(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _compiler(text, symbol="exec") is not None
        except SyntaxError:
            repaired = foreign_syntax.repaired(text)
            magic = rewritten(repaired)
            source = repaired if magic is None else magic.source
            if source == text:
                raise
            return _compiler(source, symbol="exec") is not None


def _indentation(lines: list[str]) -> str:
    last = next((line for line in reversed(lines) if line.strip()), "")
    own = last[: len(last) - len(last.lstrip())]
    return own + "    " if last.rstrip().endswith(":") else own
