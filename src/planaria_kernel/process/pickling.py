"""The user's variables as bytes, as far as `cloudpickle` can write them; it must be installed."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any, Final

from planaria_kernel.execution import names
from planaria_kernel.kernel import Kernel

__all__ = ["connect"]

#: Stands for the namespace of cells, which functions refer to.
_NAMESPACE: Final = "planaria.main"


def connect(kernel: Kernel) -> None:
    """Have the kernel answer the commands "pickle" and "unpickle"."""
    kernel.add_command("pickle", lambda: _pickled(kernel))
    kernel.add_command("unpickle", lambda data: _unpickle(kernel, data))


def _pickled(kernel: Kernel) -> tuple[str, Any]:
    """The variables, and the reason for each that could not be written."""
    space = kernel.main.__dict__
    fresh = names.new_main().__dict__
    variables = {
        name: value
        for name, value in space.items()
        if name not in fresh and not names.is_kernels(kernel.names, name, value)
    }
    dump = _pickler(space)
    dropped: dict[str, str] = {}
    try:
        data = dump(variables)
    except Exception:
        for name, value in list(variables.items()):
            try:
                dump({name: value})
            except Exception as error:
                dropped[name] = f"{type(error).__name__}: {error}"[:500]
                del variables[name]
        # Together, so that what they share stays shared.
        data = dump(variables)
    return ("answer", {"data": data, "kept": list(variables), "dropped": dropped})


def _pickler(space: dict[str, Any]) -> Callable[[object], bytes]:
    """A function that pickles a value; functions in it keep `space` for their global variables."""
    import cloudpickle  # type: ignore[import-not-found,import-untyped,unused-ignore]

    stand_in: dict[str, Any] = {}

    class Pickler(cloudpickle.CloudPickler):  # type: ignore[misc,unused-ignore]
        def persistent_id(self, value: Any) -> str | None:
            return _NAMESPACE if value is stand_in else None

    def dump(value: object) -> bytes:
        file = io.BytesIO()
        pickler = Pickler(file)
        pickler.globals_ref[id(space)] = stand_in
        pickler.dump(value)
        return file.getvalue()

    return dump


def _unpickle(kernel: Kernel, data: bytes) -> tuple[str, Any]:
    """Take variables in place of the present ones."""
    import cloudpickle  # noqa: F401  # type: ignore[import-not-found,import-untyped,unused-ignore]

    space = kernel.main.__dict__
    before = dict(space)

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, name: Any) -> Any:
            if name != _NAMESPACE:
                raise pickle.UnpicklingError(f"{name!r} is unknown")
            return space

    try:
        variables = Unpickler(io.BytesIO(data)).load()
    except BaseException:
        space.clear()
        space.update(before)
        raise
    fresh = names.new_main().__dict__
    space.clear()
    space.update(
        {
            name: value
            for name, value in before.items()
            if name in fresh or names.is_kernels(kernel.names, name, value)
        }
    )
    space.update(variables)
    return ("done", {})
