"""The ticker: visits each guest that is due, sleeps when none runs, survives forks."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import pytest

from planaria.machine.processors import Processors
from planaria.machine.ticker import Ticker


class Guest:
    wants_visits = False

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self.is_due = False

    def due(self, now: float) -> bool:
        self.asked.release()
        return self.is_due


def begin(ticker: Ticker, guest: Any) -> None:
    """A guest starts to run, as `Machine` does it."""
    ticker.running[guest] = None
    if ticker.is_asleep:
        ticker.wake()


def test_visits() -> None:
    """A running guest is asked again and again, and the epoch moves only when one is due."""
    moved: list[int] = []
    ticker = Ticker(lambda: moved.append(ticker.epoch), Processors(1))
    guest = Guest()
    begin(ticker, guest)
    for _ in range(3):
        assert guest.asked.acquire(timeout=60)
    assert moved == []
    guest.is_due = True
    for _ in range(3):
        assert guest.asked.acquire(timeout=60)
    ticker.running.pop(guest)
    assert moved
    assert moved == list(range(1, len(moved) + 1))
    ticker.visit()
    assert ticker.epoch == moved[-1]


def test_guests_that_want_it_are_visited() -> None:
    """A guest that wants visits gets them now and then though it is not due."""
    visited = threading.Event()
    ticker = Ticker(visited.set, Processors(1))
    guest = Guest()
    guest.wants_visits = True
    begin(ticker, guest)
    assert visited.wait(60)
    ticker.running.pop(guest)


def test_sleeps_and_wakes() -> None:
    """With no guest running it falls asleep; the next guest wakes it."""
    ticker = Ticker(lambda: None, Processors(1))
    for _ in range(3):
        guest = Guest()
        begin(ticker, guest)
        assert guest.asked.acquire(timeout=60)
        ticker.running.pop(guest)
        end = time.monotonic() + 60
        while not ticker.is_asleep and time.monotonic() < end:
            time.sleep(0.01)
        assert ticker.is_asleep
        assert guest.asked.acquire(blocking=False) in (True, False)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process")
def test_fork() -> None:
    """In a child of a fork, made while a guest runs or not, the ticker begins anew."""
    ticker = Ticker(lambda: None, Processors(1))
    running = Guest()
    begin(ticker, running)
    assert running.asked.acquire(timeout=60)
    child = os.fork()
    if child == 0:
        guest: Any = Guest()
        begin(ticker, guest)
        os._exit(0 if guest.asked.acquire(timeout=30) else 1)
    assert os.waitpid(child, 0)[1] == 0
    ticker.running.pop(running)
