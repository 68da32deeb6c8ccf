"""Top-level await, tasks, timers and asyncio.run: what parks, what blocks, and what asyncio promises."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest


@pytest.fixture
def loops(host: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The host, with the kernel's loops in place of asyncio's, as in the sandbox."""
    monkeypatch.setattr(asyncio, "new_event_loop", host.kernel.new_loop)
    monkeypatch.setattr(asyncio.events, "new_event_loop", host.kernel.new_loop)
    asyncio.set_event_loop(host.kernel.loop)
    yield host
    asyncio.set_event_loop(None)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("import asyncio\nawait asyncio.sleep(0, 5)", 5),
        ("x = await asyncio.sleep(0.001, 6)\nx", 6),
        ("await asyncio.gather(*(asyncio.sleep(0.001, i) for i in range(3)))", [0, 1, 2]),
        ("async with asyncio.timeout(5):\n    y = 1\ny", 1),
        ("[x async for x in agen()]", [0, 1, 2]),
        ("async for x in agen(): pass\nx", 2),
        ("await asyncio.wait_for(asyncio.sleep(0.001, 7), 5)", 7),
        ("asyncio.current_task() is not None and await asyncio.sleep(0, True)", True),
        ("await asyncio.to_thread(pow, 2, 3)", 8),
        ("await asyncio.get_running_loop().run_in_executor(None, pow, 2, 4)", 16),
        (
            "async with asyncio.TaskGroup() as g:\n    a = g.create_task(asyncio.sleep(0.001, 1))\n"
            "    b = g.create_task(asyncio.sleep(0, 2))\na.result() + b.result()",
            3,
        ),
        (
            "q = asyncio.Queue(1)\nasync def put():\n    for i in range(5): await q.put(i)\n"
            "t = asyncio.create_task(put())\n[await q.get() for _ in range(5)]",
            [0, 1, 2, 3, 4],
        ),
        (
            "lock = asyncio.Lock(); order = []\n"
            "async def use(n):\n    async with lock:\n        order.append(n)\n"
            "        await asyncio.sleep(0)\nawait asyncio.gather(use(1), use(2))\norder",
            [1, 2],
        ),
        (
            "e = asyncio.Event()\nasyncio.get_running_loop().call_soon_threadsafe(e.set)\nawait e.wait()",
            True,
        ),
    ],
)
def test_awaiting(host: Any, source: str, value: Any) -> None:
    """asyncio's own tools work at the top level of a cell."""
    host.run(
        "import asyncio\n"
        "async def agen():\n    for i in range(3):\n        await asyncio.sleep(0)\n        yield i"
    )
    assert host.value_of(host.finish(host.run(source))) == value


def test_parking(host: Any) -> None:
    """A cell that awaits host calls reports the new ones once, with the time of the next timer."""
    host.declare("f")
    report = host.run("import asyncio\nawait asyncio.gather(f(1), f(2, k=3), asyncio.sleep(9))")
    kind, calls, timer, _given_up = report
    assert (kind, calls) == ("waiting", [(1, "f", (1,), {}), (2, "f", (2,), {"k": 3})])
    assert 8 < timer <= 9
    assert host.send("resume", [(1, True, "a")])[:2] == ("waiting", [])
    report = host.send("resume", [(2, False, ("ValueError", "no"))])
    assert (report[0], report[1]["type"], report[1]["message"]) == ("error", "ValueError", "no")


def test_many_round_trips(host: Any) -> None:
    """A loop of awaited calls gets each answer in its turn."""
    host.declare("f")
    report = host.run("total = 0\nfor i in range(100): total += await f(i)\ntotal")
    assert host.value_of(host.finish(report, f=lambda i: 2 * i)) == 9900


def test_timeout_of_a_call(host: Any) -> None:
    """A call that is abandoned does not disturb what comes after, even when its answer comes late."""
    host.declare("f")
    now = 100.0
    host.kernel.loop.time = lambda: now
    report = host.run(
        "import asyncio\ntry: await asyncio.wait_for(f(), 1)\nexcept TimeoutError: r = 'late'\nr"
    )
    assert report[1:3] == ([(1, "f", (), {})], 1)
    now += 2
    assert host.value_of(host.send("resume", [])) == "late"
    assert host.send("resume", [(1, True, 5)]) == ("done", {})
    assert host.value("r") == "late"


def test_tasks_live_across_cells(host: Any) -> None:
    """A task begun in one cell goes on while a later one waits; what it called is sent before its cell ends."""
    host.declare("f")
    report = host.run(
        "import asyncio\nasync def work():\n    return await f('w') + 1\n"
        "t = asyncio.create_task(work())\nawait asyncio.sleep(0)"
    )
    assert report[1:3] == ([(1, "f", ("w",), {})], 0.0)
    assert host.send("resume", []) == ("done", {})
    assert host.run("await t")[1] == []
    assert host.value_of(host.send("resume", [(1, True, 41)])) == 42


