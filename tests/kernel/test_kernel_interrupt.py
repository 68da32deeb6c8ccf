"""KeyboardInterrupt at any line: of the user's code, of libraries, of the kernel itself."""

from __future__ import annotations

import _imp
import contextlib
import importlib
import signal
import sys
import threading
from types import CodeType, FrameType
from typing import Any

import pytest

from planaria_kernel.execution.interrupted_imports import must_finish

pytestmark = pytest.mark.slow

PLAIN = ["x = 1\ny = [x, 2]\ny"]
FAILING = ["import json\ndef f(): return json.loads('{')\nf()"]
SHOWING = [
    "class T:\n    def __repr__(self): return 't'\n    def _repr_html_(self): return '<b>'\n"
    "t = T()\ndisplay(t)\nt"
]
LOGGING = ["log = []\ntry:\n    for i in range(3): log.append(i)\nfinally:\n    log.append('end')\nlog"]
WAITING = [
    "import asyncio\nasync def g():\n    return await f(1)\n"
    "x = await asyncio.gather(g(), f(2), asyncio.sleep(0))\nx"
]
RUNNING = [
    "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    return await f(1)\n"
    "asyncio.run(main())"
]


class Injector:
    """Calls the kernel's handler of SIGINT at the n-th line that is run, each line counted once."""

    def __init__(self, host: Any, at: int) -> None:
        self.host = host
        self.left = at
        self.done = False
        self.seen: set[tuple[CodeType, int]] = set()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename == __file__ or frame.f_code.co_filename.endswith("conftest.py"):
            return self
        place = (frame.f_code, frame.f_lineno)
        if event == "line" and not self.done and place not in self.seen:
            self.seen.add(place)
            self.left -= 1
            if self.left < 0:
                self.done = True
                self.host.kernel.on_interrupt(signal.SIGINT, frame)
        return self


def life(host: Any, sources: list[str], at: int) -> tuple[bool, list[tuple[Any, ...]]]:
    """Run cells with an interrupt at one line; whether the line was reached, and the reports."""
    injector = Injector(host, at)
    before = len(host.reports)
    old = sys.gettrace()
    sys.settrace(injector)
    try:
        for source in sources:
            report = host.run(source)
            while report[0] == "waiting":
                report = host.send("resume", [(call[0], True, call[0]) for call in report[1]])
    finally:
        sys.settrace(old)
    return injector.done, host.reports[before:]


@pytest.mark.filterwarnings("ignore")  # what an interrupt leaves unawaited or unclosed is said as warnings
@pytest.mark.parametrize("sources", [PLAIN, FAILING, SHOWING, LOGGING, WAITING, RUNNING])
def test_interrupt_at_every_line(host: Any, sources: list[str]) -> None:
    """Whichever line an interrupt hits, there is one report for each entry and the kernel stays usable."""
    host.declare("f")
    at = 0
    interrupted = 0
    while True:
        reached, reports = life(host, sources, at)
        if not reached:
            break
        assert reports[-1][0] in ("done", "error")
        interrupted += reports[-1][0] == "error" and reports[-1][1]["type"] == "KeyboardInterrupt"
        assert host.value("1 + 1") == 2
        at += 1
    assert at > 10
    assert interrupted > 0


def test_interrupt_of_a_busy_cell(host: Any) -> None:
    """A real signal stops an endless loop at its line; what it had done is there."""
    old = signal.signal(signal.SIGINT, host.kernel.on_interrupt)
    timer = threading.Timer(0.05, signal.raise_signal, (signal.SIGINT,))
    try:
        # The handler runs in the main thread only, so the signal has to be sent to the process.
        import os

        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        error = host.error("n = 0\nwhile True:\n    n += 1")
    finally:
        timer.join()
        signal.signal(signal.SIGINT, old)
    assert error["type"] == "KeyboardInterrupt"
    assert error["lineno"] in (2, 3)
    assert host.value("n > 0") is True


def test_interrupt_when_nothing_runs(host: Any) -> None:
    """An interrupt that comes too late changes nothing."""
    host.kernel.on_interrupt(signal.SIGINT, sys._getframe())
    assert host.value("1") == 1


def test_interrupt_can_be_caught(host: Any) -> None:
    """User code may catch the interrupt; it is raised again the next time."""
    source = (
        "import os, signal\n"
        "try:\n    os.kill(os.getpid(), signal.SIGINT)\n    for i in range(1000): pass\n"
        "except KeyboardInterrupt: c = 1\nc"
    )
    old = signal.signal(signal.SIGINT, host.kernel.on_interrupt)
    try:
        assert host.value(source) == 1
        assert host.value(source) == 1
    finally:
        signal.signal(signal.SIGINT, old)


