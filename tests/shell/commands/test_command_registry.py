"""The registry of commands: names without imports, and modules imported on demand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from planaria_shell.state.command import COMMANDS, Registry

_SOURCE = '''"""`shout`: its operands in capitals."""

from planaria_shell.toolkit.invocation import Invocation, command


@command("shout", "yell", short="n", usage="[-n] [WORD]...")
def shout(call: Invocation) -> int:
    """Print words in capitals; -n without a newline."""
    call.print(" ".join(call.operands).upper(), "" if call.arguments.has("n") else "\\n")
    return 0
'''


def _python(code: str, path: Path | None = None) -> str:
    environment = {"PYTHONPATH": ":".join(filter(None, [str(path or ""), *sys.path]))}
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
    ).stdout


def test_the_index_has_exactly_the_commands_that_the_modules_declare() -> None:
    """Every name that is read from the sources is registered by its module, and no other name is."""
    COMMANDS.load()
    assert len(COMMANDS) > 150
    assert set(COMMANDS.index) == set(COMMANDS)
    assert all(callable(COMMANDS[name]) for name in COMMANDS)


def test_all_names_are_known_without_importing_commands() -> None:
    """`compgen -c` and `type` know `sort` and `jq` while no module of commands is imported."""
    shown = _python(
        "import sys; from planaria_shell.shell import Shell; shell = Shell()\n"
        "shell.run('compgen -c | while read -r name; do [[ $name == jq ]] && echo $name && break; done; type sort')\n"
        "print([name for name in sys.modules if name.startswith('planaria_shell.commands.')])"
    )
    assert shown == "jq\nsort is /usr/bin/sort\n[]\n"


def test_a_command_imports_its_own_module_only() -> None:
    """Running `cal` imports the module of `cal`, not those of other families."""
    shown = _python(
        "import sys; from planaria_shell.shell import Shell; Shell().run('cal 1 2000 > /dev/null')\n"
        "print([name for name in sys.modules if name.startswith('planaria_shell.commands.text')])"
    )
    assert shown == "[]\n"


def test_a_command_is_added_by_one_file(tmp_path: Path) -> None:
    """A file in a folder of commands is all that a new command needs: names, options and help included."""
    family = tmp_path / "extra" / "family"
    family.mkdir(parents=True)
    for folder in (family, family.parent):
        (folder / "__init__.py").touch()
    (family / "shout.py").write_text(_SOURCE)
    shown = _python(
        "from planaria_shell.execution import command_lookup\nfrom planaria_shell.state import command\n"
        "command.COMMANDS._package = 'extra'\n"
        "from planaria_shell.shell import Shell\n"
        "Shell(env={'PATH': '/usr/bin'}).run('yell -n a b; echo; shout --help')\n",
        tmp_path,
    )
    assert (
        shown
        == "A B\nUsage: shout [-n] [WORD]...\nPrint words in capitals; -n without a newline.\n\n  -n\n      --help\n      --version\n"
    )


def test_a_name_that_no_module_declares_is_missing() -> None:
    """The registry is a mapping: `get` gives None and `in` is False for an unknown name."""
    registry = Registry("planaria_shell.commands")
    assert registry.get("no-such-command") is None
    assert "no-such-command" not in registry
