"""The commands for fields, sets and neighbouring lines, beside the real ones of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from support_core import Case, cases, example_tree, same, same_effect

READING = cases(
    r"""
uniq dup
uniq -c dup
uniq -d dup
uniq -u dup
uniq -i dup
uniq -D dup
uniq --all-repeated=separate dup
uniq --all-repeated=prepend dup
uniq --group dup
uniq --group=both dup
uniq --group=append dup
uniq -f1 num
uniq -s1 -w1 dup
uniq -w x dup
uniq -Dc dup
uniq nope
uniq a b c
uniq -ci dup
uniq -1 num
cut -f1 tabs
cut -f 2- -d, csv
cut -d, -f1,3 csv
cut -d, -f3,1 --output-delimiter=: csv
cut -c1-3 text
cut -b 2,4-6 a
cut -b 1-2,3-4 --output-delimiter=: a
cut -b 1-3,2-4 --output-delimiter=: a
cut -s -f1 a tabs
cut --complement -f1 -d, csv
cut --complement -c2 a
cut -f0
cut -f a
cut -f 3-1
cut -f -
cut -c 0
cut -c a
cut -f1 -c1
cut -d ab -f1
cut -d, -c1
cut -s -c1
cut -f 1,,2 csv
cut -d '' -f1 a
cut -z -f1 a
cut -f1 nope a
cut -c-2 a b
cut -f 1-2-3
cut -f 1x
cut -f2 -d ' ' <<< "a b\nc\n d e"
cut -d: -f1-2,4- <<< "1:2:3:4:5\n1\n1:2\n"
cut -b1,2,3 --output-delimiter=- a
cut
paste a b
paste -d, a b dup
paste -s a
paste -s -d+ a dup
paste -d'\\n' a b
paste -d'\\0' a b
paste -d 'x\\' a b
paste - - <<< "1\n2\n3\n"
paste - a <<< "1\n2\n3\n4\n5"
paste nope a
paste -s nope a
paste -z a b
paste -s empty
join a a
join -t, csv csv
join -j 1 a b
join -a1 a b
join -v1 a b
join -a1 -a2 -e X -o 0,1.2,2.2 a b
join -1 2 -2 1 num a
join nope a
join a
join a b dup
join -t ab a b
join --header csv csv -t,
join -o auto -a1 -e- a b
join -i a dup
join --check-order dup dup
join --nocheck-order dup dup
join -o 1.1,x a b
join -o 3.1 a b
join -a 3 a b
join -1 0 a b
join <<< "a 1\nb 2\n" - a
join -t, - csv <<< "amy,x\nbob,y\n"
tr a-z A-Z <<< "hello"
tr '[:lower:]' '[:upper:]' <<< "hello"
tr '[:upper:]' '[:lower:]' <<< "HeLLo"
tr -d aeiou <<< "hello world"
tr -s l <<< "hellllo"
tr -s ' ' '\\n' <<< "a  b   c"
tr -cd '[:alnum:]\\n' <<< "a-b_c\nd!"
tr -c a-z x <<< "a1b2"
tr -cs 'A-Za-z' '[\\n*]' <<< "the quick, brown"
tr abc '[x*]' <<< "aabbcc"
tr abc '[x*2]y' <<< "aabbcc"
tr a-c '\\060' <<< "aabbcc"
tr -t abc x <<< "abc"
tr 'a\\-z' '123' <<< "a-z"
tr '[=a=]' b <<< "aa"
tr -d '\\n' <<< "a\nb\n"
tr z-a b
tr
tr a
tr -d a b
tr -ds a
tr -s a b c
tr '[:foo:]' x
tr a '' <<< a
tr a '[:alpha:]' <<< a
tr '[:alpha:]' '[:upper:]' <<< abc
tr -ds a-c d-f <<< "abcddeeff"
tr '[x*3]' y
tr 'a\\' xy <<< "a\\\\"
tr '\\400' x <<< "a"
tr é e <<< "\xc3\xa9"
tr -x
tr -s '[:space:]' <<< "a  b\t\tc"
tr -s abc x <<< "aabbcc"
tr '\\0' '\\n' <<< "a\0b"
tr [a-c] [d-f] <<< "[a]b"
tr a-cx-z 1-9 <<< abcxyz
tr -C a b <<< "\x80a"
tr '[:digit:]' '#' <<< "a12"
tr '[:lower:]' 'x' <<< abc
tr 'a-z' '[:upper:]' <<< abc
"""
)

CHANGING = cases(
    r"""
uniq dup out
"""
)


@pytest.mark.parametrize("case", READING, ids=str)
def test_coreutils_fields_prints_what_the_real_command_prints(case: Case) -> None:
    """Standard output, standard error and exit status are those of the real command."""
    same(case.argv, case.stdin, example_tree(), stderr=case.stderr)


@pytest.mark.parametrize("case", CHANGING, ids=str)
def test_coreutils_fields_leaves_the_files_that_the_real_command_leaves(case: Case, tmp_path: Path) -> None:
    """Output, exit status and every file afterwards are those of the real command."""
    same_effect(case.argv, case.stdin, tmp_path, stderr=case.stderr)
