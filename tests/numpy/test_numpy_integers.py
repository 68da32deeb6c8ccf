"""Integers of numpy, pandas and scikit-learn in a session: as those of a 64-bit desktop, to the last bit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import planaria

pytestmark = pytest.mark.full

DTYPES = ["int", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
BINARY = ["{} + {}", "{} - {}", "{} * {}", "{} // {}", "{} % {}", "{} & {}", "{} | {}", "{} ^ {}"]
COMBINED = [
    *BINARY,
    "np.maximum({}, {})",
    "np.minimum({}, {})",
    "np.where(np.arange(4) % 2 == 0, {}, {})",
    "np.concatenate([{}, {}])",
    "np.dot({}, {})",
    "np.outer({}, {})",
    "np.einsum('i,i', {}, {})",
    "np.convolve({}, {})",
    "np.matmul({}.reshape(2, 2), {}.reshape(2, 2))",
]
APPLIED = [
    "{}.sum()",
    "{}.prod()",
    "{}.cumsum()",
    "{}.cumprod()",
    "{}.max()",
    "{}.astype(int)",
    "{}.astype('int32')",
    "{}.argsort(kind='stable')",
    "{}.argmax()",
    "{}.nonzero()[0]",
    "{}.reshape(2, 2).trace()",
    "{}.reshape(2, 2).sum(axis=0)",
    "{}.reshape(2, 2).argmin(axis=1)",
    "np.add.reduceat({}, [0, 2])",
    "np.bincount({} % 7)",
    "np.diff({})",
    "np.sort({})",
    "np.unique({}, return_counts=True)[1]",
    "np.unique({}, return_inverse=True)[1]",
    "np.count_nonzero({})",
    "np.searchsorted(np.sort({}), 3)",
    "np.argsort({}, kind='stable') * 10**10",
    "np.arange(10)[{} % 10]",
    "np.repeat({}, {0} % 3)",
    "np.histogram({}.astype('int8'), bins=3)[0]",
    "abs({})",
    "-{}",
    "~{}",
    "{} ** 2",
    "{} * 3",
    "{} + 100000",
    "{} % 1000 * 10**10",
]

# int64 with uint64 is float64, and what C makes of floats that do not fit an integer is undefined; a count of
# repetitions of type uint64 is accepted here.
NOT_OF_UINT64 = [
    *(template for template in APPLIED if "astype" in template),
    "np.repeat({}, {0} % 3)",
]

NUMBERS = st.one_of(
    st.integers(-3, 12),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([2**bits + offset for bits in (7, 15, 16, 31, 32, 40) for offset in (-1, 0, 1)]),
)


@st.composite
def arrays(draw: st.DrawFn) -> str:
    """The source of an array of four integers, wrapped into its type."""
    numbers = draw(st.lists(NUMBERS, min_size=4, max_size=4))
    dtype = draw(st.sampled_from(DTYPES))
    source = f"np.array({numbers})"
    return source if dtype == "int" else f"{source}.astype({dtype!r})"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """The source of an expression over arrays of integers."""
    source = draw(arrays())
    for _ in range(draw(st.integers(0, 2))):
        source = "(" + draw(st.sampled_from(BINARY)).format(source, draw(arrays())) + ")"
    if draw(st.booleans()):
        source = "(" + draw(st.sampled_from(COMBINED)).format(source, draw(arrays())) + ")"
    applied = [template for template in APPLIED if "uint64" not in source or template not in NOT_OF_UINT64]
    template = draw(st.sampled_from([*applied, "{}"]))
    return template.replace("{0}", "{}").format(*[source] * template.count("{"))


def natively(source: str) -> tuple[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = eval(source, {"np": np})
        except Exception as error:
            return type(error).__name__, None
    return value.dtype.str, value.tolist()


PREPARE = """
import warnings
import numpy as np
warnings.simplefilter("ignore")

def evaluated(source):
    try:
        value = eval(source)
    except Exception as error:
        return type(error).__name__, None
    return value.dtype.str, value.tolist()
