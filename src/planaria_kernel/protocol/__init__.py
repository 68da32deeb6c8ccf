"""Values and frames that cross the boundary between the host and the kernel.

`encode` turns a value into bytes and `decode` turns bytes into a value; both sides use the same code,
which needs nothing but the standard library. `decode` is total: any bytes give a value or a
`ProtocolError`, within bounds of depth and memory that depend on the length of the input only. A frame is
an encoded tuple whose first item is its name.
"""

from planaria_kernel.protocol.budget import Budget
from planaria_kernel.protocol.decoding import decode
from planaria_kernel.protocol.encoding import encode
from planaria_kernel.protocol.format import MAX_BYTES, MAX_DEPTH
from planaria_kernel.protocol.values import ArrayValue, EnumMember, FrameValue, Repr, Undecodable

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "ArrayValue",
    "Budget",
    "EnumMember",
    "FrameValue",
    "Repr",
    "Undecodable",
    "decode",
    "encode",
]
