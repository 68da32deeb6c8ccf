"""The program that the documentation of pools begins with, on a Redis, with each engine that is installed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from planaria.pool import Pool

pytestmark = pytest.mark.slow

_CALLBACKS = """
from planaria import CallbackRegistry, Suspend

registry = CallbackRegistry()


@registry.callback
def approve(amount: int) -> bool:
    raise Suspend("someone has to decide")
"""
_SESSION = """
class Table:
    shape = (3, 2)

def load(): return Table()
def train_and_score(seed): return 10 - (seed - 21) ** 2
"""
_ORDERS = "def ship(): return 'shipped'\ndef refund(): return 'refunded'"


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A directory with the package `myapp`, which is found here and in workers that begin now."""
    package = tmp_path / "modules" / "myapp"
    package.mkdir(parents=True)
    package.joinpath("__init__.py").touch()
    package.joinpath("callbacks.py").write_text(_CALLBACKS)
    monkeypatch.syspath_prepend(str(package.parent))
    return str(package.parent)


@pytest.fixture(params=["processes", "ray"])
def engine(request: pytest.FixtureRequest, modules: str) -> Iterator[str]:
    if request.param == "ray":
        ray = pytest.importorskip("ray", reason="Ray is not installed: run `make integrations`")
        path = os.pathsep.join([modules, os.environ.get("PYTHONPATH", "")])
        environment = {"env_vars": {"PYTHONPATH": path}}
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=environment)
        yield "ray"
        ray.shutdown()
    else:
        yield request.param


def test_the_example(engine: str, redis_url: str) -> None:
    """A session is run, forked, mapped over and promoted, and an order is approved by another pool, later."""
    store = f"{redis_url}?prefix={uuid4().hex}:"
    with Pool(store=store, engine=engine, callbacks="myapp.callbacks:registry") as pool:
        pool.run("user-17", _SESSION)
        pool.run("order-9", _ORDERS)
        result = pool.run("user-17", "df = load(); df.shape")
        assert result.value == (3, 2)
        branches = pool.fork("user-17", 32)
        scores = pool.map(branches, "train_and_score(seed)", args=[{"seed": n} for n in range(32)])
        assert scores.argmax() == 21
        pool.promote(branches[scores.argmax()], to="user-17")
        assert pool.run("user-17", "seed").value == 21
        run = pool.start("order-9", "ok = await approve(amount=900); ship() if ok else refund()")
        assert not run.is_done
        assert run.pending[0].kwargs == {"amount": 900}
    with Pool(store=store, engine=engine, callbacks="myapp.callbacks:registry") as later:
        assert later.resolve("order-9", run.pending[0].id, True).result.value == "shipped"
