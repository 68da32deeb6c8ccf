"""What was found out about builds of the guest that `builds.py` does not list, kept in the cache."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from pathlib import Path
from typing import Any, Final

from planaria.errors import RuntimeSetupError
from planaria.runtime.builds import Build
from planaria.runtime.cache import CompileCache
from planaria.runtime.error_texts import error_texts_digest
from planaria.runtime.file_status import file_status_digest
from planaria.runtime.frames import frames_digest
from planaria.runtime.integers import changes_digest
from planaria.runtime.mathematics import mathematics_digest

__all__ = ["find_survey", "keep_survey", "survey_path"]

#: Incremented when a survey finds more, or something else, than before.
_FORMAT: Final = 1

_log: Final = logging.getLogger("planaria.runtime")


def survey_path(cache: CompileCache, digest: str) -> Path:
    """Where it is kept what a build with that digest is like."""
    return cache.directory / f"build-{digest[:20]}.json"


def _subject(digest: str) -> list[Any]:
    """What a survey is of: of the same build another version of planaria may find other things."""
    return [
        _FORMAT,
        digest,
        frames_digest(),
        file_status_digest(),
        mathematics_digest(),
        error_texts_digest(),
        changes_digest(),
    ]


def find_survey(cache: CompileCache, digest: str) -> Build | None:
    """What is known about a build, None when it has to be looked at (again).

    Raises `RuntimeSetupError` when another user could have written it.
    """
    path = survey_path(cache, digest)
    if not path.exists():
        return None
    cache.check()
    try:
        reported = json.loads(path.read_text("utf-8"))
        if reported["subject"] != _subject(digest):
            return None
        return Build(
            cut=None if reported["cut"] is None else range(*map(int, reported["cut"])),
            stubbed=frozenset(map(str, reported["stubbed"])),
            full=frozenset(map(str, reported["full"])),
            limitations=tuple(map(str, reported["limitations"])),
            full_problem=None if reported["full_problem"] is None else str(reported["full_problem"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        _log.warning("%s cannot be read, and is made again: %r", path, error)
        return None


def keep_survey(cache: CompileCache, digest: str, build: Build) -> None:
    """Keep it for the next process. A cache that is read-only is left alone."""
    reported = {
        "subject": _subject(digest),
        "cut": None if build.cut is None else [build.cut.start, build.cut.stop],
        "stubbed": sorted(build.stubbed),
        "full": sorted(build.full),
        "limitations": build.limitations,
        "full_problem": build.full_problem,
    }
    path = survey_path(cache, digest)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        cache.prepare()
        partial.write_text(json.dumps(reported), "utf-8")
        partial.replace(path)
    except (OSError, RuntimeSetupError) as error:
        _log.warning("what this build is like cannot be kept, and is computed each time: %s", error)
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
