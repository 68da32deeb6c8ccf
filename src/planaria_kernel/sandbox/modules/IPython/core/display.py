"""The classes of `IPython.display`, where older code looks for them."""

from IPython.display import *  # noqa: F403
