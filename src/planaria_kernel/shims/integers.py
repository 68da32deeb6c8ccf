"""numpy's integers as on a 64-bit desktop, as far as they are chosen in Python.

The default integer itself is 64 bits wide in the machine code (`planaria.runtime.integers`). Here are the
names for it, the legacy random numbers, and what numpy and the packages on it return as indices. An index,
`numpy.intp`, has the 32 bits of a pointer, and compiled code reads it as such. So pandas, scipy and the like
get indices as they are; all other callers get int64, so that what they compute does not overflow.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from functools import cache, partial, update_wrapper
from gc import get_referents
from types import FrameType, ModuleType
from typing import Any, Final

from planaria_kernel.shims.importing import when_imported
from planaria_kernel.shims.integer_arguments import narrow_arguments

__all__ = ["install"]

#: Packages whose extension modules take arrays of `numpy.intp`.
_COMPILED: Final = frozenset(
    ("contourpy", "matplotlib", "pandas", "planaria_kernel", "scipy", "sklearn", "statsmodels")
)

#: Methods of arrays that return indices.
_METHODS: Final = ("argmax", "argmin", "argpartition", "argsort", "nonzero", "searchsorted")
#: Functions of `numpy._core._multiarray_umath` that return indices or counts.
_FUNCTIONS: Final = ("bincount", "count_nonzero", "lexsort", "ravel_multi_index", "unravel_index")
#: Functions of `numpy._core.strings` that return lengths, positions or counts.
_STRINGS: Final = ("count", "find", "index", "rfind", "rindex", "str_len")
#: Modules of numpy that return arrays which they make with `numpy.intp`.
_MODULES: Final = (
    "numpy._core.numeric",
    "numpy.lib._arraysetops_impl",
    "numpy.lib._histograms_impl",
    "numpy.ma.core",
)
_TREE: Final = "BinaryTree64.query BinaryTree64.query_radius BinaryTree64.two_point_correlation"
#: What other packages return as indices: functions as "name", methods as "class.name".
_INDICES: Final = {
    "pandas.core.algorithms": "factorize",
    "pandas.core.base": """
        IndexOpsMixin.argmax IndexOpsMixin.argmin IndexOpsMixin.factorize IndexOpsMixin.searchsorted
    """,
    "pandas.core.frame": "DataFrame.memory_usage",
    "pandas.core.groupby.groupby": "BaseGroupBy.indices",
    "pandas.core.reshape.tile": "cut qcut",
    "pandas.core.series": "Series.argsort Series.searchsorted",
    "scipy.optimize._lsap": "linear_sum_assignment",
    "scipy.sparse.csgraph._reordering": "reverse_cuthill_mckee",
    "scipy.signal._peak_finding": "argrelextrema argrelmax argrelmin find_peaks find_peaks_cwt",
    "scipy.sparse._compressed": "_cs_matrix.count_nonzero",
    "scipy.sparse._coo": "_coo_base.count_nonzero",
    "scipy.sparse._matrix": "spmatrix.getnnz",
    "scipy.spatial._ckdtree": """
        cKDTree.count_neighbors cKDTree.query cKDTree.query_ball_point
    """,
    "scipy.spatial._kdtree": "KDTree.count_neighbors KDTree.query KDTree.query_ball_point",
    "scipy.stats._binned_statistic": "binned_statistic binned_statistic_2d binned_statistic_dd",
    "scipy.ndimage._measurements": "value_indices",
    "sklearn.base": "ClusterMixin.fit_predict",
    "sklearn.cluster._affinity_propagation": "AffinityPropagation.predict",
    "sklearn.cluster._mean_shift": "MeanShift.predict",
    "sklearn.ensemble._forest": "BaseForest.apply",
    "sklearn.feature_selection._base": "SelectorMixin.get_support",
    "sklearn.mixture._base": "BaseMixture.fit_predict BaseMixture.predict",
    "sklearn.neighbors._ball_tree": _TREE,
    "sklearn.neighbors._base": "KNeighborsMixin.kneighbors RadiusNeighborsMixin.radius_neighbors",
    "sklearn.neighbors._kd_tree": _TREE,
    "sklearn.preprocessing._label": "LabelEncoder.fit_transform LabelEncoder.transform",
    "sklearn.tree._classes": "BaseDecisionTree.apply",
    "sklearn.utils._random": "sample_without_replacement",
}
#: Methods of pandas' indexes and extension arrays that return indices, alone or in a tuple.
_PANDAS_METHODS: Final = """
    argsort factorize get_indexer get_indexer_for get_indexer_non_unique get_locs join reindex searchsorted
    sort_values sortlevel
