"""Coverage-guided fuzzing of the system interface with atheris, an optional dependency (`make fuzz`).

The inputs drive the same property as tests/machine/test_wasi_fuzz.py: whatever is called with whatever
arguments, the guest gets an errno and only what it asked for is changed. Arguments of libFuzzer can follow,
such as -max_total_time=60 (seconds).
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "machine"))

with atheris.instrument_imports(include=["planaria.machine.wasi", "planaria.files"]):
    from test_wasi_fuzz import test_any_calls_give_an_errno_and_change_only_what_they_announce as law

atheris.Setup(sys.argv, law.hypothesis.fuzz_one_input)
atheris.Fuzz()
