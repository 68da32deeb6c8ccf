"""The exceptions as users import them."""

from __future__ import annotations

import pickle

import pytest

import planaria
import planaria.errors


@pytest.mark.parametrize("name", planaria.errors.__all__)
def test_names_in_tracebacks(name: str) -> None:
    """Tracebacks and pickles name an exception as it is imported."""
    kind = getattr(planaria, name)
    assert f"{kind.__module__}.{kind.__qualname__}" == f"planaria.{name}"
    assert pickle.loads(pickle.dumps(kind)) is kind


def test_repr_of_what_code_raised() -> None:
    """The repr of an ExecutionError has the type that the code raised."""
    assert repr(planaria.ExecutionError("no", type="KeyError")) == "ExecutionError('KeyError: no')"
    assert repr(planaria.ExecutionError("", type="StopIteration")) == "ExecutionError('StopIteration')"


@pytest.mark.parametrize(
    "error",
    [planaria.SessionBusy("wait"), planaria.SnapshotCorrupt("cut"), planaria.FileSystemError(2, "no", "a")],
)
def test_common_attributes(error: planaria.PlanariaError) -> None:
    """Every error has the attributes of what an execution ends with, and they survive pickling."""
    for one in error, pickle.loads(pickle.dumps(error)):
        assert (one.type, one.message) == (type(error).__name__, str(error))
        assert (one.traceback, one.lineno, one.exit_code) == ("", None, None)
        assert (one.stdout, one.stderr, one.state, one.rewound_to) == ("", "", "kept", None)
