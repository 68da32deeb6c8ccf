"""The functions of clients as callbacks of sessions: their calls wait for an answer."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from planaria.errors import CallbackError, Suspend
from planaria.server.models import CallbackDeclaration, CallbackParameter
from planaria.session.callbacks import Callback
from planaria_kernel.protocol.signatures import ArgumentCheck

__all__ = ["waiting_callback"]


class _Shown:
    """A default value of which only the repr is known."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


async def _wait(*_arguments: object, **_keywords: object) -> None:
    raise Suspend


def waiting_callback(declared: CallbackDeclaration) -> Callback:
    """The callback for a function of a client's. Raises CallbackError."""
    callback = Callback(declared.name, _wait, declared.description, declared.parameters)
    if declared.signature is not None:
        object.__setattr__(callback, "check", ArgumentCheck(_signature(declared.name, declared.signature)))
    return callback


def _signature(name: str, parameters: Sequence[CallbackParameter]) -> inspect.Signature:
    try:
        return inspect.Signature(
            [
                inspect.Parameter(
                    one.name,
                    inspect._ParameterKind[one.kind],
                    annotation=inspect.Parameter.empty if one.annotation is None else one.annotation,
                    default=inspect.Parameter.empty if one.default is None else _Shown(one.default),
                )
                for one in parameters
            ]
        )
    except ValueError as error:
        raise CallbackError(f"callback {name!r}: signature: {error}") from None
