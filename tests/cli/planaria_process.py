"""How tests start the program `planaria`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

Run = Callable[..., subprocess.CompletedProcess[bytes]]

PROGRAM = "from planaria.cli import main; main()"
COMMAND = [sys.executable, "-c", PROGRAM]
