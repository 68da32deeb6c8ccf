"""History expansion beside real bash, which does it in scripts as well when it is asked to."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from planaria_shell.shell import Shell
from planaria_shell.state.streams import CapturedOutput, NullStream
from planaria_shell.syntax.history_expansion import HistoryError, expand_line

SCRIPTS = [
    r"""
echo a 'b c' d/e.txt "q w" >/dev/null
echo !$ !!:1
echo !!
""",
    r"""
echo one two three four
echo !echo:2-3 !-2:*
echo one two three four
echo !!:2* !!:1- !!:^ !!:$ !!:-2
echo !!:0 !:1 !*
""",
    r"""
true
!nosuch
echo $?
echo "x !-1" '!!' \!! ! a!= $!
echo a! "b!"
echo ok # !!
""",
    r"""
ls /nowhere/doc/foo.tar.gz 2>&1 | cat >/dev/null; echo z
echo !ls:1:h !ls:1:t !ls:1:r !ls:1:e !ls:2
echo !?foo?:% !?foo?:%:t
""",
    r"""
echo aa bb aa
^bb^zz
^zz
^nosuch^x
!!:s/aa/cc/
!e:gs/aa/dd/
!!:&
!!:s/cc/<&>/
!?aa bb?:gs:a:x:
""",
    r"""
echo hi there
!ec:p
echo next
!!:p
!2
!-1
!17
echo !!:9
history
""",
    r"""
echo x y; echo !#:1
echo a;echo b&&echo c|cat
echo !!:2 !!:3 !!:7
for i in 1 2; do echo !!:0; done
echo !{a}b
echo "a b" c'd e'f
echo !!:q
echo !!:x
echo !:1 !-3:2
""",
    r"""
echo a b
history -p '!echo:1' x '!!'
history -p '!nosuch'; echo $?
history -p 'a!b' "!!:1"
""",
]


def ours(script: str) -> str:
    """What a shell at a prompt writes."""
    output = CapturedOutput()
    shell = Shell(
        env={"PATH": "/usr/bin:/bin"}, stdin=NullStream(), stdout=output, stderr=output, cwd="/"
    )  # fmt: skip
    shell.run("set -o history -o histexpand")
    shell.run(script)
    return output.getvalue().decode()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to compare with")
@pytest.mark.parametrize("script", SCRIPTS)
def test_lines_are_expanded_as_in_bash(script: str, tmp_path: Path) -> None:
    """What is run, shown and reported is what bash runs, shows and reports."""
    file = tmp_path / "script"
    file.write_text(f"set -o history -o histexpand\n{script}")
    real = subprocess.run(
        ["bash", str(file)],
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    lines = re.sub(r"(?m)^\S+: line \d+: ", "", real.stdout)
    assert re.sub(r"(?m)^bash: line \d+: ", "", ours(script)) == lines


@pytest.mark.parametrize("text", ["echo 'a!b'", "echo a! b", "[[ ! -e x ]]", r"echo \!x", "echo [!a]*", "a"])
def test_what_asks_for_nothing_stays(text: str) -> None:
    """Quotes, backslashes, blanks behind it and brackets before it keep a `!`."""
    assert expand_line(text, ["echo x"]) is None


def test_an_event_that_is_not_there_is_reported() -> None:
    """With an empty history nothing is found."""
    with pytest.raises(HistoryError, match=r"^!!: event not found$"):
        expand_line("sudo !!", [])
