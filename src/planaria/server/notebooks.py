"""The notebook of a session: its cells with their outputs, the transcript of its terminal, and those who
follow them.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from planaria.errors import ExecutionError
from planaria.server.kept_outputs import RichOutput, saved_output
from planaria.server.output import listener
from planaria.session.report import as_json
from planaria.session.result import Output, Result

__all__ = ["TERMINAL", "Cell", "Follower", "Notebook", "Notebooks", "Recording"]

#: What executions name as their cell whose output goes to the terminal.
TERMINAL: Final = "terminal"
#: Characters of output of one cell, and of the terminal, that are kept; bytes of rich outputs of one cell.
_MOST_TEXT: Final = 1 << 20
_MOST_RICH: Final = 16 << 20
_MOST_TERMINAL: Final = 1 << 16
#: Cells that executions of other clients may add; beyond it the oldest of them are removed.
_MOST_ADDED: Final = 200
#: What is saved beside the state of a session: characters of all cells with their outputs of text.
_MOST_SAVED: Final = 128 << 10
#: Bytes of the outputs that are kept beside that, of the newest cells.
_MOST_KEPT: Final = 16 << 20
#: Executions whose requests and calls of tools are kept.
_MOST_ACTIVE: Final = 50
#: Events that wait for a follower; one that is further behind is cut off, and begins again.
_MOST_WAITING: Final = 10_000

Kind = Literal["code", "bash", "markdown"]


@dataclass(slots=True)
class Cell:
    """A cell; its outputs are as notebooks (nbformat 4) have them, but that text is a list of pieces."""

    id: str
    kind: Kind = "code"
    source: str = ""
    outputs: list[dict[str, Any]] = field(default_factory=list)
    state: Literal["new", "running", "waiting", "done", "failed"] = "new"
    count: int | None = None
    duration_ms: float | None = None
    was_added: bool = False
    """Whether an execution of another client has added it."""
    room: int = _MOST_TEXT
    rich: int = _MOST_RICH
    omitted: int = 0

    def as_json(self) -> dict[str, Any]:
        """The cell as clients get it."""
        return {
            "id": self.id,
            "kind": self.kind,
            "source": self.source,
            "outputs": [_whole(one) for one in self.outputs],
            "state": self.state,
            "count": self.count,
            "duration_ms": self.duration_ms,
        }

    def clear(self) -> None:
        """Forget the outputs."""
        self.outputs = []
        self.room, self.rich, self.omitted = _MOST_TEXT, _MOST_RICH, 0

    def add_text(self, name: str, text: str) -> str:
        """Add to a stream; what of it there was room for."""
        kept = text[: self.room]
        self.omitted += len(text) - len(kept)
        self.room -= len(kept)
        if kept:
            last = self.outputs[-1] if self.outputs else None
            if last is None or last.get("name") != name:
                last = {"output_type": "stream", "name": name, "text": []}
                self.outputs.append(last)
            last["text"].append(kept)
        return kept

    def add_output(self, output: dict[str, Any], display_id: str | None = None) -> int | None:
        """Add an output, or put it in the place of an earlier one; where. None without room for it."""
        output = RichOutput(output)
        size = len(output.encoded)
        if size > self.rich:
            self.omitted += size
            return None
        self.rich -= size
        if display_id is not None:
            output["transient"] = {"display_id": display_id}
            for index, one in enumerate(self.outputs):
                if one.get("transient") == output["transient"]:
                    self.outputs[index] = output
                    return index
        self.outputs.append(output)
        return len(self.outputs) - 1


def _whole(output: dict[str, Any]) -> dict[str, Any]:
    if output["output_type"] != "stream":
        return output
    return {**output, "text": "".join(output["text"])}


def _encodable(output: dict[str, Any]) -> dict[str, Any]:
    """An output of the guest's, with "?" for the lone surrogates that UTF-8 cannot say."""
    found: dict[str, Any] = json.loads(json.dumps(output, ensure_ascii=False).encode("utf-8", "replace"))
    return found


