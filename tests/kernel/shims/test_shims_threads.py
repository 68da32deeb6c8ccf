"""Threads that run on the stack of the thread that waits for them."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest


def python(program: str) -> str:
    """What a program prints with the shims in place of threads."""
    source = (
        "from planaria_kernel.shims import executors, pools, processes, threads\n"
        "threads.install(); executors.install(); pools.install(); processes.install()\n"
    ) + textwrap.dedent(program)
    run = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_start_and_join() -> None:
    """A thread runs when it is joined, with its own identity, and is alive until then."""
    out = python(
        """
        import threading
        def work(x):
            print(x, threading.current_thread() is t, threading.current_thread().name)
        t = threading.Thread(target=work, args=(1,), name="w")
        t.start()
        print(t.is_alive(), t.ident is not None)
        t.join(); t.join()
        print(t.is_alive(), threading.current_thread() is threading.main_thread())
        """
    )
    assert out == "True True\n1 True w\nFalse True\n"


def test_producer_and_consumer() -> None:
    """A consumer that is started first gets what the main thread then puts."""
    out = python(
        """
        import queue, threading
        q, got = queue.Queue(), []
        def consume():
            while (item := q.get()) is not None:
                got.append(item)
                q.task_done()
        t = threading.Thread(target=consume)
        t.start()
        for i in range(3): q.put(i)
        q.put(None)
        t.join()
        print(got)
        """
    )
    assert out == "[0, 1, 2]\n"


def test_waiting_runs_threads() -> None:
    """An event, a condition, a bounded queue and a sleep let queued threads run."""
    out = python(
        """
        import queue, threading, time
        e = threading.Event()
        threading.Thread(target=e.set).start()
        print(e.wait())
        q = queue.Queue()
        threading.Thread(target=q.put, args=(5,)).start()
        print(q.get(timeout=1))
        done = []
        threading.Thread(target=done.append, args=(1,)).start()
        time.sleep(0)
        print(done)
        s = queue.SimpleQueue()
        threading.Thread(target=s.put, args=(6,)).start()
        print(s.get())
        """
    )
    assert out == "True\n5\n[1]\n6\n"


@pytest.mark.parametrize(
    "source",
    [
        "threading.Lock().acquire() and (lambda l: (l.acquire(), l.acquire()))(threading.Lock())",
        "threading.Event().wait()",
        "queue.Queue().get()",
        "queue.SimpleQueue().get()",
        "threading.Barrier(2).wait()",
        "threading.Semaphore(0).acquire()",
    ],
)
def test_deadlock(source: str) -> None:
    """What would wait forever raises an error that says why."""
    out = python(f"import threading, queue\ntry:\n    {source}\nexcept RuntimeError as e: print(e)")
    assert "deadlock" in out
    assert "no threads" in out


def test_timeouts() -> None:
    """What waits with a timeout gives up after it."""
    out = python(
        """
        import threading, queue
        l = threading.Lock(); l.acquire()
        print(l.acquire(timeout=0.01), l.acquire(False), threading.Event().wait(0.01))
        try: queue.Queue().get(timeout=0.01)
        except queue.Empty: print("empty")
        """
    )
    assert out == "False False False\nempty\n"


def test_errors_and_exits() -> None:
    """An exception ends the thread only and goes to threading.excepthook; also SystemExit, which the default hook ignores."""
    out = python(
        """
        import threading, sys
        threading.excepthook = lambda args: print(args.exc_type.__name__, args.thread.name)
        for target in (lambda: 1/0, sys.exit):
            t = threading.Thread(target=target, name="t"); t.start(); t.join()
        t = threading.Thread()
        for f in (t.join, lambda: (t.start(), t.start()), threading.current_thread().join):
            try: f()
            except RuntimeError as e: print(e)
        """
    )
    assert out.splitlines() == [
        "ZeroDivisionError t",
        "SystemExit t",
        "cannot join thread before it is started",
        "threads can only be started once",
        "cannot join current thread",
    ]


def test_locals() -> None:
    """threading.local keeps the values of threads apart."""
    out = python(
        """
        import threading
        data = threading.local(); data.x = 1
        def work():
            print(hasattr(data, "x")); data.x = 2
        t = threading.Thread(target=work); t.start(); t.join()
        print(data.x)
        """
    )
    assert out == "False\n1\n"


def test_pending() -> None:
    """At the end of a cell, threads run that are neither daemons nor timers."""
    out = python(
        """
        import threading
        for daemon in (True, False): threading.Thread(target=print, args=(daemon,), daemon=daemon).start()
        threading.Timer(0, print, ("timer",)).start()
        print(threads.run_pending(), threads.run_pending())
        """
    )
    assert out == "False\nTrue False\n"


def test_asyncio_in_a_thread() -> None:
    """A thread may run an event loop of its own while another is running."""
    out = python(
        """
        import asyncio, threading
        async def inner(): return 5
        async def outer():
            t = threading.Thread(target=lambda: print(asyncio.run(inner()))); t.start(); t.join()
        asyncio.run(outer())
        """
    )
    assert out == "5\n"


def test_executor() -> None:
    """A thread pool runs what is submitted at once; map, wait, as_completed and errors work."""
    out = python(
        """
        import concurrent.futures as c
        with c.ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(pow, 2, n) for n in range(3)]
            print(sorted(f.result() for f in c.as_completed(futures)), list(pool.map(abs, [-1, 2])))
            print(type(pool.submit(lambda: 1/0).exception()).__name__)
        try: pool.submit(print)
        except RuntimeError as e: print(e)
        """
    )
    assert out == "[1, 2, 4] [1, 2]\nZeroDivisionError\ncannot schedule new futures after shutdown\n"


@pytest.mark.parametrize(
    "source",
    [
        "import multiprocessing as m; m.Process(target=print).start()",
        "from multiprocessing import Queue; Queue()",
    ],
)
def test_processes_are_refused(source: str) -> None:
    """Processes are refused with a message that says what to do."""
    assert "ThreadPoolExecutor" in python(f"try:\n    {source}\nexcept NotImplementedError as e: print(e)")


def test_pools_of_processes_run_their_calls_here() -> None:
    """`multiprocessing.Pool` and `ProcessPoolExecutor` make their calls one after the other, and warn of that."""
    out = python(
        """
        import multiprocessing, warnings
        from concurrent.futures import ProcessPoolExecutor
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with multiprocessing.Pool(2) as pool:
                print(pool.map(lambda n: n + 1, [1, 2]), pool.apply_async(pow, (2, 3)).get())
            with ProcessPoolExecutor(max_workers=2, initializer=print, initargs=("begun",)) as executor:
                print(list(executor.map(abs, [-1, 2])), executor.submit(int, "x").exception())
        print([warning.category.__name__ for warning in warned])
        """
    )
    assert out.splitlines() == [
        "[2, 3] 8",
        "begun",
        "[1, 2] invalid literal for int() with base 10: 'x'",
        "['RuntimeWarning', 'RuntimeWarning']",
    ]


def test_thread_pool() -> None:
    """`multiprocessing.pool.ThreadPool` maps, applies and reports errors."""
    out = python(
        """
        from multiprocessing.pool import ThreadPool
        from multiprocessing.dummy import Pool
        with ThreadPool(2) as pool:
            print(pool.map(abs, [-1, 2]), pool.starmap(pow, [(2, 3)]), list(pool.imap(abs, [-3])))
            print(pool.apply_async(pow, (2, 4)).get(), pool.map_async(lambda x: 1 // x, [0]).successful())
        try: pool.map(abs, [])
        except ValueError as e: print(e)
        print(Pool(2).map(len, ["ab"]))
        """
    )
    assert out == "[1, 2] [8] [3]\n16 False\nPool not running\n[2]\n"


def test_a_thread_that_polls_in_vain_ends_with_an_error() -> None:
    """A thread that sleeps until a flag changes, which only the thread below it could change, is warned of a
    deadlock; the one below goes on.
    """
    out = python(
        """
        import threading, time
        threading.excepthook = lambda args: print(args.exc_type.__name__, str(args.exc_value)[:29])
        stop = False
        def work():
            while not stop:
                time.sleep(0.0001)
        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.005)
        stop = True
        thread.join()
        print("joined")
        """
    )
    assert out.splitlines() == ["RuntimeError deadlock: this thread polls f", "joined"]


@pytest.mark.parametrize(
    "loop",
    [
        "for n in range(300): time.sleep(0.0001)",
        "while len(done) < 300: done.append(1); time.sleep(0.0001)",
        "while count() < 300: time.sleep(0.0001)",
    ],
)
def test_a_thread_that_sleeps_and_makes_progress_goes_on(loop: str) -> None:
    """However often a thread sleeps, it runs to its end as long as anything that it refers to changes."""
    out = python(
        f"""
        import itertools, threading, time
        done = []
        def count(numbers=itertools.count()):
            global seen
            seen = next(numbers)
            return seen
        def work():
            global finished
            seen
            {loop}
            print("finished")
        seen = 0
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        """
    )
    assert out == "finished\n"


def test_taking_turns() -> None:
    """A thread that takes turns hands over what has come each time that another one waits, and is left then."""
    out = python(
        """
        import itertools, queue, threading
        from planaria_kernel.network.turns import waited
        arrivals, q = itertools.chain(["a", "", "b", "c"], itertools.repeat("")), queue.Queue()
        def receive():
            while True:
                q.put(waited(lambda seconds: next(arrivals), None))
        receive.takes_turns = True
        t = threading.Thread(target=receive, daemon=True)
        t.start()
        print(q.get(), q.empty(), t.is_alive())
        print(q.get(), q.get(), q.empty())
        try:
            q.get(timeout=0.01)
        except queue.Empty:
            print("nothing", t.is_alive())
        """
    )
    assert out == "a True True\nb c True\nnothing True\n"


@pytest.mark.parametrize("lock", ["Lock", "RLock", "Condition", "Semaphore"])
def test_a_lock_that_is_held_in_a_sleep_keeps_other_threads_out(lock: str) -> None:
    """Threads that sleep while they hold a lock, of any kind, are alone with what it protects."""
    out = python(
        f"""
        import threading, time
        lock, counter = threading.{lock}(), 0
        def increment():
            global counter
            for _ in range(3):
                with lock:
                    seen = counter
                    time.sleep(0.0001)
                    counter = seen + 1
        threads = [threading.Thread(target=increment) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        print(counter)
        """
    )
    assert out == "12\n"


def test_identity_of_threads() -> None:
    """Threads that are started are enumerated, each has its own number, and a lock of one is not another's."""
    out = python(
        """
        import threading
        lock, seen = threading.RLock(), []
        def work():
            seen.append((threading.get_ident() == threading.current_thread().ident, lock.acquire(blocking=False)))
        threads = [threading.Thread(target=work, name=name) for name in "ab"]
        for t in threads: t.start()
        print(sorted(t.name for t in threading.enumerate()), threading.active_count())
        with lock:
            print(lock.acquire(), lock.release())
            for t in threads: t.join()
        print(seen, threading.active_count(), threading.get_ident() == threading.main_thread().ident)
        """
    )
    assert out == ("['MainThread', 'a', 'b'] 3\nTrue None\n[(True, False), (True, False)] 1 True\n")


def test_a_flag_that_is_polled_while_a_lock_is_held() -> None:
    """Who sleeps with a lock until another thread has done something gets it done."""
    out = python(
        """
        import threading, time
        done = []
        threading.Thread(target=done.append, args=(1,)).start()
        with threading.Lock():
            while not done: time.sleep(0.0001)
        print(done)
        """
    )
    assert out == "[1]\n"


def test_a_thread_that_works_until_it_is_stopped() -> None:
    """A thread that waits in a loop for an event of the thread below it ends with an error when that is due."""
    out = python(
        """
        import threading, time
        threading.excepthook = lambda hook: print(hook.exc_value)
        stop, steps = threading.Event(), []
        def work():
            while not stop.is_set():
                steps.append(1)
                stop.wait(0.0001)
        t = threading.Thread(target=work)
        t.start()
        time.sleep(0.001)
        stop.set()
        t.join()
        print(len(steps) > 0, t.is_alive())
        """
    )
    first, last = out.splitlines()
    assert first.startswith("deadlock: this thread polls for what only the thread that waits for it could do")
    assert last == "True False"


def test_a_hook_gets_exits() -> None:
    """A hook for exceptions of threads gets SystemExit too; the default one ignores it."""
    out = python(
        """
        import sys, threading
        def run():
            t = threading.Thread(target=sys.exit, args=(3,)); t.start(); t.join()
        run()
        threading.excepthook = lambda hook: print(repr(hook.exc_value), hook.thread is not None)
        run()
        """
    )
    assert out == "SystemExit(3) True\n"


def test_calls_of_an_executor_are_in_its_thread() -> None:
    """Calls of a pool have the same thread, which is not the main one, and a failing initializer breaks it."""
    out = python(
        """
        import logging, threading
        from concurrent.futures import ThreadPoolExecutor
        local = threading.local()
        with ThreadPoolExecutor(1, "p", setattr, (local, "x", 1)) as pool:
            print(list(pool.map(lambda _: (threading.current_thread().name, local.x), range(2))), hasattr(local, "x"))
        logging.disable()
        pool = ThreadPoolExecutor(1, initializer=int, initargs=("x",))
        print(repr(pool.submit(print, 1).exception()))
        try:
            pool.submit(print, 1)
        except RuntimeError as error:
            print(type(error).__name__)
        """
    )
    assert out == (
        "[('p_0', 1), ('p_0', 1)] False\n"
        "BrokenThreadPool('A thread initializer failed, the thread pool is not usable anymore')\nBrokenThreadPool\n"
    )


def test_a_loop_of_a_thread_within_a_loop() -> None:
    """A thread that a coroutine waits for may have an event loop of its own."""
    out = python(
        """
        import asyncio, threading
        async def answer():
            await asyncio.sleep(0)
            return 42
        async def main():
            t = threading.Thread(target=lambda: print(asyncio.run(answer())))
            t.start()
            t.join()
            return await answer()
        print(asyncio.run(main()))
        """
    )
    assert out == "42\n42\n"


@pytest.mark.parametrize("name", ["Lock", "RLock"])
def test_locks_are_not_copied(name: str) -> None:
    """A lock can be neither copied nor pickled."""
    out = python(
        f"""
        import copy, pickle, threading
        for function in (copy.copy, copy.deepcopy, pickle.dumps):
            try:
                function(threading.{name}())
            except TypeError as error:
                print(error)
        """
    )
    assert out == f"cannot pickle '_thread.{name if name == 'RLock' else 'lock'}' object\n" * 3
