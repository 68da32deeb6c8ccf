"""The network of a session whose code runs in a process or a container: reached by a proxy."""

from __future__ import annotations

import inspect
import os
import weakref
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING

from planaria.errors import Suspend
from planaria.event_loops import EventLoop, is_running_here, until_done
from planaria.executors.executor import Executor, ProxyPlace
from planaria.network.policy import Decision, Network, NetworkRequest
from planaria.session.network_link import NetworkLink
from planaria.session.worker_threads import callback_loop

if TYPE_CHECKING:
    from planaria.network.proxy import Proxy

__all__ = ["ProxiedNetworkLink"]


class ProxiedNetworkLink(NetworkLink):
    """A session's link to its network by a proxy, which runs on the event loop of asynchronous callbacks.

    `user_loop` gives the loop of the user's on which an asynchronous `on_request` runs, if there is one.
    """

    def __init__(self, policy: Network, user_loop: Callable[[], EventLoop | None]) -> None:
        super().__init__(_for_connections_that_wait(policy, user_loop))
        self._variables: dict[str, str] = {}
        self._release: Callable[[], object] | None = None

    def open_for(self, executor: Executor) -> None:
        if self._release is not None:
            return
        try:
            from planaria.network.proxy import Proxy
        except ImportError as error:
            needs = "needs cryptography: pip install 'planaria[proxy]'"
            raise ImportError(f"network= with the {executor.name} executor {needs}") from error
        assert executor.network_proxy is not None
        proxy, loop = Proxy(self._calls), callback_loop()
        port = loop.spawn(proxy.listen(executor.network_proxy)).result()
        self._release = weakref.finalize(self, _end, proxy, loop.spawn(proxy.serve()), os.getpid())
        place = executor.use_proxy(ProxyPlace(f"127.0.0.1:{port}" if port else "", str(proxy.directory)))
        self._variables = proxy.environment(place.address, place.directory)

    def settings(self, environment: object) -> dict[str, object]:
        variables = self._variables | self._calls.environment()
        return {"environ": variables | environment if isinstance(environment, dict) else variables}

    def release(self) -> None:
        self.close()
        if self._release is not None:
            self._release()

    def abandon(self) -> None:
        self._release = None


def _end(proxy: Proxy, serving: Future[None], owner: int) -> None:
    if os.getpid() == owner:  # a forked child has neither the loop nor the directory
        serving.cancel()
        proxy.remove()


def _for_connections_that_wait(policy: Network, user_loop: Callable[[], EventLoop | None]) -> Network:
    """The policy with an `on_request` that may be called on the proxy's loop.

    A program that waits for an answer cannot be suspended: a `Suspend` is a refusal.
    """
    ask = policy.on_request
    if ask is None:
        return policy

    async def decide(request: NetworkRequest) -> Decision:
        try:
            decision = ask(request)
            return await _result(decision, user_loop()) if inspect.isawaitable(decision) else decision
        except Suspend as suspend:
            return f"{suspend.reason}: only in the sandbox can a request wait for an answer"

    return replace(policy, on_request=decide)


async def _result(decision: Awaitable[Decision], loop: EventLoop | None) -> Decision:
    """What an awaitable gives that belongs to a loop, if to any."""
    if loop is None or is_running_here(loop):
        return await decision

    async def wait() -> Decision:
        return await decision

    future = loop.spawn(wait())
    await until_done(future)
    return future.result()
