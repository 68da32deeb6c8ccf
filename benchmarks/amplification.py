"""What small frames cost the host to decode, by byte, for every container, column and structure.

Code in the sandbox can write any frame itself, so this is what an attacker gets for a byte. The limits
bound the sum (see `planaria_kernel.protocol.budget`); the cases are those of the tests.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import tracemalloc
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "kernel" / "protocol"))

from amplification import CASES, encoded

from planaria_kernel.protocol import Budget, decode

_COUNT = 20_000
#: Structures of pandas, each of which takes some hundred microseconds.
_FEW = 500
_SLOW = frozenset({"frame", "series", "index", "extension", "record array", "pandas scalar"})


class _Charged(Budget):
    """Adds up what is charged."""

    total = 0.0

    def spend(self, size: float) -> None:
        self.total += size


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="decodings of each case (5)")
    repeats = parser.parse_args().repeats
    print(f"{'case':16}{'frame':>10}{'time by byte':>15}{'memory by byte':>17}{'charged by byte':>18}")
    for name in CASES:
        frame = encoded(name, _FEW if name in _SLOW else _COUNT)
        decode(encoded(name, 1))
        samples = []
        for _ in range(repeats):
            begun = time.process_time()
            decode(frame)
            samples.append(time.process_time() - begun)
        charged = _Charged()
        tracemalloc.start()
        decode(frame, charged)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        size = len(frame)
        print(
            f"{name:16}{size / 1e3:7.0f} kB{statistics.median(samples) / size * 1e9:12.0f} ns"
            f"{peak / size:15.1f} B{charged.total / size:16.1f} B"
        )


if __name__ == "__main__":
    main()
