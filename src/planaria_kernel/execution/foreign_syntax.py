"""What is pasted into a cell and is not quite Python: invisible characters, indentation, IPython's magics."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["explain", "repaired"]

_BYTE_ORDER_MARK: Final = "\ufeff"
_NO_BREAK_SPACE: Final = "\xa0"
_INDENTATION: Final = re.compile(r"^[ \t\xa0]+", re.MULTILINE)
_FIRST_INDENTATION: Final = re.compile(r"\s*?^([ \t]+)(?=\S)", re.MULTILINE)
_MAGIC: Final = re.compile(r"\s*(?:\w[\w., ]*=\s*)?(%%?|!!?)\s*(\w*)")
_HELP: Final = re.compile(r"\s*\??[\w.]+\?{1,2}\s*$")

#: What to write in place of a magic command.
_INSTEAD: Final = {
    "pip": "packages come with an image (planaria.Image.build), or by deps.add() in a workspace",
    "conda": "packages come with an image (planaria.Image.build), or by deps.add() in a workspace",
    "matplotlib": "leave it out: figures are shown as they are",
    "time": "use time.perf_counter()",
    "timeit": "use the timeit module",
    "run": "use runpy.run_path()",
    "cd": "use os.chdir()",
    "pwd": "use os.getcwd()",
    "ls": "use os.listdir(), or session.bash() on the host",
    "env": "use os.environ",
    "load_ext": "leave it out",
    "autoreload": "leave it out",
    "who": "use dir()",
    "whos": "use dir()",
    "bash": "use subprocess.run(..., shell=True), or session.bash() on the host",
    "writefile": "use pathlib.Path.write_text()",
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
    """Have the error of a line that is IPython's and not Python's say what to write instead."""
    lines = source.splitlines()
    if error.lineno is None or not 0 < error.lineno <= len(lines) or not error.msg:
        return
    line = lines[error.lineno - 1]
    match = _MAGIC.match(line)
    if match is not None and match[1][0] == "!":
        hint = "shell commands: use subprocess.run(..., shell=True), or session.bash() on the host"
    elif match is not None and match[2]:
        instead = _INSTEAD.get(match[2], "write plain Python")
        hint = f"magic commands: {match[1]}{match[2]} is IPython's; {instead}"
    elif _HELP.match(line):
        hint = "IPython's help: use help(name)"
    else:
        return
    error.msg = f"{error.msg}; cells have no {hint}"
