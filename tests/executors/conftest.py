"""The homes of a kernel, for what holds in each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from planaria import Executor, InProcessExecutor, Session, SubprocessExecutor, WasmExecutor

#: How each home is made; those that need something beside may skip in here.
HOMES: dict[str, Callable[[], Executor]] = {
    "wasm": WasmExecutor,
    "in-process": InProcessExecutor,
    "subprocess": SubprocessExecutor,
}


@pytest.fixture(params=HOMES)
def home(request: pytest.FixtureRequest) -> Callable[[], Executor]:
    """Makes executors of one kind."""
    return HOMES[request.param]


@pytest.fixture
def session(home: Callable[[], Executor]) -> Iterator[Session]:
    """A session whose kernel lives in that home."""
    with Session(executor=home()) as session:
        yield session
