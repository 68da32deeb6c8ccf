"""What holds with every executor."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from planaria import (
    AsyncSession,
    CapabilityError,
    ExecutionError,
    Executor,
    Exited,
    LimitError,
    Limits,
    Session,
    SessionClosed,
    SessionError,
    Suspend,
    TimeoutError,
)

pytestmark = pytest.mark.slow

NewExecutor = Callable[[], Executor]


def test_value_and_output(session: Session) -> None:
    """The value of the last expression, standard output and standard error come back separately."""
    result = session.run("import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7")
    assert (result.value, result.stdout, result.stderr) == (42, "out\n", "err\n")
    assert result.is_ok


def test_state_lasts(session: Session) -> None:
    """Variables, functions and imports live from one execution to the next."""
    session.execute("import math\nx = 2\ndef f(y): return math.sqrt(x * y)")
    assert session.execute("f(8)").value == 4.0
    assert session.execution_count == 2


def test_values_arrive_as_they_are(new_executor: NewExecutor) -> None:
    """Values come out, and go in through a callback, with their types."""
    values = [
        None,
        True,
        2**100,
        -1.5,
        "a\udc80ü",
        b"\0\xff",
        [1, [2]],
        (1, (2,)),
        {1: "a", (2,): None},
        {1, 2},
        date(2024, 2, 29),
        Decimal("1.10"),
    ]
    with Session(executor=new_executor(), callbacks=[{"name": "give", "fn": values.__getitem__}]) as session:
        for number, value in enumerate(values):
            result = session.execute(f"await give({number})")
            assert (type(result.value), result.value) == (type(value), value)


def test_an_error_names_its_place(session: Session) -> None:
    """An error has its type, message and the user's frames only, and the session stays usable."""
    result = session.run("def f():\n    return 1 / 0\nf()")
    assert isinstance(result.error, ExecutionError)
    assert result.error.type == "ZeroDivisionError"
    assert result.error.lineno == 2
    assert '"<cell 1>", line 3' in result.error.traceback
    assert "planaria" not in result.error.traceback
    assert session.execute("f.__name__").value == "f"


def test_exit_ends_the_execution_only(session: Session) -> None:
    """sys.exit() ends an execution with its status and leaves the session alive."""
    result = session.run("x = 1\nimport sys\nsys.exit(3)")
    assert isinstance(result.error, Exited)
    assert result.error.exit_code == 3
    assert session.execute("x").value == 1


def test_timeout_keeps_the_session(session: Session) -> None:
    """Code that runs over its time is interrupted at a line, and the session keeps the state reached there."""
    session.execute("n = 0")
    result = session.run("while True:\n    n += 1", timeout=0.3)
    assert isinstance(result.error, TimeoutError)
    assert result.error.state == "kept"
    assert session.execute("n").value > 0


def test_timeout_of_an_await(session: Session) -> None:
    """An await that lasts too long is cancelled."""
    result = session.run(
        "import asyncio\ntry:\n    await asyncio.sleep(30)\nfinally:\n    done = 1", timeout=0.2
    )
    assert isinstance(result.error, TimeoutError)
    assert session.execute("done").value == 1


def test_interrupt_from_another_thread(session: Session) -> None:
    """`interrupt` stops what runs and leaves the state."""
    timer = threading.Timer(0.3, session.interrupt)
    timer.start()
    result = session.run("n = 1\nwhile True: pass")
    timer.join()
    assert type(result.error).__name__ == "Interrupted"
    assert session.execute("n").value == 1


def test_callbacks_awaited_and_blocking(new_executor: NewExecutor) -> None:
    """Callbacks are awaited, also several at once, or called and waited for; their errors arrive by type."""

    def add(a: int, b: int) -> int:
        return a + b

    def fail() -> None:
        raise KeyError("nothing")

    async def slow(x: int) -> int:
        await asyncio.sleep(0.05)
        return x

    with Session(executor=new_executor(), callbacks=[add, fail, slow]) as session:
        assert session.execute("await add(1, b=2)").value == 3
        assert session.execute("add.call(3, 4)").value == 7
        assert session.execute(
            "import asyncio\nawait asyncio.gather(*(slow(i) for i in range(5)))"
        ).value == [0, 1, 2, 3, 4]
        assert (
            session.execute("try:\n    await fail()\nexcept KeyError as e:\n    got = str(e)\ngot").value
            == "'nothing'"
        )
        nested = (
            "async def main():\n    return await add(1, 1)\ndef f():\n    return asyncio.run(main())\nf()"
        )
        assert session.execute(nested).value == 2
        result = session.run("await add(1)")
        assert result.error is not None
        assert "add(a: int, b: int)" in str(result.error)


