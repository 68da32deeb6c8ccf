"""Which function of the host a call is of, and whether it may be made."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

from planaria.errors import LimitError
from planaria.executors.executor import Executor
from planaria.executors.host_endpoint import call_name
from planaria.executors.messages import Ok, Raised
from planaria.session.callbacks import Callback
from planaria.session.execution_state import ExecutionState
from planaria.session.function_calls import Arguments, Keywords
from planaria.session.settings import SessionSettings
from planaria.snapshot.record import WORKSPACE, Declaration

if TYPE_CHECKING:
    from planaria.session.network_link import NetworkLink
    from planaria.session.workspace_link import WorkspaceLink

__all__ = ["NETWORK", "Admission"]

#: Names of the network's functions begin with it.
NETWORK: Final = "@network."


class Admission:
    """Finds the functions that code calls by their names, and counts the calls."""

    def __init__(self, settings: SessionSettings, executor: Executor) -> None:
        self._settings = settings
        self._executor = executor
        self.workspace: WorkspaceLink | None = None
        self.network: NetworkLink | None = None
        #: Declarations of callbacks that a restored snapshot had and this session lacks.
        self.missing: dict[str, Declaration] = {}

    def admit(
        self, execution: ExecutionState, name: str, arguments: Arguments, keywords: Keywords
    ) -> Callback:
        """The callback of that name, counted; raises what the guest shall see instead.

        The kernel has checked the arguments already; but the guest could send anything.
        """
        callback = self.named(name)
        if callback is None:
            raise NameError(self._unknown(name))
        _check_arguments(callback, arguments, keywords)
        if name.startswith(NETWORK):
            execution.is_noticed = True
            return callback
        if self.workspace is not None and not self.workspace.is_noticed(name):
            return callback
        limit = self._settings.bounds.callbacks
        if limit is not None and execution.callbacks >= limit:
            message = (
                f"the limit callbacks={limit} of one execution is reached at {call_name(name, arguments)}()"
            )
            execution.stop.failure = execution.stop.failure or LimitError(message, limit="callbacks")
            execution.ask_to_stop()
            self._executor.interrupt()
            raise RuntimeError(f"no more than {limit} callbacks in one execution")
        execution.callbacks += 1
        execution.is_noticed = True
        return callback

    def at_once(
        self, execution: ExecutionState, name: str, arguments: Arguments, *, may_wait: bool
    ) -> Ok | Raised | None:
        """The answer to a call of the network's that waits for nothing, or but for a moment."""
        if self.network is None or not name.startswith(NETWORK):
            return None
        ready = self.network.at_once(name, arguments, may_wait=may_wait)
        if ready is not None:
            execution.is_noticed = True
        return ready

    def receive(self, execution: ExecutionState, descriptor: int, buffer: memoryview) -> int:
        """Put what a connection has received into a buffer of the code's; its length, 0 when that is not a
        matter of a moment. Raises OSError.
        """
        if self.network is None:
            raise OSError(errno.EBADF, "this session has no network")
        execution.is_noticed = True
        return self.network.receive_into(descriptor, buffer)

    def send(self, execution: ExecutionState, descriptor: int, buffer: memoryview) -> int:
        """Send from a buffer of the code's; the length of what was taken, 0 when that is not a matter of a
        moment. Raises OSError.
        """
        if self.network is None:
            raise OSError(errno.EBADF, "this session has no network")
        execution.is_noticed = True
        return self.network.send_from(descriptor, buffer)

    def named(self, name: str) -> Callback | None:
        """The function that the kernel calls by this name."""
        match name[:1]:
            case "!":
                return self._settings.shell_commands.get(name[1:])
            case "@" if name.startswith(NETWORK):
                return None if self.network is None else self.network.callback(name)
            case "@":
                return None if self.workspace is None else self.workspace.callback(name)
        return self._settings.registry.get(name)

    def _unknown(self, name: str) -> str:
        if name.startswith(NETWORK):
            return "the session that this snapshot was taken from had a network; this one does not"
        if name[:1] == "@" and WORKSPACE in self.missing:
            return "the session that this snapshot was taken from had a workspace; this one does not"
        if name[:1] == "!":
            return f"this session has no such command; give it in commands={{{name[1:]!r}: …}}"
        if name in self.missing:
            return f"the session that this snapshot was taken from had a callback {name!r}; this one does not"
        return f"there is no callback {name!r} in this session"


def _check_arguments(callback: Callback, arguments: Arguments, keywords: Keywords) -> None:
    if callback.check is not None:
        try:
            callback.check(arguments, keywords)
        except TypeError as error:
            raise TypeError(f"{callback.name}{callback.signature}: {error}") from None