"""
#: The modules whose classes have them, by the module that imports them all.
_PANDAS_MODULES: Final = {
    "pandas.core.arrays": "pandas.core.arrays.",
    "pandas.core.indexes.api": "pandas.core.indexes.",
}
_PANDAS_PUBLIC: Final = ("pandas", "pandas.api.extensions", "pandas.arrays")
#: Modules of compiled packages that call functions of numpy for their users, as in `frame.apply(np.argmax)`.
_CALLING: Final = frozenset(
    (
        "pandas.core.apply",
        "pandas.core.groupby.generic",
        "pandas.core.groupby.groupby",
        "pandas.core.groupby.ops",
    )
)


def install() -> None:
    """Apply this to numpy and the packages on it when they are imported."""
    when_imported("numpy._core._multiarray_umath", _widen_functions)
    # Once the methods of arrays have their docstrings, which numpy gives only to those written in C.
    when_imported("numpy._core._add_newdocs", _widen_methods)
    when_imported("numpy._core._type_aliases", _alias)
    when_imported("numpy._core.strings", _widen_strings)
    when_imported("numpy.random.mtrand", _widen_random)
    when_imported("numpy", _widen_modules)
    changes: dict[str, list[Callable[[Any], None]]] = {}
    for name in sys.builtin_module_names:
        if name.partition(".")[0] in _COMPILED:
            changes[name] = [narrow_arguments]
    for name, functions in _INDICES.items():
        changes.setdefault(name, []).append(partial(_widen_package, functions.split()))
    changes.setdefault("sklearn.base", []).append(partial(_widen_decorated, "_fit_context", _widening_fit))
    validating = partial(_widen_decorated, "validate_params", _widening)
    changes["sklearn.utils._param_validation"] = [validating]
    for name, prefix in _PANDAS_MODULES.items():
        changes.setdefault(name, []).append(partial(_widen_classes, prefix))
    for name, steps in changes.items():
        when_imported(name, partial(_change, steps))


def _change(steps: Iterable[Callable[[Any], None]], module: Any) -> None:
    for step in steps:
        step(module)


# -- results -----------------------------------------------------------------------------------------


def _is_compiled(frame: FrameType | None) -> bool:
    """Whether a function was called by a package with extension modules, directly or through numpy."""
    direct = True
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        package = _package(module)
        if package != "numpy":
            return package in _COMPILED and (direct or module not in _CALLING)
        direct = False
        frame = frame.f_back
    return False


@cache
def _package(module: str) -> str:
    return module.partition(".")[0]


def _widened(value: Any) -> Any:
    """Indices as int64: of an array, scalar or series, a tuple or dict of these; other values as they are."""
    if type(value) is dict:
        return {key: _widened(item) for key, item in value.items()}
    if isinstance(value, tuple):
        items = [_widened(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    code = getattr(getattr(value, "dtype", None), "char", "")
    if code == "O" and type(value).__name__ == "ndarray" and value.ndim == 1:  # arrays of different lengths
        widened = value.copy()
        for position, item in enumerate(value):
            widened[position] = _widened(item)
        return widened
    # A 32-bit integer that was asked for has another code, `i`.
    return value.astype("int64") if code == "l" else value


def _widening(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its indices as int64 unless a compiled package asks for them."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return result if _is_compiled(sys._getframe(1)) else _widened(result)

    return update_wrapper(wrapper, function)


def _widening_reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """`argmax` and `argmin`, whose `out` may be int64."""

    def wrapper(self: Any, axis: Any = None, out: Any = None, **kwargs: Any) -> Any:
        if getattr(getattr(out, "dtype", None), "char", None) != "q":
            result = function(self, axis, out, **kwargs)
            return result if out is not None or _is_compiled(sys._getframe(1)) else _widened(result)
        indices = function(self, axis, **kwargs)
        if indices.shape != out.shape:
            raise ValueError(f"output array does not match result of np.{function.__name__}.")
        out[...] = indices
        return out

    return update_wrapper(wrapper, function)


def _narrowing_sorter(function: Callable[..., Any]) -> Callable[..., Any]:
    """`searchsorted`, whose `sorter` may have any type that fits int64."""

    def wrapper(self: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
        return function(self, v, side, None if sorter is None else _narrowed(sorter))

    return update_wrapper(wrapper, function)


def _narrowing_reduceat(function: Callable[..., Any]) -> Callable[..., Any]:
    """`ufunc.reduceat`, whose `indices` may have any type that fits int64."""

    def wrapper(self: Any, array: Any, indices: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, array, _narrowed(indices), *args, **kwargs)

    return update_wrapper(wrapper, function)


def _narrowed(value: Any) -> Any:
    """An array of a type that fits int64 as indices; other values as they are."""
    indices = sys.modules["numpy._core._multiarray_umath"].asarray(value)
    # One that does not fit stays out of range.
    return indices.clip(-(2**31), 2**31 - 1).astype("l") if indices.dtype.char in "qIL" else value


def _narrowing_put(function: Callable[..., Any]) -> Callable[..., Any]:
    """`put`, whose indices may be int64."""

    def wrapper(self: Any, indices: Any, values: Any, mode: Any = "raise") -> None:
        if getattr(getattr(indices, "dtype", None), "char", "") == "q":
            indices = indices.astype("l")
        function(self, indices, values, mode)

    return update_wrapper(wrapper, function)


def _replace(owner: type, changes: dict[str, Any]) -> None:
    """Set attributes of a type, also of one written in C."""
    (attributes,) = get_referents(owner.__dict__)
    attributes.update(changes)
    sys._clear_type_cache()  # its methods may have been looked up


# -- numpy -------------------------------------------------------------------------------------------


def _widen_methods(_: ModuleType) -> None:
    module = sys.modules["numpy._core._multiarray_umath"]
    ufunc, ndarray = type(module.add), module.ndarray
    _replace(ufunc, {"reduceat": _narrowing_reduceat(vars(ufunc)["reduceat"])})
    methods = vars(ndarray)
    reductions = {name: _widening_reduction(methods[name]) for name in ("argmax", "argmin")}
    others = {name: _widening(methods[name]) for name in _METHODS if name not in reductions}
    others["searchsorted"] = _widening(_narrowing_sorter(methods["searchsorted"]))
    _replace(ndarray, reductions | others | {"put": _narrowing_put(methods["put"])})


def _widen_functions(module: Any) -> None:
    where = module.where

    def chosen(*args: Any) -> Any:
        # With one argument these are indices, as of `nonzero`; otherwise the type is the arguments'.
        result = where(*args)
        return result if len(args) > 1 or _is_compiled(sys._getframe(1)) else _widened(result)

    chosen.__name__ = "where"
    module.where = chosen
    for name in _FUNCTIONS:
        function = _widening(getattr(module, name))
        function.__doc__ = None  # numpy adds it
        setattr(module, name, function)


def _alias(module: Any) -> None:
    """The names of types: `long` is the type of indices alone, `int` that of 32-bit integers."""
    types = {name: module.typeinfo[f"NPY_{name}"].type for name in ("INT", "UINT", "LONGLONG", "ULONGLONG")}
    names = {"int_": "LONGLONG", "uint": "ULONGLONG", "int32": "INT", "uint32": "UINT"}
    for table in (module.allTypes, module.sctypeDict):
        table.update({name: types[type_] for name, type_ in names.items()})
    module.sctypeDict["int"] = types["LONGLONG"]


def _widen_strings(module: Any) -> None:
    for name in _STRINGS:
        setattr(module, name, _widening(getattr(module, name)))


def _widen_modules(numpy: ModuleType) -> None:
    view = ModuleType(numpy.__name__)
    view.__dict__.update(numpy.__dict__, intp=numpy.int64)
    for name in _MODULES:
        when_imported(name, partial(_set_numpy, view))


def _set_numpy(view: ModuleType, module: Any) -> None:
    module.np = view


def _widen_package(names: Iterable[str], module: Any) -> None:
    for name in names:
        owner, _, attribute = name.rpartition(".")
        holder = getattr(module, owner) if owner else module
        value = getattr(holder, attribute)
        getter = getattr(value, "fget", None)  # of a property
        changes = {attribute: _widening(value) if getter is None else property(_widening(getter))}
        if isinstance(holder, type):
            _replace(holder, changes)
        else:
            vars(holder).update(changes)
    if module.__name__ == "sklearn.utils._random":
        _fill_long(module)


def _widen_classes(prefix: str, _: ModuleType) -> None:
    """Widen what `_PANDAS_METHODS` return, of all classes that a package's modules define."""
    classes = {
        value
        for name, module in list(sys.modules.items())
        if name.startswith(prefix)
        for value in vars(module).values()
        # Public classes name a public module as theirs.
        if isinstance(value, type) and value.__module__ in (name, *_PANDAS_PUBLIC)
    }
    for class_ in classes:
        own = vars(class_)
        methods = [name for name in _PANDAS_METHODS.split() if name in own]
        _replace(class_, {name: _widening(own[name]) for name in methods})


