"""The kernel of a notebook as code sees it: `get_ipython().kernel`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from planaria_kernel.notebook.comms import CommManager

__all__ = ["PARENT", "FrontEnd"]

#: Stands for the identifier of the request that is being answered, which only the host knows: it puts that in
#: its place in messages of comms.
PARENT: Final = "planaria-parent"


class FrontEnd:
    """What libraries ask about the front end: the `Output` widget, which messages are its own."""

    def get_parent(self, _channel: str = "shell") -> dict[str, Any]:
        """The request that is being answered."""
        return {"header": {"msg_id": PARENT}, "msg_id": PARENT}

    @property
    def comm_manager(self) -> CommManager:
        """The comms of the session."""
        from planaria_kernel.notebook.comms import get_comm_manager

        return get_comm_manager()
