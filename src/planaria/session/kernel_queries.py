"""What a session asks its kernel beside executing: completions, and the state of its shell."""

from __future__ import annotations

import json
import keyword
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple

from planaria.errors import (
    CrashError,
    EncodeError,
    ExecutionError,
    ProtocolError,
    SessionError,
    SnapshotCorrupt,
    SnapshotError,
)
from planaria.executors.executor import TierNeeded
from planaria.session.analysis import ScriptAnalysis
from planaria.session.engine import SessionEngine
from planaria.session.result import Completions
from planaria.snapshot.snapshot import Snapshot
from planaria_kernel.protocol import encode

__all__ = [
    "Counters",
    "Document",
    "Prompt",
    "analyze",
    "assign",
    "complete_code",
    "complete_command",
    "completeness",
    "counters",
    "document",
    "document_in",
    "evaluate",
    "forget_functions",
    "inspect_code",
    "is_complete",
    "mime_bundle",
    "program_jobs",
    "prompt",
    "restore_state",
    "state",
    "state_alone",
    "variable",
]

Document = dict[str, Any]

#: How a snapshot of the shell's state alone begins. Then come a checksum of the rest, a newline, and JSON.
_STATE_MAGIC: Final = b"planaria-bash-state\n"


class Counters(NamedTuple):
    """What a shell has run; the numbers only grow."""

    commands: int
    """Commands, those in loops and functions each time."""
    executions: int
    """Calls of `execute`."""


class Prompt(NamedTuple):
    """What an interactive shell shows when it waits for a command."""

    first: str
    """PS1, expanded."""
    more: str
    """PS2, expanded: before further lines of one command."""
    has_exited: bool
    """Whether the last script called `exit`."""


def counters(state: Document) -> Counters:
    """The counters in a state."""
    match state.get("counters"):
        case [int(commands), int(executions)]:
            return Counters(commands, executions)
    raise ProtocolError("the shell's state has no counters")


def state(engine: SessionEngine) -> Document:
    """The shell's state."""
    found = json.loads(str(engine.ask("bash_state")))
    assert isinstance(found, dict)
    return found


def state_alone(state: Document, exclude_functions: bool) -> bytes:
    """A snapshot of the shell's state, without files and Python."""
    if exclude_functions:
        state["functions"], state["readonly_functions"] = {}, []
    contents = json.dumps(state, sort_keys=True).encode()
    return _STATE_MAGIC + sha256(contents).hexdigest().encode() + b"\n" + contents


def document_in(data: bytes | Snapshot) -> Document | None:
    """The state in a snapshot of the shell alone; None when it is a snapshot of everything."""
    if isinstance(data, Snapshot):
        return None
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"a snapshot must be bytes, as `snapshot()` returns them, not {type(data).__name__}")
    data = bytes(data)
    if not data.startswith(_STATE_MAGIC):
        return None
    checksum, _, contents = data.removeprefix(_STATE_MAGIC).partition(b"\n")
    if checksum != sha256(contents).hexdigest().encode():
        raise SnapshotCorrupt("the checksum is wrong: this snapshot of a shell was cut off or altered")
    return document(contents)


def document(state: Document | str | bytes) -> Document:
    """A state that was given as a document or its JSON. Raises SnapshotError."""
    try:
        found = json.loads(state) if isinstance(state, (str, bytes)) else state
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"this is not the state of a shell, or it is damaged: {error}") from None
    if not isinstance(found, dict):
        raise SnapshotError("this is not the state of a shell: it is not a JSON object")
    return found


def restore_state(engine: SessionEngine, state: Document) -> None:
    """Have the shell take a state. Raises SnapshotError, and changes nothing, when it cannot."""
    engine.history.has_changed = True
    try:
        engine.ask("bash_restore", json.dumps(state))
    except CrashError:
        raise
    except (SessionError, TypeError, ValueError) as error:
        raise SnapshotError(f"this is not the state of a shell: {error}") from error


def forget_functions(engine: SessionEngine) -> None:
    """Undefine all functions of the shell."""
    engine.history.has_changed = True
    engine.ask("bash_forget_functions")


def program_jobs(engine: SessionEngine) -> list[float]:
    """In how many seconds each job that a program has left behind wants to go on."""
    match engine.ask("bash_jobs"):
        case list(delays):
            return [float(delay) for delay in delays]
    raise ProtocolError("the kernel answered without jobs")