def test_callback_runs_where_the_caller_is(new_executor: NewExecutor) -> None:
    """A plain callback declared for the caller's thread runs on the thread that executes."""
    threads: list[threading.Thread] = []
    mark = {"name": "mark", "fn": lambda: threads.append(threading.current_thread())}
    with Session(executor=new_executor(), callbacks=[{**mark, "on_caller_thread": True}]) as session:
        session.execute("mark.call()\nawait mark()")
    assert threads == [threading.current_thread()] * 2


def test_reentering_is_refused(new_executor: NewExecutor) -> None:
    """A callback that uses its own session gets an error, not a deadlock."""
    sessions: list[Session] = []

    def again() -> Any:
        return sessions[0].run("1").value

    with Session(executor=new_executor(), callbacks=[again]) as session:
        sessions.append(session)
        result = session.run("await again()")
        assert result.error is not None
        assert "callback" in str(result.error)


def test_input(new_executor: NewExecutor) -> None:
    """`input()` takes lines of stdin=, and raises EOFError when there are no more."""
    with Session(executor=new_executor(), stdin="Ada\n") as session:
        result = session.run("print('hello', input('name? '))\ninput()")
        assert "hello Ada" in result.stdout
        assert isinstance(result.error, ExecutionError)
        assert result.error.type == "EOFError"


def test_output_arrives_as_it_is_written(new_executor: NewExecutor) -> None:
    """Listeners get output while the code runs, in order, and their pieces make up the result."""
    pieces: list[str] = []
    with Session(
        executor=new_executor(),
        on_stdout=pieces.append,
        callbacks=[{"name": "seen", "fn": lambda: "".join(pieces)}],
    ) as session:
        result = session.execute("print('a')\nthen = await seen()\nprint('b')\nthen")
        assert result.value == "a\n"
        assert "".join(pieces) == result.stdout == "a\nb\n"


def test_output_is_bounded(new_executor: NewExecutor) -> None:
    """What is beyond the limit of output ends the execution, and the session stays usable."""
    with Session(executor=new_executor(), limits=Limits(output=1000)) as session:
        result = session.run("print('x' * 100_000)")
        assert result.stdout_truncated
        assert len(result.stdout) <= 1000 + 100  # and the line that says what is left out
        assert session.execute("1").value == 1


def test_rich_outputs(session: Session) -> None:
    """What has more than a text is shown with its representations."""
    result = session.execute("class H:\n    def _repr_html_(self): return '<b>x</b>'\ndisplay(H())\nH()")
    assert [output.data["text/html"] for output in result.outputs] == ["<b>x</b>", "<b>x</b>"]


def test_reset_and_clear(session: Session) -> None:
    """`clear_state` and `reset` take the user's names away and leave a session that works."""
    session.execute("x = 1\nimport builtins")
    session.clear_state()
    assert "NameError" in str(session.run("x").error)
    session.execute("x = 2")
    session.reset()
    assert "NameError" in str(session.run("x").error)
    assert session.execute("print('alive'); sum([1, 2])").value == 3


def test_rebinding_names_of_the_kernel_harms_nothing(session: Session) -> None:
    """Rebinding print, display, input or builtins spoils nothing after a reset."""
    session.run("print = display = input = None\n__builtins__ = {}")
    session.reset()
    assert session.execute("print('x')").stdout == "x\n"


def test_suspended_calls_are_resolved_later(new_executor: NewExecutor) -> None:
    """A callback that raises Suspend parks the execution until it is answered."""

    def approve(amount: int) -> bool:
        raise Suspend("ask")

    with Session(executor=new_executor(), callbacks=[approve]) as session:
        run = session.start("ok = await approve(amount=900)\nprint('paid' if ok else 'refused')")
        (call,) = run.pending
        assert (call.name, call.kwargs) == ("approve", {"amount": 900})
        run.resolve(call.id, True)
        assert run.result().stdout == "paid\n"


def test_capabilities_are_honest(session: Session) -> None:
    """What an executor does not support raises CapabilityError with its name, and harms nothing."""
    assert session.supported_capabilities() >= {"timeout", "reset"}
    asked: dict[str, Callable[[], Any]] = {
        "snapshot": session.snapshot_state,
        "fork": lambda: [copy.close() for copy in session.fork(1)],
        "rewind": lambda: session.checkpoint("here"),
        "shell": lambda: session.bash("true"),
        "files": lambda: session.files,
    }
    for capability, use in asked.items():
        if session.supports(capability):
            use()
        else:
            with pytest.raises(CapabilityError, match=capability) as caught:
                use()
            assert caught.value.capability == capability
    assert session.execute("1").value == 1


