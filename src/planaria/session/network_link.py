"""What one session has of a network: the calls of its kernel, and the connections they opened."""

from __future__ import annotations

import weakref
from concurrent.futures import wait
from typing import Final

from planaria.event_loops import is_running_here
from planaria.executors.executor import Executor
from planaria.executors.messages import HostCall, Ok, Raised
from planaria.network.budget import Budget
from planaria.network.calls import LATER, NetworkCalls
from planaria.network.policy import Network, NetworkRequest
from planaria.session.callbacks import Callback, raised

__all__ = ["NetworkLink"]

#: How long closing connections may take on a loop that is busy or stopped, in seconds.
_MOST_CLOSING: Final = 10.0


class NetworkLink:
    """A session's link to the network that its policy allows."""

    def __init__(self, policy: Network) -> None:
        self._policy = policy
        self._calls = NetworkCalls(policy)
        # A session that is dropped without being closed; this may run on any thread, and does not wait.
        weakref.finalize(self, NetworkCalls.begin_closing, self._calls).atexit = False
        self._callbacks = {
            name: Callback(name[1:], function) for name, function in self._calls.functions().items()
        }

    def copy(self) -> NetworkLink:
        """The link of a copy of the session; it has no connections."""
        return NetworkLink(self._policy)

    def open_for(self, executor: Executor) -> None:
        """Before the kernel of an executor is started, or started again. Raises ImportError, TypeError and
        RuntimeSetupError.
        """

    def settings(self, environment: object) -> dict[str, object]:
        """The settings of the kernel, where the session's own variables take precedence."""
        variables = self._calls.environment()
        if isinstance(environment, dict):
            variables |= environment
        return {"network": True, **({"environ": variables} if variables else {})}

    def callback(self, name: str) -> Callback | None:
        """The function behind a call of the kernel's."""
        return self._callbacks.get(name)

    def at_once(self, name: str, arguments: tuple[object, ...], *, may_wait: bool) -> Ok | Raised | None:
        """The answer to a call of the kernel's for which nothing has to be waited for, or but a moment."""
        try:
            value = self._calls.at_once(name, arguments, may_wait=may_wait)
        except Exception as error:
            return raised(error)
        return None if value is LATER else Ok(value)

    def receive_into(self, descriptor: int, buffer: memoryview) -> int:
        """Put what a connection has received into a buffer of the code's; its length, 0 when that is not a
        matter of a moment. Raises OSError.
        """
        return self._calls.receive_into(descriptor, buffer)

    def send_from(self, descriptor: int, buffer: memoryview) -> int:
        """Send from a buffer of the code's; the length of what was taken, 0 when that is not a matter of a
        moment. Raises OSError.
        """
        return self._calls.send_from(descriptor, buffer)

    def is_held(self, call: HostCall) -> bool:
        """Whether the connection that a call reads from has a request that waits for a decision."""
        return self._calls.is_held(call.args[0])

    def resuming(self, decision: object) -> Callback:
        """The function that continues a request which waited for a decision."""
        return Callback("network.send", self._calls.resuming(decision))

    @property
    def budget(self) -> Budget:
        """What the requests of the session come to."""
        return self._calls.budget

    def take_records(self) -> list[NetworkRequest]:
        """The requests of the execution that ends now."""
        return self._calls.take_records()

    def close(self) -> None:
        """Close every connection, on the loop that they belong to, and wait for that: on another thread."""
        loop = self._calls.loop
        closing = self._calls.begin_closing()
        if loop is not None and closing is not None and not is_running_here(loop):
            wait([closing], _MOST_CLOSING)

    def release(self) -> None:
        """Close every connection for good."""
        self.close()

    def abandon(self) -> None:
        """In a forked child: forget what only the parent has."""
