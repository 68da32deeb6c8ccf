"""`planaria setup` and `planaria doctor`: the compiled runtime, as a person wants to see it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.status import Status

from planaria.runtime.available_memory import shortage
from planaria.runtime.doctor import Finding, Level, diagnose, setup
from planaria.runtime.tiers import Tier, is_compiled
from planaria.runtime.transfer import export_runtime, import_runtime

__all__ = ["ProgressReport", "clean_cache", "examine", "prepare"]

_COLOURS: Final = {Level.OK: "green", Level.NOTE: "yellow", Level.PROBLEM: "red"}


class ProgressReport:
    """Reports the progress of compilation: a line that moves on a terminal, otherwise a line at each end.

    Call it as `planaria.runtime.doctor.setup` calls its `on_progress`.
    """

    def __init__(self, console: Console, kind: str = "") -> None:
        """`kind` comes before the name of a tier."""
        self._console = console
        self._kind = f"{kind} " if kind else ""
        self._status: Status | None = None
        self._compiling: Tier | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def __call__(self, tier: Tier, seconds: float, done: bool) -> None:
        if done:
            self._stop()
            took = f"compiled in {seconds:.0f} s" if self._compiling is tier else "already there"
            self._console.print(f"{self._kind}{tier.value} runtime: {took}", highlight=False)
        elif self._console.is_terminal:
            text = f"{self._kind}{tier.value} runtime: compiling, {seconds:.0f} s"
            if self._status is None:
                self._status = self._console.status(text)
                self._status.start()
            self._status.update(text)
            self._compiling = tier
        elif self._compiling is not tier:
            self._console.print(f"{self._kind}{tier.value} runtime: compiling ...", highlight=False)
            self._compiling = tier

    def _stop(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def prepare(
    full: bool,
    exported: Path | None = None,
    imported: Path | None = None,
    *,
    metered: bool = False,
    target: str | None = None,
    source: str | None = None,
    images: Sequence[str] = (),
) -> None:
    """Take the runtime from a file or the store `source`, compile what is missing, and write it to a file and
    to the store `target`, as far as is wanted; `images` are sent and fetched, too.

    `metered` is for one that counts instructions, too. Says what happens. Raises RuntimeSetupError.
    """
    console = Console(soft_wrap=True, highlight=False, markup=False)
    if imported is not None:

        def report_tier(tier: Tier, was_there: bool) -> None:
            what = "already there" if was_there else f"imported from {imported}"
            console.print(f"{tier.value} runtime: {what}")

        import_runtime(imported, on_module=report_tier)
    tiers = [Tier.CORE, Tier.FULL] if full else [Tier.CORE]
    if source is not None:
        from planaria.cli.setup_store import fetch
        from planaria.stores.opening import open_store

        with contextlib.closing(open_store(source)) as store:
            fetch(store, tiers, images, console)
    wanted = [False] if imported is None or full or exported is not None else []
    for counts in [*wanted, True] if metered else wanted:
        for tier in tiers:
            if not is_compiled(tier, metered=counts) and (short := shortage(tier)) is not None:
                console.print(f"warning: {short}")
        with ProgressReport(console, "metered" if counts else "") as report:
            setup(full, report, metered=counts)
    if target is not None:
        from planaria.cli.setup_store import send
        from planaria.stores.opening import open_store

        with contextlib.closing(open_store(target)) as store:
            send(store, tiers, images, console)
    if exported is not None:
        export_runtime(exported, tiers)
        console.print(f"exported to {exported} ({exported.stat().st_size / 1e6:.0f} MB)")


def examine(*, as_json: bool) -> int:
    """Print what `diagnose` found; returns the exit status."""
    findings = diagnose()
    if as_json:
        print(json.dumps([_as_json(finding) for finding in findings], indent=2))
    else:
        console = Console(soft_wrap=True, highlight=False)
        width = max(len(finding.subject) for finding in findings)
        for finding in findings:
            mark = f"[{_COLOURS[finding.level]}]{finding.level.value:7}[/]"
            console.print(f"{mark}  {finding.subject:{width}}  ", end="")
            console.print(finding.message, markup=False)
    return int(any(finding.level is Level.PROBLEM for finding in findings))


def clean_cache(*, dry_run: bool, as_json: bool) -> None:
    """Remove what nothing needs and tell what it was. Raises RuntimeSetupError."""
    from planaria.images.cleaning import remove_unneeded, unneeded

    found = unneeded() if dry_run else remove_unneeded()
    if as_json:
        reported = [{"kind": one.kind, "path": str(one.path), "size": one.size} for one in found]
        print(json.dumps(reported, indent=2))
        return
    console = Console(soft_wrap=True, highlight=False, markup=False)
    for one in found:
        if one.kind != "lock":
            console.print(f"{one.kind}: {one.path} ({one.size / 1e6:.0f} MB)")
    if locks := sum(one.kind == "lock" for one in found):
        console.print(f"locks: {locks} files")
    total = sum(one.size for one in found) / 1e6
    if not found:
        console.print("there is nothing that can be removed")
    else:
        console.print(f"{total:.0f} MB {'can be' if dry_run else 'were'} freed")


def _as_json(finding: Finding) -> dict[str, str]:
    return {"level": finding.level.value, "subject": finding.subject, "message": finding.message}
