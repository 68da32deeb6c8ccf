"""Pools on Dask and on Celery, with workers that are processes of this machine."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from planaria.pool import Pool

pytestmark = pytest.mark.slow

CALLBACKS = "pool_callbacks:registry"


def check(pool: Pool) -> None:
    """Sessions fork, wait for answers, and report errors as what they are."""
    pool.run("user", "x = 5")
    assert pool.map(pool.fork("user", 4), "x * seed", args=[{"seed": n} for n in range(4)]) == [0, 5, 10, 15]
    assert str(pool.run("user", "1 / 0").error) == "ZeroDivisionError: division by zero"
    run = pool.start("order", "ok = await approve(amount=900)\nok")
    assert pool.resolve("order", run.pending[0].id, "yes").result.value == "yes"


def test_dask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool executes on the workers of a Dask cluster, by the executor of its client."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: run `make integrations`")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)]))
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster) as client,
        Pool(f"file://{tmp_path}", client.get_executor(), callbacks=CALLBACKS) as pool,
    ):
        check(pool)


def test_celery(tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool executes as tasks of a Celery application, whose worker is a program of its own."""
    pytest.importorskip("celery", reason="Celery is not installed: run `make integrations`")
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    environment = {"TEST_REDIS": redis_url, "TEST_STORE": f"file://{tmp_path / 'store'}", "PYTHONPATH": path}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    command = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "celery_app",
        "worker",
        "--concurrency",
        "2",
        "--loglevel",
        "error",
    ]
    worker = subprocess.Popen(command, cwd=tmp_path)
    try:
        module = importlib.import_module("celery_app")
        with Pool(environment["TEST_STORE"], module.engine, callbacks=CALLBACKS) as pool:
            check(pool)
    finally:
        worker.terminate()
        worker.wait()
