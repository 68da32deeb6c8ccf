"""E2B's JavaScript SDK against a server of ours."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from session_server import served_to_e2b

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("e2b_program.cjs")
#: Where `make integrations` installs the package.
MODULES = Path(__file__).resolve().parents[2] / ".venv-integrations" / "node_modules"


def test_e2b_of_javascript() -> None:
    """Each method of the SDK from npm works, or says why it is not there."""
    node = shutil.which("node")
    modules = os.environ.get("PLANARIA_NODE_MODULES", str(MODULES))
    if node is None or not Path(modules, "@e2b/code-interpreter").exists():
        pytest.skip(
            "THE JAVASCRIPT SDK IS NOT TESTED: @e2b/code-interpreter is installed for `make integrations`"
        )
    with served_to_e2b():
        environment = {**os.environ, "NODE_PATH": modules}
        done = subprocess.run(
            [node, PROGRAM], env=environment, capture_output=True, text=True, timeout=300, check=False
        )
    assert (done.returncode, done.stdout) == (0, "all of it works\n"), done.stderr
