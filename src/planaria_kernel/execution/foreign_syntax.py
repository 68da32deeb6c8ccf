"""What is pasted into a cell and is not quite Python: invisible characters, indentation, IPython's magics."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["explain", "repaired"]

_BYTE_ORDER_MARK: Final = "\ufeff"
_NO_BREAK_SPACE: Final = "\xa0"
_INDENTATION: Final = re.compile(r"^[ \t\xa0]+", re.MULTILINE)
_FIRST_INDENTATION: Final = re.compile(r"\s*?^([ \t]+)(?=\S)", re.MULTILINE)
_MAGIC: Final = re.compile(r"\s*(?:\w[\w., ]*=\s*)?(%%?)\s*(\w*)")

_PACKAGES: Final = (
    "packages come with an image (planaria.Image.build, `planaria image build`), or by deps.add() in a "
    "workspace"
)
#: What the prompt and notebooks do with the session, which a cell cannot do to itself.
_OF_PROMPTS: Final = (
    "checkpoint",
    "choose",
    "fork",
    "forks",
    "get",
    "put",
    "redo",
    "rewind",
    "switch",
    "undo",
)

#: What to write in place of a magic command that there is not.
_INSTEAD: Final = {
    **dict.fromkeys(
        _OF_PROMPTS,
        "it is for the prompt of `planaria` on a terminal and for notebooks; from Python, sessions have "
        "methods for it",
    ),
    "autoreload": "leave it out",
    "autosave": "leave it out",
    "conda": _PACKAGES,
    "config": "leave it out: figures are shown as PNG",
    "debug": "use pdb.post_mortem()",
    "load": "use pathlib.Path.read_text()",
    "load_ext": "leave it out: extensions of IPython are not there",
    "mamba": _PACKAGES,
    "memit": "use tracemalloc",
    "prun": "use the cProfile module",
    "pylab": "import numpy and matplotlib.pyplot",
    "reload_ext": "leave it out",
    "store": "use snapshots of the session (planaria.Session.snapshot_state)",
}


def repaired(source: str) -> str:
    """The source without a byte order mark, with ordinary spaces before its lines, and without the
    indentation that its first line has.
    """
    source = source.removeprefix(_BYTE_ORDER_MARK)
    source = _INDENTATION.sub(lambda match: match[0].replace(_NO_BREAK_SPACE, " "), source)
    first = _FIRST_INDENTATION.match(source)
    if first is not None:
        indentation = re.escape(first[1])
        source = re.sub(f"^{indentation}", "", source, flags=re.MULTILINE)
    return source


def explain(error: SyntaxError, source: str) -> None:
    """Have the error of a line that is a magic which there is not say what to write instead."""
    lines = source.splitlines()
    if error.lineno is None or not 0 < error.lineno <= len(lines) or not error.msg:
        return
    line = lines[error.lineno - 1]
    match = _MAGIC.match(line)
    if match is None or not match[2]:
        return
    instead = _INSTEAD.get(match[2], "write plain Python; %lsmagic lists those that there are")
    error.msg = f"{error.msg}; cells have no magic {match[1]}{match[2]}: {instead}"
