"""The classes of `IPython.display`, where older code looks for them."""

from IPython.display import *  # type: ignore[import-not-found]  # noqa: F403