def _fill_long(module: Any) -> None:
    """Its arrays of `int` are those of C's `long`."""
    numpy = module.np

    def empty(shape: Any, dtype: Any = float) -> Any:
        return numpy.empty(shape, numpy.long if dtype is int else dtype)

    module.np = ModuleType(numpy.__name__)
    module.np.__dict__.update(numpy.__dict__, empty=empty)


def _widen_decorated(name: str, change: Callable[[Any], Any], module: Any) -> None:
    """Apply `change` to all that scikit-learn decorates by its function `name`: its public functions, or the
    methods `fit` of its estimators.
    """
    make = getattr(module, name)

    def widening(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        decorate = make(*args, **kwargs)
        return lambda function: change(decorate(function))

    setattr(module, name, update_wrapper(widening, make))


def _widening_fit(fit: Callable[..., Any]) -> Callable[..., Any]:
    """A method `fit`, or one like it, with what it has learned as int64."""

    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = fit(self, *args, **kwargs)
        learned = vars(self)
        learned.update(
            {
                name: _widened(value)
                for name, value in learned.items()
                if name.endswith("_") and not name.startswith("_")
            }
        )
        return result

    return update_wrapper(wrapper, fit)


# -- legacy random numbers ---------------------------------------------------------------------------


def _widen_random(module: Any) -> None:
    """`RandomState` and the functions of its global instance, with the numbers of a 64-bit desktop."""
    from numpy import arange, array, asarray, ceil, iinfo, int64, integer, log, log1p

    state = module.RandomState
    methods = dict(vars(state))

    def widened(name: str) -> Callable[..., Any]:
        method = methods[name]

        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            return _widened(method(self, *args, **kwargs))

        return update_wrapper(wrapper, method)

    def generated(name: str) -> Callable[..., Any]:
        """By the newer generator, which makes the same numbers in 64 bits."""

        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            from numpy.random import Generator

            return getattr(Generator(self._bit_generator), name)(*args, **kwargs)

        return update_wrapper(wrapper, methods[name])

    def randint(self: Any, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        if dtype is not int:
            return methods["randint"](self, low, high, size, dtype)
        numbers = methods["randint"](self, low, high, size, int64)
        return int(numbers) if size is None and array(numbers).shape == () else numbers

    def random_integers(self: Any, low: Any, high: Any = None, size: Any = None) -> Any:
        if high is None:
            low, high = 1, low
        advice = f"This function is deprecated. Please call randint({low}, {high} + 1) instead"
        warnings.warn(advice, DeprecationWarning, stacklevel=2)
        return methods["randint"](self, low, int(high) + 1, size, int64)

    def permutation(self: Any, x: Any) -> Any:
        if not isinstance(x, (int, integer)):
            return methods["permutation"](self, x)
        numbers = arange(x)
        self.shuffle(numbers)
        return numbers

    def geometric(self: Any, p: Any, size: Any = None) -> Any:
        probabilities = asarray(p, dtype=float)
        if not ((probabilities > 0) & (probabilities < 1e-6)).all():
            return _widened(methods["geometric"](self, p, size))
        shape = probabilities.shape if size is None else size
        numbers = ceil(log1p(-self.random_sample(shape)) / log(1 - probabilities))
        return int(numbers) if size is None and not shape else numbers.astype(int64)

    def binomial(self: Any, n: Any, p: Any, size: Any = None) -> Any:
        trials = asarray(n)
        if trials.dtype.kind in "iu" and (abs(trials) <= iinfo("l").max).all():
            n = trials.astype("l")
        return _widened(methods["binomial"](self, n, p, size))

    same = {"poisson": generated("poisson")}
    wide = {name: widened(name) for name in ("choice", "multinomial")}
    own = {
        function.__name__: update_wrapper(function, methods[function.__name__])
        for function in (binomial, geometric, permutation, randint, random_integers)
    }
    _replace(state, same | wide | own)
    instance = module._rand
    for name, value in list(vars(module).items()):
        if getattr(value, "__self__", None) is instance:
            setattr(module, name, getattr(instance, name))
