"""What the sandbox's Python lacks or does badly, emulated: applied once at boot, and only there.

Each module has an `install` and one subject. WebAssembly has no threads, no processes, no users and no
permission bits.
"""

from __future__ import annotations

from collections.abc import Callable

from planaria_kernel.execution.idle import Idle

__all__ = ["idle", "install", "run_pending"]


#: What `run_pending` calls, which imports nothing: code may have damaged the import system.
_write_back: Callable[[], object]
_run_threads: Callable[[], bool]


def install(call_host: Callable[[bytes], bytes]) -> None:
    """Apply every shim to this interpreter."""
    global _run_threads, _write_back
    from planaria_kernel.shims import (
        code_objects,
        dates,
        descriptors,
        directories,
        executors,
        integers,
        interaction,
        key_derivation,
        mapping,
        modes,
        network,
        notebooks,
        plotting,
        pools,
        processes,
        sizes,
        subprocesses,
        tables,
        threads,
        timers,
        users,
        walking,
        websockets,
    )

    code_objects.install()
    key_derivation.install()
    dates.install()
    descriptors.install()
    directories.install()
    sizes.install()
    users.install()
    walking.install()
    modes.install(call_host)
    mapping.install()
    timers.install(call_host)
    threads.install()
    network.install()
    notebooks.install()
    interaction.install()
    executors.install()
    pools.install()
    processes.install()
    plotting.install()
    tables.install()
    integers.install()
    subprocesses.install()
    websockets.install()
    _write_back, _run_threads = mapping.write_back, threads.run_pending


def idle() -> Idle:
    """What has to be done of these when a cell has nothing to do."""
    from planaria_kernel.shims import mapping, threads

    return Idle(run_pending, threads.queued, mapping.open_maps.data)  # type: ignore[attr-defined]


def run_pending() -> bool:
    """Write maps of files back and run the threads that are queued; whether there were any of these.

    For when a cell has nothing else to do.
    """
    _write_back()
    return _run_threads()