"""


IMPORTS = "import numpy as np\nimport pandas as pd\n"
FRAME = "frame = pd.DataFrame({'a': [1, 2, 1], 'b': [3, 4, 5]})"


@pytest.fixture(scope="module")
def prepared() -> Iterator[planaria.Session]:
    """A session that has imported what the tests use: that takes a hundred times what a test of it does."""
    with planaria.Session() as session:
        session.execute(IMPORTS + "from scipy import sparse, spatial, stats")
        session.execute(FRAME)
        session.execute("tree = spatial.KDTree([[0, 0], [1, 1]])")
        yield session


@pytest.fixture
def session(prepared: planaria.Session) -> Iterator[planaria.Session]:
    """A copy of that session, for one test."""
    (copy,) = prepared.fork()
    with copy:
        yield copy


@pytest.fixture(scope="module")
def evaluate(prepared: planaria.Session) -> Iterator[Callable[[str], Any]]:
    """A function that evaluates an expression in one session."""
    (copy,) = prepared.fork()
    with copy:
        copy.execute(PREPARE)
        yield lambda source: copy.execute(f"evaluated({source!r})").value


@settings(max_examples=examples(600), deadline=None)
@given(source=programs())
def test_programs(evaluate: Callable[[str], Any], source: str) -> None:
    """An expression over integers has the type, the values or the error that native numpy gives."""
    assert repr(evaluate(source)) == repr(natively(source))  # NaN is not equal to itself


RIGHT = {
    "int(np.arange(1, 100001).sum())": 5000050000,
    "(np.array([50000]) ** 2).tolist()": [2500000000],
    "np.array([1.5e10]).astype(int).tolist()": [15000000000],
    "np.fromiter((n * 10**9 for n in range(5)), int).tolist()": [n * 10**9 for n in range(5)],
    "np.full(2, 2**31).tolist(), np.zeros(2, int).dtype.name": ([2**31] * 2, "int64"),
    "[np.dtype(name).name for name in ('int', 'uint', 'i4', 'i8')]": ["int64", "uint64", "int32", "int64"],
    "[t.__name__ for t in (np.int_, np.uint, np.int32, np.intc)]": ["int64", "uint64", "int32", "int32"],
    "np.square(100000).item(), np.add(2**31 - 1, 1).item()": (10**10, 2**31),
    "(np.array([True]) * 10**10).tolist()": [10**10],
    "repr(np.arange(2)), repr(np.arange(2, dtype='int32'))": (
        "array([0, 1])",
        "array([0, 1], dtype=int32)",
    ),
    "np.array([2**32 + 5]).astype(np.int32).tolist()": [5],
    "np.repeat([1, 2], np.array([2, 1])).tolist(), np.choose(np.array([0, 1]), [[1, 2], [3, 4]]).tolist()": (
        [1, 1, 2],
        [1, 4],
    ),
    "np.char.str_len(['ab']).dtype.name, np.ma.array([1, 2]).count(axis=0).dtype.name": ("int64", "int64"),
    "np.put(a := np.zeros(2, int), np.array([1]), 10**10) or a.tolist()": [0, 10**10],
    "np.where([1, 0], np.array([1, 2], 'l'), 0).dtype.name, np.where([1, 0])[0].dtype.name": (
        "int32",
        "int64",
    ),
    "np.argmax([[1, 5]], axis=1, out=np.zeros(1, int)).tolist()": [1],
    "np.searchsorted([3, 1, 2], [2, 3], sorter=np.argsort([3, 1, 2])).tolist()": [1, 2],
    "np.array([3, 1, 2]).searchsorted(2, sorter=[1, 2, 0]).item()": 1,
    "np.searchsorted([3, 1, 2], 2, 'right', np.array([1, 2, 0], 'u4')).item()": 2,
    "np.add.reduceat(np.arange(8), np.array([0, 4, 1, 5])).tolist()": [6, 4, 10, 18],
    "np.maximum.reduceat([[1, 5, 2]], indices=np.array([0, 2], 'u4'), axis=1).tolist()": [[5, 2]],
    "np.ufunc.reduceat(np.add, [1, 2, 3], [0, 2], out=np.zeros(2, int)).tolist()": [3, 3],
}


@pytest.mark.parametrize("source", RIGHT)
def test_values(session: Any, source: str) -> None:
    """The default integer has 64 bits wherever a desktop's has, and 32-bit integers that are asked for have 32."""
    assert session.execute(source).value == RIGHT[source]


@pytest.mark.parametrize("index", ["[2**32]", "[-2**32]", "[2**63 - 1]"])
def test_large_indices(session: Any, index: str) -> None:
    """An index that does not fit 32 bits is out of bounds, and never taken for another one."""
    assert session.run(f"np.array([1, 2])[np.array({index})]").error.type == "IndexError"


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("out", ["-1", "np.zeros(2, int)", "np.zeros((1, 1), int)", "np.zeros((), int)"])
def test_shape_of_out(session: Any, name: str, out: str) -> None:
    """`out` of another shape than the indices is refused, not filled by broadcasting."""
    source = f"np.{name}(np.arange(6).reshape(3, 2), axis=0, out={out})"
    expected = "TypeError" if out == "-1" else None if out == "np.zeros(2, int)" else "ValueError"
    error = session.run(source).error
    assert (error and error.type) == expected


@pytest.mark.parametrize("sorter", ["[2**32, 0, 1]", "[-(2**32), 0, 1]", "[9, 9, 9]"])
def test_indices_out_of_range(session: Any, sorter: str) -> None:
    """Indices of `searchsorted` or `reduceat` that name no item are refused, and never taken for others."""
    assert session.run(f"np.searchsorted([3, 1, 2], 2, sorter={sorter})").error.type == "ValueError"
    assert session.run(f"np.add.reduceat([3, 1, 2], np.array({sorter}))").error.type == "IndexError"


