"""The part of `IPython.core` that libraries import."""
