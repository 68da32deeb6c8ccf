"""The functions of `IPython.display`, where newer code looks for them."""

from IPython.display import *  # noqa: F403