SEEDED = [
    "np.random.RandomState(0).randint(0, 100, 5)",
    "np.random.RandomState(0).randint(10**12, size=3)",
    "np.random.RandomState(0).choice(10, 4, replace=False)",
    "np.random.RandomState(0).permutation(6)",
    "np.random.RandomState(0).poisson(3, 4)",
    "np.random.RandomState(0).poisson(1e10, 2)",
    "np.random.RandomState(0).binomial(np.array([10, 20]), 0.5)",
    "np.random.RandomState(0).multinomial(10, [0.5, 0.5])",
    "np.random.RandomState(0).geometric(0.3, 4)",
    "np.random.RandomState(0).geometric(1e-11, 3)",
    "np.random.RandomState(0).zipf(3, 6)",
    "np.random.RandomState(0).hypergeometric(10, 5, 3, 4)",
    "np.random.RandomState(0).negative_binomial(5, 0.3, 3)",
    "np.random.RandomState(0).normal(size=3)",
    "np.random.default_rng(0).integers(10**12, size=3)",
    "np.random.default_rng(0).permutation(6)",
    "np.random.default_rng(0).normal(size=3)",
]


@pytest.mark.parametrize("source", SEEDED)
def test_seeded(session: Any, source: str) -> None:
    """Seeded random numbers are a desktop's, and arrive on the host with their type."""
    value, right = session.execute(source).value, eval(source)
    assert (value.dtype, value.tolist()) == (right.dtype, right.tolist())


def test_global_random(session: Any) -> None:
    """The functions of numpy.random share the state that `seed` sets, and an integer is Python's."""
    code = "import numpy as np\nnp.random.seed(7)\n(np.random.randint(10**12), np.random.rand(), np.random.choice(9))"
    np.random.seed(7)
    assert session.execute(code).value == (np.random.randint(10**12), np.random.rand(), np.random.choice(9))


def test_pandas(session: Any) -> None:
    """pandas' integers, from constructors, files, groups and indices, have 64 bits."""
    session.execute(
        dedent("""
        import io
        import pandas as pd
        frame = pd.DataFrame({"a": [1, 1, 2], "b": [10**9] * 3})
        """)
    )
    kinds = session.execute(
        dedent("""
        [str(kind) for kind in (
            pd.Series([1]).dtype, pd.read_csv(io.StringIO("a\\n1")).a.dtype, frame.groupby("a").size().dtype,
            frame.a.value_counts().dtype, pd.factorize(frame.a)[0].dtype, frame.b.argsort().dtype,
            pd.Index([1, 2]).get_indexer([2]).dtype,
        )]
        """)
    ).value
    assert kinds == ["int64"] * 7
    sums = session.execute("frame.groupby('a').b.sum().tolist() + [int(frame.b.sum())]").value
    assert sums == [2 * 10**9, 10**9, 3 * 10**9]


PANDAS_INDICES = [
    "pd.Index([1, 2]).argsort()",
    "pd.Index(['b', 'a']).get_indexer_for(['a'])",
    "pd.Index([1, 2, 1]).get_indexer_non_unique([1])[0]",
    "pd.Index([1, 2, 3]).join(pd.Index([2, 5]), how='outer', return_indexers=True)[1]",
    "pd.Index([2, 1]).sort_values(return_indexer=True)[1]",
    "pd.Index([3, 1]).sortlevel()[1]",
    "pd.Index([3, 1]).reindex([1])[1]",
    "pd.CategoricalIndex([1, 2]).reindex([2])[1]",
    "pd.RangeIndex(3).argsort()",
    "pd.RangeIndex(3).factorize()[0]",
    "pd.RangeIndex(3).searchsorted([1])",
    "pd.interval_range(0, 2).get_indexer([1])",
    "pd.MultiIndex.from_product([[1, 2], [3]]).argsort()",
    "pd.MultiIndex.from_product([[1, 2], [3]]).get_indexer([(1, 3)])",
    "pd.MultiIndex.from_product([[1, 2], [3]]).get_locs([1])",
    "pd.array([2, 1]).argsort()",
    "pd.array([2, 1]).factorize()[0]",
    "pd.array(['b', 'a']).argsort()",
    "pd.Categorical([2, 1]).argsort()",
    "pd.Categorical([2, 1]).codes",
    "pd.period_range('2020', periods=2).array.argsort()",
    "pd.arrays.SparseArray([0, 1]).argsort()",
    "frame.groupby('a').indices[1]",
    "frame.groupby(['a', 'b']).indices[1, 3]",
    "frame.groupby('a').ngroup().values",
    "frame.groupby('a').cumcount().values",
    "frame.groupby('a').agg(np.argmax).b.values",
    "frame.groupby('a').b.apply(np.argmax).values",
    "frame.groupby('a').transform(np.argsort).b.values",
    "frame.apply(np.argmax).values",
    "frame.apply(np.argsort).a.values",
    "frame.nunique().values",
    "frame.a.value_counts().values",
    "pd.Series(['a']).str.len().values",
    "pd.cut(frame.a, 2, labels=False).values",
]


