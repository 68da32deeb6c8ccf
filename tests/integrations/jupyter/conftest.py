"""A kernelspec of these sources, found by `JUPYTER_PATH`, and kernels of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

#: A kernel, and the image that it begins from.
WIDGETS = "planaria-tests-widgets"

pytest.importorskip("zmq", reason="the extra `jupyter` is not installed")
pytest.importorskip("jupyter_client", reason="the extra `jupyter` is not installed")


@pytest.fixture(scope="session", autouse=True)
def kernelspec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Install the kernel where only these tests look."""
    from planaria.integrations.jupyter import kernelspec

    prefix = tmp_path_factory.mktemp("jupyter")
    sources = str(Path(__file__).parents[3] / "src")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(prefix / "share" / "jupyter"))
        patch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        patch.setenv("PYTHONPATH", sources)
        for name, options in (("planaria-tests", []), (WIDGETS, ["--image", WIDGETS])):
            spec = kernelspec.kernelspec("planaria (tests)", options)
            spec["argv"][0] = sys.executable
            kernelspec.install(spec, name, prefix=str(prefix))
        yield


@pytest.fixture(scope="session")
def widgets_kernel() -> Iterator[str]:
    """The name of a kernel in which ipywidgets is installed, from the index that pip is configured for."""
    import planaria

    try:
        planaria.Image.build(WIDGETS, packages=["ipywidgets"])
    except planaria.ImageError as error:
        pytest.skip(f"THE PACKAGE INDEX CANNOT BE REACHED, so widgets are not tested: {error}")
    yield WIDGETS
    planaria.Image.remove(WIDGETS)
