"""The commands for whole files and their lines, beside the real ones of this machine."""

from __future__ import annotations

import pytest
from support_core import Case, cases, example_tree, same

READING = cases(
    r"""
cat
cat a b
cat a nope b
cat dir
cat -n a b
cat -b blank a
cat -A tabs bin
cat -s blank
cat -E a b
cat -e text
cat -v bin
cat -T tabs
cat --num a
cat --foo
cat -n -- a
cat a -n
cat -q
cat --number=3
cat - a <<< hi\n
cat -A <<< "a\r\nb\r"
tac a
tac a b
tac -b a
tac -s o a
tac nope a
tac -r -s [aeiou] a
tac -b -s , csv
nl a
nl -ba blank
nl -b a -w 3 -s : a
nl -n rz a
nl -n ln a
nl -v 5 -i 3 a b
nl -b pt a
nl -l2 -ba blank
nl -b x a
nl -w x a
nl <<< "\\:\\:\\:\nh\n\\:\\:\nb\n\\:\nf\n"
nl -p -ha -fa <<< "a\n\\:\\:\\:\nh\n\\:\\:\nb\n\\:\nf\n"
head -1 a b
head -n -1 a
head -c 5 a
head -c -5 a
head -q a b
head -v a
head nope a
head dir a
head -n x a
head -n 1K nums
head -2c a
head -z -n1 a
head --lines=2 a
head -c 1kB nums
tail -1 a b
tail -n +2 a
tail -c 5 a
tail -c +5 a
tail -n 0 a
tail -n 3 nums
tail -2 nums
tail +290 nums
tail -n x
tail nope
tail dir
tail -v a <<< x
tail -n2 <<< "a\nb\nc"
tail -c2 <<< "a\nb\nc"
tail -n 1 b
tail -n 5 b
head -5
wc a b
wc -l a
wc
wc -c bin a
wc -m text
wc -L text tabs
wc -w a b nope
wc dir a
wc -lwmcL text
wc bin
wc <<< "a b\nc"
wc - a <<< "a b\nc"
wc -l -
rev a
rev text
fold -w 10 text
fold -s -w 20 text
fold -b -w 10 text
fold -5 a
fold -w 0 a
fold tabs -w 10
fold -w 8 bin
fold -sw 12 tabs text
fmt text
fmt -w 30 text
fmt -s -w 20 text
fmt -u text
fmt -c text
fmt -t text
fmt -w 40 -g 30 text
fmt -p '  ' -w 30 text
fmt -20 text
fmt nope a
fmt tabs
fmt <<< "a\nb\n c\n\nd e f"
expand tabs
expand -t 4 tabs
expand -i tabs
expand -t 2,5,9 tabs
expand -t 2,/4 tabs
expand -t 2,+4 tabs
expand -3 tabs
expand -t x
expand -t 0
expand -t 3,2
unexpand <<< "        a        b\n"
unexpand -a <<< "        a        b       c\n"
unexpand -t 4 <<< "    a   b c d   e\n"
unexpand -a -t 4 <<< "  \t a       b  c\n"
unexpand --first-only -t 4 <<< "    a    b\n"
unexpand -a <<< "1234567 abcdefg  x\n"
unexpand -a -t 2,5,9 <<< "                a    b\n"
"""
)


@pytest.mark.parametrize("case", READING, ids=str)
def test_coreutils_text_prints_what_the_real_command_prints(case: Case) -> None:
    """Standard output, standard error and exit status are those of the real command."""
    same(case.argv, case.stdin, example_tree(), stderr=case.stderr)