def test_create_task_without_await(host: Any) -> None:
    """A cell may create a task without awaiting anything; it runs when a later cell waits."""
    host.run("import asyncio\nlog = []\nasync def work(): log.append(await asyncio.sleep(0, 1))")
    assert host.value("t = asyncio.create_task(work())\nlog") == []
    assert host.value_of(host.finish(host.run("await t\nlog"))) == [1]


def test_create_task_of_a_call(host: Any) -> None:
    """A host call is a coroutine: it can be made a task."""
    host.declare("f")
    report = host.run("import asyncio\nt = asyncio.create_task(f(1))\nawait t")
    assert host.value_of(host.finish(report, f=lambda x: x)) == 1


def test_calls_given_up(host: Any) -> None:
    """The report names the calls that the host knows and that are awaited no longer, each once."""
    host.declare("f")
    report = host.run(
        "import asyncio\n"
        "async def quick():\n    await f('quick')\n    raise ValueError\n"
        "try:\n    async with asyncio.TaskGroup() as group:\n"
        "        group.create_task(f('slow'))\n        group.create_task(quick())\n"
        "except* ValueError: pass\n"
        "await f('after')"
    )
    assert [call[0] for call in report[1]] == [1, 2]
    report = host.send("resume", [(2, True, None)])
    assert (report[1], report[3]) == ([(3, "f", ("after",), {})], [1])
    assert host.send("resume", [(3, True, None)]) == ("done", {})


def test_calls_given_up_at_the_end(host: Any) -> None:
    """A call abandoned when the cell ends is named in the last report; one that the host does not know is not named at all."""
    host.declare("f")
    report = host.run(
        "import asyncio\ntask = asyncio.create_task(f(1))\nawait asyncio.sleep(0.5)\n"
        "task.cancel()\nawait asyncio.wait([task])\nx = f(2).send(None)"
    )
    assert report[3] == []
    assert host.finish(("waiting", [], 0.01, []))[1]["given_up"] == [1]
    assert host.run("await asyncio.sleep(9)")[3] == []


def test_waiting_forever(host: Any) -> None:
    """A cell that nothing can wake is ended with an error that says so."""
    error = host.run("import asyncio\nawait asyncio.Event().wait()")[1]
    assert (error["type"], error["lineno"]) == ("RuntimeError", 2)
    assert "forever" in error["message"]
    assert host.value("1") == 1


@pytest.mark.parametrize("name", ["KeyboardInterrupt", "TimeoutError"])
def test_cancel(host: Any, name: str) -> None:
    """A waiting cell that is cancelled ends with the given exception at its await, after its finally
    clauses.
    """
    host.run("import asyncio\nlog = []")
    assert host.run("try:\n    await asyncio.sleep(9)\nfinally:\n    log.append(1)")[0] == "waiting"
    error = host.send("cancel", name, "why")[1]
    assert (error["type"], error["message"]) == (name, "why")
    assert "await asyncio.sleep(9)" in error["traceback"]
    assert host.value("log") == [1]


def test_cancel_reaches_children(host: Any) -> None:
    """Cancelling a cell cancels what it gathered."""
    host.run(
        "import asyncio\nlog = []\n"
        "async def child():\n    try: await asyncio.sleep(9)\n    finally: log.append(1)"
    )
    host.run("await asyncio.gather(child(), child())")
    host.send("cancel", "KeyboardInterrupt", "")
    assert host.value("log") == [1, 1]


def test_misuse(host: Any) -> None:
    """Resuming what does not wait, and running while something waits, are error reports that change
    nothing.
    """
    assert host.send("resume", [])[0] == "error"
    assert host.send("cancel", "KeyboardInterrupt", "")[0] == "error"
    assert host.run("import asyncio\nx = await asyncio.sleep(0.001, 3)\nx")[0] == "waiting"
    assert "waiting" in host.run("y = 1")[1]["message"]
    assert host.value_of(host.finish(("waiting", [], 0.01, []))) == 3


def test_context_variables_persist(host: Any) -> None:
    """A context variable set by one cell is set in the next, with and without await."""
    host.run("import contextvars, asyncio\nv = contextvars.ContextVar('v')\nv.set(1)")
    assert host.value("v.get()") == 1
    assert host.value_of(host.run("v.set(2)\nawait asyncio.sleep(0)\nv.get()")) == 2
    assert host.value("v.get()") == 2


MAIN = """
import asyncio
async def main(n=1):
    a, b = await asyncio.gather(f(n), f(n + 1))
    await asyncio.sleep(0.001)
    return a + b
"""


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("asyncio.run(main())", 30),
        ("x = asyncio.run(main())\nx + 1", 31),
        ("if __name__ == '__main__':\n    x = asyncio.run(main())\nx", 30),
        ("[asyncio.run(main()), asyncio.run(main(2))]", [30, 50]),
        ("from asyncio import run\nrun(main())", 30),
        ("loop = asyncio.new_event_loop()\nx = loop.run_until_complete(main())\nloop.close()\nx", 30),
        ("asyncio.get_event_loop().run_until_complete(main())", 30),
        ("x = await main()\ny = asyncio.run(main(2))\nx + y", 80),
        ("asyncio.run(main(), debug=False)", 30),
        ("[asyncio.run(main(n)) for n in (1, 2)]", [30, 50]),
        ("print(x := asyncio.run(main()))\nx", 30),
    ],
)
def test_run_at_the_top_parks(loops: Any, source: str, value: Any) -> None:
    """asyncio.run and run_until_complete at the top level of a cell park while they wait for the host."""
    loops.declare("f")
    loops.run(MAIN)
    report = loops.run(source)
    assert report[0] == "waiting"
    assert loops.value_of(loops.finish(report, f=lambda n: 10 * n)) == value


