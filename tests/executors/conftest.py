"""The executors, for what holds with each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from container_engine import IMAGE, running_engine
from processes import new

from planaria import (
    ContainerConfig,
    ContainerExecutor,
    Executor,
    InProcessExecutor,
    ServerExecutor,
    Session,
    SubprocessExecutor,
    WasmExecutor,
)

#: How each executor is created; "container" needs an engine beside.
EXECUTORS: dict[str, Callable[[], Executor]] = {
    "wasm": WasmExecutor,
    "in-process": InProcessExecutor,
    "subprocess": SubprocessExecutor,
}


@pytest.fixture(scope="session")
def engine() -> Iterator[str]:
    """The address of a real engine for containers that has the image IMAGE."""
    try:
        import docker  # noqa: F401
    except ImportError:
        pytest.skip("CONTAINERS ARE NOT TESTED: the extra 'container' is not installed")
    running = running_engine()
    try:
        address = running.__enter__()
    except LookupError as reason:
        pytest.skip(f"CONTAINERS ARE NOT TESTED: {reason}")
    yield address
    running.__exit__(None, None, None)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a server of sessions."""
    try:
        from session_server import served
    except ImportError:
        pytest.skip("SERVERS ARE NOT TESTED: the extra 'server' is not installed")
    with served() as running:
        yield running.url


# One engine serves all tests with containers: they run in one process of a parallel run.
@pytest.fixture(
    params=[*EXECUTORS, "server", pytest.param("container", marks=pytest.mark.xdist_group("engine"))]
)
def new_executor(request: pytest.FixtureRequest) -> Callable[[], Executor]:
    """Makes executors of one kind."""
    if request.param == "server":
        url = request.getfixturevalue("server")
        return lambda: ServerExecutor(url)
    if request.param == "container":
        config = ContainerConfig(image=IMAGE, engine=request.getfixturevalue("engine"))
        return lambda: ContainerExecutor(config)
    return EXECUTORS[request.param]


@pytest.fixture
def session(new_executor: Callable[[], Executor]) -> Iterator[Session]:
    """A session with that executor."""
    with Session(executor=new_executor()) as session:
        yield session


@pytest.fixture(scope="module")
def shared() -> Iterator[Session]:
    """A session for tests that leave nothing behind."""
    with new() as session:
        yield session
