"""Comms: messages between objects of the code and of the front end, as widgets use them.

The interface is that of the package `comm`, which `sandbox/modules/comm` stands for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planaria_kernel.execution.display import Display

__all__ = ["BaseComm", "CommManager", "create_comm", "get_comm_manager", "receive"]

Message = dict[str, Any]
Callback = Callable[[Message], Any]


class BaseComm:
    """One end of a comm; the front end has the other. It is opened when it is made, unless the front end
    opened it.
    """

    def __init__(
        self,
        target_name: str = "comm",
        data: Any = None,
        metadata: Any = None,
        buffers: Any = None,
        comm_id: str | None = None,
        primary: bool = True,
        target_module: str | None = None,
        topic: bytes | None = None,
        **_: Any,
    ) -> None:
        self.target_name = target_name
        self.target_module = target_module
        self.comm_id = comm_id or os.urandom(16).hex()
        self.primary = primary
        self._closed = True
        self._on_msg: Callback | None = None
        self._on_close: Callback | None = None
        if primary:
            self.open(data, metadata, buffers)
        else:
            self._closed = False

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **keys: Any
    ) -> None:
        """Send a message to the front end."""
        content = {"data": data or {}, "comm_id": self.comm_id, **keys}
        content["buffers"] = [bytes(buffer) for buffer in buffers or ()]
        _manager.display.send(msg_type, content, metadata or {})

    def open(self, data: Any = None, metadata: Any = None, buffers: Any = None) -> None:
        """Tell the front end of it."""
        _manager.register_comm(self)
        self._closed = False
        keys = {"target_name": self.target_name, "target_module": self.target_module}
        self.publish_msg("comm_open", data, metadata, buffers, **keys)

    def send(self, data: Any = None, metadata: Any = None, buffers: Any = None) -> None:
        """Send data."""
        self.publish_msg("comm_msg", data, metadata, buffers)

    def close(
        self, data: Any = None, metadata: Any = None, buffers: Any = None, deleting: bool = False
    ) -> None:
        """End it; once is enough."""
        if not self._closed:
            self._closed = True
            self.publish_msg("comm_close", data, metadata, buffers)
            if not deleting:
                _manager.unregister_comm(self)

    def on_msg(self, callback: Callback | None) -> None:
        """Have `callback` called with each message that comes."""
        self._on_msg = callback

    def on_close(self, callback: Callback | None) -> None:
        """Have `callback` called when the front end closes it."""
        self._on_close = callback

    def handle_msg(self, msg: Message) -> None:
        """Take a message of the front end's."""
        if self._on_msg is not None:
            self._on_msg(msg)

    def handle_close(self, msg: Message) -> None:
        """Take the front end's closing."""
        self._closed = True
        if self._on_close is not None:
            self._on_close(msg)


class CommManager:
    """The comms of the session, and what may be opened by the front end (targets)."""

    def __init__(self) -> None:
        self.comms: dict[str, BaseComm] = {}
        self.targets: dict[str, Callable[[BaseComm, Message], Any]] = {}
        self._display: Display | None = None

    @property
    def display(self) -> Display:
        """What sends messages to the front end."""
        if self._display is None:
            import builtins

            self._display = builtins.display.__self__  # type: ignore[attr-defined]
        return self._display

    def register_target(self, target_name: str, f: Any) -> None:
        """Have `f(comm, message)` called when the front end opens a comm of that name; a str is its place."""
        self.targets[target_name] = _imported(f) if isinstance(f, str) else f

    def unregister_target(self, target_name: str, f: Any = None) -> Any:
        """Forget a target."""
        return self.targets.pop(target_name)

    def register_comm(self, comm: BaseComm) -> str:
        """Have messages for a comm handed to it."""
        self.comms[comm.comm_id] = comm
        return comm.comm_id

    def unregister_comm(self, comm: BaseComm) -> None:
        """Forget a comm."""
        self.comms.pop(comm.comm_id, None)

    def get_comm(self, comm_id: str) -> BaseComm | None:
        """The comm of that identifier, if there is one."""
        return self.comms.get(comm_id)

    def comm_open(self, _stream: Any, _ident: Any, msg: Message) -> None:
        """Take the opening of a comm; one that nothing is there for is closed again."""
        content = msg["content"]
        name = content.get("target_name", "")
        comm = create_comm(comm_id=content["comm_id"], primary=False, target_name=name)
        self.register_comm(comm)
        target = self.targets.get(name)
        if target is None:
            sys.stderr.write(f"no comm target {name!r} is registered\n")
            comm.close()
            return
        try:
            target(comm, msg)
        except Exception:
            comm.close()
            raise

    def comm_msg(self, _stream: Any, _ident: Any, msg: Message) -> None:
        """Take a message for a comm."""
        comm = self.get_comm(msg["content"]["comm_id"])
        if comm is not None:
            comm.handle_msg(msg)

    def comm_close(self, _stream: Any, _ident: Any, msg: Message) -> None:
        """Take the closing of a comm."""
        comm = self.get_comm(msg["content"]["comm_id"])
        if comm is not None:
            self.unregister_comm(comm)
            comm.handle_close(msg)


def _imported(place: str) -> Any:
    module, _, name = place.rpartition(".")
    __import__(module)
    return getattr(sys.modules[module], name)


_manager = CommManager()


def get_comm_manager() -> CommManager:
    """The comms of this session."""
    return _manager


def create_comm(*args: Any, **kwargs: Any) -> BaseComm:
    """A comm."""
    return BaseComm(*args, **kwargs)


def receive(kind: str, content: Message, metadata: Message) -> None:
    """Take a message of the front end's: `comm_open`, `comm_msg` or `comm_close`."""
    buffers = content.pop("buffers", [])
    message = {
        "header": {"msg_type": kind},
        "msg_type": kind,
        "content": content,
        "metadata": metadata,
        "buffers": [memoryview(buffer) for buffer in buffers],
    }
    getattr(_manager, kind)(None, None, message)
