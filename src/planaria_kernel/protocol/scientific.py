"""Numpy arrays and pandas objects as plain data.

Neither package is imported before a value of its own kind is met. Where they are missing the reader gives
`ArrayValue` and `FrameValue`, which hold the same data.
"""

from __future__ import annotations

import datetime
import importlib
import math
import re
import struct
import sys
from collections import Counter
from typing import Any, Final

from planaria_kernel.errors import ProtocolError
from planaria_kernel.protocol import format as f
from planaria_kernel.protocol.values import ArrayValue, Fields, FrameValue, Repr

__all__ = [
    "build_array",
    "build_extension",
    "build_frame",
    "build_index",
    "build_record_array",
    "build_scalar",
    "build_series",
    "take_array",
    "take_extension",
    "take_pandas",
    "take_scalar",
]

#: Type strings of the array interface that hold plain data of a known size.
_DTYPE = re.compile(r"[<>|=](?:[biufcSVU][1-9][0-9]{0,8}|[mM]8(?:\[[0-9]{0,9}[A-Za-zμ]{1,7}\])?)").fullmatch
#: Extension types of pandas that are rebuilt from a list by their name.
_EXTENSION = re.compile(
    r"boolean|str|string(?:\[(?:python|pyarrow)\])?|U?Int(?:8|16|32|64)|Float(?:32|64)"
).fullmatch
#: Nanoseconds of the units in which pandas counts time.
_NANOSECONDS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_DATETIME_UNIT = re.compile(r"s|ms|us|ns").fullmatch


