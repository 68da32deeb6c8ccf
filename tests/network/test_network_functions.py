"""Functions that a policy has, of secrets and on requests: where they are called, and what becomes of their errors."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

import planaria
from planaria import Network, Secret

VALUE = "s3cr3t-value"
#: Long enough for a machine that has other work to do, in seconds.
PATIENCE = 60

CODE = "import urllib.request; urllib.request.urlopen('http://localhost:{port}/echo').read()"


def header(answer: Any, name: str) -> Any:
    """A header of a request that the server has repeated."""
    return json.loads(answer)["headers"].get(name)


def with_secret(port: int, value: Any) -> Network:
    """A policy that adds a secret to each request."""
    place = f"http://localhost:{port}"
    secret = Secret("TOKEN", value, hosts=[place], header="X-Token: {}", insecure=True)
    return Network(allow=[place], secrets=[secret])


def deciding(port: int, decide: Any) -> Network:
    """A policy with a function that decides."""
    return Network(allow=[f"http://localhost:{port}"], on_request=decide)


async def run(network: Network, port: int) -> Any:
    """Have code in a session of this event loop make a request."""
    async with planaria.AsyncSession(network=network) as session:
        result = await session.run(CODE.format(port=port))
    assert result.error is None, result.error.traceback
    return result.value


@pytest.mark.parametrize("kind", ["secret", "decision"])
def test_a_slow_function(http_port: int, kind: str) -> None:
    """While a plain function takes its time, the event loop of an asynchronous session goes on."""

    async def main() -> Any:
        loop, is_asked, may_return = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

        def wait(*_: object) -> Any:
            loop.call_soon_threadsafe(is_asked.set)
            assert may_return.wait(PATIENCE), "the event loop did not go on"
            return VALUE if kind == "secret" else True

        async def answer() -> None:
            await is_asked.wait()
            may_return.set()

        network = with_secret(http_port, wait) if kind == "secret" else deciding(http_port, wait)
        value, _ = await asyncio.gather(run(network, http_port), answer())
        return header(value, "x-token")

    assert asyncio.run(main()) == ("*" * len(VALUE) if kind == "secret" else None)


@pytest.mark.parametrize("kind", ["secret", "decision"])
def test_an_asynchronous_function(http_port: int, kind: str) -> None:
    """An asynchronous function runs on the event loop of an asynchronous session, and so does a coroutine that a plain one returns."""
    loops: list[object] = []

    async def value(*_: object) -> Any:
        await asyncio.sleep(0)
        loops.append(asyncio.get_running_loop())
        return VALUE if kind == "secret" else True

    async def main() -> Any:
        functions: tuple[Callable[..., Any], ...] = (value, lambda *arguments: value(*arguments))
        for function in functions:
            network = (with_secret if kind == "secret" else deciding)(http_port, function)
            answer = await run(network, http_port)
            assert header(answer, "x-token") == ("*" * len(VALUE) if kind == "secret" else None)
        return asyncio.get_running_loop()

    loop = asyncio.run(main())
    assert loops == [loop, loop]


def test_a_value_for_each_request(http_port: int, new_session: Any) -> None:
    """The function of a secret is called for each request, and what it gave before is scrubbed too."""
    values = iter(["first-value", "second-value"])
    session = new_session(network=with_secret(http_port, lambda: next(values)))
    code = CODE.format(port=http_port).replace("/echo", "/echo?first-value,second-value")
    targets = [json.loads(session.execute(code).value)["target"] for _ in range(2)]
    assert targets == [
        "/echo?***********,second-value",
        "/echo?***********,************",
    ]


@pytest.mark.parametrize("is_asynchronous", [False, True], ids=["plain", "asynchronous"])
def test_a_function_that_fails(http_port: int, new_session: Any, *, is_asynchronous: bool) -> None:
    """A request is refused whose secret's function raises or returns no value, and the code learns nothing of its error."""

    def fail() -> str:
        raise ValueError(VALUE)

    async def fail_later() -> str:
        raise ValueError(VALUE)

    session = new_session(network=with_secret(http_port, fail_later if is_asynchronous else fail))
    error = session.run(CODE.format(port=http_port)).error
    assert error.type == "PermissionError"
    assert "the function of secret 'TOKEN' gave no value: ValueError" in error.message
    assert VALUE not in error.traceback
