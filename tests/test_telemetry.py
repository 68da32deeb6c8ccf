"""Spans and metrics of sessions and pools, by OpenTelemetry's own SDK; logs as JSON."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is NOT INSTALLED: telemetry is not tested")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import planaria
from planaria import MemoryStore, Session, telemetry
from planaria.pool.steps import Execute, Step
from planaria.pool.worker import Worker, WorkerSettings


class Recorded:
    """What was reported to OpenTelemetry."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        telemetry.instrument(self.tracers, MeterProvider([self._reader]))

    def spans(self, kind: str) -> list[ReadableSpan]:
        return [one for one in self._spans.get_finished_spans() if one.name == f"planaria.{kind}"]

    def points(self, name: str) -> list[Any]:
        data: Any = self._reader.get_metrics_data()
        return [
            point
            for metric in data.resource_metrics[0].scope_metrics[0].metrics
            if metric.name == name
            for point in metric.data.data_points
        ]


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    yield Recorded()
    telemetry._instruments, telemetry.is_on = None, False


def outcomes(spans: list[ReadableSpan]) -> list[object]:
    return [(span.attributes or {})["planaria.outcome"] for span in spans]


def test_sessions(recorded: Recorded) -> None:
    """A session's start, executions, callbacks, snapshots and restores are spans, calls within their execution."""

    def plain(x: int) -> int:
        return x

    async def later(x: int) -> int:
        return x

    def wrong() -> None:
        raise LookupError("a secret")

    with Session(callbacks=[plain, later, wrong]) as session:
        session.run("await plain(1)\nawait later(2)")
        session.run("await wrong()")
        session.bash("exit 3")
        snapshot = session.snapshot_state()
        session.restore_state(snapshot)
        [point] = recorded.points("planaria.sessions")
        assert point.value >= 1
    assert len(recorded.spans("session")) == 1
    executions = recorded.spans("execution")
    assert outcomes(executions) == ["ok", "LookupError", "ok"]
    assert [(one.attributes or {})["planaria.language"] for one in executions] == ["python", "python", "bash"]
    callbacks = recorded.spans("callback")
    names = [(one.attributes or {})["planaria.callback"] for one in callbacks]
    assert sorted(map(str, names)) == ["later", "plain", "wrong"]
    parents = {one.context.span_id for one in executions[:2] if one.context is not None}
    assert {one.parent.span_id for one in callbacks if one.parent is not None} == parents
    assert outcomes([one for one in callbacks if (one.attributes or {})["planaria.callback"] == "wrong"]) == [
        "LookupError"
    ]
    assert "secret" not in " ".join(one.to_json() for one in (*executions, *callbacks))
    assert outcomes(recorded.spans("snapshot")) == outcomes(recorded.spans("restore")) == ["ok"]
    [size] = recorded.points("planaria.snapshot.size")
    assert size.sum == len(snapshot)
    counts = {
        point.attributes["planaria.outcome"]: point.count
        for point in recorded.points("planaria.execution.duration")
    }
    assert counts == {"ok": 2, "LookupError": 1}


def test_a_suspended_call(recorded: Recorded) -> None:
    """A callback that suspends is not an error, and its execution is over when it was answered."""

    def approve() -> bool:
        raise planaria.Suspend("someone has to decide")

    with Session(callbacks=[approve]) as session:
        assert session.run("await approve()").suspended
        assert recorded.spans("execution") == []
        assert outcomes(recorded.spans("callback")) == ["suspended"]
    assert outcomes(recorded.spans("execution")) == ["closed"]


def test_steps_belong_to_the_trace_of_who_sent_them(recorded: Recorded) -> None:
    """A worker's step is a span within that of the caller, with its restore, execution and snapshot within it."""
    worker = Worker(WorkerSettings(MemoryStore()))
    with recorded.tracers.get_tracer("test").start_as_current_span("request") as request:
        step = Step("one", Execute("x = 1"))
    worker.step(step)
    worker.drain()
    worker.step(Step("one", Execute("x")))
    first, second = recorded.spans("step")
    assert first.parent is not None
    assert first.parent.span_id == request.get_span_context().span_id
    for kind in ("execution", "snapshot", "restore"):
        last = recorded.spans(kind)[-1]
        assert last.parent is not None
        assert second.context is not None
        assert last.parent.span_id == second.context.span_id, kind
    worker.close()


def test_log_records_as_json() -> None:
    """Each record is a line of JSON, with what it says besides its message as fields of their own."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(telemetry.JsonFormatter())
    logger = logging.getLogger("planaria")
    logger.addHandler(handler)
    level = logger.level
    logger.setLevel(logging.DEBUG)
    try:
        worker = Worker(WorkerSettings(MemoryStore()))
        worker.step(Step("one", Execute("1 / 0")))
        worker.close()
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    [ended] = [one for one in lines if "outcome" in one]
    assert (ended["logger"], ended["outcome"], ended["execution"]) == (
        "planaria.session",
        "ZeroDivisionError",
        1,
    )
    [step] = [one for one in lines if one["logger"] == "planaria.pool"]
    assert (step["name_of_session"], step["version"], step["was_live"]) == ("one", 1, False)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without OpenTelemetry the error names the extra."""
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry", None)
    with pytest.raises(ImportError, match=r"planaria\[opentelemetry\]"):
        telemetry.instrument()
