"""`get_ipython`, where libraries look for it."""

from IPython import get_ipython  # type: ignore[import-not-found]

__all__ = ["get_ipython"]
