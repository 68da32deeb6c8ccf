"""Tests of the turns that guests take at the processors."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from planaria.machine.processors import Processors, Turn


def never() -> bool:
    return False


def wait_for(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.001)


class Guest:
    """A guest on a thread of its own that computes until `end`."""

    def __init__(self, processors: Processors) -> None:
        self.turn = Turn(processors)
        self.has_begun = threading.Event()
        self.ends = threading.Event()
        self.is_urgent = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        self.turn.begin(lambda: self.is_urgent)
        try:
            self.has_begun.set()
            while not self.ends.wait(0.001):
                self.turn.go_on(lambda: self.is_urgent)
        finally:
            self.turn.end()

    def end(self) -> None:
        self.ends.set()
        self.thread.join(60)
        assert not self.thread.is_alive()


def test_as_many_as_there_are_processors() -> None:
    """Of more guests than processors the others wait until one of those that compute ends."""
    processors = Processors(2)
    first, second = Guest(processors), Guest(processors)
    assert first.has_begun.wait(60)
    assert second.has_begun.wait(60)
    third = Guest(processors)
    wait_for(lambda: third.turn.lost(time.monotonic()) > 0)
    assert not third.has_begun.is_set()
    first.end()
    assert third.has_begun.wait(60)
    second.end()
    third.end()


def test_turns_end() -> None:
    """A guest that has computed for a while goes behind those that wait, though it does not end."""
    processors = Processors(1)
    guests = [Guest(processors) for _ in range(3)]

    def have_begun() -> bool:
        processors.tick()
        return all(guest.has_begun.is_set() for guest in guests)

    wait_for(have_begun)
    for guest in guests:
        guest.ends.set()
    for guest in guests:
        guest.end()


def test_urgent_guests_do_not_wait() -> None:
    """A guest that is to be interrupted goes on at once."""
    processors = Processors(1)
    busy, other = Guest(processors), Guest(processors)
    wait_for(lambda: busy.has_begun.is_set() or other.has_begun.is_set())
    waiting, computing = (other, busy) if busy.has_begun.is_set() else (busy, other)
    waiting.is_urgent = True
    waiting.turn.hurry()
    assert waiting.has_begun.wait(60)
    waiting.end()
    computing.end()


def test_given_up_while_the_host_works() -> None:
    """While the host does something for a guest another one computes; the first goes on without waiting, and
    waits only if it computes for longer.
    """
    processors = Processors(1)
    turn = Turn(processors)
    turn.begin(never)
    with turn.given_up():
        other = Guest(processors)
        assert other.has_begun.wait(60)
    assert processors.is_beyond(turn)
    threading.Thread(target=other.end).start()
    turn.go_on(never)
    assert not processors.is_beyond(turn)
    turn.end()


def test_time_of_waiting() -> None:
    """What a guest lost by waiting is known afterwards, and begins anew with the next call."""
    processors = Processors(1)
    first, turn = Guest(processors), Turn(processors)
    assert first.has_begun.wait(60)

    def end_first() -> None:
        wait_for(lambda: turn.lost(time.monotonic()) > 0)
        first.end()

    threading.Thread(target=end_first).start()
    turn.begin(never)
    turn.end()
    assert turn.lost(time.monotonic()) > 0
    turn.begin(never)
    turn.end()
    assert turn.lost(time.monotonic()) == 0


def test_many_guests() -> None:
    """Many guests that come and go, with turns that end at any moment, all come to their ends."""
    processors = Processors(2)
    done: list[int] = []

    def compute(number: int) -> None:
        turn = Turn(processors)
        for step in range(30):
            turn.begin(never)
            for _ in range(3):
                turn.go_on(never)
                if step % 5 == 0:
                    with turn.given_up():
                        pass
            turn.end()
        done.append(number)

    threads = [threading.Thread(target=compute, args=(number,), daemon=True) for number in range(12)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        processors.tick()
    assert sorted(done) == list(range(12))
