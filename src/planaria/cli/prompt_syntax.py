"""When a cell is complete, and what the prompt takes beside Python, as IPython does.

That is `!command`, `name?`, `Out` and `_9`, wide values.
"""

from __future__ import annotations

import ast
import codeop
import re
import warnings
from typing import Final

from planaria import Session
from planaria.session.kernel_queries import evaluate
from planaria_kernel.execution.magic_names import CELL_MAGICS, LINE_MAGICS, SCRIPT_MAGICS, WRAPPERS

__all__ = [
    "SHELL",
    "indentation",
    "is_complete",
    "is_line",
    "keep_exit_code",
    "keep_value",
    "magics",
    "pretty",
]

#: What a line for the shell begins with.
SHELL: Final = "!"
#: What a line for the session or a magic begins with, and a cell that is one magic as a whole.
_MAGIC: Final = "%"
_CELL_MAGIC: Final = "%%"

_compiler: Final = codeop.CommandCompiler()
_compiler.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_QUESTION: Final = re.compile(r"\s*(?:\?{1,2}\s*[%\w.]+|[%\w.]+\s*\?{1,2})\s*")
#: Characters of a value that may be laid out over several lines.
_MOST_PRETTY: Final = 20_000

_KEEP: Final = "(globals().setdefault('Out', {{}}).__setitem__({0}, _), globals().update(_{0}=_)) and None"
_PRETTY: Final = (
    "__import__('pprint').pformat(_, width={}, compact=True, sort_dicts=False) "
    "if type(_) in (dict, frozenset, list, set, tuple) else None"
)


def is_line(text: str) -> bool:
    """Whether a line is one of these rather than Python: Enter runs it."""
    if text.startswith(_CELL_MAGIC):
        return False
    return text.startswith((SHELL, _MAGIC)) or _QUESTION.fullmatch(text) is not None


def magics() -> set[str]:
    """The magics of cells with their prefixes."""
    cell = (*CELL_MAGICS, *SCRIPT_MAGICS, *WRAPPERS)
    return {*(_MAGIC + name for name in LINE_MAGICS), *(_CELL_MAGIC + name for name in cell)}


def keep_value(session: Session) -> None:
    """Have the value of the last execution as `Out[N]` and `_N`."""
    evaluate(session._engine, _KEEP.format(session.execution_count))


def keep_exit_code(session: Session, status: int) -> None:
    """Have the exit status of the last command of the shell as `_exit_code`."""
    evaluate(session._engine, f"globals().update(_exit_code={status:d})")


def pretty(session: Session, text: str, width: int) -> str:
    """The repr of the last value, on several lines if it is a container and wider than the terminal."""
    if not width < len(text) < _MOST_PRETTY or "\n" in text:
        return text
    laid_out = evaluate(session._engine, _PRETTY.format(width))
    return laid_out if isinstance(laid_out, str) else text


def is_complete(text: str) -> bool:
    """Whether Enter at the end of `text` runs it, rather than beginning a new line.

    The text is parsed on the host, but not run there.

    As in Python's own prompt, a block ends with a blank line; so does a cell that is one magic. What is
    wrong beyond repair is complete, so that the session reports what is wrong with it.
    """
    lines = text.split("\n")
    last = lines[-1]
    if text.startswith(_CELL_MAGIC):
        return len(lines) > 1 and not last.strip()
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
