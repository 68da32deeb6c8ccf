"""Run a package's own tests in a session and natively, and print both counts as a table for the docs.

The packages of a native interpreter are mounted into the sandbox, where the test files, pytest and hypothesis
are taken from them; the package under test is the session's own. Each file runs in a fork of one session that
has imported everything. Tests that fail in the session alone go to standard error, with the ends of their
reports.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import planaria

__all__ = ["PACKAGES", "Tests", "print_table"]

#: Where the native interpreter's packages are mounted.
PACKAGES: Final = "/packages"

_Outcomes = dict[str, list[str]]

#: `run(root, file, options)` returns the outcome of each test, and the end of its report if it failed, by its
#: name.
_RUN: Final = """
import os
import pytest

class Missing:
    # What the guest lacks of a module that is built for tests alone. A test that makes one is skipped, and
    # one that has one as a parameter.
    def __init__(self, *arguments, **named):
        if "PYTEST_CURRENT_TEST" in os.environ:
            pytest.skip(f"{type(self).__name__} is not built in")

class Outcomes:
    def __init__(self):
        self.by_test = {}

    def pytest_collection_modifyitems(self, items):
        for item in items:
            parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
            if any(isinstance(one, Missing) for one in parameters):
                item.add_marker(pytest.mark.skip(reason="a parameter is not built in"))

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
            name = report.nodeid.partition("::")[2]
            self.by_test[name] = outcome, str(report.longrepr)[-600:] if outcome == "failed" else ""

def run(root, file, options):
    outcomes = Outcomes()
    standard = ["-q", "--no-header", "--tb=short", f"--rootdir={root}"]
    standard += ["-p", "no:cacheprovider", "-W", "ignore"]
    pytest.main([*standard, *options, f"{root}/{file}"], plugins=[outcomes])
    return outcomes.by_test
"""

_NATIVE: Final = f"""{_RUN}
import contextlib, json, sys
root, file, *options = sys.argv[1:]
with contextlib.redirect_stdout(sys.stderr):
    outcomes = run(root, file, options)
print(json.dumps(outcomes))
"""

_SESSION: Final = f"""
import json, sys
sys.path.append({PACKAGES!r})
{_RUN}
"""

_COLUMNS: Final = ("passed", "failed", "skipped", "xfailed")


@dataclass(frozen=True, slots=True)
class Tests:
    """How the tests of a package are run."""

    package: str
    options: tuple[str, ...]
    """Of pytest."""
    setup: str
    """Python code that makes the mounted test files part of the session's package."""
    timeout: float
    """Seconds for each file, in the session."""


def print_table(tests: Tests, python: str, files: Iterable[str]) -> None:
    """Run test files, paths within the package, and print a line of the table for each."""
    root = _located(tests.package, python)
    limits = planaria.Limits(timeout=tests.timeout, memory=4 << 30)
    mounts = [planaria.Mount(root.parent, PACKAGES, mode="ro")]
    print("| file | session: " + " | ".join([*_COLUMNS, "native: " + _COLUMNS[0], *_COLUMNS[1:]]) + " |")
    print("|---|" + "--:|" * (2 * len(_COLUMNS)), flush=True)
    with planaria.Session(mounts=mounts, limits=limits) as warm:
        warm.execute(_SESSION + tests.setup)
        for file in files:
            native = _native(python, root, file, tests)
            ours = _in_fork(warm, file, tests)
            counts = [Counter(outcome for outcome, _ in outcomes.values()) for outcomes in (ours, native)]
            print(f"| `{file}` |", *(f"{count[name]} |" for count in counts for name in _COLUMNS), flush=True)
            for name, (outcome, report) in ours.items():
                if outcome == "failed" and native.get(name, ["passed"])[0] != "failed":
                    print(f"{file}::{name}\n{report}\n", file=sys.stderr, flush=True)


def _located(package: str, python: str) -> Path:
    code = f"import {package}; print({package}.__path__[0])"
    return Path(
        subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    )


def _native(python: str, root: Path, file: str, tests: Tests) -> _Outcomes:
    command = [python, "-c", _NATIVE, str(root), file, *tests.options]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    outcomes: _Outcomes = json.loads(finished.stdout)
    return outcomes


def _in_fork(warm: planaria.Session, file: str, tests: Tests) -> _Outcomes:
    call = f"json.dumps(run({f'{PACKAGES}/{tests.package}'!r}, {file!r}, {tests.options!r}))"
    try:
        with warm.fork()[0] as session:
            outcomes: _Outcomes = json.loads(str(session.execute(call).value))
    except planaria.PlanariaError as error:
        print(f"{file}: {error}", file=sys.stderr, flush=True)
        return {}
    return outcomes
