"""All that depends on one build of the guest, by digest. Written by tools/survey_artifact.py.

It can be computed (`survey.py`), which takes seconds at the first start with a build. `full` has more here
than is computed: the tool imports every module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["BUILDS", "Build"]


@dataclass(frozen=True, slots=True)
class Build:
    """What depends on how one build of the guest was linked."""

    cut: range | None
    """The functions whose bodies are stubs in the core tier: the linker put the packages' between CPython's
    own and those of zlib, SQLite and libc. None where it did not; then there is no core tier."""
    stubbed: frozenset[str]
    """The built-in modules among these."""
    full: frozenset[str]
    """The packages and modules whose import needs one of them, as far as is known. It only saves time: an
    import that was not foreseen is stopped when it reaches a package with a stubbed module."""
    limitations: tuple[str, ...] = ()
    """What does not work as in other builds, a sentence each."""
    full_problem: str | None = None
    """Why the full tier cannot be compiled, None when it can be."""


_STUBBED: Final = """\
PIL._imaging PIL._imagingmath PIL._imagingmorph contourpy._contourpy kiwisolver._cext lxml.etree
lxml.objectify matplotlib._c_internal_utils matplotlib._image matplotlib._path matplotlib._qhull
matplotlib._tri matplotlib.backends._backend_agg matplotlib.ft2font numpy._core._multiarray_umath
numpy.fft._pocketfft_umath numpy.linalg._umath_linalg numpy.linalg.lapack_lite
numpy.random._bounded_integers numpy.random._common numpy.random._generator numpy.random._mt19937
numpy.random._pcg64 numpy.random._philox numpy.random._sfc64 numpy.random.bit_generator
numpy.random.mtrand pandas._libs._cyutility pandas._libs.algos pandas._libs.arrays
pandas._libs.byteswap pandas._libs.groupby pandas._libs.hashing pandas._libs.hashtable
pandas._libs.index pandas._libs.indexing pandas._libs.internals pandas._libs.interval
pandas._libs.join pandas._libs.json pandas._libs.lib pandas._libs.missing pandas._libs.ops
pandas._libs.ops_dispatch pandas._libs.pandas_datetime pandas._libs.pandas_parser
pandas._libs.parsers pandas._libs.properties pandas._libs.reshape pandas._libs.sas
pandas._libs.sparse pandas._libs.testing pandas._libs.tslib pandas._libs.tslibs.base
pandas._libs.tslibs.ccalendar pandas._libs.tslibs.conversion pandas._libs.tslibs.dtypes
pandas._libs.tslibs.fields pandas._libs.tslibs.nattype pandas._libs.tslibs.np_datetime
pandas._libs.tslibs.offsets pandas._libs.tslibs.parsing pandas._libs.tslibs.period
pandas._libs.tslibs.strptime pandas._libs.tslibs.timedeltas pandas._libs.tslibs.timestamps
pandas._libs.tslibs.timezones pandas._libs.tslibs.tzconversion pandas._libs.tslibs.vectorized
pandas._libs.window.aggregations pandas._libs.window.indexers pandas._libs.writers regex._regex
scipy._cyutility scipy._lib._ccallback_c scipy._lib._fpumode scipy._lib._uarray._uarray
scipy._lib.messagestream scipy.cluster.hierarchy._hierarchy
scipy.cluster.hierarchy._optimal_leaf_ordering scipy.cluster.vq._vq scipy.fft._duccfft.pyduccfft
scipy.fftpack.convolve scipy.integrate._dop scipy.integrate._odepack scipy.integrate._quadpack
scipy.integrate._vode scipy.interpolate._dierckx scipy.interpolate._fitpack
scipy.interpolate._interpnd scipy.interpolate._ppoly scipy.interpolate._rgi_cython
scipy.io._fast_matrix_market._fmm_core scipy.io.matlab._mio5_utils scipy.io.matlab._mio_utils
scipy.io.matlab._streams scipy.linalg._batched_linalg scipy.linalg._cythonized_array_utils
scipy.linalg._decomp_interpolative scipy.linalg._decomp_update scipy.linalg._fblas
scipy.linalg._flapack scipy.linalg._internal_matfuncs scipy.linalg._matfuncs_sqrtm_triu
scipy.linalg._solve_toeplitz scipy.linalg.cython_blas scipy.linalg.cython_lapack
scipy.ndimage._nd_image scipy.ndimage._ni_label scipy.ndimage._rank_filter_1d
scipy.optimize._bglu_dense scipy.optimize._direct scipy.optimize._group_columns
scipy.optimize._highspy._core scipy.optimize._highspy._highs_options scipy.optimize._lbfgsb
scipy.optimize._lsap scipy.optimize._lsq.givens_elimination scipy.optimize._minpack
scipy.optimize._moduleTNC scipy.optimize._pava_pybind scipy.optimize._slsqplib
scipy.optimize._trlib._trlib scipy.optimize._zeros scipy.optimize.cython_optimize._zeros
scipy.signal._max_len_seq_inner scipy.signal._peak_finding_utils scipy.signal._sigtools
scipy.signal._sosfilt scipy.signal._spline scipy.signal._upfirdn_apply scipy.sparse._csparsetools
scipy.sparse._sparsetools scipy.sparse.csgraph._flow scipy.sparse.csgraph._matching
scipy.sparse.csgraph._min_spanning_tree scipy.sparse.csgraph._reordering
scipy.sparse.csgraph._shortest_path scipy.sparse.csgraph._tools scipy.sparse.csgraph._traversal
scipy.sparse.linalg._dsolve._superlu scipy.sparse.linalg._eigen.arpack._arpacklib
scipy.sparse.linalg._propack scipy.spatial._ckdtree scipy.spatial._distance_pybind
scipy.spatial._distance_wrap scipy.spatial._hausdorff scipy.spatial._qhull scipy.spatial._voronoi
scipy.spatial.transform._rigid_transform_cy scipy.spatial.transform._rotation_cy scipy.special._comb
scipy.special._ellip_harm_2 scipy.special._gufuncs scipy.special._specfun
scipy.special._special_ufuncs scipy.special._ufuncs scipy.special._ufuncs_cxx
scipy.special.cython_special scipy.stats._ansari_swilk_statistics scipy.stats._biasedurn
scipy.stats._levy_stable.levyst scipy.stats._qmc_cy scipy.stats._qmvnt_cy scipy.stats._rcont.rcont
scipy.stats._sobol scipy.stats._stats scipy.stats._unuran.unuran_wrapper
sklearn.__check_build._check_build sklearn._cyutility sklearn._isotonic sklearn._loss._loss
sklearn.cluster._dbscan_inner sklearn.cluster._hdbscan._linkage
sklearn.cluster._hdbscan._reachability sklearn.cluster._hdbscan._tree
sklearn.cluster._hierarchical_fast sklearn.cluster._k_means_common sklearn.cluster._k_means_elkan
sklearn.cluster._k_means_lloyd sklearn.cluster._k_means_minibatch
sklearn.datasets._svmlight_format_fast sklearn.decomposition._cdnmf_fast
sklearn.decomposition._online_lda_fast sklearn.ensemble._gradient_boosting
sklearn.ensemble._hist_gradient_boosting._binning
sklearn.ensemble._hist_gradient_boosting._gradient_boosting
sklearn.ensemble._hist_gradient_boosting._predictor sklearn.ensemble._hist_gradient_boosting.common
sklearn.ensemble._hist_gradient_boosting.histogram
sklearn.ensemble._hist_gradient_boosting.splitting sklearn.feature_extraction._hashing_fast
sklearn.linear_model._cd_fast sklearn.linear_model._sag_fast sklearn.linear_model._sgd_fast
sklearn.manifold._barnes_hut_tsne sklearn.manifold._utils sklearn.metrics._dist_metrics
sklearn.metrics._pairwise_distances_reduction._argkmin
sklearn.metrics._pairwise_distances_reduction._argkmin_classmode
sklearn.metrics._pairwise_distances_reduction._base
sklearn.metrics._pairwise_distances_reduction._datasets_pair
sklearn.metrics._pairwise_distances_reduction._middle_term_computer
sklearn.metrics._pairwise_distances_reduction._radius_neighbors
sklearn.metrics._pairwise_distances_reduction._radius_neighbors_classmode
sklearn.metrics._pairwise_fast sklearn.metrics.cluster._expected_mutual_info_fast
sklearn.neighbors._ball_tree sklearn.neighbors._kd_tree sklearn.neighbors._partition_nodes
sklearn.neighbors._quad_tree sklearn.preprocessing._csr_polynomial_expansion
sklearn.preprocessing._target_encoder_fast sklearn.svm._liblinear sklearn.svm._libsvm
sklearn.svm._libsvm_sparse sklearn.svm._newrand sklearn.tree._criterion sklearn.tree._partitioner
sklearn.tree._splitter sklearn.tree._tree sklearn.tree._utils sklearn.utils._bitset
sklearn.utils._cython_blas sklearn.utils._fast_dict sklearn.utils._heap sklearn.utils._isfinite
sklearn.utils._openmp_helpers sklearn.utils._random sklearn.utils._seq_dataset
sklearn.utils._sorting sklearn.utils._typedefs sklearn.utils._vector_sentinel
sklearn.utils._weight_vector sklearn.utils.arrayfuncs sklearn.utils.murmurhash
sklearn.utils.sparsefuncs_fast statsmodels.nonparametric._smoothers_lowess
statsmodels.nonparametric.linbin statsmodels.robust._qn statsmodels.tsa._innovations
statsmodels.tsa.exponential_smoothing._ets_smooth statsmodels.tsa.holtwinters._exponential_smoothers
statsmodels.tsa.innovations._arma_innovations statsmodels.tsa.regime_switching._hamilton_filter
statsmodels.tsa.regime_switching._kim_smoother statsmodels.tsa.statespace._cfa_simulation_smoother
statsmodels.tsa.statespace._filters._conventional statsmodels.tsa.statespace._filters._inversions
statsmodels.tsa.statespace._filters._univariate
statsmodels.tsa.statespace._filters._univariate_diffuse statsmodels.tsa.statespace._initialization
statsmodels.tsa.statespace._kalman_filter statsmodels.tsa.statespace._kalman_smoother
statsmodels.tsa.statespace._representation statsmodels.tsa.statespace._simulation_smoother
statsmodels.tsa.statespace._smoothers._alternative statsmodels.tsa.statespace._smoothers._classical
statsmodels.tsa.statespace._smoothers._conventional
statsmodels.tsa.statespace._smoothers._univariate
statsmodels.tsa.statespace._smoothers._univariate_diffuse statsmodels.tsa.statespace._tools
statsmodels.tsa.stl._stl
"""

_FULL: Final = """\
PIL bs4 contourpy defusedxml.lxml fontTools.designspaceLib fontTools.feaLib.builder
fontTools.feaLib.parser fontTools.feaLib.variableScalar fontTools.misc.etree fontTools.misc.plistlib
fontTools.pens.reportLabPen fontTools.subset fontTools.svgLib fontTools.ttLib.scaleUpem
fontTools.ufoLib fontTools.varLib formulaic html5lib.treebuilders.etree_lxml
html5lib.treewalkers.etree_lxml joblib kiwisolver lxml matplotlib mpl_toolkits narwhals._dask.expr
narwhals._dask.expr_dt narwhals._dask.expr_list narwhals._dask.selectors narwhals._dask.utils
narwhals._pandas_like.dataframe narwhals._pandas_like.expr narwhals._pandas_like.group_by
narwhals._pandas_like.namespace narwhals._pandas_like.selectors narwhals._pandas_like.series
narwhals._pandas_like.series_cat narwhals._pandas_like.series_dt narwhals._pandas_like.series_list
narwhals._pandas_like.series_str narwhals._pandas_like.series_struct narwhals._pandas_like.utils
numpy openpyxl pandas patsy pylab pypdf regex reportlab scipy seaborn sklearn soupsieve statsmodels
sympy.core.trace sympy.parsing.latex._parse_latex_antlr sympy.physics.continuum_mechanics
sympy.physics.control sympy.physics.optics sympy.physics.paulialgebra sympy.physics.pring
sympy.physics.qho_1d sympy.physics.quantum sympy.stats.sampling.sample_numpy
sympy.stats.sampling.sample_scipy tqdm.contrib.bells
"""

#: By the SHA-256 of python-snapshot.wasm.
BUILDS: Final = {
    # 0.1.0
    "879bdb628a1a799dc3a6d1a645fee0f88944bf4cdf5e1628e0e1d2b4b33d28d3": Build(
        range(8460, 84540), frozenset(_STUBBED.split()), frozenset(_FULL.split())
    ),
}
