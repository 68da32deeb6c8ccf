"""`help()` and `pdb` without a terminal of their own."""

from __future__ import annotations

import contextlib
import io
from typing import Any, Final

from planaria_kernel.shims.importing import when_imported

__all__ = ["install"]

#: How the paragraph begins that names the keys of CPython's own prompt.
_KEYS: Final = "You can use the following keyboard shortcuts"


def _change_pydoc(module: Any) -> None:
    original = module.Helper.intro

    def intro(self: Any) -> None:
        """Say how to use it, without the keys of a prompt that is not there."""
        text = io.StringIO()
        own, self._output = self._output, text
        try:
            with contextlib.redirect_stdout(text):
                original(self)
        finally:
            self._output = own
        paragraphs = text.getvalue().split("\n\n")
        self.output.write("\n\n".join(one for one in paragraphs if not one.startswith(_KEYS)))

    module.Helper.intro = intro


def _change_pdb(module: Any) -> None:
    def do_EOF(self: Any, arg: str) -> bool:  # noqa: N802 - the debugger calls it
        """Quit at the end of input, where no answer to a question can come."""
        self.message("")
        self._user_requested_quit = True
        self.set_quit()
        return True

    module.Pdb.do_EOF = do_EOF


def install() -> None:
    """Change both when they are imported."""
    when_imported("pydoc", _change_pydoc)
    when_imported("pdb", _change_pdb)
