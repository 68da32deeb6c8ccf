"""What `pip install planaria` without any extra has to be enough for."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import importlib.metadata, re, sys
from packaging.requirements import Requirement

def needed(name, found):
    name = re.sub("[-_.]+", "-", name).lower()
    if name not in found:
        found.add(name)
        for text in importlib.metadata.requires(name) or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                needed(requirement.name, found)
    return found

core = needed("planaria", set())
installed = importlib.metadata.packages_distributions()
foreign = {
    module
    for module, names in installed.items()
    if not {re.sub("[-_.]+", "-", name).lower() for name in names} & core
}
assert "h11" in foreign and "anyio" not in foreign, sorted(foreign)

class OnlyCore:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in foreign:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, OnlyCore())

import planaria
for name in planaria.__all__:
    getattr(planaria, name)
planaria.Network(allow=["api.example.com"])
with planaria.Session(executor=planaria.InProcessExecutor()) as session:
    assert session.execute("6 * 7").value == 42
from planaria.cli import main
sys.argv[1:] = ["--help"]
try:
    main()
except SystemExit as end:
    assert not end.code
"""


_SERVER = (
    _PROGRAM.partition("import planaria\n")[0]
    + """
try:
    import planaria.server
except ModuleNotFoundError as error:
    print(error)
"""
)


def test_the_server_names_its_extra() -> None:
    """Without the extra `server`, importing `planaria.server` says what to install."""
    done = subprocess.run([sys.executable, "-c", _SERVER], capture_output=True, text=True)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.startswith("planaria.server needs the package ")
    assert done.stdout.endswith(": pip install 'planaria[server]'\n")


def test_the_core_needs_no_extra() -> None:
    """All public names, a session and the command line work with the dependencies of the core alone."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
