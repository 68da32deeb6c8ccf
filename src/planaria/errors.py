"""Every exception that planaria raises; the tree of them is in `planaria_kernel.errors`, which defines them.

Exceptions cross between host and kernel, so both sides need them.
"""

from __future__ import annotations

from planaria_kernel import errors as _errors
from planaria_kernel.errors import *  # noqa: F403

__all__ = list(_errors.__all__)

# Tracebacks and pickles name them as they are imported. A kernel elsewhere has this module's part only.
for _name in __all__:
    getattr(_errors, _name).__module__ = "planaria"
