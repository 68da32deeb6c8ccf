"""Reading commands for the shell from a terminal: history, completion and the prompts of the live shell."""

from __future__ import annotations

from collections.abc import Iterable

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import has_selection
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.shell import BashLexer

from planaria import Bash
from planaria.cli.prompt import kept_history
from planaria.errors import PlanariaError

__all__ = ["ShellPrompt"]


class ShellPrompt:
    """Asks for one command after another."""

    def __init__(self, bash: Bash) -> None:
        self._bash = bash
        self._reader: PromptSession[str] = PromptSession(
            history=kept_history("bash_history"),
            lexer=PygmentsLexer(BashLexer),
            completer=_ShellCompleter(bash),
            complete_while_typing=False,
            multiline=True,
            key_bindings=_key_bindings(bash),
        )

    def read(self) -> str:
        """A whole command. Raises EOFError after Ctrl-D and KeyboardInterrupt after Ctrl-C."""
        prompt = self._bash.prompt()
        return self._reader.prompt(
            ANSI(prompt.first), prompt_continuation=lambda _width, _number, _wrapped: ANSI(prompt.more)
        )


class _ShellCompleter(Completer):
    """Asks the shell, which knows its functions, variables and files."""

    def __init__(self, bash: Bash) -> None:
        self._bash = bash

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        try:
            found = self._bash.complete(document.text, document.cursor_position)
        except PlanariaError:
            return  # a shell that cannot complete now says why when the command is run
        for match in found.matches:
            yield Completion(match, found.start - document.cursor_position)


def _key_bindings(bash: Bash) -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter", filter=~has_selection)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.is_cursor_at_the_end and not bash.is_complete(buffer.text):
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    return bindings
