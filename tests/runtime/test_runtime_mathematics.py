"""What libc's mathematical functions make of arguments outside their domain."""

from __future__ import annotations

import math

import pytest

import planaria
from planaria.runtime import mathematics
from planaria.runtime.artifact import artifact
from planaria.runtime.mathematics import BEGINNINGS, mathematics_digest, mathematics_functions
from planaria.runtime.wasmfile import WasmFile


@pytest.fixture(scope="module")
def session() -> planaria.Session:
    session = planaria.Session()
    session.execute("import numpy as np; np.seterr(all='ignore')")
    return session


def test_functions_are_changed() -> None:
    """Each function is in the guest's module and gets a longer body; one that is not there is said."""
    wasm = WasmFile(artifact().module.read_bytes())
    bodies, missing = mathematics_functions(wasm)
    assert missing == []
    assert set(bodies) == {wasm.names()[name] for name in BEGINNINGS}


def test_missing_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that a build lacks is said, and the others are changed."""
    wasm = WasmFile(artifact().module.read_bytes())
    before = mathematics_digest()
    monkeypatch.setattr(mathematics, "BEGINNINGS", {**BEGINNINGS, "acosh16": b""})
    bodies, missing = mathematics_functions(wasm)
    assert len(bodies) == len(BEGINNINGS)
    assert [one.partition(" ")[0] for one in missing] == ["acosh16"]
    assert mathematics_digest() != before


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble"])
def test_arccosh_below_one(session: planaria.Session, dtype: str) -> None:
    """`arccosh` below 1 is NaN for every number."""
    code = f"""
        x = np.concatenate([np.linspace(-2e5, 0.99, 50_000), -np.logspace(0, 300, 20_000)]).astype("{dtype}")
        bool(np.isnan(np.arccosh(x)).all()), float(np.arccosh(np.array([1, 2], "{dtype}")).sum())
    """
    nan, total = session.execute(code).value
    assert nan
    assert total == pytest.approx(math.acosh(2), rel=1e-3)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble"])
def test_exponent_of_infinity(session: planaria.Session, dtype: str) -> None:
    """`frexp` gives the exponent 0 for infinities and NaN, as on a desktop, and the right one for others."""
    code = f"""
        numbers = np.array([np.inf, 8, -np.inf, np.nan, 0, 6.1e-5], "{dtype}")
        mantissas, exponents = np.frexp(numbers)
        exponents.tolist(), [float(mantissa) for mantissa in mantissas[:3]]
    """
    assert session.execute(code).value == ([0, 4, 0, 0, 0, -14], [math.inf, 0.5, -math.inf])


def test_python(session: planaria.Session) -> None:
    """Python's own functions raise or return what they do on a desktop."""
    result = session.run("import math; math.frexp(math.inf), math.frexp(5e-324), math.acosh(2)")
    assert result.value == ((math.inf, 0), math.frexp(5e-324), pytest.approx(math.acosh(2)))
    failed = session.run("math.acosh(-40635.0)")
    assert failed.error is not None
    assert failed.error.type == "ValueError"
