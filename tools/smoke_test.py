"""Whether an installation works: `smoke_test.py WHEEL` installs a wheel into a fresh environment and uses it.

Without an argument the present environment is used; `--without-sandbox` leaves out what compiles the runtime.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PROGRAM = """
import importlib.metadata, subprocess, sys
import planaria
assert planaria.__version__ == importlib.metadata.version("planaria"), planaria.__version__
assert all(hasattr(planaria, name) for name in planaria.__all__)
with planaria.Session(executor=planaria.InProcessExecutor()) as session:
    assert session.execute("6 * 7").value == 42
shell = [sys.executable, "-m", "planaria_shell", "-c", "seq 3 | sort -r | head -1"]
assert subprocess.run(shell, capture_output=True, check=True).stdout == b"3\\n"
command = [sys.executable, "-m", "planaria", "--version"]
assert planaria.__version__ in subprocess.run(command, capture_output=True, check=True, text=True).stdout
if "--without-sandbox" not in sys.argv:
    with planaria.Session() as session:
        assert session.execute("import json; json.dumps([6 * 7])").value == "[42]"
        assert session.bash("echo $((6 * 7))").stdout == "42\\n"
print(f"planaria {planaria.__version__} works")
"""


def main(arguments: list[str]) -> None:
    options = [one for one in arguments if one.startswith("--")]
    wheels = [one for one in arguments if not one.startswith("--")]
    with tempfile.TemporaryDirectory() as directory:
        interpreter = Path(sys.executable)
        if wheels:
            venv.create(directory, with_pip=True)
            interpreter = Path(directory, "Scripts" if sys.platform == "win32" else "bin", "python")
            subprocess.run([interpreter, "-m", "pip", "install", "--quiet", *wheels], check=True)
        # Not from the repository, whose directories would be found before the installed ones.
        subprocess.run([interpreter, "-c", PROGRAM, *options], cwd=directory, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
