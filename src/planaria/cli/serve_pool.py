"""`planaria serve --pool`: several servers that share a store, behind one address."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import anyio
import click

from planaria.cli.listening import ENDS_WITH_STDIN, serve_at
from planaria.cli.serve import check_addressed

__all__ = ["ProcessServers", "RayServers", "serve_pool", "servers_of"]

_URL: Final = re.compile(rb"http://\S+")
#: Options that are the front's own, each with a value.
_OWN: Final = frozenset({"--pool", "--workers", "--host", "--port"})
#: Seconds that a server has to end.
_GRACE: Final = 30.0
#: Seconds within which the end of a process is noticed.
_NOTICED: Final = 1.0


def server_command(arguments: Sequence[str]) -> list[str]:
    """The command line of one of the servers, from that of the whole."""
    kept: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument in _OWN:
            next(rest)
        elif argument.partition("=")[0] not in _OWN:
            kept.append(argument)
    return [sys.executable, "-m", "planaria", *kept]


class ProcessServers:
    """Servers that are processes of this machine, at its loopback."""

    def __init__(self, command: Sequence[str], count: int) -> None:
        self.count = count
        self._command = [*command, "--port", "0"]
        self._running: dict[int, tuple[asyncio.subprocess.Process, str]] = {}
        self._locks = [asyncio.Lock() for _ in range(count)]

    async def url(self, number: int) -> str:
        async with self._locks[number]:
            found = self._running.get(number)
            if found is None or found[0].returncode is not None:
                found = self._running[number] = await self._started()
            return found[1]

    async def _started(self) -> tuple[asyncio.subprocess.Process, str]:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,  # closed by the system when this process ends
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, ENDS_WITH_STDIN: "1"},
        )
        assert process.stderr is not None
        line = await process.stderr.readline()
        url = _URL.search(line)
        if url is None:
            text = line + await process.stderr.read()
            raise ChildProcessError(f"a server did not start: {text.decode(errors='replace').strip()}")
        self._showing = asyncio.create_task(_show(process.stderr))
        return process, url[0].decode()

    async def lost(self, number: int) -> None:
        found = self._running.get(number)
        if found is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(found[0].wait(), _NOTICED)

    async def close(self) -> None:
        for process, _ in self._running.values():
            if process.returncode is None:
                process.terminate()
        for process, _ in self._running.values():
            try:
                await asyncio.wait_for(process.wait(), _GRACE)
            except TimeoutError:
                process.kill()
                await process.wait()


class RayServers:
    """Servers that actors of Ray run on the machines of its cluster, at their addresses there."""

    def __init__(self, command: Sequence[str], count: int | None) -> None:
        try:
            import ray  # type: ignore[import-not-found,import-untyped,unused-ignore]
        except ImportError as error:
            raise click.ClickException("--pool ray needs Ray: pip install 'planaria[ray]'") from error
        if not ray.is_initialized():
            ray.init()
        self._ray: Any = ray
        self.count = count or max(1, int(ray.cluster_resources().get("CPU", 1)))
        actor = ray.remote(_ServerActor).options(num_cpus=1, max_restarts=-1, max_task_retries=-1)
        # The program itself is the actor's Python.
        self._actors = [actor.remote(list(command[1:])) for _ in range(self.count)]

    async def url(self, number: int) -> str:
        try:
            url: str = await asyncio.wrap_future(self._actors[number].url.remote().future())
        except self._ray.exceptions.RayError as error:
            raise ChildProcessError(f"a server did not start: {error}") from None
        return url

    async def lost(self, number: int) -> None:
        await asyncio.sleep(_NOTICED)

    async def close(self) -> None:
        futures = [actor.end.remote().future() for actor in self._actors]
        await asyncio.gather(*(asyncio.wrap_future(one) for one in futures), return_exceptions=True)
        for actor in self._actors:
            self._ray.kill(actor)


class _ServerActor:
    """Keeps a server running on its machine. Ray runs an event loop for it, which also passes on its log."""

    def __init__(self, arguments: list[str]) -> None:
        host = socket.gethostbyname(socket.gethostname())
        self._servers = ProcessServers([sys.executable, *arguments, "--host", host], 1)

    async def url(self) -> str:
        return await self._servers.url(0)

    async def end(self) -> None:
        await self._servers.close()


async def _show(stream: asyncio.StreamReader) -> None:
    while line := await stream.readline():
        sys.stderr.buffer.write(line)
        sys.stderr.flush()


def servers_of(engine: str, arguments: Sequence[str], workers: int | None) -> ProcessServers | RayServers:
    """The servers of an engine by its name."""
    if engine == "ray":
        return RayServers(server_command(arguments), workers)
    return ProcessServers(server_command(arguments), workers or os.cpu_count() or 1)


def serve_pool(
    engine: str, workers: int | None, arguments: Sequence[str], options: Mapping[str, Any]
) -> None:
    """Serve until SIGINT or SIGTERM. `arguments` are those of the whole command line, read as `options`.

    Raises UsageError.
    """
    if options["store"] is None:
        raise click.UsageError("--pool needs --store, which its servers share")
    host, port = options["host"], options["port"]
    check_addressed(host, options["token"], options["tokens"])
    if host not in options["hosts"]:
        arguments = [*arguments, "--allow-host", host]
    try:
        import httpx  # noqa: F401 - what the front needs is looked for before anything starts
        import uvicorn  # noqa: F401

        from planaria.server.front import Front
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"this needs the package {error.name}: pip install 'planaria[server,http]'"
        ) from None

    async def run() -> None:
        servers = servers_of(engine, arguments, workers)
        front = Front(servers)
        try:
            await asyncio.gather(*(servers.url(number) for number in range(servers.count)))
            await serve_at(
                front,
                host,
                port,
                access_log=False,
                timeout_graceful_shutdown=5,
                server_header=False,
                date_header=False,
                timeout_keep_alive=75,
            )
        except OSError as error:
            raise click.ClickException(str(error)) from None
        finally:
            with anyio.CancelScope(shield=True):
                await front.close()

    anyio.run(run)
