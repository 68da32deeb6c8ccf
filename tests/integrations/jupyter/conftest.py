"""A kernelspec of these sources, found by `JUPYTER_PATH`, and kernels of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("zmq", reason="the extra `jupyter` is not installed")
pytest.importorskip("jupyter_client", reason="the extra `jupyter` is not installed")


@pytest.fixture(scope="session", autouse=True)
def kernelspec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Install the kernel where only these tests look."""
    from planaria.integrations.jupyter import kernelspec

    prefix = tmp_path_factory.mktemp("jupyter")
    sources = str(Path(__file__).parents[3] / "src")
    spec = kernelspec.kernelspec("planaria (tests)")
    spec["argv"][0] = sys.executable
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(prefix / "share" / "jupyter"))
        patch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        patch.setenv("PYTHONPATH", sources)
        kernelspec.install(spec, "planaria-tests", prefix=str(prefix))
        yield