def test_interrupt_of_a_task_beside(host: Any) -> None:
    """An interrupt that hits a task beside the waiting cell ends the cell."""
    source = (
        "import asyncio, os, signal\nasync def busy():\n    os.kill(os.getpid(), signal.SIGINT)\n"
        "    while True: pass\nt = asyncio.create_task(busy())\nawait asyncio.sleep(9)"
    )
    old = signal.signal(signal.SIGINT, host.kernel.on_interrupt)
    try:
        error = host.error(source)
    finally:
        signal.signal(signal.SIGINT, old)
    assert (error["type"], error["lineno"]) == ("KeyboardInterrupt", 6)


@pytest.mark.parametrize("failure", [MemoryError, RecursionError, OSError])
def test_failure_while_reporting(
    host: Any, monkeypatch: pytest.MonkeyPatch, failure: type[Exception]
) -> None:
    """When the report itself fails, a shorter one is given."""

    def fail(error: BaseException) -> dict[str, Any]:
        raise failure

    monkeypatch.setattr("planaria_kernel.execution.error_reports.describe", fail)
    error = host.error("1/0")
    assert (error["type"], error["message"]) == ("ZeroDivisionError", "")


def test_failure_of_the_streams(host: Any) -> None:
    """When output cannot be written out, the report says so instead of being lost."""

    def fail() -> None:
        raise OSError("no space")

    host.kernel._flush = fail
    assert host.run("1")[1]["type"] == "OSError"


def test_small_recursion_limit(host: Any) -> None:
    """A recursion limit so small that nothing works is reported and does not end the kernel."""
    import inspect

    limit = sys.getrecursionlimit()
    try:
        error = host.run(
            f"import sys\nsys.setrecursionlimit({len(inspect.stack()) + 12})\ndef f(n): return f(n + 1)\nf(0)"
        )
        assert error[0] == "error"
    finally:
        sys.setrecursionlimit(limit)
    assert host.value("1") == 1


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("import asyncio\nwhile True: ready.set(); await asyncio.sleep(0)", "KeyboardInterrupt"),
        (
            "import asyncio\nasync def m():\n    while True: ready.set(); await asyncio.sleep(0)\nasyncio.run(m())",
            "KeyboardInterrupt",
        ),
        ("class A:\n    def __repr__(self):\n        while True: ready.set()\nA()", "KeyboardInterrupt"),
        ("class B(Exception):\n    def __str__(self):\n        while True: ready.set()\nraise B", "B"),
        ("class C:\n    def _repr_html_(self):\n        while True: ready.set()\nC()", "KeyboardInterrupt"),
    ],
)
def test_one_interrupt_ends_what_does_not_end(host: Any, source: str, kind: str) -> None:
    """What does not end is stopped by one interrupt, wherever that hits, and is not tried again."""
    import os

    old = signal.signal(signal.SIGINT, host.kernel.on_interrupt)
    ready, over = threading.Event(), threading.Event()
    host.main.__dict__["ready"] = ready

    def interrupt() -> None:
        ready.wait(30)
        reported = -1
        while reported < host.dropped and not over.wait(0.02):  # once more when it hit no code of the user's
            reported = host.dropped
            os.kill(os.getpid(), signal.SIGINT)
            over.wait(0.1)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        assert host.error(source)["type"] == kind
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGINT, old)


def test_the_import_system_finishes() -> None:
    """An interrupt waits for the import system's own steps and for the initialisation of a native module."""
    frames: list[FrameType | None] = []

    class Finder:
        def find_spec(self, *arguments: Any) -> None:
            frames.append(sys._getframe())

    finder: Any = Finder()
    sys.meta_path.insert(0, finder)
    try:
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("planaria_no_such_module")
    finally:
        sys.meta_path.remove(finder)
    (mine,) = frames
    assert mine is not None
    assert mine.f_back is not None
    assert not must_finish(mine, True)
    assert must_finish(mine.f_back, True)
    assert not must_finish(mine.f_back, False)

    class Spec:
        @property
        def name(self) -> str:
            frames.append(sys._getframe())
            return "planaria_no_such_module"

    with contextlib.suppress(Exception):
        importlib._bootstrap._call_with_frames_removed(_imp.create_builtin, Spec())  # type: ignore[attr-defined]
    native = frames[-1]
    assert native is not None
    assert native.f_back is not None
    assert must_finish(native.f_back, False)
