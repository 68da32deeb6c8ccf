"""What the guest's own code takes from the system is there in the sandbox."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import planaria
import planaria_kernel
import planaria_shell

pytestmark = pytest.mark.slow

PACKAGES = [Path(planaria_kernel.__file__).parent, Path(planaria_shell.__file__).parent]
#: Code for executors outside of the sandbox.
NATIVE = PACKAGES[0] / "process"


def names_used(path: Path) -> Iterator[tuple[str, str]]:
    """Functions and constants of modules of the system that a file uses without asking for them first."""
    tree = ast.parse(path.read_text())
    modules = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.asname is None
    } & {"errno", "os", "select", "shutil", "signal", "socket", "stat", "subprocess", "tempfile", "time"}
    asked = {
        node.args[1].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("hasattr", "getattr")
        and isinstance(node.args[1], ast.Constant)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in modules
            and node.attr not in asked
        ):
            yield node.value.id, node.attr


def test_what_commands_take_from_the_system_is_there() -> None:
    """No command of the shell uses a function that the sandbox's Python does not have."""
    files = [path for package in PACKAGES for path in package.rglob("*.py") if NATIVE not in path.parents]
    used = {name for path in files for name in names_used(path)}
    assert ("os", "stat") in used
    with planaria.Session() as session:
        session.execute(f"import importlib\nused = {sorted(used)!r}")
        source = "[pair for pair in used if not hasattr(importlib.import_module(pair[0]), pair[1])]"
        assert session.execute(source).value == []


def test_the_shell_and_the_system_name_the_same_user_and_host() -> None:
    """EUID, `id`, HOSTNAME, `hostname`, whoami and the prompt agree."""
    with planaria.Bash() as bash:
        script = (
            r"x='\u@\h\$'; echo $UID $EUID $(id -u) $(whoami) $HOSTNAME $(hostname) ${x@P}; file /dev/null"
        )
        assert bash.execute(script).stdout.splitlines() == [
            "1000 1000 1000 user planaria planaria user@planaria$",
            "/dev/null: character special (0/0)",
        ]
