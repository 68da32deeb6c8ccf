"""Kernels in the process that starts them."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager
from jupyter_client.provisioning.factory import KernelProvisionerFactory

from planaria.integrations.jupyter import kernelspec
from planaria.integrations.jupyter.provisioner import SharedProvisioner

PATIENCE = 300


_NAME = "planaria-shared-provisioner"


@pytest.fixture
def manager() -> KernelManager:
    # An entry point, as an installation has it.
    place = "planaria.integrations.jupyter.provisioner:SharedProvisioner"
    entry = EntryPoint(_NAME, place, KernelProvisionerFactory.GROUP_NAME)
    KernelProvisionerFactory.instance().provisioners[_NAME] = entry
    manager = KernelManager(kernel_name="planaria-tests")
    manager._kernel_spec = KernelSpec(**kernelspec.kernelspec("shared", shared=True))
    return manager


def test_kernels_run_in_this_process(manager: KernelManager) -> None:
    """A shared kernel answers, is interrupted, restarts and ends without a process of its own."""
    manager.start_kernel()
    client = manager.client()
    try:
        assert isinstance(manager.provisioner, SharedProvisioner)
        assert manager.provisioner.pid is None
        client.start_channels()
        client.wait_for_ready(timeout=PATIENCE)
        reply = client.execute_interactive("x = 6 * 7", timeout=PATIENCE)
        assert reply["content"]["status"] == "ok"
        client.execute("while True: pass")
        while client.get_iopub_msg(timeout=PATIENCE)["content"].get("code") != "while True: pass":
            pass
        manager.interrupt_kernel()
        assert client.get_shell_msg(timeout=PATIENCE)["content"]["ename"] == "KeyboardInterrupt"
        manager.restart_kernel(now=True)
        client.wait_for_ready(timeout=PATIENCE)
        reply = client.execute_interactive("x", timeout=PATIENCE, output_hook=lambda _: None)
        assert reply["content"]["ename"] == "NameError"
        assert manager.is_alive()
    finally:
        client.stop_channels()
        manager.shutdown_kernel()
    assert not manager.is_alive()