def _module(name: str) -> Any:
    """The module, or None where it cannot be imported."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


# -- numpy -------------------------------------------------------------------------------------------


def take_array(value: Any) -> Fields | None:
    """A numpy array or scalar; None for masked arrays and the like, which are more than their data."""
    numpy = sys.modules["numpy"]
    scalar = isinstance(value, numpy.generic)
    if not scalar and type(value) not in (numpy.ndarray, numpy.memmap):
        return None
    shape = None if scalar else value.shape
    array = numpy.asarray(value)
    if array.dtype.names is not None:
        names = array.dtype.names
        return Fields(
            f.RECORD_ARRAY, (shape, names, tuple(numpy.ascontiguousarray(array[name]) for name in names))
        )
    if array.dtype.hasobject:
        return Fields(f.ARRAY, (shape, "|O", list(array.ravel())))
    dtype = array.dtype.str
    if not _DTYPE(dtype):
        return None  # a kind of data that came after this version, such as StringDType
    return Fields(f.ARRAY, (shape, dtype, array.tobytes()))


#: The numbers that Python has as well, for scalars where there is no numpy: `struct`'s codes.
_NUMBERS: Final = {
    "b1": "?",
    "i1": "b",
    "i2": "h",
    "i4": "i",
    "i8": "q",
    "u1": "B",
    "u2": "H",
    "u4": "I",
    "u8": "Q",
    "f2": "e",
    "f4": "f",
    "f8": "d",
}


def _items(shape: Any) -> int:
    """How many items an array of this shape has."""
    if shape is None:
        return 1
    if type(shape) is not tuple or len(shape) > 32:
        raise ProtocolError("an array without a proper shape")
    for length in shape:
        if type(length) is not int or not 0 <= length < 1 << 40:
            raise ProtocolError("an array without a proper shape")
    return math.prod(shape)


def build_array(shape: Any, dtype: Any, data: Any) -> Any:
    """The array (or, when `shape` is None, the scalar; without numpy, the number that it is)."""
    count = _items(shape)
    if type(dtype) is not str or not (dtype == "|O" or _DTYPE(dtype)):
        raise ProtocolError("an array of an unknown type of data")
    if type(data) is not (list if dtype == "|O" else bytes):
        raise ProtocolError("an array without its data")
    numpy = _module("numpy")
    if dtype == "|O":
        if len(data) != count:
            raise ProtocolError("an array whose shape does not fit its data")
        if numpy is None:
            return ArrayValue(shape, dtype, data)
        array = numpy.empty(count, dtype=object)
        # Item by item: numpy would take nested lists for further dimensions.
        for place, item in enumerate(data):
            array[place] = item
    else:
        digits = re.match(r".[a-zA-Z]([0-9]+)", dtype)
        size = int(digits[1]) * (4 if dtype[1] == "U" else 1) if digits else 8
        if count * size != len(data):
            raise ProtocolError("an array whose shape does not fit its data")
        if numpy is None:
            number = _NUMBERS.get(dtype[1:]) if shape is None else None
            if number is None or isinstance(data, list):
                return ArrayValue(shape, dtype, data)
            return struct.unpack((">" if dtype[0] == ">" else "<") + number, data)[0]
        kind = numpy.dtype(dtype)
        # A bytearray, so that the array can be written to; numpy refuses an empty one.
        array = numpy.frombuffer(bytearray(data), kind) if data else numpy.empty(count, kind)
    return array[0] if shape is None else array.reshape(shape)


def build_record_array(shape: Any, names: Any, columns: Any) -> Any:
    """A structured array from its fields."""
    _items(shape)
    if (
        type(names) is not tuple
        or type(columns) is not tuple
        or not 0 < len(names) == len(columns)
        or not all(type(name) is str for name in names)
    ):
        raise ProtocolError("a structured array whose fields do not fit their names")
    numpy = _module("numpy")
    if numpy is None:
        return ArrayValue(shape, "records", [dict(zip(names, columns, strict=True))])
    lead = () if shape is None else shape
    for column in columns:
        if not isinstance(column, numpy.ndarray) or column.shape[: len(lead)] != lead:
            raise ProtocolError("a structured array whose fields differ in shape")
    kinds = [
        (name, column.dtype, column.shape[len(lead) :]) for name, column in zip(names, columns, strict=True)
    ]
    array = numpy.empty(lead, dtype=kinds)
    for name, column in zip(names, columns, strict=True):
        array[name] = column
    return array[()] if shape is None else array


# -- pandas ------------------------------------------------------------------------------------------


def take_pandas(value: Any) -> Fields | None:
    """A DataFrame, a Series or an Index."""
    pandas = sys.modules["pandas"]
    if isinstance(value, pandas.DataFrame):
        columns = [_column(value.iloc[:, place]) for place in range(value.shape[1])]
        return Fields(f.FRAME, (value.columns, value.index, columns))
    if isinstance(value, pandas.Series):
        return Fields(f.SERIES, (value.name, value.index, _column(value)))
    if isinstance(value, pandas.RangeIndex):
        return Fields(f.INDEX, ("range", value.name, (value.start, value.stop, value.step)))
    if isinstance(value, pandas.MultiIndex):
        levels = [_column(value.get_level_values(level)) for level in range(value.nlevels)]
        return Fields(f.INDEX, ("multi", tuple(value.names), levels))
    return Fields(f.INDEX, ("plain", value.name, _column(value)))


def take_scalar(value: Any) -> Fields | None:
    """A Timestamp, Timedelta, Period, Interval, NaT or NA; None for a subclass of one."""
    pandas = sys.modules["pandas"]
    kind = type(value)
    if value is pandas.NaT or value is pandas.NA:
        return Fields(f.PANDAS_SCALAR, ("NaT" if value is pandas.NaT else "NA", str(value), ()))
    parameters: tuple[Any, ...]
    if kind is pandas.Timestamp:
        zone = None if value.tz is None else str(value.tz)
        # With a zone, the count is that of UTC. The reading of the clock is for readers without pandas.
        parameters = (value.asm8.view("<i8").item(), value.unit, zone, value.to_pydatetime(warn=False))
    elif kind is pandas.Timedelta:
        parameters = (value.asm8.view("<i8").item(), value.unit)
    elif kind is pandas.Period:
        parameters = (value.ordinal, value.freqstr)
    elif kind is pandas.Interval:
        parameters = (value.left, value.right, value.closed)
    else:
        return None
    return Fields(f.PANDAS_SCALAR, (kind.__name__, str(value), parameters))


def build_scalar(kind: Any, text: Any, parameters: Any) -> Any:
    """A scalar of pandas; where there is none, its like of the standard library, or a `Repr`."""
    if type(kind) is not str or type(text) is not str or type(parameters) is not tuple:
        raise ProtocolError("a scalar of pandas without its type or text")
    pandas, numpy = _module("pandas"), _module("numpy")
    if kind == "Timestamp":
        count, unit, zone, reading = parameters
        if pandas is None:
            return _checked_type(reading, datetime.datetime)
        time = pandas.Timestamp(numpy.datetime64(_checked_type(count, int), _unit(unit)))
        return time if zone is None else time.tz_localize("UTC").tz_convert(_checked_type(zone, str))
    if kind == "Timedelta":
        count, unit = parameters
        if pandas is None:
            return datetime.timedelta(
                microseconds=_checked_type(count, int) * _NANOSECONDS[_unit(unit)] // 1000
            )
        return pandas.Timedelta(numpy.timedelta64(_checked_type(count, int), _unit(unit)))
    if pandas is None:
        return Repr(text, f"pandas.{kind}")
    if kind == "NaT" or kind == "NA":
        return pandas.NaT if kind == "NaT" else pandas.NA
    if kind == "Period":
        ordinal, frequency = parameters
        return pandas.Period(ordinal=_checked_type(ordinal, int), freq=_checked_type(frequency, str))
    if kind == "Interval":
        left, right, closed = parameters
        return pandas.Interval(left, right, closed=_checked_type(closed, str))
    raise ProtocolError("a scalar of pandas of an unknown type")


def _checked_type(value: Any, kind: type) -> Any:
    if type(value) is not kind and not (kind is datetime.datetime and isinstance(value, kind)):
        raise ProtocolError(f"a field of type {type(value).__name__} is out of place")
    return value


def _unit(unit: Any) -> str:
    if type(unit) is not str or unit not in _NANOSECONDS:
        raise ProtocolError("a time of pandas without its unit")
    return unit


def _column(column: Any) -> Any:
    """The values of a series or index: a numpy array, or the fields of an extension array."""
    pandas, numpy = sys.modules["pandas"], sys.modules["numpy"]
    dtype = column.dtype
    if isinstance(dtype, numpy.dtype):
        return numpy.asarray(column.values)
    array = column.array
    if isinstance(dtype, pandas.CategoricalDtype):
        return _Extension("category", (numpy.asarray(array.codes), array.categories, bool(array.ordered)))
    if isinstance(dtype, pandas.DatetimeTZDtype):
        times = numpy.asarray(array.astype(f"datetime64[{dtype.unit}, UTC]").tz_localize(None))
        return _Extension("datetime", (times.view("<i8"), dtype.unit, str(dtype.tz)))
    missing = array.isna()
    items = [None if gone else item for item, gone in zip(array.astype(object), missing, strict=True)]
    name = str(dtype)
    return _Extension(name if _EXTENSION(name) else "object", (items,))


class _Extension:
    """A column that is an extension array, on its way to being encoded."""

    def __init__(self, dtype: str, parameters: tuple[Any, ...]) -> None:
        self.dtype = dtype
        self.parameters = parameters


def take_extension(value: _Extension) -> Fields:
    return Fields(f.EXTENSION, (value.dtype, value.parameters))


def build_extension(dtype: Any, parameters: Any) -> Any:
    """The values of a column that is not a numpy array."""
    if type(dtype) is not str or type(parameters) is not tuple:
        raise ProtocolError("a column without its type")
    pandas = _module("pandas")
    if dtype == "category":
        codes, categories, ordered = parameters
        if pandas is None:
            return (codes, categories, ordered)
        _check_hashes(categories)
        return pandas.Categorical.from_codes(codes, categories=categories, ordered=ordered)
    if dtype == "datetime":
        times, unit, zone = parameters
        if not (type(unit) is str and _DATETIME_UNIT(unit) and type(zone) is str):
            raise ProtocolError("a column of times without unit or zone")
        if pandas is None:
            return (times, unit, zone)
        utc = pandas.array(times.view(f"<M8[{unit}]"), dtype=f"datetime64[{unit}]").tz_localize("UTC")
        return utc.tz_convert(zone)
    (items,) = parameters
    if type(items) is not list:
        raise ProtocolError("a column without its items")
    if pandas is None:
        return items
    if dtype == "object":
        return pandas.Series(items, dtype=object).array
    if not _EXTENSION(dtype):
        raise ProtocolError("a column of an unknown type")
    try:
        return pandas.array(items, dtype=dtype)
    except (ImportError, TypeError):  # a pandas that lacks this type, or what it is stored with
        return pandas.array(items)


def build_index(kind: Any, name: Any, parameters: Any) -> Any:
    """The labels of rows or columns."""
    pandas = _module("pandas")
    if kind == "range":
        start, stop, step = parameters
        labels = range(start, stop, step)
        if len(labels) > sys.maxsize >> 1:
            raise ProtocolError("an index without end")
        return (
            FrameValue("index", [(name, labels)], None)
            if pandas is None
            else pandas.RangeIndex(labels, name=name)
        )
    if kind == "multi":
        if type(parameters) is not list or type(name) is not tuple or not 0 < len(name) == len(parameters):
            raise ProtocolError("an index whose levels do not fit their names")
        if pandas is None:
            return FrameValue("index", list(zip(name, parameters, strict=True)), None)
        for level in parameters:
            _check_hashes(level)
        return pandas.MultiIndex.from_arrays(parameters, names=list(name))
    if kind != "plain":
        raise ProtocolError("an index of an unknown kind")
    return (
        FrameValue("index", [(name, parameters)], None)
        if pandas is None
        else pandas.Index(parameters, name=name)
    )


def _check_hashes(labels: Any) -> None:
    """Refuse different labels chosen to share one hash: counting them would take quadratic time."""
    if getattr(getattr(labels, "dtype", None), "kind", None) != "O":
        return
    first: dict[int, Any] = {}
    others: Counter[int] = Counter()
    for label in labels:
        code = hash(label)
        if first.setdefault(code, label) is not label and first[code] != label:
            others[code] += 1
            if others[code] > f.MAX_EQUAL_HASHES:
                raise ProtocolError("too many labels with the same hash")


def build_series(name: Any, index: Any, data: Any) -> Any:
    pandas = _module("pandas")
    if pandas is None:
        return FrameValue("series", [(name, data)], index)
    _checked_index(pandas, index)
    _checked_length(data, index)
    return pandas.Series(data, index=index, name=name, copy=False)


def build_frame(columns: Any, index: Any, data: Any) -> Any:
    if type(data) is not list:
        raise ProtocolError("a frame without its columns")
    pandas = _module("pandas")
    if pandas is None:
        labels: Any = columns
        if isinstance(columns, FrameValue):
            labels = _labels(columns, len(data))
        return FrameValue("frame", list(zip(labels, data, strict=True)), index)
    _checked_index(pandas, columns)
    _checked_index(pandas, index)
    if len(columns) != len(data):
        raise ProtocolError("a frame whose columns do not fit their names")
    for column in data:
        _checked_length(column, index)
    # By position first: names may repeat.
    frame = pandas.DataFrame(dict(enumerate(data)), index=index, copy=False)
    frame.columns = columns
    return frame


def _checked_index(pandas: Any, index: Any) -> None:
    if not isinstance(index, pandas.Index):
        raise ProtocolError("a frame without its index")


def _checked_length(data: Any, index: Any) -> None:
    """A column that is shorter, or no column at all, would be repeated for each row of the index."""
    if not hasattr(data, "dtype") or len(data) != len(index):
        raise ProtocolError("a column whose length does not fit the index")


def _labels(index: FrameValue, count: int) -> list[Any]:
    """The labels of columns as a list; of several levels, tuples."""
    levels = []
    for _, values in index.columns:
        if isinstance(values, ArrayValue):
            values = values.data
        if isinstance(values, tuple) or len(values) != count:
            values = range(count)
        levels.append(list(values))
    return levels[0] if len(levels) == 1 else list(zip(*levels, strict=True))
