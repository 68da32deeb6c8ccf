"""Comms, which widgets are made of."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from notebook_front import start_kernel

pytestmark = pytest.mark.slow

PATIENCE = 300


@pytest.fixture(scope="module")
def client() -> Iterator[BlockingKernelClient]:
    manager, client = start_kernel("planaria-tests")
    yield client
    client.stop_channels()
    manager.shutdown_kernel()


def received(client: BlockingKernelClient, kind: str) -> dict[str, object]:
    """The next message of a type on iopub."""
    while True:
        message = client.get_iopub_msg(timeout=PATIENCE)
        if message["msg_type"] == kind:
            return {**message["content"], "buffers": [bytes(one) for one in message["buffers"]]}


def send(client: BlockingKernelClient, kind: str, **content: object) -> None:
    client.shell_channel.send(client.session.msg(kind, content))


def test_comm_of_the_code(client: BlockingKernelClient) -> None:
    """A comm that the code opens sends data with buffers, and hears what the front end sends."""
    client.execute(
        "from comm import create_comm\n"
        "c = create_comm(target_name='t', data={'a': 1}, buffers=[b'xyz'])\n"
        "c.on_msg(lambda message: (print('got', message['content']['data']), c.send({'b': 2})))"
    )
    opened = received(client, "comm_open")
    assert (opened["target_name"], opened["data"], opened["buffers"]) == ("t", {"a": 1}, [b"xyz"])
    send(client, "comm_msg", comm_id=opened["comm_id"], data={"value": 5})
    assert received(client, "stream")["text"] == "got {'value': 5}\n"
    assert received(client, "comm_msg")["data"] == {"b": 2}
    client.comm_info()
    while True:
        reply = client.get_shell_msg(timeout=PATIENCE)
        if reply["msg_type"] == "comm_info_reply":
            break
    assert reply["content"]["comms"] == {opened["comm_id"]: {"target_name": "t"}}
    client.execute("c.close()")
    assert received(client, "comm_close")["comm_id"] == opened["comm_id"]


def test_comm_of_the_front_end(client: BlockingKernelClient) -> None:
    """A comm that the front end opens goes to its target; without one it is closed again."""
    client.execute(
        "from comm import get_comm_manager\n"
        "get_comm_manager().register_target('here', lambda comm, message: comm.send({'hello': 1}))"
    )
    send(client, "comm_open", comm_id="one", target_name="here", data={})
    assert received(client, "comm_msg")["data"] == {"hello": 1}
    send(client, "comm_open", comm_id="two", target_name="nowhere", data={})
    assert received(client, "comm_close")["comm_id"] == "two"
