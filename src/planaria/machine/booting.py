"""What a machine is asked for once, when an image is made of it."""

from __future__ import annotations

from typing import Final

from planaria.errors import SessionError
from planaria.limits import Guard
from planaria.machine.machine import Machine
from planaria.machine.private_pages import STACK_BASE

__all__ = ["STACK_USED", "run_source", "set_stack_limits"]

#: How much of the stack CPython may use, in bytes: what a desktop has, and half of what the module has. The
#: rest is for functions of extension modules, which do not look at the limit.
STACK_USED: Final = 8 << 20


def run_source(machine: Machine, source: str) -> int:
    """Run source in the guest's `__main__`, as the artifact offers it."""

    def run() -> int:
        turn = machine.function("turn")
        data = source.encode()
        at = machine.allocate(len(data))
        machine.memory.write(at, data)
        return turn(at, len(data))

    return machine.guarded(run, Guard())


def set_stack_limits(machine: Machine) -> None:
    """Report to CPython how large its stack is, which it believes to be 128 KiB.

    The limits are in the thread state, so that all that begins from the image has them.
    """

    def run() -> None:
        thread_state = machine.function("PyThreadState_Get")()
        protect = machine.function("PyUnstable_ThreadState_SetStackProtection")
        if protect(thread_state, STACK_BASE - STACK_USED, STACK_USED):
            raise SessionError("the guest refuses its stack")

    machine.guarded(run, Guard())
