"""A kernel in a process of its own, from its beginning to its end."""

from __future__ import annotations

import faulthandler
import importlib
import os
import signal
import sys
from typing import Any

from planaria_kernel import startup
from planaria_kernel.event_loop.native_loop import NativeLoop
from planaria_kernel.process import pickling
from planaria_kernel.process.channel import Channel, ForkOver, HostGone
from planaria_kernel.process.forwarder import forward
from planaria_kernel.process.limits import bound, die_with_host, end_with
from planaria_kernel.process.output import ChannelStreams, Reader, settle_before_others_write
from planaria_kernel.protocol import decode, encode

__all__ = ["main"]


def main() -> None:
    """Live as a kernel until the host closes the connection.

    Arguments of the process: the directory that this package was found in, and the descriptors to read from,
    to write to, and of the lifeline (0 for none). The host's first frame has the settings:

    - token: bytes to be sent back;
    - resources: {name of a limit in the module resource: number};
    - read_output: whether what is written to descriptors 1 and 2 has to go over the connection;
    - path: directories to import from before others;
    - forward: where the proxy of a container without a network is: a Unix socket, and the port of the
      loopback interface at which the code finds it;
    - watches: whether the end of the connection ends the process even when it is busy.
    """
    directory = sys.argv[1]
    source, sink, lifeline = map(int, sys.argv[2:5])
    del sys.argv[1:]
    # What cells import comes from the working directory first, as in every interactive Python.
    sys.path[:] = ["", *(entry for entry in sys.path if entry != directory)]
    if source == 0:
        source, sink = _out_of_the_way(source, sink)
    for descriptor in {source, sink}:
        os.set_inheritable(descriptor, False)
    channel = Channel(source, sink)
    settings = decode(channel.receive())
    sys.path[1:1] = settings.get("path", [])
    if settings.get("forward"):
        forward(*settings["forward"], close={1, 2, source, sink})
    if settings.get("watches"):
        end_with(source, sink)
    faulthandler.enable(os.dup(2))  # what the code does with descriptor 2 is its own matter
    reader = Reader(channel) if settings["read_output"] else None
    streams = ChannelStreams(channel, reader)
    kernel = startup.start(channel, streams=streams, loop_type=NativeLoop)
    channel.on_interrupt(kernel.on_interrupt)
    settle_before_others_write(streams.settle)
    os.register_at_fork(before=streams.settle, after_in_child=lambda: _leave(channel))
    kernel.add_command("leave_path", _leave_path)
    pickling.connect(kernel)
    kernel.keep_interpreter()
    if lifeline:
        die_with_host(lifeline)
    bound(settings["resources"])
    channel(b"A" + encode((settings["token"], tuple(sys.version_info[:3]), os.getpid())))
    while not channel.closed:
        try:
            kernel.enter()
        except HostGone:
            break
        except ForkOver as over:
            _end_of_fork(over.report)


def _out_of_the_way(source: int, sink: int) -> tuple[int, int]:
    """Descriptors for the connection, which came by the standard streams, other than those."""
    moved = os.dup(source), os.dup(sink)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    return moved


def _leave(channel: Channel) -> None:
    """In a child that the user's code has forked: it has neither host nor kernel."""
    channel.leave_to_parent()
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _end_of_fork(report: bytes) -> None:
    """End a forked child as a process of its own would end after the cell."""
    status = 0
    match decode(report):
        case ("error", dict(details)):
            status = 1 if details.get("exit_code") is None else int(details["exit_code"])
            if details.get("exit_code") is None:
                print(details.get("traceback") or details.get("message"), file=sys.stderr)
    sys.stderr.flush()
    os._exit(status & 0xFF)


def _leave_path(directory: str) -> tuple[str, Any]:
    """Import nothing from a directory any more."""
    sys.path[:] = [entry for entry in sys.path if entry != directory]
    importlib.invalidate_caches()
    return ("done", {})
