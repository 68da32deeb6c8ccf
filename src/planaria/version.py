"""Which version this is, and which Python the sandbox has."""

from typing import Final

__all__ = ["GUEST_PYTHON", "__version__"]

__version__ = "0.1.0"

#: The version of Python in the sandbox, on which paths, tags of packages and our code in the guest depend.
GUEST_PYTHON: Final = "3.15"
