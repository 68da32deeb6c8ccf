"""Rarely used options and forms of the text tools, in scripts beside the machine's own tools."""

from __future__ import annotations

import pytest
from support_scripts import same_as_bash

GREP = r"""
grep -I x bad
grep -rI x . | sort ; grep -c -I x bad
grep --binary-files=without-match l bad a
grep -lc o a b
grep -Lc o a b
grep -ql o a
grep -qc o a
grep -u o a
grep '\d' f
GREP_COLORS='sl=1:cx=2' grep --color=always -C1 two a
GREP_COLORS='sl=1:cx=2' grep --color=always -v -C1 two a
GREP_COLORS='sl=1:cx=2:rv' grep --color=always -v -C1 two a
GREP_COLORS='sl=1' grep --color=always o a
GREP_COLORS='ne' grep --color=always -n two a
GREP_COLOR='7' grep --color=always two a
"""


@pytest.mark.parametrize("script", GREP.strip().splitlines())
def test_grep_in_scripts(script: str) -> None:
    """Output, messages and status of a script are those of the machine's tools."""
    same_as_bash(script)
