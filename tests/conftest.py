"""What every test may use: sessions that are closed afterwards, and a Redis."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from example_counts import ORDINARY
from redis_server import RedisServer

if TYPE_CHECKING:
    from object_server import ObjectServer

# Before planaria is imported: a test run must not start a compilation that outlives it.
os.environ["PLANARIA_BACKGROUND_COMPILE"] = "0"

# How long an example takes says nothing on a machine that has other work to do. The examples are the same each
# time, so that a change is judged by what it does; `--hypothesis-profile=random` looks for new ones, and
# `--hypothesis-profile=thorough` tries three times as many of the same.
for profile, thorough, derandomize in (
    (ORDINARY, False, True),
    ("thorough", True, True),
    ("random", True, False),
):
    hypothesis.settings.register_profile(
        profile,
        deadline=None,
        max_examples=100 if thorough else 33,
        derandomize=derandomize,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile(ORDINARY)


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a parallel run, the tests that share a fixture of their module run in one process: it is made once."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        if not isinstance(item, pytest.Function) or item.get_closest_marker("xdist_group"):
            continue
        definitions = item._fixtureinfo.name2fixturedefs
        if any(definition.scope == "module" for found in definitions.values() for definition in found):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def pytest_collection_finish() -> None:
    """What is collected stays to the end: no garbage collection looks at it again, nor copies its pages in a fork."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def new_session() -> Iterator[Callable[..., Any]]:
    """A function that makes sessions, which are closed after the test."""
    import planaria

    made: list[planaria.Session] = []

    def make(**arguments: Any) -> planaria.Session:
        made.append(planaria.Session(**arguments))
        return made[-1]

    yield make
    for session in made:
        session.close()


@pytest.fixture
def session(new_session: Callable[..., Any]) -> Any:
    """A session with no particular arguments."""
    return new_session()


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Redis of our own on a free port, in a temporary directory."""
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def object_server() -> Iterator[ObjectServer]:
    """An S3 of our own on a free port."""
    from object_server import ObjectServer

    server = ObjectServer()
    yield server
    server.stop()


# What was started in the background, or with nohup, ignores these signals, and so would each process of a test.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def recursion_limit() -> Iterator[None]:
    """The shell, run natively, raises the limit far above what other tests could survive."""
    limit = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(limit)
