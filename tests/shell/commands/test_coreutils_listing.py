"""The commands for names and what is known about files, beside the real ones of this machine."""

from __future__ import annotations

import pytest
from support_core import Case, cases, example_tree, ours, real, same

READING = cases(
    r"""
ls
ls -a
ls -A
ls -l
ls -la dir
ls -lh
ls -lS
ls -lt
ls -ltr
ls -R
ls -lR
ls -d dir
ls -d .
ls -F
ls -p
ls -Q
ls -b
ls -m
ls -C
ls -x
ls -C -w 40
ls -x -w 30
ls -1 dir a
ls nope
ls a nope dir
ls dir dir/sub
ls -n
ls -lg
ls -lo
ls -lG
ls --full-time
ls -l --time-style=long-iso
ls -l --time-style=iso
ls -l --time-style=+%Y
ls -l --time-style=foo
ls --sort=size
ls --sort=time -r
ls --sort=extension
ls -X
ls -v
ls -U dir
ls --group-directories-first
ls --color=never
ls --color=always
ls -l --color=always
ls -lF
ls -lL
ls dlink
ls -l dlink
ls -l dlink/
ls -d dlink
ls -H dlink
ls broken
ls -L broken
ls -s
ls -sh
ls -ls
ls --si -l dir
ls -l --block-size=K dir
ls -l --block-size=1 dir
ls -sk
ls -I 'a*'
ls --hide='*t'
ls -B
ls --zero
ls -w x
ls --foo
ls --sort=x
ls -l a b
ls -l a dir
ls -q
ls --quoting-style=shell
ls --quoting-style=shell-always
ls --quoting-style=locale
ls -ld dir a
ls ''
ls -lu a
ls -t -u
ls -l --time=atime a
dir
vdir dir
dir a b
ls -g -G
ls -la --time-style=+
ls --format=commas
ls --indicator-style=slash
ls -l --author
basename /a/b.txt
basename /a/b.txt .txt
basename a/
basename /
basename -a x/y z/w
basename -s .c x.c y.c
basename .txt .txt
basename
basename a b c
basename ''
basename -z a
dirname /a/b
dirname a
dirname /
dirname a/ b/c/
dirname
dirname ''
dirname //a
readlink link
readlink a
readlink -f link
readlink -f nope
readlink -f nope/x
readlink -e nope
readlink -m nope/x/../y
readlink -n link
readlink -f dlink/f1
readlink -v a
readlink
readlink -f broken
readlink -e broken
readlink -f a/x
realpath a
realpath nope
realpath nope/x
realpath -e nope
realpath -m nope/x
realpath dlink/f1
realpath -s dlink/f1
realpath --relative-to=dir a
realpath --relative-base=. a
realpath --relative-to=dir dir/sub
realpath
realpath -q nope
realpath -L dlink/..
realpath dlink/..
realpath ''
pwd
pwd -P
pathchk a
pathchk -p 'a b'
pathchk -P -- -a
pathchk ''
pathchk -p aaaaaaaaaaaaaaaaaaaaa
@ stat -c '%n %s %a %A %F %h %U %G %u %g' a dir link empty
stat -c '%Y %y %x' a
stat -c '%N' a link
stat -L -c '%N %F' link
stat --printf '%s\\n' a
stat --printf '%s' a
stat -c '%10s|%-10s|%010s' a
stat -c '%.3Y %.Y' a
stat -c '%#a %f %b %B %o' a
stat -c '%q' a
stat nope
stat -c '%%' a
stat
stat -c %d-%D-%i-%m a
du
du -s
du -sh dir
du -h
du -c dir a
du -d 1
du --max-depth=0
du -b dir
du --apparent-size dir
du -k a
du nope
du -s a b
du -as
du -d x
du -S
du --exclude='f*' dir -a
du -0 dir
du -B 1 a
du -l dir
du --inodes dir
du -L dlink
du dlink
sync
sync nope
"""
)


@pytest.mark.parametrize("case", READING, ids=str)
def test_coreutils_listing_prints_what_the_real_command_prints(case: Case) -> None:
    """Standard output, standard error and exit status are those of the real command."""
    same(case.argv, case.stdin, example_tree(), stderr=case.stderr)


def test_stat_shows_a_file_as_the_real_command_does() -> None:
    """The default output is the same, apart from the time of birth that Python does not tell."""
    for name in ("a", "x y", "dir", "empty"):
        expected, got = (run(["stat", name], b"", example_tree()) for run in (real, ours))
        assert got.stdout.splitlines()[:7] == expected.stdout.splitlines()[:7]


def test_inodes_and_blocks_are_listed_alike() -> None:
    """`ls -i` and `find -ls` show the same numbers for the same files."""
    same(["ls", "-i"], b"", example_tree())
    same(["find", "a", "dir", "-ls"], b"", example_tree())
