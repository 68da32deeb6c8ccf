"""What an execution gave."""

from __future__ import annotations

import base64
import html
import json
import mimetypes
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from planaria.errors import ExecutionError, PlanariaError, TimeoutError
from planaria.executors.messages import HostCall
from planaria.representation import Shown

if TYPE_CHECKING:
    from planaria.network.policy import NetworkRequest
    from planaria.workspace.tools.call import ToolCall

__all__ = ["Completions", "Output", "Result"]


class Completions(NamedTuple):
    """What can stand at a place in a source text: each match replaces the characters from `start` to
    `end`.
    """

    matches: list[str]
    start: int
    end: int


@dataclass(frozen=True, slots=True, repr=False)
class Output:
    """A rich output: a mime bundle, as Jupyter's `display_data` message has it.

    `data` maps mime types to contents: bytes for images, str for text, JSON values for JSON.
    """

    data: dict[str, Any]
    metadata: dict[str, Any] = field(default_factory=dict)
    is_value: bool = False
    """Whether it shows the value of the execution, rather than something that was displayed on the way."""
    display_id: str | None = None
    """By what `update_display` replaces it; None when it cannot be replaced."""

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, object], dict[str, object]]:
        data = {
            mime: base64.b64encode(content).decode() if isinstance(content, bytes) else content
            for mime, content in self.data.items()
        }
        return data, self.metadata

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the contents to a file: of the type that the name's suffix stands for, else the richest one.

        Raises ValueError when there is no such content, OSError when the file cannot be written.
        """
        suffix = Path(path).suffix
        wanted = mimetypes.types_map.get(suffix.lower()) if suffix else None
        mime = next(iter(self._by_richness()), None) if wanted is None else wanted
        if mime is None or mime not in self.data:
            raise ValueError(
                f"{os.fspath(path)!r}: this output has {', '.join(self._by_richness()) or 'nothing'}"
            )
        content = self.data[mime]
        if not isinstance(content, bytes):
            text = content if isinstance(content, str) else json.dumps(content)
            content = text.encode("utf-8")
        Path(path).write_bytes(content)

    def _by_richness(self) -> list[str]:
        """The mime types, images first and plain text last."""
        return sorted(self.data, key=lambda mime: (not mime.startswith("image/"), mime == "text/plain"))

    def __repr__(self) -> str:
        shown = [f"{mime} {_size(self.data[mime])}" for mime in self._by_richness()]
        return f"<Output {', '.join(shown) or 'empty'}>"

    def __str__(self) -> str:
        text = self.data.get("text/plain")
        return text if isinstance(text, str) else f"<{', '.join(self.data)}>"


@dataclass(kw_only=True, slots=True)
class Result(Shown):
    """What one execution printed, returned and used.

    `stdout` and `stderr` are the exact text; bytes that are not UTF-8 show as U+FFFD there and stand as they
    were in `stdout_bytes` and `stderr_bytes`.
    """

    value: Any = None
    """The value of the last expression; None after a statement or a `;`."""
    stdout_bytes: bytes = b""
    stderr_bytes: bytes = b""
    error: PlanariaError | None = None
    """ExecutionError, TimeoutError and so on; None when the code ran to its end."""
    outputs: list[Output] = field(default_factory=list)
    """Rich outputs in order: display(), figures, and the last value when it has a rich form."""
    execution_count: int = 0
    duration_ms: float = 0.0
    callback_invocations: int = 0
    tool_calls: list[ToolCall] = field(default_factory=list)
    """A record of every call of a tool, in order: names, arguments, duration, outcome."""
    requests: list[NetworkRequest] = field(default_factory=list)
    """A record of every request over the network, in order: method, URL, status, bytes, milliseconds, and
    whether it was allowed or why not."""
    peak_memory_bytes: int = 0
    fuel: int | None = None
    """WebAssembly instructions that it took; only counted with `Limits(fuel=...)`."""
    stdout_truncated: bool = False
    """Whether there was more than `Limits.output`: the middle is left out, with a line that says so."""
    stderr_truncated: bool = False
    stdout_omitted_bytes: int = 0
    """Bytes of standard output that were left out."""
    stdout_omitted_lines: int = 0
    """Ends of lines among them."""
    stderr_omitted_bytes: int = 0
    stderr_omitted_lines: int = 0
    outputs_truncated: bool = False
    suspended: list[HostCall] = field(default_factory=list)
    """The calls for which the execution waits; it goes on with `session.run_in_progress`."""
    status: int | None = None
    """The exit status of a shell script; None for Python."""
    repr: str | None = None
    """The value as the guest's `repr` shows it, shortened; None without a value."""

    @property
    def stdout(self) -> str:
        return self.stdout_bytes.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        return self.stderr_bytes.decode("utf-8", "replace")

    @property
    def figures(self) -> list[Output]:
        """The outputs that are images."""
        return [output for output in self.outputs if any(mime.startswith("image/") for mime in output.data)]

    @property
    def is_ok(self) -> bool:
        """Whether the code ran to its end without an exception."""
        return self.error is None and not self.suspended

    @property
    def exit_code(self) -> int:
        """What the code would leave as a script's exit status: a shell script's own, 0, 1 after an
        exception, sys.exit()'s status,
        124 after a timeout (as timeout(1) has it)."""
        if self.error is None:
            return self.status or 0
        if self.error.exit_code is not None:
            return self.error.exit_code
        return 124 if isinstance(self.error, TimeoutError) else 1

    def to_json(self, indent: int | None = None) -> str:
        """The result as JSON, for logs and messages to a model.

        The value is its repr; binary contents of outputs are base64. Exceptions are their class, message and
        traceback.
        """
        error = None
        if self.error is not None:
            error = {
                "type": self.error.type,
                "message": str(self.error),
                "traceback": self.error.traceback if isinstance(self.error, ExecutionError) else "",
            }
        fields = {
            "execution_count": self.execution_count,
            "value": self.repr,
            "stdout": self.stdout,
            "stderr": self.stderr,
            "error": error,
            "outputs": [output._repr_mimebundle_()[0] for output in self.outputs],
            "suspended": [str(call) for call in self.suspended],
            "exit_code": self.exit_code,
            "duration_ms": self.duration_ms,
            "stdout_omitted_bytes": self.stdout_omitted_bytes,
            "stderr_omitted_bytes": self.stderr_omitted_bytes,
        }
        return json.dumps(fields, ensure_ascii=False, indent=indent, default=str)

    def __str__(self) -> str:
        """What a terminal would show: standard output, the value, and the error."""
        parts = [self.stdout]
        if self.repr is not None:
            parts.append(f"{self.repr}\n")
        parts.append(self.stderr)
        if self.error is not None:
            if isinstance(self.error, ExecutionError):
                parts.append(self.error.traceback or f"{self.error}\n")
            else:
                parts.append(f"{type(self.error).__name__}: {self.error}\n")
        return "".join(
            part if not part or part.endswith("\n") else part + "\n" for part in parts
        ).removesuffix("\n")

    def __repr__(self) -> str:
        shown = [f"value={self.repr}"] if self.repr is not None else []
        if self.stdout_bytes:
            shown.append(f"stdout={_shortened(self.stdout)!r}")
        if self.stderr_bytes:
            shown.append(f"stderr={_shortened(self.stderr)!r}")
        if self.error is not None:
            shown.append(f"error={_shortened(str(self.error), 500)}")
        if self.outputs:
            shown.append(f"outputs={len(self.outputs)}")
        if self.suspended:
            shown.append(f"suspended={_shortened(str(self.suspended), 500)}")
        return f"<Result {self.execution_count}: {', '.join(shown) or 'ok'}>"

    def _repr_html_(self) -> str:
        """For notebooks: the text escaped, rich outputs as they are made to be shown."""
        parts = []
        for text in (self.stdout, self.stderr):
            if text:
                parts.append(f"<pre>{html.escape(text)}</pre>")
        for output in self.outputs:
            data = output.data
            if isinstance(png := data.get("image/png"), bytes):
                parts.append(f'<img src="data:image/png;base64,{base64.b64encode(png).decode()}">')
            elif isinstance(rich := data.get("text/html"), str):
                # Guest-made HTML is shown in a frame without scripts or access to the page around it.
                parts.append(
                    f'<iframe sandbox srcdoc="{html.escape(rich)}" style="border:0;width:100%"></iframe>'
                )
            elif isinstance(plain := data.get("text/plain"), str):
                parts.append(f"<pre>{html.escape(plain)}</pre>")
        if self.repr is not None and not self.outputs:
            parts.append(f"<pre>{html.escape(self.repr)}</pre>")
        if self.error is not None:
            trace = self.error.traceback if isinstance(self.error, ExecutionError) else ""
            parts.append(f"<pre>{html.escape(trace or str(self.error))}</pre>")
        return "\n".join(parts)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, object]:
        """The figure, too, when there is one: for what cannot show HTML."""
        bundle = super(Result, self)._repr_mimebundle_(include, exclude)
        images = [figure.data["image/png"] for figure in self.figures if "image/png" in figure.data]
        if len(images) == 1 and isinstance(images[0], bytes):
            bundle["image/png"] = base64.b64encode(images[0]).decode()
        return bundle


def _size(content: object) -> str:
    """The size of a content, as `45 KB`."""
    size = len(content) if isinstance(content, bytes) else len(str(content).encode("utf-8", "replace"))
    for unit in ("bytes", "KB", "MB"):
        if size < 1000 or unit == "MB":
            break
        size = round(size / 1000)
    return f"{size} {unit}"


def _shortened(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
