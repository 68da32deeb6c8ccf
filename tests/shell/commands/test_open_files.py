"""Files that commands open: closed when the command ends, in whichever way it ends."""

from __future__ import annotations

import gc
import warnings
from pathlib import Path

import pytest

from planaria_shell.shell import Shell
from planaria_shell.state.streams import CapturedOutput, NullStream

SETUP = """
printf '1 a\\n2 b\\n' > f1; printf '1 c\\n2 d\\n3 e\\n' > f2; seq 50000 > big
tar cf t.tar f1 f2; tar czf t.tgz f1 f2; tar cf large.tar big; gzip -k f1; xz -k f1; zip -q z.zip f1 f2
"""
SCRIPTS = """
comm f1 f2
comm f1 nope
comm big big | head -1
comm <(cat f1) <(cat f2)
join f1 f2
join f1 nope
join big big | head -1
paste big big | head -1
paste f1 nope
rev f1 nope f2
rev big | head -1
awk 'BEGIN { while ((getline line < "f1") > 0) print line }'
awk 'BEGIN { getline < "f1"; exit 1 }'
awk '{ print }' big | head -1
awk '{ print > "out" } NR == 2 { print 1 / 0 }' big
sed 'R f2' f1
sed -n 'R f2' big | head -1
sed 'w out' big | head -1
sed 'r f2' big | head -1
sed -i 's/1/2/' f1
tar tf t.tar
tar xzf t.tgz
tar tf f1
tar xzf t.tar
tar xOf large.tar | head -1
tar df t.tar
sort -m big big | head -1
uniq big | head -1
grep -m1 1 big f1
cmp big f1
zcat f1.gz | head -1
xzcat f1.xz | head -1
unzip -p z.zip | head -1
split -l 10000 big
base64 big | head -1
dd if=big bs=1k | head -1
xargs -a big echo | head -1
"""


def run(script: str, directory: Path) -> None:
    """Run a script in a shell of its own, whose output no one reads."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(directory), "LC_ALL": "C.UTF-8"}
    shell = Shell(
        env=environment,
        cwd=str(directory),
        stdin=NullStream(),
        stdout=CapturedOutput(),
        stderr=CapturedOutput(),
    )
    shell.run(script)
    shell.finish()


@pytest.mark.parametrize("script", SCRIPTS.strip().splitlines())
def test_commands_close_what_they_open(script: str, tmp_path: Path) -> None:
    """No file is left to the garbage collector: not after an error, nor when the reader has ended first."""
    run(SETUP, tmp_path)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", ResourceWarning)
        gc.collect()
        found.clear()
        run(script, tmp_path)
        gc.collect()
    assert [str(warning.message) for warning in found] == []
