"""Reading cells from a terminal: several lines, history, colours, completion from the live session."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from platformdirs import user_state_dir
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import has_completions, has_selection
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.python import PythonLexer

from planaria.cli.directives import PREFIX, directive_names
from planaria.cli.forks import Forks
from planaria.cli.prompt_syntax import indentation, is_complete, is_line, magics
from planaria.errors import PlanariaError

__all__ = ["CellPrompt", "kept_history"]


class CellPrompt:
    """Asks for one cell after another."""

    def __init__(self, forks: Forks) -> None:
        self._forks = forks
        self._reader: PromptSession[str] = PromptSession(
            history=kept_history("history"),
            lexer=PygmentsLexer(PythonLexer),
            completer=_SessionCompleter(forks),
            complete_while_typing=False,
            multiline=True,
            prompt_continuation=lambda width, _number, _wrapped: "... ".rjust(width),
            key_bindings=_key_bindings(),
        )

    def read(self) -> str:
        """A cell. Raises EOFError after Ctrl-D and KeyboardInterrupt after Ctrl-C."""
        return self._reader.prompt(f"[{self._forks.session.execution_count + 1}]> ")


def kept_history(name: str) -> History:
    """What was typed in earlier sessions, kept in the user's state directory where that can be written."""
    path = Path(user_state_dir("planaria")) / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)


class _SessionCompleter(Completer):
    """Asks the session, which knows what its variables hold."""

    def __init__(self, forks: Forks) -> None:
        self._forks = forks

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        typed = document.text_before_cursor
        if typed.startswith(PREFIX):
            for name in sorted({*directive_names(), *magics()}):
                if name.startswith(typed):
                    yield Completion(name, -len(typed))
            return
        try:
            found = self._forks.session.complete(document.text, document.cursor_position)
        except PlanariaError:
            return  # a session that cannot complete now says why when the cell is run
        for match in found.matches:
            yield Completion(match, found.start - document.cursor_position)


def _key_bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter", filter=~has_selection)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        document = buffer.document
        if document.is_cursor_at_the_end and (is_line(document.text) or is_complete(document.text)):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n" + indentation(document.current_line_before_cursor))

    @bindings.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @bindings.add("tab", filter=~has_completions)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.current_line_before_cursor.strip():
            buffer.start_completion(insert_common_part=True)
        else:
            buffer.insert_text("    ")

    return bindings
