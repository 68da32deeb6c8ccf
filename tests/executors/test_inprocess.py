"""The kernel on a thread of the host's process."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

import planaria
from planaria import InProcessExecutor, Limits, Session, TimeoutError


@pytest.fixture
def here() -> Iterator[Session]:
    with Session(executor=InProcessExecutor()) as session:
        yield session


def test_the_host_goes_on_printing(here: Session, capsys: pytest.CaptureFixture[str]) -> None:
    """Other threads of the host print to its own streams while an execution is captured."""
    inside, done = threading.Event(), threading.Event()

    def enter() -> None:
        inside.set()
        done.wait(10)

    with Session(executor=InProcessExecutor(), callbacks=[enter]) as session:
        results: list[planaria.Result] = []
        thread = threading.Thread(
            target=lambda: results.append(session.run("print('guest 1')\nenter.call()\nprint('guest 2')"))
        )
        thread.start()
        inside.wait(10)
        print("host")
        done.set()
        thread.join()
    assert results[0].stdout == "guest 1\nguest 2\n"
    assert capsys.readouterr().out == "host\n"


def test_a_callback_prints_to_the_host(capsys: pytest.CaptureFixture[str]) -> None:
    """What a callback prints is the host's, not the code's."""
    with Session(
        executor=InProcessExecutor(), callbacks=[{"name": "say", "fn": lambda: print("host")}]
    ) as session:
        result = session.execute("await say()\nsay.call()\nprint('guest')")
    assert result.stdout == "guest\n"
    assert capsys.readouterr().out == "host\nhost\n"


def test_libraries_and_threads_of_asyncio_are_captured(here: Session) -> None:
    """What a library prints, and a function in asyncio.to_thread, belongs to the execution."""
    result = here.execute(
        "import asyncio, pprint\npprint.pprint([1])\nawait asyncio.to_thread(print, 'there')"
    )
    assert result.stdout == "[1]\nthere\n"


def test_a_stream_put_in_place_meanwhile_stays(here: Session) -> None:
    """A host that puts another stream in place while an execution runs finds it there afterwards."""
    original, mine = sys.stdout, io.StringIO()
    try:
        with Session(
            executor=InProcessExecutor(),
            callbacks=[{"name": "put", "fn": lambda: setattr(sys, "stdout", mine)}],
        ) as session:
            session.execute("await put()")
        assert sys.stdout is mine
    finally:
        sys.stdout = original


def test_code_that_cannot_be_stopped(here: Session) -> None:
    """Code that ignores the interrupt is reported as still running; its output is dropped and the session works."""
    with Session(executor=InProcessExecutor(), limits=Limits(grace=0.2)) as session:
        session.execute("x = 1")
        result = session.run("import time\ntime.sleep(1.5)\nprint('late')", timeout=0.2)
        assert isinstance(result.error, TimeoutError)
        assert result.error.state == "lost"
        assert "cannot kill it" in str(result.error)
        assert "NameError" in str(session.run("x").error)
        assert session.run("import time\ntime.sleep(1.6)\nprint('mine')").stdout == "mine\n"


def test_processor_time_is_bounded() -> None:
    """The limit of processor time holds for the kernel's own thread."""
    with Session(executor=InProcessExecutor(), limits=Limits(cpu_time=0.2)) as session:
        result = session.run("while True: pass")
        assert isinstance(result.error, planaria.LimitError)
        assert result.error.limit == "cpu_time"


def test_the_process_is_left_alone(here: Session) -> None:
    """Names, random numbers, the main module and builtins of the host are as they were."""
    import builtins
    import random

    random.seed(5)
    expected = random.random()
    random.seed(5)
    main, names = sys.modules["__main__"], set(vars(builtins))
    with Session(executor=InProcessExecutor(), callbacks=[{"name": "extra", "fn": lambda: 1}]) as session:
        assert session.execute("display(1)\n__name__").value == "__main__"
        assert sys.modules["__main__"] is main
        assert set(vars(builtins)) == names
    assert random.random() == expected


def test_what_belongs_to_the_process_is_refused() -> None:
    """env=, argv=, seed= and what belongs to the sandbox are refused by name."""
    for arguments in (
        {"env": {"A": "b"}},
        {"argv": ["x"]},
        {"seed": 1},
        {"image": "x"},
        {"mounts": [planaria.Mount(".", "/m")]},
    ):
        with pytest.raises(TypeError, match=next(iter(arguments))):
            Session(executor=InProcessExecutor(), **arguments)


def test_sockets_work_in_awaits(here: Session) -> None:
    """Awaits of sockets, processes and threads run beside host calls and timers."""
    code = """
import asyncio
async def echo(reader, writer):
    writer.write(await reader.read(100)); await writer.drain(); writer.close()
server = await asyncio.start_server(echo, "127.0.0.1", 0)
reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
writer.write(b"over there"); await writer.drain()
got, slept, _ = await asyncio.gather(reader.read(100), asyncio.sleep(0.05, "slept"), asyncio.to_thread(int))
writer.close(); server.close()
got, slept
"""
    assert here.execute(code).value == (b"over there", "slept")


def test_figures_of_the_host_stay_open(here: Session) -> None:
    """A figure that the host has open is neither shown nor closed by an execution, those of the code are."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    mine = pyplot.figure()
    try:
        result = here.execute("import matplotlib.pyplot as plt\nplt.figure()\nplt.plot([1, 2]);")
        assert [sorted(output.data)[0] for output in result.outputs] == ["image/png"]
        assert pyplot.get_fignums() == [mine.number]
    finally:
        pyplot.close(mine)


def test_ctrl_c(here: Session) -> None:
    """Ctrl-C while an execution runs interrupts the code, and then the host."""
    import os
    import signal

    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        here.run("n = 1\nwhile True: pass")
    timer.join()
    assert here.execute("n").value == 1


def test_a_busy_caller_is_timed_out(here: Session) -> None:
    """Code that calls the host without pause is timed out all the same."""
    tick: Callable[[], None] = lambda: None  # noqa: E731
    with Session(executor=InProcessExecutor(), callbacks=[{"name": "tick", "fn": tick}]) as session:
        result = session.run("while True: tick.call()", timeout=0.3)
        assert isinstance(result.error, TimeoutError)
        assert session.execute("2").value == 2
