"""Run numpy's own tests in a session and natively, and print both counts as a table for the docs.

    python tools/numpy_tests.py PYTHON [FILE ...]

PYTHON is an interpreter with the session's version of numpy, with pytest and a hypothesis in pure Python
(such as 6.112). Its packages are mounted into the sandbox, where numpy's test files, pytest and hypothesis
are taken from them. FILE is a test file's path within numpy, such as `_core/tests/test_umath.py`; without
any, all of `FILES` run. Tests that fail in the session alone go to standard error, with the ends of their
reports.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Final

import planaria

#: The tests of integers, and of what chooses their types.
FILES: Final = """
    _core/tests/test_numeric.py _core/tests/test_multiarray.py _core/tests/test_umath.py
    _core/tests/test_ufunc.py _core/tests/test_scalarmath.py _core/tests/test_dtype.py
    _core/tests/test_array_coercion.py
    _core/tests/test_einsum.py _core/tests/test_indexing.py _core/tests/test_item_selection.py
    _core/tests/test_nep50_promotions.py _core/tests/test_shape_base.py _core/tests/test_function_base.py
    _core/tests/test_datetime.py _core/tests/test_strings.py _core/tests/test_regression.py
    lib/tests/test_function_base.py lib/tests/test_arraysetops.py lib/tests/test_histograms.py
    lib/tests/test_index_tricks.py lib/tests/test_nanfunctions.py lib/tests/test_shape_base.py
    lib/tests/test_twodim_base.py lib/tests/test_arraypad.py lib/tests/test_io.py lib/tests/test_polynomial.py
    random/tests/test_random.py random/tests/test_randomstate.py random/tests/test_generator_mt19937.py
    ma/tests/test_core.py linalg/tests/test_linalg.py polynomial/tests/test_polynomial.py
    matrixlib/tests/test_defmatrix.py
"""

#: `run(root, file)` returns the outcome of each test, and the end of its report if it failed, by its name.
RUN: Final = """
import pytest

class Outcomes:
    def __init__(self):
        self.by_test = {}

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
            name = report.nodeid.partition("::")[2]
            self.by_test[name] = outcome, str(report.longrepr)[-600:] if outcome == "failed" else ""

def run(root, file):
    outcomes = Outcomes()
    options = ["-q", "--no-header", "--tb=short", f"--rootdir={root}"]
    options += ["-p", "no:cacheprovider", "--noconftest", "-W", "ignore"]
    options += ["-m", "not slow", "-o", "markers=slow"]
    pytest.main([*options, f"{root}/{file}"], plugins=[outcomes])
    return outcomes.by_test
"""

NATIVE: Final = f"""{RUN}
import contextlib, json, sys
with contextlib.redirect_stdout(sys.stderr):
    outcomes = run(*sys.argv[1:])
print(json.dumps(outcomes))
"""

_PACKAGES: Final = "/packages"

#: The session's own packages come before the mounted ones. A test that calls a function of an extension
#: module which is for tests alone, and which the guest lacks, is skipped.
SESSION: Final = f"""
import sys
sys.path.append({_PACKAGES!r})
{RUN}
import importlib
for name in "", "._core", ".lib", ".random", ".ma", ".linalg", ".polynomial", ".matrixlib":
    package = importlib.import_module("numpy" + name)
    package.__path__.append({_PACKAGES!r} + "/" + package.__name__.replace(".", "/"))

def missing(name):
    return lambda *arguments, **named: pytest.skip(f"{{name}} is not built in")

for name in "_multiarray_tests _operand_flag_tests _rational_tests _struct_ufunc_tests _umath_tests".split():
    try:
        importlib.import_module("numpy._core." + name)
    except ModuleNotFoundError:
        module = type(sys)("numpy._core." + name)
        module.__getattr__ = missing
        sys.modules[module.__name__] = module
        setattr(sys.modules["numpy._core"], name, module)
"""

_COLUMNS: Final = ("passed", "failed", "skipped", "xfailed")


def _located(python: str) -> Path:
    code = "import numpy; print(numpy.__path__[0])"
    return Path(
        subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    )


def _native(python: str, root: Path, file: str) -> dict[str, list[str]]:
    command = [python, "-c", NATIVE, str(root), file]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    outcomes: dict[str, list[str]] = json.loads(finished.stdout)
    return outcomes


def _in_session(root: Path, file: str) -> dict[str, list[str]]:
    limits = planaria.Limits(timeout=1800, memory=4 << 30)
    mounts = [planaria.Mount(root.parent, _PACKAGES, mode="ro")]
    with planaria.Session(mounts=mounts, limits=limits) as session:
        session.execute(SESSION)
        call = f"json.dumps(run({_PACKAGES + '/numpy'!r}, {file!r}))"
        value = session.execute(f"import json\n{call}").value
        outcomes: dict[str, list[str]] = json.loads(str(value))
        return outcomes


def main(python: str, files: list[str]) -> int:
    """Print the table; returns the exit status."""
    root = _located(python)
    print("| file | session: " + " | ".join([*_COLUMNS, "native: " + _COLUMNS[0], *_COLUMNS[1:]]) + " |")
    print("|---|" + "--:|" * (2 * len(_COLUMNS)))
    for file in files or FILES.split():
        native = _native(python, root, file)
        try:
            ours = _in_session(root, file)
        except planaria.PlanariaError as error:
            print(f"{file}: {error}", file=sys.stderr)
            ours = {}
        counts = [Counter(outcome for outcome, _ in outcomes.values()) for outcomes in (ours, native)]
        print(f"| `{file}` |", *(f"{count[name]} |" for count in counts for name in _COLUMNS), flush=True)
        for name, (outcome, report) in ours.items():
            if outcome == "failed" and native.get(name, ["passed"])[0] != "failed":
                print(f"{file}::{name}\n{report}\n", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2:]))
