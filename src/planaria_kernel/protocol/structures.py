"""Everything that is neither plain data nor a container: dates, decimals, enums, paths, arrays …

`fields_of` takes such an object apart and `build` puts it together. Types are found by the name of their
module and class, so that nothing is imported before a value needs it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, Final

from planaria_kernel.errors import ProtocolError
from planaria_kernel.protocol import format as f
from planaria_kernel.protocol.values import ArrayValue, EnumMember, Fields, Repr

__all__ = ["build", "fields_of"]


#: The bit of `type.__flags__` that classes made at run time have, and static types of C code have not.
_HEAP_TYPE: Final = 1 << 9


def fields_of(value: Any) -> Fields | tuple[Any] | None:
    """The fields of a structure; or a one-tuple with the plain value that stands for it; or None."""
    kind = type(value)
    for base in kind.__mro__:
        take = _TAKE.get((base.__module__, base.__qualname__))
        if take is not None:
            fields = take(value)
            if isinstance(fields, Fields) and kind.__flags__ & _HEAP_TYPE and fields.code not in f.CHECKED:
                # Subclasses, attributes and names are the code's own: what cannot be put together again on
                # the other side must be found here, where there is still something to send in its place.
                build(fields.code, list(fields.items))
            return fields
    if hasattr(kind, "__dataclass_fields__"):
        return (
            {field.name: getattr(value, field.name) for field in sys.modules["dataclasses"].fields(value)},
        )
    # Subclasses of the builtin types are the data they hold. The unbound methods keep overridden ones out.
    for base, plain in _PLAIN:
        if isinstance(value, base):
            return (plain(value),)
    return None


def build(code: int, fields: list[Any]) -> Any:
    """The object of these fields; raises ProtocolError when they do not make one."""
    maker = _BUILD.get(code)
    if maker is None:
        raise ProtocolError(f"structure {code} is not known to this version")
    try:
        return maker(*fields)
    except ProtocolError:
        raise
    except Exception as error:
        raise ProtocolError(f"structure {code} has bad fields: {type(error).__name__}") from None


def _checked(value: Any, kind: type | tuple[type, ...]) -> Any:
    if not isinstance(value, kind):
        raise ProtocolError(f"a field of type {type(value).__name__} is out of place")
    return value


# -- taking apart ------------------------------------------------------------------------------------


def _take_zone(zone: Any) -> Fields | tuple[Any] | None:
    import datetime

    now = datetime.datetime.now(zone)
    if zone.key is None:
        return (datetime.timezone(now.utcoffset() or datetime.timedelta(), now.tzname() or ""),)
    return Fields(f.ZONE, (zone.key, now.utcoffset(), now.tzname()))


def _take_timezone(zone: Any) -> Fields:
    offset, *name = zone.__getinitargs__()
    return Fields(f.TIMEZONE, (offset, name[0] if name else None))


def _zone(time: Any) -> Any:
    """The tzinfo of a date or time as something that can be encoded."""
    import datetime

    zone = time.tzinfo
    if zone is None or isinstance(zone, datetime.timezone) or hasattr(zone, "key"):
        return zone
    offset = time.utcoffset()
    return None if offset is None else datetime.timezone(offset, time.tzname() or str(zone))


def _take_time(t: Any) -> Fields:
    return Fields(f.TIME, (t.hour, t.minute, t.second, t.microsecond, t.fold, _zone(t)))


def _take_datetime(t: Any) -> Fields:
    date = (t.year, t.month, t.day, t.hour, t.minute, t.second, t.microsecond, t.fold)
    return Fields(f.DATETIME, (*date, _zone(t)))


def _take_fraction(value: Any) -> Fields | None:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > f.MAX_FRACTION_BITS:
        return None
    return Fields(f.FRACTION, (value.numerator, value.denominator))


def _take_path(path: Any) -> Fields | None:
    text = path.as_posix()
    return Fields(f.PATH, (text,)) if len(text) <= f.MAX_PATH else None


def _take_enum(value: Any) -> Fields:
    # A flag made of several members has a name like A|B, or none.
    return Fields(f.ENUM, (type(value).__qualname__, value.name or str(value), value.value))


def _take_array(value: Any) -> Fields | None:
    from planaria_kernel.protocol import scientific

    return scientific.take_array(value)


def _take_pandas(value: Any) -> Fields | None:
    from planaria_kernel.protocol import scientific

    return scientific.take_pandas(value)


def _take_extension(value: Any) -> Fields:
    from planaria_kernel.protocol import scientific

    return scientific.take_extension(value)


def _take_pandas_scalar(value: Any) -> Fields | None:
    from planaria_kernel.protocol import scientific

    return scientific.take_scalar(value)


def _take_array_value(value: ArrayValue) -> Fields:
    return Fields(f.ARRAY, (value.shape, value.dtype, value.data))


_TAKE: dict[tuple[str, str], Callable[[Any], Fields | tuple[Any] | None]] = {
    ("builtins", "complex"): lambda v: Fields(f.COMPLEX, (v.real, v.imag)),
    ("builtins", "range"): lambda v: Fields(f.RANGE, (v.start, v.stop, v.step)),
    ("decimal", "Decimal"): lambda v: Fields(f.DECIMAL, (str(v),)),
    ("fractions", "Fraction"): _take_fraction,
    ("uuid", "UUID"): lambda v: Fields(f.UUID, (v.bytes,)),
    ("datetime", "date"): lambda v: Fields(f.DATE, (v.year, v.month, v.day)),
    ("datetime", "time"): _take_time,
    ("datetime", "datetime"): _take_datetime,
    ("datetime", "timedelta"): lambda v: Fields(f.TIMEDELTA, (v.days, v.seconds, v.microseconds)),
    ("datetime", "timezone"): _take_timezone,
    ("zoneinfo", "ZoneInfo"): _take_zone,
    ("pathlib", "PurePath"): _take_path,
    ("pathlib._local", "PurePath"): _take_path,
    ("enum", "Enum"): _take_enum,
    ("planaria_kernel.protocol.values", "Repr"): lambda v: Fields(f.REPR, (v.text, v.type)),
    ("planaria_kernel.protocol.values", "EnumMember"): lambda v: Fields(
        f.ENUM, (v.class_name, v.name, v.value)
    ),
    ("planaria_kernel.protocol.values", "ArrayValue"): _take_array_value,
    ("planaria_kernel.protocol.scientific", "_Extension"): _take_extension,
    ("numpy", "ndarray"): _take_array,
    ("numpy", "generic"): _take_array,
    # Scalars of pandas: before version 3 they were known by the modules that define them.
    ("pandas", "Timestamp"): _take_pandas_scalar,
    ("pandas", "Timedelta"): _take_pandas_scalar,
    ("pandas", "Period"): _take_pandas_scalar,
    ("pandas", "Interval"): _take_pandas_scalar,
    ("pandas.api.typing", "NaTType"): _take_pandas_scalar,
    ("pandas.api.typing", "NAType"): _take_pandas_scalar,
    ("pandas._libs.tslibs.timestamps", "Timestamp"): _take_pandas_scalar,
    ("pandas._libs.tslibs.timedeltas", "Timedelta"): _take_pandas_scalar,
    ("pandas._libs.tslibs.period", "Period"): _take_pandas_scalar,
    ("pandas._libs.interval", "Interval"): _take_pandas_scalar,
    ("pandas._libs.tslibs.nattype", "NaTType"): _take_pandas_scalar,
    ("pandas._libs.missing", "NAType"): _take_pandas_scalar,
    ("pandas", "DataFrame"): _take_pandas,
    ("pandas", "Series"): _take_pandas,
    ("pandas", "Index"): _take_pandas,
    ("pandas.core.frame", "DataFrame"): _take_pandas,
    ("pandas.core.series", "Series"): _take_pandas,
    ("pandas.core.indexes.base", "Index"): _take_pandas,
}

_PLAIN: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (tuple, lambda v: tuple(tuple.__iter__(v))),
    (dict, lambda v: dict(dict.items(v))),
    (list, lambda v: list(list.__iter__(v))),
    (bytes, lambda v: bytes.__getitem__(v, slice(None))),
    (bytearray, lambda v: bytes(memoryview(v))),
    (set, lambda v: set(set.__iter__(v))),
    (frozenset, lambda v: frozenset(frozenset.__iter__(v))),
)


# -- putting together --------------------------------------------------------------------------------


def _complex(real: Any, imaginary: Any) -> complex:
    return complex(_checked(real, float), _checked(imaginary, float))


def _decimal(text: Any) -> Any:
    from decimal import Context, Decimal, InvalidOperation

    value = Decimal(_checked(text, str), Context(traps=[]))
    if value.is_qnan() and "nan" not in text.lower():
        raise InvalidOperation
    return value


def _fraction(numerator: Any, denominator: Any) -> Any:
    from fractions import Fraction

    for number in (numerator, denominator):
        if _checked(number, int).bit_length() > f.MAX_FRACTION_BITS:
            raise ProtocolError(f"a fraction of more than {f.MAX_FRACTION_BITS} bits")
    return Fraction(numerator, denominator)


def _uuid(data: Any) -> Any:
    from uuid import UUID

    return UUID(bytes=_checked(data, bytes))


def _date(year: Any, month: Any, day: Any) -> Any:
    import datetime

    return datetime.date(year, month, day)


def _time(hour: Any, minute: Any, second: Any, microsecond: Any, fold: Any, zone: Any) -> Any:
    import datetime

    return datetime.time(hour, minute, second, microsecond, zone, fold=fold)


def _datetime(
    year: Any,
    month: Any,
    day: Any,
    hour: Any,
    minute: Any,
    second: Any,
    microsecond: Any,
    fold: Any,
    zone: Any,
) -> Any:
    import datetime

    return datetime.datetime(year, month, day, hour, minute, second, microsecond, zone, fold=fold)


def _timedelta(days: Any, seconds: Any, microseconds: Any) -> Any:
    import datetime

    for number in (days, seconds, microseconds):
        _checked(number, int)
    return datetime.timedelta(days, seconds, microseconds)


def _timezone(offset: Any, name: Any) -> Any:
    import datetime

    return datetime.timezone(offset) if name is None else datetime.timezone(offset, name)


def _zone_by_key(key: Any, offset: Any, name: Any) -> Any:
    import zoneinfo

    plain = _checked(key, str).removeprefix("posix/").removeprefix("right/")
    if plain in _known_zones(zoneinfo.TZPATH):
        try:
            return zoneinfo.ZoneInfo(key)
        except Exception:  # damaged, in whatever way the database says so: the offset is still right now
            pass
    return _timezone(offset, name)


@functools.lru_cache(maxsize=1)
def _known_zones(path: tuple[str, ...]) -> frozenset[str]:
    """The zones in the database at `path`. To look for one that is not there takes a search of files."""
    import zoneinfo

    return frozenset(zoneinfo.available_timezones())


def _range(start: Any, stop: Any, step: Any) -> range:
    return range(start, stop, step)


def _path(text: Any) -> Any:
    from pathlib import PurePosixPath

    if len(_checked(text, str)) > f.MAX_PATH:
        raise ProtocolError(f"a path of more than {f.MAX_PATH} characters")
    return PurePosixPath(text)


def _enum(class_name: Any, name: Any, value: Any) -> EnumMember:
    return EnumMember(_checked(class_name, str), _checked(name, str), value)


def _repr(text: Any, kind: Any) -> Repr:
    return Repr(_checked(text, str), _checked(kind, str))


def _array(shape: Any, dtype: Any, data: Any) -> Any:
    from planaria_kernel.protocol import scientific

    return scientific.build_array(shape, dtype, data)


def _record_array(shape: Any, names: Any, columns: Any) -> Any:
    from planaria_kernel.protocol import scientific

    return scientific.build_record_array(shape, names, columns)


def _frame(columns: Any, index: Any, data: Any) -> Any:
    from planaria_kernel.protocol import scientific

    return scientific.build_frame(columns, index, data)


def _series(name: Any, index: Any, data: Any) -> Any:
    from planaria_kernel.protocol import scientific

    return scientific.build_series(name, index, data)


def _index(kind: Any, name: Any, parameters: Any) -> Any:
    from planaria_kernel.protocol import scientific

    return scientific.build_index(kind, name, parameters)


def _pandas_scalar(kind: Any, text: Any, parameters: Any) -> Any:
    from planaria_kernel.protocol import scientific

    return scientific.build_scalar(kind, text, parameters)


def _extension(dtype: Any, parameters: Any) -> Any:
    from planaria_kernel.protocol import scientific

    return scientific.build_extension(dtype, parameters)


_BUILD: dict[int, Callable[..., Any]] = {
    f.COMPLEX: _complex,
    f.DECIMAL: _decimal,
    f.FRACTION: _fraction,
    f.UUID: _uuid,
    f.DATE: _date,
    f.TIME: _time,
    f.DATETIME: _datetime,
    f.TIMEDELTA: _timedelta,
    f.TIMEZONE: _timezone,
    f.ZONE: _zone_by_key,
    f.RANGE: _range,
    f.PATH: _path,
    f.ENUM: _enum,
    f.REPR: _repr,
    f.ARRAY: _array,
    f.RECORD_ARRAY: _record_array,
    f.FRAME: _frame,
    f.SERIES: _series,
    f.INDEX: _index,
    f.EXTENSION: _extension,
    f.PANDAS_SCALAR: _pandas_scalar,
}