@pytest.mark.parametrize("source", PANDAS_INDICES)
def test_pandas_indices(session: Any, source: str) -> None:
    """Indices and counts that pandas returns have a desktop's values and types, so that products fit."""
    namespace: dict[str, Any] = {}
    exec(IMPORTS + FRAME, namespace)
    right = np.asarray(eval(source, namespace))
    name, values = session.execute(f"indices = {source}\nindices.dtype.name, indices.tolist()").value
    assert (name, values) == (right.dtype.name, right.tolist())


SCIPY_INDICES = [
    "tree.count_neighbors(tree, [0.5, 2])",
    "tree.query_ball_point([[0, 0], [1, 1]], 2, return_length=True)",
    "stats.binned_statistic([1, 2], [1, 2], bins=2).binnumber",
    "sparse.csr_array(np.eye(2)).count_nonzero(axis=0)",
    "sparse.csr_matrix(np.eye(2)).getnnz(axis=0)",
]


@pytest.mark.parametrize("source", SCIPY_INDICES)
def test_scipy_indices(session: Any, source: str) -> None:
    """Indices and counts that scipy returns as pointer-sized integers have 64 bits."""
    assert session.execute(f"({source}).dtype.name").value == "int64"


def test_scikit_learn(session: Any) -> None:
    """scikit-learn's and scipy's compiled code gets indices as it needs them; their callers get 64 bits."""
    session.execute(
        dedent("""
        import numpy as np
        from sklearn.cluster import DBSCAN
        from sklearn.datasets import make_classification
        from sklearn.linear_model import LogisticRegression
        from sklearn.neighbors import KDTree, NearestNeighbors
        from sklearn.tree import DecisionTreeClassifier
        X, y = make_classification(60, random_state=0)
        """)
    )
    assert session.execute("LogisticRegression().fit(X, y).score(X, y) > 0.8").value is True
    assert session.execute("DecisionTreeClassifier(random_state=0).fit(X, y).score(X, y)").value == 1.0
    kinds = session.execute(
        dedent("""
        [kind.name for kind in (
            y.dtype, LogisticRegression().fit(X, y).predict(X).dtype, KDTree(X).query(X)[1].dtype,
            NearestNeighbors().fit(X).kneighbors(X)[1].dtype, DBSCAN().fit(X).labels_.dtype,
        )]
        """)
    ).value
    assert kinds == ["int64"] * 5


def test_what_scikit_learn_has_learned(session: Any) -> None:
    """What estimators have learned and functions return are the integers of a desktop."""
    session.execute(
        dedent("""
        import numpy as np
        from scipy import ndimage
        from sklearn import cluster, metrics
        from sklearn.datasets import make_moons
        from sklearn.model_selection import GridSearchCV
        from sklearn.neighbors import BallTree
        from sklearn.tree import DecisionTreeClassifier
        X, y = make_moons(40, random_state=0)
        grid = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}).fit(X, y)
        found = {"moons": y, "counts": metrics.precision_recall_fscore_support(y, y)[3]}
        found["confusion"] = metrics.multilabel_confusion_matrix(y, y)
        found["tree"] = BallTree(X).two_point_correlation(X, [1.0])
        found["indices"] = ndimage.value_indices(np.array([1, 0]))[1][0]
        found["best"], found["classes"] = grid.best_index_, grid.best_estimator_.n_classes_
        shift = cluster.MeanShift().fit(X)
        found["shift"] = shift.predict(X)
        for fitted in (
            shift, cluster.AffinityPropagation(random_state=0).fit(X), cluster.AgglomerativeClustering().fit(X),
            cluster.OPTICS(max_eps=1).fit(X), cluster.FeatureAgglomeration().fit(X), cluster.DBSCAN(eps=0.3).fit(X),
        ):
            for name, value in vars(fitted).items():
                if getattr(value, "dtype", None) in (np.intp, np.int32):
                    found[f"{type(fitted).__name__}.{name}"] = value
            found[f"{type(fitted).__name__}.labels_"] = fitted.labels_
        """)
    )
    kinds = session.execute("{name: value.dtype.name for name, value in found.items()}").value
    assert set(kinds.values()) == {"int64"}, kinds
    assert session.execute("cluster.FeatureAgglomeration().fit(X).transform(X).shape").value == (40, 2)
