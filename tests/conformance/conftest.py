"""Cases that lie outside the repository: `make conformance CASES=directory` runs them.

PLANARIA_CONFORMANCE_CASES names the directory. Without it there is nothing to run, and nothing is collected.
"""

from __future__ import annotations

from conformance_cases import CASES

collect_ignore_glob = [] if CASES is not None else ["test_*.py"]
