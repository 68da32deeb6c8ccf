"""How many examples the tests of laws try."""

from __future__ import annotations

from hypothesis import settings

#: The profile of an ordinary run; see conftest.py.
ORDINARY = "planaria"


def examples(thorough: int) -> int:
    """A third of this number in an ordinary run, all of it with any other profile."""
    return thorough // 3 if settings.get_current_profile_name() == ORDINARY else thorough
