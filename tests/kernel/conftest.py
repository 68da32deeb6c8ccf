"""A host in miniature: it answers the host calls of, and drives, a real kernel in this process."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from planaria_kernel.errors import PlanariaError
from planaria_kernel.kernel import Kernel
from planaria_kernel.protocol import decode, encode


class Host:
    """Queues commands, keeps reports and outputs, and answers what the kernel asks meanwhile."""

    def __init__(self) -> None:
        self.command = b""
        self.reports: list[tuple[Any, ...]] = []
        self.outputs: list[tuple[Any, ...]] = []
        self.lines: list[str] = []
        self.prompts: list[str] = []
        self.stubs: list[list[str]] = []
        #: What blocking calls (`C`) get: a function of name, args and kwargs.
        self.functions: dict[str, Callable[..., Any]] = {}
        self.count = 0
        #: How often the kernel said that an interrupt hit no code of the user's.
        self.dropped = 0
        self.main = ModuleType("__main__")
        self.main.__dict__["__builtins__"] = builtins
        self.kernel = Kernel(self.answer, main=self.main)

    def answer(self, request: bytes) -> bytes:
        operation, body = request[:1], request[1:]
        if operation == b"N":
            return self.command
        if operation == b"K":
            self.dropped += 1
            return b""
        value = decode(body)
        if operation == b"R":
            self.reports.append(value)
        elif operation == b"D":
            self.outputs.append(value)
        elif operation == b"T":
            self.stubs.append(value)
        elif operation == b"I":
            self.prompts.append(value)
            return encode(("ok", self.lines.pop(0)) if self.lines else ("eof",))
        elif operation == b"C":
            name, args, kwargs = value
            try:
                return encode(("ok", self.functions[name](*args, **kwargs)))
            except Exception as error:
                fields: tuple[Any, ...] = ({},) if isinstance(error, PlanariaError) else ()
                return encode(("error", type(error).__name__, str(error), *fields))
        else:
            raise AssertionError(f"unknown operation {operation!r}")
        return b""

    def send(self, *command: Any) -> tuple[Any, ...]:
        """One entry: the report of one command."""
        self.command = encode(command)
        before = len(self.reports)
        self.kernel.enter()
        assert len(self.reports) == before + 1, "an entry leaves exactly one report"
        return self.reports[-1]

    def run(self, source: str, tier: str = "full") -> tuple[Any, ...]:
        self.count += 1
        return self.send("run", source, self.count, tier)

    def value(self, source: str) -> Any:
        """The value of a cell that does not wait and does not fail."""
        return self.value_of(self.run(source))

    def value_of(self, report: tuple[Any, ...]) -> Any:
        assert report[0] == "done", report[1].get("traceback") or report
        return decode(report[1]["value"]) if "value" in report[1] else None

    def error(self, source: str) -> dict[str, Any]:
        report = self.run(source)
        assert report[0] == "error", report
        fields: dict[str, Any] = report[1]
        return fields

    def finish(self, report: tuple[Any, ...], **functions: Callable[..., Any]) -> tuple[Any, ...]:
        """Answer calls until the cell ends; timers are waited for."""
        import time

        functions = {**self.functions, **functions}
        while report[0] == "waiting":
            _, calls, timer, _ = report
            answers: list[tuple[Any, ...]] = []
            for number, name, args, kwargs in calls:
                try:
                    answers.append((number, True, functions[name](*args, **kwargs)))
                except Exception as error:
                    answers.append((number, False, (type(error).__name__, str(error))))
            if not answers:
                assert timer is not None, "the cell waits for something that was not reported"
                time.sleep(timer)
            report = self.send("resume", answers)
        return report

    def declare(self, *names: str, **signatures: Any) -> None:
        """Host functions that take anything, and some that have a signature."""
        callbacks = [{"name": name, "description": f"does {name}"} for name in names]
        callbacks += [{"name": name, "signature": signature} for name, signature in signatures.items()]
        assert self.send("configure", {"callbacks": callbacks}) == ("done", {})


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    host = Host()

    def publish(old: dict[str, Any], new: dict[str, Any]) -> None:
        for name in old:
            builtins.__dict__.pop(name, None)
        builtins.__dict__.update(new)

    host.kernel.publish = publish
    publish({}, host.kernel.names)
    monkeypatch.setitem(sys.modules, "__main__", host.main)
    monkeypatch.setattr(sys, "displayhook", host.kernel.displayhook)
    yield host
    publish(host.kernel.names, {})
    host.kernel.loop.close()
