"""The process that compiles: `python -P -m planaria.runtime.compiling_process NAME|FILE`.

It is one of its own, so that the memory it takes (1 GB and more) goes back to the system, an interrupt or a
kill leaves the caller alone, and the one for the full tier can have a low priority.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any, Final

from planaria.errors import RuntimeSetupError
from planaria.runtime.cache import CompileCache
from planaria.runtime.compiler import CompileRecipe, Tier, compile_into, named_recipe, tier_recipe
from planaria.runtime.prebuilt import take_prebuilt

__all__ = ["spawn"]

#: A niceness that leaves the processors to everybody else.
_LOWEST_PRIORITY: Final = 19


def spawn(recipe: CompileRecipe, cache: CompileCache, *, background: bool = False) -> subprocess.Popen[bytes]:
    """Start the compiling process. Its standard error says why when it exits with a status other than 0.

    With `background` it has the lowest priority, is out of reach of the terminal's Ctrl-C, writes to the
    entry's log, gives up at once when another process compiles the same, and ends with this process.
    """
    if not sys.executable:
        raise RuntimeSetupError("this Python does not know its executable; run `planaria setup` once instead")
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
    environment["PLANARIA_CACHE"] = str(cache.directory)
    # -P: the current directory must not get onto the path of modules.
    command = [
        sys.executable,
        "-P",
        "-m",
        __spec__.name if __name__ == "__main__" else __name__,
        recipe.argument,
    ]
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "env": environment}
    if not background:
        return subprocess.Popen(command, stderr=subprocess.PIPE, **options)
    options["stdin"] = subprocess.PIPE  # its end is how the process notices that this one has ended
    if sys.platform == "win32":
        options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.IDLE_PRIORITY_CLASS
    else:
        options["start_new_session"] = True
    log = os.open(cache.log_path(recipe.key), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        return subprocess.Popen([*command, "--background"], stderr=log, **options)
    finally:
        os.close(log)


def _end_with_parent() -> None:
    """Wait for the end of standard input, which the starting process holds open, and end this process.

    A compile does not return to Python before it is done, so no exception could end it. The partial file that
    is left is removed by the next compile.
    """
    while os.read(0, 4096):
        pass
    os._exit(130)


def main(arguments: Sequence[str]) -> int:
    """The compiling process; returns its exit status."""
    name, *flags = arguments
    background = "--background" in flags
    if background:
        threading.Thread(target=_end_with_parent, daemon=True).start()
        if hasattr(os, "nice"):
            os.nice(_LOWEST_PRIORITY)
    # A polite kill ends like Ctrl-C, so that the partial file goes.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    cache = CompileCache()
    try:
        recipe = named_recipe(name)
        if background and name == Tier.FULL.value:
            if take_prebuilt(Tier.FULL, cache):
                return 0
            # Two compiles at once would make the first, which a caller waits for, twice as slow.
            with cache.lock(tier_recipe(Tier.CORE).key):
                pass
        compile_into(cache, recipe, blocking=not background)
    except (RuntimeSetupError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
