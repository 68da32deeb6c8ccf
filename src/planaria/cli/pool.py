"""`planaria pool`: the sessions and workers of pools that share a store."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from planaria.cli.printable import printable
from planaria.pool.outcomes import decoded_result
from planaria.pool.presence import DRAIN, WorkerState, workers_of
from planaria.pool.saved import SavedSteps
from planaria.stores.opening import open_store
from planaria.stores.store import Store
from planaria.stores.versions import Version

__all__ = ["collect", "drain", "list_sessions", "show_status"]

#: Seconds between two looks whether workers have drained.
_PAUSE = 0.2


@contextlib.contextmanager
def _opened(place: str) -> Iterator[Store]:
    path = place.removeprefix("file://")
    if "://" not in path and place != "memory:" and not os.path.exists(path):
        raise click.ClickException(f"there is no store at {printable(place)}")
    store = open_store(place)
    try:
        yield store
    finally:
        store.close()


def show_status(place: str, *, as_json: bool) -> None:
    """How many sessions there are, and which workers."""
    with _opened(place) as store:
        newest = store.newest_of_all()
        workers = workers_of(store.presence)
    size = sum(version.size for version in newest.values())
    if as_json:
        reported = [{"id": worker, **_described(state)} for worker, state in workers.items()]
        print(json.dumps({"sessions": len(newest), "bytes": size, "workers": reported}, indent=2))
        return
    console = Console(highlight=False)
    console.print(f"{len(newest):,} sessions, whose newest snapshots have {size / 1e6:,.1f} MB")
    if not workers:
        console.print("no workers")
        return
    table = Table("WORKER", "HOST", "PID", "VERSION", "STEPS", "LIVE", "SEEN", box=None, pad_edge=False)
    for worker, state in sorted(workers.items(), key=lambda one: one[1].started_at):
        seen = "lost" if state.is_lost else f"{max(0.0, time.time() - state.seen_at):.0f} s ago"
        numbers = (str(state.pid), state.version, str(state.steps), str(state.live), seen)
        table.add_row(worker[:12], escape(printable(state.host)), *map(escape, numbers))
    console.print(table)


def _described(state: WorkerState) -> dict[str, Any]:
    return {
        "host": state.host,
        "pid": state.pid,
        "version": state.version,
        "steps": state.steps,
        "live": state.live,
        "seen_at": state.seen_at,
        "lost": state.is_lost,
    }


def list_sessions(place: str, pattern: str, *, as_json: bool) -> None:
    """The sessions whose names match a pattern, and what each does."""
    with _opened(place) as store:
        found = {
            name: (version, _doing(store, name, version))
            for name, version in store.newest_of_all().items()
            if fnmatchcase(name, pattern)
        }
    if as_json:
        reported = [
            {
                "name": name,
                "version": version.number,
                "bytes": version.size,
                "saved_at": version.saved_at,
                "state": state,
                "waits_for": calls,
            }
            for name, (version, (state, calls)) in found.items()
        ]
        print(json.dumps(reported, indent=2))
        return
    console = Console(highlight=False)
    table = Table("NAME", "VERSION", "KB", "SAVED", "STATE", box=None, pad_edge=False)
    for name, (version, (state, calls)) in found.items():
        saved = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(version.saved_at))
        shown = f"waits for {', '.join(f'{call}()' for call in calls)}" if calls else state
        row = (name, str(version.number), f"{version.size / 1e3:.0f}", saved, shown)
        table.add_row(*(escape(printable(cell)) for cell in row))
    console.print(table)


def _doing(store: Store, name: str, version: Version) -> tuple[str, list[str]]:
    """What a session does, and the calls that it waits for."""
    if store.leases.is_held(name):
        return "executing", []
    steps = SavedSteps.of(version).steps
    if steps and steps[0].result is not None:
        calls = [call.name for call in decoded_result(steps[0].result).suspended]
        if calls:
            return "waiting", calls
    return "parked", []


def drain(place: str, workers: Sequence[str], wait: float) -> None:
    """Ask workers to park their sessions and to end, and wait until they have."""
    with _opened(place) as store:
        known = workers_of(store.presence)
        wanted = [one for one in known if not workers or any(one.startswith(prefix) for prefix in workers)]
        unknown = [prefix for prefix in workers if not any(one.startswith(prefix) for one in known)]
        if unknown:
            raise click.ClickException(f"there is no worker {', '.join(unknown)}: see `planaria pool status`")
        for one in wanted:
            if known[one].is_lost:
                store.presence.remove(one)
            else:
                store.presence.order(one, DRAIN)
        end = time.monotonic() + wait
        left = [one for one in wanted if not known[one].is_lost]
        while left and time.monotonic() < end:
            time.sleep(_PAUSE)
            left = [one for one in left if store.presence.orders(one) == DRAIN]
    print(f"{len(wanted) - len(left)} of {len(wanted)} workers have drained")
    if left:
        raise click.ClickException(f"after {wait:g} s still at work: {', '.join(one[:12] for one in left)}")


def collect(place: str, unused_days: float | None, *, as_json: bool) -> None:
    """Collect the garbage of a store and tell how much it was."""
    with _opened(place) as store:
        found = store.collect_garbage(unused_for=None if unused_days is None else unused_days * 24 * 3600)
    if as_json:
        print(json.dumps(asdict(found), indent=2))
        return
    print(
        f"removed {found.snapshots:,} snapshots, {found.blobs:,} parts of these, {found.layers:,} images "
        f"saved from sessions, and {found.attachments:,} compiled runtimes and images that were sent: "
        f"{found.bytes / 1e6:,.1f} MB"
    )
