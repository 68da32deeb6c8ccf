"""Building the plain image, from which all others begin: the interpreter is booted and the kernel loaded.

The clock stands still and random numbers have a fixed seed, so that the same recipe gives the same bytes on
every machine.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from planaria.errors import RuntimeSetupError
from planaria.executors.system_changes import changed
from planaria.files.layout import standard_layout
from planaria.limits import Guard, Stopped
from planaria.machine.booting import run_source, set_stack_limits
from planaria.machine.image import Addresses, Image, keep_image, make_immortal
from planaria.machine.machine import Machine
from planaria.machine.mailbox import put_command, take_report
from planaria.machine.recipe import SETTINGS, Recipe
from planaria.machine.wasi.clock import FrozenClock
from planaria.machine.wasi.held_output import find_buffer
from planaria.machine.wasi.held_text import find_text
from planaria.machine.wasi.random import SeededRandom
from planaria.machine.wasi.system import Wasi
from planaria.runtime import tiers
from planaria.runtime.artifact import artifact
from planaria.runtime.guest_files import ARCHIVE_PATH, GUEST_PATH, STANDARD_LIBRARY_PATH, library
from planaria_kernel.protocol import decode, encode
from planaria_kernel.protocol.commands import encode_answer, encode_answers
from planaria_kernel.sandbox.warmup import WARMING

__all__ = ["BUILD_TIME", "boot_image"]

#: When every image is built, in nanoseconds since the epoch: 2026-01-01 00:00 UTC.
BUILD_TIME: Final = 1_767_225_600 * 10**9

#: What every session does sooner or later, done before the capture, so that code is specialised by then and
#: the pages it writes to are not written again.
_CELLS: Final = ("x = 1", "x", "print(x)", "import asyncio", "await asyncio.sleep(0)")
_CALLS: Final = ("await call()", "await call('x', n=1)", "await asyncio.gather(call(), call())")
_SHELL: Final = "from planaria_kernel.sandbox.shell_warmup import warm_up; warm_up(4)"
#: Settings of the kernel, and what is run with them. Those of a session come last: code is specialised for
#: the names that there are beside Python's own.
_WARMING: Final = (
    ({**SETTINGS, "callbacks": [{"name": "call", "description": ""}]}, (*_CELLS, *_CALLS) * 12),
    (SETTINGS, (*_CELLS * 12, _SHELL)),
)

_BOOT: Final = """\
import sys
sys.path[:] = ["", {library!r}, {path!r}]
from planaria_kernel import own_builtins
own_builtins.install()
from planaria_kernel.sandbox import library
library.move({archive!r}, {library!r})
from planaria_kernel.shims import users
users.install()  # before pathlib, which looks for the module pwd when it is imported
import _host
from planaria_kernel.sandbox import boot
boot.start(_host.call, {modules!r})
"""


def _watch(machine: Machine, stream: int, address: int, held: bytes) -> bytes:
    """Look from now on at what a standard stream holds back; nothing where its buffer is not found."""
    positions = find_buffer(machine.memory, address, held)
    if positions is None:
        return b""
    output = machine.wasi.held
    output.watch(stream, positions)
    output.written(machine.memory, stream, len(held))
    return b"found"


def _watch_text(machine: Machine, stream: int, address: int, held: bytes) -> bytes:
    """Look from now on at what a text stream holds back, too; nothing where that is not found."""
    found = find_text(machine.memory, address, stream, held)
    if found is None:
        return b""
    output = machine.wasi.held
    output.watch_text(stream, found)
    output.take(machine.memory, stream)  # what the stream holds now is not for anyone to see
    return b"found"


def _warm(machine: Machine, entry: int, mailbox: int, warming: tuple[object, ...]) -> None:
    """Give the kernel a command, and answers to the calls that it makes meanwhile."""
    command = encode(warming)
    while True:
        put_command(machine.memory, mailbox, command)
        machine.enter(entry, Guard())
        report = take_report(machine.memory, mailbox)
        match None if report is None else decode(report):
            case ("done", _):
                return
            case ("waiting", list(calls), None, []):
                command = encode_answers([(call, True, {"x": 1}) for call, *_ in calls])
            case _:
                raise RuntimeSetupError(f"the guest does not work: {report!r}")


def boot_image(recipe: Recipe) -> Image:
    """Build the plain image: boot the interpreter, load the kernel, warm it up. Raises RuntimeSetupError."""
    reports: list[bytes] = []
    printed: list[bytes] = []

    def answer(request: bytes) -> bytes:
        if request[:1] == b"Z":
            make_immortal(machine.memory, request[1:])
        if request[:1] == b"F":
            return encode(changed(machine, files, decode(request[1:]), may_interrupt=False))
        if request[:1] == b"H":
            return _watch(machine, *decode(request[1:]))
        if request[:1] == b"T":
            return _watch_text(machine, *decode(request[1:]))
        if request[:1] == b"W":
            return encode_answer(("ok", {"x": 1}))
        reports.append(request)
        return b""

    # Times that stand still, also those of files.
    files = standard_layout(library=library(), clock=lambda: 0, random=bytes)
    wasi = Wasi(
        files,
        clock=FrozenClock(BUILD_TIME),
        random=SeededRandom(0),
        on_output=lambda _descriptor, data: printed.append(data),
    )
    machine = Machine(tiers.load(recipe.tier), wasi, answer)
    try:
        full = sorted({name.partition(".")[0] for name in artifact().full_modules})
        source = _BOOT.format(
            path=GUEST_PATH, archive=ARCHIVE_PATH, library=STANDARD_LIBRARY_PATH, modules=full
        )
        set_stack_limits(machine)
        run_source(machine, source)
        if not reports or reports[-1][:1] != b"B":
            text = b"".join(printed).decode("utf-8", "replace").strip()
            raise RuntimeSetupError(f"the guest did not boot:\n{text}")
        addresses = Addresses(*decode(reports[-1][1:]))
        assert addresses.mailbox is not None
        enter = partial(_warm, machine, addresses.entry, addresses.mailbox)
        for settings, cells in _WARMING:
            enter(("configure", settings))
            for cell in cells:
                enter(("begin", {"reseed": bytes(16)}, ("run", cell, 0, "full", WARMING)))
        enter(("clear",))
        machine.enter(addresses.settle, Guard())
        return keep_image(recipe, machine.capture(), addresses, system=wasi.state(), files=None)
    except Stopped as stopped:
        raise RuntimeSetupError(f"the guest did not boot: {stopped.message}") from stopped
    finally:
        machine.close()
        wasi.close()
