"""A pool on a cluster of Ray: two nodes, both on this machine."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="Ray is not installed: run `make integrations`")

import psutil
import ray
from ray._private import services
from ray._private.services import get_node
from ray.cluster_utils import Cluster
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from session_server import client_of, process

from planaria.pool import Pool, PoolError, RayWorkers, WorkerLost
from planaria.pool.outcomes import decoded_result
from planaria.pool.ray import RayEngine
from planaria.pool.steps import Execute, Step
from planaria.pool.worker import WorkerSettings

pytestmark = pytest.mark.slow


#: How long a node waits for its agents and for answers. Ray's own limits, half a minute or less, are too short
#: for a busy computer, and the node ends itself.
_PATIENCE = {
    "RAY_agent_register_timeout_ms": "600000",
    "RAY_raylet_start_wait_time_s": "600",
    "RAY_gcs_server_request_timeout_seconds": "600",
}


def raylets() -> list[psutil.Process]:
    """The processes of nodes that this one has started, also those that are over."""
    return [one for one in psutil.Process().children() if one.name() == "raylet"]


def patient_get_node(*arguments: Any) -> Any:
    """Ray gives up on a node that is not there after half a minute; on a busy computer it takes longer."""
    while True:
        try:
            return get_node(*arguments)
        except RuntimeError:
            if any(one.status() == psutil.STATUS_ZOMBIE for one in raylets()):
                raise
            time.sleep(0.1)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of two nodes with a processor each, which this process is connected to."""
    modules = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _PATIENCE.items():
            patch.setenv(name, value)
        patch.setattr(services, "get_node", patient_get_node)
        cluster = Cluster()
        cluster.add_node(num_cpus=1, include_dashboard=False)
        cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False, runtime_env={"env_vars": modules})
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def pool(cluster: Any, tmp_path: Path) -> Iterator[Pool]:
    with Pool(f"file://{tmp_path}/store", "ray", callbacks="pool_callbacks:registry", workers=2) as pool:
        yield pool


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


def test_a_step_that_is_cancelled_while_it_waits_leaves_its_actor_to_the_next_one(
    cluster: Any, tmp_path: Path
) -> None:
    """A step whose future is cancelled before an actor has it is left out, and the next one executes."""
    settings = WorkerSettings(f"file://{tmp_path}/store", "pool_callbacks:registry")
    engine = RayEngine(settings, 1, RayWorkers(options={"num_cpus": 0.5}))
    try:
        gate = tmp_path / "gate"
        first = engine.submit(Step("a", Execute(f"await enter({str(gate)!r})")))
        cancelled = engine.submit(Step("b", Execute("n = 1")))
        following = engine.submit(Step("b", Execute("'n' in globals()")))
        assert cancelled.cancel()
        first.result()
        assert decoded_result(following.result().result).value is False
    finally:
        engine.close()


def test_actors_without_a_node(cluster: Any, tmp_path: Path) -> None:
    """A pool whose actors belong on a node that is gone reports why no actor takes a step, and closes."""
    store = f"file://{tmp_path}/store"
    node = cluster.add_node(num_cpus=1)
    there = NodeAffinitySchedulingStrategy(node.node_id, soft=False)
    workers = RayWorkers(options={"num_cpus": 0.5, "scheduling_strategy": there})
    with Pool(store, workers, workers=1) as pool:
        pool.run("a", "n = 5")
        cluster.remove_node(node)
        with pytest.raises(WorkerLost):
            pool.run("a", "n += 1")
        with pytest.raises(PoolError, match=r"could not be started: .* not schedulable"):
            pool.run("a", "n += 1")
    with Pool(store, RayWorkers(options={"num_cpus": 0.5}), workers=1) as pool:
        assert pool.run("a", "n").value == 5


def test_growing(cluster: Any, tmp_path: Path) -> None:
    """Workers are added while steps wait, up to a number, and end again when they have nothing to do."""
    workers = RayWorkers(most=2, idle=1.0, options={"num_cpus": 0.5})
    with Pool(f"file://{tmp_path}/store", workers, callbacks="pool_callbacks:registry", workers=1) as pool:
        pool.run("a", "n = 0")
        assert len(pool.worker_pids()) == 1
        place = tmp_path / "place"
        place.mkdir()
        assert pool.map(["a", "b"], f"await meet({str(place)!r})") == [2, 2]
        while len(pool.worker_pids()) > 1:
            time.sleep(0.05)
        assert pool.run("b", "1 + 1").value == 2


def test_detached_workers(cluster: Any, tmp_path: Path) -> None:
    """Workers with a name outlive their pool and are used by the next one, until someone ends them."""
    workers = RayWorkers("agents", options={"num_cpus": 0.5})
    store = f"file://{tmp_path}/store"
    with Pool(store, workers, workers=1) as pool:
        pool.run("a", "n = 5")
        pids = pool.worker_pids()
    with Pool(store, workers, workers=1) as pool:
        assert pool.run("a", "n").value == 5
        assert pool.worker_pids() == pids
    with (
        Pool(f"file://{tmp_path}/other", workers, workers=1) as pool,
        pytest.raises(PoolError, match="have another store"),
    ):
        pool.run("a", "n")
    assert workers.end() == 1
    with Pool(store, workers, workers=1) as pool:
        assert pool.run("a", "n").value == 5
        assert pool.worker_pids() != pids
    assert workers.end() == 1


def test_servers(cluster: Any, tmp_path: Path) -> None:
    """`planaria serve --pool ray` has servers in actors, whose sessions answer after the servers were killed."""
    options = ["--pool", "ray", "--workers", "2", "--store", str(tmp_path / "store"), "--token", "secret"]
    environment = {"RAY_ADDRESS": cluster.address}
    with process(*options, environment=environment) as (url, _), client_of(url, "secret") as client:
        names = [f"s{number}" for number in range(4)]
        for name in names:
            assert client.post("/v1/sessions", json={"id": name}).status_code == 201
            assert client.post(f"/v1/sessions/{name}/run", json={"code": f"x = {name!r}"}).status_code == 200
        servers = [
            int(place.parent.name)
            for place in Path("/proc").glob("[0-9]*/cmdline")
            if str(tmp_path / "store").encode() in place.read_bytes() and b"--pool" not in place.read_bytes()
        ]
        assert len(servers) == 2
        for server in servers:
            os.kill(server, signal.SIGKILL)
        for name in names:
            key = {"Idempotency-Key": name}
            answer = client.post(f"/v1/sessions/{name}/run", json={"code": "x"}, headers=key)
            assert answer.json().get("value") == name, answer.text
