"""The contexts of E2B's code interpreter: sets of variables of one interpreter, each with a directory.

Modules, files and environment variables are the same in all contexts of a sandbox; one runs at a time.
"""

from __future__ import annotations

import secrets
from typing import Any, Final

from planaria.errors import SessionError
from planaria.server.e2b.wire import unimplemented
from planaria.server.problems import Problem
from planaria.server.served_session import ServedSession

__all__ = [
    "create_context",
    "describe_outputs",
    "find_context",
    "list_contexts",
    "remove_context",
    "restart_context",
    "switch",
]

Context = dict[str, str]

_HOME: Final = "/home/user"
#: The contexts that every sandbox has: its Python, and its shell.
_USUAL: Final[tuple[Context, ...]] = (
    {"id": "python", "language": "python", "cwd": _HOME},
    {"id": "bash", "language": "bash", "cwd": _HOME},
)
_MOST: Final = 100

#: What the sandbox does to leave the context `old` for `new`; names of the form __name__ are the module's.
_SWITCH: Final = """
import os, sys
main = vars(sys.modules["__main__"])
kept = sys.modules.setdefault("planaria_contexts", type(sys)("planaria_contexts"))
spaces = vars(kept).setdefault("spaces", {})
names = [name for name in main if not (name.startswith("__") and name.endswith("__"))]
spaces[old] = ({name: main.pop(name) for name in names}, os.getcwd())
space, directory = spaces.pop(new, ({}, cwd))
main.update(space)
os.chdir(directory)
"""
_FORGET: Final = """
import sys
vars(sys.modules.get("planaria_contexts", sys)).get("spaces", {}).pop(old, None)
"""


def _more(named: ServedSession) -> dict[str, Context]:
    found: dict[str, Context] = named.record.extra.setdefault("contexts", {})
    return found


def list_contexts(named: ServedSession) -> list[Context]:
    """The contexts of a sandbox."""
    return [*_USUAL, *_more(named).values()]


def find_context(named: ServedSession, body: Any) -> Context:
    """The context in which a request executes code. Raises Problem."""
    wanted = body.get("context_id")
    if wanted is not None:
        for one in list_contexts(named):
            if one["id"] == wanted:
                return one
        raise Problem(404, f"there is no context {wanted!r}")
    language = _language(body)
    return next(one for one in _USUAL if one["language"] == language)


def _language(body: Any) -> str:
    language = str(body.get("language") or "python").lower()
    if language not in ("python", "bash"):
        raise Problem(400, f"{language} is not available: code is in python or bash")
    return language


def create_context(named: ServedSession, body: Any) -> Context:
    """A new context. Raises Problem."""
    if _language(body) == "bash":
        raise unimplemented("bash has one context: fork the sandbox for another")
    directory = body.get("cwd") or _HOME
    if not isinstance(directory, str) or not named.session.files.is_dir(directory):
        raise Problem(400, f"cwd: there is no directory {directory!r}")
    more = _more(named)
    if len(more) >= _MOST:
        raise Problem(429, f"a sandbox has {_MOST} contexts at most")
    context = {"id": secrets.token_hex(8), "language": "python", "cwd": directory}
    more[context["id"]] = context
    return context


async def _in_guest(named: ServedSession, code: str, **values: str) -> None:
    """Execute code of the server's in the sandbox; it is not an execution. Raises SessionError."""
    expression = f"__import__('builtins').exec({code!r}, {values!r})"

    def ask(engine: Any) -> None:
        engine.check_at_rest()
        engine.ask("evaluate", expression)
        engine.history.has_changed = True

    await named.session._ask(ask)


async def describe_outputs(named: ServedSession) -> None:
    """Have the interpreter show figures and frames with their data."""
    if not named.record.extra.get("described"):
        await _in_guest(named, "from planaria_kernel.execution import structured\nstructured.describe()")
        named.record.extra["described"] = True


async def switch(named: ServedSession, context: Context) -> None:
    """Have a context's variables be those of the session."""
    extra = named.record.extra
    present, wanted = extra.get("context", "python"), context["id"]
    if context["language"] == "python" and present != wanted:
        await _in_guest(named, _SWITCH, old=present, new=wanted, cwd=context["cwd"])
        extra["context"] = wanted


async def restart_context(named: ServedSession, wanted: str) -> None:
    """Forget the variables of a context; the interpreter is a new one if it has no other. Raises Problem."""
    context = find_context(named, {"context_id": wanted})
    if not _more(named):
        await named.session.reset()
        for name in ("context", "described"):
            named.record.extra.pop(name, None)
        return
    await switch(named, context)
    await named.session.clear_state()


async def remove_context(named: ServedSession, wanted: str) -> None:
    """Remove a context, and its variables. Raises Problem."""
    context = find_context(named, {"context_id": wanted})
    if context["id"] not in _more(named):
        raise Problem(400, f"the context {wanted!r} is one that every sandbox has")
    await switch(named, _USUAL[0])
    try:
        await _in_guest(named, _FORGET, old=wanted)
    except SessionError as error:
        raise Problem(409, f"the context cannot be removed: {error}") from error
    del _more(named)[wanted]
