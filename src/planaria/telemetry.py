"""Spans and metrics by OpenTelemetry, and log records as JSON, for those who ask for them.

Before `instrument()` was called nothing is measured, and nothing is imported. Neither code nor its output nor
arguments and messages of exceptions become attributes: they are the users'.
"""

from __future__ import annotations

import inspect
import json
import logging
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final, Literal

__all__ = [
    "NOTHING",
    "JsonFormatter",
    "Kind",
    "Span",
    "begin",
    "context",
    "count",
    "count_no_more",
    "instrument",
    "is_on",
    "span",
]

Kind = Literal["callback", "execution", "restore", "session", "snapshot", "step"]
Attributes = Mapping[str, str | int | float | bool]


class Span:
    """Something that takes a while. This one is of no consequence: telemetry is off."""

    def add(self, **attributes: str | int | float | bool) -> None:
        """Add attributes, under `planaria.`."""

    def end(self, outcome: str = "ok") -> None:
        """It is over; ending twice is harmless."""

    def traced(self, kind: Kind, function: Callable[..., Any], **attributes: Any) -> Callable[..., Any]:
        """The function, whose calls are spans within this one."""
        return function


NOTHING: Final = Span()


class _Instruments:
    """The tracer and the meters."""

    def __init__(self, tracer_provider: Any, meter_provider: Any) -> None:
        from opentelemetry import metrics, trace

        from planaria.version import __version__

        self.tracer: Any = trace.get_tracer("planaria", __version__, tracer_provider)
        meter: Any = metrics.get_meter("planaria", __version__, meter_provider)
        self.seconds: dict[str, Any] = {
            kind: meter.create_histogram(f"planaria.{kind}.duration", "s", f"How long each {kind} took.")
            for kind in ("callback", "execution", "restore", "session", "snapshot", "step")
        }
        self.size: Any = meter.create_histogram("planaria.snapshot.size", "By", "Bytes of each snapshot.")
        meter.create_observable_gauge("planaria.sessions", [_count], "1", "Sessions in memory.")


_instruments: _Instruments | None = None
#: Whether `instrument` was called; for those who would begin a span often.
is_on = False


def instrument(tracer_provider: Any = None, meter_provider: Any = None) -> None:
    """Have sessions and pools of this process report to OpenTelemetry.

    The providers are those that were set globally unless given. Spans are `planaria.session` (the start of
    one), `planaria.execution`, `planaria.callback`, `planaria.snapshot`, `planaria.restore` and
    `planaria.step` (of a pool); for each there is a histogram of seconds, `planaria.execution.duration` and
    so on. Raises ImportError without the extra "opentelemetry".
    """
    global _instruments, is_on
    try:
        _instruments = _Instruments(tracer_provider, meter_provider)
    except ImportError as error:
        raise ImportError(
            "telemetry needs the package opentelemetry-api: pip install 'planaria[opentelemetry]'"
        ) from error
    is_on = True


def begin(kind: Kind, *, parent: Mapping[str, str] | None = None, **attributes: Any) -> Span:
    """Begin a span within the present one, or one that another process described (`context`)."""
    if _instruments is None:
        return NOTHING
    inherited = None
    if parent:
        from opentelemetry import propagate

        inherited = propagate.extract(parent)
    return _Measured(_instruments, kind, inherited, attributes)


@contextmanager
def span(kind: Kind, *, parent: Mapping[str, str] | None = None, **attributes: Any) -> Iterator[Span]:
    """A span around a block, in which others begin within it."""
    one = begin(kind, parent=parent, **attributes)
    if not isinstance(one, _Measured):
        yield one
        return
    with one.entered():
        yield one


def context() -> Mapping[str, str]:
    """The present span, for another process; empty where there is none."""
    carrier: dict[str, str] = {}
    if _instruments is not None:
        from opentelemetry import propagate

        propagate.inject(carrier)
    return carrier


#: What is counted as a session in memory.
_sessions: Final[weakref.WeakSet[Any]] = weakref.WeakSet()


def count(session: object) -> None:
    """A session is in memory, until it is closed or collected."""
    if _instruments is not None:
        _sessions.add(session)


def count_no_more(session: object) -> None:
    """A session was closed."""
    _sessions.discard(session)


def _count(_options: object) -> Iterator[Any]:
    from opentelemetry.metrics import Observation

    yield Observation(len(_sessions))


class _Measured(Span):
    def __init__(self, instruments: _Instruments, kind: Kind, inherited: Any, attributes: Any) -> None:
        self._instruments = instruments
        self._kind = kind
        self._begun = time.perf_counter()
        self._span: Any = instruments.tracer.start_span(
            f"planaria.{kind}", inherited, attributes=_named(attributes)
        )
        self._is_over = False

    def add(self, **attributes: str | int | float | bool) -> None:
        self._span.set_attributes(_named(attributes))
        if self._kind == "snapshot" and "size" in attributes:
            self._instruments.size.record(attributes["size"])

    def end(self, outcome: str = "ok") -> None:
        if self._is_over:
            return
        self._is_over = True
        from opentelemetry.trace import StatusCode

        seconds = time.perf_counter() - self._begun
        self._instruments.seconds[self._kind].record(seconds, {"planaria.outcome": outcome})
        self._span.set_attribute("planaria.outcome", outcome)
        if outcome not in ("ok", "suspended"):
            self._span.set_status(StatusCode.ERROR, outcome)
        self._span.end()

    @contextmanager
    def entered(self, *, ends: bool = True) -> Iterator[None]:
        """Be the present span within a block, and end with it."""
        from opentelemetry import trace

        with trace.use_span(self._span, record_exception=False, set_status_on_exception=False):
            try:
                yield
            except BaseException as error:
                if ends:
                    name = type(error).__name__
                    self.end("suspended" if name == "Suspend" else name)
                raise
            if ends:
                self.end()

    def traced(self, kind: Kind, function: Callable[..., Any], **attributes: Any) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def traced_async(*args: Any, **kwargs: Any) -> Any:
                with self.entered(ends=False), span(kind, **attributes):
                    return await function(*args, **kwargs)

            return traced_async

        @wraps(function)
        def traced(*args: Any, **kwargs: Any) -> Any:
            with self.entered(ends=False), span(kind, **attributes):
                return function(*args, **kwargs)

        return traced


def _named(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {f"planaria.{name}": value for name, value in attributes.items()}


#: What every log record has.
_USUAL: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class JsonFormatter(logging.Formatter):
    """Log records as lines of JSON: time, level, logger, message, and what the record says besides."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _USUAL}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)
