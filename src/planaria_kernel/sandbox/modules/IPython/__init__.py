"""The names of IPython that notebooks and libraries use, over the session's own display and magics."""

import builtins
from typing import Any

from IPython import display  # type: ignore[import-not-found]

__all__ = ["display", "get_ipython", "version_info"]

#: The version whose names these are.
version_info = (9, 0, 0, "")
__version__ = "9.0.0"


def get_ipython() -> Any:
    """The session as code sees it."""
    return builtins.get_ipython()  # type: ignore[attr-defined]