class Follower:
    """What one client has yet to hear."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, Any]] = []
        self._more = asyncio.Event()
        self.is_behind = False

    def put(self, event: str, data: Any) -> None:
        if len(self._waiting) >= _MOST_WAITING:
            self.is_behind = True
        else:
            self._waiting.append((event, data))
        self._more.set()

    async def take(self) -> list[tuple[str, Any]]:
        """What there is, once there is something."""
        await self._more.wait()
        self._more.clear()
        taken, self._waiting = self._waiting, []
        return taken


class Notebook:
    """The cells of one session, and what its terminal shows. For use on the server's event loop only.

    Args:
        saved: what `saved()` gave.
    """

    def __init__(self, saved: Sequence[Mapping[str, Any]] = ()) -> None:
        self.cells: list[Cell] = []
        self.terminal = ""
        self._followers: set[Follower] = set()
        self._activity: list[dict[str, Any]] = []
        """The latest executions that have called tools or made requests."""
        self._waiting: Cell | None = None
        """The cell whose execution waits for an answer."""
        self.replace(saved)

    # -- who follows ---------------------------------------------------------------------------------------

    @contextmanager
    def followed(self) -> Iterator[Follower]:
        """A follower, who is first told everything."""
        follower = Follower()
        follower.put("notebook", self.as_json())
        self._followers.add(follower)
        try:
            yield follower
        finally:
            self._followers.discard(follower)

    @property
    def is_followed(self) -> bool:
        return bool(self._followers)

    def publish(self, event: str, data: Any = None) -> None:
        """Tell all who follow."""
        for follower in self._followers:
            follower.put(event, {} if data is None else data)

    # -- cells ---------------------------------------------------------------------------------------------

    def as_json(self) -> dict[str, Any]:
        """Everything."""
        return {
            "cells": [cell.as_json() for cell in self.cells],
            "terminal": self.terminal,
            "activity": self._activity,
        }

    def saved(self, kept_outputs: Collection[str] = ()) -> list[dict[str, Any]]:
        """The cells as they are saved: sources, and outputs as far as there is room; of larger ones, those
        are named whose digests are among `kept_outputs`.
        """
        room = _MOST_SAVED
        kept = []
        for cell in reversed(self.cells):
            found = cell.as_json()
            found["outputs"] = [
                saved_output(one) if isinstance(one, RichOutput) else one
                for one in found["outputs"]
                if not isinstance(one, RichOutput) or not one.is_kept or one.digest in kept_outputs
            ]
            for fields in (found, {**found, "outputs": []}):
                size = len(json.dumps(fields))
                if size <= room:
                    room -= size
                    kept.append(fields)
                    break
            else:
                break
        return kept[::-1]

    def kept_outputs(self) -> dict[str, RichOutput]:
        """The larger outputs, which are kept beside the cells, by their digests; the newest ones."""
        room = _MOST_KEPT
        found: dict[str, RichOutput] = {}
        for cell in reversed(self.cells):
            for one in cell.outputs:
                if isinstance(one, RichOutput) and one.is_kept and len(one.encoded) <= room:
                    room -= len(one.encoded)
                    found[one.digest] = one
        return found

    def replace(self, cells: Sequence[Mapping[str, Any]]) -> None:
        """Have these cells and no others, with the outputs they bring."""
        self.cells = []
        for one in cells:
            cell = Cell(str(one["id"]), one["kind"], one["source"], count=one.get("count"))
            cell.duration_ms = one.get("duration_ms")
            for output in one.get("outputs", ()):
                if output["output_type"] == "stream":
                    cell.add_text(output["name"], output["text"])
                else:
                    cell.add_output(dict(output))
            state = one.get("state", "new")
            cell.state = "new" if state == "running" else state
            if state == "waiting":
                self._waiting = cell
            self.cells.append(cell)
        self.publish("notebook", self.as_json())

    def find(self, identifier: str) -> Cell | None:
        return next((cell for cell in self.cells if cell.id == identifier), None)

    def put(self, identifier: str, kind: Kind, source: str, after: str | None, client: str) -> Cell:
        """Write a cell, or add it after another one ("" for the first place; None where it is, or last)."""
        cell = self.find(identifier)
        if cell is None:
            cell = Cell(identifier)
            self.cells.append(cell)
        cell.kind, cell.source, cell.was_added = kind, source, False
        if after is not None:
            self.cells.remove(cell)
            before = self.find(after)
            self.cells.insert(0 if before is None else self.cells.index(before) + 1, cell)
        place = self.cells.index(cell)
        fields = {"id": cell.id, "kind": kind, "source": source, "client": client}
        self.publish("cell", {**fields, "after": self.cells[place - 1].id if place else ""})
        return cell

    def remove(self, identifier: str) -> bool:
        """Remove a cell; whether there was one."""
        cell = self.find(identifier)
        if cell is None:
            return False
        self.cells.remove(cell)
        self.publish("removed", {"id": identifier})
        return True

    # -- executions ----------------------------------------------------------------------------------------

    @contextmanager
    def recording(self, source: str, kind: Kind, identifier: str | None) -> Iterator[Recording]:
        """Show what the executions of this task print and come to."""
        target: Cell | None = None
        if identifier == TERMINAL:
            self._add_to_terminal(f"$ {source}\n")
        else:
            target = self._begun(source, kind, identifier)
        with self._recording(target) as recording:
            yield recording

    @contextmanager
    def going_on(self) -> Iterator[Recording]:
        """The same for an execution that has waited."""
        cell, self._waiting = self._waiting, None
        if cell is not None:
            cell.state = "running"
            self.publish("state", {"cell": cell.id, "state": "running"})
        with self._recording(cell) as recording:
            yield recording

    def _begun(self, source: str, kind: Kind, identifier: str | None) -> Cell:
        cell = None if identifier is None else self.find(identifier)
        if cell is None:
            cell = Cell(identifier or secrets.token_hex(4), was_added=True)
            self.cells.append(cell)
            added = [one for one in self.cells if one.was_added]
            for one in added[: len(added) - _MOST_ADDED]:
                self.remove(one.id)
        cell.kind, cell.source = kind, source
        cell.clear()
        cell.state, cell.count, cell.duration_ms = "running", None, None
        self.publish("begun", {"cell": cell.id, "kind": kind, "source": source})
        return cell

    @contextmanager
    def _recording(self, cell: Cell | None) -> Iterator[Recording]:
        recording = Recording(self, cell)
        reset = listener.set(recording.take)
        try:
            yield recording
        except BaseException as error:
            recording.fail(error)
            raise
        finally:
            listener.reset(reset)

    def _add_to_terminal(self, text: str) -> None:
        self.terminal = (self.terminal + text)[-_MOST_TERMINAL:]
        self.publish("terminal", {"text": text})

    def add(self, cell: Cell | None, stream: str, output: str | Output) -> None:
        """Something was printed or shown."""
        if isinstance(output, str):
            if cell is None:
                self._add_to_terminal(output)
            elif kept := cell.add_text(stream, output):
                self.publish("text", {"cell": cell.id, "name": stream, "text": kept})
        elif cell is not None:
            data, metadata = output._repr_mimebundle_()
            fields = {"data": data, "metadata": metadata}
            kind = {"output_type": "execute_result" if output.is_value else "display_data"}
            self._publish_output(cell, {**kind, **fields}, output.display_id)

    def _publish_output(self, cell: Cell, output: dict[str, Any], display_id: str | None = None) -> None:
        output = _encodable(output)
        index = cell.add_output(output, display_id)
        if index is not None:
            self.publish("output", {"cell": cell.id, "index": index, "output": output})

    def end(self, cell: Cell | None, result: Result, *, waits: bool) -> None:
        """An execution has ended, or waits."""
        report = as_json(result, result.exit_code)
        reported = {
            name: report[name]
            for name in (
                "requests",
                "duration_ms",
                "peak_memory_bytes",
                "execution_count",
                "callback_invocations",
            )
        }
        reported["tools"] = [
            {
                "name": one.name,
                "arguments": repr(one.arguments),
                "outcome": one.outcome,
                "ms": one.duration_ms,
            }
            for one in result.tool_calls
        ]
        if reported["tools"] or reported["requests"]:
            self._activity = [*self._activity, reported][-_MOST_ACTIVE:]
        if cell is not None:
            error = report["error"]
            if not waits:
                self._add_ending(cell, result, report)
            cell.state = "waiting" if waits else "done" if error is None else "failed"
            cell.count, cell.duration_ms = result.execution_count, report["duration_ms"]
            self._waiting = cell if waits else None
            reported |= {"cell": cell.id, "state": cell.state}
        elif result.error is not None and not isinstance(result.error, ExecutionError):
            self._add_to_terminal(f"{report['error']['type']}: {report['error']['message']}\n")
        self.publish("ended", reported)

    def _add_ending(self, cell: Cell, result: Result, report: dict[str, Any]) -> None:
        if cell.omitted:
            note = f"\n[{cell.omitted:,} more characters of output are not shown here]\n"
            cell.room = len(note)
            cell.add_text("stderr", note)
            self.publish("text", {"cell": cell.id, "name": "stderr", "text": note})
        if result.repr is not None and not any(one.is_value for one in result.outputs):
            self._publish_output(
                cell, {"output_type": "execute_result", "data": {"text/plain": result.repr}, "metadata": {}}
            )
        error = report["error"]
        if error is not None:
            self._publish_output(
                cell,
                {
                    "output_type": "error",
                    "ename": error["type"],
                    "evalue": error["message"],
                    "traceback": [error["traceback"] or f"{error['type']}: {error['message']}"],
                },
            )

    def fail(self, cell: Cell | None, error: BaseException) -> None:
        """An execution could not begin, or its end is not known."""
        if cell is None:
            self._add_to_terminal(f"{type(error).__name__}: {error}\n")
            return
        text = f"{type(error).__name__}: {error}"
        cell.state = "failed"
        output = {
            "output_type": "error",
            "ename": type(error).__name__,
            "evalue": str(error),
            "traceback": [text],
        }
        self._publish_output(cell, output)
        self.publish("ended", {"cell": cell.id, "state": "failed"})

    def copy(self) -> Notebook:
        """The notebook of a fork."""
        copy = Notebook([cell.as_json() for cell in self.cells])
        copy.terminal = self.terminal
        return copy


class Recording:
    """Takes the output of an execution, on the thread that it runs on, for a notebook."""

    def __init__(self, notebook: Notebook, cell: Cell | None) -> None:
        self._notebook = notebook
        self._cell = cell
        self._loop = asyncio.get_running_loop()
        self._other = listener.get()
        self._decoders = {
            name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")
        }

    def take(self, stream: str, output: bytes | Output) -> None:
        """Note it, and give it to whom it was given before."""
        shown = output if isinstance(output, Output) else self._decoders[stream].decode(output)
        if shown:
            self._loop.call_soon_threadsafe(self._notebook.add, self._cell, stream, shown)
        if self._other is not None:
            self._other(stream, output)

    def end(self, result: Result, *, waits: bool) -> None:
        """The execution has ended, or waits. What it printed was handed to the loop before, and is shown."""
        self._notebook.end(self._cell, result, waits=waits)

    def fail(self, error: BaseException) -> None:
        self._notebook.fail(self._cell, error)

    def publish_calls(self, *_: object) -> None:
        """The calls that block have become others; from any thread."""
        self._loop.call_soon_threadsafe(self._notebook.publish, "calls")


class Notebooks:
    """The notebooks of a server, by the names of its sessions; they outlive the time that one is parked."""

    def __init__(self) -> None:
        self._known: dict[str, Notebook] = {}

    def of(self, name: str, saved: Callable[[], Sequence[Mapping[str, Any]]]) -> Notebook:
        """The notebook of a session; one of the cells that were saved if it is not known."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = Notebook(saved())
        return found

    def copy(self, name: str, fork: str) -> None:
        """Give a fork the notebook of its session."""
        if name in self._known:
            self._known[fork] = self._known[name].copy()

    def forget(self, name: str) -> None:
        """The session is deleted."""
        gone = self._known.pop(name, None)
        if gone is not None:
            gone.publish("gone")

    def close(self) -> None:
        """The server ends: who follows is let go."""
        for notebook in self._known.values():
            notebook.publish("closing")

    def release(self, name: str) -> None:
        """The session is parked: what was saved of its notebook is enough, unless someone follows it."""
        known = self._known.get(name)
        if known is not None and not known.is_followed:
            del self._known[name]