def test_run_many_times(loops: Any) -> None:
    """A cell may call asyncio.run any number of times."""
    loops.run("import asyncio\nasync def one(): return 1")
    assert loops.value("n = 0\nfor _ in range(600): n += asyncio.run(one())\nn") == 600


def test_run_deep_inside_blocks(loops: Any) -> None:
    """asyncio.run inside a plain function works too, by calls that block."""
    loops.declare("f")
    loops.functions["f"] = lambda n: 10 * n
    loops.run(MAIN)
    assert loops.value("def g(): return asyncio.run(main())\ng()") == 30


def test_run_deep_inside_waits_forever(loops: Any) -> None:
    """A blocking loop that nothing can wake raises instead of hanging."""
    error = loops.error(
        "import asyncio\nasync def main(): await asyncio.Event().wait()\n(lambda: asyncio.run(main()))()"
    )
    assert "forever" in error["message"]


def test_run_semantics(loops: Any) -> None:
    """asyncio.run at the top level cancels what is left, closes generators, and passes exceptions on."""
    loops.run(
        "import asyncio\nlog = []\n"
        "async def child():\n    try: await asyncio.sleep(9)\n    finally: log.append('child')\n"
        "async def main():\n    asyncio.create_task(child())\n    await asyncio.sleep(0)\n"
        "    return asyncio.get_running_loop()"
    )
    loops.value("loop = asyncio.run(main())\n0")
    assert loops.value("log, loop.is_closed(), asyncio._get_running_loop()") == (["child"], True, None)
    error = loops.error("async def bad(): 1/0\nasyncio.run(bad())")
    assert error["type"] == "ZeroDivisionError"
    assert "in bad\n" in error["traceback"]
    assert loops.error("asyncio.run(5)")["type"] in ("ValueError", "TypeError")
    assert (
        loops.value(
            "async def caught():\n    await bad()\ntry: asyncio.run(caught())\n"
            "except ZeroDivisionError: z = 1\nz"
        )
        == 1
    )


def test_run_inside_a_running_loop(loops: Any) -> None:
    """asyncio.run inside a coroutine is refused as everywhere."""
    error = loops.error("import asyncio\nasync def a(): ...\nasync def b(): asyncio.run(a())\nawait b()")
    assert "running event loop" in error["message"]


def test_cancel_of_run(loops: Any) -> None:
    """Cancelling a cell that waits in asyncio.run raises at the call, after the main task's own clean-up."""
    loops.run(
        "import asyncio\nlog = []\n"
        "async def main():\n    try: await asyncio.sleep(9)\n    finally: log.append(1)"
    )
    assert (
        loops.run("try:\n    asyncio.run(main())\nexcept KeyboardInterrupt:\n    log.append(2)")[0]
        == "waiting"
    )
    assert loops.send("cancel", "KeyboardInterrupt", "")[0] == "done"
    assert loops.value("log") == [1, 2]


def test_other_run_functions_are_left_alone(host: Any) -> None:
    """A function that happens to be called run is called as it is."""
    assert host.value("import asyncio\ndef run(x): return x + 1\nrun(1)") == 2
    assert (
        host.value("class L:\n    def run_until_complete(self, x): return x\nL().run_until_complete(3)") == 3
    )


def test_loop_errors_are_shown(host: Any) -> None:
    """A callback that raises is reported by the loop and does not end the cell."""
    source = (
        "import asyncio\nasyncio.get_running_loop().call_soon(lambda: 1/0)\nawait asyncio.sleep(0.001)\n'on'"
    )
    assert host.value_of(host.finish(host.run(source))) == "on"


def test_system_exit_in_a_task_beside(host: Any) -> None:
    """SystemExit in a task beside the cell does not end the cell."""
    source = (
        "import asyncio, sys\nasync def t(): sys.exit(3)\nx = asyncio.create_task(t())\n"
        "await asyncio.sleep(0.001)\n'on'"
    )
    assert host.value_of(host.finish(host.run(source))) == "on"


def test_timers_in_order(host: Any) -> None:
    """Timers run in the order of their times, cancelled ones not at all."""
    source = """
import asyncio
log = []
loop = asyncio.get_running_loop()
start = loop.time()
loop.call_at(start + 0.004, log.append, "b")
loop.call_at(start + 0.002, log.append, "a")
for i in range(300): loop.call_later(5, log.append, "never").cancel()
await asyncio.sleep(0.006)
log
"""
    assert host.value_of(host.finish(host.run(source))) == ["a", "b"]
