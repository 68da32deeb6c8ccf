"""What is done with packages before an image is captured: the first use of anything writes to many pages.

Caches are filled by then, methods are looked up, bytecode is specialised; a session that does the same
finds it done, in pages that all sessions share.
"""

from __future__ import annotations

__all__ = ["SOURCES", "VALUES", "WARMING"]

#: What the host calls the source of cells that only warm up.
WARMING = "<warming>"

#: What to do with a package that has been imported, by its name. Nothing may depend on time or chance.
SOURCES = {
    "numpy": """
import numpy
a = numpy.arange(12.0).reshape(3, 4)
a.sum(), a.mean(axis=0), a.std(), a.T @ a, a[a > 3], a.max(), numpy.sqrt(a), numpy.linalg.norm(a)
repr(a), str(a), a.tolist(), numpy.zeros(3), numpy.concatenate([a, a]), a * 2 + 1
""",
    "pandas": """
import io
import pandas
f = pandas.DataFrame({"a": [1, 2, 3], "b": [1.5, 2.5, None], "c": ["x", "y", "x"]})
f.a.sum(), f["b"].mean(), f.describe(), f.head(), f[f.a > 1], f.sort_values("b"), f.dtypes, f.shape
f.groupby("c").a.sum(), f.groupby("c").agg({"a": "mean"}), f.merge(f, on="c"), f.isna().sum()
f["d"] = f.a * 2 + f.b
f.loc[0], f.iloc[1], f.loc[f.c == "x", "a"], f.c.str.upper(), f.c.value_counts(), f.to_dict("records")
repr(f), str(f), f._repr_html_(), repr(f.a), f.columns.tolist(), f.a.tolist()
pandas.DataFrame({"a": [1]}).a.sum(), pandas.Series([1, 2]).sum(), pandas.concat([f, f])
pandas.read_csv(io.StringIO(f.to_csv(index=False)))
""",
    "matplotlib.pyplot": """
from matplotlib import pyplot
figure, axes = pyplot.subplots()
axes.plot([1, 2, 3], [1, 4, 9])
figure.canvas.draw()
pyplot.close("all")
""",
}

#: Expressions whose values are sent to the host, which prepares what it takes to show and encode them.
VALUES = {
    "numpy": (
        "__import__('numpy').arange(3)",
        "__import__('numpy').int64(1)",
        "__import__('numpy').float64(1.5)",
        "__import__('numpy').bool_(True)",
    ),
    "pandas": (
        "__import__('pandas').DataFrame({'a': [1, 2], 'b': ['x', None]})",
        "__import__('pandas').Series([1.5, 2.5])",
        "__import__('pandas').DataFrame({'a': [1]}).a.sum()",
    ),
}
