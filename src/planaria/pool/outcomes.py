"""Results as bytes, to be saved beside a state and sent between processes.

They are in planaria's own encoding rather than pickled: a store may be written by others.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

from planaria import errors
from planaria.errors import EncodeError, ExecutionError, PlanariaError, ProtocolError
from planaria.executors.messages import HostCall
from planaria.session.result import Output, Result
from planaria_kernel.execution.names import stand_in
from planaria_kernel.protocol import decode, encode

__all__ = ["decoded_calls", "decoded_result", "encoded_calls", "encoded_result"]

#: Records of calls and requests stay with the worker that made them.
_LEFT_OUT: Final = frozenset({"error", "outputs", "suspended", "tool_calls", "requests"})
#: The other fields, with what they are as a rule: what is so is left out.
_SIMPLE: Final = {field.name: field.default for field in fields(Result) if field.name not in _LEFT_OUT}


def encoded_result(result: Result) -> bytes:
    """The bytes of a result; a value that has no encoding becomes a Repr."""
    kept: dict[str, Any] = {}
    for name, default in _SIMPLE.items():
        value = getattr(result, name)
        if type(value) is not type(default) or value != default:
            kept[name] = value
    if result.error is not None:
        kept["error"] = _encoded_error(result.error)
    if result.outputs:
        kept["outputs"] = [(one.data, one.metadata, one.is_value, one.display_id) for one in result.outputs]
    if result.suspended:
        kept["suspended"] = encoded_calls(result.suspended)
    return encode(kept, stand_in)


def decoded_result(data: bytes) -> Result:
    """The result of those bytes. Raises ProtocolError."""
    read = decode(data)
    try:
        outputs = [Output(*one) for one in read.pop("outputs", ())]
        error = read.pop("error", None)
        suspended = decoded_calls(read.pop("suspended", []))
        return Result(
            outputs=outputs,
            error=None if error is None else _decoded_error(*error),
            suspended=suspended,
            **read,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as damage:
        raise ProtocolError(f"these are not the bytes of a result: {damage}") from None


def encoded_calls(calls: list[HostCall]) -> list[tuple[Any, ...]]:
    """Pending calls as plain values."""
    return [(call.id, call.name, call.args, call.kwargs) for call in calls]


def decoded_calls(calls: list[tuple[Any, ...]]) -> list[HostCall]:
    """Pending calls of plain values."""
    return [HostCall(*call) for call in calls]


def _encoded_error(error: PlanariaError) -> tuple[str, str, dict[str, Any]]:
    kept: dict[str, Any] = {}
    for name, value in vars(error).items():
        if name.startswith("_"):
            continue
        try:
            encode(value)
        except EncodeError:
            continue
        kept[name] = value
    return type(error).__name__, str(error.args[0]) if error.args else "", kept


def _decoded_error(name: str, message: str, attributes: dict[str, Any]) -> PlanariaError:
    kind = getattr(errors, name, None) if name in errors.__all__ else None
    if not (isinstance(kind, type) and issubclass(kind, PlanariaError)):
        kind = ExecutionError
        attributes = {"type": name, "message": message, "traceback": "", "lineno": None, **attributes}
    error = kind.__new__(kind, message)
    vars(error).update(attributes)
    return error
