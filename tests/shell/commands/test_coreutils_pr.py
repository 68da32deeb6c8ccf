"""pr, beside the real one of this machine."""

from __future__ import annotations

import pytest
from support_core import Case, cases, example_tree, same

READING = cases(
    r"""
pr a
pr -t a
pr nums
pr -3 nums
pr -t -3 nums
pr -t -2 a
pr -a -3 -t nums
pr -m -t a b
pr -t -n a
pr -t -n:3 a
pr -l 20 nums
pr -h Title a
pr -t -d a
pr -t -s, -3 nums
pr -ts: -m a b
pr -o 4 -t a
pr +2 nums
pr +2:3 -l 30 nums
pr -w 40 -2 -t nums
pr -t -n -2 nums
pr -F a
pr nope
pr -t -m -n a b
pr -t -J -2 text
pr -l 5 a
pr -D %Y a
"""
)


@pytest.mark.parametrize("case", READING, ids=str)
def test_pr_prints_what_the_real_command_prints(case: Case) -> None:
    """Pages, headers, columns and numbers are those of the real command."""
    same(case.argv, case.stdin, example_tree())
