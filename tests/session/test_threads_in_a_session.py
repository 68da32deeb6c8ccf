"""Random programs of threads, run by Python natively and in a session: the same must come out."""

from __future__ import annotations

import subprocess
import sys

import pytest

import planaria

pytestmark = pytest.mark.slow

_PROGRAMS = """
import asyncio, queue, random, threading, time
from concurrent.futures import ThreadPoolExecutor

def program(seed):
    rng = random.Random(seed)
    kinds = [threading.Lock, threading.RLock, threading.Condition, threading.Semaphore]
    locks = [rng.choice(kinds)() for _ in range(3)]
    counts, local, done, hooked = [0, 0, 0], threading.local(), queue.Queue(), []
    threading.excepthook = lambda hook: hooked.append((hook.thread.name, repr(hook.exc_value)))

    def count(numbers, naps):
        local.steps = getattr(local, "steps", 0) + 1
        number, *rest = numbers
        with locks[number]:
            seen = counts[number]
            if naps:
                time.sleep(0.0001)
            if rest:
                count(rest, naps)
            counts[number] = seen + 1

    async def awaited():
        await asyncio.sleep(0)
        return len([1 async for _ in spaced()])

    async def spaced():
        for number in range(3):
            await asyncio.sleep(0)
            yield number

    def own_numbers():
        me = threading.current_thread()
        done.put((me.name, me.ident == threading.get_ident(), me in threading.enumerate()))

    def pooled(number):
        with ThreadPoolExecutor(1, "pool") as pool:
            calls = [pool.submit(count, [number], True), pool.submit(threading.current_thread)]
            return [getattr(call.result(), "name", None) for call in calls]

    def step():
        numbers, naps = sorted(rng.sample(range(3), rng.randint(1, 3))), rng.random() < 0.7
        return rng.choice([
            lambda: count(numbers, naps),
            lambda: count(numbers, naps),
            lambda: done.put(("pool", pooled(numbers[0]))),
            lambda: done.put(("awaited", asyncio.run(awaited()))),
            own_numbers,
        ])

    def work(steps, error):
        for one in steps:
            one()
        done.put(("steps", local.__dict__.get("steps")))
        if error is not None:
            raise error

    threads = [
        threading.Thread(target=work, args=([step() for _ in range(rng.randint(1, 4))], rng.choice([None, None, None, ValueError(seed), SystemExit(seed)])), name=f"t{n}")
        for n in range(rng.randint(1, 5))
    ]

    def run():
        for thread in threads:
            thread.start()
        if rng.random() < 0.5:
            time.sleep(0.0001)
        for thread in threads:
            thread.join()

    async def run_in_loop():
        run()
        await asyncio.sleep(0)

    asyncio.run(run_in_loop()) if rng.random() < 0.3 else run()
    return counts, sorted(map(str, done.queue)), sorted(hooked), threading.active_count()

for seed in range(SEEDS):
    print(seed, program(seed))
"""


def test_threads_as_everywhere() -> None:
    """Threads with locks, pools, loops, queues and exceptions do in a session what they do natively."""
    source = "SEEDS = 150\n" + _PROGRAMS
    native = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    with planaria.Session() as session:
        assert session.execute(source, timeout=120).stdout.splitlines() == native.stdout.splitlines()
