"""Numpy arrays and pandas objects across the boundary."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from planaria_kernel.errors import ProtocolError
from planaria_kernel.protocol import ArrayValue, FrameValue, decode, encode
from planaria_kernel.protocol import format as f

numpy = pytest.importorskip("numpy")


@pytest.mark.parametrize(
    "dtype",
    ["?", "i1", "u2", "<i4", ">i4", "i8", "f2", "f4", "f8", "c16", "S3", "U3", "M8[ns]", "m8[D]", "V5"],
)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0)])
def test_array(dtype: str, shape: tuple[int, ...]) -> None:
    """An array of any plain dtype and shape arrives with the same dtype, shape and data, and is writable."""
    array = numpy.zeros(shape, dtype=dtype)
    if dtype not in ("V5",):
        array[...] = numpy.ones(shape, "i1").astype(dtype)
    got = decode(encode(array))
    assert (got.dtype, got.shape, got.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert got.flags.writeable


@pytest.mark.parametrize(
    "value", ["float32(1.5)", "int64(-3)", "bool_(True)", "str_('x')", "datetime64('2024-01-01')"]
)
def test_scalar(value: str) -> None:
    """A numpy scalar arrives as a numpy scalar of the same type."""
    scalar = eval(f"numpy.{value}", {"numpy": numpy})
    got = decode(encode(scalar))
    assert type(got) is type(scalar)
    assert got == scalar


def test_views_and_order() -> None:
    """A view that is neither contiguous nor in C order arrives with its own items."""
    array = numpy.arange(24).reshape(4, 6)[::2, ::-3].T
    assert decode(encode(array)).tolist() == array.tolist()


def test_object_array() -> None:
    """An array of objects arrives with its objects, nested lists left whole."""
    array = numpy.empty(2, dtype=object)
    array[0], array[1] = [1, 2], "x"
    assert decode(encode(array)).tolist() == [[1, 2], "x"]


def test_structured_array() -> None:
    """A structured array arrives with its fields and their dtypes."""
    array = numpy.array(
        [(1, 2.0, (1, 2)), (3, 4.0, (3, 4))], dtype=[("a", "i4"), ("b", "f8"), ("c", "i2", (2,))]
    )
    got = decode(encode(array))
    assert got.dtype == array.dtype
    assert got.tobytes() == array.tobytes()


def test_masked_array() -> None:
    """A masked array does not arrive as a plain one that has lost its mask."""
    masked = numpy.ma.masked_array([1, 2], mask=[True, False])
    assert decode(encode(masked, lambda value: "stand-in")) == "stand-in"


@pytest.mark.parametrize(
    "fields",
    [
        ((1 << 39,), "<U0", b""),
        ((3,), "<f8", b"12345678"),
        ((-1,), "<f8", b""),
        ((2,), "O,O", b""),
        (5, "<f8", b""),
    ],
)
def test_array_that_lies(fields: tuple[Any, ...]) -> None:
    """An array whose shape, dtype and data do not fit together is refused."""
    data = bytes([f.STRUCTURE, f.ARRAY, 3]) + b"".join(map(encode, fields))
    with pytest.raises(ProtocolError):
        decode(data)


def test_without_numpy() -> None:
    """Where numpy is missing, arrays and frames arrive as values that hold the same data."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    program = (
        "import sys; sys.modules['numpy'] = sys.modules['pandas'] = None\n"
        "from planaria_kernel.protocol import decode\n"
        "print(repr([decode(bytes.fromhex(line)) for line in sys.argv[1:]]))\n"
    )
    arguments = [encode(numpy.arange(2, dtype="<i2")).hex(), encode(frame).hex()]
    run = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert run.returncode == 0, run.stderr
    array, table = eval(run.stdout, {"ArrayValue": ArrayValue, "FrameValue": FrameValue})
    assert array == ArrayValue((2,), "<i2", b"\0\0\1\0")
    assert table.kind == "frame"
    assert [label for label, _ in table.columns] == ["a", "b"]


class TestPandas:
    """Each test needs pandas on both sides."""

    pandas = pytest.importorskip("pandas")

    @pytest.mark.parametrize(
        "data",
        [
            "{'a': [1, 2], 'b': [1.5, float('nan')], 'c': ['x', None]}",
            "{'t': pd.date_range('2024-01-01', periods=2)}",
            "{'z': pd.date_range('2024', periods=2, tz='Europe/Berlin')}",
            "{'c': pd.Categorical(['x', 'y'], categories=['y', 'x'], ordered=True)}",
            "{'i': pd.array([1, None], dtype='Int64'), 'b': pd.array([True, None], dtype='boolean')}",
            "{'s': pd.array(['x', None], dtype='string'), 'd': pd.to_timedelta([1, 2], unit='s')}",
            "{}",
        ],
    )
    def test_frame(self, data: str) -> None:
        """A frame arrives with its columns, dtypes, missing values and index."""
        frame = self.pandas.DataFrame(eval(data, {"pd": self.pandas}))
        self.pandas.testing.assert_frame_equal(decode(encode(frame)), frame, check_freq=False)

    def test_frame_with_repeated_names_and_levels(self) -> None:
        """Columns with equal names, and several levels of labels, survive."""
        frame = self.pandas.DataFrame([[1, 2.0, "x"]], columns=["a", "a", "b"])
        self.pandas.testing.assert_frame_equal(decode(encode(frame)), frame)
        grouped = frame.set_index(self.pandas.MultiIndex.from_tuples([(1, "k")], names=["n", "m"]))
        self.pandas.testing.assert_frame_equal(decode(encode(grouped)), grouped)

    def test_series_and_index(self) -> None:
        """A series keeps its name and index; an index arrives as an index."""
        series = self.pandas.Series([1, 2], name="n", index=["a", "b"])
        self.pandas.testing.assert_series_equal(decode(encode(series)), series)
        for index in (self.pandas.RangeIndex(1, 9, 2, name="r"), self.pandas.Index([1.5, 2.5], name="i")):
            self.pandas.testing.assert_index_equal(decode(encode(index)), index, exact=True)
