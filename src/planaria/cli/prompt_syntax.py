"""What the prompt takes beside Python, as IPython does: `!command`, `name?`, `Out` and `_9`, wide values."""

from __future__ import annotations

import re
from typing import Final

from planaria import Session
from planaria.session.kernel_queries import evaluate

__all__ = ["SHELL", "asks_about", "description", "in_private", "is_line", "keep_value", "pretty"]

#: What a line for the shell begins with.
SHELL: Final = "!"

_QUESTION: Final = re.compile(r"\s*(?:\?\s*([\w.]+)|([\w.]+)\s*(\?{1,2}))\s*")
#: Characters of a value that may be laid out over several lines.
_MOST_PRETTY: Final = 20_000

_DESCRIBE: Final = """
import inspect
value = eval(name, space)
print(f"Type:      {type(value).__qualname__}")
text = repr(value)
print(f"Value:     {text if len(text) <= 500 else text[:500] + '…'}")
try:
    print(f"Signature: {name}{inspect.signature(value)}")
except (TypeError, ValueError):
    pass
if with_source:
    try:
        print(inspect.getsource(value).rstrip())
    except (TypeError, OSError) as error:
        print(f"Source:    {error}")
elif documentation := inspect.getdoc(value):
    print(documentation)
"""
_KEEP: Final = "(globals().setdefault('Out', {{}}).__setitem__({0}, _), globals().update(_{0}=_)) and None"
_PRETTY: Final = (
    "__import__('pprint').pformat(_, width={}, compact=True, sort_dicts=False) "
    "if type(_) in (dict, frozenset, list, set, tuple) else None"
)


def is_line(text: str) -> bool:
    """Whether a line is one of these rather than Python: Enter runs it."""
    return text.startswith(SHELL) or asks_about(text) is not None


def asks_about(text: str) -> tuple[str, bool] | None:
    """Of `name?`, the name; and whether its source is wanted, as by `name??`."""
    match = _QUESTION.fullmatch(text)
    if match is None:
        return None
    return match[1] or match[2], match[3] == "??"


def description(name: str, with_source: bool) -> str:
    """The source of a cell that describes what a name means."""
    return in_private(_DESCRIBE, name=name, with_source=with_source)


def in_private(source: str, **names: object) -> str:
    """The source of a cell that runs `source` with names of its own; `space` has the session's."""
    given = "".join(f", {name!r}: {value!r}" for name, value in names.items())
    return f"exec({source!r}, {{'space': globals(){given}}})"


def keep_value(session: Session) -> None:
    """Have the value of the last execution as `Out[N]` and `_N`."""
    evaluate(session._engine, _KEEP.format(session.execution_count))


def pretty(session: Session, text: str, width: int) -> str:
    """The repr of the last value, on several lines if it is a container and wider than the terminal."""
    if not width < len(text) < _MOST_PRETTY or "\n" in text:
        return text
    laid_out = evaluate(session._engine, _PRETTY.format(width))
    return laid_out if isinstance(laid_out, str) else text
