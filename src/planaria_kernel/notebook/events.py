"""What code is called for when cells run: `get_ipython().events`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

__all__ = ["Events"]

_NAMES: Final = ("pre_execute", "pre_run_cell", "post_execute", "post_run_cell")


class Events:
    """Functions by the events that they are registered for, under IPython's names."""

    def __init__(self) -> None:
        self.callbacks: dict[str, list[Callable[..., Any]]] = {name: [] for name in _NAMES}

    def register(self, event: str, function: Callable[..., Any]) -> None:
        """Have `function` called: `pre_execute` and `post_execute` without arguments, `pre_run_cell` with an
        object that has `raw_cell`, `post_run_cell` with one that has `result` and `success`.

        Raises KeyError for other events.
        """
        if function not in self.callbacks[event]:
            self.callbacks[event].append(function)

    def unregister(self, event: str, function: Callable[..., Any]) -> None:
        """Forget a function. Raises ValueError when it is not registered."""
        if function not in self.callbacks[event]:
            raise ValueError(f"the function {function!r} is not registered for {event!r}")
        self.callbacks[event].remove(function)

    def trigger(self, event: str, *arguments: Any) -> None:
        """Call the functions of an event; what one raises is printed, and the others are called."""
        for function in list(self.callbacks[event]):
            try:
                function(*arguments)
            except Exception as error:
                sys.stderr.write(f"error in the callback {function!r} of {event}: {error!r}\n")
