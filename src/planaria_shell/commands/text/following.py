"""`tail -f`: print what is appended to files while others run."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator

from planaria_shell.commands.processes.durations import duration, pause
from planaria_shell.toolkit.invocation import Invocation
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.streams import BLOCK

__all__ = ["follow"]

#: Seconds between two looks at the files: others see a line about as soon as the kernel would tell of it.
_INTERVAL = 0.1


def follow(call: Invocation, names: list[str], *, headers: bool) -> Generator[None, None, None]:
    """Print what is appended to these files, until the process of `--pid` has ended or this one is stopped.

    It is an error where nothing else runs and no time limit ends the command. With `headers` the name of a
    file stands before its text when it is not the one that was last printed."""
    wanted = call.arguments.value("s")
    if wanted is not None and duration(wanted) is None:
        raise UsageError(f"invalid number of seconds: {quote(wanted)}", hint=False)
    changing = getattr(call.process, "others_may_run", None)
    if changing is None or not changing():
        call.complain("cannot follow a file: nothing else runs in this shell that could append to it")
        return
    watched = call.arguments.value("pid")
    alive: Callable[[int], bool] = call.process.is_running  # type: ignore[attr-defined]
    read: Callable[[], bool] = call.process.output_is_read  # type: ignore[attr-defined]
    places = {name: _size(call, name) for name in names}
    last = names[-1] if names else ""
    while True:
        call.stdout.flush()
        ended = watched is not None and watched.isdecimal() and not alive(int(watched))
        for name, place in places.items():
            size = _size(call, name)
            if size < place:
                if os.path.exists(call.process.path(name)):
                    call.error(f"{name}: file truncated")
                place = 0
            if size > place:
                if headers and name != last:
                    call.stdout.write(os.fsencode(f"\n==> {name} <==\n"))
                last = name
                yield from _print(call, name, place, size)
            places[name] = size
        if ended or not read():
            return
        yield from pause(call, _INTERVAL)


def _size(call: Invocation, name: str) -> int:
    try:
        return os.stat(call.process.path(name)).st_size
    except OSError:
        return 0


def _print(call: Invocation, name: str, start: int, end: int) -> Generator[None, None, None]:
    with open(call.process.path(name), "rb") as file:
        file.seek(start)
        while start < end and (piece := file.read(min(BLOCK, end - start))):
            start += len(piece)
            call.stdout.write(piece)
            if call.stdout.full:
                yield
