"""The commands for files in pieces, beside the real ones of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from support_core import Case, cases, example_tree, same, same_effect

READING = cases(
    r"""
dd if=nums bs=1 skip=5 count=5 status=none
dd conv=ucase status=none <<< abc
dd conv=lcase,swab status=none <<< ABCD
dd conv=sync bs=8 status=none <<< abc
dd if=nope
dd foo
dd if=a conv=foo
dd if=a bs=x
dd if=nums skip=10B count=5B iflag=count_bytes status=none
dd if=a status=foo
dd if=a skip=100 status=none
"""
)

CHANGING = cases(
    r"""
split -l 2 a
split -l 100 nums p
split -b 100 nums
split -b 1K -d nums
split -C 20 text
split -n 3 nums
split -n l/3 nums
split -n r/3 nums
split -n 2/3 nums
split -n l/2/3 nums
split -n r/2/3 nums
split -l 5 --numeric-suffixes=5 nums
split -l 5 -x nums
split -l 1 -a 1 nums
split -l 1 nums
split -l 1 -d nums
split -1 --additional-suffix=.txt a
split -l 0 a
split -l x a
split nope
split -n 0 a
split -n 5/3 a
split -l 1 --verbose a
split -t o -l 1 a
split -a 3 -l 10 nums
split -n 200 -e a
split -l 1 - z <<< "a\nb"
split -b 2 - <<< "abcde"
csplit a 2
csplit a /two/
csplit a /two/+1
csplit nums 10 {3}
csplit nums 10 {*}
csplit a %two%
csplit a /nope/
csplit a /nope/ {*}
csplit -k a /nope/
csplit -f p -n 3 a 2
csplit -b '%02d.txt' a 2
csplit -z a /one/ {*}
csplit -s a 2
csplit --suppress-matched a /two/
csplit --suppress-matched nums 10 {3}
csplit text '/^$/' '{*}'
csplit a 99
csplit a
csplit
csplit a x
csplit a 3 2
csplit blank '/a/-1'
csplit nums /5/ {2}
tee out <<< abc
tee -a a <<< abc
tee nope/x <<< abc
truncate -s 5 a
truncate -s 100 a
truncate -s +5 a
truncate -s -5 a
truncate -s '<5' a
truncate -s %10 a
truncate -s /10 a
truncate -s 1K new
truncate -c -s 5 new
truncate -s x a
truncate a
truncate -s 5
truncate -r b a
truncate -s 5 dir
dd if=a of=out status=none
dd if=nums of=out bs=100 count=2 status=noxfer
dd if=a of=out seek=2 bs=4 status=none
dd if=a of=b conv=notrunc status=none
dd if=nums ibs=100 obs=300 of=out status=noxfer
dd if=a of=nope/x
dd if=a oflag=append conv=notrunc of=b status=none
"""
)


@pytest.mark.parametrize("case", READING, ids=str)
def test_coreutils_split_prints_what_the_real_command_prints(case: Case) -> None:
    """Standard output, standard error and exit status are those of the real command."""
    same(case.argv, case.stdin, example_tree(), stderr=case.stderr)


@pytest.mark.parametrize("case", CHANGING, ids=str)
def test_coreutils_split_leaves_the_files_that_the_real_command_leaves(case: Case, tmp_path: Path) -> None:
    """Output, exit status and every file afterwards are those of the real command."""
    same_effect(case.argv, case.stdin, tmp_path, stderr=case.stderr)
