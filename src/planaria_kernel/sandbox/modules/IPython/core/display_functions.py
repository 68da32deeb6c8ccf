"""The functions of `IPython.display`, where newer code looks for them."""

from IPython.display import *  # type: ignore[import-not-found]  # noqa: F403
