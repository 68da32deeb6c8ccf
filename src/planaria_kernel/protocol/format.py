"""The bytes of an encoded value.

One byte says what follows:

    0x80 .. 0xFF    a str of 0 to 127 bytes of UTF-8, which follow
    0x40 .. 0x7F    the int 0 to 63
    below 0x40      one of the tags below

Lengths (`size`) and counts (`count`) are one byte, or 0xFF and four bytes; every number is little-endian.
A container is its tag, the count of its items, and the items; a structure (everything that is
neither plain data nor a container) is STRUCTURE, its code, the count of its fields, and the fields. A list
of at least COLUMN_THRESHOLD items of one type is a column, so that long lists cost a few C calls.
"""

from __future__ import annotations

from typing import Final

#: Containers in containers; also what bounds the stack of the encoder.
MAX_DEPTH: Final = 128
#: Containers and rows of one value: bounds what a small frame can make the reader allocate.
MAX_CONTAINERS: Final = 2_000_000
#: Bytes of one encoded value, unless the caller says otherwise.
MAX_BYTES: Final = 256 * 1024 * 1024
COLUMN_THRESHOLD: Final = 8
#: Bits of numerator or denominator of a Fraction: reducing it takes quadratic time.
MAX_FRACTION_BITS: Final = 65536
#: Characters of a path: taking it apart takes much more memory than its text.
MAX_PATH: Final = 65536
#: Keys of a dict or set that share one hash: more is deliberate.
MAX_EQUAL_HASHES: Final = 64

# Containers: count, then items (a dict: keys and values in turn).
TUPLE: Final = 0x00
LIST: Final = 0x01
DICT: Final = 0x02
SET: Final = 0x03
FROZENSET: Final = 0x04
# Lists of rows by columns: RECORDS is (tuple of keys, column …), the others (column …).
RECORDS: Final = 0x05
TUPLE_ROWS: Final = 0x06
LIST_ROWS: Final = 0x07
# code, count, fields
STRUCTURE: Final = 0x08
LAST_CONTAINER: Final = STRUCTURE

NONE: Final = 0x10
FALSE: Final = 0x11
TRUE: Final = 0x12
INT64: Final = 0x13  # eight bytes
INT: Final = 0x14  # size, two's complement
FLOAT: Final = 0x15  # eight bytes, IEEE 754
TEXT: Final = 0x16  # size, UTF-8 with lone surrogates encoded as if they were characters
BYTES: Final = 0x17  # size, bytes
# Columns: lists of one type.
INT64_COLUMN: Final = 0x18  # count, eight bytes each
FLOAT_COLUMN: Final = 0x19  # count, eight bytes each
BOOL_COLUMN: Final = 0x1A  # count, one byte each
TEXT_COLUMN: Final = 0x1B  # count, length of each in characters (four bytes), size, UTF-8 of all

SMALL_INT: Final = 0x40
SHORT_TEXT: Final = 0x80

# Codes of structures, with their fields.
COMPLEX: Final = 1  # real, imaginary
DECIMAL: Final = 2  # text
FRACTION: Final = 3  # numerator, denominator
UUID: Final = 4  # sixteen bytes
DATE: Final = 5  # year, month, day
TIME: Final = 6  # hour, minute, second, microsecond, fold, timezone
DATETIME: Final = 7  # year … day, hour … timezone
TIMEDELTA: Final = 8  # days, seconds, microseconds
TIMEZONE: Final = 9  # offset (timedelta), name or None
ZONE: Final = 10  # key, offset now (timedelta), name: the last two serve where the key is unknown
RANGE: Final = 11  # start, stop, step
PATH: Final = 12  # text
ENUM: Final = 13  # class name, member name, value
REPR: Final = 14  # text, type
ARRAY: Final = 15  # shape (None: a scalar), dtype, bytes or list
RECORD_ARRAY: Final = 16  # shape (None: a scalar), field names, one array of each field
FRAME: Final = 17  # columns (index), index, list of columns
SERIES: Final = 18  # name, index, column
INDEX: Final = 19  # kind, name, parameters
EXTENSION: Final = 20  # dtype, parameters: a column of pandas that is not a numpy array
PANDAS_SCALAR: Final = 21  # type name, text, parameters

#: Structures that cannot be keys or members of sets.
UNHASHABLE: Final = frozenset({RECORD_ARRAY, FRAME, SERIES, INDEX, EXTENSION})
#: Structures whose fields are checked where they are taken apart.
CHECKED: Final = frozenset({ARRAY, RECORD_ARRAY, FRAME, SERIES, INDEX, EXTENSION})
