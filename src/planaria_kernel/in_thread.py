"""Start a kernel on a thread of a process that is not its own: it takes over nothing of the interpreter.

What `boot.py` puts where every module finds it (builtins, streams, the current event loop) only cells find
here; the caller sets up `sys.stdout` and `sys.stderr`.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Callable
from typing import Any

from planaria_kernel.event_loop.native_loop import NativeLoop
from planaria_kernel.execution.names import new_main
from planaria_kernel.execution.terminal import Terminal
from planaria_kernel.kernel import Kernel
from planaria_kernel.startup import leave

__all__ = ["start"]

#: Settings of the interpreter as a whole, which is the host's: as it is.
_THE_HOSTS = frozenset({"argv", "recursion_limit", "reseed"})


def start(call_host: Callable[[bytes], bytes], flush: Callable[[], None]) -> Kernel:
    """The kernel of the calling thread, ready for `enter`. `flush` is called before every report."""
    terminal = Terminal(call_host, flush, owns_streams=False)
    space: dict[str, Any] = {**vars(builtins), "input": terminal.input, "exit": leave, "quit": leave}

    def publish(old: dict[str, Any], new: dict[str, Any]) -> None:
        for name, value in old.items():
            if name not in new and space.get(name) is value:
                del space[name]
        space.update(new)

    kernel = Kernel(call_host, main=new_main(space), flush=flush, loop_type=NativeLoop)
    kernel.publish = publish
    kernel.configure = _configure
    publish({}, kernel.names)
    kernel.display.leave_open()
    asyncio.set_event_loop(kernel.loop)
    return kernel


def _configure(settings: dict[str, Any]) -> None:
    unknown = settings.keys() - _THE_HOSTS
    if unknown:
        raise ValueError(f"settings of the whole process, which is the host's: {', '.join(sorted(unknown))}")
