"""Run numpy's own tests in a session and natively, and print both counts as a table for the docs.

    python tools/numpy_tests.py PYTHON [FILE ...]

PYTHON is an interpreter with the session's version of numpy, with pytest and a hypothesis in pure Python
(such as 6.112). FILE is a test file's path within numpy, such as `_core/tests/test_umath.py`; without any,
all of `FILES` run.
"""

from __future__ import annotations

import sys
from typing import Final

from package_tests import PACKAGES, Tests, print_table

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

#: The session's own packages come before the mounted ones. A test that calls a function of an extension
#: module which is for tests alone, and which the guest lacks, is skipped (`Missing`).
_SETUP: Final = f"""
import importlib
for name in "", "._core", ".lib", ".random", ".ma", ".linalg", ".polynomial", ".matrixlib":
    package = importlib.import_module("numpy" + name)
    package.__path__.append({PACKAGES!r} + "/" + package.__name__.replace(".", "/"))

def missing(name):
    return type(name, (Missing,), {{}})

for name in "_multiarray_tests _operand_flag_tests _rational_tests _struct_ufunc_tests _umath_tests".split():
    try:
        importlib.import_module("numpy._core." + name)
    except ModuleNotFoundError:
        module = type(sys)("numpy._core." + name)
        module.__getattr__ = missing
        sys.modules[module.__name__] = module
        setattr(sys.modules["numpy._core"], name, module)
"""

_OPTIONS: Final = ("--noconftest", "-m", "not slow", "-o", "markers=slow")

if __name__ == "__main__":
    tests = Tests("numpy", _OPTIONS, _SETUP, timeout=1800)
    print_table(tests, sys.argv[1], sys.argv[2:] or FILES.split())