def prompt(engine: SessionEngine) -> Prompt:
    """See `Bash.prompt`."""
    match engine.ask("bash_prompts"):
        case {"PS1": str(first), "PS2": str(more), "exited": exited}:
            return Prompt(first, more, bool(exited))
    raise ProtocolError("the kernel answered without prompts")


def assign(engine: SessionEngine, values: Mapping[str, object]) -> None:
    """See `Session.set`."""
    for name in values:
        _check_name(name)
    engine.check_at_rest()
    engine.history.has_changed = True
    before = engine.state() if engine.executor.tier == "core" else None
    try:
        try:
            engine.ask("assign", dict(values))
        except TierNeeded:
            assert before is not None
            snapshots = engine.snapshots_for("tier")
            snapshots.restore(before.kernel)
            snapshots.move_up()
            engine.ask("assign", dict(values))
    except EncodeError:
        for name, value in values.items():
            try:
                encode(value)
            except EncodeError as error:
                raise TypeError(
                    f"set({name}=...): the value cannot be sent to the session: {error}"
                ) from None
        raise


def variable(engine: SessionEngine, name: str) -> object:
    """See `Session.get`."""
    _check_name(name)
    engine.check_at_rest()
    names = engine.ask("names")
    if not isinstance(names, dict):
        raise ProtocolError("the kernel answered without names")
    if name not in names:
        raise NameError(f"name {name!r} is not defined in this session", name=name)
    return evaluate(engine, name)


def _check_name(name: str) -> None:
    """Raises TypeError, and ValueError for what cannot be the name of a variable."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a variable must be a str, not {type(name).__name__}")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"{name!r} cannot be the name of a variable")


def evaluate(engine: SessionEngine, expression: str) -> object:
    """The value of an expression among the session's variables; it is not an execution."""
    engine.history.has_changed = True
    return engine.ask("evaluate", expression)


def is_complete(engine: SessionEngine, text: str) -> bool:
    """See `Bash.is_complete`."""
    return bool(engine.ask("bash_is_complete", text))


def complete_command(engine: SessionEngine, text: str, cursor: int | None) -> Completions:
    """See `Bash.complete`."""
    return _completions(engine, "bash_complete", text, cursor)


def complete_code(engine: SessionEngine, text: str, cursor: int | None) -> Completions:
    """See `Session.complete`."""
    return _completions(engine, "complete", text, cursor)


def inspect_code(engine: SessionEngine, text: str, cursor: int | None, detail: int = 0) -> str | None:
    """A text about the name at a cursor, with its source for a `detail` above 0; None when it means nothing.

    Nothing of the user's is run for it but a `repr`.
    """
    found = engine.ask("inspect", text, len(text) if cursor is None else cursor, detail)
    return found if isinstance(found, str) else None


def completeness(engine: SessionEngine, text: str) -> dict[str, Any]:
    """Whether a cell is whole: its `status` is complete, incomplete (with `indent`) or invalid."""
    match engine.ask("is_complete", text):
        case {"status": str(status), "indent": str(indent)}:
            return {"status": status, "indent": indent}
        case {"status": str(status)}:
            return {"status": status}
    raise ProtocolError("the kernel answered without a status")


def mime_bundle(engine: SessionEngine, expression: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The representations of an expression's value and their metadata; it is not an execution.

    Raises ExecutionError when the expression raises.
    """
    engine.history.has_changed = True
    match engine.ask("mime_bundle", expression):
        case [dict(data), dict(metadata)]:
            return data, metadata
        case (str(name), str(message)):
            raise ExecutionError(message, type=name)
    raise ProtocolError("the kernel answered without representations")


def _completions(engine: SessionEngine, query: str, text: str, cursor: int | None) -> Completions:
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, not {type(text).__name__}")
    match engine.ask(query, text, len(text) if cursor is None else cursor):
        case {"matches": list(matches), "start": int(start), "end": int(end)}:
            return Completions(matches, start, end)
    raise ProtocolError("the kernel answered without completions")


def analyze(engine: SessionEngine, script: str) -> ScriptAnalysis:
    """See `Session.analyze`."""
    engine.executor.require("shell")
    if not isinstance(script, str):
        raise TypeError(f"a script must be a str, not {type(script).__name__}")
    found = engine.ask("bash_analyze", script)
    if not isinstance(found, dict):
        raise ProtocolError("the kernel answered without an analysis")
    return ScriptAnalysis(**found)
