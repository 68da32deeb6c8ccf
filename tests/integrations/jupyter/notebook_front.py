"""A front end for a kernel, which executes cells and gathers what comes of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

PATIENCE = 300
#: How often a kernel is started whose ports other processes have taken since they were chosen for it.
_ATTEMPTS = 5


def start_kernel(name: str) -> tuple[KernelManager, BlockingKernelClient]:
    """A kernel of that name, and a client for it."""
    for attempt in range(_ATTEMPTS):
        try:
            return start_new_kernel(kernel_name=name, startup_timeout=PATIENCE)
        except RuntimeError as error:
            if "died" not in str(error) or attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError


class Front:
    """A front end: executes a cell and gathers what comes of it."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self.manager = manager
        self.client = client

    def send(self, code: str, **options: Any) -> str:
        return str(self.client.execute(code, **options))

    def replied(self, request: str) -> dict[str, Any]:
        """The content of the answer to a request, whatever comes before it."""
        while True:
            message = self.client.get_shell_msg(timeout=PATIENCE)
            if message["parent_header"].get("msg_id") == request:
                return dict(message["content"])

    def outputs(self, request: str) -> list[tuple[str, dict[str, Any]]]:
        """The messages on iopub that belong to a request, to its end; without those about its state."""
        found: list[tuple[str, dict[str, Any]]] = []
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE)
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["content"].get("execution_state") == "idle":
                return found
            if message["msg_type"] not in ("status", "execute_input"):
                found.append((message["msg_type"], dict(message["content"])))

    def run(self, code: str, **options: Any) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
        request = self.send(code, **options)
        return self.replied(request), self.outputs(request)

    def printed(self, code: str) -> str:
        return "".join(content["text"] for kind, content in self.run(code)[1] if kind == "stream")

    def value(self, code: str) -> str | None:
        for kind, content in self.run(code)[1]:
            if kind == "execute_result":
                return str(content["data"]["text/plain"])
        return None

    def comm(self, identifier: str, data: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """Send data to a comm, as a widget does; the messages that come of it."""
        message = self.client.session.msg("comm_msg", {"comm_id": identifier, "data": data})
        self.client.shell_channel.send(message)
        return self.outputs(message["header"]["msg_id"])

    def moved(self, identifier: str, **state: Any) -> list[tuple[str, dict[str, Any]]]:
        """Change the state of a widget as its view in JupyterLab does; the messages that come of it."""
        return self.comm(identifier, {"method": "update", "state": state, "buffer_paths": []})

    @classmethod
    @contextmanager
    def opened(cls, kernel: str) -> Iterator[Front]:
        """A kernel of that name, and a front end for it."""
        manager, client = start_kernel(kernel)
        try:
            yield cls(manager, client)
        finally:
            client.stop_channels()
            manager.shutdown_kernel()
