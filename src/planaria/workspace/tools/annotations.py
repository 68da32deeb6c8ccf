"""Annotations of Python functions: as text for the caller, and as checks of what is given."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import inspect
import pathlib
import sys
import types
import typing
import uuid
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, PydanticUserError, TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo

__all__ = ["annotation_text", "described_by", "resolve_annotations", "signature_of", "validator_of"]

_BUILTIN = (bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, object)
_DATES = (datetime.datetime, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal)
_TEXTS = (pathlib.PurePath, uuid.UUID)


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """The signature, annotations unresolved where they cannot be; None for what does not tell."""
    try:
        if sys.version_info >= (3, 14):
            import annotationlib

            return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def resolve_annotations(function: Callable[..., Any], signature: inspect.Signature) -> dict[str, Any]:
    """The annotations of parameters, and that of the value as `return`; as text what cannot be resolved."""
    written = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if parameter.annotation is not inspect.Parameter.empty
    }
    if signature.return_annotation is not inspect.Signature.empty:
        written["return"] = signature.return_annotation
    plain = inspect.unwrap(function)
    plain = getattr(plain, "__func__", plain)
    names = getattr(plain, "__globals__", {})
    resolved = {}
    for name, annotation in written.items():
        holder = types.SimpleNamespace(__annotations__={name: annotation})
        try:
            resolved.update(typing.get_type_hints(holder, names, include_extras=True))
        except Exception:  # whatever evaluating the text raises
            resolved[name] = annotation
    return resolved


def validator_of(annotation: Any) -> Callable[[Any], Any] | None:
    """What checks a value, and makes one of the wanted type of it; None when anything goes.

    The function raises pydantic.ValidationError.
    """
    if annotation is Any or annotation is object or isinstance(annotation, (str, typing.ForwardRef)):
        return None
    try:
        try:
            return TypeAdapter(annotation).validator.validate_python
        except PydanticSchemaGenerationError:
            lenient = ConfigDict(arbitrary_types_allowed=True)
            return TypeAdapter(annotation, config=lenient).validator.validate_python
    except (PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError, TypeError):
        return None


def described_by(annotation: Any) -> str:
    """The description in `Annotated[int, "the count"]` or `Annotated[int, Field(description=…)]`."""
    if typing.get_origin(annotation) is typing.Annotated:
        for one in annotation.__metadata__:
            if isinstance(one, str):
                return one
            if isinstance(one, FieldInfo) and one.description:
                return one.description
    return ""


def annotation_text(annotation: Any) -> str:
    """The annotation as code may write it that knows nothing of the host's classes.

    Enumerations are their values, dataclasses and models dicts, other classes of the host `Any`.
    """
    if isinstance(annotation, str):
        return annotation if _is_expression(annotation) else "Any"
    if annotation is None or annotation is type(None):
        return "None"
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return annotation_text(arguments[0])
    if origin is typing.Literal:
        return f"Literal[{', '.join(repr(_value(one)) for one in arguments)}]"
    if origin in (typing.Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(annotation_text, arguments)))
    if isinstance(origin, type):
        return _generic(origin, arguments)
    return _class(annotation) if isinstance(annotation, type) else "Any"


def _generic(origin: type, arguments: tuple[Any, ...]) -> str:
    shown = ", ".join("..." if one is ... else annotation_text(one) for one in arguments)
    for abstract, concrete in (
        (dict, "dict"),
        (tuple, "tuple"),
        (list, "list"),
        (frozenset, "frozenset"),
        (set, "set"),
    ):
        if issubclass(origin, abstract):
            return f"{concrete}[{shown}]"
    name = origin.__name__
    if origin.__module__ == "collections.abc":
        if name in ("Mapping", "MutableMapping"):
            return f"dict[{shown}]"
        if name in ("Sequence", "MutableSequence", "Iterable", "Collection"):
            return f"list[{shown}]"
        if name in ("Set", "MutableSet"):
            return f"set[{shown}]"
        if name in ("Awaitable", "Coroutine"):
            return annotation_text(arguments[-1])
    return "Any"


def _class(cls: type) -> str:
    if issubclass(cls, enum.Enum):
        return f"Literal[{', '.join(repr(_value(one)) for one in cls)}]"
    if cls in _BUILTIN:
        return cls.__name__
    if cls in _DATES:
        return f"{cls.__module__}.{cls.__name__}"
    if issubclass(cls, _TEXTS):
        return "str"
    if dataclasses.is_dataclass(cls) or issubclass(cls, BaseModel) or typing.is_typeddict(cls):
        return "dict[str, Any]"
    return "Any"


def _value(one: Any) -> Any:
    return one.value if isinstance(one, enum.Enum) else one


def _is_expression(text: str) -> bool:
    try:
        compile(text, "<annotation>", "eval")
    except (SyntaxError, ValueError):
        return False
    return True
