"""Commands that few scripts use, and those that have nothing to work on here, beside the real ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from support_core import Case, cases, example_tree, ours, same, same_effect

READING = cases(
    r"""
ptx text
ptx -f a
ptx -w 40 text
ptx -w 20 text
ptx -A text a
ptx -A -R text
ptx -r <<< "r1 hello wide world\nref2 the end is here\n"
ptx -r -R <<< "r1 hello wide world\nref2 the end is here\n"
ptx -g 5 -F ... text
ptx -S '\n' <<< "r1 hello wide. World\nref2 the end\n"
ptx -F '' text
ptx -W '[a-z]+' a
ptx -i a text
ptx -o b a
ptx empty
ptx -w x a
ptx nope
dircolors -b
dircolors -c
dircolors -b -c
dircolors --print-ls-colors
dircolors nope
dircolors a b
dircolors -p a
dircolors -b - <<< "TERM none\nDIR 01 # x\n.tar 1\n*~ 2\nTERM xterm\nEXEC 3\n"
dircolors -b - <<< "DIR 01\nNOPE 2\n"
chcon -t x a
chcon -t x nope
chcon
chcon x
runcon a b
stty
stty size
stty foo
stty -echo
stty rows 5
stty -F a
stty -F nope
pinky
pinky -w
pinky -i
pinky -q
pinky -f
shred
shred nope
shred -n x a
mknod
mknod x q
mknod x b 1
mknod x p 1 2
mknod x p 1
mknod x y 1 2
getopt ab: -a -b x y
getopt ab -- -a -- -b
getopt -o ab:c:: -l alpha,beta:,gamma:: -- -a -b x --alpha --beta=y z --gamma -cfoo -c -- w
getopt -n prog -o a -- -x
getopt -o a -- -x --foo -a
getopt -o b: -- -b
getopt -o a -l alpha,alphb -- --alp
getopt -o a -l beta: -- --beta
getopt -o +ab -- -a x -b
getopt -o -ab -- -a x -b
getopt -u -o a -- -a x
getopt -s csh -o a: -- -a 'it is x!'
getopt -o a: -- -a "it's x" "b c"
getopt -T
getopt
getopt -a -o a -l alpha -- -alpha
getopt -q -o a -- -x
getopt -Q -o a -- -a
getopt -o a -l beta -- --beta=3
getopt -s foo -o a -- -a
iconv -f utf-8 -t utf-16le text
iconv -f latin1 -t utf-8 bin
iconv -f utf-8 -t ascii text
iconv -f utf-8 -t ascii//TRANSLIT <<< "h\xc3\xa9llo\n"
iconv -c -f utf-8 -t ascii text
iconv -f utf-8 bin
iconv -f utf-8 -t utf-8 <<< "h\xc3"
iconv nope
sdiff a b
sdiff -s a b
sdiff -l a b
sdiff -w 40 a b
sdiff -i dup a
sdiff a a
sdiff a
sdiff a b dup
@ sdiff a nope
"""
)

CHANGING = cases(
    r"""
shred -n 1 -z a
shred -x -n 2 -z a b
shred -u a
shred -vz -n 1 a
shred -u -v -n 1 run.sh
shred --remove=unlink a
"""
)


@pytest.mark.parametrize("case", READING, ids=str)
def test_uncommon_commands_print_what_the_real_command_prints(case: Case) -> None:
    """Standard output, standard error and exit status are those of the real command."""
    same(case.argv, case.stdin, example_tree(), stderr=case.stderr)


@pytest.mark.parametrize("case", CHANGING, ids=str)
def test_uncommon_commands_leave_the_files_that_the_real_command_leaves(case: Case, tmp_path: Path) -> None:
    """Output, exit status and every file afterwards are those of the real command."""
    same_effect(case.argv, case.stdin, tmp_path, stderr=case.stderr)


def test_chroot_only_knows_the_root_that_there_is() -> None:
    """Another root is refused as without privileges, the same one runs the command."""
    refused = ours(["chroot", "/tmp", "true"])
    assert (refused.stderr, refused.status) == (
        b"chroot: cannot change root directory to '/tmp': Operation not permitted\n",
        125,
    )
    assert ours(["chroot", "/", "echo", "hi"]).stdout == b"hi\n"


def test_devices_are_not_made() -> None:
    """mknod refuses a device as without privileges."""
    refused = ours(["mknod", "x", "b", "1", "2"], cwd=example_tree())
    assert (refused.stderr, refused.status) == (b"mknod: x: Operation not permitted\n", 1)
