"""`python3` and `python`: CPython itself as a command, in this interpreter but with a state of its own."""

from __future__ import annotations
