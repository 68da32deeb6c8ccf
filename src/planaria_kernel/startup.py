"""Start a kernel in a process or sandbox of its own: takes over streams, input, signals and asyncio."""

from __future__ import annotations

import asyncio
import builtins
import getpass
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from planaria_kernel import shims
from planaria_kernel.event_loop.loop import Loop, ParkingLoop
from planaria_kernel.execution import figures
from planaria_kernel.execution.error_reports import report_unraisable
from planaria_kernel.execution.streams import Streams, flushing_write
from planaria_kernel.execution.terminal import Terminal
from planaria_kernel.execution.trampolines import place_of
from planaria_kernel.kernel import Kernel
from planaria_kernel.network import link
from planaria_kernel.shims import timers

__all__ = ["leave", "start"]


def start(
    call_host: Callable[[bytes], bytes],
    *,
    sandbox: bool = False,
    streams: Streams | None = None,
    loop_type: type[ParkingLoop] = Loop,
) -> Kernel:
    """The kernel of this interpreter, ready for `enter`; with `sandbox`, the shims are applied first.

    `streams` are its standard streams, if not those over descriptors 1 and 2.

    It changes the interpreter as a whole (standard streams, SIGINT, `__main__`, builtins), so there is one
    of them.
    """
    if sandbox:
        shims.install(call_host)
    streams = streams or Streams()
    sys.stdout, sys.stderr = streams.stdout, streams.stderr
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr  # type: ignore[misc]
    os.write = flushing_write(streams.settle)
    terminal = Terminal(call_host, streams.flush, descriptor=0 if sandbox else None)
    sys.stdin = sys.__stdin__ = terminal  # type: ignore[misc,assignment]
    builtins.input = terminal.input
    getpass.getpass = terminal.getpass
    builtins.exit = builtins.quit = leave  # type: ignore[assignment]

    idle = shims.idle() if sandbox else None
    kernel = Kernel(call_host, flush=streams.flush, loop_type=loop_type, idle=idle, asks=sandbox)
    sys.modules["__main__"] = kernel.main
    kernel.publish = publish = partial(_publish, kernel.main.__dict__)
    kernel.configure = _configure
    publish({}, kernel.names)
    sys.displayhook = kernel.displayhook
    sys.unraisablehook = report_unraisable
    sys.meta_path.insert(0, kernel.imports)
    os.environ["MPLBACKEND"] = figures.BACKEND
    figures.connect(kernel.display.show_figure)
    asyncio.set_event_loop(kernel.loop)
    asyncio.new_event_loop = asyncio.events.new_event_loop = kernel.new_loop
    _keep_event_loop(kernel)
    signal.signal(signal.SIGINT, kernel.on_interrupt)
    if sandbox:
        timers.connect(lambda frame: place_of(frame) == "user")
    return kernel


class _Leave:
    """End the execution with a status; the session stays."""

    def __call__(self, code: Any = None, /) -> None:
        raise SystemExit(code)

    def __repr__(self) -> str:
        return "Use exit() or Ctrl-D (i.e. EOF) to exit"


leave = _Leave()


#: Python's own builtins, which the kernel, the shell and libraries use.
_PYTHONS = frozenset(vars(builtins))


def _publish(space: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> None:
    """Put the kernel's names where every cell and module finds them, and remove those that are gone.

    A name of Python's own (a callback named `print`) goes into `space`, the namespace of the cells, so that
    whatever else runs in this interpreter keeps the builtin.
    """
    for name, value in old.items():
        place = space if name in _PYTHONS else vars(builtins)
        if name not in new and place.get(name) is value:
            del place[name]
    for name, value in new.items():
        place = space if name in _PYTHONS else vars(builtins)
        place[name] = value


def _keep_event_loop(kernel: Kernel) -> None:
    """Make the kernel's loop the current one again after every asyncio.run, which leaves none."""
    close = asyncio.Runner.close

    def close_and_set(runner: asyncio.Runner) -> None:
        close(runner)
        asyncio.set_event_loop(kernel.loop)

    asyncio.Runner.close = close_and_set  # type: ignore[method-assign,assignment]


def _configure(settings: dict[str, Any]) -> None:
    """Apply the settings that concern the interpreter: argv, environ, seed, reseed,
    network, recursion_limit."""
    for name, value in settings.items():
        if name == "environ":
            for variable, text in value.items():
                if text is None:
                    os.environ.pop(variable, None)
                else:
                    os.environ[variable] = text
        elif name == "argv":
            sys.argv[:] = value
        elif name == "seed" or name == "reseed":
            if value is not None:
                _seed(value)
        elif name == "network":
            link.enable(value)
        elif name == "recursion_limit":
            sys.setrecursionlimit(value)
        else:
            raise ValueError(f"unknown setting {name!r}")


def _seed(seed: int | bytes) -> None:
    """Seed every generator that is already there; those of an image would give all sessions the same
    numbers.
    """
    number = seed if isinstance(seed, int) else int.from_bytes(seed, "little")
    if "random" in sys.modules:
        sys.modules["random"].seed(number)  # of bytes it would take a hash
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(number % (1 << 32))
    if "tempfile" in sys.modules:
        vars(sys.modules["tempfile"])["_name_sequence"] = None