def test_an_executor_has_one_session(new_executor: NewExecutor) -> None:
    """An executor that has a session already refuses a second one."""
    executor = new_executor()
    with Session(executor=executor), pytest.raises(SessionError, match="has a session already"):
        Session(executor=executor)


def test_closed_is_closed(new_executor: NewExecutor) -> None:
    """A closed session says so, and closing twice is harmless."""
    session = Session(executor=new_executor())
    session.close()
    session.close()
    with pytest.raises(SessionClosed):
        session.run("1")


def test_sessions_do_not_see_each_other(new_executor: NewExecutor) -> None:
    """Sessions at once on threads keep their variables and outputs apart."""

    def work(number: int, results: list[Any]) -> None:
        with Session(executor=new_executor()) as session:
            for _ in range(5):
                result = session.run(f"x = {number}\nfor i in range(200): print(x)\nx")
                results.append(result.value == number and set(result.stdout.split()) == {str(number)})

    results: list[Any] = []
    threads = [threading.Thread(target=work, args=(number, results)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 20


def test_two_runs_at_once_take_turns(session: Session) -> None:
    """Two threads that run in one session at once take turns."""
    session.execute("log = []")
    code = "import time\nlog.append('in'); time.sleep(0.05); log.append('out')"
    threads = [threading.Thread(target=session.run, args=(code,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.execute("log").value == ["in", "out"] * 3


def test_nothing_of_it_reaches_the_hosts_output(session: Session, capfd: pytest.CaptureFixture[str]) -> None:
    """What code prints comes to the result only, and the host's own output is not captured."""
    before = (sys.stdout, sys.stderr)
    session.execute("print('guest')\nimport sys\nsys.stderr.write('guest')\nsys.stdout.flush()")
    assert (sys.stdout, sys.stderr) == before
    print("host")
    assert capfd.readouterr() == ("host\n", "")


def test_unused_sessions_are_collected(new_executor: NewExecutor) -> None:
    """A session without references is released without close()."""
    session = Session(executor=new_executor())
    session.execute("x = 1")
    gone = weakref.ref(session)
    del session
    gc.collect()
    assert gone() is None


def test_async(new_executor: NewExecutor) -> None:
    """An AsyncSession leaves the loop free, runs callbacks on it, and is stopped by cancelling."""

    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def where() -> bool:
            return asyncio.get_running_loop() is loop

        async with AsyncSession(executor=new_executor(), callbacks=[where]) as session:
            assert (await session.run("await where()")).value is True
            assert (await session.run("where.call()")).value is True
            task = asyncio.create_task(session.run("n = 0\nwhile True: n += 1"))
            await asyncio.sleep(0.2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await session.run("n > 0")).value is True

    asyncio.run(main())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork_of_the_host(session: Session) -> None:
    """In a child of the host's fork the session works, with its timeouts."""
    session.execute("x = 1")
    child = os.fork()
    if not child:
        status = 1
        try:
            timed = session.run("while True: pass", timeout=0.2)
            status = 0 if isinstance(timed.error, TimeoutError) and session.run("1 + 1").value == 2 else 2
        finally:
            os._exit(status)
    deadline = time.monotonic() + 30
    while (waited := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.02)
    if waited == (0, 0):
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert waited == (child, 0)
    assert session.execute("x").value == 1


def test_stopping_a_call_for_which_the_code_blocks(new_executor: NewExecutor) -> None:
    """A timeout or limit that ends a blocking call is never an exception that the code could take for the call's."""

    async def hang() -> None:
        await asyncio.sleep(600)

    def absolute(number: int) -> int:
        return abs(number)

    with Session(executor=new_executor(), callbacks=[hang, absolute], limits=Limits(callbacks=2)) as session:
        caught = "try:\n    {}\nexcept Exception:\n    pass"
        for _ in range(3):
            assert isinstance(session.run(caught.format("hang.call()"), timeout=0.2).error, TimeoutError)
            error = session.run(caught.format("[absolute.call(n) for n in range(5)]")).error
            assert isinstance(error, LimitError)
            assert error.limit == "callbacks"
        assert session.execute("absolute.call(-1)").value == 1
