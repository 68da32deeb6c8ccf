"""Run pandas' own tests in a session and natively, and print both counts as a table for the docs.

    python tools/pandas_tests.py PYTHON [FILE ...]

PYTHON is an interpreter with the session's versions of numpy and pandas, with pytest and a hypothesis in pure
Python (such as 6.112). FILE is a test file's path within pandas, such as `tests/test_algos.py`; without any,
all of `FILES` run.
"""

from __future__ import annotations

import sys
from typing import Final

from package_tests import PACKAGES, Tests, print_table

#: The tests of what computes with integers and indices.
FILES: Final = """
    tests/test_take.py tests/test_sorting.py tests/test_algos.py tests/libs/test_join.py
    tests/libs/test_libalgos.py tests/libs/test_lib.py tests/libs/test_hashtable.py
    tests/reshape/concat/test_concat.py tests/reshape/merge/test_merge.py tests/reshape/test_cut.py
    tests/reshape/test_pivot.py tests/groupby/test_groupby.py tests/groupby/test_counting.py
    tests/groupby/test_indexing.py tests/groupby/transform/test_transform.py
    tests/indexes/test_indexing.py tests/indexes/test_setops.py tests/indexes/multi/test_indexing.py
    tests/indexes/multi/test_sorting.py tests/indexing/test_loc.py tests/indexing/test_iloc.py
    tests/frame/test_reductions.py tests/frame/methods/test_rank.py tests/frame/methods/test_sort_values.py
    tests/series/methods/test_argsort.py tests/series/test_reductions.py tests/reductions/test_reductions.py
    tests/arithmetic/test_numeric.py tests/dtypes/test_inference.py tests/arrays/categorical/test_indexing.py
    tests/arrays/sparse/test_array.py tests/arrays/integer/test_arithmetic.py tests/window/test_rolling.py
    tests/resample/test_base.py tests/io/parser/test_c_parser_only.py tests/io/json/test_pandas.py
"""

#: The session's own package comes before the mounted one, which has the tests.
_SETUP: Final = f"""
import pandas
pandas.__path__.append({PACKAGES!r} + "/pandas")
import pandas.testing, pandas._testing
"""

_OPTIONS: Final = ("-m", "not slow and not network and not db", "-o", "xfail_strict=false")

if __name__ == "__main__":
    print_table(Tests("pandas", _OPTIONS, _SETUP, timeout=300), sys.argv[1], sys.argv[2:] or FILES.split())
