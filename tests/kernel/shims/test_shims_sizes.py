"""Sizes beyond 2**31 in the standard library."""

from __future__ import annotations

import random
from typing import Any

import pytest

import planaria


@pytest.fixture(scope="module")
def session() -> planaria.Session:
    session = planaria.Session()
    # Each case may be the first one that a worker runs.
    session.execute("import csv, functools, io, itertools, random, sys")
    return session


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("import sys\nsys.maxsize, min(3_000_000_000, sys.maxsize)", (2**63 - 1, 3_000_000_000)),
        ("import random\nrandom.seed(1); len(random.sample(range(10**10), 2))", 2),
        ("random.seed(7); random.choice(range(0, 10**12, 3)) % 3", 0),
        ("random.seed(7); random.choice(range(10**12, 0, -3)) <= 10**12", True),
        ("random.sample(range(-(10**10), 10**10, 10**10), 2).__len__()", 2),
        ("random.choices(range(10**10), k=1)[0] < 10**10", True),
        ("random.choice(range(7, 8)), random.choice([5])", (7, 5)),
        (
            "import functools\nf = functools.lru_cache(10**10)(abs); f(-1), f.cache_parameters()['maxsize']",
            (1, 10**10),
        ),
        ("functools.lru_cache(sys.maxsize, True)(abs)(-2), functools.lru_cache(abs)(-3)", (2, 3)),
        ("import itertools\nlist(itertools.islice('abcdef', 10**10))", list("abcdef")),
        (
            "list(itertools.islice('abcdef', 1, sys.maxsize, 2)), list(itertools.islice('abc', 2))",
            (["b", "d", "f"], ["a", "b"]),
        ),
        ("list(itertools.islice('abcdef', 10**10, None))", []),
        (
            "list(itertools.islice('abc', 10**10, 10**10 + 1)), repr(itertools.islice('', 1))[:24]",
            ([], "<itertools.islice object"),
        ),
        (
            "i = iter('abc'); j = itertools.islice(i, 10**10); next(j), list(i), list(j)",
            ("a", ["b", "c"], []),
        ),
        ("import reprlib\nreprlib.Repr(maxlist=sys.maxsize).repr([1] * 9)", repr([1] * 9)),
        ("import csv\ncsv.field_size_limit(sys.maxsize), csv.field_size_limit() > 2**30", (131072, True)),
        (
            "import gzip\ngzip.decompress(gzip.compress(b'a' * 9)), gzip.GzipFile(fileobj=__import__('io').BytesIO(gzip.compress(b'b'))).read()",
            (b"a" * 9, b"b"),
        ),
        ("import decimal\ndecimal.MAX_PREC", 999999999999999999),
        (
            "import numpy as np\n"
            "np.set_printoptions(threshold=sys.maxsize); np.set_printoptions(legacy=False)\n"
            "str(np.arange(3)), repr(np.float64(1)), np.get_printoptions()['legacy']",
            ("[0 1 2]", "np.float64(1.0)", False),
        ),
        (
            "import collections.abc\n"
            "class Pair(collections.abc.Set):\n"
            "    def __contains__(self, item): return item in (1, 2)\n"
            "    def __iter__(self): return iter((1, 2))\n"
            "    def __len__(self): return 2\n"
            "    __hash__ = collections.abc.Set._hash\n"
            "hash(Pair()) == hash(frozenset((1, 2)))",
            True,
        ),
    ],
)
def test_takes(session: planaria.Session, source: str, value: Any) -> None:
    """Sizes beyond 2**31 are accepted where Python code measures, with a desktop's results."""
    assert session.execute(source).value == value


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (
            "import itertools; itertools.islice('a', -1)",
            "Stop argument for islice() must be None or an integer",
        ),
        ("itertools.islice('a', 10**10, -1)", "Stop argument for islice() must be None or an integer"),
        ("itertools.islice('a', 10**20)", "Stop argument for islice() must be None or an integer"),
        ("itertools.islice('a', 0, 10**10, 0)", "Step for islice() must be a positive integer or None."),
        ("itertools.islice('a')", "islice expected at least 2 arguments, got 1"),
        ("import random; random.choice(range(0))", "Cannot choose from an empty sequence"),
        ("import random; random.sample(range(3), 4)", "Sample larger than population or is negative"),
    ],
)
def test_refuses(session: planaria.Session, source: str, error: str) -> None:
    """What a desktop refuses is refused with its message."""
    assert error in str(session.run(source).error)


@pytest.mark.parametrize(
    "source",
    [
        "len(range(10**10))",
        "from collections import deque; deque(maxlen=10**10)",
        "'a' * 10**10",
        "'a'.replace('a', 'b', 10**10)",
    ],
)
def test_says_why(session: planaria.Session, source: str) -> None:
    """A size that compiled code cannot hold is an OverflowError that names the sandbox's 32 bits, once."""
    error = session.run(source).error
    assert str(error).startswith("OverflowError: ")
    assert str(error).endswith(" (sizes, indices and C long have 32 bits in the sandbox: at most 2147483647)")
    assert str(error).count("32 bits") == 1


def test_leaves_other_overflows(session: planaria.Session) -> None:
    """An OverflowError of another kind keeps its message."""
    assert str(session.run("2.0 ** 10000").error).endswith("(68, 'Numerical result out of range')")


@pytest.mark.parametrize(
    "seed", [2.5, -2.5, 0.1, -1.0, 1e300, 5e-324, float("inf"), float("-inf"), 0.0, "x", 7, -7]
)
def test_random_numbers_of_a_seed(session: planaria.Session, seed: object) -> None:
    """A seed of any kind gives a desktop's numbers, a float too, which seeds by its hash."""
    code = (
        f"inf = float('inf'); random.seed({seed!r}); random.random(), random.Random({seed!r}).getrandbits(40)"
    )
    generator = random.Random(seed)  # type: ignore[arg-type]
    assert session.execute(code).value == (generator.random(), random.Random(seed).getrandbits(40))  # type: ignore[arg-type]


def test_terminal_size(session: planaria.Session) -> None:
    """There is no terminal: `os.get_terminal_size` raises OSError, and `shutil` gives its usual size."""
    session.execute("import os, shutil")
    result = session.run("os.get_terminal_size()")
    assert result.error is not None
    assert result.error.type == "OSError"
    assert session.execute("tuple(shutil.get_terminal_size())").value == (80, 24)
