"""The tools that a session gives an agent: run Python, run bash, read and write files.

What a framework calls a tool is in the module that has its name.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from planaria.errors import PlanariaError
from planaria.integrations.awaited import in_thread_until_cancelled
from planaria.integrations.code_tools import CODE_MODE, described
from planaria.integrations.command_backend import Cancellation
from planaria.integrations.result_content import Image, result_images, result_text
from planaria.limits import NOT_GIVEN

if TYPE_CHECKING:
    from pydantic import BaseModel

    from planaria.session._sync.session import Session
    from planaria.session.callbacks import Callback
    from planaria.session.result import Result

__all__ = ["Answer", "Argument", "SessionTool", "answer_of", "session_tools"]

_BASH: Final = (
    "Execute a bash script in the sandbox of run_python, on the same files. Variables, functions and the "
    "working directory are kept for later calls. The usual commands are there (grep, sed, awk, find, jq, tar "
    "and so on)."
)
_CALLBACKS: Final = "The code can call these functions, which are awaited:"
_JSON_TYPES: Final[dict[type, str]] = {str: "string", float: "number"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool gives: text and images for the model, and whether it failed."""

    text: str
    images: Sequence[Image] = ()
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a tool; one that is not required may be None."""

    name: str
    type: type
    description: str
    is_required: bool = True


@dataclass(frozen=True)
class SessionTool:
    """A tool of a session: its name, what a model reads of it, and its function."""

    name: str
    description: str
    arguments: tuple[Argument, ...]
    _function: Callable[..., Answer] = field(repr=False)
    _interrupt: Callable[[], None] = field(repr=False)
    _turn: threading.Lock = field(repr=False)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return {
            "type": "object",
            "properties": {
                one.name: {"type": _JSON_TYPES[one.type], "description": one.description}
                for one in self.arguments
            },
            "required": [one.name for one in self.arguments if one.is_required],
            "additionalProperties": False,
        }

    @property
    def model(self) -> type[BaseModel]:
        """The arguments as a pydantic model."""
        from pydantic import Field, create_model

        fields: dict[str, Any] = {
            one.name: (one.type, Field(description=one.description))
            if one.is_required
            else (one.type | None, Field(None, description=one.description))
            for one in self.arguments
        }
        return create_model(self.name, **fields)

    def call(self, **arguments: Any) -> Answer:
        """Call it; what fails is in the answer, arguments that it does not have among it."""
        return self._called(Cancellation(), arguments)

    async def acall(self, **arguments: Any) -> Answer:
        """`call`, awaited; cancelling it stops what runs."""
        cancellation = Cancellation()
        return await in_thread_until_cancelled(partial(self._called, cancellation, arguments), cancellation)

    def beside(
        self,
        name: str,
        description: str,
        arguments: tuple[Argument, ...],
        function: Callable[..., Answer],
    ) -> SessionTool:
        """Another tool of the same session: the two run one after the other."""
        return SessionTool(name, description, arguments, function, self._interrupt, self._turn)

    def _called(self, cancellation: Cancellation, arguments: dict[str, Any]) -> Answer:
        with self._turn, cancellation.stops_with(self._interrupt):
            if cancellation.requested:
                return Answer("cancelled", is_error=True)
            try:
                inspect.signature(self._function).bind(**arguments)
            except TypeError as error:
                return Answer(f"{self.name}: {error}", is_error=True)
            try:
                return self._function(**arguments)
            except (PlanariaError, OSError, ValueError) as error:
                return Answer(f"{type(error).__name__}: {error}", is_error=True)


def session_tools(session: Session) -> list[SessionTool]:
    """`run_python`, `run_bash`, `read_file` and `write_file` on a session, which stays open."""
    timeout = Argument("timeout", float, "Stop after so many seconds", is_required=False)
    path = Argument("path", str, "Its path, in /home/user unless it is absolute")

    def run_python(code: str, timeout: float | None = None) -> Answer:
        return answer_of(session.run(code, NOT_GIVEN if timeout is None else timeout))

    def run_bash(command: str, timeout: float | None = None) -> Answer:
        return answer_of(session._run_script(command, NOT_GIVEN if timeout is None else timeout))

    def read_file(path: str) -> Answer:
        return Answer(session.files.read_bytes(path).decode())

    def write_file(path: str, content: str) -> Answer:
        folder = path.rpartition("/")[0]
        if folder:
            session.files.mkdir(folder, parents=True, exist_ok=True)
        data = content.encode()
        session.files.write_bytes(path, data)
        return Answer(f"wrote {len(data)} bytes to {path}")

    python = SessionTool(
        "run_python",
        _described(session),
        (Argument("code", str, "The program"), timeout),
        run_python,
        session.interrupt,
        threading.Lock(),
    )
    return [
        python,
        python.beside("run_bash", _BASH, (Argument("command", str, "The script"), timeout), run_bash),
        python.beside("read_file", "Read a text file of the sandbox.", (path,), read_file),
        python.beside(
            "write_file",
            "Write a text file of the sandbox, in place of one that is there; its directories are created.",
            (path, Argument("content", str, "The whole text")),
            write_file,
        ),
    ]


def answer_of(result: Result) -> Answer:
    """What an execution gave, for a model."""
    images = result_images(result)
    text = result_text(result)
    if result.suspended:
        text += f"\n(waits for {', '.join(map(str, result.suspended))})"
    return Answer(text or ("" if images else "(no output)"), images, result.error is not None)


def _described(session: Session) -> str:
    """What a model reads about `run_python`, with what the host lets code call."""
    settings = session._engine.settings
    text = CODE_MODE
    if len(settings.registry):
        lines = [line for one in settings.registry for line in _signature(one)]
        text = "\n".join([text, "", _CALLBACKS, "", "```python", *lines, "```"])
    return described(session.tools, text) if settings.has_workspace else text


def _signature(callback: Callback) -> list[str]:
    described = [f"# {callback.description.splitlines()[0]}"] if callback.description else []
    return [*described, f"await {callback.name}{callback.signature or '(…)'}"]
