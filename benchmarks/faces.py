"""What the faces cost beside a bare session: adapters of frameworks, the MCP server, the Jupyter kernel.

With PEER_PYTHON=/path/to/python in the environment, which has ipykernel, jupyter_client and `pyeryx[serve]`,
there are ratios; see measure.py. An adapter's own cost is the time of a step through it less that of the same
step in a bare session; the two take turns. Processor time is that of the client's process only where there is
a server.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from executors import executing, jupyter, starting
from measure import Row, Stopwatch, Task, main, pss

_WARM = 30
_KERNELS = 50

Step = Callable[[], object]


def own_cost(opened: Callable[[], tuple[Step, Step]]) -> Task:
    """A step through an adapter less the same step without."""

    def task(watch: Stopwatch, repeats: int) -> None:
        through, bare = opened()
        for _ in range(_WARM):
            through()
            bare()
        for _ in range(repeats):
            wall, cpu = time.perf_counter(), time.process_time()
            bare()
            between, cpu_between = time.perf_counter(), time.process_time()
            through()
            wall_after, cpu_after = time.perf_counter(), time.process_time()
            watch.record(wall_after - 2 * between + wall, cpu_after - 2 * cpu_between + cpu)

    return task


def bare_command(watch: Stopwatch, repeats: int) -> None:
    import planaria

    with planaria.Session() as session:
        for _ in range(_WARM):
            session.bash("echo hello")
        for _ in range(repeats):
            with watch:
                session.bash("echo hello")


def command_backend() -> tuple[Step, Step]:
    import planaria
    from planaria.integrations.command_backend import CommandBackend

    session = planaria.Session()
    backend = CommandBackend(session)
    command = ["echo", "hello"]
    return lambda: backend.run(command), lambda: session.bash("cd -- /home/user || exit\nexec echo hello")


def code_session() -> tuple[Step, Step]:
    import planaria
    from planaria.integrations.code_session import CodeSession

    code, session = CodeSession({}), planaria.Session()
    return lambda: code.run("x = 1"), lambda: session.run("x = 1")


def mcp_round_trip(*command: str) -> Task:
    """A call of `run_python`, which MCP servers of both have, over standard input and output."""

    def task(watch: Stopwatch, repeats: int) -> None:
        from mcp.client.client import Client
        from mcp.client.stdio import StdioServerParameters

        async def measure() -> None:
            server = StdioServerParameters(command=sys.executable, args=list(command), env=dict(os.environ))
            async with Client(server) as client:
                for _ in range(_WARM):
                    await client.call_tool("run_python", {"code": "print(1 + 1)"})
                for _ in range(repeats):
                    with watch:
                        await client.call_tool("run_python", {"code": "print(1 + 1)"})

        asyncio.run(measure())

    return task


@contextmanager
def kernel() -> Iterator[Callable[[str], object]]:
    """Our kernel in a process of its own, by the same client as the peer's."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import KernelManager

    from planaria.integrations.jupyter.kernelspec import kernelspec

    manager = KernelManager()
    manager._kernel_spec = KernelSpec(**kernelspec("planaria"))
    manager.start_kernel(stderr=subprocess.DEVNULL)
    client = manager.client()
    client.start_channels()
    found: list[Any] = []

    def execute(code: str) -> None:
        reply = client.execute_interactive(code, output_hook=found.append)
        assert reply["content"]["status"] == "ok"

    try:
        client.wait_for_ready(timeout=60)
        yield execute
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def kernels_in_a_process(watch: Stopwatch, repeats: int) -> None:
    """All the memory of a process with kernels that have executed something."""
    from jupyter_client.connect import write_connection_file

    from planaria import AsyncSession
    from planaria.integrations.jupyter.channels import Channels
    from planaria.integrations.jupyter.kernel import JupyterKernel
    from planaria.integrations.jupyter.wire import Connection

    async def measure() -> None:
        with tempfile.TemporaryDirectory() as directory:
            kernels = []
            for number in range(_KERNELS):
                file, _ = write_connection_file(os.path.join(directory, f"{number}.json"))
                kernels.append(JupyterKernel(Channels(Connection.read(Path(file))), AsyncSession))
            serving = [asyncio.create_task(one.serve()) for one in kernels]
            for one in kernels:
                await (await one.session()).run("x = list(range(100)); import json; text = json.dumps(x)")
            watch.record(pss())
            for one in kernels:
                one.stop()
            await asyncio.gather(*serving)

    asyncio.run(measure())


ROWS = [
    Row('`session.bash("echo hello")`', {"ours": bare_command}, repeats=100),
    Row(
        "a program through `CommandBackend` (pydantic-ai, deepagents, inspect_ai): its own cost",
        {"ours": own_cost(command_backend)},
        most=1e-3,
        repeats=100,
    ),
    Row(
        "a step through `CodeSession` (smolagents, DSPy): its own cost",
        {"ours": own_cost(code_session)},
        most=1e-3,
        repeats=200,
    ),
    Row(
        "MCP: `run_python` over stdio, round trip",
        {
            "ours": mcp_round_trip("-m", "planaria", "mcp"),
            "eryx serve": mcp_round_trip("-m", "eryx", "serve"),
        },
        most=5e-3,
        repeats=100,
    ),
    Row(
        "Jupyter: execution of `1 + 1`",
        {"ours": executing(kernel, "1 + 1"), "ipykernel": executing(jupyter, "1 + 1")},
        ratio=0.5,
        repeats=100,
    ),
    Row(
        "Jupyter: start of a kernel, up to its first result",
        {"ours": starting(kernel), "ipykernel": starting(jupyter)},
        most=0.5,
        repeats=3,
    ),
    Row(
        f"Jupyter: memory of a process with {_KERNELS} used kernels",
        {"ours": kernels_in_a_process},
        most=150e6,
        unit="bytes",
        repeats=1,
    ),
]

if __name__ == "__main__":
    main(__file__, ROWS, (__doc__ or "").splitlines()[0])
