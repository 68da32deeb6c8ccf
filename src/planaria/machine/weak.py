"""Methods held without what they belong to.

A machine, its system and its executor know each other. The ways back are weak, so that dropping a session
gives its memory back at once, and the collector of cycles finds little to do.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["weak_method"]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def weak_method(method: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A function that calls a bound method; raises ReferenceError when its object is gone."""
    reference = weakref.WeakMethod(method)

    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        found = reference()
        if found is None:
            raise ReferenceError("the owner of this method is gone")
        return found(*args, **kwargs)

    return call
