"""A pool on a cluster of Ray: two nodes, both on this machine."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="Ray is not installed: run `make integrations`")

import ray
from ray._private import services
from ray._private.services import get_node
from ray.cluster_utils import Cluster

from planaria.pool import Pool, WorkerLost

pytestmark = pytest.mark.slow


def patient_get_node(*arguments: Any) -> Any:
    """Ray gives up on a node that is not there after half a minute; on a busy computer it takes longer."""
    until = time.monotonic() + 600
    while True:
        try:
            return get_node(*arguments)
        except RuntimeError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    modules = {"PYTHONPATH": str(Path(__file__).parent)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(services, "get_node", patient_get_node)
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False, runtime_env={"env_vars": modules})
    store = f"file://{tmp_path_factory.mktemp('sessions')}"
    with Pool(store, "ray", callbacks="pool_callbacks:registry", workers=2) as pool:
        yield pool
    ray.shutdown()
    cluster.shutdown()


def test_forks_on_two_nodes(pool: Pool) -> None:
    """Forks of a session execute in actors on both nodes, and errors arrive as what they are."""
    pool.run("user", "x = 5")
    assert pool.map(pool.fork("user", 4), "x * seed", args=[{"seed": n} for n in range(4)]) == [0, 5, 10, 15]
    assert len(set(pool.worker_pids())) == 2
    assert str(pool.run("user", "1 / 0").error) == "ZeroDivisionError: division by zero"


def test_a_pending_call_outlives_all_actors(pool: Pool) -> None:
    """An execution that waits is resolved by an actor that Ray has started again."""
    run = pool.start("order", "ok = await approve(amount=900)\nprint('paid' if ok else 'refused')")
    for pid in pool.worker_pids():
        os.kill(pid, signal.SIGKILL)
    assert pool.resolve("order", run.pending[0].id, True).result.stdout == "paid\n"


def test_an_actor_that_ends_in_a_step_loses_nothing(pool: Pool, tmp_path: Path) -> None:
    """A step whose actor is killed has its effect once, and one that kills every actor is a WorkerLost error."""
    notes = tmp_path / "notes"
    pool.run("killed", "n = 0")
    result = pool.run("killed", f"n += 1\nwhere = await end_once({str(notes)!r}, 'SIGKILL')\nn, where")
    assert result.value == (1, "there")
    first, second = notes.read_text().split()
    assert first == second
    with pytest.raises(WorkerLost):
        pool.run("killed", "n = 9\nawait end()")
    assert pool.run("killed", "n").value == 1
