"""`get_ipython`, where libraries look for it."""

from IPython import get_ipython

__all__ = ["get_ipython"]
