"""The commands for orders of lines, beside the real ones of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from support_core import Case, cases, example_tree, same, same_effect

READING = cases(
    r"""
sort num
sort -n num
sort -g num
sort -r num
sort -nr num
sort -u dup
sort -fu dup
sort -f dup
sort -k2 num
sort -t, -k2n csv
sort -t, -k2,2n -k1,1r csv
sort -t , -k 2.1,2.2 csv
sort -k1.2 num
sort -k1,1b -k2r num
sort -b num
sort -s num
sort -s -k1,1n num
sort -c a
sort -C a
sort -c nums
sort -cu dup
sort -m a dup
sort nope
sort dir
sort -k0
sort -k x
sort -k1x
sort -k1,x
sort -k1.0
sort -k1.x a
sort -t ab a
sort -t '' a
sort -ng a
sort -h <<< "1K\n2\n1M\n3G\n-1K\n500\n1.5K\n"
sort -M <<< "feb\nJan\n foo\nDEC\nmarch\n"
sort -V <<< "a-1.10\na-1.9\na-1.9.tar.gz\na-1~rc\nb\n.a\n..\n.\n"
sort -d <<< "a-b\nab\na c\n_z\n"
sort -i <<< "a\x01b\nab\naa\n"
sort -z <<< "b\0a\0c"
sort --sort=numeric num
sort --sort=foo num
sort -n -k 2 num
sort --par=2 a
sort -c a b
sort -co x a
sort -bdf text
sort -di a
sort -dn a
shuf -i 1-1
shuf -e a
shuf -n 0 a
shuf -i 5-1
shuf -n x a
shuf a b
shuf nope
tsort <<< "a b\nb c\nd b\n"
tsort <<< "3 8 3 10 5 11 7 8 7 11 8 9 11 2 11 9 11 10"
tsort <<< "a b b a"
tsort <<< "a b c"
tsort <<< "a b b c c a d a"
tsort <<< "a a b b"
tsort nope
"""
)

CHANGING = cases(
    r"""
sort -o out num
sort -o a a
"""
)


@pytest.mark.parametrize("case", READING, ids=str)
def test_coreutils_sort_prints_what_the_real_command_prints(case: Case) -> None:
    """Standard output, standard error and exit status are those of the real command."""
    same(case.argv, case.stdin, example_tree(), stderr=case.stderr)


@pytest.mark.parametrize("case", CHANGING, ids=str)
def test_coreutils_sort_leaves_the_files_that_the_real_command_leaves(case: Case, tmp_path: Path) -> None:
    """Output, exit status and every file afterwards are those of the real command."""
    same_effect(case.argv, case.stdin, tmp_path, stderr=case.stderr)
