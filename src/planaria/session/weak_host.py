"""The host of a session's kernel: what an executor calls, without keeping the session."""

from __future__ import annotations

import errno
import weakref
from typing import Protocol

from planaria.executors.messages import Answer, Begun, HostCall, Ok, Raised
from planaria.session.execution_state import Executing, ExecutionState
from planaria.session.host_calls import HostCalls

__all__ = ["WeakHost"]


class _Engine(Executing, Protocol):
    """The engine of a session."""

    @property
    def host_calls(self) -> HostCalls:
        """What answers the calls of the code."""

    def interrupt(self) -> None:
        """Stop the execution in flight; from any thread."""


class WeakHost:
    """Hands what the kernel asks for to the execution in flight.

    The thread that is inside the kernel holds the engine, so it exists whenever this is called.
    """

    __slots__ = ("_engine",)

    def __init__(self, engine: _Engine) -> None:
        self._engine = weakref.ref(engine)

    def _found(self) -> _Engine:
        engine = self._engine()
        if engine is None:
            raise ReferenceError("the session of this kernel is gone")
        return engine

    def output(self, descriptor: int, data: bytes) -> None:
        """The code wrote to descriptor 1 or 2. What a listener raises stops the execution."""
        engine = self._found()
        if (execution := engine.execution) is not None:
            try:
                execution.collector.output(descriptor, data)
            except BaseException as error:
                self._stop(engine, execution, error)

    def display(self, kind: str, data: dict[str, object], metadata: dict[str, object]) -> None:
        """A rich output."""
        engine = self._found()
        if (execution := engine.execution) is not None:
            try:
                execution.collector.display(kind, data, metadata)
            except BaseException as error:
                self._stop(engine, execution, error)

    @staticmethod
    def _stop(engine: _Engine, execution: ExecutionState, error: BaseException) -> None:
        execution.stop.listener_error = execution.stop.listener_error or error
        engine.interrupt()

    def call(self, name: str, arguments: tuple[object, ...], keywords: dict[str, object]) -> Answer:
        """A host call for which the code blocks."""
        engine = self._found()
        if engine.execution is None:
            return Raised("RuntimeError", "the host is called by executions only")
        return engine.host_calls.call(engine.execution, name, arguments, keywords)

    def begin_call(self, call: HostCall) -> Ok | Raised | Begun | None:
        """Begin a call that the code awaits; its answer if that comes in a moment."""
        engine = self._found()
        if engine.execution is None:
            return Raised("RuntimeError", "the host is called by executions only")
        return engine.host_calls.begin_now(engine.execution, call)

    def input(self, prompt: str) -> Answer:
        """A line for `input()`."""
        engine = self._found()
        if engine.execution is None:
            return Raised("RuntimeError", "the host is asked by executions only")
        return engine.host_calls.input(engine.execution, prompt)

    def receive(self, descriptor: int, buffer: memoryview) -> int:
        """Put what a connection has received into a buffer; its length, 0 for nothing yet. Raises OSError."""
        engine = self._found()
        if engine.execution is None:
            raise OSError(errno.EBADF, "the host is asked by executions only")
        return engine.host_calls.admission.receive(engine.execution, descriptor, buffer)

    def send(self, descriptor: int, buffer: memoryview) -> int:
        """Take from a buffer what a connection sends; its length, 0 for nothing yet. Raises OSError."""
        engine = self._found()
        if engine.execution is None:
            raise OSError(errno.EBADF, "the host is asked by executions only")
        return engine.host_calls.admission.send(engine.execution, descriptor, buffer)
